//! What goes wrong between a client, the daemon and a provider: each a clear error in OpenAI's
//! shape, and a clean next turn.
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
use std::io::Write as _;
use std::net::TcpStream;

const PATHS: [&str; 2] = ["/v1/chat/completions", "/v1/responses"];

fn served() -> (Home, Daemon, String) {
    let home = configured("agents:\n  a: {default: true, tools: minimal}\n  b: {tools: [todo]}\n");
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    (home, daemon, token)
}

/// A request that is right for either path.
fn good(model: &str, text: &str) -> Value {
    let mut body = ask(model, text);
    body["input"] = json!(text);
    body
}

/// Checks that an answer is this error, as OpenAI's clients read it.
fn assert_error(answer: &Answer, status: u16, code: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    let error = answer.json()["error"].clone();
    assert_eq!(error["code"], code, "{error:#}");
    assert!(error["message"].as_str().is_some_and(|it| it.len() > 10), "{error:#}");
    assert!(error["type"].is_string() && error.get("param").is_some(), "{error:#}");
}

fn raw(daemon: &Daemon, token: &str, path: &str, headers: &[&str], body: &str) -> Answer {
    let bearer = format!("Authorization: Bearer {token}");
    let all: Vec<&str> = [bearer.as_str()].into_iter().chain(headers.iter().copied()).collect();
    send(daemon.listen(), "POST", path, &all, body)
}

#[test]
fn a_request_that_is_wrong_says_how_and_the_next_is_served() {
    let (_home, daemon, token) = served();
    let json_type = "Content-Type: application/json";
    let deep = |times: usize| format!("{}{}", "[".repeat(times), "]".repeat(times));
    let nested = format!(
        r#"{{"model":"a","messages":[{{"role":"user","content":"x"}}],"input":"x","tools":{}}}"#,
        deep(100_000)
    );
    let read_past = format!(
        r#"{{"model":"a","messages":[{{"role":"user","content":"x"}}],"input":"x","whatever":{}}}"#,
        deep(100_000)
    );
    for path in PATHS {
        for body in ["", "{", "nonsense", "[]", "null", "7", r#"{"model":7}"#, "{\"model\":\"a\"}x"]
        {
            assert_error(&raw(&daemon, &token, path, &[json_type], body), 400, "invalid_request");
        }
        assert_error(&raw(&daemon, &token, path, &[json_type], &nested), 400, "invalid_request");
        assert_error(&raw(&daemon, &token, path, &[json_type], &read_past), 400, "invalid_request");
        let text = good("a", "hi").to_string();
        let plain = raw(&daemon, &token, path, &["Content-Type: text/plain"], &text);
        assert_error(&plain, 415, "invalid_request");
        assert_error(&raw(&daemon, &token, path, &[], &text), 415, "invalid_request");
        for model in ["x", "b", "", "../a", "A", "\u{0}"] {
            let answer = post(&daemon, &token, path, &[], &good(model, "hi"));
            assert_error(&answer, 404, "model_not_found");
        }
        for wrong in ["", "insula_0_0", &token[..token.len() - 1], &token.to_uppercase()] {
            // Whoever is nobody is told so before the body is looked at.
            assert_error(&raw(&daemon, wrong, path, &[], "{"), 401, "invalid_api_key");
        }
        let control =
            raw(&daemon, &token, path, &[json_type, "X-Insula-Session: caf\u{e9}"], &text);
        assert_error(&control, 400, "invalid_request");
        let next = post(&daemon, &token, path, &[], &good("a", "say still here"));
        assert!(next.status == 200 && next.body.contains("still here"), "{next:?}");
    }
}

#[test]
fn too_much_is_refused_in_the_shape_its_caller_reads() {
    let (home, daemon, token) = served();
    let json_type = "Content-Type: application/json";
    let long = " ".repeat(17 * 1024 * 1024);
    for path in PATHS {
        let answer = raw(&daemon, &token, path, &[json_type], &long);
        assert_error(&answer, 413, "body_too_large");
        let header = format!("X-Padding: {}", "x".repeat(64 * 1024));
        let answer = post(&daemon, &token, path, &[&header], &good("a", "hi"));
        assert_error(&answer, 431, "headers_too_large");
    }
    let answer = call(&daemon, &home, "POST", "/api/agents", &long);
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (413, &json!("body_too_large")));
    assert_eq!(answer.json()["error"].get("param"), None, "ours, not OpenAI's");
    // Beyond what is read at all, the connection is given up.
    let huge = format!("X-Padding: {}", "x".repeat(1024 * 1024));
    let request = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{huge}\r\n\r\n");
    let mut stream = TcpStream::connect(daemon.listen()).unwrap();
    // It may be closed before all of it is sent.
    let _ = stream.write_all(request.as_bytes());
    drop(stream);
    // As long as a body may be, it is served.
    let fits = format!("{}{}", " ".repeat(15 * 1024 * 1024), good("nobody", "hi"));
    let answer = raw(&daemon, &token, PATHS[0], &[json_type], &fits);
    assert_error(&answer, 404, "model_not_found");
    assert_eq!(post(&daemon, &token, PATHS[0], &[], &good("a", "say hi")).status, 200);
}

#[test]
fn a_connection_cut_in_the_middle_of_a_request_leaves_nothing() {
    let (_home, daemon, token) = served();
    let body = good("a", "say hi").to_string();
    for cut in [10, 60, 200, 260] {
        let request = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            PATHS[0],
            daemon.listen(),
            body.len()
        );
        let mut stream = TcpStream::connect(daemon.listen()).unwrap();
        stream.write_all(&request.as_bytes()[..cut]).unwrap();
        drop(stream);
    }
    assert_eq!(post(&daemon, &token, PATHS[0], &[], &good("a", "say hi")).status, 200);
}

/// Turns against a provider that answers wrongly for as long as it is asked within the first
/// turn, and rightly from then on.
fn against(wrong: impl Fn() -> Vec<Step> + Send + 'static, expected: &str) {
    let (turns, turn) = std::sync::mpsc::channel::<()>();
    let mut recovered = false;
    let provider = Provider::start(move |_| {
        recovered |= turn.try_recv().is_ok();
        if recovered { vec![says("well again")] } else { wrong() }
    });
    let home = provider.home();
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    let session = ["X-Insula-Session: s"];
    let failed = post(&daemon, &token, PATHS[0], &session, &good("a", "first"));
    assert_error(&failed, 502, "turn_failed");
    let message = failed.json()["error"]["message"].to_string();
    assert!(message.contains(expected), "{message}");
    assert!(failed.head.to_lowercase().contains("x-should-retry: false"), "{failed:?}");
    turns.send(()).unwrap();
    let next = post(&daemon, &token, PATHS[0], &session, &good("a", "second"));
    assert!(next.status == 200 && next.body.contains("well again"), "{next:?}");
}

#[test]
fn a_provider_that_answers_garbage_fails_the_turn() {
    let kind = "Content-Type: application/json\r\n";
    against(move || vec![whole("200 OK", kind, "<html>what?</html>")], "far");
    against(move || vec![whole("200 OK", kind, r#"{"choices":[]}"#)], "far");
}

#[test]
fn a_provider_that_breaks_off_half_way_fails_the_turn() {
    against(|| vec![begins("half a ")], "far");
}

#[test]
fn a_provider_that_refuses_fails_the_turn() {
    let body = r#"{"error":{"message":"the key is wrong"}}"#;
    against(move || vec![whole("401 Unauthorized", "", body)], "401");
    against(move || vec![whole("400 Bad Request", "", body)], "400");
}

#[test]
fn a_provider_in_trouble_is_asked_again() {
    for trouble in [
        ("500 Internal Server Error", ""),
        ("503 Service Unavailable", "Retry-After: 0\r\n"),
        ("429 Too Many Requests", ""),
        ("429 Too Many Requests", "Retry-After: 0\r\n"),
    ] {
        let provider = Provider::start(move |number| match number {
            0 => vec![whole(trouble.0, trouble.1, r#"{"error":{"message":"later"}}"#)],
            _ => vec![says("at last")],
        });
        let home = provider.home();
        let daemon = start_still(&home);
        let (_, token) = token_for(&home, "a");
        let answer = post(&daemon, &token, PATHS[0], &[], &good("a", "hi"));
        assert!(answer.status == 200 && answer.body.contains("at last"), "{trouble:?}: {answer:?}");
    }
}
