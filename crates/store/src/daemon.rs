//! The daemon's durable state: which agents there are, when to wake them, which events were
//! seen, and a chain of its own. Ids and times only, never what anyone said.

use crate::audit::{AuditEntry, AuditRecord, AuditReport, Seq};
use crate::backend::DaemonBackend;
use crate::error::Result;
use crate::usage::Totals;
use insula_domain::id::AgentId;
use insula_world::Timestamp;
use std::fmt;
use std::sync::Arc;

/// Where an agent stands, as it survives a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lifecycle {
    /// Serves.
    Active,
    /// Kept, but serves nobody until resumed.
    Paused,
    /// Put away.
    Archived,
    /// Being deleted: finish it at the next start.
    Deleting,
    /// Gone; its name refuses.
    Deleted,
}

impl Lifecycle {
    /// Every state.
    pub const ALL: [Self; 5] =
        [Self::Active, Self::Paused, Self::Archived, Self::Deleting, Self::Deleted];

    /// The state's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Archived => "archived",
            Self::Deleting => "deleting",
            Self::Deleted => "deleted",
        }
    }

    /// The state of that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// What is known of an agent while its database is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRow {
    pub id: AgentId,
    /// Where it stands.
    pub state: Lifecycle,
    /// Its latest generation.
    pub generation: u64,
    /// The digest of the configuration that generation was built from.
    pub digest: [u8; 32],
    /// What that generation was allowed, as JSON text; opaque here.
    pub authority: String,
}

/// One change to the daemon's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonCommand {
    /// Adds an agent, or replaces what is known of it.
    PutAgent(AgentRow),
    /// Removes all that is known of an agent: row, wake time, ledger entries, audit anchor,
    /// queued audit, spending. Retire it first, so that running work can't write any of it again.
    ForgetAgent(AgentId),
    /// Keeps a record for the agent's own chain. It moves there, in order and exactly once,
    /// before anything else is read or written in the agent's database.
    QueueAudit(AgentId, AuditEntry),
    /// Appends a record to the daemon's own chain.
    Audit(AuditEntry),
    /// Sets when the agent has something to do next; `None` for never.
    SetWake {
        agent: AgentId,
        /// The time.
        at: Option<Timestamp>,
    },
    /// Sets a named value.
    PutValue {
        /// The name.
        key: Box<str>,
        value: String,
    },
    /// Removes a named value.
    DropValue {
        /// The name.
        key: Box<str>,
    },
    /// Forgets events reserved before a time, at which no platform redelivers any more.
    PruneEvents {
        /// The time.
        before: Timestamp,
    },
}

/// An event of a platform, as its redelivery will name it again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EventKey {
    pub platform: Box<str>,
    pub account: Box<str>,
    /// The platform's id of the event.
    pub event: Box<str>,
}

/// Whether an event came for the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reserved {
    /// It is new, and the named agent's from now on.
    New,
    /// It came before, and is this agent's.
    Seen(AgentId),
}

/// An agent with something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Since when.
    pub at: Timestamp,
    pub agent: AgentId,
}

/// Who used something lately, as far as it can be told without opening an agent's database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spending {
    /// Agents that are at rest, by id: the first moment of the last day on which each used
    /// anything, and what it used on that day.
    pub closed: Vec<(AgentId, Timestamp, Totals)>,
    /// Agents that may have used something since, by id: ask each of them.
    pub open: Vec<AgentId>,
}

/// The handle on the daemon's state. Cheap to clone.
#[derive(Clone)]
pub struct DaemonStore {
    backend: Arc<dyn DaemonBackend>,
}

impl DaemonStore {
    pub(crate) fn new(backend: Arc<dyn DaemonBackend>) -> Self {
        Self { backend }
    }

    pub(crate) fn backend(&self) -> &dyn DaemonBackend {
        &*self.backend
    }

    /// Every agent, by id.
    pub async fn agents(&self) -> Result<Vec<AgentRow>> {
        self.backend.agents().await
    }

    /// A named value.
    pub async fn value(&self, key: &str) -> Result<Option<String>> {
        self.backend.value(key).await
    }

    /// Agents whose wake time is `now` or earlier, the most overdue first, at most `limit`.
    pub async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<Due>> {
        self.backend.due(now, limit).await
    }

    /// The earliest wake time there is.
    pub async fn next_wake(&self) -> Result<Option<Timestamp>> {
        self.backend.next_wake().await
    }

    /// Agents that may have unfinished turns or deliveries, by id: every agent that has one,
    /// and some that had one lately. Read at start; ask each for [`unfinished`](crate::AgentStore::unfinished).
    pub async fn busy(&self) -> Result<Vec<AgentId>> {
        self.backend.busy().await
    }

    /// Which agents used something since the beginning of a day. Opens none of them.
    pub async fn spending(&self, since: Timestamp) -> Result<Spending> {
        self.backend.spending(since).await
    }

    /// Records of the daemon's chain after a position, oldest first, at most `limit`.
    pub async fn audit_after(&self, after: Seq, limit: usize) -> Result<Vec<AuditRecord>> {
        self.backend.audit_after(after, limit).await
    }

    /// The newest `limit` records of the daemon's chain, oldest first.
    pub async fn audit_tail(&self, limit: usize) -> Result<Vec<AuditRecord>> {
        self.backend.audit_tail(limit).await
    }

    /// Checks the daemon's chain, and that its head is the one anchored beside it.
    pub async fn audit_verify(&self) -> Result<AuditReport> {
        self.backend.audit_verify().await
    }
}

impl fmt::Debug for DaemonStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DaemonStore")
    }
}
