//! What an OpenAI client asks, as far as an agent can be asked it.

use super::error::OpenAiError;
use super::form;
use super::item::{Item, SaidCall, parts_of};
use super::part::{brought, words};
use super::refused::Refused;
use super::tool::ToolRequest;
use insula_store::Role;
use insula_turns::AnswerFormat;
use serde::Deserialize;
use serde_json::Value;

/// A chat completion request. Sampling settings are the agent's own affair and are read past;
/// what would change what the agent may do is refused.
#[derive(Debug, Deserialize)]
pub struct ChatRequest {
    pub model: String,
    messages: Vec<Value>,
    #[serde(default)]
    pub stream: bool,
    #[serde(default)]
    pub stream_options: Option<StreamOptions>,
    n: Option<u32>,
    #[serde(default)]
    response_format: Value,
    #[serde(default)]
    stop: Value,
    #[serde(flatten)]
    pub tools: ToolRequest,
    #[serde(flatten)]
    refused: Refused,
}

#[derive(Debug, Deserialize)]
pub struct StreamOptions {
    #[serde(default)]
    pub include_usage: bool,
}

impl ChatRequest {
    /// Refuses what an agent can't honour.
    pub fn check(&self) -> Result<(), OpenAiError> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(OpenAiError::invalid_at("n", "`n` must be 1: an agent gives one reply"));
        }
        self.refused.check()
    }

    /// What the reply has to look like.
    pub fn format(&self) -> Result<Option<AnswerFormat>, OpenAiError> {
        form::format(&self.response_format, "response_format")
    }

    /// The texts that end it.
    pub fn stop(&self) -> Result<Vec<String>, OpenAiError> {
        form::stop(&self.stop)
    }

    /// The conversation it brings along.
    pub fn items(&self) -> Result<Vec<Item>, OpenAiError> {
        let messages = self.messages.iter().enumerate();
        messages.map(|(index, message)| item(message, &format!("messages[{index}]"))).collect()
    }
}

fn item(message: &Value, at: &str) -> Result<Item, OpenAiError> {
    let content = format!("{at}.content");
    let role = match message["role"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        // What a client calls system is, for the agent, something it was told.
        Some("system" | "developer") => Role::System,
        Some("tool") => {
            let call = message["tool_call_id"].as_str().ok_or_else(|| {
                let at = format!("{at}.tool_call_id");
                OpenAiError::invalid_at(at, "a result needs the id of its call, `tool_call_id`")
            })?;
            let text = words(&message["content"], &content, "what came of a call")?;
            return Ok(Item::Result { call: call.to_owned(), text, at: at.to_owned() });
        }
        Some(other) => {
            let other: String = other.chars().filter(|c| !c.is_control()).take(40).collect();
            let message = format!("messages of role `{other}` are not taken");
            return Err(OpenAiError::invalid_at(format!("{at}.role"), message));
        }
        None => {
            return Err(OpenAiError::invalid_at(
                format!("{at}.role"),
                "a message needs its `role`",
            ));
        }
    };
    let mut parts = brought(&message["content"], &content)?;
    if role != Role::Assistant {
        return Ok(Item::Said { role, parts });
    }
    if parts.is_empty() {
        parts = brought(&message["refusal"], &format!("{at}.refusal"))?;
    }
    let calls = match &message["tool_calls"] {
        Value::Null => Vec::new(),
        Value::Array(calls) => {
            let place = |index: usize| format!("{at}.tool_calls[{index}]");
            let calls = calls.iter().enumerate().map(|(index, it)| call(it, &place(index)));
            calls.collect::<Result<_, _>>()?
        }
        _ => {
            let message = "`tool_calls` must be a list";
            return Err(OpenAiError::invalid_at(format!("{at}.tool_calls"), message));
        }
    };
    match calls.is_empty() {
        true => Ok(Item::Said { role, parts }),
        false => Ok(Item::Calls { said: parts_of(parts), calls }),
    }
}

fn call(call: &Value, at: &str) -> Result<SaidCall, OpenAiError> {
    said_call(&call["id"], &call["function"], at)
}

/// A call as a client tells it: its id, and the function with its arguments.
pub fn said_call(id: &Value, function: &Value, at: &str) -> Result<SaidCall, OpenAiError> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let found = text(id).zip(text(&function["name"]));
    let Some((id, name)) = found.filter(|(_, name)| super::tool::is_name(name)) else {
        let message = "a call needs its id and the name of a function";
        return Err(OpenAiError::invalid_at(at, message));
    };
    let arguments = match &function["arguments"] {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Ok(SaidCall { id, name, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_wrong_is_told_where_it_stands() {
        for (message, param) in [
            (json!({ "role": "wizard", "content": "x" }), "messages[0].role"),
            (json!({ "content": "x" }), "messages[0].role"),
            (json!("x"), "messages[0].role"),
            (json!({ "role": "user", "content": 7 }), "messages[0].content"),
            (json!({ "role": "tool", "content": "x" }), "messages[0].tool_call_id"),
            (
                json!({ "role": "tool", "tool_call_id": "c", "content": [{ "type": "image_url", "image_url": "https://a.org/a.png" }] }),
                "messages[0].content",
            ),
            (
                json!({ "role": "assistant", "tool_calls": [{ "id": "c" }] }),
                "messages[0].tool_calls[0]",
            ),
            (json!({ "role": "assistant", "tool_calls": {} }), "messages[0].tool_calls"),
        ] {
            let error = item(&message, "messages[0]").unwrap_err().body();
            assert_eq!(error["error"]["param"], param, "{message}");
        }
    }

    #[test]
    fn calls_and_results_are_read() {
        let message = json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } } ] });
        let call =
            SaidCall { id: "c".to_owned(), name: "f".to_owned(), arguments: "{}".to_owned() };
        assert_eq!(
            item(&message, "m").unwrap(),
            Item::Calls { said: Vec::new(), calls: vec![call] }
        );
        let message = json!({ "role": "tool", "tool_call_id": "c",
            "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] });
        let (call, text, at) = ("c".to_owned(), "ab".to_owned(), "m".to_owned());
        assert_eq!(item(&message, "m").unwrap(), Item::Result { call, text, at });
    }
}
