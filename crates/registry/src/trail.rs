//! Makes records for the audit trails, with secrets taken out.

use crate::context::AgentContext;
use crate::secrets::SecretBook;
use insula_domain::{Actor, AgentId};
use insula_store::AuditEntry;
use insula_world::{Clock, World};
use serde_json::Value;
use std::sync::Arc;

/// Makes records for the audit trails. Cheap to clone.
#[derive(Clone)]
pub struct Trail {
    clock: Arc<dyn Clock>,
    secrets: Arc<SecretBook>,
}

impl Trail {
    pub(crate) fn new(world: &World, secrets: &Arc<SecretBook>) -> Self {
        Self { clock: world.clock.clone(), secrets: secrets.clone() }
    }

    /// A record for the trail of an agent that serves.
    pub fn record(
        &self,
        agent: &AgentContext,
        actor: &Actor,
        kind: &str,
        content: Value,
    ) -> AuditEntry {
        self.entry_of(&agent.id, actor, kind, agent.generation.0, content)
    }

    /// A record for the trail of one agent, whether or not it serves.
    pub(crate) fn entry_of(
        &self,
        agent: &AgentId,
        actor: &Actor,
        kind: &str,
        generation: u64,
        content: Value,
    ) -> AuditEntry {
        let content = self.secrets.known().redact_record_of(agent, content);
        self.made(actor, kind, generation, &content)
    }

    /// A record for the daemon's own trail.
    pub(crate) fn entry(
        &self,
        actor: &Actor,
        kind: &str,
        generation: u64,
        content: Value,
    ) -> AuditEntry {
        let content = self.secrets.known().redact_record(content);
        self.made(actor, kind, generation, &content)
    }

    fn made(&self, actor: &Actor, kind: &str, generation: u64, content: &Value) -> AuditEntry {
        AuditEntry {
            at: self.clock.now(),
            actor: actor.clone(),
            kind: kind.into(),
            generation,
            content: content.to_string(),
        }
    }
}
