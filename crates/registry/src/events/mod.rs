//! What happens to an agent, as it happens: one bounded stream an agent, for every surface.
//!
//! Nobody listening costs nothing. A listener that does not keep up is told that it missed
//! something; it never slows down whoever speaks.

mod refusal;
mod text;
pub mod turn;

pub use refusal::{BudgetLevel, BudgetRefusal, Dimension, until};
pub use turn::{
    ApprovalOutcome, ChildAct, ChildOutcome, ClientCall, EditedFile, EditorEvent, TurnEnd,
    TurnEvent,
};

use arc_swap::ArcSwap;
use insula_domain::AgentId;
use insula_store::TurnId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast;

/// Events a listener may be behind.
const BEHIND_MAX: usize = 1_024;

/// One thing that happened to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// In a turn.
    Turn {
        /// The key of the session.
        session: Arc<str>,
        turn: TurnId,
        event: TurnEvent,
    },
    /// The agent itself is another than before.
    Health {
        /// How it is: `ready`, `failed`, `paused`, `archived`, `deleted`.
        state: &'static str,
        generation: u64,
        /// Why it does not serve.
        reason: Option<String>,
    },
}

/// The streams of all agents.
#[derive(Default)]
pub struct Hub {
    agents: ArcSwap<BTreeMap<AgentId, broadcast::Sender<Arc<AgentEvent>>>>,
    /// Held by whoever adds a stream.
    adding: Mutex<()>,
}

impl Hub {
    /// Listens to an agent from now on.
    pub fn listen(&self, agent: &AgentId) -> broadcast::Receiver<Arc<AgentEvent>> {
        // Nothing below runs foreign code, so a poisoned lock guards nothing broken.
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let mut agents = (**self.agents.load()).clone();
        // Streams that nobody hears any more go when the next one comes.
        agents.retain(|id, stream| id == agent || stream.receiver_count() > 0);
        let stream = agents
            .entry(agent.clone())
            .or_insert_with(|| broadcast::Sender::new(BEHIND_MAX))
            .clone();
        self.agents.store(Arc::new(agents));
        stream.subscribe()
    }

    /// Ends every stream: nothing will happen any more.
    pub fn close(&self) {
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        self.agents.store(Arc::default());
    }

    /// The agents that somebody listens to.
    pub fn heard(&self) -> Vec<AgentId> {
        let agents = self.agents.load();
        let heard = agents.iter().filter(|(_, stream)| stream.receiver_count() > 0);
        heard.map(|(id, _)| id.clone()).collect()
    }

    /// Tells whoever listens to an agent. The event is made only if somebody does.
    pub fn tell(&self, agent: &AgentId, event: impl FnOnce() -> AgentEvent) {
        if let Some(stream) = self.agents.load().get(agent)
            && stream.receiver_count() > 0
        {
            // Whoever left meanwhile does not mind.
            let _ = stream.send(Arc::new(event()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(generation: u64) -> AgentEvent {
        AgentEvent::Health { state: "ready", generation, reason: None }
    }

    #[tokio::test]
    async fn a_listener_hears_its_agent_and_no_other() {
        let hub = Hub::default();
        let (a, b) = (AgentId::new("a").unwrap(), AgentId::new("b").unwrap());
        let mut heard = hub.listen(&a);
        hub.tell(&b, || panic!("nobody listens to b"));
        hub.tell(&a, || health(1));
        assert_eq!(*heard.recv().await.unwrap(), health(1));
        drop(heard);
        hub.tell(&a, || panic!("nobody listens any more"));
    }

    #[tokio::test]
    async fn a_slow_listener_is_told_that_it_missed_something() {
        let hub = Hub::default();
        let a = AgentId::new("a").unwrap();
        let mut heard = hub.listen(&a);
        for generation in 0..2_000 {
            hub.tell(&a, || health(generation));
        }
        assert!(matches!(heard.recv().await, Err(broadcast::error::RecvError::Lagged(_))));
        assert!(heard.recv().await.is_ok());
    }
}
