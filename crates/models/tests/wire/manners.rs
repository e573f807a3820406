//! Servers that refuse a question as it is first put, and get it otherwise.

use crate::support::{ask, begin, bench, call, events, hello, text};
use insula_models::{
    Answer, Event, Image, Kind, Message, ModelFault, Part, Request, Role, StopReason, ToolSchema,
};
use insula_testkit::upstream::{Seen, Step, answer, chunk, event_stream, head};
use serde_json::{Value, json};

const OK: &str = r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#;

fn good() -> Vec<Step> {
    event_stream([OK, "[DONE]"])
}

fn no(status: u16, words: &str) -> Vec<Step> {
    let body = json!({ "error": { "message": words } }).to_string();
    vec![answer(status, &[("content-type", "application/json")], &body)]
}

fn roles(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
}

/// A conversation with a picture, calls at once, and a person who speaks twice.
fn odd() -> Request {
    let picture = Part::Image(Image::from_url("data:image/png;base64,AAAA"));
    let mut request = Request::new(
        "gpt-4o",
        vec![
            Message::new(Role::User, vec![text("see"), picture]),
            Message::assistant(vec![call("a", "look", "{}"), call("b", "look", "no JSON")]),
            Message::tool_result("a", "one"),
            Message::user("so?"),
            Message::user("well?"),
        ],
    );
    request.tools = [ToolSchema::new("look", "looks", "{}").unwrap()].into();
    request
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_no_pictures_is_told_of_them() {
    let has_picture = |seen: &Seen| String::from_utf8_lossy(&seen.body).contains("image_url");
    let bench = bench();
    let upstream = bench
        .upstream(move |seen, _| match has_picture(seen) {
            true => no(500, "image input is not supported - hint: you may need the mmproj"),
            false => good(),
        })
        .await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
    let mut stream = begin(&*provider, &odd()).await.unwrap();
    assert!(stream.adjustments().without_pictures);
    assert_eq!(Answer::collect(&mut stream).await.unwrap().text(), "ok");
    let seen = upstream.seen();
    assert_eq!(seen.len(), 2);
    let told = seen[1].json()["messages"][0]["content"].to_string();
    assert!(told.contains("a picture, image/png"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_template_gets_what_it_takes_in_the_end() {
    // As a template without tools or a system prompt: person and model in turns, nothing else.
    let takes = |body: &Value| {
        let roles = roles(body);
        let in_turn = |(at, role): (usize, &String)| (role == "user") == (at % 2 == 0);
        roles.iter().enumerate().all(in_turn) && roles.iter().all(|role| role != "tool")
    };
    let bench = bench();
    let upstream = bench
        .upstream(move |seen, _| match takes(&seen.json()) {
            true => good(),
            false => no(400, "Conversation roles must alternate user/assistant/user/..."),
        })
        .await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
    let mut request = odd();
    request.system = vec![insula_models::SystemBlock {
        text: "be kind".into(),
        cache: insula_models::CacheHint::None,
    }];
    assert_eq!(ask(&*provider, &request).await.unwrap().text(), "ok");
    let last = upstream.seen().last().unwrap().json();
    assert!(last.get("tools").is_none(), "{last}");
    let first = last["messages"][0]["content"].to_string();
    assert!(first.contains("be kind") && first.contains("looks"), "{first}");
    let asked = last["messages"][1]["content"].as_str().unwrap().to_owned();
    assert_eq!(asked.matches("<tool_call>").count(), 2, "{asked}");
}

#[tokio::test(start_paused = true)]
async fn a_model_without_tools_is_asked_without_them() {
    let bench = bench();
    let upstream = bench
        .upstream(|seen, _| match seen.json().get("tools") {
            Some(_) => no(400, "registry.ollama.ai/library/tiny:1b does not support tools"),
            None => {
                let done = r#"{"message":{"content":"ok"},"done":true,"done_reason":"stop"}"#;
                vec![answer(200, &[("content-type", "application/x-ndjson")], done)]
            }
        })
        .await;
    let provider = bench.provider(Kind::Ollama, &upstream.url(""));
    let mut stream = begin(&*provider, &odd()).await.unwrap();
    assert!(stream.adjustments().calls_in_words);
    assert_eq!(Answer::collect(&mut stream).await.unwrap().text(), "ok");
}

#[tokio::test(start_paused = true)]
async fn members_that_a_server_does_not_know_are_left_out() {
    let bench = bench();
    let upstream = bench
        .upstream(|seen, _| match seen.json().get("stream_options") {
            Some(_) => no(422, "Extra inputs are not permitted"),
            None => good(),
        })
        .await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
    assert_eq!(ask(&*provider, &hello()).await.unwrap().text(), "ok");
    assert_eq!(upstream.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_stays_refused_is_an_error_after_few_tries() {
    for (words, tries) in [("no", 1), ("Jinja Exception: roles must alternate", 3)] {
        let bench = bench();
        let upstream = bench.upstream(move |_, _| no(500, words)).await;
        let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
        let error = ask(&*provider, &odd()).await.unwrap_err();
        let is_refused = matches!(error.fault, ModelFault::Refused { .. });
        assert_eq!(is_refused, tries > 1, "{error}");
        assert_eq!(upstream.seen().len(), tries, "{words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_goes_in_circles_is_cut_off_and_its_server_told() {
    let bench = bench();
    let again = json!({ "choices": [{ "delta": { "content": "and again. ".repeat(50) } }] });
    let upstream = bench
        .upstream(move |_, _| {
            let piece = chunk(format!("data: {again}\n\n"));
            let mut steps = vec![head("text/event-stream")];
            steps.extend(std::iter::repeat_n(piece, 100));
            steps.push(Step::Hang);
            steps
        })
        .await;
    let provider = bench.provider(Kind::OpenAi, &upstream.url("/v1"));
    let mut stream = begin(&*provider, &hello()).await.unwrap();
    let (heard, error) = events(&mut stream).await;
    assert_eq!(error, None);
    assert_eq!(heard.last(), Some(&Event::Done(StopReason::Repeating)));
    assert!(heard.len() < 20, "{} pieces", heard.len());
    upstream.closed_by_client(1).await;
    let mut gathering = insula_models::Gathering::default();
    heard.into_iter().for_each(|event| gathering.add(event));
    assert_eq!(gathering.finish().text(), "and again. and again. ", "and it is not kept whole");
}
