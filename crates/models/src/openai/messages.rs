//! The messages of a conversation in the words of chat completions.

use super::SIGNED_BY_GOOGLE;
use crate::request::{Image, ImageData, Message, Part, Role};
use serde::ser::{Serialize, SerializeSeq as _, Serializer};
use std::borrow::Cow;

/// What Google's newer models take for the mark of a call that they did not make.
const MADE_ELSEWHERE: &str = "skip_thought_signature_validator";

/// The system prompt and what was said since.
pub(super) struct Messages<'a> {
    pub(super) system: Option<Cow<'a, str>>,
    pub(super) said: &'a [Cow<'a, Message>],
    pub(super) marks: Marks,
}

/// Whether calls carry a mark of who made them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marks {
    /// They don't.
    None,
    /// Google's, where there is one.
    Known,
    /// Google's, and where there is none the one that says so.
    All,
}

#[derive(Default, serde::Serialize)]
struct Wire<'a> {
    role: &'static str,
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Piece<'a>>),
}

#[derive(serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl<'a> },
}

#[derive(serde::Serialize)]
struct ImageUrl<'a> {
    url: Url<'a>,
}

/// The address of a picture, written without building it in memory first.
struct Url<'a>(&'a Image);

impl Serialize for Url<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.data {
            ImageData::Url(url) => serializer.serialize_str(url),
            ImageData::Base64(data) => {
                serializer.collect_str(&format_args!("data:{};base64,{data}", self.0.mime))
            }
        }
    }
}

#[derive(serde::Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CallFunction<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<ExtraContent<'a>>,
}

#[derive(serde::Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(serde::Serialize)]
struct ExtraContent<'a> {
    google: GoogleMark<'a>,
}

#[derive(serde::Serialize)]
struct GoogleMark<'a> {
    thought_signature: &'a str,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        if let Some(text) = &self.system {
            let content = Some(Content::Text(Cow::Borrowed(&**text)));
            list.serialize_element(&Wire { role: "system", content, ..Wire::default() })?;
        }
        for message in self.said {
            match message.role {
                Role::User => list.serialize_element(&user(message))?,
                Role::Assistant => list.serialize_element(&assistant(message, self.marks))?,
                Role::Tool => {
                    for wire in message.parts.iter().filter_map(tool_result) {
                        list.serialize_element(&wire)?;
                    }
                }
            }
        }
        list.end()
    }
}

fn user(message: &Message) -> Wire<'_> {
    let has_image = message.parts.iter().any(|part| matches!(part, Part::Image(_)));
    let content = if has_image {
        Content::Parts(message.parts.iter().filter_map(piece).collect())
    } else {
        Content::Text(texts(&message.parts).unwrap_or_default())
    };
    Wire { role: "user", content: Some(content), ..Wire::default() }
}

fn assistant(message: &Message, marks: Marks) -> Wire<'_> {
    let calls = message.parts.iter().filter_map(|part| match part {
        Part::ToolCall { id, name, arguments } => {
            let function = CallFunction { name, arguments };
            Some(Call { id, r#type: "function", function, extra_content: None })
        }
        _ => None,
    });
    let mut tool_calls: Vec<Call<'_>> = calls.collect();
    if marks != Marks::None {
        mark(&mut tool_calls, message, marks);
    }
    let text = texts(&message.parts);
    // Nothing at all is only allowed beside tool calls.
    let text = if tool_calls.is_empty() { Some(text.unwrap_or_default()) } else { text };
    Wire { role: "assistant", content: text.map(Content::Text), tool_calls, ..Wire::default() }
}

/// Puts Google's marks back on the calls they came with: the first of an answer has one.
fn mark<'a>(calls: &mut [Call<'a>], message: &'a Message, marks: Marks) {
    let known = message.parts.iter().filter_map(|part| match part {
        Part::Reasoning { signature: Some(signature), .. } => {
            let (place, mark) = signature.strip_prefix(SIGNED_BY_GOOGLE)?.split_once(':')?;
            Some((place.parse::<usize>().ok()?, mark))
        }
        _ => None,
    });
    for (place, thought_signature) in known {
        if let Some(call) = calls.get_mut(place) {
            call.extra_content = Some(ExtraContent { google: GoogleMark { thought_signature } });
        }
    }
    if let Some(first) = calls.first_mut()
        && first.extra_content.is_none()
        && marks == Marks::All
    {
        let google = GoogleMark { thought_signature: MADE_ELSEWHERE };
        first.extra_content = Some(ExtraContent { google });
    }
}

fn tool_result(part: &Part) -> Option<Wire<'_>> {
    let Part::ToolResult { call_id, content, .. } = part else { return None };
    Some(Wire {
        role: "tool",
        content: Some(Content::Text(texts(content).unwrap_or_default())),
        tool_call_id: Some(call_id),
        ..Wire::default()
    })
}

fn piece(part: &Part) -> Option<Piece<'_>> {
    match part {
        Part::Text(text) => Some(Piece::Text { text }),
        Part::Image(image) => Some(Piece::ImageUrl { image_url: ImageUrl { url: Url(image) } }),
        _ => None,
    }
}

/// The texts among `parts` as one, borrowed when there is only one.
fn texts(parts: &[Part]) -> Option<Cow<'_, str>> {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(&**text),
        _ => None,
    });
    join(texts, "")
}

pub(super) fn join<'a>(
    mut texts: impl Iterator<Item = &'a str>,
    between: &str,
) -> Option<Cow<'a, str>> {
    let mut all = Cow::Borrowed(texts.next()?);
    for text in texts {
        let all = all.to_mut();
        all.push_str(between);
        all.push_str(text);
    }
    Some(all)
}
