//! Who may decide for an agent: answer what it asks, and change it. The one place that says
//! so, whether they type a command, press a button, say yes, talk in a turn or use the API.

use super::Access;
use crate::context::AgentContext;
use crate::tokens::{Token, Verb};
use insula_config::job::Job;
use insula_domain::{
    Actor, Address, AgentId, Asker, Bearer, BoardName, BoardRight, Platform, Standing,
};
use insula_store::StoreError;
use std::sync::Arc;

impl Access {
    /// The token that somebody speaks by, where that is how they speak.
    pub fn token_of(&self, address: &Address) -> Option<Arc<Token>> {
        match address.platform {
            Platform::API => self.tokens.get(address.account.as_str()),
            Platform::WEB => self.tokens.get(address.user.as_ref()?.as_str()),
            _ => None,
        }
    }

    /// Whether somebody can reach an agent at all, whomever it lets in: for the bearer of a
    /// token there are no others than those that it names.
    pub fn can_reach(&self, agent: &AgentId, address: &Address) -> bool {
        address.platform != Platform::WEB
            || self.token_of(address).is_some_and(|token| token.allows(agent, Verb::Chat))
    }

    /// Whether somebody who began something at `address` may still talk to an agent, judged now.
    pub async fn may_talk(
        &self,
        agent: &AgentContext,
        who: &Actor,
        address: &Address,
    ) -> Result<bool, StoreError> {
        match who {
            Actor::CommandLine => return Ok(true),
            Actor::Token(bearer) => return Ok(self.bears(bearer, agent, Verb::Chat)),
            Actor::Agent(_) => return Ok(self.is_linked(agent, address)),
            // Who runs the agent made a job of it, and it still is one.
            Actor::Daemon if address.platform == Platform::CRON => {
                let name = address.chat.as_str();
                let is_its = |job: &Arc<Job>| &*job.name == name;
                if agent.jobs.iter().any(is_its) {
                    return Ok(true);
                }
                let rows = agent.store.jobs().await?;
                return Ok(rows.iter().any(|row| &*row.name == name && row.spec.is_some()));
            }
            // An operator let the agent work on a board, and still does.
            Actor::Daemon if address.platform == Platform::BOARD => {
                let boards = &self.snapshot().daemon.boards;
                let board = BoardName::new(address.account.as_str()).ok();
                let board = board.and_then(|name| boards.get(&name).cloned());
                let rights = board.map(|board| board.rights_of(&agent.id)).unwrap_or_default();
                return Ok(rights.has(BoardRight::Claim) || rights.has(BoardRight::Review));
            }
            _ => {}
        }
        let asker = Asker { address, also: &[], is_bot: false };
        Ok(self.admit(agent, asker).await?.is_some())
    }

    /// Whether somebody is an admin of an agent, judged now: the local command line, a token
    /// with this verb, or whom the operator names under `access.admins`, by any of their
    /// identities or by a role.
    pub fn is_admin(&self, agent: &AgentContext, who: &Actor, verb: Verb) -> bool {
        match who {
            Actor::CommandLine => true,
            Actor::Token(bearer) => self.bears(bearer, agent, verb),
            // What a platform calls somebody makes them neither of the others.
            Actor::User(who) => {
                agent.standing((who.platform, &who.user), &who.roles) == Standing::Admin
            }
            _ => false,
        }
    }

    /// Whether somebody may answer what an agent asks, and take back what it was allowed: only
    /// its admins, whether they press a button, type `/approve`, say yes, or use the API. Who
    /// asked is no admin for having asked.
    pub fn may_answer(&self, agent: &AgentContext, actor: &Actor) -> bool {
        self.is_admin(agent, actor, Verb::Approve)
    }

    /// Whether the bearer of a token may do this with an agent, judged now.
    pub fn bears(&self, bearer: &Bearer, agent: &AgentContext, verb: Verb) -> bool {
        self.tokens.get(bearer.id()).is_some_and(|token| token.allows(&agent.id, verb))
    }
}
