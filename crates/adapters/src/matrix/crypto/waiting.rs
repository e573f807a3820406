//! Events whose keys are not there yet: kept as they came, until the keys come or others need
//! their place.

use super::kept::Kept;
use super::reading::sent;
use super::{Crypto, Snag};
use crate::matrix::wire::Event;
use insula_world::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// The most that waits in all rooms. The oldest goes when there is more: who lets us read
/// nothing must not fill the disk.
const WAITING_MAX: usize = 512;

/// An event that waits.
#[derive(Serialize, Deserialize)]
struct Waiter {
    room: String,
    key: String,
    since: i64,
    event: Value,
}

/// What waits, without what it says.
#[derive(Default)]
pub(super) struct Waiting {
    /// By age: room, key, id of the event.
    order: VecDeque<[Box<str>; 3]>,
    /// Since when the first waits in a room.
    since: BTreeMap<Box<str>, i64>,
    /// Rooms that were told.
    told: BTreeSet<Box<str>>,
}

impl Waiting {
    pub(super) async fn read(kept: &Kept) -> Result<Self, Snag> {
        let mut all: Vec<Waiter> = kept.all(&["waiting"]).await?;
        all.sort_by_key(|it| it.since);
        let mut waiting = Self::default();
        for it in all {
            waiting.since.entry(it.room.as_str().into()).or_insert(it.since);
            let id = it.event["event_id"].as_str().unwrap_or_default();
            waiting.order.push_back([it.room.into(), it.key.into(), id.into()]);
        }
        let told: Vec<String> = kept.all(&["told"]).await?;
        waiting.told = told.into_iter().map(Into::into).collect();
        Ok(waiting)
    }

    /// The keys that are waited for, each with its room.
    pub(super) fn keys(&self) -> impl Iterator<Item = (Box<str>, Box<str>)> {
        self.order.iter().map(|[room, key, _]| (room.clone(), key.clone()))
    }

    pub(super) fn rooms_to_tell(&self, now: Timestamp, late: Duration) -> Vec<Box<str>> {
        let late_ms = i64::try_from(late.as_millis()).unwrap_or(i64::MAX);
        let is_long = |since: &i64| now.as_millis().saturating_sub(*since) >= late_ms;
        let waits = self.since.iter().filter(|(_, since)| is_long(since)).map(|(room, _)| room);
        waits.filter(|room| !self.told.contains(*room)).cloned().collect()
    }

    pub(super) fn told(&mut self, room: &str) {
        self.told.insert(room.into());
    }

    fn remove(&mut self, name: &[Box<str>; 3]) {
        self.order.retain(|it| it != name);
        if !self.order.iter().any(|[room, _, _]| *room == name[0]) {
            self.since.remove(&name[0]);
        }
    }
}

impl Crypto {
    /// Keeps an event until its key comes. True if it is the first that waits in its room.
    pub(in crate::matrix) async fn put_by(
        &self,
        (room, key): (&str, &str),
        event: &Event,
        now: Timestamp,
    ) -> Result<bool, Snag> {
        let id = event.id.as_deref().unwrap_or_default();
        let name = [room, key, id].map(Box::from);
        let (is_known, oldest) = {
            let state = self.state();
            let order = &state.waiting.order;
            let oldest = (order.len() >= WAITING_MAX).then(|| order.front().cloned()).flatten();
            (order.contains(&name), oldest)
        };
        if is_known {
            return Ok(false);
        }
        let mut batch = self.kept.batch();
        let since = now.as_millis();
        let kept = Waiter { room: room.into(), key: key.into(), since, event: sent(event) };
        batch.put(&["waiting", room, key, id], &kept)?;
        if let Some([room, key, id]) = &oldest {
            batch.drop(&["waiting", room, key, id]);
        }
        batch.write().await?;
        let mut state = self.state();
        if let Some(oldest) = oldest {
            state.waiting.remove(&oldest);
        }
        let is_first = !state.waiting.since.contains_key(room);
        state.waiting.since.entry(room.into()).or_insert(since);
        state.waiting.order.push_back(name);
        Ok(is_first)
    }

    /// The events that wait for a key of a room.
    pub(in crate::matrix) async fn waiting_for(
        &self,
        room: &str,
        key: &str,
    ) -> Result<Vec<Event>, Snag> {
        let is_any = {
            let state = self.state();
            state.waiting.order.iter().any(|it| *it[0] == *room && *it[1] == *key)
        };
        if !is_any {
            return Ok(vec![]);
        }
        let mut kept: Vec<Waiter> = self.kept.all(&["waiting", room, key]).await?;
        kept.sort_by_key(|it| it.event["origin_server_ts"].as_i64());
        Ok(kept.into_iter().filter_map(|it| Event::of(it.event)).collect())
    }

    /// The keys that are waited for, each with its room.
    pub(in crate::matrix) fn keys_waited_for(&self) -> BTreeSet<(Box<str>, Box<str>)> {
        self.state().waiting.keys().collect()
    }

    /// Events wait no longer: they were handed on, or can't be read.
    pub(in crate::matrix) async fn wait_no_longer(
        &self,
        events: &[(Box<str>, Box<str>, Box<str>)],
    ) -> Result<(), Snag> {
        let mut batch = self.kept.batch();
        for (room, key, id) in events {
            batch.drop(&["waiting", room, key, id]);
        }
        batch.write().await?;
        let mut state = self.state();
        for (room, key, id) in events {
            state.waiting.remove(&[room.clone(), key.clone(), id.clone()]);
        }
        Ok(())
    }
}
