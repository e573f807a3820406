//! What an OpenAI client asks, as far as an agent can be asked it.

use super::error::OpenAiError;
use super::picture::picture;
use insula_store::{Part, Role};
use serde::Deserialize;
use serde_json::Value;

/// A chat completion request. Sampling settings are the agent's own affair and are read past;
/// what would change what the agent may do is refused.
#[derive(Debug, Deserialize)]
pub struct ChatRequest {
    pub model: String,
    messages: Vec<InMessage>,
    #[serde(default)]
    pub stream: bool,
    #[serde(default)]
    pub stream_options: Option<StreamOptions>,
    n: Option<u32>,
    #[serde(flatten)]
    refused: Refused,
}

/// Parameters that would change what the reply is, or who acts, and that an agent can't honour.
/// Refused rather than read past: an answer that ignores them would look like one that does not.
#[derive(Debug, Deserialize)]
pub struct Refused {
    tools: Option<Value>,
    functions: Option<Value>,
    response_format: Option<Value>,
    stop: Option<Value>,
    logprobs: Option<Value>,
    audio: Option<Value>,
    modalities: Option<Value>,
    web_search_options: Option<Value>,
    moderation: Option<Value>,
    background: Option<Value>,
    conversation: Option<Value>,
    prompt: Option<Value>,
    text: Option<Value>,
}

impl Refused {
    /// Refuses what asks for something. What asks for the usual, as `n: 1` does, is fine.
    pub fn check(&self) -> Result<(), OpenAiError> {
        let empty = |value: &Value| match value {
            Value::Null | Value::Bool(false) => true,
            Value::Array(all) => all.is_empty(),
            Value::Object(all) => all.is_empty(),
            _ => false,
        };
        let plain = |value: &Value| empty(value) || value["type"] == "text";
        let plainly = |value: &Value| empty(value) || plain(&value["format"]);
        let text_only = |value: &Value| empty(value) || *value == serde_json::json!(["text"]);
        let tools = "an agent has its own tools; those of the client are not taken";
        let reply = "an agent replies in its own words";
        let kept =
            "a conversation is named by the header X-Insula-Session or by previous_response_id";
        type Fine<'f> = &'f dyn Fn(&Value) -> bool;
        let all: [(&str, &Option<Value>, Fine<'_>, &str); 13] = [
            ("tools", &self.tools, &empty, tools),
            ("functions", &self.functions, &empty, tools),
            ("web_search_options", &self.web_search_options, &|value| value.is_null(), tools),
            ("response_format", &self.response_format, &plain, reply),
            ("text", &self.text, &plainly, reply),
            ("stop", &self.stop, &empty, reply),
            ("logprobs", &self.logprobs, &empty, reply),
            ("audio", &self.audio, &empty, reply),
            ("modalities", &self.modalities, &text_only, reply),
            ("moderation", &self.moderation, &empty, reply),
            ("background", &self.background, &empty, "ask with `stream`, or wait for the reply"),
            ("conversation", &self.conversation, &empty, kept),
            ("prompt", &self.prompt, &empty, "an agent has its own prompt"),
        ];
        for (name, value, fine, why) in all {
            if value.as_ref().is_some_and(|value| !fine(value)) {
                return Err(OpenAiError::invalid(format!("`{name}` is not taken: {why}")));
            }
        }
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
pub struct StreamOptions {
    #[serde(default)]
    pub include_usage: bool,
}

#[derive(Debug, Deserialize)]
struct InMessage {
    role: String,
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<InPart>),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InPart {
    Text { text: String },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Debug, Deserialize)]
struct ImageUrl {
    url: String,
}

/// What was said before, each with its role, and what was said last.
pub type Conversation = (Vec<(Role, Vec<Part>)>, Vec<Part>);

impl ChatRequest {
    /// The conversation it brings along, its last message apart.
    pub fn said(self) -> Result<Conversation, OpenAiError> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(OpenAiError::invalid("`n` must be 1: an agent gives one reply"));
        }
        self.refused.check()?;
        let mut history = Vec::new();
        for message in self.messages {
            let role = match message.role.as_str() {
                "user" => Role::User,
                "assistant" => Role::Assistant,
                // What a client calls system is, for the agent, something it was told.
                "system" | "developer" => Role::System,
                other => {
                    return Err(OpenAiError::invalid(format!(
                        "messages of role `{other}` are not taken"
                    )));
                }
            };
            let parts = parts(message.content)?;
            if !parts.is_empty() {
                history.push((role, parts));
            }
        }
        match history.pop() {
            Some((Role::User, last)) => Ok((history, last)),
            _ => Err(OpenAiError::invalid(
                "the last of `messages` must be of role `user` and say something",
            )),
        }
    }
}

fn parts(content: Option<Content>) -> Result<Vec<Part>, OpenAiError> {
    match content {
        None => Ok(Vec::new()),
        Some(Content::Text(text)) if text.is_empty() => Ok(Vec::new()),
        Some(Content::Text(text)) => Ok(vec![Part::Text(text)]),
        Some(Content::Parts(parts)) => parts
            .into_iter()
            .map(|part| match part {
                InPart::Text { text } => Ok(Part::Text(text)),
                InPart::ImageUrl { image_url } => picture(&image_url.url),
            })
            .collect(),
    }
}
