//! Requests as they go over the wire.

use super::encode;
use crate::options::ModelOptions;
use crate::request::{
    AnswerFormat, CacheHint, Effort, Image, Message, Part, Request, Role, SystemBlock, ToolChoice,
    ToolSchema,
};
use crate::window::Abilities;
use serde_json::{Value, json};

fn wire(request: &Request) -> Value {
    let manner = super::manner(Abilities { window: 9, sees_images: true });
    let body = encode::body(request, &manner, &ModelOptions::default());
    serde_json::from_slice(&body.unwrap()).unwrap()
}

#[test]
fn every_part_has_its_place_and_parallel_results_share_a_message() {
    let call = |id: &str, arguments: &str| Part::ToolCall {
        id: id.into(),
        name: "look".into(),
        arguments: arguments.into(),
    };
    let thought = |text: &str, signature: Option<&str>| Part::Reasoning {
        text: text.into(),
        signature: signature.map(Into::into),
    };
    let mut failed = Message::tool_result("2", "no");
    if let Part::ToolResult { is_error, content, .. } = &mut failed.parts[0] {
        *is_error = true;
        content.push(Part::Image(Image::from_url("https://x.test/a.png")));
    }
    failed.cache = CacheHint::Breakpoint;
    let mut request = Request::new(
        "claude",
        vec![
            Message {
                role: Role::User,
                parts: vec![
                    Part::Text("see".into()),
                    Part::Image(Image::from_url("data:image/png;base64,AAAA")),
                ],
                cache: CacheHint::None,
            },
            Message::assistant(vec![
                thought("hm", Some("proof")),
                thought("", Some("redacted:xyz")),
                thought("foreign", None),
                Part::Text("".into()),
                call("1", "{\"a\": 1}"),
                call("2", "{\"a\":"),
            ]),
            Message::tool_result("1", "a"),
            failed,
            Message::user("and?"),
        ],
    );
    request.system = vec![
        SystemBlock { text: "one".into(), cache: CacheHint::Breakpoint },
        SystemBlock { text: "two".into(), cache: CacheHint::None },
    ];
    request.tools = [ToolSchema::new("look", "looks", r#"{"type":"object"}"#).unwrap()].into();
    request.tool_choice = ToolChoice::Required;
    let cached = json!({"type": "ephemeral"});
    assert_eq!(
        wire(&request),
        json!({
            "model": "claude",
            "max_tokens": 8192,
            "system": [
                {"type": "text", "text": "one", "cache_control": cached},
                {"type": "text", "text": "two"},
            ],
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "see"},
                    {"type": "image", "source":
                        {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                ]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "proof"},
                    {"type": "redacted_thinking", "data": "xyz"},
                    {"type": "tool_use", "id": "1", "name": "look", "input": {"a": 1}},
                    {"type": "tool_use", "id": "2", "name": "look", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "1",
                        "content": [{"type": "text", "text": "a"}]},
                    {"type": "tool_result", "tool_use_id": "2", "is_error": true,
                        "content": [
                            {"type": "text", "text": "no"},
                            {"type": "image", "source":
                                {"type": "url", "url": "https://x.test/a.png"}},
                        ],
                        "cache_control": cached},
                    {"type": "text", "text": "and?"},
                ]},
            ],
            "tools": [{"name": "look", "description": "looks",
                "input_schema": {"type": "object", "properties": {}}}],
            "tool_choice": {"type": "any"},
            "stream": true,
        })
    );
}

#[test]
fn thinking_makes_room_for_the_answer_and_leaves_the_temperature_out() {
    let mut request = Request::new("claude", vec![Message::user("hi")]);
    request.temperature = Some(0.2);
    request.max_tokens = Some(100);
    assert_eq!(wire(&request)["max_tokens"], 100);
    assert!(wire(&request).get("thinking").is_none());
    request.effort = Some(Effort::Low);
    let body = wire(&request);
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 2048}));
    assert_eq!(body["max_tokens"], 2148);
    assert!(body.get("temperature").is_none());
}

#[test]
fn no_more_breakpoints_than_the_api_takes_and_the_last_ones_win() {
    let marked = |text: &str| Message { cache: CacheHint::Breakpoint, ..Message::user(text) };
    let mut messages = vec![];
    for number in 0..6 {
        messages.push(marked(&number.to_string()));
        messages.push(Message::assistant(vec![Part::Text("ok".into())]));
    }
    let mut request = Request::new("claude", messages);
    request.system = vec![SystemBlock { text: "s".into(), cache: CacheHint::Breakpoint }];
    let body = wire(&request);
    let marked: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|message| message["content"].as_array().unwrap())
        .filter(|block| block.get("cache_control").is_some())
        .map(|block| block["text"].as_str().unwrap())
        .collect();
    assert_eq!(marked, ["3", "4", "5"]);
    assert!(body["system"][0].get("cache_control").is_some());
}

#[test]
fn a_format_and_single_calls_are_asked_for_in_its_words() {
    let mut request = Request::new("claude", vec![Message::user("hi")]);
    request.tools = [ToolSchema::new("look", "looks", r#"{"type":"object"}"#).unwrap()].into();
    request.parallel_calls = Some(false);
    let schema: Box<serde_json::value::RawValue> =
        serde_json::from_str(r#"{"type":"object"}"#).unwrap();
    request.format = Some(AnswerFormat::Schema {
        name: "n".into(),
        schema: schema.into(),
        is_strict: Some(true),
    });
    let body = wire(&request);
    assert_eq!(body["tool_choice"], json!({"type": "auto", "disable_parallel_tool_use": true}));
    let format = json!({"type": "json_schema", "schema": {"type": "object"}});
    assert_eq!(body["output_config"], json!({ "format": format }));
    request.tool_choice = ToolChoice::None;
    request.format = Some(AnswerFormat::Json);
    let body = wire(&request);
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
    assert!(body["output_config"].is_null(), "there is no word for it: {body}");
    assert!(body["system"][0]["text"].as_str().unwrap().contains("JSON object"), "{body}");
}

#[test]
fn who_called_without_a_thought_is_not_made_to_think_before_it_is_done() {
    let call = Part::ToolCall { id: "a".into(), name: "look".into(), arguments: "{}".into() };
    let mut request = Request::new(
        "claude",
        vec![
            Message::user("go"),
            Message::assistant(vec![call.clone()]),
            Message::tool_result("a", "one"),
        ],
    );
    request.effort = Some(Effort::High);
    assert!(wire(&request).get("thinking").is_none());
    let proof = Part::Reasoning { text: "hm".into(), signature: Some("proof".into()) };
    request.messages[1] = Message::assistant(vec![proof, call]).into();
    assert!(wire(&request).get("thinking").is_some());
    // Nor is who must call.
    request.tools = [ToolSchema::new("look", "looks", "{}").unwrap()].into();
    request.tool_choice = ToolChoice::Required;
    assert!(wire(&request).get("thinking").is_none());
}

#[test]
fn what_google_signed_is_no_thought_here() {
    let foreign = Part::Reasoning { text: "".into(), signature: Some("google:0:AbC=".into()) };
    let request = Request::new(
        "claude",
        vec![
            Message::user("go"),
            Message::assistant(vec![foreign, Part::Text("so".into())]),
            Message::user("and?"),
        ],
    );
    assert_eq!(wire(&request)["messages"][1]["content"], json!([{"type": "text", "text": "so"}]));
}
