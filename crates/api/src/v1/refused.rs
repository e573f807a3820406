//! Parameters that would change what a reply is, or who acts, and that an agent can't honour.
//! Refused rather than read past: an answer that ignores them would look like one that does not.

use super::error::OpenAiError;
use serde::Deserialize;
use serde_json::Value;

/// Those parameters of a request.
#[derive(Debug, Deserialize)]
pub struct Refused {
    functions: Option<Value>,
    function_call: Option<Value>,
    logprobs: Option<Value>,
    audio: Option<Value>,
    modalities: Option<Value>,
    web_search_options: Option<Value>,
    moderation: Option<Value>,
    background: Option<Value>,
    conversation: Option<Value>,
    prompt: Option<Value>,
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
        let text_only = |value: &Value| empty(value) || *value == serde_json::json!(["text"]);
        let no_call = |value: &Value| empty(value) || *value == "auto" || *value == "none";
        let functions = "send them as `tools`";
        let tools = "an agent has its own tools";
        let reply = "an agent replies in its own words";
        let kept =
            "a conversation is named by the header X-Insula-Session or by previous_response_id";
        type Fine<'f> = &'f dyn Fn(&Value) -> bool;
        let all: [(&str, &Option<Value>, Fine<'_>, &str); 10] = [
            ("functions", &self.functions, &empty, functions),
            ("function_call", &self.function_call, &no_call, functions),
            ("web_search_options", &self.web_search_options, &|value| value.is_null(), tools),
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
                return Err(OpenAiError::invalid_at(name, format!("`{name}` is not taken: {why}")));
            }
        }
        Ok(())
    }
}
