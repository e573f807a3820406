//! What a chat completion is made of, in OpenAI's words: the same at once and as it comes.

use super::ids;
use insula_store::{Cut, Usage};
use insula_turns::ClientCall;
use serde_json::{Value, json};

/// What stays the same about a reply.
pub struct About {
    /// What its ids are made of.
    pub sealed: String,
    pub model: String,
    pub created: i64,
}

impl About {
    /// The id of the reply.
    pub fn id(&self) -> String {
        format!("chatcmpl-{}", self.sealed)
    }
}

/// A call that the client is to make.
pub fn tool_call(about: &About, at: usize, call: &ClientCall) -> Value {
    json!({
        "id": ids::part(ids::CALL, &about.sealed, at),
        "type": "function",
        "function": { "name": call.name, "arguments": call.arguments },
    })
}

/// Why a reply ends, in OpenAI's words.
pub fn finish(cut: Option<Cut>, calls: &[ClientCall]) -> &'static str {
    match cut {
        None if !calls.is_empty() => "tool_calls",
        None => "stop",
        // Their words know no circle: it is as one that found no end.
        Some(Cut::Length | Cut::Repeating) => "length",
        Some(Cut::Filtered) => "content_filter",
    }
}

/// What a reply took, in OpenAI's words.
pub fn counted(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cached },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
    })
}
