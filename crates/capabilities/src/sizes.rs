//! How much agents have on the disk, now and some days ago: figures alone, kept by the daemon.
//!
//! Two looks are kept. When the newer is a week old it becomes the older, so that growth is told of
//! one week to two.

use crate::Capabilities;
use insula_domain::AgentId;
use insula_registry::kept_files::{DiskUse, measure};
use insula_store::{DaemonCommand, StoreError};
use insula_world::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Where the store keeps the looks.
const KEPT: &str = "sizes";
const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

/// What each agent had at a moment, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub at: Timestamp,
    pub agents: BTreeMap<Box<str>, u64>,
}

impl Look {
    fn read(value: &Value) -> Option<Self> {
        let at = Timestamp::from_millis(value["at"].as_i64()?);
        let agents = value["agents"].as_object()?.iter();
        let agents = agents.filter_map(|(id, bytes)| Some((id.as_str().into(), bytes.as_u64()?)));
        Some(Self { at, agents: agents.collect() })
    }

    fn kept(&self) -> Value {
        let agents: BTreeMap<&str, u64> =
            self.agents.iter().map(|(id, bytes)| (&**id, *bytes)).collect();
        json!({ "at": self.at.as_millis(), "agents": agents })
    }

    /// What all agents had together.
    pub fn total(&self) -> u64 {
        self.agents.values().sum()
    }
}

impl Capabilities {
    /// What each agent has on the disk now.
    pub async fn disk_use(&self) -> Result<BTreeMap<AgentId, DiskUse>, StoreError> {
        let ids: Vec<AgentId> = self.registry.snapshot().agents.keys().cloned().collect();
        let mut found = BTreeMap::new();
        for id in ids {
            let folder = self.home.agent(&id);
            // One after the other: storage is everybody's.
            let used = self.world.storage.run(move || measure(&folder)).await?;
            found.insert(id, used);
        }
        Ok(found)
    }

    /// Notes what agents have, where the last look is a while ago.
    pub async fn note_sizes(&self) -> Result<(), StoreError> {
        let kept = self.kept_looks().await?;
        let now = self.world.clock.now();
        let is_due = |look: &Look| now.as_millis() - look.at.as_millis() >= WEEK_MS;
        if kept.last().is_some_and(|newest| !is_due(newest)) {
            return Ok(());
        }
        let agents = self.disk_use().await?.into_iter();
        let agents = agents.map(|(id, used)| (id.as_str().into(), used.total())).collect();
        let looks = [kept.last().map(Look::kept), Some(Look { at: now, agents }.kept())];
        let value = Value::from(looks.into_iter().flatten().collect::<Vec<_>>()).to_string();
        let put = DaemonCommand::PutValue { key: KEPT.into(), value };
        self.owner.daemon().commit(vec![put]).await.map(drop)
    }

    /// The oldest look that is kept, to compare with.
    pub(crate) async fn look_before(&self) -> Result<Option<Look>, StoreError> {
        Ok(self.kept_looks().await?.into_iter().next())
    }

    async fn kept_looks(&self) -> Result<Vec<Look>, StoreError> {
        let kept = self.store.daemon().value(KEPT).await?.unwrap_or_default();
        let kept: Value = serde_json::from_str(&kept).unwrap_or_default();
        Ok(kept.as_array().into_iter().flatten().filter_map(Look::read).collect())
    }
}
