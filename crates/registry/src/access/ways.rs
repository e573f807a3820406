//! The ways by which somebody comes to an agent, as far as they take something away from it: the
//! account, the binding, and the token they speak by.

use super::Access;
use crate::context::AgentContext;
use crate::registry::Snapshot;
use insula_config::account::Account;
use insula_domain::{Address, AgentId, GroupRule, Match, Narrowing, Route};
use std::sync::Arc;

impl Snapshot {
    /// The account and the binding that lead from `address` to an agent. Where a hook sent on
    /// what was said, the binding holds for the other agent too; but its model is of the agent
    /// that it names.
    fn ways(&self, agent: &AgentId, address: &Address) -> Vec<Arc<Narrowing>> {
        let accounts = self.daemon.accounts.iter();
        let mut accounts = accounts.filter(|it| it.narrowing.is_some());
        let account =
            accounts.find(|it| it.platform == address.platform && it.name == address.account);
        let mut ways: Vec<_> = account.and_then(|it| it.narrowing.clone()).into_iter().collect();
        if let Route::Bound { binding, .. } = self.router.route(address)
            && let Some(narrowing) = &binding.narrowing
        {
            let of_another = binding.agent != *agent && narrowing.model.is_some();
            ways.push(match of_another {
                true => Arc::new(Narrowing { model: None, ..(**narrowing).clone() }),
                false => narrowing.clone(),
            });
        }
        ways
    }
}

impl Access {
    /// Every way by which somebody at `address` comes to an agent that takes something away.
    pub fn ways(&self, agent: &AgentId, address: &Address) -> Vec<Arc<Narrowing>> {
        let mut ways = self.snapshot().ways(agent, address);
        ways.extend(self.token_of(address).and_then(|token| token.narrowing.clone()));
        ways
    }

    /// An agent as it serves somebody at `address`, or why it does not. `agent` is a
    /// generation's own context.
    pub fn through(
        &self,
        agent: &Arc<AgentContext>,
        address: &Address,
    ) -> Result<Arc<AgentContext>, String> {
        agent.through(&self.ways(&agent.id, address))
    }

    /// The ways that `name` leads to an agent by: the number of a binding, an account as
    /// `platform:account`, or the id of a token. An error says what there is.
    pub fn ways_by(&self, agent: &AgentId, name: &str) -> Result<Vec<Arc<Narrowing>>, String> {
        let snapshot = self.snapshot();
        if let Ok(number) = name.parse::<usize>() {
            let bindings = snapshot.router.bindings();
            let mut own = bindings.iter().filter(|it| it.agent == *agent);
            let binding = own.clone().find(|it| it.number == number);
            let binding = binding.ok_or_else(|| {
                let own: Vec<String> =
                    own.by_ref().map(|it| format!("{} ({})", it.number, it.matches)).collect();
                match own.is_empty() {
                    true => format!("no binding leads to agent `{agent}`"),
                    false => format!(
                        "binding {number} does not lead to agent `{agent}`; there are {}",
                        own.join(", ")
                    ),
                }
            })?;
            let Match { platform, account, .. } = &binding.matches;
            let account = account.as_ref().and_then(|account| {
                let mut all = snapshot.daemon.accounts.iter();
                all.find(|it| it.platform == *platform && it.name == *account)?.narrowing.clone()
            });
            return Ok(account.into_iter().chain(binding.narrowing.clone()).collect());
        }
        if let Some((platform, account)) = name.split_once([':', '.']) {
            let mut all = snapshot.daemon.accounts.iter();
            let is_it =
                |it: &&Account| it.platform.as_str() == platform && it.name.as_str() == account;
            let found = all.find(is_it).ok_or_else(|| format!("there is no account `{name}`"))?;
            return Ok(found.narrowing.clone().into_iter().collect());
        }
        let token = self.tokens.get(name).filter(|token| token.agents.contains(agent));
        let token = token.ok_or_else(|| {
            format!(
                "`{name}` is no token for agent `{agent}`, no number of a binding and no \
                 platform:account"
            )
        })?;
        Ok(token.narrowing.clone().into_iter().collect())
    }

    /// How an agent behaves among several people at `address`.
    pub fn group_rule(&self, agent: &AgentContext, address: &Address) -> GroupRule {
        let ways = self.ways(&agent.id, address);
        ways.iter().fold(agent.access.group, |rule, way| rule.narrowed(way.group))
    }
}
