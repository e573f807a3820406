//! Servers that find a question broken and do not say why, and such that say how much they take.

use crate::support::{LIMITS, ask, begin, bench, call, hello, text};
use insula_models::{
    Answer, AnswerStream, Image, Kind, Message, ModelError, ModelFault, Part, Provider, Request,
    RetryPolicy, Role, ToolSchema, stream_with_retries,
};
use insula_testkit::upstream::{Seen, Step, answer, event_stream};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const POLICY: RetryPolicy = RetryPolicy {
    attempts_max: 2,
    backoff_first: std::time::Duration::from_millis(1),
    backoff_max: std::time::Duration::from_millis(1),
    wait_total_max: std::time::Duration::from_secs(1),
};

const KINDS: [Kind; 3] = [Kind::OpenAi, Kind::Anthropic, Kind::Ollama];

fn good(kind: Kind) -> Vec<Step> {
    match kind {
        Kind::Anthropic => event_stream([
            r#"{"type":"message_start","message":{"usage":{"input_tokens":5}}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}"#,
            r#"{"type":"message_stop"}"#,
        ]),
        Kind::Ollama => {
            let done = r#"{"message":{"content":"ok"},"done":true,"done_reason":"stop"}"#;
            vec![answer(200, &[("content-type", "application/x-ndjson")], done)]
        }
        _ => event_stream([
            r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ]),
    }
}

fn no(status: u16, words: &str) -> Vec<Step> {
    let body = json!({ "error": { "message": words } }).to_string();
    vec![answer(status, &[("content-type", "application/json")], &body)]
}

/// A model that all kinds of servers are asked for as one that sees.
const SEEING: &str = "gemma3";

fn with_picture() -> Request {
    let picture = Part::Image(Image::from_url("data:image/png;base64,QUJDREVG"));
    Request::new(SEEING, vec![Message::new(Role::User, vec![text("see"), picture])])
}

fn with_calls() -> Request {
    let mut request = Request::new(
        SEEING,
        vec![
            Message::user("look"),
            Message::assistant(vec![call("a", "look", "{}")]),
            Message::tool_result("a", "one"),
            Message::user("so?"),
        ],
    );
    request.tools = [ToolSchema::new("look", "looks", "{}").unwrap()].into();
    request
}

fn said(seen: &Seen) -> String {
    String::from_utf8_lossy(&seen.body).into_owned()
}

/// Questions to a model, and no others.
fn asked(seen: &[Seen]) -> Vec<Value> {
    let all = seen.iter().filter(|it| !it.body.is_empty()).map(Seen::json);
    all.filter(|it| it.get("messages").is_some()).collect()
}

async fn retried(provider: &dyn Provider, request: &Request) -> Result<AnswerStream, ModelError> {
    let (world, _handles) = insula_testkit::auto_world(2);
    let (cancel, mut random) = (CancellationToken::new(), world.random.stream(&["test"]));
    let clock = &*world.clock;
    stream_with_retries(provider, request, &LIMITS, &cancel, &POLICY, clock, &mut random).await
}

#[tokio::test(start_paused = true)]
async fn a_picture_that_is_refused_in_whatever_words_is_told_in_words() {
    for (status, words) in [
        (404, "No endpoints found that support image input"),
        (400, "'messages.1.content' : value must be a string"),
        (422, "Input should be a valid string: body.messages.1.content"),
        (400, "unexpected message content type"),
        (400, "Error while downloading https://x.org/a.png"),
        (400, "Provider returned error"),
        (422, "Unprocessable Entity"),
        (413, ""),
        (415, ""),
        (500, "Internal error"),
    ] {
        for kind in KINDS {
            let bench = bench();
            let upstream = bench
                .upstream(move |seen, _| match said(seen).contains("QUJDREVG") {
                    true => no(status, words),
                    false => good(kind),
                })
                .await;
            let mut spec = insula_models::ProviderSpec::new("test", kind);
            spec.base_url = Some(upstream.url(""));
            spec.options.sees_images = Some(true);
            let provider = spec.build(&bench.transport).unwrap();
            let stream = retried(&*provider, &with_picture()).await;
            let mut stream = stream.unwrap_or_else(|error| panic!("{kind:?} {error}"));
            assert!(stream.adjustments().without_pictures, "{kind:?} {words}");
            assert_eq!(Answer::collect(&mut stream).await.unwrap().text(), "ok");
            let tries = if status == 500 { 3 } else { 2 };
            let asked = asked(&upstream.seen());
            assert_eq!(asked.len(), tries, "{kind:?} {status} {words}");
            assert!(asked[tries - 1].to_string().contains("a picture, image/png"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_has_no_picture_and_what_is_no_matter_of_pictures_costs_nothing_more() {
    for (request, status, words, tries) in [
        (hello(), 400, "Provider returned error", 1),
        (hello(), 413, "", 1),
        (hello(), 404, "No endpoints found that support image input", 1),
        (hello(), 500, "Internal error", 2),
        (with_picture(), 401, "", 1),
        (with_picture(), 403, "", 1),
        (with_picture(), 404, "no such model", 1),
        (with_picture(), 400, "API key not valid", 1),
        (with_picture(), 429, "", 2),
        (with_picture(), 503, "", 2),
    ] {
        let bench = bench();
        let upstream = bench.upstream(move |_, _| no(status, words)).await;
        let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
        assert!(retried(&*provider, &request).await.is_err());
        assert_eq!(asked(&upstream.seen()).len(), tries, "{status} {words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_history_of_calls_that_is_refused_without_a_reason_is_told_in_words() {
    for kind in KINDS {
        let bench = bench();
        let upstream = bench
            .upstream(move |seen, _| {
                let body = seen.json();
                let is_plain = body.get("tools").is_none()
                    && ["tool_calls", "tool_use", "\"tool\""]
                        .iter()
                        .all(|it| !said(seen).contains(it));
                if is_plain { good(kind) } else { no(400, "Provider returned error") }
            })
            .await;
        let provider = bench.provider(kind, &upstream.url(""));
        let mut stream = begin(&*provider, &with_calls()).await.unwrap();
        assert!(stream.adjustments().calls_in_words);
        assert_eq!(Answer::collect(&mut stream).await.unwrap().text(), "ok");
        let asked = asked(&upstream.seen());
        assert_eq!(asked.len(), 2);
        let last = asked[1].to_string();
        assert_eq!(last.matches("<tool_call>").count() - usize::from(last.contains("looks")), 1);
        assert!(last.contains("one") && last.contains("so?"), "{last}");
    }
    let bench = bench();
    let upstream = bench.upstream(|_, _| no(400, "Provider returned error")).await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
    let error = ask(&*provider, &with_calls()).await.unwrap_err();
    assert!(matches!(error.fault, ModelFault::Refused { status: 400, .. }), "{error}");
    assert_eq!(asked(&upstream.seen()).len(), 2, "and that is the end of it");
}

#[tokio::test(start_paused = true)]
async fn a_window_that_a_refusal_names_is_that_models_from_then_on() {
    for kind in KINDS {
        let bench = bench();
        let upstream = bench
            .upstream(|_, _| {
                let error = json!({ "error": { "code": 400,
                    "message": "the request exceeds the available context size",
                    "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096 } });
                vec![answer(400, &[("content-type", "application/json")], &error.to_string())]
            })
            .await;
        let provider = bench.provider(kind, &upstream.url(""));
        assert!(provider.abilities("small", "").await.window > 4_096);
        let error = ask(&*provider, &hello()).await.unwrap_err();
        assert!(matches!(error.fault, ModelFault::TooLong { window: Some(4_096), .. }), "{error}");
        assert_eq!(provider.abilities("small", "").await.window, 4_096);
        assert!(provider.abilities("other", "").await.window > 4_096);
        assert!(provider.abilities("small", "another agent").await.window > 4_096);
        assert_eq!(asked(&upstream.seen()).len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_bound_of_answers_is_learnt_and_asked_for_once() {
    for kind in KINDS {
        let bench = bench();
        let tokens = |body: &Value| {
            let own = body.get("max_tokens").or_else(|| body["options"].get("num_predict"));
            own.and_then(Value::as_u64).unwrap()
        };
        let upstream = bench
            .upstream(move |seen, _| match seen.json() {
                body if body.get("messages").is_none() => no(404, ""),
                body if tokens(&body) > 1_000 => no(
                    400,
                    "max_tokens is too large: 6400. This model supports at most 1000 completion tokens",
                ),
                _ => good(kind),
            })
            .await;
        let provider = bench.provider(kind, &upstream.url(""));
        for _ in 0..2 {
            assert_eq!(ask(&*provider, &hello()).await.unwrap().text(), "ok");
        }
        let asked: Vec<u64> = asked(&upstream.seen()).iter().map(tokens).collect();
        assert_eq!(asked[1..], [1_000, 1_000], "{asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_fit_beside_the_question_is_asked_to_be_shorter() {
    let bench = bench();
    let upstream = bench
        .upstream(|seen, _| {
            let tokens = seen.json()["max_tokens"].as_u64().unwrap();
            match tokens + 3_000 > 8_192 {
                true => no(400, &format!("This model's maximum context length is 8192 tokens. However, you requested {} tokens (3000 in the messages, {tokens} in the completion).", tokens + 3_000)),
                false => good(Kind::OpenAi),
            }
        })
        .await;
    let mut spec = insula_models::ProviderSpec::new("test", Kind::OpenAi);
    spec.base_url = Some(upstream.url(""));
    spec.options.max_tokens = Some(6_400);
    let provider = spec.build(&bench.transport).unwrap();
    let question = Request::new("small", vec![Message::user("word ".repeat(2_000))]);
    for _ in 0..2 {
        assert_eq!(ask(&*provider, &question).await.unwrap().text(), "ok");
    }
    let asked: Vec<_> = asked(&upstream.seen()).iter().map(|it| it["max_tokens"].clone()).collect();
    assert_eq!(asked[..2], [json!(6_400), json!(5_192)]);
    assert_eq!(asked.len(), 3, "what was learnt is not asked again: {asked:?}");
}
