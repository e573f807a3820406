//! What an OpenAI client asks, as far as an agent can be asked it.

use super::error::OpenAiError;
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
    tools: Option<Vec<Value>>,
    functions: Option<Vec<Value>>,
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

/// What was said, and what was said before it.
pub struct Said {
    pub history: Vec<(Role, Vec<Part>)>,
    pub last: Vec<Part>,
}

impl ChatRequest {
    /// The conversation it brings along, its last message apart.
    pub fn said(self) -> Result<Said, OpenAiError> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(OpenAiError::invalid("`n` must be 1: an agent gives one reply"));
        }
        let brings_tools =
            |tools: &Option<Vec<Value>>| tools.as_ref().is_some_and(|it| !it.is_empty());
        if brings_tools(&self.tools) || brings_tools(&self.functions) {
            let message =
                "an agent has its own tools; `tools` and `functions` of the client are not taken";
            return Err(OpenAiError::invalid(message));
        }
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
            let parts = parts(message.content);
            if !parts.is_empty() {
                history.push((role, parts));
            }
        }
        match history.pop() {
            Some((Role::User, last)) => Ok(Said { history, last }),
            _ => Err(OpenAiError::invalid(
                "the last of `messages` must be of role `user` and say something",
            )),
        }
    }
}

fn parts(content: Option<Content>) -> Vec<Part> {
    match content {
        None => Vec::new(),
        Some(Content::Text(text)) if text.is_empty() => Vec::new(),
        Some(Content::Text(text)) => vec![Part::Text(text)],
        Some(Content::Parts(parts)) => parts
            .into_iter()
            .map(|part| match part {
                InPart::Text { text } => Part::Text(text),
                InPart::ImageUrl { image_url } => {
                    Part::Image { source: image_url.url.into(), media_type: "".into() }
                }
            })
            .collect(),
    }
}
