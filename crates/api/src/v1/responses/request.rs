//! What a client of the Responses API asks, as far as an agent can be asked it.

use super::super::error::OpenAiError;
use super::super::form;
use super::super::item::Item;
use super::super::part::{Brought, brought, words};
use super::super::refused::Refused;
use super::super::request::said_call;
use super::super::tool::ToolRequest;
use insula_store::{Part, Role};
use insula_turns::AnswerFormat;
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
    #[serde(default)]
    text: Value,
    #[serde(default)]
    stop: Value,
    #[serde(flatten)]
    pub tools: ToolRequest,
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
            return Err(OpenAiError::invalid_at("store", message));
        }
        Ok(())
    }

    /// Whether it is to be kept, so that it can be continued.
    pub fn is_stored(&self) -> bool {
        self.store != Some(false)
    }

    /// What the reply has to look like.
    pub fn format(&self) -> Result<Option<AnswerFormat>, OpenAiError> {
        form::format(self.format_asked(), "text.format")
    }

    /// The same, as it was asked for.
    pub fn format_asked(&self) -> &Value {
        &self.text["format"]
    }

    /// The texts that end it.
    pub fn stop(&self) -> Result<Vec<String>, OpenAiError> {
        form::stop(&self.stop)
    }

    /// What it tells, after what the agent is told with it.
    pub fn items(&self) -> Result<Vec<Item>, OpenAiError> {
        let told = self.instructions.as_ref().filter(|it| !it.is_empty());
        let told = told.map(|it| text(Role::System, it));
        let said = items(&self.input)?;
        let is_said = |item: &Item| !matches!(item, Item::Said { parts, .. } if parts.is_empty());
        match said.iter().any(is_said) {
            true => Ok(told.into_iter().chain(said).collect()),
            false => Err(nothing_said()),
        }
    }
}

fn text(role: Role, text: &str) -> Item {
    Item::Said { role, parts: vec![Brought::Part(Part::Text(text.to_owned()))] }
}

fn nothing_said() -> OpenAiError {
    OpenAiError::invalid_at("input", "`input` must be a text or a list of items, and say something")
}

fn items(input: &Value) -> Result<Vec<Item>, OpenAiError> {
    let items = match input {
        Value::String(text) if text.is_empty() => return Ok(Vec::new()),
        Value::String(said) => return Ok(vec![text(Role::User, said)]),
        Value::Array(items) => items,
        _ => return Err(nothing_said()),
    };
    let mut told = Vec::new();
    for (index, value) in items.iter().enumerate() {
        match item(value, &format!("input[{index}]"))? {
            // Calls that were asked for at once are items of their own here.
            Some(Item::Calls { mut calls, .. }) => match told.last_mut() {
                Some(Item::Calls { calls: before, .. }) => before.append(&mut calls),
                _ => told.push(Item::Calls { said: Vec::new(), calls }),
            },
            item => told.extend(item),
        }
    }
    Ok(told)
}

fn item(item: &Value, at: &str) -> Result<Option<Item>, OpenAiError> {
    // An item that is no more than its id is a reference, whether it says so or not.
    let is_bare = item["role"].is_null() && item["id"].is_string();
    let kind = match item["type"].as_str() {
        Some(kind) => kind,
        None if is_bare => "item_reference",
        None => "message",
    };
    let role = match (kind, item["role"].as_str()) {
        // A client may send back all it was given; thoughts are the model's own affair.
        ("reasoning", _) => return Ok(None),
        ("message", Some("user")) => Role::User,
        ("message", Some("assistant")) => Role::Assistant,
        ("message", Some("system" | "developer")) => Role::System,
        ("message", other) => {
            let message = format!("messages of role `{}` are not taken", shown(other));
            return Err(OpenAiError::invalid_at(format!("{at}.role"), message));
        }
        ("function_call", _) => {
            let calls = vec![said_call(&item["call_id"], item, at)?];
            return Ok(Some(Item::Calls { said: Vec::new(), calls }));
        }
        ("function_call_output", _) => {
            let call = item["call_id"].as_str().ok_or_else(|| {
                let at = format!("{at}.call_id");
                OpenAiError::invalid_at(at, "a result needs the id of its call, `call_id`")
            })?;
            let text = words(&item["output"], &format!("{at}.output"), "what came of a call")?;
            return Ok(Some(Item::Result { call: call.to_owned(), text, at: at.to_owned() }));
        }
        ("item_reference", _) => {
            let id = item["id"].as_str().ok_or_else(|| {
                OpenAiError::invalid_at(format!("{at}.id"), "a reference needs the `id` of an item")
            })?;
            return Ok(Some(Item::Reference { id: id.to_owned(), at: at.to_owned() }));
        }
        (other, _) => {
            let message = format!(
                "items of type `{}` are not taken: messages, calls of functions, their results and references are",
                shown(Some(other))
            );
            return Err(OpenAiError::invalid_at(at, message));
        }
    };
    let content = &item["content"];
    if content.is_null() {
        return Err(OpenAiError::invalid_at(format!("{at}.content"), "a message needs `content`"));
    }
    let parts = brought(content, &format!("{at}.content"))?;
    Ok(Some(Item::Said { role, parts }))
}

fn shown(text: Option<&str>) -> String {
    text.unwrap_or_default().chars().filter(|c| !c.is_control()).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::item::SaidCall;
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_results_and_references_are_items() {
        let input = json!([
            { "role": "user", "content": "hi" },
            { "type": "reasoning", "id": "rs_1", "summary": [] },
            { "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}" },
            { "type": "function_call", "call_id": "b", "name": "g", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "a", "output": "1" },
            { "type": "function_call_output", "call_id": "b", "output": [{ "type": "input_text", "text": "2" }] },
            { "type": "item_reference", "id": "msg_1" },
            { "id": "msg_2" },
        ]);
        let call = |id: &str, name: &str| SaidCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: "{}".to_owned(),
        };
        let result = |call: &str, text: &str, at: &str| Item::Result {
            call: call.to_owned(),
            text: text.to_owned(),
            at: at.to_owned(),
        };
        let reference =
            |id: &str, at: &str| Item::Reference { id: id.to_owned(), at: at.to_owned() };
        assert_eq!(
            items(&input).unwrap(),
            [
                text(Role::User, "hi"),
                Item::Calls { said: Vec::new(), calls: vec![call("a", "f"), call("b", "g")] },
                result("a", "1", "input[4]"),
                result("b", "2", "input[5]"),
                reference("msg_1", "input[6]"),
                reference("msg_2", "input[7]"),
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_told_where_it_stands() {
        for (value, param) in [
            (json!({ "role": "wizard", "content": "x" }), "input[0].role"),
            (json!({ "role": "user" }), "input[0].content"),
            (
                json!({ "role": "user", "content": [{ "type": "input_audio" }] }),
                "input[0].content[0]",
            ),
            (json!({ "type": "function_call", "name": "f" }), "input[0]"),
            (json!({ "type": "function_call", "call_id": "c", "name": "a b" }), "input[0]"),
            (json!({ "type": "function_call_output", "output": "x" }), "input[0].call_id"),
            (json!({ "type": "item_reference" }), "input[0].id"),
            (json!({ "type": "computer_call", "id": "c" }), "input[0]"),
        ] {
            let error = items(&json!([value])).unwrap_err().body();
            assert_eq!(error["error"]["param"], param, "{value}");
        }
    }
}
