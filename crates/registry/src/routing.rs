//! From a message's address to the agent that answers it, or the reason nobody does.

use crate::context::AgentContext;
use crate::context::Whereabouts;
use crate::registry::{AgentState, Snapshot};
use insula_config::account::Account;
use insula_domain::{Address, AgentId, Considered, Route, SessionKey, Tier};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Who answers a message.
pub struct Answering {
    /// The agent, at the generation that will serve the turn.
    pub context: Arc<AgentContext>,
    /// How specific the rule was.
    pub tier: Tier,
    /// Which conversation it belongs to.
    pub session: SessionKey,
    /// What its scope depends on.
    pub scope: Whereabouts,
}

/// Why nobody answers a message. The next best rule is never tried instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteRefusal {
    /// No rule matches and there is no default agent.
    Nobody,
    /// The rule that matches can't be honoured.
    Rule {
        /// Which one, from 1.
        number: usize,
        /// Why.
        reason: Box<str>,
    },
    /// The agent it leads to does not serve.
    NotServing {
        agent: AgentId,
        /// Why.
        reason: Arc<str>,
    },
}

impl fmt::Display for RouteRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str("no binding matches and there is no default agent"),
            Self::Rule { reason, .. } => f.write_str(reason),
            Self::NotServing { agent, reason } => {
                write!(f, "agent `{agent}` does not serve: {reason}")
            }
        }
    }
}

/// Everything there is to say about where a message goes.
pub struct Explanation {
    /// Who answers, or why nobody does.
    pub outcome: Result<Answering, RouteRefusal>,
    /// How specific the winning rule was, also where it refuses.
    pub tier: Option<Tier>,
    /// Every rule of the platform, and why it won or lost.
    pub considered: Vec<Considered>,
}

/// Where a chat led when something began in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Led {
    /// The agent it led to; another one's where a hook sent on what was said.
    #[serde(default)]
    agent: Option<Box<str>>,
    /// Whether its account was to be connected.
    #[serde(default)]
    has_account: bool,
}

impl Led {
    /// Whether it leads to any agent.
    pub fn is_somewhere(&self) -> bool {
        self.agent.is_some()
    }

    /// Whether what began there may go on at an agent: the account was not taken away, and the chat
    /// was not given to another agent.
    pub fn still_leads(&self, now: &Self, agent: &AgentId) -> bool {
        let has_account = now.has_account || !self.has_account;
        has_account && (now.agent == self.agent || now.agent.as_deref() == Some(agent.as_str()))
    }
}

impl Snapshot {
    /// Who answers a message at `address`.
    pub fn route(&self, address: &Address) -> Result<Answering, RouteRefusal> {
        self.follow(self.router.route(address), address)
    }

    /// The agent that an address leads to, whether it serves or not.
    pub fn bound(&self, address: &Address) -> Option<&AgentId> {
        match self.router.route(address) {
            Route::Bound { binding, .. } => Some(&binding.agent),
            Route::Default(agent) => Some(agent),
            Route::Nobody => None,
        }
    }

    /// Where a chat leads now.
    pub fn led(&self, address: &Address) -> Led {
        let agent = self.route(address).ok().map(|found| found.context.id.as_str().into());
        let is_its = |it: &Account| {
            it.enabled && it.platform == address.platform && it.name == address.account
        };
        Led { agent, has_account: self.daemon.accounts.iter().any(is_its) }
    }

    /// The same, with every rule considered.
    pub fn explain(&self, address: &Address) -> Explanation {
        let explained = self.router.explain(address);
        let tier = tier_of(&explained.route);
        Explanation {
            outcome: self.follow(explained.route, address),
            tier,
            considered: explained.considered,
        }
    }

    fn follow(&self, route: Route<'_>, address: &Address) -> Result<Answering, RouteRefusal> {
        let Some(tier) = tier_of(&route) else { return Err(RouteRefusal::Nobody) };
        let agent = match route {
            Route::Nobody => return Err(RouteRefusal::Nobody),
            Route::Default(agent) => agent,
            Route::Bound { binding, .. } => match &binding.refusal {
                Some(reason) => {
                    let (number, reason) = (binding.number, reason.clone());
                    return Err(RouteRefusal::Rule { number, reason });
                }
                None => &binding.agent,
            },
        };
        let refuse = |reason| Err(RouteRefusal::NotServing { agent: agent.clone(), reason });
        match self.agents.get(agent).map(|entry| &entry.state) {
            Some(AgentState::Ready(context)) => Ok(Answering {
                context: context.clone(),
                tier,
                session: context.session_key(address),
                scope: context.scope(address),
            }),
            Some(state) => refuse(state.reason().unwrap_or_else(|| "it does not serve".into())),
            None => refuse("it does not exist".into()),
        }
    }
}

fn tier_of(route: &Route<'_>) -> Option<Tier> {
    match route {
        Route::Bound { binding, .. } => Some(binding.matches.tier()),
        Route::Default(_) => Some(Tier::Default),
        Route::Nobody => None,
    }
}
