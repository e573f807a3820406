//! What a turn's calls of models took, and which keys paid: noted when a call is over, and written
//! down with the next commit of the turn, which is the one that counts the call.

use insula_models::Link;
use insula_store::{AgentCommand, Usage};
use insula_world::Timestamp;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What was paid and is not written down yet.
#[derive(Default)]
pub(super) struct Bills(Mutex<Vec<Bill>>);

/// One call.
struct Bill {
    model: Arc<str>,
    key: Option<Arc<str>>,
    usage: Usage,
}

impl Bills {
    fn bills(&self) -> MutexGuard<'_, Vec<Bill>> {
        // Valid after every single statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call of a model is over, paid for by the key of its provider.
    pub(super) fn note(&self, link: &Link, usage: Usage) {
        self.note_paid(link, link.provider.key_name(), usage);
    }

    /// The same, paid for by the key of this name. A model without one costs nobody's.
    pub(super) fn note_paid(&self, link: &Link, key: Option<&Arc<str>>, usage: Usage) {
        if !usage.is_zero() {
            let model = link.to_string().into();
            self.bills().push(Bill { model, key: key.cloned(), usage });
        }
    }

    /// All that was noted, for a commit.
    pub(super) fn due(&self, at: Timestamp) -> impl Iterator<Item = AgentCommand> {
        let bills = std::mem::take(&mut *self.bills());
        bills.into_iter().map(move |Bill { model, key, usage }| AgentCommand::CountCall {
            model,
            key,
            usage,
            at,
        })
    }
}
