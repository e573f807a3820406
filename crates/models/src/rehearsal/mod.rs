//! The built-in practice model, for a home without a provider.
//!
//! It follows a few fixed rules and says so. What it does, it does with real tool calls, so
//! that a newcomer sees agents, memory and walls at work before finding a key. The same
//! request always gets the same answer: it reads no clock and rolls no dice.

mod rules;
mod say;
#[cfg(test)]
mod tests;

use crate::error::{ModelError, ModelFault};
use crate::event::{Event, StopReason, Usage};
use crate::provider::{AnswerStream, Provider};
use crate::request::{Part, Request, Role, ToolChoice};
use async_trait::async_trait;
use insula_wire::Timeouts;
use rules::{Call, Wish};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The name it has where nobody gave it another.
pub(crate) const NAME: &str = "rehearsal";
/// Characters in one delta. Small enough that a short answer comes in several.
const DELTA_CHARS: usize = 24;
/// Bytes in a token, roughly, for figures that cost nothing.
const TOKEN_BYTES: u64 = 4;

/// The practice model.
pub struct Rehearsal {
    name: Arc<str>,
}

impl Rehearsal {
    /// The practice model under a name of its own.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into() }
    }
}

#[async_trait]
impl Provider for Rehearsal {
    fn name(&self) -> &str {
        &self.name
    }

    async fn stream(
        &self,
        request: &Request,
        _: &Timeouts,
        cancel: &CancellationToken,
    ) -> Result<AnswerStream, ModelError> {
        if cancel.is_cancelled() {
            return Err(ModelError {
                provider: self.name.clone(),
                model: request.model.clone(),
                fault: ModelFault::Cancelled,
            });
        }
        Ok(AnswerStream::of(events(request, &answer(request))))
    }
}

/// What it says, and what it does.
#[derive(Debug, PartialEq, Eq)]
struct Reply {
    text: String,
    calls: Vec<Call>,
}

/// The answer to a request: a function of the request alone.
fn answer(request: &Request) -> Reply {
    let results = results(request);
    if !results.is_empty() {
        return Reply { text: say::report(&results), calls: vec![] };
    }
    let last = request.messages.iter().rev().find(|message| message.role == Role::User);
    let text = last.map(|message| message.text()).unwrap_or_default();
    let calls = match rules::wish(&text) {
        Wish::Calls(calls) => calls,
        wish => return Reply { text: say::reply(&wish, request), calls: vec![] },
    };
    let allowed = request.tool_choice != ToolChoice::None;
    let offered =
        |call: &Call| allowed && request.tools.iter().any(|tool| *tool.name == *call.tool);
    match calls.iter().find(|call| !offered(call)) {
        Some(missing) => Reply { text: say::not_offered(&missing.tool, request), calls: vec![] },
        None => Reply { text: say::announce(&calls), calls },
    }
}

/// A tool's answer, with what was asked of it.
struct Outcome<'a> {
    tool: &'a str,
    arguments: &'a str,
    text: String,
    is_error: bool,
}

/// The tool results at the end of the conversation, if it ends with some.
fn results(request: &Request) -> Vec<Outcome<'_>> {
    let tail = request.messages.iter().rev().take_while(|message| message.role == Role::Tool);
    let mut outcomes = vec![];
    for part in tail.flat_map(|message| message.parts.iter().rev()) {
        let Part::ToolResult { call_id, content, is_error } = part else { continue };
        let call =
            request.messages.iter().rev().flat_map(|message| &message.parts).find_map(|part| {
                match part {
                    Part::ToolCall { id, name, arguments } if id == call_id => {
                        Some((name, arguments))
                    }
                    _ => None,
                }
            });
        let (tool, arguments) =
            call.map_or(("a tool", "{}"), |(name, arguments)| (&**name, &**arguments));
        let text = crate::request::text_of(content);
        outcomes.push(Outcome { tool, arguments, text, is_error: *is_error });
    }
    outcomes.reverse();
    outcomes
}

fn events(request: &Request, reply: &Reply) -> Vec<Event> {
    let mut events: Vec<Event> =
        pieces(&reply.text, DELTA_CHARS).map(|piece| Event::TextDelta(piece.to_owned())).collect();
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let before = parts.filter(|part| matches!(part, Part::ToolCall { .. })).count();
    let mut output = reply.text.len();
    for (index, call) in reply.calls.iter().enumerate() {
        // Unlike every call before it in this conversation.
        let id = format!("rehearsal_{}", before + index).into();
        events.push(Event::ToolCallStart { index, id, name: call.tool.as_str().into() });
        output += call.arguments.len();
        for json in pieces(&call.arguments, DELTA_CHARS) {
            events.push(Event::ToolCallDelta { index, json: json.to_owned() });
        }
    }
    events.push(Event::Usage(Usage {
        input: tokens(input_len(request)),
        output: tokens(output),
        ..Usage::default()
    }));
    events.push(Event::Done(if reply.calls.is_empty() {
        StopReason::Finished
    } else {
        StopReason::ToolCalls
    }));
    events
}

/// `text` in pieces of `length` characters.
fn pieces(text: &str, length: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(TOKEN_BYTES)
}

fn input_len(request: &Request) -> usize {
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.get().len());
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    request.system.iter().map(|block| block.text.len()).sum::<usize>()
        + tools.sum::<usize>()
        + parts.map(part_len).sum::<usize>()
}

fn part_len(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.len(),
        Part::Image(_) => 0,
        Part::ToolCall { name, arguments, .. } => name.len() + arguments.len(),
        Part::ToolResult { content, .. } => content.iter().map(part_len).sum(),
        Part::Reasoning { text, .. } => text.len(),
    }
}
