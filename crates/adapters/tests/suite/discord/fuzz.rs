//! Whatever an event holds: no panic, no wrong place, nothing larger than what came, and what comes
//! behind it is heard.
//!
//! `scripts/fuzz-adapters` runs the whole of it; the normal run a part.

use crate::called::noise::{Dice, GROWTH_MAX, memory};
use crate::discord::support::bench;
use async_trait::async_trait;
use insula_channel::{Cursor, Envelope, Happening, Inbox, NotTaken};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Events between two looks.
const BATCH: usize = 100;

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
            assert_eq!((address.platform.as_str(), address.account.as_str()), ("discord", "main"));
            assert!(raw.contains(address.chat.as_str()), "{address:?}");
            for id in address.user.iter().map(|it| it.as_str()) {
                assert!(raw.contains(id), "{address:?}");
            }
            for role in &address.roles {
                assert!(raw.contains(role.as_str()), "{address:?}");
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
        Ok(None)
    }

    fn alive(&self) {}
}

/// Events as they come, to begin from.
fn corpus(town: &str, ann: &str, guild: &str, bot: &str) -> Vec<(&'static str, Value)> {
    let author = json!({ "id": ann, "username": "ann", "global_name": "Ann", "bot": false });
    let member = json!({ "user": author, "nick": "Annie", "roles": ["70", "71"] });
    let said = json!({
        "id": "175928847299117063", "channel_id": town, "guild_id": guild, "type": 19,
        "author": author, "member": member, "content": format!("> q\n<@{bot}> `x` <@&70> hello"),
        "mention_roles": ["70"], "edited_timestamp": "2026-01-02T03:04:05.678000+00:00",
        "flags": 8192, "mentions": [{ "id": bot }],
        "attachments": [{ "id": "8", "filename": "n", "size": 5, "content_type": "audio/ogg" }],
        "message_reference": { "message_id": "7", "channel_id": town },
        "referenced_message": { "author": { "id": bot }, "content": "earlier" },
        "sticker_items": [{ "name": "s" }], "embeds": [{ "type": "rich", "title": "t" }],
    });
    let passed = json!({
        "id": "175928847299117064", "channel_id": town, "author": author, "type": 0,
        "webhook_id": null, "message_reference": { "type": 1, "message_id": "7" },
        "message_snapshots": [{ "message": { "content": "passed", "attachments": [] } }],
        "poll": { "question": { "text": "?" }, "answers": [{ "poll_media": { "text": "y" } }] },
    });
    let reaction = json!({
        "user_id": ann, "channel_id": town, "message_id": "7", "message_author_id": bot,
        "member": member, "emoji": { "id": null, "name": "👍" },
    });
    let interaction = |kind: u64| {
        json!({
            "id": "175928847299117065", "token": "t", "type": kind, "channel_id": town,
            "member": member, "message": { "id": "7" },
            "data": { "custom_id": "a.b", "name": "new", "options": [{ "value": "x" }] },
        })
    };
    let channel = json!({ "id": "55", "type": 11, "guild_id": guild, "parent_id": town });
    vec![
        ("MESSAGE_CREATE", said.clone()),
        ("MESSAGE_CREATE", passed),
        ("MESSAGE_UPDATE", said),
        ("MESSAGE_DELETE", json!({ "id": "7", "channel_id": town, "guild_id": guild })),
        ("MESSAGE_DELETE_BULK", json!({ "ids": ["7", "8"], "channel_id": town })),
        ("MESSAGE_REACTION_ADD", reaction.clone()),
        ("MESSAGE_REACTION_REMOVE", reaction),
        ("INTERACTION_CREATE", interaction(2)),
        ("INTERACTION_CREATE", interaction(3)),
        (
            "GUILD_CREATE",
            json!({ "id": guild, "channels": [channel], "threads": [], "members": [member] }),
        ),
        ("THREAD_CREATE", channel.clone()),
        ("THREAD_LIST_SYNC", json!({ "guild_id": guild, "threads": [channel] })),
        ("CHANNEL_UPDATE", channel.clone()),
        ("THREAD_DELETE", channel),
        (
            "GUILD_MEMBER_UPDATE",
            json!({ "guild_id": guild, "user": { "id": bot }, "roles": ["70"] }),
        ),
        ("TYPING_START", json!({ "user_id": ann })),
    ]
}

async fn fuzz(count: usize, seed: &str) {
    let bench = bench().await;
    let judge = Arc::new(Judge {
        raw: Mutex::default(),
        taken: AtomicUsize::new(0),
        marks: watch::channel(0).0,
    });
    let known = format!("{} {} {} {}", bench.town, bench.ann, bench.bot, bench.guild);
    judge.raw.lock().unwrap().clone_from(&known);
    let (adapter, stop) = (bench.adapter(), CancellationToken::new());
    let task = {
        let (judge, stop) = (judge.clone(), stop.clone());
        tokio::spawn(async move { adapter.listen(&*judge, &stop).await })
    };
    bench.platform.until(|platform| platform.sockets() == 1).await;
    let corpus = corpus(&bench.town, &bench.ann, &bench.guild, &bench.bot);
    let mut dice = Dice::new(&bench.world, seed);
    let mut early = None;
    for number in 0..count.div_ceil(BATCH) {
        if early.is_none() && number > count / BATCH / 10 {
            early = Some(memory());
        }
        let mut raw = known.clone();
        let mut events = Vec::new();
        for _ in 0..BATCH {
            let (event, mut data) = corpus[dice.below(corpus.len())].clone();
            for _ in 0..dice.below(4) {
                dice.mutate(&mut data);
            }
            raw.push_str(&data.to_string());
            events.push((event, data));
        }
        *judge.raw.lock().unwrap() = raw;
        for (event, data) in events {
            bench.platform.event(&bench.bot, event, &data);
            if dice.below(10) == 0 {
                let mut noise = dice.value(4).to_string().into_bytes();
                dice.garble(&mut noise);
                bench.platform.raw(&String::from_utf8_lossy(&noise));
            }
        }
        bench.platform.raw(&format!("{}{}", "[".repeat(5000), "{\"a\":".repeat(5000)));
        bench.say("mark");
        judge.marks.subscribe().wait_for(|marks| *marks > number).await.unwrap();
        // What it held so far is not what is measured.
        bench.platform.forget_the_past();
    }
    let taken = judge.taken.load(Ordering::Relaxed);
    assert!(taken > count / 20, "only {taken} of {count} made sense: the fuzzing is too wild");
    let grown = memory().saturating_sub(early.unwrap());
    assert!(grown < GROWTH_MAX, "grown by {grown} bytes");
    stop.cancel();
    task.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn events_of_any_shape_are_survived() {
    fuzz(4_000, "some").await;
}

#[tokio::test(start_paused = true)]
#[ignore = "the whole of it: scripts/fuzz-adapters"]
async fn a_hundred_thousand_events_of_any_shape_are_survived() {
    fuzz(100_000, "all").await;
}
