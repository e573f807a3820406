//! What models were shown, kept so that it can be put together again byte for byte.
//!
//! A call has a frame, the parts that it has in common with others: the words of its system
//! prompt, its tools, the settings of its generation. Each part is there once. Besides it has a
//! recipe, which says in what order they stood, what stood between them, and where messages of
//! its session did. The recipe is in the words of whoever runs turns; what of it is as in an
//! earlier call is not kept again.

use crate::id::TurnId;
use std::sync::Arc;

/// Largest part, in bytes.
pub const SHOWN_PART_BYTES_MAX: usize = 1024 * 1024;

/// Most parts of a frame.
pub const SHOWN_PARTS_MAX: usize = 32;

/// Longest recipe of a call, as far as it is its own, in bytes.
pub const SHOWN_RECIPE_BYTES_MAX: usize = 256 * 1024;

/// Most calls from whose recipes the one of another is put together.
pub const SHOWN_HOPS_MAX: u32 = 64;

/// Turns of which it is kept, by their numbers: the latest of an agent.
pub const SHOWN_TURNS_MAX: i64 = 8_192;

/// A part of what a model is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPart {
    /// What it is.
    pub name: Box<str>,
    pub bytes: Arc<[u8]>,
    /// The scopes it was read from, where it is memory. It goes with the first of their words that
    /// is forgotten, and is kept only while the session is shown just these words.
    pub chain: Option<Box<str>>,
}

/// What calls have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFrame {
    /// Tells two of them apart.
    pub tag: [u8; 32],
    /// In order; nothing, where they are as they were told before. If that is not there any more,
    /// it was erased, and is not kept again.
    pub parts: Option<Vec<ShownPart>>,
}

/// A part of a recipe that is its own, and of which call it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownRecipe {
    /// Turn and number of the call that it begins like, and for how many bytes.
    pub base: Option<(TurnId, u32, u32)>,
    /// What comes after that.
    pub tail: Box<[u8]>,
}

/// A model call, and what the model was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownCall {
    pub turn: TurnId,
    /// Which of the turn's, from 1.
    pub number: u32,
    /// Provider and model.
    pub model: Box<str>,
    /// Of the body of the request.
    pub hash: [u8; 32],
    /// How long that was.
    pub bytes: u64,
    pub frame: Arc<ShownFrame>,
    /// Nothing, where it would be too much to keep.
    pub recipe: Option<ShownRecipe>,
}

/// A model call as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSummary {
    pub number: u32,
    pub model: Box<str>,
    /// Nothing, once some of it was forgotten: who knows the rest could find out the words by it.
    pub hash: Option<[u8; 32]>,
    pub bytes: u64,
}

/// What is left of what a model was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownAgain {
    pub call: ShownSummary,
    /// Names and bytes; none of what was erased.
    pub parts: Vec<(Box<str>, Option<Vec<u8>>)>,
    pub recipe: RecipeAgain,
}

/// A recipe, as far as it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecipeAgain {
    Whole(Vec<u8>),
    /// It was too long.
    NeverKept,
    /// A call that it began like is not there any more.
    Gone,
}
