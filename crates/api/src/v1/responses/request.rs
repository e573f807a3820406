//! What a client of the Responses API asks, as far as an agent can be asked it.

use super::super::error::OpenAiError;
use super::super::picture::picture;
use super::super::request::{Conversation, Refused};
use insula_store::{Part, Role};
use serde::Deserialize;
use serde_json::Value;

/// A request. What is not named here is read past; what is refused says so.
#[derive(Debug, Deserialize)]
pub struct ResponseRequest {
    pub model: String,
    #[serde(default)]
    input: Value,
    pub instructions: Option<String>,
    pub previous_response_id: Option<String>,
    store: Option<bool>,
    #[serde(default)]
    pub stream: bool,
    pub metadata: Option<Value>,
    #[serde(flatten)]
    refused: Refused,
}

/// Where something is said.
pub enum SessionChoice {
    /// In a session that goes on, or begins, under this name.
    Session(String),
    /// In a new one.
    New,
}

impl ResponseRequest {
    /// Refuses what an agent can't honour.
    pub fn check(&self) -> Result<(), OpenAiError> {
        self.refused.check()?;
        if self.store == Some(false) && self.previous_response_id.is_some() {
            let message = "`previous_response_id` continues a conversation that is kept; leave out `store: false`";
            return Err(OpenAiError::invalid(message));
        }
        Ok(())
    }

    /// Whether it is to be kept, so that it can be continued.
    pub fn is_stored(&self) -> bool {
        self.store != Some(false)
    }

    /// The conversation it brings along, its last message apart.
    pub fn said(self) -> Result<Conversation, OpenAiError> {
        let told = self.instructions.filter(|it| !it.is_empty());
        let told = told.map(|it| (Role::System, vec![Part::Text(it)]));
        let mut history: Vec<_> = told.into_iter().chain(items(self.input)?).collect();
        match history.pop() {
            Some((Role::User, last)) => Ok((history, last)),
            _ => Err(nothing_said()),
        }
    }

    /// What it adds to a session, as one message: a session has its own history.
    pub fn said_in_session(self) -> Result<Vec<Part>, OpenAiError> {
        let items = items(self.input)?;
        if items.iter().any(|(role, _)| *role == Role::Assistant) {
            let message = "the conversation that is continued has the agent's words already; send only what is new";
            return Err(OpenAiError::invalid(message));
        }
        if !items.last().is_some_and(|(role, _)| *role == Role::User) {
            return Err(nothing_said());
        }
        let told = self.instructions.filter(|it| !it.is_empty()).map(Part::Text);
        Ok(told.into_iter().chain(items.into_iter().flat_map(|(_, parts)| parts)).collect())
    }
}

fn nothing_said() -> OpenAiError {
    OpenAiError::invalid(
        "`input` must be a text, or end with a message of role `user` that says something",
    )
}

fn items(input: Value) -> Result<Vec<(Role, Vec<Part>)>, OpenAiError> {
    let items = match input {
        Value::String(text) if text.is_empty() => return Ok(Vec::new()),
        Value::String(text) => return Ok(vec![(Role::User, vec![Part::Text(text)])]),
        Value::Array(items) => items,
        _ => return Err(nothing_said()),
    };
    let mut said = Vec::new();
    for item in items {
        let role = match (item["type"].as_str().unwrap_or("message"), item["role"].as_str()) {
            // A client may send back all it was given; thoughts are the model's own affair.
            ("reasoning", _) => continue,
            ("message", Some("user")) => Role::User,
            ("message", Some("assistant")) => Role::Assistant,
            ("message", Some("system" | "developer")) => Role::System,
            ("message", other) => {
                let role = other.unwrap_or_default();
                return Err(OpenAiError::invalid(format!(
                    "messages of role `{role}` are not taken"
                )));
            }
            (other, _) => {
                let message =
                    format!("items of type `{other}` are not taken in `input`: only messages are");
                return Err(OpenAiError::invalid(message));
            }
        };
        let parts = match &item["content"] {
            Value::String(text) => vec![Part::Text(text.clone())],
            Value::Array(parts) => parts.iter().map(part).collect::<Result<_, _>>()?,
            _ => return Err(OpenAiError::invalid("`content` must be a text or a list of parts")),
        };
        let parts: Vec<Part> = parts
            .into_iter()
            .filter(|part| !matches!(part, Part::Text(text) if text.is_empty()))
            .collect();
        if !parts.is_empty() {
            said.push((role, parts));
        }
    }
    Ok(said)
}

fn part(part: &Value) -> Result<Part, OpenAiError> {
    let text = |key: &str| part[key].as_str().map(str::to_owned);
    let kind = part["type"].as_str().unwrap_or_default();
    let found = match kind {
        "input_text" | "output_text" | "text" => text("text").map(Part::Text),
        "refusal" => text("refusal").map(Part::Text),
        "input_image" => text("image_url").map(|url| picture(&url)).transpose()?,
        other => {
            let message = format!(
                "parts of type `{other}` are not taken: only input_text and input_image are"
            );
            return Err(OpenAiError::invalid(message));
        }
    };
    found.ok_or_else(|| {
        let needs =
            if kind == "input_image" { "`image_url`; files are not kept here" } else { "its text" };
        OpenAiError::invalid(format!("a part of type `{kind}` needs {needs}"))
    })
}
