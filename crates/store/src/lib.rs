//! Durable state: what must survive a crash, and nothing about what it means.
//!
//! Each agent has a database of its own, opened on first use and closed when idle; the daemon
//! has one more. A [`Store`] hands out handles to read: an [`AgentStore`] is bound to one agent
//! from birth and no method on it names another. Who claims the store is its [`LeaseHolder`] and
//! has leases to write: everything written is a method of an [`AgentLease`], an [`AccountLease`] or
//! a [`DaemonLease`], most of it `commit`, a batch of typed commands that is applied whole or not
//! at all. Who keeps something of it in memory subscribes to the [`Feed`].
//!
//! The shape is the [`backend`] traits; SQLite is the backend that is always there. What any
//! backend owes its callers is written down as tests in `conformance`.
//!
//! One daemon per home is guaranteed above this crate, by a lock it does not know.

pub mod agent;
pub mod approval;
mod arabic;
pub mod audit;
pub mod backend;
pub mod board;
mod chain;
#[cfg(test)]
mod conformance;
pub mod daemon;
mod digest;
pub mod error;
pub mod feed;
mod files;
mod fold;
pub mod foreign;
mod handle;
mod holder;
pub mod id;
pub mod ingress;
pub mod job;
pub mod key;
mod language;
pub mod lease;
mod limits;
pub mod memory;
pub mod message;
mod options;
pub mod outbox;
mod parts;
pub mod proof;
mod query;
mod scope_chain;
pub mod seal;
pub mod search;
pub mod session;
pub mod shown;
mod snippet;
mod sqlite;
mod stop_words;
mod store;
mod terms;
pub mod turn;
pub mod usage;
pub mod vectors;

pub use agent::{AgentCommand, CommandOutcome, Committed, PutVectors, UsedAside};
pub use approval::{Approval, ApprovalDecision, Grant};
pub use audit::{
    About, AuditEntry, AuditFilter, AuditPart, AuditRecord, AuditReport, KindFilter, ScopeFilter,
    Seq,
};
pub use board::{
    BoardCommand, CardComment, CardEvent, CardFile, CardFilter, CardGlance, CardNotice, CardRow,
    CardRun, CardWhole, LAST_ADDED,
};
pub use daemon::{AgentRow, DaemonCommand, Due, EventKey, Lifecycle, Reserved, Spending};
pub use error::{Result, StoreError};
pub use feed::{Feed, FeedChange, Subscription};
pub use foreign::ForeignFile;
pub use handle::agent::AgentStore;
pub use handle::boards::{BoardLease, BoardStore};
pub use handle::daemon::DaemonStore;
pub use holder::{AccountLease, AgentLease, DaemonLease, LeaseHolder};
pub use id::{MessageSeq, SessionId, TurnId};
pub use ingress::{
    EventName, InboxRow, IngressCommand, JoinedChat, NewInbox, Pairing, PairingAsked,
    PairingRequest, PlatformUser, Tries,
};
pub use job::{JobCommand, JobRow, JobRun, JobState};
pub use key::{AuditKey, KeyExposure};
pub use lease::{Lease, Owned};
pub use memory::{
    Affected, Forget, Fragment, FragmentHit, FragmentId, Frozen, ListName, MemoryEntry, MemoryList,
    MemoryOrigin, MemoryPage, MemoryReport, MemorySource, Mirror, NewFragment, Provenance,
    RecordKind, Remember,
};
pub use message::{MESSAGE_PAGE_MAX, Message, NewMessage, Part, Role, Window};
pub use options::{Durability, OPEN_MAX_DEFAULT, StoreOptions};
pub use outbox::{
    Button, Content, Delivery, DeliveryDestination, DeliveryId, DeliveryState, Doubt, Enqueue,
    Lane, NewButton, OutboxCommand, Provisional, Rest, SentPart, Tried, TurnOrigin,
};
pub use seal::{Counted, Seals};
pub use search::Hit;
pub use session::{NotesWish, OpenSession, Session, SessionRef, SessionState, Summary};
pub use shown::{
    RecipeAgain, ShownAgain, ShownCall, ShownFrame, ShownPart, ShownRecipe, ShownSummary,
};
pub use sqlite::examine::{CopyOf, Examiner, examine_board, inspect};
pub use sqlite::glance::glance;
pub use sqlite::renaming::adopt;
pub use sqlite::snapshot::{DamagedCopy, HomeSnapshot, board_of};
pub use store::Store;
pub use turn::{
    Accept, AcceptChild, Accepted, Arrival, ChildTurn, Conclude, Cut, Flush, IdempotencyKey, Join,
    NewStep, Step, StepKind, Turn, TurnNote, TurnOutcome, TurnStatus, UnfinishedTurn,
};
pub use usage::{Totals, Usage, UsageBy, UsageOf, UsagePoints, UsageReport, UsageSeries};
pub use vectors::{Backlog, Near, Unembedded, Vector, VectorKind, VectorModel};
