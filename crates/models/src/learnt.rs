//! What the refusals of a server taught of its models: how much they can be shown at once, and
//! how long their answers may be. Kept as long as the provider is.

use crate::window::Abilities;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Models that are remembered. A configuration names a few.
const MODELS_MAX: usize = 256;

/// What refusals taught, by model.
#[derive(Default)]
pub(crate) struct Learnt {
    known: Mutex<BTreeMap<Arc<str>, Bounds>>,
}

/// What a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Bounds {
    /// Tokens that it can be shown and say at once.
    window: Option<u32>,
    /// The most tokens of an answer.
    answer: Option<u32>,
}

impl Learnt {
    fn known(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Bounds>> {
        // Valid after every single statement.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(&self, model: &str) -> Bounds {
        self.known().get(model).copied().unwrap_or_default()
    }

    fn change(&self, model: &Arc<str>, change: impl FnOnce(&mut Bounds)) {
        let mut known = self.known();
        if known.len() < MODELS_MAX || known.contains_key(model) {
            change(known.entry(model.clone()).or_default());
        }
    }

    /// A server said how much fits a model. The last word counts: it may have been started anew.
    pub(crate) fn window(&self, model: &Arc<str>, window: u32) {
        self.change(model, |bounds| bounds.window = Some(window));
    }

    /// A server took an answer of this length, and no longer one.
    pub(crate) fn answer(&self, model: &Arc<str>, tokens: u32) {
        self.change(model, |bounds| bounds.answer = Some(tokens));
    }

    /// The most tokens of an answer of a model, where that was learnt.
    pub(crate) fn answer_max(&self, model: &str) -> Option<u32> {
        self.of(model).answer
    }

    /// How long an answer may be beside a question of so many tokens, where the window of the
    /// model was learnt; a part of it however long that is, since it is but counted roughly.
    pub(crate) fn room_beside(&self, model: &str, question: usize) -> Option<u32> {
        let window = self.of(model).window?;
        let question = u32::try_from(question).unwrap_or(u32::MAX);
        Some(window.saturating_sub(question).max(window / 5))
    }

    /// What a model can be shown: who refused comes before who was asked, and before its name;
    /// what its operator set holds where it is less.
    pub(crate) fn corrected(&self, model: &str, known: Abilities, set: Option<u32>) -> Abilities {
        match self.of(model).window {
            Some(window) => Abilities { window: set.map_or(window, |it| it.min(window)), ..known },
            None => known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_believed_before_a_guess_and_below_what_is_set() {
        let (learnt, model): (Learnt, Arc<str>) = (Learnt::default(), "m".into());
        let known = Abilities { window: 32_000, sees_images: true };
        let window = |set| learnt.corrected("m", known, set).window;
        assert_eq!(window(None), 32_000);
        learnt.window(&model, 4_096);
        assert_eq!([window(None), window(Some(8_000)), window(Some(2_000))], [4_096, 4_096, 2_000]);
        assert_eq!(learnt.corrected("other", known, None), known);
        learnt.answer(&model, 1_000);
        assert_eq!((learnt.answer_max("m"), learnt.answer_max("other")), (Some(1_000), None));
    }
}
