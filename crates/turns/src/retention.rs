//! What is older than its agent keeps it: conversations, with what came along and what programs
//! printed in them; what came with messages; audit records.
//!
//! Only databases of agents that keep something for a limited time are opened for it, one after the
//! other, when the daemon starts and once a day. Then it is noted, too, how much each agent has.

use crate::engine::Engine;
use insula_config::agent::AttachmentsKept;
use insula_domain::Actor;
use insula_registry::context::AgentContext;
use insula_registry::kept_files;
use insula_store::{About, AgentCommand, SessionState, StoreError};
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
            self.forget_attachments(&stop).await;
            self.drop_old_records(&stop).await;
            if let Err(error) = self.shop.caps.note_sizes().await {
                tracing::warn!(%error, "how much agents have on the disk could not be noted");
            }
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

    /// Removes what came with messages and is kept no longer.
    async fn forget_attachments(&self, stop: &CancellationToken) {
        let snapshot = self.shop.registry.snapshot();
        for agent in snapshot.agents.values().filter_map(|entry| entry.state.context()) {
            let AttachmentsKept { keep, bytes } = agent.attachments_kept;
            if (keep.is_none() && bytes.is_none()) || stop.is_cancelled() {
                continue;
            }
            let before = keep.map(|keep| self.so_long_ago(keep).as_millis());
            let folder = self.shop.caps.home.agent(&agent.id);
            let forget = move || kept_files::forget_attachments(&folder, before, bytes);
            match self.shop.world.storage.run(forget).await {
                Ok((0, _)) => {}
                Ok((count, bytes)) => {
                    tracing::info!(agent = %agent.id, count, bytes, "removed what came with messages and was kept long enough");
                }
                Err(error) => {
                    tracing::warn!(agent = %agent.id, %error, "what came with messages could not be looked at");
                }
            }
        }
    }

    /// Drops audit records that are older than their agent keeps them, a part at a time.
    async fn drop_old_records(&self, stop: &CancellationToken) {
        let snapshot = self.shop.registry.snapshot();
        for agent in snapshot.agents.values().filter_map(|entry| entry.state.context()) {
            let Some(keep) = agent.audit_keep else { continue };
            let before = self.so_long_ago(keep);
            loop {
                if stop.is_cancelled() {
                    return;
                }
                let (at, generation) = (self.shop.world.clock.now(), agent.generation.0);
                let drop = vec![AgentCommand::DropAudit { before, at, generation }];
                match agent.store.commit(drop).await {
                    // There may be more than are dropped at once.
                    Ok(done) if !done.audit.is_empty() => {}
                    Ok(_) => break,
                    Err(error) => {
                        tracing::warn!(agent = %agent.id, %error, "old audit records could not be dropped");
                        break;
                    }
                }
            }
        }
    }

    fn so_long_ago(&self, keep: Duration) -> Timestamp {
        let now = self.shop.world.clock.now().as_millis();
        let keep = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(now.saturating_sub(keep))
    }

    /// Forgets the conversations of an agent in which nothing happened for so long; how many.
    async fn forget_older_than(
        &self,
        agent: &Arc<AgentContext>,
        keep: Duration,
    ) -> Result<usize, StoreError> {
        let oldest = self.so_long_ago(keep).as_millis();
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
