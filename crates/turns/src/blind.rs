//! Pictures that models turned out not to take. A conversation remembers it by itself, as long as
//! it is at hand; here it is known of the pictures, for whoever brings a conversation along anew
//! each time, and for those that are read again.

use crate::turn::Turn;
use insula_models::Chain;
use insula_registry::context::AgentContext;
use insula_store::{Message, Part};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Pictures that are remembered, of all agents.
const PICTURES_MAX: usize = 4_096;

/// What tells an agent, a model and a picture from others.
type Mark = [u8; 32];

/// Which pictures which models of which agents do not take. No agent learns from another's.
#[derive(Default)]
pub(crate) struct RefusedPictures(Mutex<VecDeque<Mark>>);

impl RefusedPictures {
    fn marks(&self) -> std::sync::MutexGuard<'_, VecDeque<Mark>> {
        // Valid after every single statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A model did not take what may have been any of these.
    fn add(&self, marks: impl Iterator<Item = Mark>) {
        let mut known = self.marks();
        for mark in marks {
            if !known.contains(&mark) {
                known.push_back(mark);
            }
        }
        let over = known.len().saturating_sub(PICTURES_MAX);
        known.drain(..over);
    }

    fn has_any(&self, mut marks: impl Iterator<Item = Mark>) -> bool {
        // Most never learn of any, and need no marks.
        let known = self.marks();
        !known.is_empty() && marks.any(|mark| known.contains(&mark))
    }
}

/// The marks of the pictures in messages, for one model.
fn marks<'a>(
    agent: &'a AgentContext,
    model: &'a str,
    history: &'a [Message],
) -> impl Iterator<Item = Mark> + use<'a> {
    let life = agent.store.incarnation().to_le_bytes();
    history.iter().flat_map(|message| &message.parts).filter_map(move |part| {
        let Part::Image { source, .. } = part else { return None };
        let mut hasher = blake3::Hasher::new_derive_key("insula refused picture 1");
        for piece in [agent.id.as_str().as_bytes(), &life, model.as_bytes()] {
            hasher.update(&(piece.len() as u64).to_le_bytes());
            hasher.update(piece);
        }
        hasher.update(source.as_bytes());
        Some(hasher.finalize().into())
    })
}

impl Turn<'_> {
    /// Shows a conversation without pictures where it has one that a model did not take.
    pub(super) fn see_refused_pictures(&mut self, chain: &Chain, history: &[Message]) {
        if self.shown.blind().is_some() {
            return;
        }
        let agent = &self.cx.agent;
        let models = chain.links().map(ToString::to_string);
        let has_refused =
            |model: &String| self.shop.refused_pictures.has_any(marks(agent, model, history));
        if let Some(model) = models.into_iter().find(has_refused) {
            self.shown.without_pictures_for(model.into());
        }
    }

    /// Remembers the pictures of a conversation that a model did not take.
    pub(super) fn note_refused_pictures(&self, history: &[Message]) {
        if let Some(model) = self.shown.blind() {
            self.shop.refused_pictures.add(marks(&self.cx.agent, model, history));
        }
    }
}
