//! What was seen of models, kept for each who asks them apart: what the answers to one agent
//! taught must not change what another is told, or when.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Models that are remembered for one asker. A configuration names a few.
const MODELS_MAX: usize = 256;
/// Askers that are remembered. Whoever comes later is told what a new one is.
const ASKERS_MAX: usize = 16_384;

type Known<T> = BTreeMap<Arc<str>, BTreeMap<Arc<str>, T>>;

/// Something about models, by asker and model.
#[derive(Debug)]
pub(crate) struct PerAsker<T>(Mutex<Known<T>>);

impl<T> Default for PerAsker<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Copy + Default> PerAsker<T> {
    fn known(&self) -> MutexGuard<'_, Known<T>> {
        // Valid after every single statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a model for somebody, if anything is.
    pub(crate) fn get(&self, asker: &str, model: &str) -> Option<T> {
        self.known().get(asker)?.get(model).copied()
    }

    /// Changes what is known of a model for somebody, which begins as nothing.
    pub(crate) fn change(&self, asker: &Arc<str>, model: &Arc<str>, change: impl FnOnce(&mut T)) {
        let mut known = self.known();
        if known.len() >= ASKERS_MAX && !known.contains_key(asker) {
            return;
        }
        let models = known.entry(asker.clone()).or_default();
        if models.len() < MODELS_MAX || models.contains_key(model) {
            change(models.entry(model.clone()).or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: usize) -> Arc<str> {
        number.to_string().into()
    }

    #[test]
    fn each_knows_what_was_said_to_them_alone() {
        let (known, a, model) = (PerAsker::<u8>::default(), "a".into(), "m".into());
        known.change(&a, &model, |it| *it += 1);
        known.change(&a, &model, |it| *it += 1);
        let told = [("a", "m"), ("b", "m"), ("a", "n"), ("m", "a")];
        assert_eq!(told.map(|(asker, model)| known.get(asker, model)), [Some(2), None, None, None]);
    }

    #[test]
    fn one_who_asks_many_models_takes_no_room_of_others_and_none_without_end() {
        let (known, many, one) = (PerAsker::<u8>::default(), "many".into(), "one".into());
        (0..1_000).for_each(|number| known.change(&many, &name(number), |it| *it = 1));
        known.change(&one, &name(999), |it| *it = 2);
        known.change(&many, &name(0), |it| *it = 3);
        assert_eq!(known.known()["many"].len(), MODELS_MAX);
        assert_eq!([known.get("many", "0"), known.get("one", "999")], [Some(3), Some(2)]);
        (0..ASKERS_MAX).for_each(|number| known.change(&name(number), &one, |it| *it = 4));
        assert_eq!(known.known().len(), ASKERS_MAX);
        assert_eq!(known.get("one", "999"), Some(2));
    }
}
