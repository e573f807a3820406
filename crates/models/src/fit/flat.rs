//! A conversation for servers that know neither tools nor a system prompt: all of it in words of
//! a person and of the model.

use super::says_something;
use crate::request::{Message, Part, Request};
use crate::text_calls::{Style, in_words};
use std::borrow::Cow;
use std::sync::Arc;

/// The messages without calls and results, which are among their words, and what stands before
/// all of them: the system prompt and the tools.
pub(super) fn told<'r>(
    messages: Vec<Cow<'r, Message>>,
    request: &Request,
) -> (Vec<Cow<'r, Message>>, Option<Part>) {
    let paired = messages.into_iter().map(|message| Arc::new(message.into_owned())).collect();
    let worded = in_words(&Request { messages: paired, ..request.clone() }, Style::Tags);
    let before = before(&worded);
    let messages = worded.messages.into_iter().map(|message| {
        let mut message = Arc::unwrap_or_clone(message);
        message.parts.retain(|part| !matches!(part, Part::Reasoning { .. }));
        Cow::Owned(message)
    });
    (messages.collect(), before)
}

/// The system prompt, as it stands before the words of the first message.
pub(super) fn before(request: &Request) -> Option<Part> {
    let blocks = request.system.iter().map(|block| &*block.text).filter(|it| says_something(it));
    let before = blocks.collect::<Vec<_>>().join("\n\n");
    (!before.is_empty()).then(|| Part::Text((before + "\n\n").into()))
}
