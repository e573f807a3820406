//! Ollama's own API.

use super::{Verdict, demand, is_base64, list, text};
use serde_json::Value;

/// What Ollama says: its types are strict, its templates are not. An order that makes no sense to
/// a model is refused here all the same.
pub fn ollama(body: &Value) -> Verdict {
    demand!(text(body, "model").is_some_and(|model| !model.is_empty()), "model is required");
    let messages = list(body, "messages");
    demand!(!messages.is_empty(), "messages are required");
    let mut open: Vec<&str> = vec![];
    for (at, message) in messages.iter().enumerate() {
        let role = text(message, "role").unwrap_or_default();
        demand!(message["content"].is_string(), "messages[{at}]: content must be a string");
        for image in list(message, "images") {
            let data = image.as_str().unwrap_or_default();
            demand!(is_base64(data), "messages[{at}]: illegal base64 data");
        }
        let calls = list(message, "tool_calls");
        demand!(calls.is_empty() || role == "assistant", "messages[{at}]: calls of {role}");
        if role == "tool" {
            let name = text(message, "tool_name").unwrap_or_default();
            let place = open.iter().position(|open| *open == name);
            let Some(place) = place else {
                return Err(format!("messages[{at}]: a result of {name:?}, which was not called"));
            };
            open.remove(place);
            continue;
        }
        demand!(open.is_empty(), "messages[{at}]: calls without results: {open:?}");
        demand!(
            matches!(role, "system" | "user" | "assistant"),
            "messages[{at}]: invalid role {role:?}"
        );
        demand!(
            role != "assistant" || !calls.is_empty() || message["content"] != "",
            "messages[{at}]: an empty answer"
        );
        for call in calls {
            let name = text(&call["function"], "name").unwrap_or_default();
            demand!(!name.is_empty(), "messages[{at}]: a call of nothing");
            demand!(
                call["function"]["arguments"].is_object(),
                "json: cannot unmarshal into Go struct field ToolCallFunction.arguments"
            );
            open.push(name);
        }
    }
    demand!(open.is_empty(), "calls without results at the end: {open:?}");
    let last = messages.last().and_then(|last| text(last, "role"));
    demand!(last != Some("assistant"), "nothing to answer");
    Ok(())
}
