//! Which of the keys that are kept are not in the backup: remembered while there is one, since to
//! find out all keys have to be read.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The keys that are not in the backup, and who waits for more of them.
#[derive(Debug, Default)]
pub(in crate::matrix::crypto) struct Unsaved {
    state: Mutex<Option<Missing>>,
    /// Told when there may be more.
    pub(in crate::matrix::crypto) news: Notify,
    /// Held while keys are written: what is marked is what was read.
    pub(in crate::matrix::crypto) writing: tokio::sync::Mutex<()>,
}

/// What one version of the backup lacks, by the names under which it is kept.
#[derive(Debug)]
struct Missing {
    version: Box<str>,
    names: BTreeSet<Box<str>>,
}

impl Unsaved {
    fn state(&self) -> MutexGuard<'_, Option<Missing>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is known what this version lacks. If not, from now on what comes is noted, and
    /// what is there already has to be [`found`](Self::found).
    pub(in crate::matrix::crypto) fn begins(&self, version: &str) -> bool {
        let mut state = self.state();
        if state.as_ref().is_some_and(|it| *it.version == *version) {
            return false;
        }
        *state = Some(Missing { version: version.into(), names: BTreeSet::new() });
        true
    }

    /// Forgets what is known: it could not be found.
    pub(in crate::matrix::crypto) fn forget(&self) {
        *self.state() = None;
    }

    /// Adds what was there already.
    pub(in crate::matrix::crypto) fn found(&self, names: impl Iterator<Item = Box<str>>) {
        if let Some(state) = &mut *self.state() {
            state.names.extend(names);
        }
    }

    /// Notes a key that came.
    pub(in crate::matrix::crypto) fn came(&self, name: Box<str>) {
        if let Some(state) = &mut *self.state() {
            state.names.insert(name);
        }
        self.news.notify_one();
    }

    /// Notes that a key is in the backup, or is no more.
    pub(in crate::matrix::crypto) fn done(&self, name: &str) {
        if let Some(state) = &mut *self.state() {
            state.names.remove(name);
        }
    }

    /// Some of what is missing.
    pub(in crate::matrix::crypto) fn some(&self, limit: usize) -> Vec<Box<str>> {
        let state = self.state();
        state.iter().flat_map(|it| &it.names).take(limit).cloned().collect()
    }

    pub(super) fn count(&self) -> usize {
        self.state().as_ref().map_or(0, |it| it.names.len())
    }
}
