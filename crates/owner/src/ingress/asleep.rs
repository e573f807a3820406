//! Agents that did not serve when the daemon started, and had something waiting: it goes on
//! when they serve again, before anything new does.

use super::Ingress;
use insula_domain::AgentId;
use insula_registry::{AgentContext, AgentState};
use insula_store::StoreError;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The agents that something waits for until they serve again.
#[derive(Default)]
pub(super) struct Asleep {
    agents: Mutex<BTreeSet<AgentId>>,
    /// Held while one is taken up: whoever comes meanwhile comes after.
    waking: tokio::sync::Mutex<()>,
}

impl Asleep {
    fn change<T>(&self, change: impl FnOnce(&mut BTreeSet<AgentId>) -> T) -> T {
        change(&mut self.agents.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes one.
    pub(super) fn add(&self, agent: AgentId) {
        self.change(|agents| agents.insert(agent));
    }
}

impl Ingress {
    /// Goes on with what waits for agents that serve again, in the order it came.
    pub async fn wake(&self) {
        if self.risen().is_empty() {
            return;
        }
        let _one = self.asleep.waking.lock().await;
        for agent in self.risen() {
            if let Err(error) = self.take_up_all(&agent).await {
                tracing::error!(agent = %agent.id, %error, "what waits for an agent that serves again can't be read; it is tried again");
                continue;
            }
            self.asleep.change(|agents| agents.remove(&agent.id));
        }
    }

    /// The agents among them that serve now.
    fn risen(&self) -> Vec<Arc<AgentContext>> {
        let asleep: Vec<AgentId> = self.asleep.change(|agents| agents.iter().cloned().collect());
        if asleep.is_empty() {
            return Vec::new();
        }
        let snapshot = self.registry.snapshot();
        let serving = asleep.iter().filter_map(|id| match &snapshot.agents.get(id)?.state {
            AgentState::Ready(agent) => Some(agent.clone()),
            _ => None,
        });
        serving.collect()
    }

    async fn take_up_all(&self, agent: &Arc<AgentContext>) -> Result<(), StoreError> {
        // What was under way was said before what waits.
        self.engine.resume_agent(agent).await?;
        self.out.take_up(&agent.id).await;
        for row in agent.store.inbox_waiting().await? {
            self.take_up(agent, &row).await;
        }
        Ok(())
    }
}
