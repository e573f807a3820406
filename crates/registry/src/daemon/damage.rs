//! Databases that turn out to be damaged while their agents serve. The use that met it fails, and
//! the agent is failed here, as it would have been had its first bytes shown it at the start.
//!
//! What a use meets may also be one odd row, so it is looked at all pages first. An agent that
//! failed so is looked at again at every reload.

use super::{Daemon, Ledger};
use crate::error::RuntimeError;
use crate::lives::{LifeFacts, LifeKind};
use crate::registry::{AgentEntry, AgentState};
use crate::signal::{Changes, Signal};
use insula_domain::{Actor, AgentId};
use insula_store::{DaemonCommand, Feed, FeedChange, StoreError, Subscription, inspect};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the database of an agent is not looked at again: looking reads all of it.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Agents whose database gave an error that may be damage, until they are looked at.
#[derive(Default)]
pub(crate) struct Damage {
    met: Mutex<BTreeSet<AgentId>>,
    told: Signal,
}

impl Damage {
    /// Hears of it from now on.
    pub(crate) fn follow(self: &Arc<Self>, feed: &Feed) -> Subscription {
        let damage = self.clone();
        feed.subscribe(move |change| {
            if let FeedChange::Damaged(agent) = change {
                damage.met.lock().unwrap_or_else(PoisonError::into_inner).insert(agent.clone());
                damage.told.send();
            }
        })
    }

    fn take(&self) -> BTreeSet<AgentId> {
        std::mem::take(&mut *self.met.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn changes(&self) -> Changes {
        self.told.listen()
    }
}

impl Daemon {
    /// Fails agents whose database is found to be damaged, as long as it is waited for.
    pub async fn watch_databases(&self) {
        let mut changes = self.damage.changes();
        let mut looked: BTreeMap<AgentId, Duration> = BTreeMap::new();
        loop {
            let now = self.parts.world.clock.elapsed();
            looked.retain(|_, at| now.saturating_sub(*at) < LOOK_AGAIN);
            for agent in self.damage.take() {
                if looked.insert(agent.clone(), now).is_some() {
                    continue;
                }
                if let Err(error) = self.look_at(&agent).await {
                    let error = error.reason();
                    tracing::error!(%agent, error, "it could not be noted that an agent failed");
                }
            }
            changes.changed().await;
        }
    }

    /// Why the database of an agent can't be used, where all of it was looked at.
    async fn damage_of(&self, agent: &AgentId) -> Result<Option<Arc<str>>, StoreError> {
        let (home, agent) = (self.parts.home.root().to_owned(), agent.clone());
        match self.parts.world.storage.run(move || inspect(&home, &agent)).await? {
            Err(why @ StoreError::Damaged { .. }) => Ok(Some(why.to_string().into())),
            // Another program may hold it: that is no damage.
            _ => Ok(None),
        }
    }

    async fn look_at(&self, id: &AgentId) -> Result<(), RuntimeError> {
        let Some(reason) = self.damage_of(id).await? else { return Ok(()) };
        let mut ledger = self.change().await;
        let now = self.snapshot();
        let Some(AgentEntry { generation, state: AgentState::Ready(context) }) = now.agents.get(id)
        else {
            return Ok(());
        };
        let (kind, generation) = (LifeKind::Failed, *generation);
        let content = json!({ "reason": &*reason });
        let record =
            self.parts.trail.entry_of(id, &Actor::Daemon, kind.as_str(), generation.0, content);
        let batch = vec![DaemonCommand::QueueAudit(id.clone(), record)];
        self.parts.owner.daemon().commit(batch).await?;
        tracing::error!(agent = %id, reason = &*reason, "agent failed");
        ledger.damaged.insert(id.clone());
        let state = AgentState::Failed(reason.clone());
        self.show(&now, id, Some(AgentEntry { generation, state }));
        let facts = LifeFacts { why: Some(reason.to_string()), ..LifeFacts::default() };
        self.parts.lives.tell(context, kind, generation.0, &Actor::Daemon, facts);
        Ok(())
    }

    /// Those whose database is still damaged, of those it was; and why.
    pub(super) async fn still_damaged(
        &self,
        ledger: &mut Ledger,
    ) -> Result<BTreeMap<AgentId, Arc<str>>, RuntimeError> {
        let mut still = BTreeMap::new();
        for id in &ledger.damaged {
            if let Some(reason) = self.damage_of(id).await? {
                still.insert(id.clone(), reason);
            }
        }
        ledger.damaged.retain(|id| still.contains_key(id));
        Ok(still)
    }
}
