//! The handle on the daemon's state: what there is to read. Writing takes a lease: `holder`.

use crate::audit::{AuditFilter, AuditPart, AuditRecord, AuditReport, Seq};
use crate::backend::DaemonBackend;
use crate::daemon::{AgentRow, Due, Spending};
use crate::error::Result;
use insula_domain::id::AgentId;
use insula_world::Timestamp;
use std::fmt;
use std::sync::Arc;

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

    /// The named values whose names begin with `prefix`, by name.
    pub async fn values_under(&self, prefix: &str) -> Result<Vec<(String, String)>> {
        self.backend.values_under(prefix).await
    }

    /// Agents whose wake time is `now` or earlier, the most overdue first, at most `limit`.
    pub async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<Due>> {
        self.backend.due(now, limit).await
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
        self.audit(AuditFilter::default(), AuditPart::After(after), limit).await
    }

    /// The newest `limit` records of the daemon's chain, oldest first.
    pub async fn audit_tail(&self, limit: usize) -> Result<Vec<AuditRecord>> {
        self.audit(AuditFilter::default(), AuditPart::Newest, limit).await
    }

    /// The records of the daemon's chain that a filter admits, or a part of them, oldest first.
    pub async fn audit(
        &self,
        filter: AuditFilter,
        part: AuditPart,
        limit: usize,
    ) -> Result<Vec<AuditRecord>> {
        self.backend.audit(filter, part, limit).await
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
