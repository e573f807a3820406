//! Web chat over the daemon's own websocket: who may open it, where they may be, and when that
//! ends.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::accounts::{SECRET, hook, signed};
use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::{Value, json as value};
use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;
use tungstenite::client::IntoClientRequest as _;
use tungstenite::protocol::CloseFrame;
use tungstenite::{HandshakeError, Message, WebSocket};

const CONFIG: &str = r#"
agents:
  a: {access: {allow: ["web:*"]}}
  b: {access: {allow: ["web:*"]}}
bindings:
  - {agent: a, web: {account: site}}
  - {agent: b, web: {chat: secrets}}
channels: {web: {accounts: {site: {origins: ["https://www.example.org"]}}}}
"#;

fn served() -> (Home, Daemon) {
    let home = configured(CONFIG);
    let daemon = start_still(&home);
    eventually("the chat is open", || {
        let status = json(&home, &["status"]);
        (status["accounts"][0]["state"] == "connected").then_some(())
    });
    (home, daemon)
}

pub fn token(home: &Home, agent: &str) -> (String, String) {
    let made = json(home, &["token", "create", "--agent", agent, "--verb", "chat"]);
    (made["id"].as_str().unwrap().to_owned(), made["token"].as_str().unwrap().to_owned())
}

pub type Socket = WebSocket<TcpStream>;

/// Opens the socket, or says how it was refused.
fn open(daemon: &Daemon, query: &str, headers: &[(&str, &str)]) -> Result<Socket, u16> {
    let url = format!("ws://{}/chat/ws{query}", daemon.listen());
    let mut request = url.into_client_request().unwrap();
    for (name, value) in headers {
        let name: tungstenite::http::HeaderName = name.parse().unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    let stream = TcpStream::connect(daemon.listen()).unwrap();
    // Bounds a test that has already failed.
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    match tungstenite::client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
            Err(answer.status().as_u16())
        }
        Err(error) => panic!("{error}"),
    }
}

pub fn with_token(daemon: &Daemon, token: &str) -> Socket {
    let protocols = format!("insula.chat.v1, insula.token.{token}");
    let mut socket = open(daemon, "", &[("Sec-WebSocket-Protocol", &protocols)]).unwrap();
    assert_eq!(next(&mut socket)["type"], "ready");
    socket
}

pub fn say(socket: &mut Socket, frame: &Value) {
    socket.send(Message::text(frame.to_string())).unwrap();
}

pub fn next(socket: &mut Socket) -> Value {
    loop {
        match socket.read().unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

pub fn wait_for(socket: &mut Socket, kind: &str) -> Value {
    loop {
        let frame = next(socket);
        if frame["type"] == kind {
            return frame;
        }
    }
}

/// How the daemon closes the socket.
pub fn closed(socket: &mut Socket) -> Option<u16> {
    loop {
        match socket.read() {
            Ok(Message::Close(frame)) => return frame.map(|CloseFrame { code, .. }| code.into()),
            Ok(_) => {}
            Err(_) => return None,
        }
    }
}

#[test]
fn a_frame_that_can_not_be_read_is_said_to_be_one() {
    let (home, daemon) = served();
    let (_, token) = token(&home, "a");
    let mut long = with_token(&daemon, &token);
    long.send(Message::text("x".repeat(1_000_000))).ok();
    assert_eq!(closed(&mut long), Some(1008));
    let mut odd = with_token(&daemon, &token);
    // A text frame of one byte, masked with zeros, that begins nothing in UTF-8.
    odd.get_mut().write_all(&[0x81, 0x81, 0, 0, 0, 0, 0xff]).unwrap();
    assert_eq!(closed(&mut odd), Some(1008));
}

#[test]
fn the_token_is_shown_beside_the_address_and_never_in_it() {
    let (home, daemon) = served();
    let (id, token) = token(&home, "a");
    let protocols = format!("insula.chat.v1, insula.token.{token}");
    let shown = [("Sec-WebSocket-Protocol", &*protocols)];
    let mut socket = open(&daemon, "?account=site", &shown).unwrap();
    let ready = next(&mut socket);
    assert_eq!(ready, value!({ "type": "ready", "account": "site", "user": id, "protocol": 1 }));
    let mut socket = open(&daemon, "", &[]).unwrap();
    say(&mut socket, &value!({ "type": "hello", "token": token }));
    assert_eq!(next(&mut socket)["user"], id.as_str());
    assert_eq!(open(&daemon, &format!("?token={token}"), &shown).err(), Some(400));
    let wrong = [("Sec-WebSocket-Protocol", "insula.chat.v1, insula.token.insula_a_b")];
    assert_eq!(open(&daemon, "", &wrong).err(), Some(401));
    assert_eq!(open(&daemon, "?account=other", &shown).err(), Some(404));
    for first in [r#"{"type":"hello","token":"insula_a_b"}"#, r#"{"type":"join"}"#, "{", ""] {
        let mut socket = open(&daemon, "", &[]).unwrap();
        socket.send(Message::text(first)).unwrap();
        assert_eq!(closed(&mut socket), Some(1008), "{first}");
    }
    // Somebody's admin token is for commands, not for pages.
    let admin = support_token(&home);
    let mut socket = open(&daemon, "", &[]).unwrap();
    say(&mut socket, &value!({ "type": "hello", "token": admin }));
    assert_eq!(closed(&mut socket), Some(1008));
}

fn support_token(home: &Home) -> String {
    crate::support::token(home)
}

#[test]
fn a_page_of_another_origin_is_refused() {
    let (home, daemon) = served();
    let (_, token) = token(&home, "a");
    let protocols = format!("insula.chat.v1, insula.token.{token}");
    let own = format!("http://{}", daemon.listen());
    for (origin, refused) in [
        ("https://evil.example", Some(403)),
        ("https://www.example.org.evil.example", Some(403)),
        ("http://www.example.org", Some(403)),
        ("null", Some(403)),
        ("https://www.example.org", None),
        (&own, None),
    ] {
        let headers = [("Origin", origin), ("Sec-WebSocket-Protocol", &*protocols)];
        assert_eq!(open(&daemon, "", &headers).err(), refused, "{origin}");
    }
}

#[test]
fn rule_04_a_room_that_another_agent_answers_in_is_a_room_that_is_not_there() {
    let (home, daemon) = served();
    let (_, token) = token(&home, "a");
    let mut socket = with_token(&daemon, &token);
    let mut refusals = vec![];
    for room in ["secrets", "bad name", "own:somebody"] {
        say(&mut socket, &value!({ "type": "join", "room": room }));
        let joined = next(&mut socket);
        assert_eq!(joined["code"], "no_room");
        say(&mut socket, &value!({ "type": "say", "id": "0", "room": room, "text": "hello" }));
        refusals.push((joined, next(&mut socket)));
    }
    refusals.dedup();
    assert_eq!(refusals.len(), 1, "one does not differ from another: {refusals:?}");
    say(&mut socket, &value!({ "type": "say", "id": "1", "room": "secrets", "text": "hello" }));
    let refused = next(&mut socket);
    assert_eq!(
        (&refused["type"], &refused["why"]),
        (&"refused".into(), &"nobody answers here".into())
    );
    // Its own room, and rooms of its agent, are there.
    say(&mut socket, &value!({ "type": "join" }));
    assert_eq!(wait_for(&mut socket, "joined")["room"], Value::Null);
    say(&mut socket, &value!({ "type": "join", "room": "family", "topic": "7" }));
    assert_eq!(wait_for(&mut socket, "joined")["topic"], "7");
    say(
        &mut socket,
        &value!({ "type": "say", "id": "2", "room": "family", "topic": "7", "text": "hi" }),
    );
    assert_eq!(wait_for(&mut socket, "message")["text"], "hi");
    assert_eq!(wait_for(&mut socket, "taken")["id"], "2");
}

#[test]
fn who_comes_back_hears_what_was_said_meanwhile() {
    let (home, daemon) = served();
    let (ann, bob) = (token(&home, "a"), token(&home, "a"));
    let mut socket = with_token(&daemon, &ann.1);
    say(&mut socket, &value!({ "type": "join", "room": "family" }));
    let cursor = wait_for(&mut socket, "joined")["cursor"].clone();
    drop(socket);
    let mut other = with_token(&daemon, &bob.1);
    for id in ["1", "2", "2"] {
        let frame =
            value!({ "type": "say", "id": id, "room": "family", "text": format!("word {id}") });
        say(&mut other, &frame);
        assert_eq!(wait_for(&mut other, "taken")["id"], id);
    }
    let mut socket = with_token(&daemon, &ann.1);
    say(&mut socket, &value!({ "type": "join", "room": "family", "after": cursor }));
    assert_eq!(wait_for(&mut socket, "joined")["gap"], false);
    for word in ["word 1", "word 2"] {
        let message = wait_for(&mut socket, "message");
        assert_eq!((&message["text"], &message["user"]), (&word.into(), &bob.0.as_str().into()));
    }
    // Said again it counts once: what comes next is new.
    say(&mut other, &value!({ "type": "say", "id": "3", "room": "family", "text": "word 3" }));
    assert_eq!(wait_for(&mut socket, "message")["text"], "word 3");
}

/// The next thing that the agent says.
fn answer(socket: &mut Socket) -> Value {
    loop {
        let message = wait_for(socket, "message");
        if message["by"] == "agent" {
            return message;
        }
    }
}

#[test]
fn an_agent_answers_where_it_was_asked() {
    let (home, daemon) = served();
    let (_, token) = token(&home, "a");
    let mut socket = with_token(&daemon, &token);
    let mut elsewhere = with_token(&daemon, &token);
    say(&mut socket, &value!({ "type": "join" }));
    say(&mut elsewhere, &value!({ "type": "join", "room": "family" }));
    wait_for(&mut elsewhere, "joined");
    say(&mut socket, &value!({ "type": "say", "id": "1", "text": "hello" }));
    let said = answer(&mut socket);
    assert_eq!((&said["room"], &said["topic"]), (&Value::Null, &Value::Null));
    // In a room with others it answers whoever addresses it, there and nowhere else.
    let asked = value!({
        "type": "say", "id": "2", "room": "family", "text": "hello", "mention": true,
    });
    say(&mut socket, &asked);
    assert_eq!(answer(&mut elsewhere)["room"], "family");
}

#[test]
fn what_was_said_is_told_after_a_restart_to_those_who_may_hear_it() {
    let (home, daemon) = served();
    let (id, shown) = token(&home, "a");
    let mut socket = with_token(&daemon, &shown);
    say(&mut socket, &value!({ "type": "join" }));
    let file = value!({ "name": "a.txt", "media_type": "text/plain", "content": "aGVsbG8=" });
    say(&mut socket, &value!({ "type": "say", "id": "1", "text": "read this", "files": [file] }));
    let said = answer(&mut socket);
    daemon.kill9().unwrap();
    let daemon = start_still(&home);
    eventually("the chat is open again", || {
        let status = json(&home, &["status"]);
        (status["accounts"][0]["state"] == "connected").then_some(())
    });
    let mut socket = with_token(&daemon, &shown);
    say(&mut socket, &value!({ "type": "join", "after": said["cursor"] }));
    assert_eq!(wait_for(&mut socket, "joined")["gap"], true);
    let message = wait_for(&mut socket, "message");
    assert_eq!((&message["text"], &message["user"]), (&"read this".into(), &id.as_str().into()));
    let again = answer(&mut socket);
    assert!(!again["text"].as_str().unwrap().is_empty(), "{again}");
    // Another bearer's own room is another room.
    let mut other = with_token(&daemon, &token(&home, "a").1);
    say(&mut other, &value!({ "type": "join" }));
    wait_for(&mut other, "joined");
    say(&mut other, &value!({ "type": "say", "id": "2", "text": "mine" }));
    assert_eq!(wait_for(&mut other, "message")["text"], "mine");
}

#[test]
fn a_stranger_hears_nothing_of_a_room_and_takes_nothing_from_those_who_are_let_in() {
    let (home, daemon) = served();
    let (ann, eve) = (token(&home, "a"), token(&home, "a"));
    let closed = CONFIG.replacen("web:*", &format!("web:{}", ann.0), 1);
    home.write("config.yaml", &closed).unwrap();
    insula(&home, &["reload"]).ok();
    let family = value!({ "type": "join", "room": "family" });
    let mut inside = with_token(&daemon, &ann.1);
    say(&mut inside, &family);
    wait_for(&mut inside, "joined");
    let words = |id: &str, text: &str| value!({ "type": "say", "id": id, "room": "family", "text": text, "mention": true });
    say(&mut inside, &words("1", "the plan is heliotrope"));
    answer(&mut inside);
    let mut outside = with_token(&daemon, &eve.1);
    for frame in [&family, &words("2", "let me in")] {
        say(&mut outside, frame);
        assert_eq!(next(&mut outside)["code"], "no_room");
    }
    say(&mut inside, &words("3", "still here"));
    assert_eq!(wait_for(&mut inside, "message")["text"], "still here");
    // In a room of their own they may ask.
    say(&mut outside, &value!({ "type": "join" }));
    assert_eq!(next(&mut outside)["type"], "joined");

    daemon.kill9().unwrap();
    let daemon = start_still(&home);
    eventually("the chat is open again", || {
        let status = json(&home, &["status"]);
        (status["accounts"][0]["state"] == "connected").then_some(())
    });
    let mut outside = with_token(&daemon, &eve.1);
    say(&mut outside, &family);
    assert_eq!(next(&mut outside)["code"], "no_room");
    let mut inside = with_token(&daemon, &ann.1);
    say(&mut inside, &family);
    assert_eq!(wait_for(&mut inside, "message")["text"], "the plan is heliotrope");
}

#[test]
fn the_reply_to_a_webhook_goes_to_the_chat_that_the_operator_named() {
    let channels = "channels: {web: {accounts: {site: {}}}, webhook: {accounts: {ci: \
         {secret: 0123456789abcdef0123456789abcdef, template: '{{ word }}', \
         deliver: 'web:site:builds'}}}}";
    let agents = "agents: {a: {access: {allow: [\"webhook:ci\", \"web:*\"]}}}\n\
         bindings: [{agent: a, web: \"*\"}, {agent: a, webhook: \"*\"}]";
    let home = configured(&format!("{agents}\n{channels}\n"));
    let daemon = start_still(&home);
    eventually("both are open", || {
        let accounts = json(&home, &["status"])["accounts"].clone();
        let all = accounts.as_array().unwrap().clone();
        all.iter().all(|account| account["state"] == "connected").then_some(())
    });
    let (_, token) = token(&home, "a");
    let mut socket = with_token(&daemon, &token);
    say(&mut socket, &value!({ "type": "join", "room": "builds" }));
    wait_for(&mut socket, "joined");
    let body = r#"{"word": "the build is red"}"#;
    let taken = hook(&daemon, "webhook/ci", &signed(SECRET, 0, body), body);
    assert_eq!(taken.status, 202);
    assert_eq!(answer(&mut socket)["room"], "builds");
}

#[test]
fn a_revoked_token_is_cut_at_once_and_a_room_with_its_binding() {
    let (home, daemon) = served();
    let (ann, bob) = (token(&home, "a"), token(&home, "a"));
    let mut cut = with_token(&daemon, &ann.1);
    let mut stays = with_token(&daemon, &bob.1);
    say(&mut stays, &value!({ "type": "join", "room": "family" }));
    wait_for(&mut stays, "joined");
    insula(&home, &["token", "revoke", &ann.0]).ok();
    assert_eq!(closed(&mut cut), Some(1008));
    // The other agent answers there now, which this token is not for.
    let moved = CONFIG.replace("{chat: secrets}", "{chat: family}");
    home.write("config.yaml", &moved).unwrap();
    insula(&home, &["reload"]).ok();
    let left = wait_for(&mut stays, "left");
    assert_eq!((&left["room"], &left["why"]), (&"family".into(), &"nobody answers here".into()));
    say(&mut stays, &value!({ "type": "say", "id": "1", "room": "family", "text": "hello" }));
    assert_eq!(wait_for(&mut stays, "refused")["code"], "no_room");
    // The end of the daemon is the end of the chat, without a wait.
    daemon.terminate().unwrap();
    assert!(closed(&mut stays).is_none_or(|code| code == 1013));
}

#[test]
fn somebody_unknown_is_let_in_by_their_code_and_out_again() {
    let home = configured(&CONFIG.replace("a: {access: {allow: [\"web:*\"]}}", "a: {}"));
    let daemon = start_still(&home);
    eventually("the chat is open", || {
        let status = json(&home, &["status"]);
        (status["accounts"][0]["state"] == "connected").then_some(())
    });
    let (id, shown) = token(&home, "a");
    let mut socket = with_token(&daemon, &shown);
    say(&mut socket, &value!({ "type": "join" }));
    wait_for(&mut socket, "joined");
    let agent_says = |socket: &mut Socket| loop {
        let frame = wait_for(socket, "message");
        if frame["by"] == "agent" {
            return frame["text"].as_str().unwrap().to_owned();
        }
    };
    say(&mut socket, &value!({ "type": "say", "id": "1", "text": "hello" }));
    let told = agent_says(&mut socket);
    let (_, rest) = told.split_once("Your code is ").unwrap_or_else(|| panic!("{told}"));
    let code: String = rest.chars().take(8).collect();
    let who = format!("web:{id}");
    let all = json(&home, &["pairing", "list"]);
    assert_eq!((&all[0]["state"], &all[0]["who"]), (&value!("waiting"), &value!(who)));
    assert!(!all.to_string().contains(&code), "{all}");
    assert_eq!(json(&home, &["sessions", "list", "a"]), value!([]), "nothing was kept of it");

    let wrong = insula(&home, &["pairing", "approve", "a", "AAAAAAAA"]);
    assert!(
        wrong.code == Some(1) && wrong.stderr.contains("no request has this code"),
        "{wrong:?}"
    );
    assert_eq!(insula(&home, &["pairing", "approve", "b", &code]).code, Some(1), "another agent's");
    let done = insula(&home, &["pairing", "approve", "a", &code]).ok().stdout;
    assert_eq!(done.trim(), format!("{who} may talk to a now"));
    assert_eq!(agent_says(&mut socket), "you may talk to me now");
    say(&mut socket, &value!({ "type": "say", "id": "2", "text": "/whoami" }));
    assert!(agent_says(&mut socket).contains(&who));

    insula(&home, &["pairing", "revoke", "a", &who]).ok();
    assert_eq!(json(&home, &["pairing", "list", "a"]), value!([]));
    say(&mut socket, &value!({ "type": "say", "id": "3", "text": "/whoami" }));
    // One after the other: when the second is dealt with, the first is.
    say(&mut socket, &value!({ "type": "say", "id": "4", "text": "/whoami" }));
    // Judged by what holds now; and who just had a code gets no other for a while.
    let counts = eventually("they are sent away", || {
        let counts = call(&daemon, &home, "GET", "/metrics", "").body;
        counts.contains("outcome=\"unauthorised\"} 3").then_some(counts)
    });
    for line in ["pairing_code\"} 1", "command\"} 1"] {
        assert!(counts.contains(&format!("outcome=\"{line}\n")), "{line}: {counts}");
    }
}
