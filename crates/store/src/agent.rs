//! One agent's durable state: the commands that change it, and what each answers.
//!
//! A new family of commands is a variant here, an arm in each backend's dispatch, and a file
//! there; reads are methods of the handle (`handle::agent`) and of the backend's trait.

use crate::approval::{Approval, ApprovalDecision, Grant};
use crate::audit::{AuditEntry, Seq};
use crate::id::{MessageSeq, SessionId, TurnId};
use crate::ingress::{IngressCommand, PairingAsked};
use crate::job::JobCommand;
use crate::memory::{Fragment, FragmentId, Frozen, MemoryList, MemoryOrigin, Remember};
use crate::message::NewMessage;
use crate::outbox::{DeliveryId, OutboxCommand};
use crate::session::{NotesWish, OpenSession, SessionRef, Summary};
use crate::shown::ShownCall;
use crate::turn::{Accept, AcceptChild, Accepted, Conclude, Join, NewStep};
use crate::usage::Usage;
use crate::vectors::{Vector, VectorKind, VectorModel};
use insula_domain::{Actor, Integrity, ScopeName};
use insula_world::Timestamp;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Most commands of one batch: more is no single change.
pub const BATCH_MAX: usize = 1_024;

/// Vectors of texts of one scope, by one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutVectors {
    pub scope: ScopeName,
    pub kind: VectorKind,
    pub model: VectorModel,
    /// Whose, as the backlog named them.
    pub rows: Vec<(i64, Vector)>,
    /// How far sessions were looked through, as the backlog said.
    pub looked_through: Vec<(i64, i64)>,
}

/// What was used for somebody outside any turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsedAside {
    pub principal: Actor,
    pub scope: ScopeName,
    /// The ways in by which they came, by name.
    pub ways: Vec<Box<str>>,
    pub usage: Usage,
    pub at: Timestamp,
}

/// One change to an agent's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentCommand {
    /// Appends a record to the agent's audit chain.
    Audit(AuditEntry),
    /// Erases the content of these audit records for good. The records, and the proof that
    /// they said something, stay. Positions that do not exist are no error.
    EraseAuditContent(RangeInclusive<u64>),
    /// Finds the current session of a key, or begins one. Answers [`CommandOutcome::Session`].
    OpenSession(OpenSession),
    /// Ends a session, if it is there and has not ended: the next message of its key begins
    /// a new one. Turns under way in it go on.
    EndSession { session: SessionRef, at: Timestamp },
    /// Sets or removes what people call a session.
    TitleSession { session: SessionRef, title: Option<String> },
    /// Says which messages of a session are represented by a summary, which is a message too.
    SummariseSession {
        session: SessionRef,
        /// The messages and what stands for them; `None` for all in their own words.
        summary: Option<Summary>,
    },
    /// Marks a session as used at this time, where no message does.
    TouchSession { session: SessionRef, at: Timestamp },
    /// Goes on with a session that was ended: from now on it is the current one of its key, and the
    /// one that was is ended. Refused for one that was forgotten, and for a child's.
    ResumeSession { session: SessionId, at: Timestamp },
    /// Notes that the older part of a session is to become notes, or that it was seen to. A summary
    /// settles it too.
    WishNotes { session: SessionRef, wish: NotesWish },
    /// Sets or removes the model that is asked first in a session.
    ChooseModel { session: SessionRef, model: Option<Box<str>> },
    /// Drops audit records from before a time, oldest first and [`AUDIT_DROPPED_MAX`] at the most,
    /// and appends the record that says so. Answers [`CommandOutcome::Audited`] where there were
    /// any. The newest record always stays.
    ///
    /// [`AUDIT_DROPPED_MAX`]: crate::audit::AUDIT_DROPPED_MAX
    DropAudit {
        before: Timestamp,
        /// When, and in which generation.
        at: Timestamp,
        generation: u64,
    },
    /// Ends a session and erases, for good, all that was said in it: messages, steps, index,
    /// title, error texts. Its turns under way are stopped. A row without words stays.
    ForgetSession { session: SessionId, at: Timestamp },
    /// Appends messages outside any turn. Answers [`CommandOutcome::Appended`].
    Append {
        session: SessionRef,
        /// The messages, in order.
        messages: Vec<NewMessage>,
    },
    /// Takes a message in and begins its turn. Answers [`CommandOutcome::Accepted`].
    Accept(Box<Accept>),
    /// Begins the turn of a child. Answers [`CommandOutcome::Accepted`].
    AcceptChild(Box<AcceptChild>),
    /// Puts messages into the turn that the batch has begun before: what whoever answers should
    /// know besides. Nothing, where it began none.
    Beside(Vec<NewMessage>),
    /// Takes a message into a turn under way. Answers [`CommandOutcome::Accepted`].
    Join(Box<Join>),
    /// Journals a step of a turn. Answers [`CommandOutcome::Stepped`].
    Step { turn: TurnId, step: Box<NewStep> },
    /// Says that another turn takes the place of one that is over: its messages stay and are
    /// no longer among those of [`AgentStore::messages_tail`](crate::AgentStore::messages_tail).
    ReplaceTurn { turn: TurnId },
    /// Ends a turn. Answers [`CommandOutcome::Concluded`].
    Conclude(Box<Conclude>),
    /// Counts what one call of a model took under the model's name, and under that of the key that
    /// paid for it where one did, beside what its step or the end of its turn counts.
    CountCall { model: Arc<str>, key: Option<Arc<str>>, usage: Usage, at: Timestamp },
    /// Counts what was used for somebody outside any turn, as to hear what they say.
    CountAside(Box<UsedAside>),
    /// Notes how a turn went, in words of whoever runs it: never what was said.
    NoteTurn { turn: TurnId, at: Timestamp, note: Box<str> },
    /// Keeps what a model was shown.
    NoteShown(Box<ShownCall>),
    /// Keeps vectors of texts of one scope, as far as those are still there.
    PutVectors(Box<PutVectors>),
    /// Notes that a call waits for an answer, in place of an earlier note about that call.
    AskApproval(Box<Approval>),
    /// Drops the note about a call, if there is one, and keeps what was allowed beyond it.
    SettleApproval {
        /// The approval.
        id: Box<str>,
        /// What was decided.
        decision: ApprovalDecision,
        /// What is allowed from now on.
        grant: Option<Grant>,
    },
    /// Takes a grant back, if there is such a one: the next call asks again.
    RevokeGrant {
        /// The grant.
        id: Box<str>,
    },
    /// Adds to whose words are in a file, or in a folder and all below it.
    NoteForeign { path: Box<str>, integrity: Integrity },
    /// Says that nobody else's words are in a file any more.
    ForgetForeign { path: Box<str> },
    /// Sets the entries of one scope's list of memory. Answers [`CommandOutcome::Remembered`].
    Remember(Box<Remember>),
    /// Erases fragments of memory, for good, and everything they were found or shown by;
    /// nothing is learned again from the messages they came from. Their lists' files are due
    /// to be cleaned until [`AgentCommand::MirrorErased`]. Of those that are gone already the
    /// messages and the words are buried all the same. Answers [`CommandOutcome::Forgotten`].
    ForgetMemory {
        fragments: Vec<FragmentId>,
        /// Where the change comes from.
        origin: Box<MemoryOrigin>,
    },
    /// Notes that nothing forgotten is left in the files of one scope's list.
    MirrorErased { scope: ScopeName, target: MemoryList },
    /// Keeps what a session that reads these scopes is shown of memory.
    FreezeMemory {
        session: SessionId,
        /// The scopes it reads.
        chain: Box<str>,
        /// What it is shown.
        block: Frozen,
    },
    /// Drops what a session is shown of memory; its next turn reads it anew.
    ThawMemory { session: SessionId },
    /// Changes the outbox.
    Outbox(OutboxCommand),
    /// Changes what stands before the conversations.
    Ingress(Box<IngressCommand>),
    /// Changes what the agent does by the clock.
    Job(Box<JobCommand>),
    /// Forgets idempotency keys that were first seen before a time.
    PruneIdempotency {
        /// The time.
        before: Timestamp,
    },
}

/// What one command of a batch did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandOutcome {
    /// It is done; there is nothing to say about it.
    Done,
    /// The record it appended to the audit chain.
    Audited(Seq),
    /// The session it found or began.
    Session(SessionId),
    /// Where its messages are now.
    Appended {
        session: SessionId,
        /// The place of the first one; those after it follow without gaps.
        first: MessageSeq,
        /// How many there are.
        count: usize,
    },
    /// What became of the message.
    Accepted(Accepted),
    /// The step it journalled.
    Stepped {
        /// The step's place in the turn.
        number: u32,
        /// The message it brought.
        message: Option<MessageSeq>,
    },
    /// The number of the message that is kept; none where its event was dealt with before.
    Kept(Option<i64>),
    /// What became of somebody's request to be let in.
    Asked(PairingAsked),
    /// The entries of the list from now on, in order.
    Remembered(Vec<FragmentId>),
    /// The fragments that are gone.
    Forgotten(Vec<Fragment>),
    /// What was put into the outbox, or was there under that name.
    Enqueued(DeliveryId),
    /// The turn is over.
    Concluded {
        /// The place of the first message it brought.
        first: Option<MessageSeq>,
        /// The message that is the turn's reply.
        reply: Option<MessageSeq>,
    },
}

/// What a commit did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Committed {
    /// The positions of the audit records it appended, in the order of its commands.
    pub audit: Vec<Seq>,
    /// What each of its commands did, in their order.
    pub outcomes: Vec<CommandOutcome>,
}

impl Committed {
    /// What became of the first message it took in.
    pub fn accepted(&self) -> Option<Accepted> {
        self.outcomes.iter().find_map(|outcome| match outcome {
            CommandOutcome::Accepted(accepted) => Some(*accepted),
            _ => None,
        })
    }

    /// The number of the first message it kept until its turn.
    pub fn kept(&self) -> Option<i64> {
        self.outcomes.iter().find_map(|outcome| match outcome {
            CommandOutcome::Kept(id) => *id,
            _ => None,
        })
    }

    /// What became of the first request to be let in.
    pub fn asked(&self) -> Option<PairingAsked> {
        self.outcomes.iter().find_map(|outcome| match outcome {
            CommandOutcome::Asked(asked) => Some(*asked),
            _ => None,
        })
    }

    /// The first session it found or began by [`AgentCommand::OpenSession`].
    pub fn session(&self) -> Option<SessionId> {
        self.outcomes.iter().find_map(|outcome| match outcome {
            CommandOutcome::Session(session) => Some(*session),
            _ => None,
        })
    }

    /// The first delivery it put into the outbox by [`OutboxCommand::Enqueue`].
    pub fn enqueued(&self) -> Option<DeliveryId> {
        self.outcomes.iter().find_map(|outcome| match outcome {
            CommandOutcome::Enqueued(id) => Some(*id),
            _ => None,
        })
    }

    /// The reply of the first turn it concluded.
    pub fn reply(&self) -> Option<MessageSeq> {
        self.outcomes.iter().find_map(|outcome| match outcome {
            CommandOutcome::Concluded { reply, .. } => *reply,
            _ => None,
        })
    }
}
