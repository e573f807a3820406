//! Which keys paid for a turn's calls of models: noted when a call is over, and written down with
//! the next commit of the turn, which is the one that counts the call.

use insula_store::{AgentCommand, Usage};
use insula_world::Timestamp;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was paid and is not written down yet.
#[derive(Default)]
pub(super) struct Bills(Mutex<Vec<(Arc<str>, Usage)>>);

impl Bills {
    fn bills(&self) -> MutexGuard<'_, Vec<(Arc<str>, Usage)>> {
        // Valid after every single statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call was paid for by the key of this name. A model without one costs nobody's.
    pub(super) fn note(&self, key: Option<&Arc<str>>, usage: Usage) {
        if let Some(key) = key.filter(|_| !usage.is_zero()) {
            self.bills().push((key.clone(), usage));
        }
    }

    /// All that was noted, for a commit.
    pub(super) fn due(&self, at: Timestamp) -> impl Iterator<Item = AgentCommand> {
        let bills = std::mem::take(&mut *self.bills());
        bills.into_iter().map(move |(key, usage)| AgentCommand::CountKey { key, usage, at })
    }
}
