//! `/v1/responses` as a client of OpenAI's sees it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::provider::*;
use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::{Value, json};

fn served() -> (Home, Daemon, String) {
    let home = configured("agents:\n  a: {default: true, tools: minimal}\n  b: {tools: [todo]}\n");
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    (home, daemon, token)
}

fn respond(daemon: &Daemon, token: &str, headers: &[&str], body: Value) -> Answer {
    post(daemon, token, "/v1/responses", headers, &body)
}

fn text(answer: &Answer) -> String {
    let body = answer.json();
    assert_eq!(answer.status, 200, "{body:#}");
    body["output"][0]["content"][0]["text"].as_str().unwrap().to_owned()
}

/// The events of a stream, by type, after checking their numbers.
fn events(text: &str) -> Vec<Value> {
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|it| serde_json::from_str(it).unwrap()).collect();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{event:#}");
    }
    events
}

#[test]
fn a_response_is_given_whole() {
    let (_home, daemon, token) = served();
    let answer = respond(&daemon, &token, &[], json!({ "model": "a", "input": "say hello there" }));
    assert_eq!(text(&answer), "hello there");
    let body = answer.json();
    assert_eq!((&body["object"], &body["status"]), (&json!("response"), &json!("completed")));
    assert!(body["usage"]["total_tokens"].is_number(), "{body:#}");
    // It can be read again, by its bearer.
    let path = format!("/v1/responses/{}", body["id"].as_str().unwrap());
    let bearer = format!("Authorization: Bearer {token}");
    let again = send(daemon.listen(), "GET", &path, &[&bearer], "");
    assert_eq!((text(&again), &again.json()["id"]), ("hello there".to_owned(), &body["id"]));
}

#[test]
fn a_response_is_streamed_in_the_order_clients_expect() {
    let (_home, daemon, token) = served();
    let body = json!({ "model": "a", "input": "say a few words", "stream": true });
    let answer = respond(&daemon, &token, &[], body);
    let events = events(&answer.body);
    let mut kinds: Vec<&str> = events.iter().map(|it| it["type"].as_str().unwrap()).collect();
    kinds.dedup();
    assert_eq!(
        kinds,
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let deltas = events.iter().filter_map(|event| event["delta"].as_str());
    assert_eq!(deltas.collect::<String>(), "a few words");
    let last = &events.last().unwrap()["response"];
    assert_eq!(last["output"][0]["content"][0]["text"], "a few words");
    assert_eq!(last["id"], events[0]["response"]["id"]);
}

#[test]
fn a_response_is_continued_by_its_id() {
    let (home, daemon, token) = served();
    let first =
        respond(&daemon, &token, &[], json!({ "model": "a", "input": "todo water the plants" }));
    let id = first.json()["id"].clone();
    let next = json!({ "model": "a", "input": "call todo {}", "previous_response_id": id });
    assert!(text(&respond(&daemon, &token, &[], next.clone())).contains("water the plants"));
    let alone = json!({ "model": "a", "input": "call todo {}" });
    assert!(!text(&respond(&daemon, &token, &[], alone)).contains("plants"));
    // After a restart too.
    daemon.kill9().unwrap();
    let daemon = start_still(&home);
    assert!(text(&respond(&daemon, &token, &[], next)).contains("water the plants"));
}

#[test]
fn an_id_of_another_account_is_an_id_that_does_not_exist() {
    let (home, daemon, token) = served();
    let first = respond(&daemon, &token, &[], json!({ "model": "a", "input": "say hi" }));
    let id = first.json()["id"].as_str().unwrap().to_owned();
    let made_up = format!("resp_{}", "0".repeat(48));
    let (_, other) = token_for(&home, "a");
    let told = |bearer: &str, id: &str| {
        let next = json!({ "model": "a", "input": "hi", "previous_response_id": id });
        let continued = respond(&daemon, bearer, &[], next);
        let bearer = format!("Authorization: Bearer {bearer}");
        let read = send(daemon.listen(), "GET", &format!("/v1/responses/{id}"), &[&bearer], "");
        let plain = |answer: Answer| (answer.status, answer.body.replace(id, "…"));
        (plain(continued), plain(read))
    };
    let missing = told(&token, &made_up);
    assert_eq!((missing.0.0, missing.1.0), (404, 404), "{missing:?}");
    assert_eq!(told(&other, &id), missing);
    assert_eq!(told(&other, &made_up), missing);
    assert_eq!(told(&token, &id).0.0, 200);
}

#[test]
fn a_response_belongs_to_its_agent() {
    let (home, daemon, _) = served();
    let made = json(&home, &["token", "create", "--agent", "a", "--agent", "b"]);
    let token = made["token"].as_str().unwrap();
    let first = respond(&daemon, token, &[], json!({ "model": "a", "input": "say hi" }));
    let next = json!({ "model": "b", "input": "hi", "previous_response_id": first.json()["id"] });
    assert_eq!(respond(&daemon, token, &[], next).status, 404);
}

#[test]
fn a_session_is_named_by_the_header() {
    let (_home, daemon, token) = served();
    let session = "X-Insula-Session: kitchen";
    respond(&daemon, &token, &[session], json!({ "model": "a", "input": "todo feed the cat" }));
    let chat = post(&daemon, &token, "/v1/chat/completions", &[session], &ask("a", "call todo {}"));
    assert!(chat.body.contains("feed the cat"), "one session whichever way: {chat:?}");
    let both = json!({ "model": "a", "input": "hi", "previous_response_id": "resp_x" });
    assert_eq!(respond(&daemon, &token, &[session], both).status, 400);
}

#[test]
fn the_same_key_is_the_same_response() {
    let (_home, daemon, token) = served();
    let key = "Idempotency-Key: once";
    let ask = || respond(&daemon, &token, &[key], json!({ "model": "a", "input": "say one" }));
    let (first, again) = (ask(), ask());
    assert_eq!((text(&again), &again.json()["id"]), (text(&first), &first.json()["id"]));
}

#[test]
fn input_may_be_a_list_of_messages_with_parts() {
    let provider = Provider::start(|_| vec![says("seen")]);
    let home = provider.home();
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    let body = json!({
        "model": "a",
        "instructions": "be brief",
        "input": [
            { "role": "user", "content": "before" },
            { "type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
              "content": [{ "type": "output_text", "text": "and after", "annotations": [] }] },
            { "type": "reasoning", "id": "rs_1", "summary": [] },
            { "role": "user", "content": [
                { "type": "input_text", "text": "what is this?" },
                { "type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgo=" },
            ] },
        ],
    });
    assert_eq!(text(&respond(&daemon, &token, &[], body)), "seen");
    let seen = provider.seen.lock().unwrap()[0]["messages"].to_string();
    let order = ["be brief", "before", "and after", "what is this?", "iVBORw0KGgo="];
    let places = order.map(|text| seen.find(text));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{seen}");
}

#[test]
fn what_the_agent_is_said_to_have_said_first_is_told_it() {
    let provider = Provider::start(|_| vec![says("seen")]);
    let home = provider.home();
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    let input = json!([
        { "role": "assistant", "content": "welcome aboard" },
        { "role": "user", "content": "hello" },
    ]);
    assert_eq!(
        text(&respond(&daemon, &token, &[], json!({ "model": "a", "input": input }))),
        "seen"
    );
    let seen = provider.seen.lock().unwrap()[0]["messages"].to_string();
    assert!(seen.contains("welcome aboard"), "{seen}");
}

#[test]
fn what_an_agent_can_not_be_asked_is_refused() {
    let (_home, daemon, token) = served();
    let with = |key: &str, value: Value| {
        let mut body = json!({ "model": "a", "input": "say hi" });
        body[key] = value;
        body
    };
    for body in [
        with("tools", json!([{ "type": "web_search" }])),
        with("tools", json!([{ "type": "function", "name": "todo" }])),
        with("background", json!(true)),
        with("conversation", json!("conv_1")),
        with("prompt", json!({ "id": "p" })),
        with("text", json!({ "format": { "type": "grammar" } })),
        with("input", json!([])),
        with("input", json!("")),
        with("input", json!(7)),
        with("input", json!([{ "role": "wizard", "content": "x" }])),
        with("input", json!([{ "type": "function_call_output", "call_id": "1", "output": "x" }])),
        with(
            "input",
            json!([{ "role": "user", "content": [{ "type": "input_file", "file_id": "f" }] }]),
        ),
        with(
            "input",
            json!([{ "role": "user", "content": [{ "type": "input_image", "file_id": "f" }] }]),
        ),
        json!({ "model": "a" }),
    ] {
        let answer = respond(&daemon, &token, &[], body.clone());
        assert_eq!(
            (answer.status, &answer.json()["error"]["type"]),
            (400, &json!("invalid_request_error")),
            "{body}"
        );
    }
    for fine in [
        with("tools", json!([])),
        with("tools", json!([{ "type": "function", "name": "f" }])),
        with("text", json!({ "format": { "type": "text" }, "verbosity": "low" })),
        with("temperature", json!(0.1)),
        with("metadata", json!({ "k": "v" })),
        with("reasoning", json!({ "effort": "high" })),
        with("background", json!(false)),
        with("store", json!(false)),
    ] {
        assert_eq!(text(&respond(&daemon, &token, &[], fine)), "hi");
    }
    let gone = respond(&daemon, &token, &[], json!({ "model": "b", "input": "hi" }));
    let none = respond(&daemon, &token, &[], json!({ "model": "x", "input": "hi" }));
    assert_eq!((gone.status, gone.body.replace("`b`", "`x`")), (404, none.body));
}

#[test]
fn a_turn_that_fails_ends_the_stream_as_failed() {
    let provider =
        Provider::start(|_| vec![whole("400 Bad Request", "", r#"{"error":{"message":"no"}}"#)]);
    let home = provider.home();
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    let body = json!({ "model": "a", "input": "hi", "stream": true });
    let answer = respond(&daemon, &token, &[], body);
    let last = events(&answer.body).pop().unwrap();
    assert_eq!(last["type"], "response.failed", "{last:#}");
    assert_eq!(last["response"]["error"]["code"], "server_error", "{last:#}");
}

#[test]
fn a_reply_that_breaks_off_is_told_as_that_everywhere() {
    for (reason, detail, cut) in [
        ("length", "max_output_tokens", "length"),
        ("content_filter", "content_filter", "filtered"),
    ] {
        let provider = Provider::start(move |_| vec![says_until("as far as", reason)]);
        let home = provider.home();
        let daemon = start_still(&home);
        let (_, token) = token_for(&home, "a");
        let completions = "/v1/chat/completions";
        let whole = post(&daemon, &token, completions, &[], &ask("a", "hi")).json();
        assert_eq!(whole["choices"][0]["finish_reason"], reason, "{whole:#}");
        let mut body = ask("a", "hi");
        body["stream"] = json!(true);
        let streamed = post(&daemon, &token, completions, &[], &body).body;
        let said = format!("\"finish_reason\":\"{reason}\"");
        assert!(streamed.contains(&said) && streamed.contains("[DONE]"), "{streamed}");
        let whole = respond(&daemon, &token, &[], json!({ "model": "a", "input": "hi" })).json();
        assert_eq!(whole["status"], "incomplete", "{whole:#}");
        assert_eq!(whole["incomplete_details"]["reason"], detail, "{whole:#}");
        assert_eq!(whole["output"][0]["status"], "incomplete", "{whole:#}");
        // And when it is read again.
        let path = format!("/v1/responses/{}", whole["id"].as_str().unwrap());
        let bearer = format!("Authorization: Bearer {token}");
        let again = send(daemon.listen(), "GET", &path, &[&bearer], "").json();
        assert_eq!(again["incomplete_details"]["reason"], detail, "{again:#}");
        let body = json!({ "model": "a", "input": "hi", "stream": true });
        let streamed = events(&respond(&daemon, &token, &[], body).body);
        let last = streamed.last().unwrap();
        assert_eq!(last["type"], "response.incomplete", "{last:#}");
        assert_eq!(last["response"]["incomplete_details"]["reason"], detail, "{last:#}");
        let told = json(&home, &["chat", "--agent", "a", "-m", "hi"]);
        assert_eq!(told["cut"], cut, "{told:#}");
        let shown = insula(&home, &["chat", "--agent", "a", "-m", "hi"]);
        assert_eq!(shown.stdout.trim_end(), "as far as");
        assert!(shown.stderr.contains("breaks off"), "{shown:?}");
    }
}
