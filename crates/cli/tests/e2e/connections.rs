//! Connections: what is cut, what is let finish, and what a daemon that stops waits for.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::provider::*;
use crate::support::*;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc::{Sender, channel};

/// A provider that begins to answer and goes on when the sender is dropped.
fn held() -> (Provider, Sender<()>) {
    let (go, wait) = channel();
    let mut wait = Some(wait);
    let provider = Provider::start(move |_| match wait.take() {
        Some(wait) => vec![begins("half a "), Step::Wait(wait), ends("reply")],
        None => vec![says("the next")],
    });
    (provider, go)
}

fn streamed(path: &str) -> Value {
    match path {
        "/v1/responses" => json!({ "model": "a", "input": "hi", "stream": true }),
        _ => {
            let mut body = ask("a", "hi");
            body["stream"] = json!(true);
            body
        }
    }
}

/// What a session of agent `a` holds, as its own model is shown it.
fn next_sees(home: &insula_testkit::Home, provider: &Provider) -> String {
    insula(home, &["chat", "--agent", "a", "-m", "next"]).ok();
    provider.seen.lock().unwrap().last().unwrap().to_string()
}

#[test]
fn revoking_a_token_cuts_its_streams() {
    for path in ["/v1/chat/completions", "/v1/responses"] {
        let (provider, go) = held();
        let home = provider.home();
        let daemon = start_still(&home);
        let (id, token) = token_for(&home, "a");
        let mut reading = Reading::post(&daemon, &token, path, &streamed(path));
        reading.until("half a ");
        insula(&home, &["token", "revoke", &id]).ok();
        let rest = reading.rest();
        assert!(rest.contains("token_revoked"), "{path}: {rest}");
        assert!(!rest.contains("[DONE]") && !rest.contains("response.completed"), "{path}: {rest}");
        drop(go);
    }
}

#[test]
fn deleting_an_agent_cuts_the_streams_of_its_tokens() {
    let (provider, _go) = held();
    let home = provider.home();
    let daemon = start_still(&home);
    let made = json(&home, &["token", "create", "--agent", "a", "--agent", "b"]);
    let token = made["token"].as_str().unwrap();
    let path = "/v1/chat/completions";
    let mut reading = Reading::post(&daemon, token, path, &streamed(path));
    reading.until("half a ");
    insula(&home, &["agents", "delete", "a", "--yes"]).ok();
    assert!(reading.rest().contains("error"));
    // For its other agent it is as good as before.
    assert_eq!(post(&daemon, token, path, &[], &ask("b", "say hi")).status, 200);
}

#[test]
fn a_request_that_waits_for_a_whole_reply_is_refused_when_its_token_is_revoked() {
    let (provider, _go) = held();
    let home = provider.home();
    let daemon = start_still(&home);
    let (id, token) = token_for(&home, "a");
    let reading = Reading::post(&daemon, &token, "/v1/chat/completions", &ask("a", "hi"));
    provider.came.recv().unwrap();
    insula(&home, &["token", "revoke", &id]).ok();
    let answer = reading.rest();
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("token_revoked"), "{answer}");
}

#[test]
fn whoever_goes_away_in_the_middle_leaves_a_turn_that_goes_on() {
    let (provider, go) = held();
    let home = provider.home();
    let daemon = start_still(&home);
    let path = "/v1/chat/completions";
    let bearer = format!("Authorization: Bearer {}", token(&home));
    let body = streamed(path).to_string();
    let mut stream = TcpStream::connect(daemon.listen()).unwrap();
    // In the session the command line uses, to see what becomes of it.
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {}\r\n{bearer}\r\nX-Insula-Session: terminal\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        daemon.listen(),
        body.len()
    )
    .unwrap();
    provider.came.recv().unwrap();
    drop(stream);
    drop(go);
    let seen = next_sees(&home, &provider);
    assert!(seen.contains("half a reply"), "{seen}");
}

#[test]
fn thousands_of_silent_connections_give_way_to_one_with_words() {
    let home = configured("agents: {a: {default: true}}\n");
    let daemon = start_still(&home);
    // More than there are places for, each before a client with words.
    let silent: Vec<TcpStream> =
        (0..1_300).map(|_| TcpStream::connect(daemon.listen()).unwrap()).collect();
    let mut late = TcpStream::connect(daemon.listen()).unwrap();
    // Below the time that a silent connection has; only a daemon that waits for it takes longer.
    late.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
    let host = daemon.listen();
    let asked = format!("GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    late.write_all(asked.as_bytes()).unwrap();
    let mut answer = String::new();
    late.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    // The operator has a way of their own.
    insula(&home, &["status"]).ok();
    drop(silent);
}

#[test]
fn silent_and_half_sent_connections_do_not_hold_the_daemon_up() {
    let home = configured("agents: {a: {default: true}}\n");
    let daemon = start_still(&home);
    let bearer = format!("Authorization: Bearer {}", token(&home));
    let host = format!("Host: {}", daemon.listen());
    let half_head = "POST /v1/chat/completions HTTP/1.1\r\nHost: x".to_owned();
    let half_body = format!(
        "POST /v1/chat/completions HTTP/1.1\r\n{host}\r\n{bearer}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
    );
    let kept_alive = format!("GET /healthz HTTP/1.1\r\n{host}\r\n\r\n");
    let mut open = Vec::new();
    for text in [String::new(), half_head, half_body, kept_alive.clone()] {
        let mut stream = TcpStream::connect(daemon.listen()).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        if text == kept_alive {
            let mut byte = [0; 15];
            stream.read_exact(&mut byte).unwrap();
            assert_eq!(&byte, b"HTTP/1.1 200 OK");
        }
        open.push(stream);
    }
    // The daemon has taken them in: it answers one that came after them.
    assert_eq!(get(&daemon, "/healthz").status, 200);
    daemon.tell_to_stop().unwrap();
    daemon.wait_for_line("stopped").unwrap();
    // It says so when it has waited for as long as it does.
    assert!(!daemon.log().contains("cut off"), "{}", daemon.log());
}

#[test]
fn a_turn_under_way_is_answered_when_the_daemon_stops() {
    let (provider, go) = held();
    let home = provider.home();
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    let path = "/v1/chat/completions";
    let mut reading = Reading::post(&daemon, &token, path, &streamed(path));
    reading.until("half a ");
    daemon.tell_to_stop().unwrap();
    daemon.wait_for_line("stopping").unwrap();
    drop(go);
    let rest = reading.rest();
    assert!(rest.contains("reply") && rest.contains("[DONE]"), "{rest}");
    daemon.wait_for_line("stopped").unwrap();
}

#[test]
fn the_same_key_waits_for_the_turn_under_way() {
    let (provider, go) = held();
    let home = provider.home();
    let daemon = start_still(&home);
    let (_, token) = token_for(&home, "a");
    let (to, bearer) = (daemon.listen(), format!("Authorization: Bearer {token}"));
    let headers = [bearer.as_str(), "Content-Type: application/json", "Idempotency-Key: once"];
    let body = ask("a", "hi").to_string();
    let ask = || send(to, "POST", "/v1/chat/completions", &headers, &body);
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(ask);
        provider.came.recv().unwrap();
        let second = scope.spawn(ask);
        drop(go);
        (first.join().unwrap(), second.join().unwrap())
    });
    assert_eq!((first.status, second.status), (200, 200), "{first:?} {second:?}");
    let told = |answer: &Answer| (answer.json()["id"].clone(), answer.json()["choices"].clone());
    assert_eq!(told(&first), told(&second));
    assert_eq!(provider.seen.lock().unwrap().len(), 1, "one turn");
}

/// The words of a stream.
fn words(told: &str) -> String {
    let data = told.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = data.filter_map(|it| serde_json::from_str::<Value>(it).ok());
    let deltas = events.filter_map(|event| {
        let of_response = event["type"] == "response.output_text.delta";
        let delta = &event["choices"][0]["delta"]["content"];
        let delta = if of_response { &event["delta"] } else { delta };
        delta.as_str().map(str::to_owned)
    });
    deltas.collect()
}

#[test]
fn a_stream_that_joins_a_turn_gets_the_reply_once_from_its_beginning() {
    for path in ["/v1/chat/completions", "/v1/responses"] {
        let (provider, go) = held();
        let home = provider.home();
        let daemon = start_still(&home);
        let (_, token) = token_for(&home, "a");
        // The header goes along with the token.
        let token = format!("{token}\r\nIdempotency-Key: once");
        let mut first = Reading::post(&daemon, &token, path, &streamed(path));
        first.until("half a ");
        let mut joined = Reading::post(&daemon, &token, path, &streamed(path));
        joined.until("half a ");
        drop(go);
        let rest = [first.rest(), joined.rest()].map(|rest| words(&rest));
        assert_eq!(rest, ["reply", "reply"], "{path}");
        let late = Reading::post(&daemon, &token, path, &streamed(path)).rest();
        assert_eq!(words(&late), "half a reply", "{path}");
        assert_eq!(provider.seen.lock().unwrap().len(), 1, "one turn");
    }
}

#[test]
fn one_token_gets_its_share_of_connections_and_is_told_so() {
    let home = configured("agents: {a: {default: true}, b: {}}\n");
    let daemon = start_still(&home);
    let made = json(&home, &["token", "create", "--agent", "a", "--verb", "read"]);
    let (to, token) = (daemon.listen(), made["token"].as_str().unwrap());
    let head = format!(
        "GET /api/agents/a/events HTTP/1.1\r\nHost: {to}\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    let open = || {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        (String::from_utf8_lossy(&status[9..]).into_owned(), stream)
    };
    let held: Vec<_> = (0..128).map(|_| open()).collect();
    assert!(held.iter().all(|(status, _)| status == "200"));
    let (status, mut refused) = open();
    let mut told = String::new();
    refused.read_to_string(&mut told).unwrap();
    assert_eq!(status, "429");
    assert!(told.contains("too_many_connections") && told.contains("retry-after: 1"), "{told}");
    // Another token, and a stranger, are served.
    let (_, other) = token_for(&home, "b");
    let bearer = format!("Authorization: Bearer {other}");
    assert_eq!(send(to, "GET", "/v1/models", &[&bearer], "").status, 200);
    assert_eq!(get(&daemon, "/healthz").status, 200);
    drop(held);
    eventually("its places are free again", || (open().0 == "200").then_some(()));
}

#[test]
fn commands_go_by_a_socket_that_only_the_owner_can_open() {
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
    // A home whose path is longer than the address of a socket can be.
    let outer = insula_testkit::Home::empty().unwrap();
    let inner = outer.path().join("h".repeat(120));
    let daemon = insula_testkit::Daemon::start(INSULA, &inner).unwrap();
    let socket = inner.join("run/cli.sock");
    let found = std::fs::symlink_metadata(&socket).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    daemon.cli(&["status"]).ok();
    // Not by the listener: it is where nobody listens.
    let file = inner.join("run/daemon.json");
    let mut about: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    about["listen"] = json!("127.0.0.1:9");
    std::fs::write(&file, about.to_string()).unwrap();
    daemon.cli(&["status"]).ok();
    daemon.kill9().unwrap();
    // What a killed daemon leaves is in nobody's way.
    assert!(socket.exists());
    let daemon = insula_testkit::Daemon::start(INSULA, &inner).unwrap();
    daemon.cli(&["status"]).ok();
    daemon.terminate().unwrap();
    assert!(!socket.exists());
}

#[test]
fn a_stream_of_events_does_not_hold_the_daemon_up() {
    let home = configured("agents: {a: {default: true}}\n");
    let daemon = start_still(&home);
    let mut stream = TcpStream::connect(daemon.listen()).unwrap();
    let (host, admin) = (daemon.listen(), token(&home));
    write!(
        stream,
        "GET /api/agents/a/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {admin}\r\n\r\n"
    )
    .unwrap();
    let mut first = [0; 15];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
    daemon.tell_to_stop().unwrap();
    daemon.wait_for_line("stopped").unwrap();
    assert!(!daemon.log().contains("cut off"), "{}", daemon.log());
}
