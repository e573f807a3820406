//! Sets the home chats of agents.

use super::{Actor, Daemon};
use crate::error::RuntimeError;
use crate::home_chats::HomeChat;
use insula_domain::AgentId;
use insula_store::DaemonCommand;

impl Daemon {
    /// Sets where an agent tells what becomes of it, or that it tells nobody; whether that is
    /// another place than before. Survives a restart.
    pub async fn set_home(
        &self,
        id: &AgentId,
        home: Option<HomeChat>,
        actor: &Actor,
    ) -> Result<bool, RuntimeError> {
        let _ledger = self.change().await;
        let now = self.snapshot();
        let entry =
            now.agents.get(id).ok_or_else(|| RuntimeError::NoSuchAgent(id.as_str().into()))?;
        let content = serde_json::json!({ "home": home.as_ref().map(HomeChat::place) });
        let Some(put) = self.parts.homes.with(id, home) else { return Ok(false) };
        let generation = entry.generation.0;
        let record = self.parts.trail.entry_of(id, actor, "agent.home", generation, content);
        let batch = vec![put, DaemonCommand::QueueAudit(id.clone(), record)];
        self.parts.owner.daemon().commit(batch).await?;
        Ok(true)
    }
}
