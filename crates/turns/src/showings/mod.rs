//! What models are shown, written down so that it can be put together again byte for byte: the
//! hash of each request's body, the parts that many requests have in common, and how the body is
//! made of those and of messages of the journal. It is written with the next commit of the turn:
//! nothing is flushed for it. Headers are no part of it, and so no key is. It knows no turns:
//! those note what they show (`shown_calls.rs`).

mod again;
pub(crate) mod recipe;

pub use again::{NotAgain, ShownBody, again};

use insula_store::{AgentCommand, TurnId};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the part is called that is the settings of a generation.
pub const SETTINGS: &str = "settings";

/// A call that the next one may begin like.
pub(crate) struct LastShown {
    pub(crate) turn: TurnId,
    pub(crate) number: u32,
    pub(crate) recipe: Vec<u8>,
    pub(crate) hops: u32,
    pub(crate) tag: [u8; 32],
    /// How often the store had erased something when its frame was told.
    pub(crate) erasures: u64,
}

impl LastShown {
    /// How much of memory it takes up.
    pub(crate) fn weight(&self) -> usize {
        self.recipe.len() + size_of::<Self>()
    }
}

/// What a turn's models are shown and is not written down yet.
#[derive(Default)]
pub(crate) struct Showings(Mutex<State>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) calls: u32,
    /// What is kept of it, besides parts.
    pub(crate) bytes: usize,
    pub(crate) last: Option<LastShown>,
    pub(crate) due: Vec<AgentCommand>,
}

impl Showings {
    /// All of it.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Valid after every single statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes on from what the last turn of the conversation showed.
    pub(crate) fn go_on_from(&self, last: Option<LastShown>) {
        self.state().last = last;
    }

    /// Goes on with a turn that had shown something so often before a crash.
    pub(crate) fn go_on_after(&self, calls: usize) {
        self.state().calls = u32::try_from(calls).unwrap_or(u32::MAX);
    }

    /// What the next turn of the conversation may go on from.
    pub(crate) fn take_last(&self) -> Option<LastShown> {
        self.state().last.take()
    }

    /// All that is to be written, for a commit.
    pub(crate) fn due(&self) -> Vec<AgentCommand> {
        std::mem::take(&mut self.state().due)
    }
}

/// The hash by which a request is kept: made for each call of a model, so it has to be cheap.
pub fn hash(bytes: &[u8]) -> [u8; 32] {
    blake3::hash(bytes).into()
}

/// The hash by which a request, or a part of one, is known outside.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let mut sha256 = [0; 32];
    sha256.copy_from_slice(digest.as_ref());
    sha256
}
