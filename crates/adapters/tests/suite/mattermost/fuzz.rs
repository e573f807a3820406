//! Whatever a frame holds: no panic, no wrong place, nothing larger than what came, and what comes
//! behind it is heard.
//!
//! `scripts/fuzz-adapters` runs the whole of it; the normal run a part.

use crate::mattermost::support::{beginning, bench};
use async_trait::async_trait;
use insula_channel::{Cursor, Envelope, Happening, Inbox, NotTaken};
use insula_world::RandomStream;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How much may be kept of all the noise.
const GROWTH_MAX: usize = 64 << 20;
/// Frames between two looks.
const BATCH: usize = 100;

/// What this process holds in memory, in bytes.
fn memory() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Looks at each envelope beside what it came from, and keeps none.
struct Judge {
    raw: Mutex<String>,
    taken: AtomicUsize,
    /// How many marks came.
    marks: watch::Sender<usize>,
}

#[async_trait]
impl Inbox for Judge {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        let raw = self.raw.lock().unwrap().clone();
        for envelope in envelopes {
            self.taken.fetch_add(1, Ordering::Relaxed);
            let address = &envelope.address;
            assert_eq!(
                (address.platform.as_str(), address.account.as_str()),
                ("mattermost", "main")
            );
            assert!(raw.contains(address.chat.as_str()), "{address:?}");
            if let Some(user) = &address.user {
                assert!(raw.contains(user.as_str()), "{address:?}");
            }
            if let Happening::Said(message) | Happening::Edited(message) = &envelope.what {
                assert!(message.words.bytes() <= raw.len() * 2 + 1000);
                if message.words.all() == "mark" {
                    self.marks.send_modify(|count| *count += 1);
                }
            }
        }
        Ok(())
    }

    async fn cursor(&self) -> Result<Option<Cursor>, NotTaken> {
        Ok(Some(beginning()))
    }

    fn alive(&self) {}
}

/// The data of events as they come, to begin from.
fn corpus(town: &str, ann: &str, post: &str) -> Vec<(&'static str, Value)> {
    let said = json!({
        "id": "p9", "create_at": 9, "edit_at": 9, "delete_at": 0, "user_id": ann,
        "channel_id": town, "root_id": post, "original_id": "", "message": "> q\n@ada `x` hello",
        "type": "me", "file_ids": ["f1"], "props": {
            "from_bot": "true", "attachments": [{ "text": "t", "title": "x", "fallback": "f" }],
        },
        "metadata": { "files": [{ "id": "f1", "name": "n", "size": 5, "mime_type": "audio/ogg" }] },
    });
    let plain = json!({ "id": "p8", "user_id": ann, "channel_id": town, "message": "plain" });
    let added = json!({
        "id": "p7", "user_id": ann, "channel_id": town, "type": "system_add_to_channel",
        "props": { "addedUserId": "x" },
    });
    let reaction = json!({
        "user_id": ann, "post_id": post, "emoji_name": "+1", "create_at": 5,
    });
    vec![
        ("posted", json!({ "post": said, "mentions": "[]" })),
        ("posted", json!({ "post": plain })),
        ("posted", json!({ "post": added })),
        ("post_edited", json!({ "post": said })),
        ("post_deleted", json!({ "post": plain })),
        ("reaction_added", json!({ "reaction": reaction })),
        ("reaction_removed", json!({ "reaction": reaction })),
        ("user_removed", json!({ "user_id": ann, "remover_id": ann, "channel_id": town })),
        ("user_updated", json!({ "user": { "id": ann } })),
        ("channel_updated", json!({ "channel": {} })),
        ("typing", json!({ "user_id": ann })),
    ]
}

struct Dice(RandomStream);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        (u64::from_le_bytes(self.0.bytes()) % bound.max(1) as u64) as usize
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 8 } else { 10 }) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => json!(i64::from_le_bytes(self.0.bytes())),
            3 => json!(u64::MAX),
            4 => json!([-1, 0, 1, i64::MIN, i64::MAX][self.below(5)]),
            5 => json!(1e300),
            6 => json!("\u{202e}\0😀/@<&".repeat(self.below(40))),
            7 => json!("x".repeat(self.below(3000))),
            8 => Value::Array((0..self.below(6)).map(|_| self.value(depth - 1)).collect()),
            _ => {
                let names = ["id", "type", "text", "chat", "from", "message", "user", "offset"];
                let fields = (0..self.below(6))
                    .map(|_| (names[self.below(names.len())].to_owned(), self.value(depth - 1)));
                Value::Object(fields.collect::<Vec<_>>().into_iter().collect())
            }
        }
    }

    /// Changes one thing somewhere inside.
    fn mutate(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) if !fields.is_empty() && self.below(5) > 0 => {
                let at = self.below(fields.len());
                let key = fields.keys().nth(at).unwrap().clone();
                match self.below(6) {
                    0 => drop(fields.remove(&key)),
                    1 => {
                        let other = fields.keys().nth(self.below(fields.len())).unwrap().clone();
                        let taken = fields[&key].clone();
                        fields.insert(other, taken);
                    }
                    _ => self.mutate(&mut fields[&key]),
                }
            }
            Value::Array(items) if !items.is_empty() && self.below(5) > 0 => {
                let at = self.below(items.len());
                match self.below(4) {
                    0 => drop(items.remove(at)),
                    1 => items.push(items[at].clone()),
                    _ => self.mutate(&mut items[at]),
                }
            }
            other => *other = self.value(3),
        }
    }

    /// Changes bytes, whatever they mean.
    fn garble(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(4) {
                0 if !bytes.is_empty() => drop(bytes.remove(at)),
                1 => bytes.insert(at, self.0.bytes::<1>()[0]),
                2 => bytes.truncate(at),
                _ if !bytes.is_empty() => bytes[at] = self.0.bytes::<1>()[0],
                _ => {}
            }
        }
    }
}

async fn fuzz(count: usize, seed: &str) {
    let bench = bench().await;
    let root = bench.say("root");
    let judge = Arc::new(Judge {
        raw: Mutex::default(),
        taken: AtomicUsize::new(0),
        marks: watch::channel(0).0,
    });
    let known = format!("{} {} {} {}", bench.town, bench.ann, bench.bob, bench.bot);
    judge.raw.lock().unwrap().clone_from(&known);
    let (adapter, stop) = (bench.adapter(), CancellationToken::new());
    let task = {
        let (judge, stop) = (judge.clone(), stop.clone());
        tokio::spawn(async move { adapter.listen(&*judge, &stop).await })
    };
    bench.platform.until(|platform| platform.sockets() == 1).await;
    let corpus = corpus(&bench.town, &bench.ann, &root);
    let mut dice = Dice(bench.world.random.stream(&["fuzz", seed]));
    let mut early = None;
    for number in 0..count.div_ceil(BATCH) {
        if early.is_none() && number > count / BATCH / 10 {
            early = Some(memory());
        }
        let mut raw = known.clone();
        let mut frames = Vec::new();
        for _ in 0..BATCH {
            let (event, mut data) = corpus[dice.below(corpus.len())].clone();
            // What stands in a text is changed inside of it, or as a text.
            for key in ["post", "reaction"] {
                let Some(inner) = data.get_mut(key) else { continue };
                for _ in 0..dice.below(4) {
                    dice.mutate(inner);
                }
                let mut bytes = inner.to_string().into_bytes();
                if dice.below(6) == 0 {
                    dice.garble(&mut bytes);
                }
                *inner = String::from_utf8_lossy(&bytes).into_owned().into();
            }
            for _ in 0..dice.below(2) {
                dice.mutate(&mut data);
            }
            raw.push_str(&data.to_string());
            frames.push((event, data));
        }
        *judge.raw.lock().unwrap() = raw;
        for (event, data) in frames {
            bench.platform.event(event, &bench.town, &data);
            if dice.below(10) == 0 {
                let mut noise = dice.value(4).to_string().into_bytes();
                dice.garble(&mut noise);
                bench.platform.raw(&String::from_utf8_lossy(&noise));
            }
        }
        bench.platform.raw(&format!("{}{}", "[".repeat(5000), "{\"a\":".repeat(5000)));
        bench.say("mark");
        judge.marks.subscribe().wait_for(|marks| *marks > number).await.unwrap();
    }
    let taken = judge.taken.load(Ordering::Relaxed);
    assert!(taken > count / 20, "only {taken} of {count} made sense: the fuzzing is too wild");
    let grown = memory().saturating_sub(early.unwrap());
    assert!(grown < GROWTH_MAX, "grown by {grown} bytes");
    stop.cancel();
    task.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn frames_of_any_shape_are_survived() {
    fuzz(4_000, "some").await;
}

#[tokio::test(start_paused = true)]
#[ignore = "the whole of it: scripts/fuzz-adapters"]
async fn a_hundred_thousand_frames_of_any_shape_are_survived() {
    fuzz(100_000, "all").await;
}
