//! Who acts for agents, and has to hear what a change took away before it counts as made.

use super::Access;
use crate::error::RuntimeError;
use crate::registry::Snapshot;
use async_trait::async_trait;
use insula_domain::AgentId;
use insula_store::DaemonLease;

/// Programs, servers and all else that runs on behalf of agents.
#[async_trait]
pub trait Acting: Send + Sync {
    /// Which agents serve, or how, is another: what belongs to an earlier generation ends.
    fn generations_changed(&self, now: &Snapshot);

    /// Who may talk to agents, or what they were given, is another: what lost its ground ends.
    async fn rights_changed(&self, access: &Access);

    /// A secret of an agent is another: who was given the old one begins anew.
    fn secrets_changed(&self, agent: &AgentId);

    /// An agent was begun anew: what runs for it, in whatever conversation, ends.
    fn restarted(&self, agent: &AgentId);

    /// An agent is erased: nothing is remembered of it.
    async fn forget(&self, lease: &DaemonLease, agent: &AgentId) -> Result<(), RuntimeError>;

    /// The daemon ends: everything does.
    fn end_all(&self);
}
