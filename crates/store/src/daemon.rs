//! The daemon's durable state: which agents there are, when to wake them, which events were
//! seen, and a chain of its own. Ids and times only, never what anyone said.

use crate::audit::AuditEntry;
use crate::usage::Totals;
use insula_domain::id::AgentId;
use insula_world::Timestamp;

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
    /// Calls an agent otherwise, with all that is known of it. Its chains keep the name they were
    /// begun with. Retire it first; nothing where there is none of that name.
    RenameAgent { from: AgentId, to: AgentId },
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
    /// What agents used that were deleted since: the first moment of the last day on which any of
    /// them used something, and what they used on that day together.
    pub deleted: Option<(Timestamp, Totals)>,
}
