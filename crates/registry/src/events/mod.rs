//! What happens to an agent, as it happens: one bounded stream an agent, for every surface.
//!
//! Beside them there is one stream of all agents, for who may hear every one of them.
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

use arc_swap::{ArcSwap, ArcSwapOption};
use insula_domain::{AgentId, BoardName, CardId, CardStatus, LinkKind};
use insula_store::TurnId;
use insula_world::Timestamp;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast;

/// Events a listener may be behind.
const BEHIND_MAX: usize = 1_024;

/// The same for one who listens to all agents.
const BEHIND_ALL_MAX: usize = 4_096;

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
    /// Something that it does when nobody asks, or with others, began or ended.
    Work(WorkEvent),
    /// The agent itself is another than before.
    Health {
        /// How it is: `ready`, `failed`, `paused`, `archived`, `deleted`.
        state: &'static str,
        generation: u64,
        /// Why it does not serve.
        reason: Option<String>,
    },
}

/// What becomes of something that an agent does when nobody asks, or with other agents. Its turns
/// have events of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkEvent {
    /// A run of a job has a turn.
    JobBegun { job: Box<str>, scheduled_at: Timestamp, turn: TurnId },
    /// A run of a job is over.
    JobEnded {
        job: Box<str>,
        scheduled_at: Timestamp,
        outcome: &'static str,
        why: Option<String>,
        turn: Option<TurnId>,
    },
    /// It has a card from now on.
    CardClaimed { board: BoardName, card: CardId },
    /// Its work on a card is over.
    CardEnded {
        board: BoardName,
        card: CardId,
        /// How the card stands.
        status: CardStatus,
        why: Option<String>,
    },
    /// It asked or told another agent something, or handed it a conversation, in this turn.
    LinkUsed { to: AgentId, kind: LinkKind, turn: TurnId },
    /// Another agent did so with it; in which turn, where it gets one for that.
    LinkTaken { from: AgentId, kind: LinkKind, turn: Option<TurnId> },
}

/// The streams of all agents.
#[derive(Default)]
pub struct Hub {
    agents: ArcSwap<BTreeMap<AgentId, broadcast::Sender<Arc<AgentEvent>>>>,
    /// Of all agents together: a stream each would take megabytes where there are hundreds.
    all: ArcSwapOption<broadcast::Sender<(AgentId, Arc<AgentEvent>)>>,
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

    /// Listens to every agent from now on, those that come later included.
    pub fn listen_to_all(&self) -> broadcast::Receiver<(AgentId, Arc<AgentEvent>)> {
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = &*self.all.load() {
            return stream.subscribe();
        }
        let (stream, heard) = broadcast::channel(BEHIND_ALL_MAX);
        self.all.store(Some(Arc::new(stream)));
        heard
    }

    /// Ends every stream: nothing will happen any more.
    pub fn close(&self) {
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        self.all.store(None);
        self.agents.store(Arc::default());
    }

    /// Whether somebody listens to all of them.
    pub fn hears_all(&self) -> bool {
        self.all.load().as_ref().is_some_and(|stream| stream.receiver_count() > 0)
    }

    /// The agents that somebody listens to, one by one.
    pub fn heard(&self) -> Vec<AgentId> {
        let agents = self.agents.load();
        let heard = agents.iter().filter(|(_, stream)| stream.receiver_count() > 0);
        heard.map(|(id, _)| id.clone()).collect()
    }

    /// Tells whoever listens to an agent. The event is made only if somebody does.
    pub fn tell(&self, agent: &AgentId, event: impl FnOnce() -> AgentEvent) {
        let (agents, all) = (self.agents.load(), self.all.load());
        let one = agents.get(agent).filter(|stream| stream.receiver_count() > 0);
        let all = all.as_ref().filter(|stream| stream.receiver_count() > 0);
        if one.is_none() && all.is_none() {
            return;
        }
        let event = Arc::new(event());
        // Whoever left meanwhile does not mind.
        if let Some(stream) = all {
            let _ = stream.send((agent.clone(), event.clone()));
        }
        if let Some(stream) = one {
            let _ = stream.send(event);
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
    async fn who_listens_to_all_hears_each_by_name_until_the_end() {
        let hub = Hub::default();
        let (a, b) = (AgentId::new("a").unwrap(), AgentId::new("b").unwrap());
        assert!(!hub.hears_all());
        let (mut all, mut one) = (hub.listen_to_all(), hub.listen(&a));
        assert!(hub.hears_all());
        hub.tell(&b, || health(1));
        hub.tell(&a, || health(2));
        assert_eq!(all.recv().await.unwrap(), (b.clone(), Arc::new(health(1))));
        assert_eq!(all.recv().await.unwrap(), (a, Arc::new(health(2))));
        assert_eq!(*one.recv().await.unwrap(), health(2));
        let mut second = hub.listen_to_all();
        hub.tell(&b, || health(3));
        assert_eq!(second.recv().await.unwrap().1, all.recv().await.unwrap().1);
        hub.close();
        assert!(matches!(all.recv().await, Err(broadcast::error::RecvError::Closed)));
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
