//! Changes where an agent stands, and tells its hooks what becomes of it.

use crate::hooks::{self, Occasion};
use crate::{Capabilities, Inner};
use async_trait::async_trait;
use insula_domain::AgentId;
use insula_domain::hook::HookEvent;
use insula_registry::daemon::{Actor, Ending, Reloaded};
use insula_registry::error::RuntimeError;
use insula_registry::lives::{LifeEvent, TellsOfLife};
use insula_registry::whole::Whole;
use serde_json::json;
use std::sync::Weak;

impl Capabilities {
    /// Pauses an agent; see [`Daemon::pause`](insula_registry::Daemon::pause).
    pub async fn pause(&self, id: &AgentId, actor: &Actor) -> Result<(), RuntimeError> {
        self.daemon.pause(id, actor).await
    }

    /// Lets an agent serve again.
    pub async fn resume(&self, id: &AgentId, actor: &Actor) -> Result<(), RuntimeError> {
        self.daemon.resume(id, actor).await
    }

    /// Begins an agent anew; see [`Daemon::restart`](insula_registry::Daemon::restart).
    pub async fn restart(
        &self,
        id: &AgentId,
        ending: Ending<'_>,
        actor: &Actor,
    ) -> Result<Reloaded, RuntimeError> {
        self.daemon.restart(id, ending, actor).await
    }
}

/// Asks the hooks of `agent:lifecycle`. They hear; what they answer is not looked at.
pub(crate) struct LifeHooks(pub(crate) Weak<Whole<Inner>>);

#[async_trait]
impl TellsOfLife for LifeHooks {
    async fn tell(&self, event: &LifeEvent) {
        let Some(inner) = self.0.upgrade() else { return };
        let caps = Capabilities(inner);
        let occasion = Occasion {
            agent: &event.agent,
            session: None,
            scope: None,
            principal: &event.actor,
            at: None,
            files: None,
        };
        let account = event.account.as_ref();
        let fields = || {
            json!({
                "operation": event.kind.as_str(),
                "extra": {
                    "event": event.kind.as_str(),
                    "agent": event.agent.id.as_str(),
                    "generation": event.generation,
                    "what": event.what,
                    "why": event.why,
                    "account": account.map(|(platform, account)| format!("{platform}:{account}")),
                    "at": event.at.to_string(),
                },
            })
        };
        hooks::tell(&caps, HookEvent::AgentLifecycle, &occasion, fields).await;
    }
}
