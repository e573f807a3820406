//! Whatever an update holds: no panic, no wrong place, nothing larger than what came.
//!
//! `scripts/fuzz-adapters` runs the whole of it; the normal run a part.

use crate::telegram::support::{TOKEN, bench};
use async_trait::async_trait;
use bytes::Bytes;
use insula_adapters::telegram::TelegramMode;
use insula_channel::{Cursor, Envelope, Happening, Inbox, NotTaken, WebRequest};
use insula_world::RandomStream;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const SECRET: &str = "the-secret";

/// How much may be kept of all the noise.
const GROWTH_MAX: usize = 64 << 20;

/// What this process holds in memory, in bytes.
fn memory() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

/// Looks at each envelope beside what it came from, and keeps none.
#[derive(Default)]
struct Judge {
    raw: Mutex<String>,
    taken: AtomicUsize,
}

#[async_trait]
impl Inbox for Judge {
    async fn take(&self, envelopes: Vec<Envelope>, _: Option<Cursor>) -> Result<(), NotTaken> {
        let raw = self.raw.lock().unwrap().clone();
        for envelope in envelopes {
            self.taken.fetch_add(1, Ordering::Relaxed);
            let address = &envelope.address;
            assert_eq!((address.platform.as_str(), address.account.as_str()), ("telegram", "main"));
            let is_said = |text: &str| raw.contains(text);
            assert!(is_said(address.chat.as_str()), "{address:?} from {raw}");
            if let Some(user) = &address.user {
                assert!(is_said(user.as_str()), "{address:?} from {raw}");
            }
            if let Some(topic) = &address.topic {
                assert!(topic.as_str() == "1" || is_said(topic.as_str()), "{address:?} from {raw}");
            }
            if let Happening::Said(message) | Happening::Edited(message) = &envelope.what {
                let quoted = message.quoted.as_ref().map_or(0, |quoted| quoted.text.len());
                let size = message.words.bytes() + quoted;
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

/// Updates as they come, to begin from.
fn corpus() -> Vec<Value> {
    let ann = json!({"id": 42, "is_bot": false, "first_name": "Ann", "username": "ann"});
    let forum = json!({"id": -1001, "type": "supergroup", "title": "F", "is_forum": true});
    let media =
        json!({"file_id": "F", "file_name": "a.b", "mime_type": "audio/ogg", "file_size": 9});
    let earlier = json!({"message_id": 2, "date": 1, "chat": forum, "from": ann, "text": "before",
        "message_thread_id": 9, "is_topic_message": true});
    vec![
        json!({"update_id": 1, "message": {"message_id": 3, "date": 10, "chat": forum, "from": ann,
            "text": "😀 @ada_bot /new@ada_bot x", "message_thread_id": 9, "is_topic_message": true,
            "entities": [{"type": "mention", "offset": 3, "length": 8},
                {"type": "bot_command", "offset": 12, "length": 12},
                {"type": "text_link", "offset": 0, "length": 2, "url": "https://e.org"},
                {"type": "text_mention", "offset": 25, "length": 1, "user": ann}],
            "reply_to_message": earlier, "quote": {"text": "q", "position": 0}}}),
        json!({"update_id": 2, "edited_message": {"message_id": 3, "date": 10, "edit_date": 11,
            "chat": {"id": 42, "type": "private"}, "from": ann, "caption": "c",
            "caption_entities": [], "photo": [media, media], "media_group_id": "g"}}),
        json!({"update_id": 3, "channel_post": {"message_id": 3, "date": 10, "sender_chat": forum,
            "chat": {"id": -7, "type": "channel", "title": "N"}, "voice": media, "video": media,
            "audio": media, "document": media, "animation": media, "video_note": media,
            "sticker": {"file_id": "S", "emoji": "😀"}, "author_signature": "me"}}),
        json!({"update_id": 4, "callback_query": {"id": "Q", "from": ann, "message": earlier,
            "data": "d"}}),
        json!({"update_id": 5, "my_chat_member": {"chat": forum, "from": ann, "date": 1,
            "old_chat_member": {"user": ann, "status": "left"},
            "new_chat_member": {"user": ann, "status": "restricted", "is_member": true}}}),
        json!({"update_id": 6, "chat_member": {"chat": forum, "from": ann, "date": 1,
            "old_chat_member": {"user": ann, "status": "member"},
            "new_chat_member": {"user": ann, "status": "kicked"}}}),
        json!({"update_id": 7, "message": {"message_id": 3, "date": 10, "chat": forum, "from": ann,
            "migrate_to_chat_id": -1009, "left_chat_member": ann}}),
        json!({"update_id": 8, "message": {"message_id": 3, "date": 10, "chat": forum, "from": ann,
            "location": {"latitude": 1.0, "longitude": 2.0}, "contact": {"phone_number": "1"},
            "poll": {"question": "q", "options": [{"text": "a"}]},
            "forward_origin": {"type": "user", "sender_user": ann},
            "external_reply": {"message_id": 9, "origin": {"sender_user": ann}}}}),
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
    let mode = TelegramMode::Webhook { url: "https://e.org/".into(), secret: Some(SECRET.into()) };
    let adapter = bench.adapter_of(TOKEN, mode);
    let judge = Judge::default();
    let corpus = corpus();
    let mut dice = Dice(bench.world.random.stream(&["fuzz", seed]));
    let mut early = None;
    for number in 0..count {
        if early.is_none() && number > count / 10 {
            early = Some(memory());
        }
        let mut update = corpus[dice.below(corpus.len())].clone();
        for _ in 0..dice.below(5) {
            dice.mutate(&mut update);
        }
        let mut bytes = match dice.below(12) {
            0 => dice.value(4).to_string().into_bytes(),
            1 => format!("{}{}", "[".repeat(5000), "{\"a\":".repeat(5000)).into_bytes(),
            _ => update.to_string().into_bytes(),
        };
        if dice.below(4) == 0 {
            dice.garble(&mut bytes);
        }
        *judge.raw.lock().unwrap() = String::from_utf8_lossy(&bytes).into_owned();
        let headers = vec![("x-telegram-bot-api-secret-token".into(), SECRET.into())];
        let request = WebRequest::posted(headers, Bytes::from(bytes));
        assert_eq!(adapter.receive(request, &judge).await.status, 200);
    }
    let taken = judge.taken.load(Ordering::Relaxed);
    assert!(taken > count / 20, "only {taken} of {count} made sense: the fuzzing is too wild");
    let grown = memory().saturating_sub(early.unwrap());
    assert!(grown < GROWTH_MAX, "grown by {grown} bytes");
}

#[tokio::test(start_paused = true)]
async fn updates_of_any_shape_are_survived() {
    fuzz(4_000, "some").await;
}

#[tokio::test(start_paused = true)]
#[ignore = "the whole of it: scripts/fuzz-adapters"]
async fn a_hundred_thousand_updates_of_any_shape_are_survived() {
    fuzz(100_000, "all").await;
}
