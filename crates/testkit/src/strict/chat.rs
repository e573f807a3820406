//! Chat completions: what everybody refuses, and what OpenAI, Mistral and Google refuse besides.

use super::{PICTURES, Verdict, demand, is_base64, is_name, list, schema, text};
use serde_json::Value;
use std::collections::HashSet;

/// What any server says.
pub fn compatible(body: &Value) -> Verdict {
    common(body)
}

/// What OpenAI's server says.
pub fn openai(body: &Value) -> Verdict {
    const KNOWN: [&str; 17] = [
        "model",
        "messages",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "stream",
        "stream_options",
        "max_completion_tokens",
        "temperature",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "seed",
        "stop",
        "reasoning_effort",
        "prompt_cache_key",
    ];
    members(body, &KNOWN)?;
    common(body)?;
    for call in list(body, "messages").iter().flat_map(|message| list(message, "tool_calls")) {
        demand!(call.get("extra_content").is_none(), "Unknown parameter: extra_content");
    }
    Ok(())
}

/// What Mistral's server says.
pub fn mistral(body: &Value) -> Verdict {
    const KNOWN: [&str; 14] = [
        "model",
        "messages",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "stream",
        "max_tokens",
        "temperature",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "random_seed",
        "stop",
    ];
    members(body, &KNOWN)?;
    common(body)?;
    let is_nine = |id: &str| id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric());
    let mut before = "system";
    for message in list(body, "messages") {
        let role = text(message, "role").unwrap_or_default();
        let has_calls = !list(message, "tool_calls").is_empty();
        for call in list(message, "tool_calls") {
            let id = text(call, "id").unwrap_or_default();
            demand!(
                is_nine(id),
                "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9"
            );
        }
        let id = text(message, "tool_call_id").unwrap_or("000000000");
        demand!(is_nine(id), "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9");
        let words = &message["content"];
        let is_empty = words.is_null() || words.as_str() == Some("");
        demand!(
            role != "assistant" || has_calls || !is_empty,
            "Assistant message must have either content or tool_calls, but not none."
        );
        let follows = matches!(
            (before, role),
            ("system" | "assistant", "user")
                | ("system", "system")
                | ("user" | "tool", "assistant")
                | ("calls" | "tool", "tool")
        );
        demand!(follows, "Unexpected role '{role}' after role '{before}'");
        before = if role == "assistant" && has_calls { "calls" } else { role };
    }
    let is_served = before == "user" || before == "tool";
    demand!(is_served, "Expected last role User or Tool but got {before}");
    Ok(())
}

/// What Google's compatible server says.
pub fn google(body: &Value) -> Verdict {
    const KNOWN: [&str; 12] = [
        "model",
        "messages",
        "tools",
        "tool_choice",
        "response_format",
        "stream",
        "stream_options",
        "max_tokens",
        "temperature",
        "top_p",
        "stop",
        "reasoning_effort",
    ];
    members(body, &KNOWN)?;
    // Its schemas are its own.
    let mut rest = body.clone();
    if let Some(rest) = rest.as_object_mut() {
        rest.remove("tools");
    }
    common(&rest)?;
    for tool in list(body, "tools") {
        let Some(parameters) = tool["function"].get("parameters") else { continue };
        let properties = parameters["properties"].as_object();
        demand!(
            properties.is_some_and(|it| !it.is_empty()),
            "properties: should be non-empty for OBJECT type"
        );
        for unknown in ["$schema", "additionalProperties", "const", "oneOf", "allOf", "$ref"] {
            demand!(parameters.get(unknown).is_none(), "Unknown name \"{unknown}\"");
        }
    }
    let marks = text(body, "model").is_some_and(|model| model.contains("gemini-3"));
    let mut before = "";
    for message in list(body, "messages") {
        let role = text(message, "role").unwrap_or_default();
        demand!(
            !is_blank(&message["content"]) || !list(message, "tool_calls").is_empty(),
            "contents.parts must not be empty"
        );
        if let Some(call) = list(message, "tool_calls").first() {
            demand!(
                before == "user" || before == "tool",
                "Please ensure that function call turn comes immediately after a user turn or after a function response turn"
            );
            let mark = &call["extra_content"]["google"]["thought_signature"];
            demand!(!marks || mark.is_string(), "Function call is missing a thought_signature");
        }
        before = role;
    }
    Ok(())
}

fn is_blank(content: &Value) -> bool {
    content.is_null() || content.as_str().is_some_and(|text| text.trim().is_empty())
}

fn members(body: &Value, known: &[&str]) -> Verdict {
    for key in body.as_object().into_iter().flat_map(|body| body.keys()) {
        demand!(known.contains(&key.as_str()), "Extra inputs are not permitted: {key}");
    }
    Ok(())
}

/// What everybody refuses.
fn common(body: &Value) -> Verdict {
    demand!(text(body, "model").is_some_and(|model| !model.is_empty()), "you must provide a model");
    let messages = list(body, "messages");
    demand!(!messages.is_empty(), "[] is too short - 'messages'");
    let mut names = HashSet::new();
    for tool in list(body, "tools") {
        let name = text(&tool["function"], "name").unwrap_or_default();
        demand!(is_name(name, 64), "Invalid 'tools[].function.name': {name}");
        demand!(names.insert(name), "two tools of one name: {name}");
        schema(&tool["function"]["parameters"])?;
    }
    demand!(
        body.get("tool_choice").is_none() || !names.is_empty() || body.get("tools").is_none(),
        "tool_choice without tools"
    );
    let mut open: Vec<&str> = vec![];
    let mut ids = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let role = text(message, "role").unwrap_or_default();
        if role == "tool" {
            let id = text(message, "tool_call_id").unwrap_or_default();
            let place = open.iter().position(|open| *open == id);
            let Some(place) = place else {
                return Err(format!(
                    "messages[{at}]: 'tool' must be a response to a preceeding message with 'tool_calls': {id}"
                ));
            };
            open.remove(place);
            demand!(message["content"].is_string(), "messages[{at}]: a result must be text");
            continue;
        }
        demand!(
            open.is_empty(),
            "An assistant message with 'tool_calls' must be followed by tool messages; missing: {open:?}"
        );
        match role {
            "system" => demand!(at == 0, "messages[{at}]: a system message later than the first"),
            "user" => user(message, at)?,
            "assistant" => {
                let calls = message.get("tool_calls");
                demand!(
                    calls.is_none_or(|calls| calls.as_array().is_some_and(|it| !it.is_empty())),
                    "messages[{at}].tool_calls: [] is too short"
                );
                demand!(
                    message["content"].is_string() || calls.is_some(),
                    "messages[{at}]: content may only be null beside calls"
                );
                for call in list(message, "tool_calls") {
                    open.push(made(call, at, &mut ids)?);
                }
            }
            other => return Err(format!("messages[{at}]: invalid role {other}")),
        }
    }
    demand!(open.is_empty(), "calls without results at the end: {open:?}");
    Ok(())
}

fn made<'v>(call: &'v Value, at: usize, ids: &mut HashSet<&'v str>) -> Result<&'v str, String> {
    let id = text(call, "id").unwrap_or_default();
    demand!(is_name(id, 40), "messages[{at}]: invalid id of a call: {id:?}");
    demand!(ids.insert(id), "messages[{at}]: the id {id} twice");
    let name = text(&call["function"], "name").unwrap_or_default();
    demand!(is_name(name, 64), "messages[{at}]: invalid name of a function: {name:?}");
    let arguments = text(&call["function"], "arguments").unwrap_or_default();
    let parsed = serde_json::from_str::<Value>(arguments);
    demand!(
        parsed.as_ref().is_ok_and(Value::is_object),
        "messages[{at}]: arguments are no object: {arguments}"
    );
    Ok(id)
}

fn user(message: &Value, at: usize) -> Verdict {
    if message["content"].is_string() {
        return Ok(());
    }
    let parts = list(message, "content");
    demand!(!parts.is_empty(), "messages[{at}]: no content");
    for part in parts {
        match text(part, "type") {
            Some("text") => demand!(part["text"].is_string(), "messages[{at}]: no text"),
            Some("image_url") => {
                let url = text(&part["image_url"], "url").unwrap_or_default();
                let inline = url.strip_prefix("data:").and_then(|it| it.split_once(";base64,"));
                match inline {
                    Some((kind, data)) => demand!(
                        PICTURES.contains(&kind) && is_base64(data),
                        "messages[{at}]: unsupported image {kind}"
                    ),
                    None => demand!(url.starts_with("http"), "messages[{at}]: invalid image url"),
                }
            }
            other => return Err(format!("messages[{at}]: invalid part {other:?}")),
        }
    }
    Ok(())
}
