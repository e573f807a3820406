//! A request for a server that knows no tools: they, their calls and what those brought, in words.

use crate::request::{
    CacheHint, Message, Part, Request, Role, SystemBlock, ToolChoice, ToolSchema,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// How calls and replies are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Calls between tags, replies as they are.
    Tags,
    /// Both as one JSON object, which the server holds the model to.
    Objects,
}

/// The field of an object that is a reply.
pub const REPLY: &str = "reply";

/// The same request, without tools.
pub fn in_words(request: &Request, style: Style) -> Request {
    let mut worded = request.clone();
    worded.tools = Arc::new([]);
    worded.tool_choice = ToolChoice::Auto;
    worded.parallel_calls = None;
    if request.tool_choice != ToolChoice::None && !request.tools.is_empty() {
        let text = described(&request.tools, style).into();
        worded.system.push(SystemBlock { text, cache: CacheHint::None });
    }
    worded.messages = vec![];
    for message in &request.messages {
        let said = match message.role {
            Role::User => message.clone(),
            Role::Assistant => {
                Arc::new(Message { parts: own(message, style), ..(**message).clone() })
            }
            Role::Tool => {
                let mut parts = results(message);
                // Results of one answer are one message: a person does not speak twice in a row.
                if let Some(last) = worded.messages.last_mut()
                    && request_is_result(last)
                {
                    let last = Arc::make_mut(last);
                    last.parts.append(&mut parts);
                    last.cache = message.cache;
                    continue;
                }
                Arc::new(Message { role: Role::User, parts, cache: message.cache })
            }
        };
        worded.messages.push(said);
    }
    worded
}

const RESPONSE: &str = "<tool_response>";

fn request_is_result(message: &Message) -> bool {
    let begins = |part: &Part| matches!(part, Part::Text(text) if text.starts_with(RESPONSE));
    message.role == Role::User && message.parts.first().is_some_and(begins)
}

fn described(tools: &[ToolSchema], style: Style) -> String {
    let mut text = "# Tools\n\nYou can call these tools:\n<tools>\n".to_owned();
    for tool in tools {
        let name = Value::from(&*tool.name);
        let description = Value::from(&*tool.description);
        let parameters = tool.parameters.get();
        let _ = writeln!(
            text,
            "{{\"name\": {name}, \"description\": {description}, \"parameters\": {parameters}}}"
        );
    }
    text.push_str("</tools>\n\n");
    text.push_str(match style {
        Style::Tags => {
            "To call one, end your answer with\n<tool_call>\n{\"name\": the tool, \"arguments\": {its arguments}}\n</tool_call>\nWhat it brings comes as the next message. Call one tool at a time. Where you need no tool, answer in words."
        }
        Style::Objects => {
            "Answer with one JSON object: {\"name\": the tool, \"arguments\": {its arguments}} to call a tool, whose result comes as the next message, or {\"reply\": your words} to answer."
        }
    });
    text
}

/// What the model said: its words, then its calls.
fn own(message: &Message, style: Style) -> Vec<Part> {
    let mut parts = vec![];
    let mut calls = String::new();
    for part in &message.parts {
        match part {
            Part::ToolCall { name, arguments, .. } => {
                let arguments: Value =
                    serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
                let call = json!({ "name": &**name, "arguments": arguments });
                let _ = match style {
                    Style::Tags => writeln!(calls, "<tool_call>\n{call}\n</tool_call>"),
                    Style::Objects => writeln!(calls, "{call}"),
                };
            }
            Part::Text(text) if style == Style::Objects => {
                parts.push(Part::Text(json!({ REPLY: &**text }).to_string().into()));
            }
            other => parts.push(other.clone()),
        }
    }
    if !calls.is_empty() {
        // Where only one object is allowed, it is the call that was answered.
        if style == Style::Objects {
            parts.retain(|part| !matches!(part, Part::Text(_)));
        } else if parts.iter().any(|part| matches!(part, Part::Text(_))) {
            calls.insert(0, '\n');
        }
        parts.push(Part::Text(calls.trim_end().into()));
    }
    parts
}

fn results(message: &Message) -> Vec<Part> {
    let mut parts = vec![];
    for part in &message.parts {
        let Part::ToolResult { content, is_error, .. } = part else { continue };
        let mut text = format!("{RESPONSE}\n");
        if *is_error {
            text.push_str("error: ");
        }
        for part in content {
            if let Part::Text(said) = part {
                text.push_str(said);
            }
        }
        text.push_str("\n</tool_response>\n");
        parts.push(Part::Text(text.into()));
        parts.extend(content.iter().filter(|part| matches!(part, Part::Image(_))).cloned());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        let call = Part::ToolCall {
            id: "1".into(),
            name: "read_file".into(),
            arguments: r#"{"path":"a"}"#.into(),
        };
        let mut request = Request::new(
            "m",
            vec![
                Message::user("read a"),
                Message::assistant(vec![Part::Text("Sure.".into()), call.clone(), call]),
                Message::tool_result("1", "one"),
                Message::tool_result("2", "two"),
                Message::assistant(vec![Part::Text("done".into())]),
            ],
        );
        request.tools =
            [ToolSchema::new("read_file", "reads", r#"{"type":"object","properties":{}}"#)
                .unwrap()]
            .into();
        request
    }

    fn texts(request: &Request) -> Vec<(Role, String)> {
        request.messages.iter().map(|message| (message.role, message.text())).collect()
    }

    #[test]
    fn calls_and_results_are_words_that_templates_without_tools_take() {
        let worded = in_words(&request(), Style::Tags);
        assert!(worded.tools.is_empty());
        let told = &worded.system.last().unwrap().text;
        assert!(
            told.contains(
                r#"{"name": "read_file", "description": "reads", "parameters": {"type":"object","properties":{}}}"#
            ),
            "{told}"
        );
        let call =
            "<tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}\n</tool_call>";
        assert_eq!(
            texts(&worded),
            [
                (Role::User, "read a".to_owned()),
                (Role::Assistant, format!("Sure.\n{call}\n{call}")),
                (
                    Role::User,
                    "<tool_response>\none\n</tool_response>\n<tool_response>\ntwo\n</tool_response>\n".to_owned()
                ),
                (Role::Assistant, "done".to_owned()),
            ]
        );
    }

    #[test]
    fn what_a_server_is_held_to_is_what_the_model_is_shown_of_its_past() {
        let worded = in_words(&request(), Style::Objects);
        let call = r#"{"name":"read_file","arguments":{"path":"a"}}"#;
        assert_eq!(texts(&worded)[1].1, format!("{call}\n{call}"));
        assert_eq!(texts(&worded)[3].1, r#"{"reply":"done"}"#);
        assert!(worded.system.last().unwrap().text.contains("{\"reply\": your words}"));
    }

    #[test]
    fn who_may_call_nothing_is_told_of_nothing() {
        let mut request = request();
        request.tool_choice = ToolChoice::None;
        assert!(in_words(&request, Style::Tags).system.is_empty());
    }
}
