//! What a model says while it answers, in no provider's words.

use crate::request::Image;
use std::sync::Arc;

/// One step of an answer. `Done` is always the last, and nothing follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// More text.
    TextDelta(String),
    /// More of what the model thinks. Not part of the reply.
    ReasoningDelta(String),
    /// All text so far was reasoning: its end was marked, and its beginning was not.
    ThoughtSoFar,
    /// The proof that ends a stretch of reasoning, to be passed back with it.
    ReasoningSignature(String),
    /// A picture.
    Image(Image),
    /// A tool call begins. Several may be open at once, told apart by `index`.
    ToolCallStart {
        /// Its place among the calls of this answer, from 0.
        index: usize,
        /// Its id, for the result to name. Made up where the provider gives none.
        id: Arc<str>,
        /// The tool.
        name: Arc<str>,
    },
    /// More of the arguments of a call.
    ToolCallDelta {
        /// Which call.
        index: usize,
        /// The next piece of its JSON.
        json: String,
    },
    /// What was used so far. Each one replaces the one before.
    Usage(Usage),
    /// The end, and why.
    Done(StopReason),
}

/// Tokens used by one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// All tokens of the question, those from and to a cache included.
    pub input: u64,
    /// All tokens of the answer, reasoning included.
    pub output: u64,
    /// Of `input`: read from the provider's cache.
    pub cached_input: u64,
    /// Of `input`: written to the provider's cache.
    pub cache_write: u64,
    /// Of `output`: reasoning.
    pub reasoning: u64,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model had said what it wanted to say, or met a stop text.
    Finished,
    /// It waits for the results of its tool calls.
    ToolCalls,
    /// It ran into `max_tokens` or the end of its window.
    Length,
    /// The provider withheld the rest.
    Filtered,
    /// It said the same again and again, and was cut off by us.
    Repeating,
    /// Something else, in the provider's word.
    Other(String),
}
