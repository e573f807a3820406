//! Who speaks after whom. A conversation begins with a person and ends with one, or with what a
//! tool gave; where a template wants it, person and model take turns in between.

use super::Turns;
use super::pairs::{TOOL_IMAGES, UNFINISHED};
use crate::request::{CacheHint, Message, Part, Role};
use std::borrow::Cow;

/// Said before a conversation whose beginning is not there.
const BEGAN_EARLIER: &str = "[the conversation began earlier]";
/// Said after a conversation that ends with the model's own words.
const GO_ON: &str = "[go on]";
/// Stands where the model was cut off before it answered.
const NO_ANSWER: &str = "[no answer was given]";
/// Stands between results and the pictures that came with them, where the model only has to see
/// them before it answers.
const PICTURES_FOLLOW: &str = "[pictures follow]";
/// Stands where a call was left without a result: nobody was to answer anything by then.
const LEFT: &str = "[the call was not finished]";
/// Stands between messages that became one.
const BETWEEN: &str = "\n\n";

/// The messages in an order that their reader takes.
pub(super) fn arranged(messages: Vec<Cow<'_, Message>>, turns: Turns) -> Vec<Cow<'_, Message>> {
    let mut out: Vec<Cow<'_, Message>> = Vec::with_capacity(messages.len() + 2);
    if messages.first().is_none_or(|first| first.role != Role::User) {
        let words = if messages.is_empty() { GO_ON } else { BEGAN_EARLIER };
        out.push(Cow::Owned(Message::user(words)));
    }
    for message in messages {
        let last = if turns == Turns::Alternating { out.last_mut() } else { None };
        match last {
            Some(last) if last.role == message.role => join(last.to_mut(), &message),
            Some(last) if last.role == Role::Tool && message.role == Role::User => {
                let words = between(last, &message);
                out.push(Cow::Owned(words_of_the_model(words)));
                out.push(message);
            }
            _ => out.push(message),
        }
    }
    if out.last().is_some_and(|last| last.role == Role::Assistant) {
        out.push(Cow::Owned(Message::user(GO_ON)));
    }
    out
}

/// What the model is taken to have said between results and a message that is no answer to them.
fn between(results: &Message, next: &Message) -> &'static str {
    let is = |part: &Part, words: &str| matches!(part, Part::Text(text) if **text == *words);
    let is_left = |part: &Part| match part {
        Part::ToolResult { content, .. } => content.iter().any(|part| is(part, UNFINISHED)),
        _ => false,
    };
    match next.parts.first() {
        Some(first) if is(first, TOOL_IMAGES) => PICTURES_FOLLOW,
        _ if results.parts.last().is_some_and(is_left) => LEFT,
        _ => NO_ANSWER,
    }
}

fn words_of_the_model(words: &str) -> Message {
    Message::assistant(vec![Part::Text(words.into())])
}

/// Makes one message of two.
fn join(first: &mut Message, second: &Message) {
    if first.role != Role::Tool
        && matches!(first.parts.last(), Some(Part::Text(_)))
        && matches!(second.parts.first(), Some(Part::Text(_)))
    {
        first.parts.push(Part::Text(BETWEEN.into()));
    }
    first.parts.extend(second.parts.iter().cloned());
    if second.cache == CacheHint::Breakpoint {
        first.cache = CacheHint::Breakpoint;
    }
}
