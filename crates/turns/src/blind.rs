//! Pictures that models turned out not to take. A conversation remembers it by itself, as long as
//! it is at hand; here it is known of the pictures, for whoever brings a conversation along anew
//! each time, and for those that are read again.

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

    /// A model did not take pictures of these messages, whichever of them it was.
    pub(crate) fn add(&self, agent: &AgentContext, model: &str, history: &[Message]) {
        let mut known = self.marks();
        for mark in marks(agent, model, history) {
            if !known.contains(&mark) {
                known.push_back(mark);
            }
        }
        let over = known.len().saturating_sub(PICTURES_MAX);
        known.drain(..over);
    }

    /// Whether a model did not take a picture of these messages.
    pub(crate) fn is_among(&self, agent: &AgentContext, model: &str, history: &[Message]) -> bool {
        let known = self.marks();
        // Most never learn of any, and need no marks.
        !known.is_empty() && marks(agent, model, history).any(|mark| known.contains(&mark))
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
