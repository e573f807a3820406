//! Tools that a request brings along: which are taken, and what the model may do with them.

use super::error::OpenAiError;
use insula_turns::{CallCount, ToolChoice, ToolSchema};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// Most tools of one request.
const TOOLS_MAX: usize = 128;
/// Longest name of one, in bytes: what every provider takes.
const NAME_BYTES_MAX: usize = 64;
/// Bytes of names, descriptions and schemas of one request's tools.
const BYTES_MAX: usize = 256 * 1024;

/// What a request says about tools.
#[derive(Debug, Default, Deserialize)]
pub struct ToolRequest {
    #[serde(default)]
    pub tools: Value,
    #[serde(default)]
    pub tool_choice: Value,
    #[serde(default)]
    pub parallel_tool_calls: Value,
}

/// The tools of a request.
#[derive(Debug, Default)]
pub struct Brought {
    pub tools: Vec<ToolSchema>,
    pub choice: ToolChoice,
    pub calls: CallCount,
}

impl ToolRequest {
    /// Whether it brings any.
    pub fn is_empty(&self) -> bool {
        self.tools.as_array().map_or(self.tools.is_null(), Vec::is_empty)
    }

    /// The tools, of which none has a name that `is_taken`.
    pub fn read(&self, is_taken: impl Fn(&str) -> bool) -> Result<Brought, OpenAiError> {
        if self.is_empty() {
            return Ok(Brought::default());
        }
        let Value::Array(all) = &self.tools else {
            return Err(OpenAiError::invalid_at("tools", "`tools` must be a list"));
        };
        if all.len() > TOOLS_MAX {
            let message = format!("{} tools are more than {TOOLS_MAX}", all.len());
            return Err(OpenAiError::invalid_at("tools", message));
        }
        let mut tools: Vec<ToolSchema> = Vec::with_capacity(all.len());
        let mut names = BTreeSet::new();
        for (index, tool) in all.iter().enumerate() {
            let at = format!("tools[{index}]");
            let tool = schema(tool, &at)?;
            if is_taken(&tool.name) {
                let message = format!(
                    "the agent has a tool `{}` of its own: give yours another name",
                    tool.name
                );
                return Err(OpenAiError::invalid_at(at, message));
            }
            if !names.insert(tool.name.clone()) {
                let message = format!("`{}` is there twice", tool.name);
                return Err(OpenAiError::invalid_at(at, message));
            }
            tools.push(tool);
        }
        let size: usize = tools.iter().map(ToolSchema::size).sum();
        if size > BYTES_MAX {
            let message = format!("the tools are {size} bytes, which is more than {BYTES_MAX}");
            return Err(OpenAiError::invalid_at("tools", message));
        }
        let choice = self.choice(&mut tools)?;
        let calls = match &self.parallel_tool_calls {
            Value::Null | Value::Bool(true) => CallCount::Many,
            Value::Bool(false) => CallCount::One,
            _ => {
                let message = "`parallel_tool_calls` must be true or false";
                return Err(OpenAiError::invalid_at("parallel_tool_calls", message));
            }
        };
        Ok(Brought { tools, choice, calls })
    }

    fn choice(&self, tools: &mut Vec<ToolSchema>) -> Result<ToolChoice, OpenAiError> {
        let error = |message: String| OpenAiError::invalid_at("tool_choice", message);
        let wrong = |message: String| Err(error(message));
        let known = |name: &str| match tools.iter().find(|tool| *tool.name == *name) {
            Some(tool) => Ok(tool.name.clone()),
            None => Err(error(format!("`tools` has no `{}`", shown(name)))),
        };
        let mode = |mode: &str| match mode {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" => Ok(ToolChoice::Required),
            other => wrong(format!("`{}` is none of auto, none and required", shown(other))),
        };
        match &self.tool_choice {
            Value::Null => Ok(ToolChoice::Auto),
            Value::String(word) => mode(word),
            choice if choice["type"] == "function" => match named(choice) {
                Some(name) => known(name).map(ToolChoice::Tool),
                None => wrong("a function needs its `name`".to_owned()),
            },
            choice if choice["type"] == "allowed_tools" => {
                let inner = Some(&choice["allowed_tools"]).filter(|it| it.is_object());
                let allowed = inner.unwrap_or(choice);
                let listed = allowed["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
                let names = listed.iter().filter_map(named).map(known);
                let names: Vec<_> = names.collect::<Result<_, _>>()?;
                tools.retain(|tool| names.contains(&tool.name));
                mode(allowed["mode"].as_str().unwrap_or("auto"))
            }
            _ => wrong("it must be auto, none, required, or name a function".to_owned()),
        }
    }
}

/// The name of a function, in the words of either API.
fn named(function: &Value) -> Option<&str> {
    function["function"]["name"].as_str().or_else(|| function["name"].as_str())
}

fn schema(tool: &Value, at: &str) -> Result<ToolSchema, OpenAiError> {
    let wrong = |message: String| Err(OpenAiError::invalid_at(at, message));
    match tool["type"].as_str() {
        Some("function") => {}
        Some(other) => {
            return wrong(format!(
                "tools of type `{}` are not taken: only functions that you run yourself are, and the agent has its own tools",
                shown(other)
            ));
        }
        None => return wrong("a tool needs its `type`: `function`".to_owned()),
    }
    let function = Some(&tool["function"]).filter(|it| it.is_object()).unwrap_or(tool);
    let name = function["name"].as_str().unwrap_or_default();
    if !is_name(name) {
        return wrong(format!(
            "`{}` is no name of a tool: it has 1 to {NAME_BYTES_MAX} letters, digits, `_` and `-`",
            shown(name)
        ));
    }
    let parameters = match &function["parameters"] {
        Value::Null => r#"{"type":"object","properties":{}}"#.to_owned(),
        object @ Value::Object(_) => object.to_string(),
        _ => return wrong(format!("`parameters` of `{name}` must be a JSON schema")),
    };
    let description = function["description"].as_str().unwrap_or_default();
    let made = ToolSchema::new(name, description, &parameters);
    made.or_else(|error| wrong(format!("`parameters` of `{name}`: {error}")))
}

/// Whether a tool of a client can be called so.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.chars().all(is_plain)
}

/// A word of the caller's, short enough to be said back.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(NAME_BYTES_MAX).collect()
}

#[cfg(test)]
#[path = "tool_tests.rs"]
mod tests;
