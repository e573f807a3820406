//! Changes of an agent's state that its hooks are told of.

use crate::Capabilities;
use crate::hooks::{self, Occasion};
use insula_domain::AgentId;
use insula_domain::hook::HookEvent;
use insula_registry::daemon::Actor;
use insula_registry::daemon::lifecycle::Moved;
use insula_registry::error::RuntimeError;
use serde_json::json;

impl Capabilities {
    /// Pauses an agent; see [`Daemon::pause`](insula_registry::Daemon::pause).
    pub async fn pause(&self, id: &AgentId, actor: &Actor) -> Result<(), RuntimeError> {
        let moved = self.daemon.pause(id, actor).await?;
        self.tell(moved, actor).await;
        Ok(())
    }

    /// Lets an agent serve again.
    pub async fn resume(&self, id: &AgentId, actor: &Actor) -> Result<(), RuntimeError> {
        let moved = self.daemon.resume(id, actor).await?;
        self.tell(moved, actor).await;
        Ok(())
    }

    /// Puts an agent away.
    pub async fn archive(&self, id: &AgentId, actor: &Actor) -> Result<(), RuntimeError> {
        let moved = self.daemon.archive(id, actor).await?;
        self.tell(moved, actor).await;
        Ok(())
    }

    async fn tell(&self, moved: Option<Moved>, actor: &Actor) {
        let Some(Moved { agent, kind }) = moved else { return };
        let occasion = Occasion {
            agent: &agent,
            session: None,
            scope: None,
            principal: actor,
            at: None,
            files: None,
        };
        let fields = || json!({ "operation": kind });
        hooks::tell(self, HookEvent::AgentLifecycle, &occasion, fields).await;
    }
}
