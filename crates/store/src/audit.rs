//! What an audit trail holds and what its verification says. How links are made: `chain`.

use insula_domain::Actor;
use insula_world::Timestamp;
use std::fmt;

/// Most records one read returns; read on from the last one for more.
pub const AUDIT_PAGE_MAX: usize = 1_000;

/// Longest content of a record, in bytes: a record is evidence, not storage.
pub const AUDIT_CONTENT_BYTES_MAX: usize = 256 * 1024;

/// Longest actor or kind of a record, in bytes.
pub const AUDIT_NAME_BYTES_MAX: usize = 1_024;

/// The position of a record in its chain, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first record.
    pub const START: Self = Self(0);
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Something that happened, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: Timestamp,
    /// Who did it, such as `cli:local`.
    pub actor: Actor,
    /// What it was, such as `agent.paused`. Stays after erasure: never put content here.
    pub kind: Box<str>,
    /// The agent's generation at that time; 0 where there is none.
    pub generation: u64,
    /// Everything else, as JSON text. Can be erased without breaking the chain.
    pub content: String,
}

/// A recorded entry and its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Its position.
    pub seq: Seq,
    pub at: Timestamp,
    /// Who did it.
    pub actor: Actor,
    pub kind: Box<str>,
    /// The agent's generation at that time.
    pub generation: u64,
    /// Everything else; `None` once erased.
    pub content: Option<String>,
    /// What the chain holds instead of the content: a salted hash of it.
    pub commitment: [u8; 32],
    /// The link of the record before; zeros for the first.
    pub prev: [u8; 32],
    /// The link of this record: a keyed hash over all of the above but the content.
    pub mac: [u8; 32],
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditReport {
    /// Whether every record is as it was written and none is missing.
    pub ok: bool,
    /// How many records are good, from the first on.
    pub records: u64,
    /// How many of those had their content erased.
    pub erased: u64,
    /// The position of the first record that is changed, missing or too many.
    pub broken_at: Option<u64>,
    /// What is wrong there, or what there is to know although all is well.
    pub reason: Option<String>,
    /// How many records were lost with the power before they were on the disk. The chain says so
    /// where it goes on, and is intact.
    pub lost: u64,
}

/// What a record is called by which a chain says that its tail was lost with the power.
pub const TAIL_LOST: &str = "audit.tail_lost";
