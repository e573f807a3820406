//! What people stumble over who know other APIs and command lines: each answers as they expect,
//! or says what to do.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home, run_with_input};
use serde_json::{Value, json as value};

const CONFIG: &str = "agents: {a: {default: true}, b: {}}\n";

fn served() -> (Home, Daemon) {
    let home = configured(CONFIG);
    let daemon = start_still(&home);
    (home, daemon)
}

fn say(text: &str) -> Value {
    value!({ "model": "a", "messages": [{ "role": "user", "content": format!("say {text}") }] })
}

#[test]
fn a_model_can_be_asked_for_by_name() {
    let (home, daemon) = served();
    let one = call(&daemon, &home, "GET", "/v1/models/a", "");
    assert_eq!((one.status, &one.json()["id"]), (200, &value!("a")));
    let all = call(&daemon, &home, "GET", "/v1/models", "").json();
    assert_eq!(all["data"][0], one.json());
    for missing in ["nobody", "%ff", "A%20B"] {
        let answer = call(&daemon, &home, "GET", &format!("/v1/models/{missing}"), "");
        assert_eq!(answer.status, 404, "{answer:?}");
        assert!(answer.json()["error"]["message"].is_string(), "{answer:?}");
    }
    let made = json(&home, &["token", "create", "--agent", "a"]);
    let bearer = format!("Authorization: Bearer {}", made["token"].as_str().unwrap());
    let as_token = |id: &str| {
        let answer = send(daemon.listen(), "GET", &format!("/v1/models/{id}"), &[&bearer], "");
        (answer.status, answer.body.replace(&format!("`{id}`"), "`…`"))
    };
    assert_eq!(as_token("a").0, 200);
    assert_eq!(as_token("b"), as_token("x"));
    assert_eq!(get(&daemon, "/v1/models/a").status, 401);
}

#[test]
fn every_refusal_under_v1_has_the_shape_clients_read() {
    let (home, daemon) = served();
    for (method, path, body, status) in [
        ("DELETE", "/v1/models", "", 405),
        ("PUT", "/v1/models/a", "", 405),
        ("GET", "/v1/chat/completions", "", 405),
        ("PATCH", "/v1/responses", "", 405),
        ("DELETE", "/v1/responses/x", "", 404),
        ("PUT", "/v1/responses/x", "", 405),
        ("GET", "/v1/nothing", "", 404),
        ("GET", "/v1/responses/%ff", "", 404),
        ("POST", "/v1/chat/completions", "", 400),
        ("POST", "/v1/chat/completions", "[]", 400),
        ("POST", "/v1/chat/completions", "{\"model\": 1}", 400),
    ] {
        let answer = call(&daemon, &home, method, path, body);
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        let error = &answer.json()["error"];
        let said = error["message"].as_str().is_some_and(|text| !text.is_empty());
        assert!(said && error["type"].is_string(), "{method} {path}: {answer:?}");
    }
}

#[test]
fn a_key_that_was_used_for_something_else_is_refused() {
    let (home, daemon) = served();
    let admin = format!("Authorization: Bearer {}", token(&home));
    let json_type = "Content-Type: application/json";
    let post = |path: &str, key: &str, body: &Value| {
        let key = format!("Idempotency-Key: {key}");
        send(daemon.listen(), "POST", path, &[&admin, json_type, &key], &body.to_string())
    };
    let chat = "/v1/chat/completions";
    let first = post(chat, "k", &say("one"));
    assert_eq!(first.status, 200, "{first:?}");
    let again = post(chat, "k", &say("one"));
    assert_eq!(first.json()["choices"], again.json()["choices"]);
    assert_eq!(first.json()["id"], again.json()["id"]);
    let other = post(chat, "k", &say("two"));
    assert_eq!(other.status, 422, "{other:?}");
    assert_eq!(other.json()["error"]["code"], "idempotency_key_reused");
    assert!(other.body.contains("use a new key"), "{other:?}");
    // Another flag, and another door, are another request; another way back is not.
    let with = |field: &str, value: Value| {
        let mut body = say("one");
        body[field] = value;
        body
    };
    assert_eq!(post(chat, "k", &with("temperature", value!(0.5))).status, 422);
    assert_eq!(post(chat, "k", &with("stream", value!(true))).status, 200);
    let respond = "/v1/responses";
    let input = |store: bool| value!({ "model": "a", "input": "say one", "store": store });
    assert_eq!(post(respond, "k", &input(true)).status, 422);
    assert_eq!(post(respond, "r", &input(true)).status, 200);
    assert_eq!(post(respond, "r", &input(true)).status, 200);
    assert_eq!(post(respond, "r", &input(false)).status, 422);
    assert_eq!(post(chat, "r", &say("one")).status, 422);
    let path = "/api/agents/a/messages";
    let message = |text: &str| value!({ "session": "s", "text": format!("say {text}") });
    assert_eq!(post(path, "m", &message("one")).status, 200);
    assert_eq!(post(path, "m", &message("one")).status, 200);
    let mut steering = message("one");
    steering["mode"] = value!("steer");
    assert_eq!(post(path, "m", &steering).status, 422);
    assert_eq!(post(path, "k", &message("one")).status, 422);
    let other = post(path, "m", &message("two"));
    assert_eq!(other.status, 422, "{other:?}");
    assert_eq!(other.json()["error"]["code"], "idempotency_key_reused");
}

#[test]
fn pictures_are_on_the_web_or_in_place() {
    let (home, daemon) = served();
    for bad in ["file:///etc/passwd", "data:image/png;base64,@@", "nonsense"] {
        let part = value!({ "type": "image_url", "image_url": { "url": bad } });
        let body = value!({ "model": "a", "messages": [{ "role": "user", "content": [part] }] });
        let answer = call(&daemon, &home, "POST", "/v1/chat/completions", &body.to_string());
        assert_eq!(answer.status, 400, "{bad}: {answer:?}");
        let part = value!({ "type": "input_image", "image_url": bad });
        let body = value!({ "model": "a", "input": [{ "role": "user", "content": [part] }] });
        let answer = call(&daemon, &home, "POST", "/v1/responses", &body.to_string());
        assert_eq!(answer.status, 400, "{bad}: {answer:?}");
        assert!(answer.json()["error"]["message"].is_string());
    }
}

#[test]
fn names_of_conversations_for_one_turn_are_nobodys_to_choose() {
    let (home, daemon) = served();
    for path in ["messages", "retry", "stop", "new"] {
        let body = match path {
            "messages" => value!({ "session": "once-mine", "text": "hello" }),
            _ => value!({ "session": "once-mine" }),
        };
        let path = format!("/api/agents/a/{path}");
        let answer = call(&daemon, &home, "POST", &path, &body.to_string());
        assert_eq!(answer.status, 400, "{path}: {answer:?}");
        assert!(answer.body.contains("`once-`"), "{answer:?}");
    }
    let refused = insula(&home, &["chat", "--session", "once-mine", "-m", "hello"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn what_is_piped_in_follows_the_message() {
    let (home, _daemon) = served();
    let args = ["chat", "-m", "say this:"];
    let said = run_with_input(INSULA, home.path(), &args, "first line\nsecond line\n").ok();
    assert!(said.stdout.contains("this:\n\nfirst line\nsecond line"), "{said:?}");
    let said = run_with_input(INSULA, home.path(), &args, "").ok();
    assert_eq!(said.stdout.trim(), "this:");
}

#[test]
fn a_long_conversation_says_that_there_is_more() {
    let (home, _daemon) = served();
    for n in 0..3 {
        insula(&home, &["chat", "-m", &format!("say {n}")]).ok();
    }
    let shown = insula(&home, &["sessions", "show", "a", "1", "-n", "2"]).ok().stdout;
    assert!(shown.contains("2 of 6 messages; `--before 5` goes further back"), "{shown}");
    let shown = insula(&home, &["sessions", "show", "a", "1"]).ok().stdout;
    assert!(!shown.contains(" of 6 messages"), "{shown}");
}
