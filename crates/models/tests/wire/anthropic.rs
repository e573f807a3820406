//! The Messages API.

use crate::support::{KEY, ask, begin, bench, call, events, hello, text};
use insula_models::{Event, Kind, ModelFault, Part, StopReason, Usage};
use insula_testkit::upstream::{Step, answer, chunk, end, head};

const FULL: &[&str] = &[
    r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":80,"cache_creation_input_tokens":7,"output_tokens":1}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"proof"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Grüße"}}"#,
    r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"a","name":"look","input":{}}}"#,
    r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
    r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}"#,
    r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"1}"}}"#,
    r#"{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"b","name":"list","input":{}}}"#,
    r#"{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"y\":2}"}}"#,
    r#"{"type":"something_new","value":[1]}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}"#,
    r#"{"type":"message_stop"}"#,
];

fn stream(events: &[&str]) -> Vec<Step> {
    let named = events.iter().map(|event| {
        let kind = event.split('"').nth(3).unwrap();
        chunk(format!("event: {kind}\r\ndata: {event}\r\n\r\n"))
    });
    std::iter::once(head("text/event-stream")).chain(named).chain([end()]).collect()
}

#[tokio::test(start_paused = true)]
async fn a_streamed_answer_adds_up_and_the_request_is_as_it_should_be() {
    let bench = bench();
    let upstream = bench.upstream(|_, _| stream(FULL)).await;
    for base in ["", "/v1"] {
        let provider = bench.provider(Kind::Anthropic, &upstream.url(base));
        let got = ask(&*provider, &hello()).await.unwrap();
        let expected = [
            Part::Reasoning { text: "hm".into(), signature: Some("proof".into()) },
            Part::Reasoning { text: "".into(), signature: Some("redacted:xyz".into()) },
            text("Grüße"),
            call("a", "look", "{\"x\":1}"),
            call("b", "list", "{\"y\":2}"),
        ];
        assert_eq!(got.message.parts, expected);
        let usage = Usage { input: 97, output: 42, cached_input: 80, cache_write: 7, reasoning: 0 };
        assert_eq!(got.usage, usage);
        assert_eq!(got.stop, StopReason::ToolCalls);
    }
    for seen in upstream.seen() {
        assert_eq!(seen.line, "POST /v1/messages");
        assert_eq!(seen.header("x-api-key"), Some(KEY));
        assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
        assert_eq!(seen.header("authorization"), None);
        assert_eq!(seen.json()["stream"], true);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_in_the_middle_comes_after_what_was_said() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let bench = bench();
    let cut: Vec<&str> = FULL[..9].iter().copied().chain([error]).collect();
    let upstream = bench.upstream(move |_, _| stream(&cut)).await;
    let provider = bench.provider(Kind::Anthropic, &upstream.url(""));
    let mut answer = begin(&*provider, &hello()).await.unwrap();
    let (events, error) = events(&mut answer).await;
    assert!(events.contains(&Event::TextDelta("Grüße".into())));
    let fault = error.unwrap().fault;
    assert!(matches!(&fault, ModelFault::Overloaded { status: 529, .. }), "{fault:?}");
}

#[tokio::test(start_paused = true)]
async fn without_its_last_event_an_answer_counts_only_if_it_said_why_it_stopped() {
    let whole = bench().once(Kind::Anthropic, stream(&FULL[..17])).await.unwrap();
    assert_eq!(whole.stop, StopReason::ToolCalls);
    let cut = bench().once(Kind::Anthropic, stream(&FULL[..16])).await.unwrap_err();
    assert_eq!(cut.fault, ModelFault::CutOff);
}

#[tokio::test(start_paused = true)]
async fn a_document_is_understood() {
    let document = r#"{"type":"message","content":[{"type":"thinking","thinking":"hm",
        "signature":"p"},{"type":"text","text":"hi"},{"type":"tool_use","id":"a","name":"t",
        "input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}"#;
    let got = bench().once(Kind::Anthropic, vec![answer(200, &[], document)]).await.unwrap();
    let expected = [
        Part::Reasoning { text: "hm".into(), signature: Some("p".into()) },
        text("hi"),
        call("a", "t", "{\"x\":1}"),
    ];
    assert_eq!(got.message.parts, expected);
    assert_eq!(got.usage.input, 1);
}
