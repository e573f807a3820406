//! Requests as they go over the wire.

use super::{Dialect, encode};
use crate::request::{
    CacheHint, Effort, Image, Message, Part, Request, Role, SystemBlock, ToolChoice, ToolSchema,
};
use serde_json::{Value, json};

fn wire(request: &Request, dialect: Dialect) -> Value {
    serde_json::from_slice(&encode::body(request, dialect).unwrap()).unwrap()
}

#[test]
fn a_small_request_is_small() {
    let request = Request::new("m", vec![Message::user("hi")]);
    let body = String::from_utf8(encode::body(&request, Dialect::Compatible).unwrap()).unwrap();
    assert_eq!(
        body,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}"#
    );
}

#[test]
fn every_part_has_its_place() {
    let call = |id: &str| Part::ToolCall {
        id: id.into(),
        name: "look".into(),
        arguments: "{\"a\":1}".into(),
    };
    let result = |id: &str, content| Message {
        role: Role::Tool,
        parts: vec![Part::ToolResult { call_id: id.into(), content, is_error: false }],
        cache: CacheHint::None,
    };
    let picture = || Part::Image(Image::from_url("data:image/png;base64,AAAA"));
    let mut request = Request::new(
        "m",
        vec![
            Message { parts: vec![Part::Text("see".into()), picture()], ..Message::user("") },
            Message::assistant(vec![
                Part::Reasoning { text: "hm".into(), signature: None },
                call("1"),
                call("2"),
            ]),
            result("1", vec![Part::Text("a".into()), picture()]),
            result("2", vec![Part::Text("b".into())]),
            Message::assistant(vec![Part::Text("x".into()), Part::Text("y".into())]),
        ],
    );
    let block = |text: &str| SystemBlock { text: text.into(), cache: CacheHint::Breakpoint };
    request.system = vec![block("one"), block("two")];
    let schema = r#"{"type": "object",  "properties":{}}"#;
    request.tools = [ToolSchema::new("look", "looks", schema).unwrap()].into();
    request.tool_choice = ToolChoice::Tool("look".into());
    request.max_tokens = Some(9);
    request.temperature = Some(0.5);
    request.stop = vec!["END".into()];
    request.effort = Some(Effort::Low);
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    let call = |id: &str| {
        json!({"id": id, "type": "function",
               "function": {"name": "look", "arguments": "{\"a\":1}"}})
    };
    assert_eq!(
        wire(&request, Dialect::OpenAi),
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "one\n\ntwo"},
                {"role": "user", "content": [{"type": "text", "text": "see"}, image]},
                {"role": "assistant", "content": null, "tool_calls": [call("1"), call("2")]},
                {"role": "tool", "content": "a", "tool_call_id": "1"},
                {"role": "tool", "content": "b", "tool_call_id": "2"},
                {"role": "user", "content": [
                    {"type": "text", "text": "Images from the tool results above:"}, image]},
                {"role": "assistant", "content": "xy"},
            ],
            "tools": [{"type": "function", "function": {
                "name": "look", "description": "looks",
                "parameters": {"type": "object", "properties": {}}}}],
            "tool_choice": {"type": "function", "function": {"name": "look"}},
            "stream": true,
            "stream_options": {"include_usage": true},
            "max_completion_tokens": 9,
            "temperature": 0.5,
            "stop": ["END"],
            "reasoning_effort": "low",
        })
    );
    let raw = String::from_utf8(encode::body(&request, Dialect::Compatible).unwrap()).unwrap();
    assert!(raw.contains(schema), "a schema is sent as it stands");
    assert!(raw.contains("\"max_tokens\":9"));
}
