//! A conversation in a form that its reader takes. Whatever was journalled, what comes out of
//! here keeps the rules of the server it goes to: every call has its result and every result its
//! call, arguments are JSON objects, no message is empty, and where a server's template wants
//! people and model to take turns, they do.
//!
//! The words stay what they were. What is the same in two requests comes out the same in both,
//! so that a provider's cache hits. Nothing here knows a wire format.

mod flat;
mod pairs;
mod pictures;
mod turns;

pub use pairs::UNFINISHED;

#[cfg(test)]
mod tests;

use crate::request::{Message, Request};
use std::borrow::Cow;

/// What stands in for a picture of the model's own, which can't be sent back to it.
const OWN_IMAGE: &str = "[an image]";
/// What stands in for a message that says nothing: most servers refuse empty ones.
const NOTHING_SAID: &str = "[an empty message]";
/// What stands in for the output of a tool that had none.
const NO_OUTPUT: &str = "[no output]";

/// What a reader takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fit {
    pub(crate) pictures: Pictures,
    pub(crate) tool_pictures: ToolPictures,
    pub(crate) calls: Calls,
    pub(crate) turns: Turns,
    pub(crate) ids: Ids,
    pub(crate) system: System,
}

impl Fit {
    /// The same for the strictest templates that know calls: one after the other, and person and
    /// model in turns.
    pub(crate) fn in_order(self) -> Self {
        Self { calls: Calls::Single, turns: Turns::Alternating, ids: Ids::Nine, ..self }
    }

    /// The same for those that know none.
    pub(crate) fn in_words(self) -> Self {
        Self { calls: Calls::InWords, turns: Turns::Alternating, ..self }
    }

    /// Whether the system prompt is beside the conversation.
    pub(crate) fn has_system(&self) -> bool {
        self.system == System::Apart && self.calls != Calls::InWords
    }
}

/// How pictures go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pictures {
    /// As pictures, those of these.
    Shown(Taken),
    /// As words that say there was one.
    InWords,
}

/// Which pictures a server takes, of those that are one of the common kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// In place, and wherever they are.
    Anywhere,
    /// In place, and where they can be fetched safely.
    Https,
    /// In place.
    InPlace,
}

/// Where pictures stand that tools gave back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolPictures {
    /// In the result.
    Inside,
    /// In a message of their own, after the results: a result can only be text.
    After,
}

/// How calls go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Calls {
    /// Those of one answer stay together.
    Together,
    /// One by one, each with its result: some templates know only single calls.
    Single,
    /// As words, for servers that know no tools: no tool is named beside the conversation, and
    /// the system prompt stands in its first message.
    InWords,
}

/// Who may speak after whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turns {
    /// Anybody.
    Free,
    /// Person and model take turns, and a result is followed by the model.
    Alternating,
}

/// What ids of calls look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// As they came, as far as that is safe.
    Kept,
    /// Nine letters and digits, as Mistral wants them.
    Nine,
}

/// Where the system prompt stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    /// Beside the conversation, in a role of its own.
    Apart,
    /// In the first message: some templates know no such role.
    InFirst,
}

/// The messages of a request as a reader takes them.
pub(crate) fn fitted<'r>(request: &'r Request, fit: &Fit) -> Vec<Cow<'r, Message>> {
    let paired = pairs::paired(&request.messages, fit);
    let mut messages: Vec<Cow<'r, Message>> =
        paired.into_iter().filter_map(|message| pictures::filled(message, fit)).collect();
    let mut before = None;
    if fit.calls == Calls::InWords {
        (messages, before) = flat::told(messages, request);
    } else if !fit.has_system() {
        before = flat::before(request);
    }
    let mut messages = turns::arranged(messages, fit.turns);
    if let (Some(before), Some(first)) = (before, messages.first_mut()) {
        first.to_mut().parts.insert(0, before);
    }
    messages
}

/// Whether it has words in it.
fn says_something(text: &str) -> bool {
    !text.trim().is_empty()
}
