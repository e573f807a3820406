//! One agent's durable state: the handle, and the commands it takes.
//!
//! A new family of commands is a variant here, an arm in each backend's dispatch, and a file
//! there; reads are methods here and on the backend's trait.

use crate::approval::{Approval, ApprovalDecision, Grant};
use crate::audit::{AuditEntry, AuditRecord, AuditReport, Seq};
use crate::backend::AgentBackend;
use crate::error::Result;
use crate::ingress::{IngressCommand, PairingAsked};
use crate::limits;
use crate::memory::{Fragment, FragmentId, Frozen, MemoryList, MemoryOrigin, Remember};
use crate::message::{Message, MessageSeq, NewMessage, Window};
use crate::outbox::{DeliveryId, OutboxCommand};
use crate::seal::Seals;
use crate::search::Hit;
use crate::session::{OpenSession, Session, SessionId, SessionRef, Summary};
use crate::turn::{
    Accept, AcceptChild, Accepted, ChildTurn, Conclude, Join, NewStep, Step, Turn, TurnId,
    UnfinishedTurn,
};
use crate::usage::{Totals, UsageOf, UsageReport};
use insula_domain::ScopeName;
use insula_world::Timestamp;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Most commands of one batch: more is no single change.
pub const BATCH_MAX: usize = 1_024;

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
    /// no longer among those of [`AgentStore::messages_tail`].
    ReplaceTurn { turn: TurnId },
    /// Ends a turn. Answers [`CommandOutcome::Concluded`].
    Conclude(Box<Conclude>),
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

/// A handle on one agent's state. Cheap to clone; bound to its agent at birth.
#[derive(Clone)]
pub struct AgentStore {
    backend: Arc<dyn AgentBackend>,
}

impl AgentStore {
    pub(crate) fn new(backend: Arc<dyn AgentBackend>) -> Self {
        Self { backend }
    }

    pub(crate) fn backend(&self) -> &dyn AgentBackend {
        &*self.backend
    }

    /// How often something was erased since the daemon began. Whoever keeps a copy of what it
    /// read notes this before it reads: a copy with another number may hold what is gone.
    pub fn erasures(&self) -> u64 {
        self.backend.erasures()
    }

    /// Which life of the agent's name this is, counted since the daemon began. A name that is
    /// used again after a deletion is another agent: what is kept in memory by an agent's id is
    /// kept by this too, or the new one would find it.
    pub fn incarnation(&self) -> u64 {
        self.backend.incarnation()
    }

    /// How this agent's numbers are called outside the store.
    pub fn seals(&self) -> Seals {
        self.backend.seals()
    }

    /// Audit records after a position, oldest first, at most `limit` of them.
    pub async fn audit_after(&self, after: Seq, limit: usize) -> Result<Vec<AuditRecord>> {
        self.backend.audit_after(after, limit).await
    }

    /// The newest `limit` audit records, oldest first.
    pub async fn audit_tail(&self, limit: usize) -> Result<Vec<AuditRecord>> {
        self.backend.audit_tail(limit).await
    }

    /// Checks the whole audit chain, and that its head is the one anchored elsewhere.
    pub async fn audit_verify(&self) -> Result<AuditReport> {
        self.backend.audit_verify().await
    }

    /// A session, if there is such a one.
    pub async fn session(&self, session: SessionRef) -> Result<Option<Session>> {
        self.backend.session(session).await
    }

    /// Sessions begun before this one, newest first, at most `limit`; `None` for the newest.
    pub async fn sessions(&self, before: Option<SessionId>, limit: usize) -> Result<Vec<Session>> {
        self.backend.sessions(before, limit).await
    }

    /// The end of a session, oldest first, without turns that were replaced. Costs what it
    /// returns, however long the session.
    pub async fn messages_tail(&self, session: SessionId, window: Window) -> Result<Vec<Message>> {
        self.backend.messages_tail(session, window).await
    }

    /// Messages after a place, oldest first, at most `limit` of them.
    pub async fn messages_after(
        &self,
        session: SessionId,
        after: MessageSeq,
        limit: usize,
    ) -> Result<Vec<Message>> {
        self.backend.messages_after(session, after, limit).await
    }

    /// The `limit` messages before a place, oldest first.
    pub async fn messages_before(
        &self,
        session: SessionId,
        before: MessageSeq,
        limit: usize,
    ) -> Result<Vec<Message>> {
        self.backend.messages_before(session, before, limit).await
    }

    /// How many messages a session has.
    pub async fn message_count(&self, session: SessionId) -> Result<u64> {
        self.backend.message_count(session).await
    }

    /// A turn, if there is such a one.
    pub async fn turn(&self, turn: TurnId) -> Result<Option<Turn>> {
        self.backend.turn(turn).await
    }

    /// The steps of a turn, in order.
    pub async fn steps(&self, turn: TurnId) -> Result<Vec<Step>> {
        self.backend.steps(turn).await
    }

    /// The children that a turn began itself, in the order it did.
    pub async fn children(&self, turn: TurnId) -> Result<Vec<ChildTurn>> {
        self.backend.children(turn).await
    }

    /// How many turns of children, and of theirs, there are below one.
    pub async fn count_below(&self, turn: TurnId) -> Result<u32> {
        self.backend.count_below(turn).await
    }

    /// The turns that were accepted and not concluded, oldest first, with their steps.
    pub async fn unfinished(&self) -> Result<Vec<UnfinishedTurn>> {
        self.backend.unfinished().await
    }

    /// Usage since the beginning of the day `since` is in.
    pub async fn usage_since(&self, since: Timestamp) -> Result<UsageReport> {
        self.backend.usage_since(since).await
    }

    /// Somebody's usage since the beginning of the day `since` is in.
    pub async fn usage_of(&self, of: UsageOf, since: Timestamp) -> Result<Totals> {
        self.backend.usage_of(of, since).await
    }

    /// The calls that wait for an answer, in the order they were asked about.
    pub async fn approvals(&self) -> Result<Vec<Approval>> {
        self.backend.approvals().await
    }

    /// What allows an invocation in a session, if anything does.
    pub async fn granted(&self, invocation: [u8; 32], session: SessionId) -> Result<Option<Grant>> {
        self.backend.granted(invocation, session).await
    }

    /// What is allowed for longer than once, the newest first.
    pub async fn grants(&self) -> Result<Vec<Grant>> {
        self.backend.grants().await
    }

    /// Messages of one scope that match some words of `query`, the best first, at most
    /// `limit`. What is in other scopes changes neither hits nor scores.
    pub async fn search(&self, scope: &ScopeName, query: &str, limit: usize) -> Result<Vec<Hit>> {
        limits::query(scope.as_str(), query)?;
        self.backend.search(scope, query, limit).await
    }
}

impl fmt::Debug for AgentStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentStore")
    }
}
