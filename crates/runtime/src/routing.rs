//! From a message's address to the agent that answers it, or the reason nobody does.

use crate::context::AgentContext;
use crate::memory::Whereabouts;
use crate::registry::{Snapshot, State};
use insula_domain::{Address, AgentId, Considered, Route, SessionKey, Tier};
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
pub enum Refusal {
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
        /// The agent.
        agent: AgentId,
        /// Why.
        reason: Arc<str>,
    },
}

impl fmt::Display for Refusal {
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
    pub outcome: Result<Answering, Refusal>,
    /// How specific the winning rule was, also where it refuses.
    pub tier: Option<Tier>,
    /// Every rule of the platform, and why it won or lost.
    pub considered: Vec<Considered>,
}

impl Snapshot {
    /// Who answers a message at `address`.
    pub fn route(&self, address: &Address) -> Result<Answering, Refusal> {
        self.follow(self.router.route(address), address)
    }

    /// The agent that a chat leads to, where it leads to any.
    pub(crate) fn leads_to(&self, address: &Address) -> Option<AgentId> {
        self.route(address).ok().map(|found| found.context.id.clone())
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

    fn follow(&self, route: Route<'_>, address: &Address) -> Result<Answering, Refusal> {
        let Some(tier) = tier_of(&route) else { return Err(Refusal::Nobody) };
        let agent = match route {
            Route::Nobody => return Err(Refusal::Nobody),
            Route::Default(agent) => agent,
            Route::Bound { index, binding } => match &binding.refusal {
                Some(reason) => {
                    return Err(Refusal::Rule { number: index + 1, reason: reason.clone() });
                }
                None => &binding.agent,
            },
        };
        let refuse = |reason| Err(Refusal::NotServing { agent: agent.clone(), reason });
        match self.agents.get(agent).map(|entry| &entry.state) {
            Some(State::Ready(context)) => Ok(Answering {
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
