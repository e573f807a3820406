//! One agent's durable state: the handle, and the commands it takes.
//!
//! A new family of commands is a variant here, an arm in each backend's dispatch, and a file
//! there; reads are methods here and on the backend's trait.

use crate::audit::{AuditEntry, AuditRecord, AuditReport, Seq};
use crate::backend::AgentBackend;
use crate::error::Result;
use crate::fence::Fence;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// One change to an agent's state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentCommand {
    /// Appends a record to the agent's audit chain.
    Audit(AuditEntry),
    /// Erases the content of these audit records for good. The records, and the proof that
    /// they said something, stay. Positions that do not exist are no error.
    EraseAuditContent(RangeInclusive<u64>),
}

/// What a commit did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Committed {
    /// The positions of the audit records it appended, in the order of its commands.
    pub audit: Vec<Seq>,
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

    /// Applies all of `batch`, in order, or none of it. When this returns, it is durable.
    pub async fn commit(&self, batch: Vec<AgentCommand>, fence: &Fence) -> Result<Committed> {
        self.backend.commit(batch, fence).await
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
}

impl fmt::Debug for AgentStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentStore")
    }
}
