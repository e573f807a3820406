//! A request in the words of chat completions.

use super::Dialect;
use crate::request::{
    Effort, Image, ImageData, Message, Part, Request, Role, ToolChoice, ToolSchema,
};
use serde::ser::{Serialize, SerializeSeq as _, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Stands before pictures that tools gave back: a tool message can hold only text.
const TOOL_IMAGES: &str = "Images from the tool results above:";
/// Stands in for a picture of the model's own, which can't be sent back to it.
const OWN_IMAGE: &str = "[an image]";

/// The body of the request.
pub(super) fn body(request: &Request, dialect: Dialect) -> Result<Vec<u8>, serde_json::Error> {
    let (max_tokens, max_completion_tokens) = match dialect {
        Dialect::OpenAi => (None, request.max_tokens),
        Dialect::Compatible => (request.max_tokens, None),
    };
    let has_tools = !request.tools.is_empty();
    let mut written = Vec::with_capacity(request.weight());
    let body = Body {
        model: &request.model,
        messages: Messages(request),
        tools: has_tools.then_some(Tools(&request.tools)),
        tool_choice: has_tools.then(|| choice(&request.tool_choice)).flatten(),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_tokens,
        max_completion_tokens,
        temperature: request.temperature,
        stop: &request.stop,
        reasoning_effort: request.effort.map(|effort| match effort {
            // The first models of this generation have another word for it.
            Effort::Off if request.model.ends_with("gpt-5") => "minimal",
            Effort::Off if request.model.contains("gpt-5-") => "minimal",
            Effort::Off => "none",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        }),
    };
    serde_json::to_writer(&mut written, &body)?;
    Ok(written)
}

#[derive(serde::Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Messages<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
}

#[derive(serde::Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Tool { r#type: &'static str, function: ToolName<'a> },
}

#[derive(serde::Serialize)]
struct ToolName<'a> {
    name: &'a str,
}

fn choice(choice: &ToolChoice) -> Option<Choice<'_>> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(Choice::Word("none")),
        ToolChoice::Required => Some(Choice::Word("required")),
        ToolChoice::Tool(name) => {
            Some(Choice::Tool { r#type: "function", function: ToolName { name } })
        }
    }
}

/// The tools; also how Ollama wants them.
pub(crate) struct Tools<'a>(pub(crate) &'a [ToolSchema]);

#[derive(serde::Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(serde::Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

impl Serialize for Tools<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|tool| Tool {
            r#type: "function",
            function: Function {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.parameters,
            },
        }))
    }
}

struct Messages<'a>(&'a Request);

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
}

#[derive(serde::Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let system = join(self.0.system.iter().map(|block| &*block.text), "\n\n");
        if let Some(text) = system {
            list.serialize_element(&Wire {
                role: "system",
                content: Some(Content::Text(text)),
                ..Wire::default()
            })?;
        }
        let mut messages = self.0.messages.iter().peekable();
        let mut tool_images: Vec<&Image> = vec![];
        while let Some(message) = messages.next() {
            match message.role {
                Role::User => list.serialize_element(&user(message))?,
                Role::Assistant => list.serialize_element(&assistant(message))?,
                Role::Tool => {
                    for (wire, images) in message.parts.iter().filter_map(tool_result) {
                        list.serialize_element(&wire)?;
                        tool_images.extend(images);
                    }
                }
            }
            // Results of parallel calls must stand together, so pictures wait for the last.
            let more = messages.peek().is_some_and(|next| next.role == Role::Tool);
            if !tool_images.is_empty() && !more {
                list.serialize_element(&pictures(&tool_images))?;
                tool_images.clear();
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

fn assistant(message: &Message) -> Wire<'_> {
    let calls = message.parts.iter().filter_map(|part| match part {
        Part::ToolCall { id, name, arguments } => {
            let function = CallFunction { name, arguments };
            Some(Call { id, r#type: "function", function })
        }
        _ => None,
    });
    let words = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(&**text),
        Part::Image(_) => Some(OWN_IMAGE),
        _ => None,
    });
    let tool_calls: Vec<Call<'_>> = calls.collect();
    let text = join(words, "");
    // Nothing at all is only allowed beside tool calls.
    let text = if tool_calls.is_empty() { Some(text.unwrap_or_default()) } else { text };
    Wire { role: "assistant", content: text.map(Content::Text), tool_calls, ..Wire::default() }
}

fn tool_result(part: &Part) -> Option<(Wire<'_>, impl Iterator<Item = &Image>)> {
    let Part::ToolResult { call_id, content, .. } = part else { return None };
    let images = content.iter().filter_map(|part| match part {
        Part::Image(image) => Some(image),
        _ => None,
    });
    let wire = Wire {
        role: "tool",
        content: Some(Content::Text(texts(content).unwrap_or_default())),
        tool_call_id: Some(call_id),
        ..Wire::default()
    };
    Some((wire, images))
}

fn pictures<'a>(images: &[&'a Image]) -> Wire<'a> {
    let head = std::iter::once(Piece::Text { text: TOOL_IMAGES });
    let images =
        images.iter().map(|image| Piece::ImageUrl { image_url: ImageUrl { url: Url(image) } });
    Wire {
        role: "user",
        content: Some(Content::Parts(head.chain(images).collect())),
        ..Wire::default()
    }
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

fn join<'a>(mut texts: impl Iterator<Item = &'a str>, between: &str) -> Option<Cow<'a, str>> {
    let mut all = Cow::Borrowed(texts.next()?);
    for text in texts {
        let all = all.to_mut();
        all.push_str(between);
        all.push_str(text);
    }
    Some(all)
}
