//! Signs on messages, both ways.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch the machine and fail by panicking"
)]

use crate::matrix::support::*;
use crate::matrix::trouble::{US, message, ok, ordinary};
use insula_channel::{Adapter as _, Happening, Outbound as _, OwnSign, Reaction, ReactionChange};
use insula_testkit::Upstream;
use insula_testkit::upstream::{Seen, Step, answer};
use insula_world::World;
use serde_json::{Value, json};
use std::sync::Arc;

fn reaction(id: &str, sender: &str, content: &Value) -> Value {
    json!({
        "type": "m.reaction", "event_id": id, "sender": sender, "origin_server_ts": 1,
        "content": content,
    })
}

fn on(event: &str, key: &Value) -> Value {
    json!({ "m.relates_to": { "rel_type": "m.annotation", "event_id": event, "key": key } })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_tells_its_message_and_the_thread_that_stands_in() {
    let ours = json!({
        "type": "m.room.message", "event_id": "$ours", "sender": US, "origin_server_ts": 1,
        "content": {
            "msgtype": "m.text", "body": "may I?",
            "m.relates_to": { "rel_type": "m.thread", "event_id": "$root" },
        },
    });
    let events = json!([
        ours,
        message("$theirs", "hello"),
        reaction("$1", "@a:x", &on("$ours", &json!("👍"))),
        reaction("$2", "@a:x", &on("$theirs", &json!("❤️"))),
        // Our own, and what makes no sense.
        reaction("$3", US, &on("$ours", &json!("👀"))),
        reaction("$4", "@a:x", &on("$ours", &json!(5))),
        reaction("$5", "@a:x", &on("$gone", &json!("👍"))),
        reaction("$6", "@a:x", &json!({ "m.relates_to": { "rel_type": "m.annotation" } })),
        reaction("$7", "@a:x", &json!({})),
        message("$last", "last"),
    ]);
    let sync = json!({
        "next_batch": "s2", "rooms": { "join": { "!r:x": { "timeline": { "events": events } } } },
    });
    let script = move |seen: &Seen, _: usize| {
        if let Some(value) = ordinary(seen) {
            return ok(&value);
        }
        match seen.line.contains("since=s1") {
            true => ok(&sync),
            false if seen.line.contains("/sync") => vec![Step::Hang],
            false => vec![answer(404, &[], r#"{"errcode":"M_NOT_FOUND","error":"no"}"#)],
        }
    };
    let server = Upstream::start(&World::real().unwrap(), script).await.unwrap();
    let matrix = Arc::new(adapter(&server.url(""), None, "t"));
    let kept = Arc::new(RecordingInbox::default());
    kept.put_cursor("s1");
    let listening = Listening::start(&matrix, &kept);
    kept.event("$last").await;
    listening.stop().await;
    let reactions: Vec<_> = kept
        .all()
        .into_iter()
        .filter_map(|it| match it.what {
            Happening::Reacted(reaction) => {
                let topic = it.address.topic.map(|topic| topic.as_str().to_owned());
                Some((it.event.0, it.address.user.unwrap(), topic, reaction))
            }
            _ => None,
        })
        .collect();
    let is = |of: &str, sign: &str, is_ours| Reaction {
        message: message_id(of),
        sign: sign.into(),
        change: ReactionChange::Put,
        is_ours: Some(is_ours),
    };
    assert_eq!(reactions.len(), 2, "{reactions:?}");
    let (event, user, topic, reaction) = &reactions[0];
    assert_eq!((&**event, user.as_str(), topic.as_deref()), ("$1", "@a:x", Some("$root")));
    assert_eq!(*reaction, is("$ours", "👍", true));
    let (event, _, topic, reaction) = &reactions[1];
    assert_eq!((&**event, topic, reaction), ("$2", &None, &is("$theirs", "❤️", false)));
    let asked = server.seen();
    let sync = asked.iter().find(|seen| seen.line.contains("since=s1")).unwrap();
    assert!(sync.line.contains("m.reaction"), "{}", sync.line);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_sign_is_put_and_taken_away_again() {
    let script = |seen: &Seen, _: usize| match ordinary(seen) {
        Some(value) => ok(&value),
        None if seen.line.contains("/state/m.room.encryption") => {
            vec![answer(404, &[], r#"{"errcode":"M_NOT_FOUND","error":"no"}"#)]
        }
        None => ok(&json!({ "event_id": "$put" })),
    };
    let server = Upstream::start(&World::real().unwrap(), script).await.unwrap();
    let matrix = adapter(&server.url(""), None, "t");
    assert!(matrix.features().can_react);
    let (room, of) = (target("!r:x", None), message_id("$said"));
    // What was never put is not taken away.
    matrix.react(&room, &of, OwnSign::Working, false).await;
    assert!(server.seen().is_empty());
    matrix.react(&room, &of, OwnSign::Working, true).await;
    matrix.react(&room, &of, OwnSign::Working, false).await;
    matrix.react(&room, &of, OwnSign::Working, false).await;
    let mut seen = server.seen();
    seen.retain(|it| it.line.starts_with("PUT"));
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen[0].line.starts_with("PUT /_matrix/client/v3/rooms/%21r%3Ax/send/m.reaction/"));
    assert_eq!(seen[0].json(), on("$said", &json!("👀")));
    assert!(seen[1].line.starts_with("PUT /_matrix/client/v3/rooms/%21r%3Ax/redact/%24put/"));
    let identity = matrix.identify().await;
    assert!(identity.is_ok());
}
