//! Who may decide for an agent: answer what it asks, and change it. The one place that says
//! so, whether they type a command, press a button, say yes, talk in a turn or use the API.

use crate::context::AgentContext;
use crate::house::{Actor, House};
use crate::tokens::{Token, Verb};
use insula_domain::{Address, AgentId, Asker, Platform, RoleId, Standing, UserId};
use insula_store::StoreError;
use std::sync::Arc;

/// Somebody who began something, as records name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Who<'w> {
    /// Their name.
    pub principal: &'w str,
    /// The roles they had where they spoke. Only a platform knows them: what went on after a
    /// crash has none.
    pub roles: &'w [RoleId],
}

impl House {
    /// The token that somebody speaks by, where that is how they speak.
    pub fn token_of(&self, address: &Address) -> Option<Arc<Token>> {
        match address.platform {
            Platform::API => self.tokens.get(address.account.as_str()),
            Platform::WEB => self.tokens.get(address.user.as_ref()?.as_str()),
            _ => None,
        }
    }

    /// Whether somebody can reach an agent at all, whatever its door says: for the bearer of a
    /// token there are no others than those that it names.
    pub fn can_reach(&self, agent: &AgentId, address: &Address) -> bool {
        address.platform != Platform::WEB
            || self.token_of(address).is_some_and(|token| token.allows(agent, Verb::Chat))
    }

    /// Whether somebody who began something at `address` may still talk to an agent, judged now.
    pub async fn may_talk(
        &self,
        agent: &AgentContext,
        principal: &str,
        address: &Address,
    ) -> Result<bool, StoreError> {
        if principal == Actor::CommandLine.to_string() {
            return Ok(true);
        }
        if let Some(id) = principal.strip_prefix("api:") {
            return Ok(self.tokens.get(id).is_some_and(|it| it.allows(&agent.id, Verb::Chat)));
        }
        let asker = Asker { address, also: &[], is_bot: false };
        Ok(self.admit(agent, asker).await?.is_some())
    }

    /// Whether somebody is an admin of an agent, judged now: the local command line, a token
    /// with this verb, or whom the operator names under `access.admins`, by any of their
    /// identities or by a role.
    pub fn is_admin(&self, agent: &AgentContext, who: Who<'_>, verb: Verb) -> bool {
        if who.principal == Actor::CommandLine.to_string() {
            return true;
        }
        if let Some(id) = who.principal.strip_prefix("api:") {
            return self.tokens.get(id).is_some_and(|token| token.allows(&agent.id, verb));
        }
        let Some((platform, user)) = who.principal.split_once(':') else { return false };
        let (Ok(platform), Ok(user)) = (Platform::new(platform), UserId::new(user)) else {
            return false;
        };
        agent.standing((platform, &user), who.roles) == Standing::Admin
    }

    /// The same of somebody who acts from outside of a turn.
    pub fn is_admins(&self, agent: &AgentContext, actor: &Actor, verb: Verb) -> bool {
        let who = Who { principal: &actor.to_string(), roles: actor.roles() };
        match actor {
            // What a platform calls somebody makes them neither of the others.
            Actor::Principal(who) => {
                agent.standing((who.platform, &who.user), &who.roles) == Standing::Admin
            }
            Actor::CommandLine | Actor::Token(_) => self.is_admin(agent, who, verb),
            Actor::Daemon | Actor::FileWatch | Actor::Signal => false,
        }
    }
}
