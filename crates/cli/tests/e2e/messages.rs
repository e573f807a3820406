//! Talking over the management API: streams of events, stopping, retrying, sessions.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

const CONFIG: &str = "agents:\n  a: {default: true, tools: minimal}\n  b: {tools: [todo]}\n";

fn served() -> (Home, Daemon) {
    let home = configured(CONFIG);
    let daemon = start_still(&home);
    (home, daemon)
}

/// The frames of an event stream: type and data.
fn frames(body: &str) -> Vec<(String, Value)> {
    let mut frames = Vec::new();
    let mut kind = String::new();
    for line in body.lines() {
        if let Some(name) = line.strip_prefix("event: ") {
            kind = name.to_owned();
        } else if let Some(data) = line.strip_prefix("data: ") {
            frames.push((kind.clone(), serde_json::from_str(data).unwrap()));
        }
    }
    frames
}

fn say(daemon: &Daemon, home: &Home, session: &str, text: &str) -> Vec<(String, Value)> {
    let body = json!({ "session": session, "text": text }).to_string();
    let answer = call(daemon, home, "POST", "/api/agents/a/messages", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    frames(&answer.body)
}

#[test]
fn a_turn_is_told_as_it_happens() {
    let (home, daemon) = served();
    let told = say(&daemon, &home, "desk", "todo buy milk");
    let kinds: Vec<&str> = told.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds.first(), Some(&"turn.accepted"));
    assert_eq!(kinds.last(), Some(&"turn.ended"));
    for expected in ["tool.call", "tool.done", "text.delta"] {
        assert!(kinds.contains(&expected), "{kinds:?}");
    }
    let (_, end) = told.last().unwrap();
    assert_eq!(end["status"], "replied");
    assert!(end["usage"]["input"].is_u64(), "{end}");
    let deltas: String = told
        .iter()
        .filter(|(kind, _)| kind == "text.delta")
        .filter_map(|(_, data)| data["text"].as_str())
        .collect();
    assert!(deltas.ends_with(end["text"].as_str().unwrap()), "{deltas:?} {end}");
}

#[test]
fn what_was_said_can_be_read_searched_and_forgotten() {
    let (home, daemon) = served();
    say(&daemon, &home, "desk", "the attic is green");
    say(&daemon, &home, "lawn", "the cellar is blue");
    let get = |path: &str| call(&daemon, &home, "GET", path, "");
    let sessions = get("/api/agents/a/sessions").json();
    assert_eq!(sessions.as_array().unwrap().len(), 2, "{sessions}");
    let id = sessions[1]["id"].as_i64().unwrap();
    assert!(sessions[1]["key"].as_str().unwrap().contains("desk"), "{sessions}");
    let shown = get(&format!("/api/agents/a/sessions/{id}")).json();
    assert_eq!(shown["messages"][0]["text"], "the attic is green");
    assert_eq!(shown["messages"][0]["principal"], "cli:local");
    let found = get("/api/agents/a/sessions/search?q=attic").json();
    assert_eq!(found[0]["session"].as_i64(), Some(id), "{found}");
    let other = sessions[0]["scope"].as_str().unwrap().replace(':', "%3A");
    let elsewhere = get(&format!("/api/agents/a/sessions/search?q=attic&scope={other}")).json();
    assert_eq!(elsewhere, json!([]));
    let gone = call(&daemon, &home, "DELETE", &format!("/api/agents/a/sessions/{id}"), "");
    assert_eq!(gone.status, 204);
    assert_eq!(get("/api/agents/a/sessions/search?q=attic").json(), json!([]));
    assert_eq!(get("/api/agents/a/sessions/999").status, 404);
    assert_eq!(get("/api/agents/a/sessions/x").status, 404);
    assert_eq!(get("/api/agents/a/sessions?colour=red").status, 400);
    drop(daemon);
    assert!(holders(&home, "attic").is_empty());
}

#[test]
fn a_conversation_begins_anew_and_is_tried_again() {
    let (home, daemon) = served();
    let post = |verb: &str| {
        let body = json!({ "session": "desk" }).to_string();
        call(&daemon, &home, "POST", &format!("/api/agents/a/{verb}"), &body)
    };
    assert_eq!(post("retry").status, 404);
    say(&daemon, &home, "desk", "hello");
    let again = post("retry");
    assert_eq!(frames(&again.body).last().unwrap().1["status"], "replied", "{again:?}");
    assert_eq!(post("stop").json(), json!({ "stopped": 0 }));
    assert_eq!(post("new").status, 204);
    say(&daemon, &home, "desk", "hello");
    let sessions = call(&daemon, &home, "GET", "/api/agents/a/sessions", "").json();
    assert_eq!(sessions.as_array().unwrap().len(), 2);
}

#[test]
fn what_can_not_be_said_is_refused_with_the_reason() {
    let (home, daemon) = served();
    for (body, expected) in [
        (r#"{"session": "x", "text": "  "}"#, "`text` is empty"),
        (r#"{"session": "x", "text": "a", "mode": "shout"}"#, "no mode"),
        (r#"{"session": "", "text": "a"}"#, "empty"),
        (r#"{"session": "x"}"#, "missing field `text`"),
        (r#"{"session": "x", "text": "a", "agent": "b"}"#, "unknown field"),
    ] {
        let answer = call(&daemon, &home, "POST", "/api/agents/a/messages", body);
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(answer.status == 400 && message.contains(expected), "{body}: {answer:?}");
    }
    let long = json!({ "session": "x", "text": "a".repeat(1_100_000) }).to_string();
    let answer = call(&daemon, &home, "POST", "/api/agents/a/messages", &long);
    let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(answer.status == 400 && message.contains("at most 1048576"), "{answer:?}");
    let missing =
        call(&daemon, &home, "POST", "/api/agents/zz/messages", r#"{"session":"x","text":"a"}"#);
    assert_eq!(missing.status, 404);
}

/// Follows an agent's events with this token; the lines after the head.
fn follow(daemon: &Daemon, token: &str) -> impl Iterator<Item = String> + use<> {
    let mut stream = TcpStream::connect(daemon.listen()).unwrap();
    let to = daemon.listen();
    let request = format!(
        "GET /api/agents/a/events HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.next().unwrap().contains("200"));
    assert!(lines.any(|line| line == ": listening"));
    lines
}

#[test]
fn an_agents_events_reach_whoever_follows_it_until_the_token_goes() {
    let (home, daemon) = served();
    let made = json(&home, &["token", "create", "--agent", "a", "--verb", "read"]);
    let mut lines = follow(&daemon, made["token"].as_str().unwrap());
    say(&daemon, &home, "desk", "hello");
    let ended = lines.find(|line| line.contains("turn.ended")).unwrap();
    assert_eq!(ended, "event: turn.ended");
    insula(&home, &["agents", "pause", "a"]).ok();
    assert!(lines.any(|line| line == "event: health"));
    assert!(lines.next().unwrap().contains("paused"));
    insula(&home, &["token", "revoke", made["id"].as_str().unwrap()]).ok();
    // The stream says why, and ends; there is nothing to wait for but that.
    assert!(lines.any(|line| line == "event: error"));
    assert!(lines.next().unwrap().contains("token_revoked"));
    assert!(lines.all(|line| !line.starts_with("event:")));
}

#[test]
fn a_stream_of_events_does_not_hold_up_the_end_of_the_daemon() {
    let (home, daemon) = served();
    let mut lines = follow(&daemon, &token(&home));
    daemon.tell_to_stop().unwrap();
    assert!(lines.all(|line| !line.starts_with("event:")));
    daemon.wait_for_line("stopping").unwrap();
    assert!(!daemon.log().contains("cut off"), "{}", daemon.log());
    assert!(daemon.terminate().unwrap().success());
}
