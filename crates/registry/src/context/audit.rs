//! The audit trail of one agent, as its contexts write it.

use super::Generation;
use crate::secrets::SecretBook;
use insula_domain::{Actor, AgentId};
use insula_store::{About, AgentCommand, AgentLease, AuditEntry, Seq, StoreError};
use insula_world::Clock;
use std::sync::Arc;

/// The audit trail of one agent, under one generation.
#[derive(Clone)]
pub struct AuditLog {
    pub(super) agent: AgentId,
    pub(super) generation: Generation,
    pub(super) store: AgentLease,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) secrets: Arc<SecretBook>,
}

impl AuditLog {
    /// Appends a record: what it is about, who did what, and the details as JSON.
    pub async fn append(
        &self,
        about: About,
        actor: &Actor,
        kind: &str,
        content: serde_json::Value,
    ) -> Result<Option<Seq>, StoreError> {
        let entry = AuditEntry {
            at: self.clock.now(),
            actor: actor.clone(),
            about,
            kind: kind.into(),
            generation: self.generation.0,
            content: self.secrets.known().redact_record_of(&self.agent, content).to_string(),
        };
        let done = self.store.commit(vec![AgentCommand::Audit(entry)]).await?;
        Ok(done.audit.first().copied())
    }
}
