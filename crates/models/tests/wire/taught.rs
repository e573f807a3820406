//! What a refusal taught of the manner that a model takes: it is tried first from then on, for
//! whom it was said to.

use crate::support::{ask, bench, call, hello};
use insula_models::{AnswerFormat, CacheHint, Kind, Message, Provider, Request, SystemBlock};
use insula_models::{ToolChoice, ToolSchema};
use insula_testkit::Upstream;
use insula_testkit::upstream::{Seen, Step, answer, event_stream};
use serde_json::{Value, json};
use std::sync::Arc;

const OK: &str = r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#;

fn good() -> Vec<Step> {
    event_stream([OK, "[DONE]"])
}

fn no(words: &str) -> Vec<Step> {
    let body = json!({ "error": { "message": words } }).to_string();
    vec![answer(400, &[("content-type", "application/json")], &body)]
}

/// A question with a system prompt and a tool.
fn question() -> Request {
    let mut request = hello();
    request.system = vec![SystemBlock { text: "be kind".into(), cache: CacheHint::None }];
    request.tools = [ToolSchema::new("look", "looks", "{}").unwrap()].into();
    request
}

/// One in whose conversation there are calls.
fn with_calls() -> Request {
    let messages = vec![
        Message::user("see"),
        Message::assistant(vec![call("a", "look", "{}"), call("b", "look", "{}")]),
        Message::tool_result("a", "one"),
        Message::tool_result("b", "two"),
    ];
    Request { messages: messages.into_iter().map(Arc::new).collect(), ..question() }
}

/// In how many requests a question is put.
async fn requests(upstream: &Upstream, provider: &dyn Provider, request: &Request) -> usize {
    let before = upstream.seen().len();
    let _ = ask(provider, request).await;
    upstream.seen().len() - before
}

fn roles(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
}

/// What Gemma's template takes: no system prompt, no calls, person and model in turns.
fn gemma(seen: &Seen) -> Vec<Step> {
    let body = seen.json();
    let roles = roles(&body);
    let in_turn = |(at, role): (usize, &String)| *role == ["user", "assistant"][at % 2];
    match roles.iter().any(|role| role == "system") {
        true => no("System role not supported"),
        false if roles.iter().enumerate().all(in_turn) => good(),
        false => no("Conversation roles must alternate user/assistant/user/assistant/..."),
    }
}

#[tokio::test(start_paused = true)]
async fn a_system_prompt_that_was_refused_is_said_in_the_first_message_from_then_on() {
    for said in [
        "System role not supported",
        "Only user and assistant roles are supported!",
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        "'messages[0].role' does not support 'system' with this model.",
        "Developer instruction is not enabled for models/gemma-3-27b-it",
    ] {
        let bench = bench();
        let upstream = bench
            .upstream(move |seen, _| match roles(&seen.json())[0] == "system" {
                true => no(said),
                false => good(),
            })
            .await;
        let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
        let (ours, other) = (question(), Request { asker: "other".into(), ..question() });
        let calls = with_calls();
        let mut counts = vec![];
        for request in [&ours, &ours, &calls, &other, &other] {
            counts.push(requests(&upstream, &*provider, request).await);
        }
        assert_eq!(counts, [2, 1, 1, 2, 1], "{said}");
        let last = upstream.seen()[2].json();
        assert_eq!(last["messages"][0]["content"], "be kind\n\nhello");
        assert_eq!(last["tools"][0]["function"]["name"], "look", "it keeps its tools");
    }
}

#[tokio::test(start_paused = true)]
async fn a_template_without_calls_is_believed_the_second_time() {
    let bench = bench();
    let upstream = bench.upstream(|seen, _| gemma(seen)).await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
    let (plain, calls) = (question(), with_calls());
    let mut counts = vec![];
    for request in [&plain, &plain, &calls, &plain, &calls, &calls, &plain] {
        counts.push(requests(&upstream, &*provider, request).await);
    }
    assert_eq!(counts, [2, 1, 3, 1, 3, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn one_that_took_calls_in_between_is_not() {
    let bench = bench();
    let upstream = bench
        .upstream(|seen, number| match seen.json().get("tools") {
            Some(_) if number != 2 => no("this model does not support tools"),
            _ => good(),
        })
        .await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
    let mut counts = vec![];
    for _ in 0..5 {
        counts.push(requests(&upstream, &*provider, &with_calls()).await);
    }
    assert_eq!(counts, [2, 1, 2, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn names_and_members_that_were_refused_are_not_sent_again() {
    for (said, member) in [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "max_tokens",
        ),
        ("Extra inputs are not permitted", "stream_options"),
    ] {
        let bench = bench();
        let upstream = bench
            .upstream(move |seen, _| match seen.json().get(member) {
                Some(_) => no(said),
                None => good(),
            })
            .await;
        let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
        assert_eq!(requests(&upstream, &*provider, &question()).await, 2, "{said}");
        assert_eq!(requests(&upstream, &*provider, &question()).await, 1, "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_be_about_one_question_is_not_remembered() {
    let single = Request { parallel_calls: Some(false), ..question() };
    let json = Request { format: Some(AnswerFormat::Json), ..question() };
    let forced = Request { tool_choice: ToolChoice::Required, ..question() };
    for (said, request) in [
        // A guess, as it says nothing of calls.
        ("bad request", with_calls()),
        // What somebody wrote.
        ("tool \"look\": \"Extra inputs are not permitted\"", question()),
        (r#"[{"msg":"x","input":"Extra inputs are not permitted"}]"#, question()),
        // What whoever asks wants of this answer alone.
        ("Unknown parameter: parallel_tool_calls", single),
        ("tools are not supported with a format", json),
        ("unsupported value for tool_choice", forced),
    ] {
        let bench = bench();
        let upstream = bench
            .upstream(move |seen, _| match seen.json().get("stream_options") {
                Some(_) if seen.json().get("tools").is_some() => no(said),
                _ => good(),
            })
            .await;
        let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
        for number in 0..4 {
            assert_eq!(requests(&upstream, &*provider, &request).await, 2, "{said}: {number}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_started_anew_is_asked_as_at_first() {
    let bench = bench();
    let upstream = bench
        .upstream(|seen, number| match roles(&seen.json())[0] == "system" {
            true if number == 0 => no("System role not supported"),
            false if number > 1 => no("it needs to be told who it is"),
            _ => good(),
        })
        .await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
    let mut counts = vec![];
    for _ in 0..4 {
        counts.push(requests(&upstream, &*provider, &question()).await);
    }
    assert_eq!(counts, [2, 1, 1, 1]);
    assert_eq!(roles(&upstream.seen()[3].json())[0], "system");
}
