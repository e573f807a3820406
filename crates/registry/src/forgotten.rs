//! How often each agent had to forget a conversation. Whoever keeps a copy of what was said, for
//! those who come back, keeps it by this number: what was kept under an earlier one is gone.

use crate::context::AgentContext;
use crate::signal::{Changes, Signal};
use insula_domain::AgentId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// How often agents forgot, by agent and by which life of its name.
#[derive(Default)]
pub struct Forgotten {
    counts: Mutex<HashMap<AgentId, (u64, u64)>>,
    changed: Signal,
}

impl Forgotten {
    /// How often this agent forgot since the daemon began.
    pub fn count(&self, agent: &AgentContext) -> u64 {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let life = agent.store.incarnation();
        counts.get(&agent.id).filter(|(of, _)| *of == life).map_or(0, |(_, count)| *count)
    }

    /// Notes that an agent forgot a conversation.
    pub fn note(&self, agent: &AgentContext) {
        let life = agent.store.incarnation();
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let known = counts.entry(agent.id.clone()).or_insert((life, 0));
        *known = if known.0 == life { (life, known.1 + 1) } else { (life, 1) };
        drop(counts);
        self.changed.send();
    }

    /// Rings when an agent forgot something.
    pub fn changes(&self) -> Changes {
        self.changed.listen()
    }
}
