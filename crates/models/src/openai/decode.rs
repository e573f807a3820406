//! The answers of chat completions, from servers that leave out half of it.

use super::SIGNED_BY_GOOGLE;
use crate::answer::is_object;
use crate::error::ModelFault;
use crate::event::{Event, StopReason, Usage};
use crate::reading::{Flow, Parser, garbage};
use crate::request::Image;
use crate::status::{self, ProviderErrorBody};
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// Calls in one answer. Far more than any model makes; a server that numbers its calls at
/// random must not make us remember them all.
const CALLS_MAX: usize = 256;

/// One answer while it comes.
#[derive(Default)]
pub(super) struct Completion {
    calls: Vec<Begun>,
    finish: Option<String>,
    done: bool,
}

/// A call that has begun.
struct Begun {
    /// The server's number of it.
    number: Option<u64>,
    id: Arc<str>,
    /// Whether what came of its arguments is whole.
    is_whole: bool,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    /// Instead of a delta, where the answer comes as one document.
    #[serde(borrow)]
    message: Option<Delta<'a>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    content: Option<Words>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
    images: Option<Vec<PictureDelta>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: Option<u64>,
    id: Option<String>,
    #[serde(borrow)]
    function: Option<FunctionDelta<'a>>,
    extra_content: Option<Value>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    name: Option<String>,
    /// A string that holds JSON, or from some servers the JSON itself.
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct PictureDelta {
    image_url: PictureUrl,
}

#[derive(Deserialize)]
struct PictureUrl {
    url: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<InputDetails>,
    completion_tokens_details: Option<OutputDetails>,
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

impl Parser for Completion {
    fn event(&mut self, data: &[u8], out: &mut VecDeque<Event>) -> Result<Flow, ModelFault> {
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return Ok(Flow::End);
        }
        self.chunk(data, out)?;
        Ok(Flow::On)
    }

    fn document(&mut self, body: &[u8], out: &mut VecDeque<Event>) -> Result<(), ModelFault> {
        let has_choices = self.chunk(body, out)?;
        if !has_choices {
            let head = String::from_utf8_lossy(body);
            return Err(ModelFault::Garbage { what: format!("no choices in: {head}") });
        }
        self.done = true;
        self.end(out)
    }

    fn end(&mut self, out: &mut VecDeque<Event>) -> Result<(), ModelFault> {
        let stop = match self.finish.as_deref() {
            None if !self.done => return Err(ModelFault::CutOff),
            // Some servers say `stop` though the model waits for its tools.
            None | Some("stop" | "tool_calls" | "function_call" | "eos") => {
                if self.calls.is_empty() { StopReason::Finished } else { StopReason::ToolCalls }
            }
            Some("length" | "max_tokens") => StopReason::Length,
            Some("content_filter") => StopReason::Filtered,
            Some("error") => return Err(ModelFault::CutOff),
            Some(other) => StopReason::Other(other.to_owned()),
        };
        out.push_back(Event::Done(stop));
        Ok(())
    }
}

impl Completion {
    /// Reads one chunk, and tells whether it had any choices.
    fn chunk(&mut self, data: &[u8], out: &mut VecDeque<Event>) -> Result<bool, ModelFault> {
        let chunk: Chunk<'_> =
            serde_json::from_slice(data).map_err(|error| garbage(&error, data))?;
        if let Some(error) = chunk.error {
            return Err(status::fault(200, None, ProviderErrorBody::from_value(&error)));
        }
        let choices = chunk.choices.unwrap_or_default();
        let has_choices = !choices.is_empty();
        // We ask for one answer; a second one would be mixed into it.
        for choice in choices.into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
            if let Some(delta) = choice.delta.or(choice.message) {
                self.delta(delta, out)?;
            }
            if choice.finish_reason.is_some() {
                self.finish = choice.finish_reason;
            }
        }
        if let Some(usage) = chunk.usage.and_then(usage) {
            out.push_back(Event::Usage(usage));
        }
        Ok(has_choices)
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut VecDeque<Event>) -> Result<(), ModelFault> {
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        // Some servers send the same thought under both names.
        if let Some(thought) = filled(delta.reasoning_content).or(filled(delta.reasoning)) {
            out.push_back(Event::ReasoningDelta(thought));
        }
        let words = delta.content.unwrap_or_default();
        out.extend(filled(Some(words.thoughts)).map(Event::ReasoningDelta));
        if let Some(text) = filled(Some(words.text)).or(filled(delta.refusal)) {
            out.push_back(Event::TextDelta(text));
        }
        for picture in delta.images.unwrap_or_default() {
            out.push_back(Event::Image(Image::from_url(&picture.image_url.url)));
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(call, out)?;
        }
        Ok(())
    }

    fn call(&mut self, call: CallDelta<'_>, out: &mut VecDeque<Event>) -> Result<(), ModelFault> {
        let (name, arguments) = match call.function {
            Some(function) => (function.name, function.arguments),
            None => (None, None),
        };
        let id = call.id.filter(|id| !id.is_empty());
        let names_a_tool = name.as_ref().is_some_and(|name| !name.is_empty());
        let known = self.calls.iter().rposition(|begun| match (call.index, &id) {
            // Some servers give every call of an answer the number 0, each with its own id.
            (Some(_), Some(id)) if names_a_tool && *begun.id != **id => false,
            // Google does, without one: there each call comes as a whole.
            (Some(_), None) if names_a_tool && begun.is_whole => false,
            (Some(index), _) if begun.number.is_some() => begun.number == Some(index),
            (_, Some(id)) => *begun.id == **id,
            // Neither number nor id: more of the last one, unless it names a tool again.
            _ => !names_a_tool,
        });
        let index = match known {
            Some(index) => index,
            None if self.calls.len() >= CALLS_MAX => {
                return Err(ModelFault::Garbage {
                    what: format!("more than {CALLS_MAX} tool calls"),
                });
            }
            None => {
                let index = self.calls.len();
                let id: Arc<str> = id.map_or_else(|| format!("call_{index}").into(), Arc::from);
                self.calls.push(Begun { number: call.index, id: id.clone(), is_whole: false });
                let name = name.unwrap_or_default().into();
                let mark = call.extra_content.as_ref().and_then(google_mark);
                out.extend(mark.map(|mark| {
                    Event::ReasoningSignature(format!("{SIGNED_BY_GOOGLE}{index}:{mark}"))
                }));
                out.push_back(Event::ToolCallStart { index, id, name });
                index
            }
        };
        let json = match arguments.map(RawValue::get) {
            Some(text) if text.starts_with('"') => {
                serde_json::from_str(text).map_err(|error| garbage(&error, text.as_bytes()))?
            }
            Some(json) => json.to_owned(),
            None => String::new(),
        };
        if !json.is_empty() {
            if let Some(begun) = self.calls.get_mut(index) {
                begun.is_whole = is_object(&json);
            }
            out.push_back(Event::ToolCallDelta { index, json });
        }
        Ok(())
    }
}

/// Google's mark on a call, which it wants back with it.
fn google_mark(extra: &Value) -> Option<&str> {
    extra.get("google")?.get("thought_signature")?.as_str().filter(|mark| !mark.is_empty())
}

/// Figures that can't be read are no reason to lose an answer.
fn usage(raw: &RawValue) -> Option<Usage> {
    let wire: WireUsage = serde_json::from_str(raw.get()).ok()?;
    if wire.prompt_tokens.is_none() && wire.completion_tokens.is_none() {
        return None;
    }
    let input = wire.prompt_tokens_details;
    let cached = input.as_ref().and_then(|details| details.cached_tokens);
    Some(Usage {
        input: wire.prompt_tokens.unwrap_or(0),
        output: wire.completion_tokens.unwrap_or(0),
        cached_input: cached.or(wire.prompt_cache_hit_tokens).unwrap_or(0),
        cache_write: input.and_then(|details| details.cache_write_tokens).unwrap_or(0),
        reasoning: wire
            .completion_tokens_details
            .and_then(|details| details.reasoning_tokens)
            .unwrap_or(0),
    })
}

/// Text as a string, or as a list of parts of which the texts count, and thoughts apart.
#[derive(Default)]
struct Words {
    text: String,
    thoughts: String,
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> Visitor<'de> for WordsVisitor {
    type Value = Words;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a list of parts")
    }

    fn visit_str<E>(self, text: &str) -> Result<Words, E> {
        Ok(Words { text: text.to_owned(), ..Words::default() })
    }

    fn visit_string<E>(self, text: String) -> Result<Words, E> {
        Ok(Words { text, ..Words::default() })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Words, A::Error> {
        let mut words = Words::default();
        while let Some(part) = parts.next_element::<Value>()? {
            match part.get("thinking") {
                Some(Value::Array(thoughts)) => {
                    thoughts.iter().for_each(|it| words.thoughts.push_str(text_in(it)));
                }
                Some(thought) => words.thoughts.push_str(thought.as_str().unwrap_or_default()),
                None => words.text.push_str(text_in(&part)),
            }
        }
        Ok(words)
    }
}

fn text_in(part: &Value) -> &str {
    let text = part.get("text").and_then(Value::as_str);
    text.or(part.as_str()).unwrap_or_default()
}
