//! The Messages API.

use super::{PICTURES, Verdict, demand, is_base64, is_name, list, schema, text};
use serde_json::Value;
use std::collections::HashSet;

/// What Anthropic's server says.
pub fn anthropic(body: &Value) -> Verdict {
    let max_tokens = body["max_tokens"].as_u64().unwrap_or(0);
    demand!(max_tokens > 0, "max_tokens: Field required");
    let thinks = body.get("thinking").is_some();
    if thinks {
        let budget = body["thinking"]["budget_tokens"].as_u64().unwrap_or(0);
        demand!(budget >= 1_024, "thinking.budget_tokens: should be at least 1024");
        demand!(budget < max_tokens, "max_tokens must be greater than thinking.budget_tokens");
        for knob in ["temperature", "top_k"] {
            demand!(body.get(knob).is_none(), "{knob} may not be set when thinking is enabled");
        }
        let choice = text(&body["tool_choice"], "type").unwrap_or("auto");
        let is_free = choice == "auto" || choice == "none";
        demand!(is_free, "Thinking may not be enabled when tool_choice forces tool use.");
    }
    let marks = body.to_string().matches("\"cache_control\":").count();
    demand!(marks <= 4, "A maximum of 4 blocks with cache_control may be provided. Found {marks}.");
    for block in list(body, "system") {
        words(block, "system")?;
    }
    let mut names = HashSet::new();
    for tool in list(body, "tools") {
        let name = text(tool, "name").unwrap_or_default();
        demand!(is_name(name, 128), "tools: name {name:?} should match pattern");
        demand!(names.insert(name), "tools: Tool names must be unique.");
        schema(&tool["input_schema"])?;
    }
    messages(list(body, "messages"), thinks)
}

fn messages(messages: &[Value], thinks: bool) -> Verdict {
    demand!(!messages.is_empty(), "messages: at least one message is required");
    let mut ids = HashSet::new();
    let mut open: Vec<&str> = vec![];
    for (at, message) in messages.iter().enumerate() {
        let role = text(message, "role").unwrap_or_default();
        let expected = if at % 2 == 0 { "user" } else { "assistant" };
        demand!(role == expected, "messages.{at}: roles must alternate and begin with user");
        let content = list(message, "content");
        demand!(!content.is_empty(), "messages.{at}: all messages must have non-empty content");
        let mut may_answer = true;
        for block in content {
            let kind = text(block, "type").unwrap_or_default();
            demand!(
                block.get("cache_control").is_none() || !kind.contains("thinking"),
                "messages.{at}: thinking blocks cannot have cache_control"
            );
            match (role, kind) {
                ("user", "tool_result") => {
                    let id = text(block, "tool_use_id").unwrap_or_default();
                    let place = open.iter().position(|open| *open == id);
                    let Some(place) = place.filter(|_| may_answer) else {
                        return Err(format!(
                            "messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {id}"
                        ));
                    };
                    open.remove(place);
                    for inner in list(block, "content") {
                        match text(inner, "type") {
                            Some("image") => picture(inner, at)?,
                            _ => words(inner, &format!("messages.{at}"))?,
                        }
                    }
                }
                (_, "text") => {
                    may_answer = false;
                    words(block, &format!("messages.{at}"))?;
                }
                ("user", "image") => {
                    may_answer = false;
                    picture(block, at)?;
                }
                ("assistant", "tool_use") => {
                    let id = text(block, "id").unwrap_or_default();
                    demand!(is_name(id, 256), "messages.{at}: tool_use.id should match pattern");
                    demand!(ids.insert(id), "messages: `tool_use` ids must be unique");
                    let name = text(block, "name").unwrap_or_default();
                    demand!(
                        is_name(name, 128),
                        "messages.{at}: tool_use.name should match pattern"
                    );
                    demand!(
                        block["input"].is_object(),
                        "messages.{at}: tool_use.input: should be a valid dictionary"
                    );
                    open.push(id);
                }
                ("assistant", "thinking") => {
                    let signature = text(block, "signature").unwrap_or_default();
                    // What another provider signed is no signature here.
                    demand!(
                        signature.starts_with("sig"),
                        "messages.{at}: Invalid `signature` in `thinking` block"
                    );
                }
                ("assistant", "redacted_thinking") => {
                    demand!(
                        text(block, "data").is_some_and(|it| !it.is_empty()),
                        "messages.{at}: no data"
                    );
                }
                (_, kind) => {
                    return Err(format!("messages.{at}: {kind} is not allowed for {role}"));
                }
            }
        }
        if role == "user" {
            demand!(
                open.is_empty(),
                "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {open:?}"
            );
        } else {
            let last = content.last().and_then(|block| text(block, "type")).unwrap_or_default();
            demand!(
                !last.contains("thinking"),
                "messages.{at}: The final block in an assistant message cannot be `thinking`."
            );
        }
    }
    demand!(open.is_empty(), "`tool_use` without `tool_result` at the end");
    let last = messages.last().and_then(|last| text(last, "role"));
    demand!(last == Some("user"), "This model does not support assistant message prefill.");
    if let ([.., asked, brought], true) = (messages, thinks) {
        let begins = |message: &Value| {
            let first = list(message, "content").first();
            first.and_then(|block| text(block, "type")).unwrap_or_default().to_owned()
        };
        demand!(
            begins(brought) != "tool_result" || begins(asked).contains("thinking"),
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`"
        );
    }
    Ok(())
}

fn words(block: &Value, place: &str) -> Verdict {
    demand!(text(block, "type") == Some("text"), "{place}: expected text");
    let text = text(block, "text").unwrap_or_default();
    demand!(!text.is_empty(), "{place}: text content blocks must be non-empty");
    demand!(
        !text.trim().is_empty(),
        "{place}: text content blocks must contain non-whitespace text"
    );
    Ok(())
}

fn picture(block: &Value, at: usize) -> Verdict {
    let source = &block["source"];
    match text(source, "type") {
        Some("base64") => {
            let kind = text(source, "media_type").unwrap_or_default();
            let data = text(source, "data").unwrap_or_default();
            demand!(PICTURES.contains(&kind), "messages.{at}: media_type: {kind}");
            demand!(is_base64(data), "messages.{at}: image cannot be empty");
        }
        Some("url") => {
            let url = text(source, "url").unwrap_or_default();
            demand!(url.starts_with("https://"), "messages.{at}: Only HTTPS URLs are supported.");
        }
        other => return Err(format!("messages.{at}: source of type {other:?}")),
    }
    Ok(())
}
