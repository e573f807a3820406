//! Turns: from an accepted message to its conclusion, and the steps between.
//!
//! A turn is accepted in the commit that journals its message, and concluded in the commit
//! that journals its last words; both are one command. Steps are for turns that call tools:
//! each completed one is a place from which a turn goes on after a crash, and a call that
//! began and did not end is seen to have done just that.

use crate::id::{MessageSeq, SessionId, TurnId};
use crate::message::NewMessage;
use crate::outbox::DeliveryDestination;
use crate::session::OpenSession;
use crate::usage::Usage;
use insula_domain::Actor;
use insula_world::Timestamp;

/// Most steps of one turn; far above any iteration limit.
pub const STEPS_PER_TURN_MAX: u32 = 4_096;

/// Longest id or name of a tool call, in bytes.
pub const CALL_NAME_BYTES_MAX: usize = 256;

/// Longest error text of a turn, in bytes.
pub const TURN_ERROR_BYTES_MAX: usize = 16 * 1024;

/// Longest note on how a turn went, in bytes.
pub const TURN_NOTE_BYTES_MAX: usize = 16 * 1024;

/// Most notes on one turn; what is more is left out. Far above what a turn can do.
pub const NOTES_PER_TURN_MAX: u32 = 16_384;

/// Longest text of where a message was said, in bytes.
pub const SAID_AT_BYTES_MAX: usize = 64 * 1024;

/// Longest name of a way in, in bytes, and most of them for one message.
pub const WAY_BYTES_MAX: usize = 4 * 1024;
/// Most ways in that one message comes by.
pub const WAYS_MAX: usize = 8;

/// Longest part of an idempotency key, in bytes.
pub const IDEMPOTENCY_BYTES_MAX: usize = 512;

/// Most messages one conclusion or one append brings.
pub const MESSAGES_AT_ONCE_MAX: usize = 64;

/// Most turns one read of unfinished ones returns; conclude some, then read again.
pub const UNFINISHED_MAX: usize = 1_000;

/// Most turns one read returns; read on from the last one for more.
pub const TURN_PAGE_MAX: usize = 1_000;

/// What makes a request the same request when it comes again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey {
    /// Whose key it is: two callers may choose the same one.
    pub who: Box<str>,
    pub key: Box<str>,
    /// What was asked, by its hash: the same key for something else is a mistake.
    pub request: [u8; 32],
}

/// Takes a message in: session, message and turn, in one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accept {
    /// The session, which begins if it is not there.
    pub session: OpenSession,
    pub message: NewMessage,
    /// What a repetition of it would carry. One that was seen writes nothing.
    pub idempotency: Option<IdempotencyKey>,
    /// Where the reply goes. The conclusion of the turn then puts it into the outbox.
    pub origin: Option<DeliveryDestination>,
    /// How it came in.
    pub arrival: Arrival,
    /// When it has to be on the disk.
    pub flush: Flush,
}

/// How a message came in, as far as the key of its session does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Where it was said, in the words of whoever goes on with its turn after a crash.
    pub said_at: Option<Box<str>>,
    /// The ways it came in by whose spending is counted, by name.
    pub ways: Vec<Box<str>>,
}

/// When what is committed has to be on the disk, where it is to outlive a power cut. A crash
/// of the process loses it in no case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flush {
    /// Before the commit returns.
    Now,
    /// Together with the next commit of the agent that is flushed: for what nobody is told of
    /// before that one.
    Later,
}

/// Takes a message into a turn under way (steering), in one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    /// The turn. One that is over refuses with [`TurnOver`](crate::StoreError::TurnOver).
    pub turn: TurnId,
    pub message: NewMessage,
    /// What a repetition of it would carry. One that was seen writes nothing.
    pub idempotency: Option<IdempotencyKey>,
}

/// Begins the turn of a child, with what it is to do, in one commit. Its session is its own,
/// of its parent's scope, in no list of conversations and found by no search, and is forgotten
/// with its parent's. What it spends, its parent spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptChild {
    /// The turn that begins it. One that is over refuses with
    /// [`TurnOver`](crate::StoreError::TurnOver); when it ends, so does the child.
    pub parent: TurnId,
    /// The step of that turn that does.
    pub step: u32,
    /// Which of that step's children it is, from 1. A second one refuses.
    pub number: u32,
    /// What it is to do.
    pub message: NewMessage,
}

/// A child's turn, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildTurn {
    pub turn: Turn,
    /// The step of its parent that began it.
    pub step: u32,
    /// Which of that step's children it is, from 1.
    pub number: u32,
}

/// Whether a message came for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is journalled now.
    New {
        turn: TurnId,
        session: SessionId,
        /// Its place there.
        seq: MessageSeq,
    },
    /// It came before. Nothing was written.
    Known {
        /// The turn it became then.
        turn: TurnId,
        /// The session of that turn.
        session: SessionId,
        /// How that turn stands.
        status: TurnStatus,
    },
}

impl Accepted {
    /// The turn, new or known.
    pub const fn turn(self) -> TurnId {
        match self {
            Self::New { turn, .. } | Self::Known { turn, .. } => turn,
        }
    }

    /// The session, new or known.
    pub const fn session(self) -> SessionId {
        match self {
            Self::New { session, .. } | Self::Known { session, .. } => session,
        }
    }
}

/// How a turn stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TurnStatus {
    /// It is not finished.
    Accepted,
    /// It ended with a reply.
    Replied,
    /// It ended with an error.
    Failed,
    /// It was stopped.
    Stopped,
}

impl TurnStatus {
    /// Every status, at the index of its code.
    pub const ALL: [Self; 4] = [Self::Accepted, Self::Replied, Self::Failed, Self::Stopped];

    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_code(code: i64) -> Option<Self> {
        usize::try_from(code).ok().and_then(|code| Self::ALL.get(code).copied())
    }
}

/// Something completed, or begun, in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewStep {
    /// The model answered, and will be asked again.
    Answered {
        /// The answer.
        message: NewMessage,
        /// What it cost.
        usage: Usage,
    },
    /// A tool call is about to have effects. Its arguments are in the answer that asked.
    CallBegun {
        /// The call's id.
        call: Box<str>,
        /// The tool.
        name: Box<str>,
        at: Timestamp,
    },
    /// A tool call came back.
    CallEnded {
        /// The call's id.
        call: Box<str>,
        /// The message with its result.
        message: NewMessage,
    },
    /// The model was paid for something that is no answer, such as a summary or a failed try.
    Spent {
        /// What it cost.
        usage: Usage,
        at: Timestamp,
    },
}

/// A step as it was journalled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its place in the turn, from 1.
    pub number: u32,
    pub at: Timestamp,
    pub kind: StepKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepKind {
    /// The model answered.
    Answered {
        /// The answer.
        message: MessageSeq,
    },
    /// A tool call began.
    CallBegun {
        /// The call's id.
        call: Box<str>,
        /// The tool.
        name: Box<str>,
    },
    /// A tool call came back.
    CallEnded {
        /// The call's id.
        call: Box<str>,
        /// The message with its result.
        message: MessageSeq,
    },
    /// A message joined the turn.
    Joined { message: MessageSeq },
    /// Something was paid for without an answer.
    Spent,
}

/// Why a reply ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cut {
    /// The model ran into the most it may say, or the end of its window.
    Length,
    /// The provider withheld the rest.
    Filtered,
    /// The model said the same again and again, and was cut off by us.
    Repeating,
}

impl Cut {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Filtered => "filtered",
            Self::Repeating => "repeating",
        }
    }

    /// 0 stands for a reply that is whole.
    pub(crate) const fn code(cut: Option<Self>) -> u8 {
        match cut {
            None => 0,
            Some(Self::Length) => 1,
            Some(Self::Filtered) => 2,
            Some(Self::Repeating) => 3,
        }
    }

    pub(crate) const fn from_code(code: i64) -> Option<Option<Self>> {
        match code {
            0 => Some(None),
            1 => Some(Some(Self::Length)),
            2 => Some(Some(Self::Filtered)),
            3 => Some(Some(Self::Repeating)),
            _ => None,
        }
    }
}

/// How a turn ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnOutcome {
    /// With a reply: the last message of the assistant's that the conclusion brings, or else
    /// that the turn's steps brought.
    Replied {
        /// Why it is not all that the model would have said.
        cut: Option<Cut>,
    },
    /// With an error.
    Failed {
        /// What went wrong, for people.
        error: String,
    },
    /// Because somebody said stop, or the session was forgotten.
    Stopped,
}

impl TurnOutcome {
    /// How a turn stands that ended so.
    pub const fn status(&self) -> TurnStatus {
        match self {
            Self::Replied { .. } => TurnStatus::Replied,
            Self::Failed { .. } => TurnStatus::Failed,
            Self::Stopped => TurnStatus::Stopped,
        }
    }
}

/// Ends a turn: its last messages, what they cost and the outcome, in one commit, and the
/// delivery of its end where that goes anywhere. A turn is concluded once; a second time refuses
/// with [`TurnOver`](crate::StoreError::TurnOver).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclude {
    pub turn: TurnId,
    /// Its last messages, in order; may be none.
    pub messages: Vec<NewMessage>,
    /// What was spent and is in no step.
    pub usage: Usage,
    /// How it ends.
    pub outcome: TurnOutcome,
    pub at: Timestamp,
}

/// A turn as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Its number.
    pub id: TurnId,
    pub session: SessionId,
    /// The message that began it.
    pub message: MessageSeq,
    /// Who said that.
    pub principal: Actor,
    /// How it stands.
    pub status: TurnStatus,
    pub reply: Option<MessageSeq>,
    /// Why that is not all that the model would have said.
    pub cut: Option<Cut>,
    /// What went wrong.
    pub error: Option<String>,
    /// What was spent in it so far.
    pub usage: Usage,
    pub accepted_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}

/// A note on how a turn went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnNote {
    /// Its place among those of the turn, from 1.
    pub number: u32,
    pub at: Timestamp,
    pub note: Box<str>,
}

/// A turn to go on with, and how far it got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedTurn {
    pub turn: Turn,
    /// The key of its session.
    pub key: Box<str>,
    /// Where its message was said, where the key does not tell.
    pub said_at: Option<Box<str>>,
    /// Its steps, in order.
    pub steps: Vec<Step>,
}

impl UnfinishedTurn {
    /// The calls that began and did not come back: id and tool, in order. What they did to
    /// the world is unknown.
    pub fn interrupted(&self) -> Vec<(&str, &str)> {
        open_calls(&self.steps).into_iter().map(|(call, name, _)| (call, name)).collect()
    }
}

/// The calls among a turn's steps that began and did not come back: id, tool and the number of
/// the step in which they began.
pub fn open_calls(steps: &[Step]) -> Vec<(&str, &str, u32)> {
    let mut begun: Vec<(&str, &str, u32)> = Vec::new();
    for step in steps {
        match &step.kind {
            StepKind::CallBegun { call, name } => begun.push((call, name, step.number)),
            StepKind::CallEnded { call, .. } => begun.retain(|(open, ..)| *open != &**call),
            _ => {}
        }
    }
    begun
}
