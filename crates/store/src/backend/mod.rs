//! What a backend must provide. The promises that types can't say are in `conformance`.

mod boards;
mod ingress;
mod jobs;
mod memory;
mod outbox;
mod vectors;

pub use boards::BoardBackend;
pub use ingress::IngressBackend;
pub use jobs::JobBackend;
pub use memory::MemoryBackend;
pub use outbox::OutboxBackend;
pub use vectors::VectorBackend;

use crate::agent::{AgentCommand, Committed};
use crate::approval::{Approval, Grant};
use crate::audit::{AuditFilter, AuditPart, AuditRecord, AuditReport, Seq};
use crate::daemon::{AgentRow, DaemonCommand, Due, EventKey, Reserved, Spending};
use crate::error::Result;
use crate::feed::Feed;
use crate::foreign::ForeignFile;
use crate::id::{MessageSeq, SessionId, TurnId};
use crate::lease::{Claim, Lease};
use crate::message::{Message, Window};
use crate::proof::{ScopeRecord, Signer};
use crate::seal::Seals;
use crate::search::Hit;
use crate::session::{Session, SessionRef};
use crate::shown::{ShownAgain, ShownSummary};
use crate::turn::{ChildTurn, Step, Turn, TurnNote, UnfinishedTurn};
use crate::usage::{Totals, UsageBy, UsageOf, UsageReport, UsageSeries};
use async_trait::async_trait;
use insula_domain::id::AgentId;
use insula_domain::{AuditScope, BoardName, ScopeName};
use insula_world::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// Hands out the parts, and owns what they hold open.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Takes over everything there is: an epoch higher than all before, durably.
    async fn claim(&self, owner: &str) -> Result<u64>;

    /// Gives up what was claimed: from then on nothing is written under it.
    async fn release(&self, claim: &Claim) -> Result<()>;

    /// What commits change, as told to this process.
    fn changes(&self) -> Feed;

    /// The daemon's part.
    fn daemon(&self) -> Arc<dyn DaemonBackend>;

    /// One agent's part, bound to it. Does no I/O.
    fn agent(&self, id: &AgentId) -> Arc<dyn AgentBackend>;

    /// One board, bound to it. Does no I/O.
    fn board(&self, name: &BoardName) -> Arc<dyn BoardBackend>;

    /// Closes what nobody used for `idle_for`.
    async fn close_idle(&self, idle_for: Duration);

    /// How many agents hold something open.
    fn open_count(&self) -> usize;

    /// Ends an incarnation of an agent; see [`Store::retire`](crate::Store::retire).
    async fn retire(&self, id: &AgentId);

    /// Writes everything back and closes it.
    async fn shutdown(&self);
}

/// One agent's part; see [`AgentStore`](crate::AgentStore) for what each method means.
#[async_trait]
pub trait AgentBackend:
    MemoryBackend + OutboxBackend + IngressBackend + JobBackend + VectorBackend + Send + Sync
{
    /// Applies a batch whole or not at all.
    async fn commit(&self, batch: Vec<AgentCommand>, lease: &Lease) -> Result<Committed>;

    /// Begins a look in passing; waits while there are too many.
    async fn visit(&self) -> Box<dyn Visit>;

    /// How often something was erased.
    fn erasures(&self) -> u64;

    /// Which life of the agent's name this is; see
    /// [`AgentStore::incarnation`](crate::AgentStore::incarnation).
    fn incarnation(&self) -> u64;

    /// How the agent's numbers are called outside.
    fn seals(&self) -> Seals;

    /// Some of the audit records.
    async fn audit(
        &self,
        filter: AuditFilter,
        part: AuditPart,
        limit: usize,
    ) -> Result<Vec<AuditRecord>>;

    /// Audit records of one scope after a place, as their tenant may have them.
    async fn audit_of_scope(
        &self,
        scope: AuditScope,
        after: u64,
        limit: usize,
    ) -> Result<Vec<ScopeRecord>>;

    /// The name that the agent's chains were begun with.
    fn chain_name(&self) -> Box<str>;

    /// The last record of a scope that was dropped, and its link.
    async fn audit_start(&self, scope: AuditScope) -> Result<Option<(u64, [u8; 32])>>;

    /// What signs parts of the audit chain.
    fn signer(&self) -> Signer;

    /// Checks the audit chain.
    async fn audit_verify(&self) -> Result<AuditReport>;

    async fn session(&self, session: SessionRef) -> Result<Option<Session>>;

    /// Sessions, newest first.
    async fn sessions(&self, before: Option<SessionId>, limit: usize) -> Result<Vec<Session>>;

    /// Sessions of one scope, newest first.
    async fn sessions_in(
        &self,
        scope: &ScopeName,
        before: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>>;

    /// The end of a session.
    async fn messages_tail(&self, session: SessionId, window: Window) -> Result<Vec<Message>>;

    /// Messages after a place.
    async fn messages_after(
        &self,
        session: SessionId,
        after: MessageSeq,
        limit: usize,
    ) -> Result<Vec<Message>>;

    /// Messages before a place.
    async fn messages_before(
        &self,
        session: SessionId,
        before: MessageSeq,
        limit: usize,
    ) -> Result<Vec<Message>>;

    /// How many messages a session has.
    async fn message_count(&self, session: SessionId) -> Result<u64>;

    async fn turn(&self, turn: TurnId) -> Result<Option<Turn>>;

    /// Turns, newest first.
    async fn turns(&self, before: Option<TurnId>, limit: usize) -> Result<Vec<Turn>>;

    /// The steps of a turn.
    async fn steps(&self, turn: TurnId) -> Result<Vec<Step>>;

    /// The notes on how a turn went.
    async fn turn_notes(&self, turn: TurnId) -> Result<Vec<TurnNote>>;

    /// The model calls of a turn.
    async fn shown_calls(&self, turn: TurnId) -> Result<Vec<ShownSummary>>;

    /// What is left of what a model was shown.
    async fn shown_call(&self, turn: TurnId, number: u32) -> Result<Option<ShownAgain>>;

    /// The children that a turn began itself.
    async fn children(&self, turn: TurnId) -> Result<Vec<ChildTurn>>;

    /// How many turns of children there are below one.
    async fn count_below(&self, turn: TurnId) -> Result<u32>;

    /// The turns to go on with.
    async fn unfinished(&self) -> Result<Vec<UnfinishedTurn>>;

    /// Usage since a day.
    async fn usage_since(&self, since: Timestamp) -> Result<UsageReport>;

    /// Usage over time since a day.
    async fn usage_series(&self, by: UsageBy, since: Timestamp) -> Result<UsageSeries>;

    /// Somebody's usage since a day.
    async fn usage_of(&self, of: UsageOf, since: Timestamp) -> Result<Totals>;

    /// The calls that wait for an answer.
    async fn approvals(&self) -> Result<Vec<Approval>>;

    /// What allows an invocation in a session.
    async fn granted(&self, invocation: [u8; 32], session: SessionId) -> Result<Option<Grant>>;

    /// What is allowed for longer than once.
    async fn grants(&self) -> Result<Vec<Grant>>;

    /// The files that hold words of others.
    async fn foreign_files(&self) -> Result<Vec<ForeignFile>>;

    /// Those of them that have to do with what has one of these names.
    async fn foreign_about(&self, names: Vec<Box<str>>) -> Result<Vec<ForeignFile>>;

    /// Messages of one scope, by their words.
    async fn search(&self, scope: &ScopeName, query: &str, limit: usize) -> Result<Vec<Hit>>;
}

/// A look at one agent in passing. Dropped without an end, what it opened may stay open until
/// somebody else looks.
#[async_trait]
pub trait Visit: Send {
    /// Closes what the look opened.
    async fn end(self: Box<Self>);
}

/// The daemon's part; see [`DaemonStore`](crate::DaemonStore) for what each method means.
#[async_trait]
pub trait DaemonBackend: Send + Sync {
    /// Applies a batch whole or not at all.
    async fn commit(&self, batch: Vec<DaemonCommand>, lease: &Lease) -> Result<Vec<Seq>>;

    /// Every agent, by id.
    async fn agents(&self) -> Result<Vec<AgentRow>>;

    /// A named value.
    async fn value(&self, key: &str) -> Result<Option<String>>;

    /// The named values whose names begin so, by name.
    async fn values_under(&self, prefix: &str) -> Result<Vec<(String, String)>>;

    /// Sets a named value that a loss of power may undo.
    async fn note(&self, key: &str, value: String, lease: &Lease) -> Result<()>;

    /// Agents to wake.
    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<Due>>;

    /// Agents that may have unfinished turns or deliveries.
    async fn busy(&self) -> Result<Vec<AgentId>>;

    /// Who used something since a day.
    async fn spending(&self, since: Timestamp) -> Result<Spending>;

    /// Gives an event to an agent, unless it already is somebody's.
    async fn reserve_event(
        &self,
        key: EventKey,
        agent: &AgentId,
        lease: &Lease,
    ) -> Result<Reserved>;

    async fn event_owner(&self, key: EventKey) -> Result<Option<AgentId>>;

    /// Gives an event to another agent.
    async fn move_event(&self, key: EventKey, agent: &AgentId, lease: &Lease) -> Result<()>;

    /// Some of the records of the daemon's chain.
    async fn audit(
        &self,
        filter: AuditFilter,
        part: AuditPart,
        limit: usize,
    ) -> Result<Vec<AuditRecord>>;

    /// Checks the daemon's chain.
    async fn audit_verify(&self) -> Result<AuditReport>;
}
