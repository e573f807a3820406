//! Requests as they go over the wire.

use super::dialect::Dialect;
use super::encode;
use crate::options::ModelOptions;
use crate::request::{
    AnswerFormat, CacheHint, Effort, Image, Message, Part, Request, Role, SystemBlock, ToolChoice,
    ToolSchema,
};
use crate::window::Abilities;
use serde_json::{Value, json};

fn raw(request: &Request, dialect: Dialect, options: &ModelOptions) -> String {
    let manner = dialect.manner(&Abilities { window: 9, sees_images: true }, options);
    let body = encode::body(request, dialect, &manner, options);
    String::from_utf8(body.unwrap()).unwrap()
}

fn wire(request: &Request, dialect: Dialect) -> Value {
    serde_json::from_str(&raw(request, dialect, &ModelOptions::default())).unwrap()
}

#[test]
fn a_small_request_is_small() {
    let request = Request::new("m", vec![Message::user("hi")]);
    let body = raw(&request, Dialect::Compatible, &ModelOptions::default());
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
                {"role": "user", "content": "[go on]"},
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
    let raw = raw(&request, Dialect::Compatible, &ModelOptions::default());
    assert!(raw.contains(schema), "a schema is sent as it stands");
    assert!(raw.contains("\"max_tokens\":9"));
}

#[test]
fn a_format_and_single_calls_are_asked_for() {
    let mut request = Request::new("m", vec![Message::user("hi")]);
    request.format = Some(AnswerFormat::Json);
    request.parallel_calls = Some(false);
    let body = wire(&request, Dialect::Compatible);
    assert_eq!(body["response_format"], json!({"type": "json_object"}));
    assert!(body["parallel_tool_calls"].is_null(), "without tools it is refused: {body}");
    request.tools = [ToolSchema::new("look", "looks", "{}").unwrap()].into();
    let schema = serde_json::value::RawValue::from_string(r#"{"type":"object"}"#.to_owned());
    request.format = Some(AnswerFormat::Schema {
        name: "n".into(),
        schema: schema.unwrap().into(),
        is_strict: Some(true),
    });
    let body = wire(&request, Dialect::Compatible);
    assert_eq!(body["parallel_tool_calls"], json!(false));
    let schema = json!({"name": "n", "schema": {"type": "object"}, "strict": true});
    assert_eq!(body["response_format"], json!({"type": "json_schema", "json_schema": schema}));
}

/// A call that Google marked, one that it did not, and what came of them.
fn called() -> Request {
    let call =
        |id: &str| Part::ToolCall { id: id.into(), name: "look".into(), arguments: "{}".into() };
    let mark = Part::Reasoning { text: "".into(), signature: Some("google:0:AbC=".into()) };
    let mut request = Request::new(
        "gemini-3-pro",
        vec![
            Message::user("go"),
            Message::assistant(vec![mark, call("function-call-1"), call("x y")]),
            Message::tool_result("function-call-1", "one"),
            Message::tool_result("x y", "two"),
            Message::assistant(vec![call("c")]),
            Message::tool_result("c", "three"),
        ],
    );
    request.tools = [ToolSchema::new("look", "looks", "{}").unwrap()].into();
    request.cache_key = Some("opaque".into());
    request.effort = Some(Effort::Off);
    request
}

#[test]
fn google_gets_its_marks_back_and_only_what_it_knows() {
    let body = wire(&called(), Dialect::Google);
    let mark = |message: usize, call: usize| {
        body["messages"][message]["tool_calls"][call]["extra_content"]["google"]
            ["thought_signature"].clone()
    };
    assert_eq!(mark(1, 0), "AbC=");
    assert_eq!(mark(1, 1), Value::Null, "one is for all of them");
    assert_eq!(mark(4, 0), "skip_thought_signature_validator");
    assert_eq!(body["reasoning_effort"], "low", "it can't be told not to think");
    assert!(body["tools"][0]["function"].get("parameters").is_none(), "{body}");
    assert!(body.get("prompt_cache_key").is_none(), "{body}");
    let old = Request { model: "gemini-2.5-flash".into(), ..called() };
    let body = wire(&old, Dialect::Google);
    assert_eq!(body["reasoning_effort"], "none");
    assert!(body["messages"][4]["tool_calls"][0].get("extra_content").is_none(), "{body}");
}

#[test]
fn nobody_else_gets_googles_marks_and_only_openai_the_key_of_a_cache() {
    for dialect in [Dialect::OpenAi, Dialect::Mistral, Dialect::OpenRouter, Dialect::Compatible] {
        let body = wire(&called(), dialect);
        assert!(!body.to_string().contains("AbC="), "{body}");
        assert_eq!(body.get("prompt_cache_key").is_some(), dialect == Dialect::OpenAi);
    }
}

#[test]
fn mistral_gets_ids_of_nine_and_no_member_that_it_does_not_know() {
    let options = ModelOptions {
        sampling: crate::options::Sampling {
            seed: Some(5),
            top_k: Some(3),
            min_p: Some(0.5),
            repeat_penalty: Some(1.1),
            ..Default::default()
        },
        ..ModelOptions::default()
    };
    let body: Value = serde_json::from_str(&raw(&called(), Dialect::Mistral, &options)).unwrap();
    let id = &body["messages"][1]["tool_calls"][1]["id"];
    assert_eq!((id, &body["messages"][3]["tool_call_id"]), (&json!("call00002"), id));
    assert_eq!(body["random_seed"], 5);
    for unknown in
        ["stream_options", "seed", "top_k", "min_p", "repeat_penalty", "reasoning_effort"]
    {
        assert!(body.get(unknown).is_none(), "{unknown} in {body}");
    }
}

#[test]
fn models_of_openai_that_think_are_not_told_how_to_choose_words() {
    let mut request = Request::new("gpt-5-mini", vec![Message::user("hi")]);
    request.temperature = Some(0.5);
    assert!(wire(&request, Dialect::OpenAi).get("temperature").is_none());
    request.model = "gpt-4o".into();
    assert_eq!(wire(&request, Dialect::OpenAi)["temperature"], 0.5);
}
