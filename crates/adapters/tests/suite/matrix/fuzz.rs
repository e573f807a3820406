//! Noise: answers changed at random, by value and by byte. No panic, no event in a place it was
//! not sent to, no memory that grows. `INSULA_FUZZ` says how many.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch the machine and fail by panicking"
)]

use crate::matrix::support::adapter;
use crate::matrix::trouble::{US, message, ok, ordinary};
use async_trait::async_trait;
use insula_channel::{Adapter as _, Cursor, Envelope, Inbox, NotTaken};
use insula_testkit::upstream::{Seen, Step, answer, serve_one};
use insula_world::World;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Answers in an ordinary run.
const ANSWERS: usize = 300;
/// How much the process may grow between the first tenth and the end, in bytes.
const GROWTH_MAX: usize = 64 << 20;
/// Answers on one connection: the scripted server remembers what it saw there.
const CONNECTION_LEN_MAX: usize = 40;

struct Dice(u64);

impl Dice {
    fn below(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below.max(1)
    }
}

/// An answer with one of everything.
fn everything() -> Value {
    let event = |kind: &str, id: &str, content: Value| json!({ "type": kind, "event_id": id, "sender": "@a:x", "origin_server_ts": 5, "content": content });
    let said = |id: &str, content: Value| event("m.room.message", id, content);
    let mut joined =
        event("m.room.member", "$j", json!({ "membership": "join", "displayname": "Bot" }));
    joined["state_key"] = US.into();
    joined["unsigned"] = json!({ "prev_content": { "membership": "invite", "is_direct": true } });
    let mut left = event("m.room.member", "$l", json!({ "membership": "leave" }));
    left["state_key"] = "@b:x".into();
    left["unsigned"] = json!({ "prev_content": { "membership": "join" } });
    let mut redaction = event("m.room.redaction", "$r", json!({ "redacts": "$1" }));
    redaction["redacts"] = "$1".into();
    let events = json!([
        joined,
        message("$1", "Bot: hello"),
        said(
            "$2",
            json!({ "msgtype": "m.text", "body": "> <@a:x> x\n\ny", "m.mentions": { "user_ids": [US] },
            "format": "org.matrix.custom.html", "formatted_body": "<a href=\"https://matrix.to/#/@bot:x\">Bot</a>",
            "m.relates_to": { "m.in_reply_to": { "event_id": "$1" } } })
        ),
        said(
            "$3",
            json!({ "msgtype": "m.text", "body": "t",
            "m.relates_to": { "rel_type": "m.thread", "event_id": "$1", "is_falling_back": false,
                "m.in_reply_to": { "event_id": "$2" } } })
        ),
        said(
            "$4",
            json!({ "msgtype": "m.text", "body": "* e", "m.new_content": { "msgtype": "m.text", "body": "e" },
            "m.relates_to": { "rel_type": "m.replace", "event_id": "$3" } })
        ),
        said(
            "$5",
            json!({ "msgtype": "m.image", "body": "p.png", "url": "mxc://x/abc",
            "info": { "mimetype": "image/png", "size": 3 } })
        ),
        said(
            "$6",
            json!({ "msgtype": "m.audio", "body": "v", "filename": "v.ogg", "url": "mxc://x/v",
            "org.matrix.msc3245.voice": {} })
        ),
        said("$7", json!({ "msgtype": "m.emote", "body": "waves" })),
        said("$8", json!({ "msgtype": "m.location", "body": "here", "geo_uri": "geo:1,2" })),
        said("$9", json!({ "msgtype": "m.server_notice", "body": "n" })),
        event("m.sticker", "$10", json!({ "body": "s", "url": "mxc://x/s" })),
        event("m.room.encrypted", "$11", json!({ "algorithm": "m.megolm.v1.aes-sha2" })),
        redaction,
        left,
    ]);
    json!({
        "next_batch": "s",
        "account_data": { "events": [{ "type": "m.direct", "content": { "@a:x": ["!r:x"] } }] },
        "rooms": {
            "join": {
                "!r:x": {
                    "state": { "events": [joined_member("@a:x", "Ann")] },
                    "timeline": { "events": events, "limited": true, "prev_batch": "p" },
                },
                "!q:x": { "timeline": { "events": [message("$q", "there")], "limited": false } },
            },
            "invite": { "!i:x": { "invite_state": { "events": [
                { "type": "m.room.member", "state_key": US, "sender": "@a:x",
                  "content": { "membership": "invite", "is_direct": true } },
            ] } } },
            "leave": { "!l:x": { "timeline": { "events": [message("$gone", "bye")] } } },
        },
    })
}

fn joined_member(user: &str, name: &str) -> Value {
    json!({ "type": "m.room.member", "state_key": user, "sender": user,
            "event_id": format!("$m{user}"), "content": { "membership": "join", "displayname": name } })
}

/// Every place in a value, as the way to it.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, item) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                places(item, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

fn noise(dice: &mut Dice) -> Value {
    match dice.below(14) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(1e300),
        4 => json!(u64::MAX),
        5 => json!(""),
        6 => json!("x".repeat(dice.below(70_000))),
        7 => json!("\u{0}\u{202e}\u{1f600}/../%"),
        8 => json!([]),
        9 => json!({}),
        10 => json!(US),
        11 => json!(["m.thread", "m.replace", "leave", "ban", "join", "$1", "@b:x"][dice.below(7)]),
        12 => (0..dice.below(120)).fold(Value::Null, |inner, _| json!([inner])),
        _ => json!(format!("${}", dice.below(1_000_000))),
    }
}

fn changed(original: &Value, dice: &mut Dice) -> Vec<u8> {
    let mut value = original.clone();
    for _ in 0..=dice.below(6) {
        let mut all = vec![];
        places(&value, "", &mut all);
        let place = all[dice.below(all.len())].clone();
        let replacement = match dice.below(4) {
            // Something from elsewhere in the same answer, so that kinds get mixed.
            0 => value.pointer(&all[dice.below(all.len())]).unwrap().clone(),
            _ => noise(dice),
        };
        let Some(target) = value.pointer_mut(&place) else { continue };
        match (dice.below(4), target) {
            (0, Value::Array(items)) if !items.is_empty() => {
                let at = dice.below(items.len());
                items.push(items[at].clone());
            }
            (0, Value::Object(fields)) if !fields.is_empty() => {
                let key = fields.keys().nth(dice.below(fields.len())).unwrap().clone();
                fields.remove(&key);
            }
            (1, Value::Object(fields)) => {
                *fields =
                    std::mem::take(fields)
                        .into_iter()
                        .map(|(key, value)| {
                            if key == "content" { (key, replacement.clone()) } else { (key, value) }
                        })
                        .collect::<Map<String, Value>>();
            }
            // The answer as a whole is seldom replaced: what is inside is worth more.
            (_, target) if !place.is_empty() || dice.below(50) == 0 => *target = replacement,
            _ => {}
        }
    }
    let mut bytes = value.to_string().into_bytes();
    if dice.below(10) == 0 {
        for _ in 0..=dice.below(4) {
            let at = dice.below(bytes.len());
            bytes[at] = u8::try_from(dice.below(256)).unwrap();
        }
        bytes.truncate(bytes.len() - dice.below(bytes.len()) * dice.below(2));
    }
    bytes
}

/// Looks at what comes, and keeps nothing.
struct Watching {
    last: Arc<Mutex<Vec<u8>>>,
    envelopes: AtomicUsize,
}

#[async_trait]
impl Inbox for Watching {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        let answer: Value = serde_json::from_slice(&self.last.lock().unwrap()).unwrap_or_default();
        for envelope in &envelopes {
            let address = &envelope.address;
            assert_eq!((address.platform.as_str(), address.account.as_str()), ("matrix", "home"));
            assert!(address.user.is_some(), "{envelope:?}");
            if envelope.event.0.starts_with("$page") || envelope.event.0.starts_with("invite:") {
                continue;
            }
            // It was sent to that very room.
            let room = address.chat.as_str();
            let sent = ["join", "leave"].iter().any(|kind| {
                let events = &answer["rooms"][kind][room]["timeline"]["events"];
                events.as_array().is_some_and(|events| {
                    events.iter().any(|event| event["event_id"] == *envelope.event.0)
                })
            });
            // An answer that another library reads otherwise tells nothing.
            assert!(sent || answer.is_null(), "{envelope:?} in {answer}");
        }
        self.envelopes.fetch_add(envelopes.len(), Ordering::SeqCst);
        Ok(())
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(Some(Cursor("s".into())))
    }

    fn alive(&self) {}
}

fn memory() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_does_no_harm() {
    noise_of(ANSWERS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the whole of it: scripts/fuzz-adapters"]
async fn a_hundred_thousand_events_of_any_shape_are_survived() {
    let events = noise_of(20_000).await;
    assert!(events >= 100_000, "{events} events made sense");
}

/// Answers with noise in them; how many events came through it.
async fn noise_of(count: usize) -> usize {
    let world = World::real().unwrap();
    let last = Arc::new(Mutex::new(vec![]));
    let dice = Mutex::new(Dice(7));
    let (original, answers) = (everything(), watch::Sender::new(0));
    let (shown, counted) = (last.clone(), answers.clone());
    let script = move |seen: &Seen| {
        let mut dice = dice.lock().unwrap();
        let is_noisy = dice.below(20) == 0;
        if let Some(value) = ordinary(seen) {
            let noisy = is_noisy && !seen.line.contains("whoami");
            return ok(&if noisy { noise(&mut dice) } else { value });
        }
        if seen.line.contains("/sync") {
            counted.send_modify(|count| *count += 1);
            if *counted.borrow() > count {
                return vec![Step::Hang];
            }
            let bytes = changed(&original, &mut dice);
            (*shown.lock().unwrap()).clone_from(&bytes);
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", bytes.len());
            return vec![Step::Write([head.into_bytes(), bytes].concat())];
        }
        if seen.line.contains("/messages") {
            let page = if seen.line.contains("from=p2") {
                json!({ "chunk": [] })
            } else {
                json!({ "chunk": [message("$page1", "a"), noise(&mut dice), message("$page2", "b")], "end": "p2" })
            };
            return ok(&page);
        }
        if seen.line.contains("/event/") {
            return ok(&if is_noisy { noise(&mut dice) } else { message("$1", "earlier") });
        }
        vec![answer(404, &[], r#"{"errcode":"M_NOT_FOUND"}"#)]
    };
    let script = Arc::new(script);
    let listener = world.network.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let script = script.clone();
            tokio::spawn(serve_one(stream, move |seen, number| {
                let mut steps = script(seen);
                if number % CONNECTION_LEN_MAX == CONNECTION_LEN_MAX - 1 {
                    steps.push(Step::Close);
                }
                steps
            }));
        }
    });
    let matrix = adapter(&url, None, "t");
    let watching = Watching { last, envelopes: AtomicUsize::new(0) };
    let stop = CancellationToken::new();
    // A connection closed under a request is one more fault; it is asked again.
    let mut early = None;
    let listen = async {
        loop {
            // Whatever the answer was, it is a fault or it was taken.
            let _ = matrix.listen(&watching, &stop).await;
            if early.is_none() && *answers.borrow() > count / 10 {
                early = Some(memory());
            }
        }
    };
    let mut asked = answers.subscribe();
    let all_asked = async {
        asked.wait_for(|asked| *asked > count).await.unwrap();
    };
    tokio::select! { () = listen => {}, () = all_asked => {} }
    let envelopes = watching.envelopes.load(Ordering::SeqCst);
    assert!(envelopes > count, "only {envelopes} events came through: the noise hides everything");
    let grown = memory().saturating_sub(early.unwrap_or_else(memory));
    assert!(grown < GROWTH_MAX, "grown by {grown} bytes");
    envelopes
}
