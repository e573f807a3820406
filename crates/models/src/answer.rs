//! From events to the message they add up to.

use crate::error::ModelError;
use crate::event::{Event, StopReason, Usage};
use crate::provider::AnswerStream;
use crate::repetition::without_circle;
use crate::request::{Message, Part};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Longest id and longest name of a call that is kept. The journal takes none that is longer.
const CALL_NAME_BYTES_MAX: usize = 256;

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The model's message: reasoning, text and images as they came, then the tool calls in
    /// the order of their index.
    pub message: Message,
    /// What it took; zeros when the provider did not say.
    pub usage: Usage,
    /// Why it ended.
    pub stop: StopReason,
    /// Ids of the tool calls whose arguments are not a JSON object. Their text is kept in
    /// the message as the model wrote it.
    pub malformed: Vec<Arc<str>>,
}

impl Answer {
    /// The text of the reply.
    pub fn text(&self) -> String {
        self.message.text()
    }

    /// Reads a stream to its end. Also the way to ask without streaming.
    pub async fn collect(stream: &mut AnswerStream) -> Result<Self, ModelError> {
        let mut gathering = Gathering::default();
        while let Some(event) = stream.next().await {
            gathering.add(event?);
        }
        Ok(gathering.finish())
    }
}

/// An answer that is not complete yet. What was gathered before an error can be kept.
#[derive(Debug, Default)]
pub struct Gathering {
    parts: Vec<Building>,
    calls: BTreeMap<usize, Call>,
    usage: Usage,
    stop: Option<StopReason>,
}

#[derive(Debug)]
enum Building {
    Text(String),
    Reasoning { text: String, signature: Option<String> },
    Other(Part),
}

#[derive(Debug)]
struct Call {
    id: Arc<str>,
    name: Arc<str>,
    arguments: String,
}

impl Gathering {
    /// Takes in the next event.
    pub fn add(&mut self, event: Event) {
        match event {
            Event::TextDelta(delta) => match self.parts.last_mut() {
                Some(Building::Text(text)) => text.push_str(&delta),
                _ => self.parts.push(Building::Text(delta)),
            },
            Event::ReasoningDelta(delta) => match self.parts.last_mut() {
                Some(Building::Reasoning { text, signature: None }) => text.push_str(&delta),
                _ => self.parts.push(Building::Reasoning { text: delta, signature: None }),
            },
            Event::ThoughtSoFar => {
                for part in &mut self.parts {
                    if let Building::Text(text) = part {
                        let text = std::mem::take(text);
                        *part = Building::Reasoning { text, signature: None };
                    }
                }
            }
            Event::ReasoningSignature(proof) => match self.parts.last_mut() {
                Some(Building::Reasoning { signature: signature @ None, .. }) => {
                    *signature = Some(proof);
                }
                _ => self
                    .parts
                    .push(Building::Reasoning { text: String::new(), signature: Some(proof) }),
            },
            Event::Image(image) => self.parts.push(Building::Other(Part::Image(image))),
            Event::ToolCallStart { index, id, name } => {
                // Some servers put a whole proof of a thought into an id. The call has one of ours,
                // then. No tool has so long a name, and its beginning says what was meant.
                let is_long = id.len() > CALL_NAME_BYTES_MAX;
                let id = if is_long { format!("call_{index}").into() } else { id };
                let end = name.floor_char_boundary(CALL_NAME_BYTES_MAX);
                let name = if end < name.len() { name[..end].into() } else { name };
                self.calls.insert(index, Call { id, name, arguments: String::new() });
            }
            Event::ToolCallDelta { index, json } => {
                // A piece of a call that never began has no tool to go to.
                if let Some(call) = self.calls.get_mut(&index) {
                    call.arguments.push_str(&json);
                }
            }
            Event::Usage(usage) => self.usage = usage,
            Event::Done(stop) => self.stop = Some(stop),
        }
    }

    /// Whether there is anything for people in it.
    pub fn has_words(&self) -> bool {
        self.parts.iter().any(|part| !matches!(part, Building::Reasoning { .. }))
    }

    /// What was used, as far as is known.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The message, as far as it came.
    pub fn finish(self) -> Answer {
        let repeats = self.stop == Some(StopReason::Repeating);
        let mut parts: Vec<Part> = self
            .parts
            .into_iter()
            .map(|part| match part {
                // What went in circles would lead there again.
                Building::Text(text) if repeats => Part::Text(without_circle(&text).into()),
                Building::Reasoning { text, signature: None } if repeats => {
                    Part::Reasoning { text: without_circle(&text).into(), signature: None }
                }
                Building::Text(text) => Part::Text(text.into()),
                Building::Reasoning { text, signature } => {
                    Part::Reasoning { text: text.into(), signature: signature.map(Arc::from) }
                }
                Building::Other(part) => part,
            })
            .collect();
        let mut malformed = vec![];
        for call in self.calls.into_values() {
            // A tool without parameters is often called with nothing at all.
            let arguments: Arc<str> =
                if call.arguments.trim().is_empty() { "{}".into() } else { call.arguments.into() };
            if !is_object(&arguments) {
                malformed.push(call.id.clone());
            }
            parts.push(Part::ToolCall { id: call.id, name: call.name, arguments });
        }
        Answer {
            message: Message::assistant(parts),
            usage: self.usage,
            stop: self.stop.unwrap_or(StopReason::Finished),
            malformed,
        }
    }
}

/// Whether `text` is one JSON object that every server can read, without building it. Numbers
/// have to fit, strings have to be Unicode, and it may not be nested without end: what is looked
/// at less closely passes here and kills a session there.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<Sound>(text).is_ok()
}

/// A value that was looked at in all its parts.
struct Sound;

impl<'de> Deserialize<'de> for Sound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SoundVisitor)
    }
}

struct SoundVisitor;

impl<'de> Visitor<'de> for SoundVisitor {
    type Value = Sound;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_str<E>(self, _: &str) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_unit<E>(self) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Sound, A::Error> {
        while items.next_element::<Sound>()?.is_some() {}
        Ok(Sound)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Sound, A::Error> {
        while members.next_entry::<Sound, Sound>()?.is_some() {}
        Ok(Sound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(index: usize, name: &str) -> Event {
        Event::ToolCallStart { index, id: format!("id{index}").into(), name: name.into() }
    }

    fn delta(index: usize, json: &str) -> Event {
        Event::ToolCallDelta { index, json: json.into() }
    }

    fn gather(events: impl IntoIterator<Item = Event>) -> Answer {
        let mut gathering = Gathering::default();
        events.into_iter().for_each(|event| gathering.add(event));
        gathering.finish()
    }

    #[test]
    fn interleaved_calls_come_out_whole_and_in_the_order_of_their_index() {
        let answer = gather([
            start(1, "b"),
            start(0, "a"),
            delta(1, "{\"y\""),
            delta(0, "{\"x\":"),
            delta(1, ":2}"),
            delta(0, "1}"),
            Event::TextDelta("so".into()),
            Event::Done(StopReason::ToolCalls),
        ]);
        let call = |id: &str, name: &str, arguments: &str| Part::ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        };
        let expected =
            [Part::Text("so".into()), call("id0", "a", "{\"x\":1}"), call("id1", "b", "{\"y\":2}")];
        assert_eq!(answer.message.parts, expected);
        assert!(answer.malformed.is_empty());
    }

    #[test]
    fn malformed_arguments_are_kept_as_text_and_flagged() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(500), "]".repeat(500));
        for (json, flagged) in [
            ("{\"a\":", true),
            ("[1]", true),
            ("\"a\"", true),
            ("{} x", true),
            ("{\"a\":\"\\ud800\"}", true),
            ("{\"a\":1e999}", true),
            (deep.as_str(), true),
            ("{\"a\":[1,-2.5,null,true,{\"b\":\"\\u00e4\"}]}", false),
            ("", false),
        ] {
            let answer = gather([start(0, "t"), delta(0, json)]);
            assert_eq!(!answer.malformed.is_empty(), flagged, "{json}");
            let Part::ToolCall { arguments, .. } = &answer.message.parts[0] else { panic!() };
            assert_eq!(&**arguments, if json.is_empty() { "{}" } else { json });
        }
    }

    #[test]
    fn a_call_with_a_long_id_or_name_gets_one_that_can_be_kept() {
        let long = |len: usize| Arc::<str>::from("ä".repeat(len / 2));
        let begin = |index, id, name| Event::ToolCallStart { index, id, name };
        let answer = gather([
            begin(0, long(400), "a".into()),
            begin(1, long(256), "b".into()),
            begin(2, "c".into(), long(300)),
            delta(0, "["),
        ]);
        let calls = answer.message.parts.iter().map(|part| match part {
            Part::ToolCall { id, name, .. } => (id.clone(), name.clone()),
            other => panic!("{other:?}"),
        });
        let expected =
            [("call_0".into(), "a".into()), (long(256), "b".into()), ("c".into(), long(256))];
        assert_eq!(calls.collect::<Vec<_>>(), expected);
        assert_eq!(answer.malformed, ["call_0".into()]);
    }

    #[test]
    fn a_signature_closes_its_reasoning_and_the_next_begins_a_new_one() {
        let think = |text: &str| Event::ReasoningDelta(text.into());
        let answer =
            gather([think("a"), think("b"), Event::ReasoningSignature("s".into()), think("c")]);
        let expected = [
            Part::Reasoning { text: "ab".into(), signature: Some("s".into()) },
            Part::Reasoning { text: "c".into(), signature: None },
        ];
        assert_eq!(answer.message.parts, expected);
    }
}
