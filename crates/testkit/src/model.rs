//! What a model says over the wire of OpenAI, as a stream of events, and what it was shown.

use crate::upstream::{Seen, Step, Upstream, event_stream};
use serde_json::{Value, json};

/// A streamed answer that says `text`.
pub fn says(text: &str) -> Vec<Step> {
    let delta = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    event_stream([&*delta.to_string(), stop, "[DONE]"])
}

/// A streamed answer that calls a tool.
pub fn calls(id: &str, tool: &str, arguments: &str) -> Vec<Step> {
    calls_all([(id, tool, arguments)])
}

/// A streamed answer that calls tools at once: the id, the name and the arguments of each call.
pub fn calls_all<T: AsRef<str>>(calls: impl IntoIterator<Item = (T, T, T)>) -> Vec<Step> {
    let calls = calls.into_iter().enumerate().map(|(index, (id, tool, arguments))| {
        let function = json!({ "name": tool.as_ref(), "arguments": arguments.as_ref() });
        json!({ "index": index, "id": id.as_ref(), "type": "function", "function": function })
    });
    let calls: Vec<Value> = calls.collect();
    let delta = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": calls } }] });
    let stop = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
    event_stream([&*delta.to_string(), stop, "[DONE]"])
}

/// The note behind a message that tells when it was said.
pub fn time_note(line: &str) -> bool {
    line.starts_with("⟦said on ") && line.ends_with('⟧')
}

/// A text without notes on when it was said, which stand behind what they are about.
pub fn without_times(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').filter(|line| !time_note(line)).collect();
    lines.join("\n")
}

/// A text without the notes of the house, which stand on lines of their own: who says it and when.
pub fn without_notes(text: &str) -> String {
    let is_note = |line: &&str| line.starts_with('⟦') && line.ends_with('⟧');
    let lines: Vec<&str> = text.split('\n').filter(|line| !is_note(line)).collect();
    lines.join("\n")
}

/// What a request to the model says: role and words of each message after the system's, without
/// when it was said.
pub fn shown(seen: &Seen) -> Vec<(String, String)> {
    let body = seen.json();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let said = messages.iter().filter(|message| message["role"] != "system").map(|message| {
        let words = match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("|")
            }
            _ => String::new(),
        };
        (message["role"].as_str().unwrap_or_default().to_owned(), without_times(&words))
    });
    said.collect()
}

/// The same with messages told apart that are one on the wire: those of people that follow one
/// another, with an empty line between them.
pub fn shown_apart(seen: &Seen) -> Vec<(String, String)> {
    let apart = |(role, words): (String, String)| {
        let each = words.split("\n\n").map(|words| (role.clone(), words.to_owned()));
        let each: Vec<_> = each.collect();
        if role == "user" { each } else { vec![(role, words)] }
    };
    shown(seen).into_iter().flat_map(apart).collect()
}

/// A configuration whose agents ask this server for `model`, with `rest` after that.
pub fn configured(upstream: &Upstream, model: &str, rest: &str) -> String {
    let url = upstream.url("/v1");
    format!(
        "model: fake/{model}\nproviders:\n  fake: {{kind: openai, base_url: \"{url}\"}}\n{rest}"
    )
}
