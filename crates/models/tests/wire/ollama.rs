//! Ollama's API.

use crate::support::{ask, bench, call, hello, text};
use insula_models::{Kind, ModelFault, Part, StopReason, Usage};
use insula_testkit::upstream::{Step, chunk, end, head};

const FULL: &str = concat!(
    r#"{"message":{"role":"assistant","content":"","thinking":"hm"},"done":false}"#,
    "\n",
    r#"{"message":{"role":"assistant","content":"Grü"},"done":false}"#,
    "\n",
    r#"{"message":{"role":"assistant","content":"ße"},"done":false}"#,
    "\r\n",
    r#"{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"a","arguments":{"x":1}}},{"function":{"name":"b","arguments":{}}}]},"done":false}"#,
    "\n",
    r#"{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":11,"eval_count":22}"#,
    "\n",
);

fn lines(pieces: &[&[u8]]) -> Vec<Step> {
    let body = pieces.iter().map(chunk);
    std::iter::once(head("application/x-ndjson")).chain(body).chain([end()]).collect()
}

#[tokio::test(start_paused = true)]
async fn a_streamed_answer_adds_up_wherever_it_is_split() {
    let bench = bench();
    let upstream = bench
        .upstream(|_, number| {
            let (left, right) = FULL.as_bytes().split_at(number + 1);
            // The last line may come without its end.
            lines(&[left, right.strip_suffix(b"\n").unwrap_or(right)])
        })
        .await;
    let provider = bench.provider(Kind::Ollama, &upstream.url(""));
    for _ in 0..FULL.len() - 2 {
        let got = ask(&*provider, &hello()).await.unwrap();
        let expected = [
            Part::Reasoning { text: "hm".into(), signature: None },
            text("Grüße"),
            call("call_0", "a", "{\"x\":1}"),
            call("call_1", "b", "{}"),
        ];
        assert_eq!(got.message.parts, expected);
        assert_eq!(got.usage, Usage { input: 11, output: 22, ..Usage::default() });
        assert_eq!(got.stop, StopReason::ToolCalls);
    }
    assert_eq!(upstream.seen()[0].line, "POST /api/chat");
}

#[tokio::test(start_paused = true)]
async fn an_error_line_half_a_line_and_an_early_end_are_errors() {
    let error = lines(&[b"{\"error\":\"model runner has crashed\"}\n"]);
    let error = bench().once(Kind::Ollama, error).await.unwrap_err();
    assert!(error.to_string().contains("model runner has crashed"), "{error}");
    for cut in [100, 40] {
        let steps = lines(&[&FULL.as_bytes()[..cut]]);
        let error = bench().once(Kind::Ollama, steps).await.unwrap_err();
        assert_eq!(error.fault, ModelFault::CutOff);
    }
    let error = bench().once(Kind::Ollama, lines(&[b"<html>\n"])).await.unwrap_err();
    assert!(matches!(error.fault, ModelFault::Garbage { .. }), "{error}");
}
