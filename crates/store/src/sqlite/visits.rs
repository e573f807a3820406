//! Looking into agents' files in passing, as a list of all agents does. A file that was closed
//! before is closed again afterwards, and few are open for this at once: whoever looks at hundreds
//! of agents leaves no more of them open than there were.

use super::pool::{Pool, Slot};
use crate::backend::Visit;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Agents that are looked into at once, by whoever it is: enough to keep the disk at work, and few
/// beside `store.open_max`.
const VISITS_MAX: usize = 4;

/// Those who look into files in passing.
pub(crate) struct Visits {
    places: Arc<Semaphore>,
    /// Files that were closed when somebody began to look, by the incarnation of their agent. One
    /// stays until it is closed again: where whoever looked went away before that, the next who
    /// looks at anything does it.
    opened: Mutex<BTreeMap<u64, Opened>>,
}

/// A file that was closed before somebody looked into it.
struct Opened {
    slot: Arc<Slot>,
    /// How many look into it now.
    visitors: usize,
}

/// One look into a file.
struct SqliteVisit {
    pool: Arc<Pool>,
    /// The incarnation whose file is to be closed afterwards; none where it was open before.
    opened: Option<u64>,
    place: Option<OwnedSemaphorePermit>,
}

impl Default for Visits {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(VISITS_MAX)), opened: Mutex::default() }
    }
}

impl Visits {
    fn opened(&self) -> MutexGuard<'_, BTreeMap<u64, Opened>> {
        // A map of files is whole after every statement.
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that somebody looks into a file; whether it is to be closed afterwards.
    fn enter(&self, slot: &Arc<Slot>) -> bool {
        let mut all = self.opened();
        if let Some(opened) = all.get_mut(&slot.incarnation) {
            opened.visitors += 1;
            return true;
        }
        let is_closed = slot.is_closed();
        if is_closed {
            all.insert(slot.incarnation, Opened { slot: slot.clone(), visitors: 1 });
        }
        is_closed
    }

    /// Those that nobody looks into any more.
    fn left(&self) -> Vec<Arc<Slot>> {
        let all = self.opened();
        let left = all.values().filter(|it| it.visitors == 0);
        left.map(|it| it.slot.clone()).collect()
    }
}

impl Pool {
    /// Waits for a place to look into a file in passing.
    pub(crate) async fn visit(self: &Arc<Self>, slot: &Arc<Slot>) -> Box<dyn Visit> {
        // Nobody closes the semaphore.
        let place = self.visits.places.clone().acquire_owned().await.ok();
        self.close_left().await;
        let opened = self.visits.enter(slot).then_some(slot.incarnation);
        Box::new(SqliteVisit { pool: self.clone(), opened, place })
    }

    async fn close_left(&self) {
        for slot in self.visits.left() {
            // One that somebody works with meanwhile is looked at again later.
            if self.close_unused(&slot).await {
                let mut all = self.visits.opened();
                if all.get(&slot.incarnation).is_some_and(|it| it.visitors == 0) {
                    all.remove(&slot.incarnation);
                }
            }
        }
    }
}

#[async_trait]
impl Visit for SqliteVisit {
    async fn end(mut self: Box<Self>) {
        // Kept until the file is closed, so that no more are open than there are places.
        let _place = self.place.take();
        let pool = self.pool.clone();
        drop(self);
        pool.close_left().await;
    }
}

impl Drop for SqliteVisit {
    fn drop(&mut self) {
        let Some(incarnation) = self.opened else { return };
        if let Some(opened) = self.pool.visits.opened().get_mut(&incarnation) {
            opened.visitors = opened.visitors.saturating_sub(1);
        }
    }
}
