//! Whatever a request holds: no panic, no wrong place, nothing larger than what came.
//!
//! `scripts/fuzz-adapters` runs the whole of it; the normal run a part.

use crate::called::noise::{Dice, GROWTH_MAX, memory};
use crate::whatsapp::support::{ANN, NUMBER, bench, signed};
use async_trait::async_trait;
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
        assert!(cursor.unwrap().0.len() < 200_000);
        for envelope in envelopes {
            self.taken.fetch_add(1, Ordering::Relaxed);
            let address = &envelope.address;
            assert_eq!((address.platform.as_str(), address.account.as_str()), ("whatsapp", "main"));
            let is_said = |text: &str| raw.contains(&json!(text).to_string());
            assert!(is_said(address.chat.as_str()), "{address:?} from {raw}");
            assert!(is_said(address.user.as_ref().unwrap().as_str()), "{address:?} from {raw}");
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

async fn fuzz(count: usize, seed: &str) {
    let bench = bench().await;
    let adapter = bench.adapter();
    let judge = Judge::default();
    let now = bench.now().to_string();
    let message = |fields: Value| {
        let mut message = json!({"from": ANN, "id": "wamid.1", "timestamp": now});
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        message
    };
    let context = json!({"from": "4915100000001", "id": "wamid.0", "forwarded": false});
    let corpus = [
        bench.platform.saying(
            NUMBER,
            &[
                message(json!({"type": "text", "text": {"body": "hi"}, "context": context})),
                message(
                    json!({"type": "image", "image": {"id": "9", "caption": "c"}, "group_id": "G"}),
                ),
                message(json!({"type": "audio", "audio": {"id": "9", "voice": true}})),
            ],
        ),
        bench.platform.saying(
            NUMBER,
            &[
                message(json!({"type": "reaction", "reaction": {"message_id": "m", "emoji": "x"}})),
                message(json!({"type": "edit", "edit": {"original_message_id": "m",
                "message": {"text": {"body": "better"}}}})),
                message(json!({"type": "revoke", "revoke": {"original_message_id": "m"}})),
            ],
        ),
        bench.platform.saying(
            NUMBER,
            &[
                message(json!({"type": "interactive", "context": context,
                "interactive": {"button_reply": {"id": "y", "title": "Y"}}})),
                message(
                    json!({"type": "location", "location": {"latitude": 1.0, "longitude": 2.0}}),
                ),
                message(
                    json!({"type": "contacts", "contacts": [{"name": {"formatted_name": "B"}}]}),
                ),
            ],
        ),
        bench.platform.statuses(
            NUMBER,
            &[json!({"id": "wamid.1", "status": "failed",
            "recipient_id": ANN, "biz_opaque_callback_data": "m/0",
            "errors": [{"code": 131_047, "title": "t", "error_data": {"details": "d"}}]})],
        ),
    ];
    let mut dice = Dice::new(&bench.world, seed);
    let mut early = None;
    for number in 0..count {
        if early.is_none() && number > count / 10 {
            early = Some(memory());
        }
        let mut event = corpus[dice.below(corpus.len())].clone();
        for _ in 0..dice.below(5) {
            // Where what people say stands.
            let value = &mut event["entry"][0]["changes"][0]["value"];
            dice.mutate(value);
        }
        let mut bytes = match dice.below(12) {
            0 => dice.value(4).to_string().into_bytes(),
            1 => format!("{}{}", "[".repeat(5000), "{\"a\":".repeat(5000)).into_bytes(),
            _ => event.to_string().into_bytes(),
        };
        if dice.below(4) == 0 {
            dice.garble(&mut bytes);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let read = serde_json::from_str::<Value>(&text).map(|it| it.to_string());
        *judge.raw.lock().unwrap() = read.unwrap_or_else(|_| text.clone());
        assert_eq!(adapter.receive(signed(&text), &judge).await.status, 200);
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
