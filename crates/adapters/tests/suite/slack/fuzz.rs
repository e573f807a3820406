//! Whatever a request holds: no panic, no wrong place, nothing larger than what came.
//!
//! `scripts/fuzz-adapters` runs the whole of it; the normal run a part.

use crate::called::noise::{Dice, GROWTH_MAX, memory};
use crate::slack::support::{Bench, SECRET, bench};
use async_trait::async_trait;
use insula_adapters::slack::Mode;
use insula_channel::{Cursor, Envelope, Happening, Inbox, NotTaken};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Looks at each envelope beside what it came from, and keeps none.
#[derive(Default)]
struct Judge {
    raw: Mutex<String>,
    taken: AtomicUsize,
}

#[async_trait]
impl Inbox for Judge {
    async fn take(&self, envelopes: Vec<Envelope>, cursor: Option<Cursor>) -> Result<(), NotTaken> {
        let raw = self.raw.lock().unwrap().clone();
        assert_eq!(cursor, None);
        for envelope in envelopes {
            self.taken.fetch_add(1, Ordering::Relaxed);
            let address = &envelope.address;
            assert_eq!((address.platform.as_str(), address.account.as_str()), ("slack", "main"));
            assert!(raw.contains(address.chat.as_str()), "{address:?} from {raw}");
            let user = address.user.as_ref().map_or("", |user| user.as_str());
            assert!(raw.contains(user), "{address:?} from {raw}");
            if let Happening::Said(message) | Happening::Edited(message) = &envelope.what {
                let size = message.words.bytes();
                assert!(size <= raw.len() * 2 + 1000, "{size} bytes from {}", raw.len());
            }
        }
        Ok(())
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(None)
    }

    fn alive(&self) {}
}

/// Events as they come, to begin from.
fn corpus(bench: &Bench, root: &str) -> Vec<Value> {
    let (town, ann) = (bench.town.as_str(), bench.ann.as_str());
    let user = json!({"type": "user", "user_id": "U0BOT"});
    let blocks = json!([{"type": "rich_text", "elements": [
        {"type": "rich_text_section", "elements": [user, {"type": "text", "text": "hi"}]},
        {"type": "rich_text_quote", "elements": [{"type": "link", "url": "https://e.org"}]},
    ]}]);
    let message = |fields: Value| {
        let mut message = json!({
            "type": "message", "channel": town, "user": ann, "ts": "1700000000.000001",
            "event_ts": "1700000000.000001", "channel_type": "channel",
            "text": "<@U0BOT> &gt; <https://e.org|x> <#C1|c> <!here>\n&gt; q",
        });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        message
    };
    let file = json!({"id": "F1", "name": "n", "size": 5, "mimetype": "audio/ogg"});
    let edited = message(json!({"edited": {"user": ann, "ts": "1700000001.000001"}}));
    vec![
        message(json!({"thread_ts": root, "blocks": blocks})),
        message(json!({"text": "", "blocks": blocks, "files": [file], "subtype": "file_share"})),
        message(json!({"type": "app_mention", "attachments": [{"text": "t", "is_share": true}]})),
        message(json!({"subtype": "bot_message", "bot_id": "B1", "username": "n"})),
        message(
            json!({"subtype": "message_changed", "message": edited, "previous_message": message(json!({}))}),
        ),
        message(
            json!({"subtype": "message_deleted", "deleted_ts": root, "previous_message": edited}),
        ),
        json!({"type": "reaction_added", "user": ann, "reaction": "+1", "event_ts": "1.000001",
            "item": {"type": "message", "channel": town, "ts": root}, "item_user": "U0BOT"}),
        json!({"type": "member_joined_channel", "user": "U0BOT", "channel": town, "inviter": ann, "event_ts": "1.000001"}),
        json!({"type": "member_left_channel", "user": ann, "channel": town, "event_ts": "1.000001"}),
        json!({"type": "user_change", "user": {"id": ann}}),
    ]
}

async fn fuzz(count: usize, seed: &str) {
    let bench = bench().await;
    let root = bench.say("root");
    let adapter = bench.adapter_by(Mode::Webhook(SECRET.into()));
    adapter.identify().await.unwrap();
    let corpus = corpus(&bench, &root);
    let judge = Judge::default();
    let mut dice = Dice::new(&bench.world, seed);
    let mut early = None;
    for number in 0..count {
        if early.is_none() && number > count / 10 {
            early = Some(memory());
        }
        let mut event = corpus[dice.below(corpus.len())].clone();
        for _ in 0..dice.below(4) {
            dice.mutate(&mut event);
        }
        let mut payload = bench.platform.callback(&event);
        if dice.below(8) == 0 {
            dice.mutate(&mut payload);
        }
        let mut bytes = match dice.below(12) {
            0 => dice.value(4).to_string().into_bytes(),
            1 => format!("{}{}", "[".repeat(5000), "{\"a\":".repeat(5000)).into_bytes(),
            _ => payload.to_string().into_bytes(),
        };
        if dice.below(6) == 0 {
            dice.garble(&mut bytes);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let read = serde_json::from_str::<Value>(&text).map(|it| it.to_string());
        *judge.raw.lock().unwrap() = read.unwrap_or_else(|_| text.clone());
        let kind = match dice.below(10) {
            0 => "application/x-www-form-urlencoded",
            _ => "application/json",
        };
        let answer = adapter.receive(bench.signed(kind, &text, 0), &judge).await;
        assert_eq!(answer.status, 200);
    }
    let taken = judge.taken.load(Ordering::Relaxed);
    assert!(taken > count / 20, "only {taken} of {count} made sense: the fuzzing is too wild");
    let grown = memory().saturating_sub(early.unwrap());
    assert!(grown < GROWTH_MAX, "grown by {grown} bytes");
}

#[tokio::test(start_paused = true)]
async fn requests_of_any_shape_are_survived() {
    fuzz(4_000, "some").await;
}

#[tokio::test(start_paused = true)]
#[ignore = "the whole of it: scripts/fuzz-adapters"]
async fn a_hundred_thousand_requests_of_any_shape_are_survived() {
    fuzz(100_000, "all").await;
}
