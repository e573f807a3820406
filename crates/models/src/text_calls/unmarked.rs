//! Which models were seen to begin in the middle of a thought: the mark that opens it stands in
//! their prompt, and only its end is in their words. Kept as long as the provider is.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Models that are remembered. A configuration names a few.
const MODELS_MAX: usize = 256;

/// Models of one provider that were seen to do so. It decides when words are passed on and never
/// which: what one conversation made a model print is no reason to read another's differently.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenThinking {
    models: Arc<Mutex<BTreeSet<Arc<str>>>>,
}

impl SeenThinking {
    /// Whether this model was seen to.
    pub(crate) fn has(&self, model: &str) -> bool {
        self.models.lock().unwrap_or_else(PoisonError::into_inner).contains(model)
    }

    /// This model did.
    pub(super) fn note(&self, model: &str) {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if models.len() < MODELS_MAX {
            models.insert(model.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_remembered_by_name_and_not_without_end() {
        let seen = SeenThinking::default();
        seen.note("a");
        assert!(seen.has("a") && !seen.has("b"));
        (0..1_000).for_each(|number| seen.note(&number.to_string()));
        assert_eq!(seen.models.lock().unwrap().len(), MODELS_MAX);
        assert!(seen.has("a"));
    }
}
