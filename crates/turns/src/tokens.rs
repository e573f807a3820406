//! Roughly how many tokens texts and messages are.

use insula_store::{Message, Part, Role};

/// Tokens a picture counts as.
const IMAGE_TOKENS: usize = 1_500;
/// Tokens that every message costs besides its words.
const MESSAGE_TOKENS: usize = 4;
/// Tokens of the note on when something was said.
const TIME_TOKENS: usize = 30;

/// Roughly how many tokens a text is: four bytes each, two where it is not plain ASCII.
pub(crate) fn text_tokens(text: &str) -> usize {
    if text.is_ascii() { text.len().div_ceil(4) } else { text.len().div_ceil(2) }
}

/// Roughly how many tokens a message is.
pub(crate) fn tokens(message: &Message) -> usize {
    let of = |part: &Part| match part {
        Part::Text(text) | Part::Beside(text) | Part::Reasoning { text, .. } => text_tokens(text),
        Part::Attachment { name, .. } => text_tokens(name) + 16,
        Part::Image { .. } => IMAGE_TOKENS,
        Part::ToolCall { name, arguments, .. } => text_tokens(name) + text_tokens(arguments) + 8,
        Part::ToolResult { text, .. } => text_tokens(text) + 8,
    };
    let time = if message.role == Role::User { TIME_TOKENS } else { 0 };
    MESSAGE_TOKENS + time + message.parts.iter().map(of).sum::<usize>()
}

/// Roughly how many tokens messages are.
pub(crate) fn all_tokens(messages: &[Message]) -> usize {
    messages.iter().map(tokens).sum()
}
