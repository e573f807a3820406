//! Makes records for the audit trails, with secrets taken out.
//!
//! Whoever makes one says what it is about ([`About`]): there is no record without.

use crate::context::AgentContext;
use crate::secrets::SecretBook;
use insula_domain::{Actor, AgentId};
use insula_store::{About, AuditEntry};
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
        about: About,
        actor: &Actor,
        kind: &str,
        content: Value,
    ) -> AuditEntry {
        let content = self.secrets.known().redact_record_of(&agent.id, content);
        self.made(about, actor, kind, agent.generation.0, &content)
    }

    /// A record about one agent as a whole, for its trail, whether or not it serves.
    pub(crate) fn entry_of(
        &self,
        agent: &AgentId,
        actor: &Actor,
        kind: &str,
        generation: u64,
        content: Value,
    ) -> AuditEntry {
        let content = self.secrets.known().redact_record_of(agent, content);
        self.made(About::Agent, actor, kind, generation, &content)
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
        self.made(About::Daemon, actor, kind, generation, &content)
    }

    fn made(
        &self,
        about: About,
        actor: &Actor,
        kind: &str,
        generation: u64,
        content: &Value,
    ) -> AuditEntry {
        AuditEntry {
            at: self.clock.now(),
            actor: actor.clone(),
            about,
            kind: kind.into(),
            generation,
            content: content.to_string(),
        }
    }
}
