//! Whatever the stream holds: no panic, no wrong place, nothing larger than what came.
//!
//! `scripts/fuzz-adapters` runs the whole of it; the normal run a part.

use crate::called::noise::{Dice, GROWTH_MAX, memory};
use crate::signal::support::{GROUP, OURS, bench};
use async_trait::async_trait;
use insula_channel::{Cursor, Envelope, Happening, Inbox, NotTaken};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;

/// Events that are told before what became of them is looked at.
const AT_ONCE: usize = 100;

/// Looks at each envelope beside what it came from, and keeps none.
#[derive(Default)]
struct Judge {
    /// What was told and not answered for yet.
    raw: Mutex<VecDeque<String>>,
    taken: AtomicUsize,
    done: tokio::sync::watch::Sender<usize>,
}

#[async_trait]
impl Inbox for Judge {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        for envelope in envelopes {
            let address = &envelope.address;
            assert_eq!((address.platform.as_str(), address.account.as_str()), ("signal", "main"));
            if let Happening::Said(message) = &envelope.what
                && message.words.all().starts_with("mark ")
            {
                self.done.send_modify(|done| *done += 1);
                continue;
            }
            self.taken.fetch_add(1, Ordering::Relaxed);
            let raw = self.raw.lock().unwrap();
            // Somewhere in what was told lately stands all of it.
            let from = raw.iter().find(|raw| {
                let is_said = |text: &str| raw.contains(&text.to_ascii_lowercase());
                is_said(address.chat.as_str())
                    && address.user.as_ref().is_none_or(|user| is_said(user.as_str()))
                    && address.topic.is_none()
            });
            let from = from.unwrap_or_else(|| panic!("{address:?} came from nowhere"));
            let longest = raw.iter().map(String::len).max().unwrap_or_default();
            if let Happening::Said(message) | Happening::Edited(message) = &envelope.what {
                let quoted = message.quoted.as_ref().map_or(0, |quoted| quoted.text.len());
                let size = message.words.bytes() + quoted;
                assert!(size <= longest * 2 + 1000, "{size} bytes from {}", from.len());
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
fn corpus() -> Vec<Value> {
    let ann = "0B0B0B0B-0000-4000-8000-000000000042";
    let event = |fields: Value| {
        let mut envelope = json!({"source": ann, "sourceNumber": "+4915100000042",
            "sourceUuid": ann, "sourceName": "Ann", "sourceDevice": 2,
            "timestamp": 1_700_000_000_000_i64});
        envelope.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({"account": OURS, "envelope": envelope})
    };
    let group = json!({"groupId": GROUP, "groupName": "F", "revision": 3, "type": "DELIVER"});
    vec![
        event(json!({"dataMessage": {"timestamp": 1_700_000_000_000_i64,
            "message": "\u{1f600} \u{fffc} /new \u{fffc}", "expiresInSeconds": 0,
            "mentions": [{"name": "x", "number": OURS, "uuid": null, "start": 3, "length": 1},
                {"uuid": ann, "start": 10, "length": 1}],
            "quote": {"id": 5, "author": ann, "authorUuid": ann, "text": "q \u{fffc}",
                "mentions": [{"uuid": ann, "start": 2, "length": 1}], "attachments": []},
            "groupInfo": group}})),
        event(json!({"dataMessage": {"timestamp": 6, "message": null, "attachments": [
            {"contentType": "audio/aac", "filename": null, "id": "a.aac", "size": 9},
            {"contentType": "image/png", "filename": "p.png", "id": "../x", "size": null}]}})),
        event(json!({"editMessage": {"targetSentTimestamp": 6, "dataMessage": {"timestamp": 8,
            "message": "better", "groupInfo": group}}})),
        event(json!({"syncMessage": {"sentMessage": {"destination": OURS,
            "destinationNumber": OURS, "timestamp": 9, "message": "note"}},
            "sourceNumber": OURS})),
        event(json!({"dataMessage": {"timestamp": 10, "remoteDelete": {"timestamp": 6}}})),
        event(json!({"dataMessage": {"timestamp": 10, "reaction": {"emoji": "x",
            "targetAuthorUuid": ann, "targetSentTimestamp": 6, "isRemove": false}}})),
        event(json!({"dataMessage": {"timestamp": 11, "sticker": {"packId": "ab",
            "stickerId": 3}, "contacts": [{"name": {"given": "G"}, "phone": [{"value": "1"}]}],
            "pollCreate": {"question": "q", "options": ["a", "b"]}}})),
        event(json!({"typingMessage": {"action": "STARTED", "timestamp": 4}})),
        event(json!({"receiptMessage": {"when": 4, "isDelivery": true, "timestamps": [4]}})),
    ]
}

async fn fuzz(count: usize, seed: &str) {
    let bench = bench().await;
    bench.platform.group(GROUP, &bench.ann, &[OURS]);
    let adapter = bench.adapter();
    let judge = Arc::new(Judge::default());
    let stop = CancellationToken::new();
    let listening = {
        let (adapter, judge, stop) = (adapter, judge.clone(), stop.clone());
        tokio::spawn(async move { adapter.listen(&*judge, &stop).await })
    };
    let corpus = corpus();
    let mut dice = Dice::new(&bench.world, seed);
    let mut early = None;
    for round in 0..count / AT_ONCE {
        if early.is_none() && round * 10 > count / AT_ONCE {
            early = Some(memory());
        }
        for _ in 0..AT_ONCE {
            let mut event = corpus[dice.below(corpus.len())].clone();
            for _ in 0..dice.below(5) {
                dice.mutate(&mut event);
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
            // As the wire has it: an id may be written with escapes.
            let read = serde_json::from_str::<Value>(&text).map(|it| it.to_string());
            let mut raw = judge.raw.lock().unwrap();
            raw.push_back(read.unwrap_or_else(|_| text.clone()).to_ascii_lowercase());
            if raw.len() > AT_ONCE * 2 {
                raw.pop_front();
            }
            drop(raw);
            bench.platform.event(OURS, &text);
        }
        let mark = json!({"account": OURS, "envelope": {"sourceUuid": bench.ann.uuid,
            "timestamp": 5, "dataMessage": {"timestamp": 5, "message": "mark it"}}});
        bench.platform.event(OURS, &mark.to_string());
        let mut done = judge.done.subscribe();
        done.wait_for(|&done| done > round).await.unwrap();
        bench.platform.forget_events(OURS);
    }
    stop.cancel();
    listening.await.unwrap().unwrap();
    let taken = judge.taken.load(Ordering::Relaxed);
    assert!(taken > count / 20, "only {taken} of {count} made sense: the fuzzing is too wild");
    let grown = memory().saturating_sub(early.unwrap());
    assert!(grown < GROWTH_MAX, "grown by {grown} bytes");
}

#[tokio::test(start_paused = true)]
async fn events_of_any_shape_are_survived() {
    fuzz(4_000, "some").await;
}

#[tokio::test(start_paused = true)]
#[ignore = "the whole of it: scripts/fuzz-adapters"]
async fn a_hundred_thousand_signal_events_of_any_shape_are_survived() {
    fuzz(100_000, "all").await;
}
