//! The models an agent runs on, and which of them people may choose.

use insula_config::model::ModelRef;

/// The models an agent runs on, tried in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChain {
    /// Never empty.
    pub models: Vec<ModelRef>,
    /// What people may have answer instead, in their conversation.
    pub choices: Vec<ModelRef>,
    /// What its children run on, unless a call says otherwise.
    pub children: Option<ModelRef>,
    /// Of which models the operator says whether they can be shown pictures.
    pub sees_images: Vec<(ModelRef, bool)>,
}

impl ModelChain {
    /// Whether people can choose who answers.
    pub fn has_choice(&self) -> bool {
        self.models.len() + self.choices.len() > 1
    }

    /// Those that can be chosen: that it asks anyway, and the others.
    pub fn all(&self) -> impl Iterator<Item = &ModelRef> {
        self.models.iter().chain(&self.choices)
    }

    /// The one of a name: whole, or without its provider where one alone is called so.
    pub fn named(&self, name: &str) -> Option<&ModelRef> {
        let whole = self.all().find(|it| it.to_string() == name);
        let mut short = self.all().filter(|it| &*it.name == name);
        whole.or_else(|| short.next().filter(|_| short.next().is_none()))
    }

    /// Those that somebody may choose: what the operator offers, and for an admin those too that
    /// are asked anyway.
    pub fn open_to(&self, is_admin: bool) -> Vec<&ModelRef> {
        match is_admin {
            true if self.has_choice() => self.all().collect(),
            _ => self.choices.iter().collect(),
        }
    }

    /// Which of those that are open a text means: its number, its name, or its name without the
    /// provider.
    pub fn meant<'m>(&'m self, open: &[&'m ModelRef], wanted: &str) -> Option<&'m ModelRef> {
        let by_number = wanted.parse::<usize>().ok().and_then(|it| it.checked_sub(1));
        let by_number = by_number.and_then(|at| open.get(at).copied());
        by_number.or_else(|| self.named(wanted).filter(|it| open.contains(it)))
    }

    /// Whether all of them can be shown pictures: any of them may be asked.
    pub fn see_pictures(&self) -> bool {
        let said = |model: &ModelRef| {
            let said = self.sees_images.iter().find(|(of, _)| of == model);
            said.map_or_else(|| insula_models::sees_pictures(&model.name), |(_, sees)| *sees)
        };
        self.models.iter().all(said)
    }
}
