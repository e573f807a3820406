//! Where handles come from: the one place that says whose secrets one is for.

use crate::handle::{AgentSecrets, DaemonSecrets, Secrets};
use crate::namespace::Namespace;
use crate::owner::SecretOwner;
use crate::vault::Vault;
use insula_domain::id::AgentId;

impl Vault {
    /// The secrets of one agent. A handle for an agent without secrets is as good as any.
    pub fn agent(&self, agent: &AgentId) -> AgentSecrets {
        Secrets::new(Namespace::of(self, SecretOwner::Agent(agent.clone())))
    }

    pub fn daemon(&self) -> DaemonSecrets {
        Secrets::new(Namespace::of(self, SecretOwner::Daemon))
    }
}
