//! What is said to a conversation, and why it was not taken.

use crate::budget::BudgetRefusal;
use crate::client::{self, ClientResult, Wishes};
use insula_domain::{Actor, Integrity, Label, SessionKey, Source, SourceKind};
use insula_registry::context::{AgentContext, Whereabouts};
use insula_store::{
    AgentCommand, DeliveryDestination, IdempotencyKey, Part, Role, StoreError, TurnStatus,
};
use std::sync::Arc;
use std::time::Duration;

/// A message that found its agent.
pub struct Inbound {
    /// The agent, at the generation that will serve the turn.
    pub agent: Arc<AgentContext>,
    /// The conversation.
    pub session: SessionKey,
    /// What its scope depends on; the engine decides it.
    pub scope: Whereabouts,
    /// Who will hear the reply.
    pub label: Label,
    /// Who said it, as records name them.
    pub principal: Actor,
    /// What was said before, where the caller brings its own history.
    pub history: Vec<(Role, Vec<Part>)>,
    /// What was said.
    pub parts: Vec<Part>,
    /// What a repetition of it would carry.
    pub idempotency: Option<IdempotencyKey>,
    /// Where the reply goes, if it leaves by the outbox.
    pub origin: Option<DeliveryDestination>,
    /// When whoever sent it is told that it was taken.
    pub acknowledge: Acknowledge,
}

impl Inbound {
    /// Who will hear the reply, and whose words are in what was said. A picture may say anything,
    /// an answer that a caller brings along was made by a model that may have read anything, and
    /// so may its tools have.
    pub(crate) fn whole_label(&self, results: &[ClientResult]) -> Label {
        let mut brought = Integrity::own();
        let is_picture = |part: &Part| matches!(part, Part::Image { .. });
        let all = self.history.iter().flat_map(|(_, parts)| parts).chain(&self.parts);
        // Where it came by a platform it is named already.
        if self.label.integrity().is_own() && all.into_iter().any(is_picture) {
            brought = brought.join(&Integrity::of(Source::new(SourceKind::Attachment, "picture")));
        }
        if self.history.iter().any(|(role, _)| *role == Role::Assistant) {
            brought = brought.join(&Integrity::of(Source::new(SourceKind::Agent, "history")));
        }
        for source in client::sources(&self.history, results) {
            brought = brought.join(&Integrity::of(source));
        }
        self.label.clone().with(&self.agent.boundary.integrity.untrusted(&brought))
    }
}

/// When the sender of a message is told that it was taken; by then it is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledge {
    /// As soon as it is journalled.
    AtOnce,
    /// With the reply, which is journalled after it: one flush serves both.
    WithReply,
}

/// What is committed together with a message, and how it is taken.
#[derive(Default)]
pub struct Around {
    /// Changes that belong to it.
    pub first: Vec<AgentCommand>,
    /// What the model should know besides, and its sender did not say: shown before the message,
    /// and counted among nobody's words.
    pub context: Vec<String>,
    /// For how long its turn waits for more from the same person. What they say in one breath
    /// is answered as one.
    pub quiet: Duration,
    /// What it does to a turn of the same person that is under way.
    pub mode: BusyMode,
    /// What it is called where it was said, and whatever else it is one with: while it waits it
    /// can be changed by that name.
    pub names: Vec<Box<str>>,
    /// What its caller asks beside it.
    pub wishes: Wishes,
    /// What came of calls of the caller's own tools, which the turn before it asked for.
    pub results: Vec<ClientResult>,
    /// What it tells that came from elsewhere: who could hear that, and whose words it was.
    pub seen: Label,
}

/// Why a message was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// the session has as many turns waiting as it may have
    #[error("agent `{agent}` has too much to do in this conversation; try again later")]
    Busy {
        /// The agent.
        agent: insula_domain::AgentId,
    },
    /// the message came before
    #[error("this request was taken before")]
    Known {
        /// The turn it became.
        turn: insula_store::TurnId,
        /// How that stands.
        status: TurnStatus,
    },
    /// the conversation has a turn under way
    #[error("a turn is under way in this conversation; stop it or wait for its end")]
    UnderWay {
        /// The turn.
        turn: insula_store::TurnId,
    },
    /// what came of a call that nobody waits for
    #[error(
        "no call in this conversation waits for this result: it was answered before, or something else was said since"
    )]
    NotWaiting {
        /// The call, by its id in the journal.
        call: Box<str>,
    },
    /// a budget has no room for it
    #[error(transparent)]
    Budget(#[from] BudgetRefusal),
    /// the store could not take it
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a message that comes while a turn is under way does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BusyMode {
    /// Waits for a turn of its own.
    #[default]
    Queue,
    /// Joins the turn: the model sees it before it goes on.
    Steer,
    /// Stops the turn and gets the next.
    Interrupt,
}

impl BusyMode {
    /// Finds a mode by name.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "queue" => Some(Self::Queue),
            "steer" => Some(Self::Steer),
            "interrupt" => Some(Self::Interrupt),
            _ => None,
        }
    }
}
