//! Tokens and what is said in chats: C7 and C8.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and processes, and fail by panicking"
)]

use super::stage::{Bot, Play, Stage, Who, add, bind};
use crate::support::*;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

pub fn c07_a_token_of_one_agent_sees_nothing_of_anothers_chats<S: Stage>() {
    let stage = S::open();
    let [ours, theirs] = ["ours", "theirs"].map(|name| stage.group(name, &[Bot::One]));
    let bindings = bind::<S>("a", &ours) + &bind::<S>("b", &theirs);
    let play = Play::begin(stage, "  a: {memory: true}\n  b: {memory: true}\n", &bindings);
    play.ask(&ours, Who::Bob, "hello");
    play.ask(&theirs, Who::Bob, &add("the canary is zx81"));
    let routes = [
        ("GET", ""),
        ("GET", "/sessions"),
        ("GET", "/sessions/1"),
        ("GET", "/sessions/search?query=canary"),
        ("DELETE", "/sessions/1"),
        ("GET", "/turns"),
        ("GET", "/turns/1"),
        ("GET", "/turns/1/shown"),
        ("GET", "/turns/1/shown/1"),
        ("GET", "/memory"),
        ("GET", "/memory/search?query=canary"),
        ("GET", "/memory/export"),
        ("GET", "/deliveries"),
        ("POST", "/deliveries/1/resend"),
        ("DELETE", "/deliveries/1"),
        ("GET", "/pairing"),
        ("POST", "/pairing"),
        ("DELETE", "/pairing/telegram:43"),
        ("GET", "/approvals"),
        ("GET", "/audit"),
        ("GET", "/usage"),
        ("GET", "/events"),
        ("POST", "/pause"),
    ];
    for verb in ["chat", "read", "approve", "manage", "admin"] {
        let made = json(&play.home, &["token", "create", "--agent", "a", "--verb", verb]);
        let bearer = format!("Authorization: Bearer {}", made["token"].as_str().unwrap());
        let headers = [bearer.as_str(), "Content-Type: application/json"];
        let listen = play.daemon.listen();
        for (method, rest) in routes {
            let told = |id: &str| {
                let path = format!("/api/agents/{id}{rest}");
                let answer = send(listen, method, &path, &headers, "{}");
                (answer.status, answer.body.replace(&format!("`{id}`"), "`…`"))
            };
            let (status, body) = told("b");
            assert_eq!((status, &body), (told("x").0, &told("x").1), "{verb}: {method} {rest}");
            assert!(status >= 400 && !body.contains("zx81"), "{verb}: {method} {rest}: {body}");
        }
        for path in ["/api/status", "/api/pairing", "/api/approvals", "/api/agents"] {
            let answer = send(listen, "GET", path, &headers, "");
            assert_eq!(answer.status, 403, "{verb}: {path}: {answer:?}");
        }
        let metrics = send(listen, "GET", "/metrics", &headers, "").body;
        assert!(!metrics.contains("agent=\"b\""), "{metrics}");
    }
    // Nothing came of the attempts.
    assert!(play.ask(&theirs, Who::Bob, "still there?").contains("heard: still there?"));
    assert_eq!((play.sessions("b").len(), play.remembered("b").len()), (1, 1));
}

pub fn c08_a_revoked_token_hears_no_further_message<S: Stage>() {
    let stage = S::open();
    let group = stage.group("all", &[Bot::One]);
    let play = Play::begin(stage, "  a: {default: true}\n", "");
    let made = json(&play.home, &["token", "create", "--agent", "a", "--verb", "read"]);
    let to = play.daemon.listen();
    let mut stream = TcpStream::connect(to).unwrap();
    let token = made["token"].as_str().unwrap();
    write!(
        stream,
        "GET /api/agents/a/events HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
    )
    .unwrap();
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == ": listening"));
    play.ask(&group, Who::Bob, "the first word is quetzal");
    assert!(lines.any(|line| line.contains("quetzal")));
    insula(&play.home, &["token", "revoke", made["id"].as_str().unwrap()]).ok();
    play.ask(&group, Who::Bob, "the second word is zx81");
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|line| line.contains("token_revoked")), "{rest:?}");
    assert!(rest.iter().all(|line| !line.contains("zx81")), "{rest:?}");
}
