//! Chat completions, streamed and not, from servers that differ.

use crate::support::{ask, bench, call, hello, text};
use insula_models::{Answer, Image, Kind, Part, StopReason, Usage};
use insula_testkit::upstream::{answer, chunk, end, event_stream, head};

const FULL: &[&str] = &[
    r#"{"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"reasoning_content":"I th"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"reasoning_content":"ink"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"Grü"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"ße"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read_file","arguments":""}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"terminal","arguments":"{\"comm"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":\"ä\"}"}},{"index":1,"function":{"arguments":"and\":\"ls\"}"}}]}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"{"choices":[],"usage":{"prompt_tokens":90,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":5}}}"#,
    "[DONE]",
];

fn check_full(answer: &Answer) {
    let expected = [
        Part::Reasoning { text: "I think".into(), signature: None },
        text("Grüße"),
        call("a", "read_file", "{\"path\":\"ä\"}"),
        call("b", "terminal", "{\"command\":\"ls\"}"),
    ];
    assert_eq!(answer.message.parts, expected);
    let usage = Usage { input: 90, output: 20, cached_input: 64, cache_write: 0, reasoning: 5 };
    assert_eq!(answer.usage, usage);
    assert_eq!(answer.stop, StopReason::ToolCalls);
    assert!(answer.malformed.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_streamed_answer_adds_up_and_the_request_is_as_it_should_be() {
    let bench = bench();
    let upstream = bench.upstream(|_, _| event_stream(FULL.iter().copied())).await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1/"));
    check_full(&ask(&*provider, &hello()).await.unwrap());
    let seen = upstream.seen().remove(0);
    assert_eq!(seen.line, "POST /v1/chat/completions");
    let bearer = format!("Bearer {}", crate::support::KEY);
    assert_eq!(seen.header("authorization"), Some(bearer.as_str()));
    assert_eq!(seen.header("host"), Some(upstream.address().to_string().as_str()));
    assert_eq!(seen.json()["messages"][0]["content"], "hello");
}

#[tokio::test(start_paused = true)]
async fn a_stream_split_at_any_byte_gives_the_same_answer_on_one_connection() {
    let bench = bench();
    let wire: String = FULL.iter().map(|event| format!("data: {event}\n\n")).collect();
    let length = wire.len();
    let upstream = bench
        .upstream(move |_, number| {
            let bytes = wire.as_bytes();
            let body = if number < bytes.len() {
                let (left, right) = bytes.split_at(number.max(1));
                vec![chunk(left), chunk(right)]
            } else {
                bytes.chunks(1).map(chunk).collect()
            };
            [vec![head("text/event-stream")], body, vec![end()]].concat()
        })
        .await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url(""));
    for _ in 0..=length {
        check_full(&ask(&*provider, &hello()).await.unwrap());
    }
    let seen = upstream.seen();
    assert_eq!(seen.len(), length + 1);
    let connections = seen.last().unwrap().connection + 1;
    assert!(connections <= 2, "{connections} connections for requests one after the other");
}

#[tokio::test(start_paused = true)]
async fn servers_that_leave_things_out_are_understood() {
    let said = |delta: &str| format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#);
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#.to_owned();
    let done = || "[DONE]".to_owned();
    let one_call = || vec![call("call_0", "t", "{\"a\":1}")];
    for (what, events, expected, reason) in [
        ("no finish reason", vec![said(r#"{"content":"hi"}"#), done()], vec![text("hi")], StopReason::Finished),
        ("no DONE", vec![said(r#"{"content":"hi"}"#), stop.clone()], vec![text("hi")], StopReason::Finished),
        (
            "`reasoning`, null content",
            vec![said(r#"{"content":null,"reasoning":"hm"}"#), said(r#"{"content":"hi"}"#), done()],
            vec![Part::Reasoning { text: "hm".into(), signature: None }, text("hi")],
            StopReason::Finished,
        ),
        (
            "content in parts",
            vec![said(r#"{"content":[{"type":"text","text":"h"},{"type":"text","text":"i"}]}"#), done()],
            vec![text("hi")],
            StopReason::Finished,
        ),
        ("a refusal", vec![said(r#"{"refusal":"no"}"#), done()], vec![text("no")], StopReason::Finished),
        (
            "a call with neither id nor index, arguments as an object, and `stop`",
            vec![said(r#"{"tool_calls":[{"function":{"name":"t","arguments":{"a":1}}}]}"#), stop.clone(), done()],
            one_call(),
            StopReason::ToolCalls,
        ),
        (
            "pieces of a call without an index",
            vec![
                said(r#"{"tool_calls":[{"id":"call_0","function":{"name":"t","arguments":"{\"a\""}}]}"#),
                said(r#"{"tool_calls":[{"function":{"arguments":":1}"}}]}"#),
                done(),
            ],
            one_call(),
            StopReason::ToolCalls,
        ),
        (
            "two calls under one number",
            vec![
                said(
                    r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}]}"#,
                ),
                said(
                    r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"t","arguments":"{\"x\""}}]}"#,
                ),
                said(r#"{"tool_calls":[{"index":0,"id":"","function":{"arguments":":1}"}}]}"#),
                done(),
            ],
            vec![call("a", "t", "{}"), call("b", "t", "{\"x\":1}")],
            StopReason::ToolCalls,
        ),
        (
            "a picture",
            vec![said(r#"{"images":[{"image_url":{"url":"data:image/png;base64,AAAA"}}]}"#), done()],
            vec![Part::Image(Image::from_url("data:image/png;base64,AAAA"))],
            StopReason::Finished,
        ),
        (
            "an odd usage and an odd reason",
            vec![r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"odd"}],"usage":{"prompt_tokens":"many"}}"#.into()],
            vec![text("x")],
            StopReason::Other("odd".into()),
        ),
        (
            "a second choice",
            vec![r#"{"choices":[{"index":1,"delta":{"content":"B"}},{"index":0,"delta":{"content":"A"},"finish_reason":"length"}]}"#.into()],
            vec![text("A")],
            StopReason::Length,
        ),
    ] {
        let steps = event_stream(events.iter().map(String::as_str));
        let got = bench().once(Kind::OpenAi, steps).await.unwrap();
        assert_eq!(got.message.parts, expected, "{what}");
        assert_eq!(got.stop, reason, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stream_answers_just_as_well() {
    let document = r#"
        {"id": "x", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "hi", "reasoning_content": "hm",
            "tool_calls": [{"id": "a", "type": "function",
                "function": {"name": "t", "arguments": "{\"a\":1}"}}]}}],
         "usage": {"prompt_tokens": 3, "completion_tokens": 4}}"#;
    let json = [("content-type", "application/json")];
    let got = bench().once(Kind::OpenAi, vec![answer(200, &json, document)]).await.unwrap();
    let expected = [
        Part::Reasoning { text: "hm".into(), signature: None },
        text("hi"),
        call("a", "t", "{\"a\":1}"),
    ];
    assert_eq!(got.message.parts, expected);
    assert_eq!((got.usage.input, got.usage.output), (3, 4));
}

#[tokio::test(start_paused = true)]
async fn google_gives_every_call_the_same_number_and_marks_the_first() {
    let call = |name: &str, mark: &str| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"id":"","type":"function","function":{{"name":"{name}","arguments":"{{}}"}}{mark}}}]}}}}]}}"#
        )
    };
    let mark = r#","extra_content":{"google":{"thought_signature":"AbC="}}"#;
    let (first, second) = (call("a", mark), call("b", ""));
    let stop = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
    let steps = event_stream([&*first, &*second, stop, "[DONE]"]);
    let answer = bench().once(Kind::OpenAi, steps).await.unwrap();
    let expected = [
        Part::Reasoning { text: "".into(), signature: Some("google:0:AbC=".into()) },
        crate::support::call("call_0", "a", "{}"),
        crate::support::call("call_1", "b", "{}"),
    ];
    assert_eq!(answer.message.parts, expected);
    assert_eq!(answer.stop, StopReason::ToolCalls);
}

#[tokio::test(start_paused = true)]
async fn thoughts_among_the_parts_of_an_answer_are_thoughts() {
    let parts = r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"so"}]}}]}"#;
    let steps = event_stream([parts, "[DONE]"]);
    let answer = bench().once(Kind::OpenAi, steps).await.unwrap();
    let expected = [Part::Reasoning { text: "hm".into(), signature: None }, text("so")];
    assert_eq!(answer.message.parts, expected);
}

#[tokio::test(start_paused = true)]
async fn a_sign_that_was_cut_in_two_is_whole_again_and_half_of_one_can_be_read() {
    let said = |content: &str| format!(r#"{{"choices":[{{"delta":{{"content":"{content}"}}}}]}}"#);
    for (first, second, expected) in [
        (r"x\ud83d", r"\ude00y", "x😀y"),
        (r"x\ud83d", "y", "x\u{fffd}y"),
        ("x", r"\ude00y", "x\u{fffd}y"),
        (r"x\ud83d y", "z", "x\u{fffd} yz"),
    ] {
        let events = [said(first), said(second)];
        let stream = event_stream([&*events[0], &*events[1], "[DONE]"]);
        let answer = bench().once(Kind::OpenAi, stream).await.unwrap();
        assert_eq!(answer.text(), expected, "{first} {second}");
    }
    // Nothing follows but the end of the stream; nothing was streamed.
    let document = r#"{"choices":[{"message":{"content":"x\ud83d"},"finish_reason":"stop"}]}"#;
    let whole = vec![answer(200, &[("content-type", "application/json")], document)];
    assert_eq!(bench().once(Kind::OpenAi, whole).await.unwrap().text(), "x\u{fffd}");
    let lines = "{\"message\":{\"content\":\"x\\ud83d\"}}\n{\"message\":{\"content\":\"\\ude00\"},\"done\":true}";
    let lines = vec![answer(200, &[("content-type", "application/x-ndjson")], lines)];
    assert_eq!(bench().once(Kind::Ollama, lines).await.unwrap().text(), "x😀");
}
