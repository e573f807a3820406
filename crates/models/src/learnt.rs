//! What the refusals of a server taught of its models: how much they can be shown at once, how
//! long their answers may be, and in what manner they want to be asked. Kept as long as the provider is.

use crate::per_asker::PerAsker;
use crate::request::Request;
use crate::taught::Taught;
use crate::window::Abilities;

/// What refusals taught.
#[derive(Default)]
pub(crate) struct Learnt(PerAsker<Bounds>);

/// What a model takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Bounds {
    /// Tokens that it can be shown and say at once.
    window: Option<u32>,
    /// The most tokens of an answer.
    answer: Option<u32>,
    /// How it wants to be asked.
    manner: Taught,
}

impl Learnt {
    fn of(&self, request: &Request) -> Bounds {
        self.0.get(&request.asker, &request.model).unwrap_or_default()
    }

    /// A server said how much fits the model of a request. The last word counts: it may have been
    /// started anew.
    pub(crate) fn window(&self, request: &Request, window: u32) {
        let learn = |bounds: &mut Bounds| bounds.window = Some(window);
        self.0.change(&request.asker, &request.model, learn);
    }

    /// A server took an answer of this length, and no longer one.
    pub(crate) fn answer(&self, request: &Request, tokens: u32) {
        let learn = |bounds: &mut Bounds| bounds.answer = Some(tokens);
        self.0.change(&request.asker, &request.model, learn);
    }

    /// The most tokens of an answer to a request, where that was learnt.
    pub(crate) fn answer_max(&self, request: &Request) -> Option<u32> {
        self.of(request).answer
    }

    /// In what manner the model of a request wants to be asked.
    pub(crate) fn manner(&self, request: &Request) -> Taught {
        self.of(request).manner
    }

    /// It is to be asked in this manner from now on.
    pub(crate) fn set_manner(&self, request: &Request, manner: Taught) {
        let learn = |bounds: &mut Bounds| bounds.manner = manner;
        self.0.change(&request.asker, &request.model, learn);
    }

    /// How long an answer may be beside a question of so many tokens, where the window of the
    /// model was learnt; a part of it however long that is, since it is but counted roughly.
    pub(crate) fn room_beside(&self, request: &Request, question: usize) -> Option<u32> {
        let window = self.of(request).window?;
        let question = u32::try_from(question).unwrap_or(u32::MAX);
        Some(window.saturating_sub(question).max(window / 5))
    }

    /// What a model can be shown: who refused comes before who was asked, and before its name;
    /// what its operator set holds where it is less.
    pub(crate) fn corrected(
        &self,
        (asker, model): (&str, &str),
        known: Abilities,
        set: Option<u32>,
    ) -> Abilities {
        match self.0.get(asker, model).and_then(|bounds| bounds.window) {
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
        let (learnt, known) = (Learnt::default(), Abilities { window: 32_000, sees_images: true });
        let [request, other] = ["m", "other"].map(|model| Request::new(model, vec![]));
        let window = |set| learnt.corrected(("", "m"), known, set).window;
        assert_eq!(window(None), 32_000);
        learnt.window(&request, 4_096);
        assert_eq!([window(None), window(Some(8_000)), window(Some(2_000))], [4_096, 4_096, 2_000]);
        assert_eq!(learnt.corrected(("", "other"), known, None), known);
        learnt.answer(&request, 1_000);
        assert_eq!((learnt.answer_max(&request), learnt.answer_max(&other)), (Some(1_000), None));
    }
}
