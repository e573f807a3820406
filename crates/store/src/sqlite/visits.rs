//! Who looks into agents' files in passing, as a list of all agents does, and which files are to be
//! closed again afterwards. It knows no files.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Agents that are looked into at once, by whoever it is: enough to keep the disk at work, and few
/// beside `store.open_max`.
const VISITS_MAX: usize = 4;

/// Those who look into files in passing.
pub(crate) struct Visits<T> {
    places: Arc<Semaphore>,
    /// Files that were closed when somebody began to look, by the incarnation of their agent. One
    /// stays until it is closed again: where whoever looked went away before that, the next who
    /// looks at anything does it.
    opened: Mutex<BTreeMap<u64, Opened<T>>>,
}

/// A file that was closed before somebody looked into it.
struct Opened<T> {
    file: T,
    /// How many look into it now.
    visitors: usize,
}

impl<T> Default for Visits<T> {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(VISITS_MAX)), opened: Mutex::default() }
    }
}

impl<T: Clone> Visits<T> {
    fn opened(&self) -> MutexGuard<'_, BTreeMap<u64, Opened<T>>> {
        // A map of files is whole after every statement.
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes the semaphore.
        self.places.clone().acquire_owned().await.ok()
    }

    /// Notes that somebody looks into a file; whether it is to be closed afterwards.
    pub(crate) fn enter(
        &self,
        incarnation: u64,
        file: &T,
        is_closed: impl FnOnce() -> bool,
    ) -> bool {
        let mut all = self.opened();
        if let Some(opened) = all.get_mut(&incarnation) {
            opened.visitors += 1;
            return true;
        }
        let is_closed = is_closed();
        if is_closed {
            all.insert(incarnation, Opened { file: file.clone(), visitors: 1 });
        }
        is_closed
    }

    /// Notes that somebody looks into a file no longer that is to be closed.
    pub(crate) fn leave(&self, incarnation: u64) {
        if let Some(opened) = self.opened().get_mut(&incarnation) {
            opened.visitors = opened.visitors.saturating_sub(1);
        }
    }

    /// Those that are to be closed and that nobody looks into any more.
    pub(crate) fn left(&self) -> Vec<T> {
        let all = self.opened();
        let left = all.values().filter(|it| it.visitors == 0);
        left.map(|it| it.file.clone()).collect()
    }

    /// Notes that a file was closed.
    pub(crate) fn closed(&self, incarnation: u64) {
        let mut all = self.opened();
        // Whoever came meanwhile may have opened it again.
        if all.get(&incarnation).is_some_and(|it| it.visitors == 0) {
            all.remove(&incarnation);
        }
    }
}
