//! A homeserver that misbehaves: nothing is lost, nothing is taken for what it is not.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch the machine and fail by panicking"
)]

use crate::matrix::support::*;
use insula_adapters::matrix::{Matrix, Settings};
use insula_channel::{Adapter as _, ConnectFault, Outbound as _, PostError};
use insula_domain::AccountId;
use insula_testkit::Upstream;
use insula_testkit::upstream::{Seen, Step, answer};
use insula_wire::Transport;
use insula_world::World;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub const US: &str = "@bot:x";

/// What an ordinary homeserver says to everything but `/sync`.
pub fn ordinary(seen: &Seen) -> Option<Value> {
    let line = &seen.line;
    let fits = |part: &str| line.contains(part);
    Some(if fits("/whoami") {
        json!({ "user_id": US })
    } else if fits("/displayname") {
        json!({ "displayname": "Bot" })
    } else if fits("/account_data/") {
        json!({})
    } else if fits("/joined_members") {
        json!({ "joined": { US: { "display_name": "Bot" }, "@a:x": { "display_name": "Ann" }, "@b:x": {} } })
    } else if fits("/capabilities") {
        json!({ "capabilities": {} })
    } else {
        return None;
    })
}

pub fn ok(value: &Value) -> Vec<Step> {
    vec![answer(200, &[("content-type", "application/json")], &value.to_string())]
}

pub fn message(id: &str, body: &str) -> Value {
    json!({
        "type": "m.room.message", "event_id": id, "sender": "@a:x", "origin_server_ts": 1,
        "content": { "msgtype": "m.text", "body": body },
    })
}

fn joined(next: &str, events: &[Value]) -> Value {
    json!({ "next_batch": next, "rooms": { "join": { "!r:x": { "timeline": { "events": events } } } } })
}

/// A server that gives these answers to `/sync`, one after the other, and then holds.
async fn server(syncs: Vec<Vec<Step>>) -> Upstream {
    let world = World::real().unwrap();
    let at = AtomicUsize::new(0);
    let script = move |seen: &Seen, _: usize| {
        if let Some(value) = ordinary(seen) {
            return ok(&value);
        }
        if seen.line.contains("/sync") {
            let at = at.fetch_add(1, Ordering::SeqCst);
            return syncs.get(at).cloned().unwrap_or_else(|| vec![Step::Hang]);
        }
        vec![answer(404, &[], r#"{"errcode":"M_NOT_FOUND","error":"no"}"#)]
    };
    Upstream::start(&world, script).await.unwrap()
}

async fn fault_after(steps: Vec<Step>) -> ConnectFault {
    let server = server(vec![steps]).await;
    let matrix = Arc::new(adapter(&server.url(""), None, "t"));
    let kept = Arc::new(RecordingInbox::default());
    kept.put_cursor("s1");
    let fault = Listening::start(&matrix, &kept).fails().await;
    assert!(kept.all().is_empty());
    fault
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_fails_for_what_it_is() {
    let limited = r#"{"errcode":"M_LIMIT_EXCEEDED","error":"slow","retry_after_ms":2500}"#;
    let ConnectFault::Broken { wait, .. } = fault_after(vec![answer(429, &[], limited)]).await
    else {
        panic!("it was refused")
    };
    assert_eq!(wait, Some(Duration::from_millis(2500)));
    let ConnectFault::Broken { wait, .. } =
        fault_after(vec![answer(503, &[("retry-after", "7")], "<html>")]).await
    else {
        panic!("it was refused")
    };
    assert_eq!(wait, Some(Duration::from_secs(7)));
    let refused = r#"{"errcode":"M_UNKNOWN_TOKEN","error":"gone","soft_logout":false}"#;
    assert!(matches!(fault_after(vec![answer(401, &[], refused)]).await, ConnectFault::Refused(_)));
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"next".to_vec();
    for steps in [
        vec![answer(200, &[], "{}")],
        vec![answer(200, &[], "<html>")],
        vec![answer(200, &[], r#"{"next_batch":"s2","rooms":{"join":[]}}"#)],
        vec![answer(200, &[], "\u{0}\u{1}")],
        vec![Step::Write(cut), Step::Close],
        vec![Step::Write(b"not http".to_vec()), Step::Close],
        vec![Step::Close],
    ] {
        let fault = fault_after(steps).await;
        assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_senseless_event_does_not_take_the_others_with_it() {
    let mut deep = String::from(
        r#"{"type":"m.room.message","event_id":"$deep","sender":"@a:x","content":{"body":"#,
    );
    deep.push_str(&"[".repeat(5_000));
    deep.push_str(&"]".repeat(5_000));
    deep.push_str("}}");
    let text = joined("s2", &[message("$1", "first"), json!("HERE"), message("$2", "second")]);
    let surrogate = r#"{"type":"m.room.message","event_id":"$s","sender":"@a:x","content":{"msgtype":"m.text","body":"\ud800"}}"#;
    let odd = [deep.as_str(), surrogate, "1", "null", r#"{"content":3}"#, r#"{"type":7}"#];
    let text = text.to_string().replace("\"HERE\"", &odd.join(","));
    let server = server(vec![vec![answer(200, &[], &text)]]).await;
    let matrix = Arc::new(adapter(&server.url(""), None, "t"));
    let kept = Arc::new(RecordingInbox::default());
    kept.put_cursor("s1");
    let listening = Listening::start(&matrix, &kept);
    kept.event("$2").await;
    assert_eq!(kept.texts(), ["first", "second"]);
    listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_the_server_forgot_is_given_up_and_an_answer_too_long_is_asked_for_in_parts() {
    let forgot = r#"{"errcode":"M_UNKNOWN_POS","error":"what?"}"#;
    let huge = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 40 << 20).into_bytes();
    let body = vec![b' '; 40 << 20];
    let server = server(vec![
        vec![answer(400, &[], forgot)],
        ok(&json!({ "next_batch": "s7" })),
        vec![Step::Write(huge), Step::Write(body), Step::Close],
        ok(&joined("s8", &[message("$1", "made it")])),
    ])
    .await;
    let matrix = Arc::new(adapter(&server.url(""), None, "t"));
    let kept = Arc::new(RecordingInbox::default());
    kept.put_cursor("s1");
    let listening = Listening::start(&matrix, &kept);
    kept.event("$1").await;
    listening.stop().await;
    let syncs: Vec<String> = server
        .seen()
        .into_iter()
        .map(|seen| seen.line)
        .filter(|line| line.contains("/sync"))
        .collect();
    assert!(syncs[0].contains("since=s1&") && !syncs[1].contains("since="), "{syncs:#?}");
    assert!(syncs[2].contains("since=s7&") && syncs[3].contains("since=s7&"), "{syncs:#?}");
    assert!(
        syncs[2].contains("limit%22%3A50") && syncs[3].contains("limit%22%3A1%2C"),
        "{syncs:#?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_its_server_cannot_serve_does_not_stop_the_account() {
    let world = World::real().unwrap();
    let replying = json!({
        "type": "m.room.message", "event_id": "$1", "sender": "@a:x", "origin_server_ts": 1,
        "content": {
            "msgtype": "m.text", "body": "see there",
            "m.relates_to": { "m.in_reply_to": { "event_id": "$bad" } },
        },
    });
    let script = move |seen: &Seen, _: usize| {
        if let Some(value) = ordinary(seen) {
            return ok(&value);
        }
        if seen.line.contains("since=s1") {
            return ok(&joined("s2", std::slice::from_ref(&replying)));
        }
        if seen.line.contains("/sync") {
            return vec![Step::Hang];
        }
        vec![answer(500, &[], "oops")]
    };
    let server = Upstream::start(&world, script).await.unwrap();
    let matrix = Arc::new(adapter(&server.url(""), None, "t"));
    let kept = Arc::new(RecordingInbox::default());
    kept.put_cursor("s1");
    for _ in 0..2 {
        let fault = Listening::start(&matrix, &kept).fails().await;
        assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
    }
    let listening = Listening::start(&matrix, &kept);
    let heard = kept.event("$1").await;
    assert_eq!(said(&heard).quoted.as_ref().unwrap().text, "");
    listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_tells_whether_it_may_have_arrived() {
    let world = World::real().unwrap();
    let script = |seen: &Seen, _: usize| {
        let key = seen.line.rsplit('/').next().unwrap_or_default();
        if seen.line.contains("/state/m.room.encryption") {
            return vec![answer(404, &[], r#"{"errcode":"M_NOT_FOUND","error":"no"}"#)];
        }
        match key {
            "cut" => vec![Step::Close],
            "ill" => vec![answer(502, &[], "bad gateway")],
            "odd" => vec![answer(200, &[], "{}")],
            "no" => vec![answer(403, &[], r#"{"errcode":"M_FORBIDDEN","error":"no"}"#)],
            "long" => vec![answer(413, &[], r#"{"errcode":"M_TOO_LARGE","error":"no"}"#)],
            "token" => vec![answer(401, &[], r#"{"errcode":"M_UNKNOWN_TOKEN","error":"no"}"#)],
            "proxy" => vec![answer(404, &[], "<html>nothing here</html>")],
            _ => ok(&json!({ "event_id": "$sent" })),
        }
    };
    let server = Upstream::start(&world, script).await.unwrap();
    let matrix = adapter(&server.url("/"), None, "t");
    let send = async |key: &str| matrix.post(&post(target("!r:x/../y", None), key, "x")).await;
    assert_eq!(&*send("fine").await.unwrap().message.0, "$sent");
    assert!(matches!(send("cut").await.unwrap_err(), PostError::Uncertain { .. }));
    assert!(matches!(send("odd").await.unwrap_err(), PostError::Uncertain { .. }));
    assert!(matches!(send("ill").await.unwrap_err(), PostError::Later { .. }));
    assert!(matches!(send("proxy").await.unwrap_err(), PostError::Later { .. }));
    assert!(matches!(send("no").await.unwrap_err(), PostError::Never { .. }));
    assert!(matches!(send("long").await.unwrap_err(), PostError::Never { .. }));
    assert!(matches!(send("token").await.unwrap_err(), PostError::Account { .. }));
    let empty = matrix.post(&post(target("!r:x", None), "e", " \n")).await.unwrap_err();
    assert!(matches!(empty, PostError::Never { .. }));
    let lines: Vec<String> = server.seen().into_iter().map(|seen| seen.line).collect();
    let goes_there = |line: &String| {
        let rest = line.split("/rooms/%21r%3Ax%2F..%2Fy/").nth(1).unwrap_or_default();
        rest.starts_with("send/") || rest.starts_with("state/")
    };
    assert!(lines.iter().all(goes_there), "{lines:?}");
    let headers = server.seen().remove(0).header("authorization").map(str::to_owned);
    assert_eq!(headers.as_deref(), Some("Bearer t"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_of_somebody_else_and_an_address_that_is_none_are_refused() {
    let server = server(vec![]).await;
    let matrix = adapter(&server.url(""), Some("@other:x"), "t");
    let ConnectFault::Refused(why) = matrix.identify().await.unwrap_err() else {
        panic!("not refused")
    };
    assert!(why.contains(US) && why.contains("@other:x"), "{why}");
    let world = World::real().unwrap();
    let transport = Transport::new(&world, &[]).unwrap();
    for homeserver in ["", "example.org", "ftp://x", "https://", "https:// x"] {
        let settings = Settings {
            account: AccountId::new("a").unwrap(),
            homeserver: homeserver.into(),
            user: None,
            token: String::from("t").into(),
            recovery_key: None,
        };
        let made = Matrix::new(settings, transport.clone(), &world);
        assert!(matches!(made.err(), Some(ConnectFault::Refused(_))), "{homeserver}");
    }
}
