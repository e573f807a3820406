//! Conversations that are older than their agent keeps them: forgotten, with what came along and
//! what programs printed in them.
//!
//! Only databases of agents that keep conversations for a limited time are opened for it, one
//! after the other, when the daemon starts and once a day.

use crate::engine::Engine;
use insula_domain::Actor;
use insula_registry::context::AgentContext;
use insula_store::{About, SessionState, StoreError};
use insula_world::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often it is looked. What is kept is kept for days.
const LOOK_EVERY: Duration = Duration::from_secs(24 * 60 * 60);

/// Sessions looked at together.
const PAGE: usize = 200;

impl Engine {
    /// Forgets what is too old, until told to stop.
    pub async fn keep_to_time(&self, stop: CancellationToken) {
        loop {
            self.forget_what_is_too_old(&stop).await;
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.shop.world.clock.sleep(LOOK_EVERY) => {}
            }
        }
    }

    async fn forget_what_is_too_old(&self, stop: &CancellationToken) {
        let snapshot = self.shop.registry.snapshot();
        let contexts = snapshot.agents.values().filter_map(|entry| entry.state.context());
        for agent in contexts {
            let Some(keep) = agent.sessions_keep else { continue };
            if stop.is_cancelled() {
                return;
            }
            match self.forget_older_than(agent, keep).await {
                Ok(0) => {}
                Ok(count) => {
                    tracing::info!(agent = %agent.id, count, "forgot conversations that were older than `sessions.keep`");
                }
                // Tried again tomorrow; the agent's own health says what is wrong with its store.
                Err(error) => {
                    tracing::warn!(agent = %agent.id, %error, "old conversations could not be forgotten");
                }
            }
        }
    }

    /// Forgets the conversations of an agent in which nothing happened for so long; how many.
    async fn forget_older_than(
        &self,
        agent: &Arc<AgentContext>,
        keep: Duration,
    ) -> Result<usize, StoreError> {
        let now = self.shop.world.clock.now().as_millis();
        let oldest = now.saturating_sub(i64::try_from(keep.as_millis()).unwrap_or(i64::MAX));
        let mut count = 0;
        let mut before = None;
        loop {
            let page = agent.store.sessions(before, PAGE).await?;
            let Some(last) = page.last() else { return Ok(count) };
            before = Some(last.id);
            let is_due = |at: Timestamp| at.as_millis() < oldest;
            for session in page {
                if session.state == SessionState::Forgotten || !is_due(session.active_at) {
                    continue;
                }
                let content =
                    serde_json::json!({ "session": session.id.0, "why": "sessions.keep" });
                self.forget(agent, session.id).await?;
                let about = About::Session(session.id);
                agent.audit.append(about, &Actor::Daemon, "session.forgotten", content).await?;
                count += 1;
            }
        }
    }
}
