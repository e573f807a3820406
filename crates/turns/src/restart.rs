//! Begins an agent anew: its turns under way end, then its programs and servers do, and a new
//! generation serves. Nothing of any other agent is touched.

use crate::engine::Engine;
use crate::live::LiveTurn;
use crate::restarted::RESTARTED;
use futures_util::future::join_all;
use insula_domain::{Actor, AgentId};
use insula_registry::error::RuntimeError;
use insula_registry::events::turn::TurnEvent;
use std::sync::Arc;
use std::time::Duration;

/// How long turns may take to end. Then the agent is begun anew all the same: a turn that goes on
/// has lost its programs, and does not write what it did.
const ENDING_MAX: Duration = Duration::from_secs(10);

/// What a restart did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restarted {
    /// Turns under way that it ended.
    pub ended: usize,
}

impl Engine {
    /// Begins an agent anew. Turns that run are ended and say so where they were asked; what was
    /// said and has not begun yet is answered by the new generation.
    pub async fn restart(&self, id: &AgentId, actor: &Actor) -> Result<Restarted, RuntimeError> {
        let mut ended = 0;
        let ending = Box::pin(async {
            ended = self.end_turns(id).await;
        });
        self.shop.caps.restart(id, ending, actor).await?;
        tracing::info!(agent = %id, %actor, ended, "agent restarted");
        Ok(Restarted { ended })
    }

    /// Ends the turns of an agent that have begun, and waits for that; how many.
    async fn end_turns(&self, id: &AgentId) -> usize {
        let mut begun: Vec<Arc<LiveTurn>> = Vec::new();
        for live in self.live.of_agent(id) {
            if live.inbox.lock().await.has_begun {
                begun.push(live);
            }
        }
        let ends = begun.iter().map(|live| {
            let mut handle = live.listen();
            live.give_up(RESTARTED.to_owned());
            async move {
                while let Some(event) = handle.events.recv().await {
                    if matches!(event, TurnEvent::Ended(_)) {
                        return;
                    }
                }
            }
        });
        tokio::select! {
            biased;
            _ = join_all(ends) => {}
            () = self.shop.world.clock.sleep(ENDING_MAX) => {
                tracing::warn!(agent = %id, "turns did not end in time; the agent is restarted all the same");
            }
        }
        begun.len()
    }
}
