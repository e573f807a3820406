//! What a model was shown before it answered: its prompt and its conversation.

use crate::request::{Message, Part, Request, Role, SystemBlock};
use std::sync::Arc;

/// What a model is told that answered nothing. It stands where a person's message does and is
/// none: what was asked stands before it.
pub const ANSWER_NOW: &str = "[your last answer was empty: if what was asked is done, tell the user what \
    came of it, with what they asked for; else go on with it]";

/// What begins and ends a note of the house.
const NOTE: (char, char) = ('⟦', '⟧');

/// What a model was shown.
#[derive(Debug, Clone, Default)]
pub struct Shown {
    /// Its instructions, its skills, its memory.
    pub system: Vec<SystemBlock>,
    /// The conversation, oldest first.
    pub messages: Vec<Arc<Message>>,
}

impl Shown {
    pub fn of(request: &Request) -> Self {
        Self { system: request.system.clone(), messages: request.messages.clone() }
    }

    /// The conversation up to the last answer that was words and no call: what came behind it is
    /// what is asked now.
    fn split(&self) -> (&[Arc<Message>], &[Arc<Message>]) {
        let at =
            self.messages.iter().rposition(|message| is_answer(message)).map_or(0, |at| at + 1);
        self.messages.split_at(at)
    }

    /// What persons said since the last answer, without our own notes; the oldest first.
    pub fn asked(&self) -> Vec<String> {
        said(self.split().1)
    }

    /// What persons said before that.
    pub fn asked_before(&self) -> Vec<String> {
        said(self.split().0)
    }

    /// All answers that were words and no call.
    pub fn answers(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().map(|message| &**message).filter(|message| is_answer(message))
    }

    /// The last answer that was words and no call.
    pub fn last_answer(&self) -> Option<&Message> {
        self.split().0.last().map(|message| &**message)
    }
}

/// Whether a message is words of the model and no call.
fn is_answer(message: &Message) -> bool {
    let calls = |part: &Part| matches!(part, Part::ToolCall { .. });
    message.role == Role::Assistant && !message.parts.iter().any(calls)
}

fn said(messages: &[Arc<Message>]) -> Vec<String> {
    let users = messages.iter().filter(|message| message.role == Role::User);
    let texts = users.map(|message| without_notes(&message.text()));
    texts.filter(|text| !text.trim().is_empty() && text.trim() != ANSWER_NOW).collect()
}

/// A text without the lines that are notes of the house.
fn without_notes(text: &str) -> String {
    let is_note = |line: &&str| line.starts_with(NOTE.0) && line.ends_with(NOTE.1);
    text.lines().filter(|line| !is_note(line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(messages: Vec<Message>) -> Shown {
        Shown { system: vec![], messages: messages.into_iter().map(Arc::new).collect() }
    }

    fn call() -> Message {
        let part = Part::ToolCall { id: "c".into(), name: "t".into(), arguments: "{}".into() };
        Message::assistant(vec![part])
    }

    fn answer(text: &str) -> Message {
        Message::assistant(vec![Part::Text(text.into())])
    }

    #[test]
    fn what_is_asked_now_is_what_stands_behind_the_last_answer() {
        let shown = shown(vec![
            Message::user("one"),
            answer("yes"),
            Message::user("two\n⟦said on Friday⟧"),
            call(),
            Message::tool_result("c", "r"),
            Message::user("three"),
            Message::user(ANSWER_NOW),
        ]);
        assert_eq!(shown.asked(), ["two", "three"]);
        assert_eq!(shown.asked_before(), ["one"]);
        assert_eq!(shown.last_answer().map(Message::text).as_deref(), Some("yes"));
    }

    #[test]
    fn nobody_has_answered_at_the_beginning() {
        let shown = shown(vec![Message::user("one"), call()]);
        assert_eq!((shown.asked().len(), shown.last_answer()), (1, None));
    }
}
