//! Encrypted rooms, on a real homeserver, with people whose clients encrypt.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch the machine and fail by panicking"
)]

use crate::matrix::homeserver::join;
use crate::matrix::keys::{Cryptic, MemoryKeep};
use crate::matrix::support::*;
use crate::matrix::trouble::{US, ok, ordinary};
use insula_adapters::matrix::Matrix;
use insula_channel::{
    Adapter as _, AttachmentKind, Body, ConnectFault, FetchError, File, Happening, Outbound as _,
    OwnSign, Post, PostError,
};
use insula_domain::ChatType;
use insula_testkit::Upstream;
use insula_testkit::synapse::{Person, Synapse};
use insula_testkit::upstream::{Seen, Step, answer};
use insula_world::World;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A homeserver, somebody, a bot that listens, and an encrypted room for two.
struct Place {
    server: Synapse,
    ann: Cryptic,
    bot: Person,
    matrix: Arc<Matrix>,
    keep: Arc<MemoryKeep>,
    kept: Arc<RecordingInbox>,
    listening: Listening,
    room: String,
}

impl Place {
    async fn start() -> Self {
        Self::start_in(&World::real().unwrap()).await
    }

    async fn start_in(clock: &World) -> Self {
        let server = Synapse::start().unwrap();
        let [ann, bot] = server.people(["ann", "bot"]);
        let matrix = Arc::new(adapter_in(clock, &server.url(), Some(&bot.id), &bot.token));
        let keep = Arc::new(MemoryKeep::default());
        let kept = RecordingInbox::with(&keep);
        let listening = Listening::begin(&matrix, &kept).await;
        let ann = Cryptic::new(ann).await;
        let room = ann.make_room(&bot.id);
        join(&matrix, &kept, &room).await;
        Self { server, ann, bot, matrix, keep, kept, listening, room }
    }

    /// Another adapter over the same keys and the same cursor: as after a restart.
    async fn restart(mut self) -> Self {
        self.listening.stop().await;
        self.matrix = Arc::new(adapter(&self.server.url(), Some(&self.bot.id), &self.bot.token));
        self.listening = Listening::start(&self.matrix, &self.kept);
        self
    }

    /// Waits until the adapter listens: it has its keys then.
    async fn say_and_hear(&self, text: &str) {
        let id = self.ann.say(&self.room, text).await;
        assert_eq!(&*said(&self.kept.event(&id).await).words.all(), text);
    }

    fn post(&self, key: &str, text: &str) -> Post {
        post(target(&self.room, None), key, text)
    }

    /// That the bot said nothing here that anybody without a key can read.
    fn was_never_plain(&self) {
        let sent = self.ann.sent_by(&self.bot.id, &self.room);
        let kinds: Vec<_> = sent.iter().map(|event| event["type"].clone()).collect();
        assert!(kinds.iter().all(|kind| kind == "m.room.encrypted"), "{sent:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_said_in_an_encrypted_room_is_read_and_answered_under_a_key() {
    let place = Place::start().await;
    let Place { ann, matrix, kept, room, bot, .. } = &place;
    let id = ann.say(room, "hello").await;
    let heard = kept.event(&id).await;
    assert_eq!((heard.address.chat_type, &*said(&heard).words.all()), (ChatType::Dm, "hello"));
    assert_eq!(heard.address.user.as_ref().unwrap().as_str(), ann.person.id);

    let posted = matrix.post(&place.post("k1", "our **answer**")).await.unwrap().message;
    let read = ann.event(&posted.0).await;
    assert_eq!(read["was_encrypted"], true);
    assert_eq!(read["content"]["formatted_body"], "our <strong>answer</strong>");
    // The same again is the same.
    assert_eq!(matrix.post(&place.post("k1", "our **answer**")).await.unwrap().message, posted);

    // A change, a reply to what was encrypted, a thread.
    let body = Body { markdown: "our other answer".into(), ..Body::default() };
    matrix.edit(&target(room, None), &posted, &body).await.unwrap();
    let changed = ann
        .hear(|event| {
            let new = event["content"]["m.new_content"]["body"].as_str()?;
            let of = event["content"]["m.relates_to"]["event_id"].as_str()?;
            Some((new.to_owned(), of.to_owned(), event["was_encrypted"] == true))
        })
        .await;
    assert_eq!(changed, ("our other answer".to_owned(), posted.0.to_string(), true));
    let reply = json!({
        "msgtype": "m.text", "body": "really?",
        "m.relates_to": { "m.in_reply_to": { "event_id": &*posted.0 } },
    });
    let id = ann.send(room, &reply).await;
    let heard = kept.event(&id).await;
    let quoted = said(&heard).quoted.clone().unwrap();
    assert!(quoted.is_ours);
    assert!(quoted.text.starts_with("our "), "{quoted:?}");
    let in_thread = json!({
        "msgtype": "m.text", "body": "there",
        "m.relates_to": { "rel_type": "m.thread", "event_id": id, "is_falling_back": true },
    });
    let id_in_thread = ann.send(room, &in_thread).await;
    let heard = kept.event(&id_in_thread).await;
    assert_eq!(heard.address.topic.as_ref().unwrap().as_str(), id);

    // Nothing that anybody could read: no reaction either, which would stand there for all.
    matrix.react(&target(room, None), &message_id(&id), OwnSign::Working, true).await;
    matrix.post(&place.post("k2", "the last")).await.unwrap();
    place.was_never_plain();

    // What an operator is told of it.
    let us = matrix.identify().await.unwrap();
    assert!(us.missing.is_empty(), "{us:?}");
    let who = bot.get("GET", "/account/whoami", None);
    let device = who["device_id"].as_str().unwrap();
    assert!(us.about[0].contains("encrypted rooms work"), "{us:?}");
    assert!(us.about[0].contains(device) && us.about[0].contains("fingerprint"), "{us:?}");
    assert!(us.about[0].contains("signed with the account's own keys"), "{us:?}");
    // Others see the device as signed by its owner.
    let keys = json!({ "device_keys": { &*bot.id: [] } });
    let keys = ann.person.get("POST", "/keys/query", Some(&keys));
    let signatures = &keys["device_keys"][&*bot.id][device]["signatures"][&*bot.id];
    assert_eq!(signatures.as_object().unwrap().len(), 2, "{keys:#}");
    // Another process is told the same fingerprint by the server.
    let other = adapter(&place.server.url(), Some(&bot.id), &bot.token);
    let there = other.identify().await.unwrap();
    let fingerprint = us.about[0].rsplit("fingerprint ").next().unwrap();
    assert!(there.about[0].ends_with(fingerprint), "{there:?} {us:?}");
    place.listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_encrypted_rooms_are_encrypted_both_ways() {
    let place = Place::start().await;
    let Place { ann, matrix, kept, room, .. } = &place;
    place.say_and_hear("first").await;
    let content = b"what nobody else may see".as_slice();
    let mut reader = content;
    let mut encryptor = matrix_sdk_crypto::AttachmentEncryptor::new(&mut reader);
    let mut sealed = vec![];
    std::io::Read::read_to_end(&mut encryptor, &mut sealed).unwrap();
    let mut file = json!(encryptor.finish());
    file["url"] = ann.person.upload(&sealed).into();
    let key = file["key"]["k"].as_str().unwrap().to_owned();
    let event = |file: &Value| {
        json!({
            "msgtype": "m.image", "body": "a.png", "file": file,
            "info": { "mimetype": "image/png", "size": content.len() },
        })
    };
    let heard = kept.event(&ann.send(room, &event(&file)).await).await;
    let attachment = &said(&heard).attachments[0];
    assert_eq!((attachment.kind, &*attachment.name), (AttachmentKind::Image, "a.png"));
    // The key is nowhere that others keep.
    assert!(!format!("{heard:?}").contains(&key), "{heard:?}");
    assert_eq!(&matrix.fetch(attachment, 1_000).await.unwrap()[..], content);
    assert_eq!(matrix.fetch(attachment, 3).await, Err(FetchError::TooLarge));
    // One that was changed on its way.
    sealed[0] ^= 1;
    file["url"] = ann.person.upload(&sealed).into();
    let heard = kept.event(&ann.send(room, &event(&file)).await).await;
    let fetched = matrix.fetch(&said(&heard).attachments[0], 1_000).await;
    assert!(matches!(fetched, Err(FetchError::Failed(PostError::Never { .. }))), "{fetched:?}");
    // A handle that somebody made up.
    let made_up = json!({ "msgtype": "m.file", "body": "x", "url": "sealed:7b7d" });
    let id = ann.send(room, &made_up).await;
    let after = ann.say(room, "after").await;
    kept.event(&after).await;
    let none = kept.all().iter().all(|it| {
        *it.event.0 != *id || !matches!(&it.what, Happening::Said(it) if !it.attachments.is_empty())
    });
    assert!(none);

    // Out.
    let file = File {
        name: "secret-name.txt".into(),
        media_type: "text/plain".into(),
        content: content.to_vec().into(),
    };
    let body = Body { files: vec![file], ..Body::default() };
    let post = Post { body, ..place.post("f1", "") };
    let id = matrix.post(&post).await.unwrap().message;
    let read = ann.event(&id.0).await;
    assert_eq!(read["was_encrypted"], true);
    let file = &read["content"]["file"];
    let url = file["url"].as_str().unwrap();
    assert!(read["content"].get("url").is_none());
    let stored = insula_channel::Attachment { handle: url.into(), ..attachment.clone() };
    let stored = matrix.fetch(&stored, 1_000).await.unwrap();
    assert_ne!(&stored[..], content);
    let key = serde_json::from_value(file.clone()).unwrap();
    let mut stored = &stored[..];
    let mut plain = vec![];
    let mut decryptor = matrix_sdk_crypto::AttachmentDecryptor::new(&mut stored, key).unwrap();
    std::io::Read::read_to_end(&mut decryptor, &mut plain).unwrap();
    assert_eq!(plain, content);
    place.was_never_plain();
    place.listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_outlive_a_restart_and_what_was_said_meanwhile_is_read() {
    let place = Place::start().await;
    place.say_and_hear("before").await;
    place.matrix.post(&place.post("k1", "ours before")).await.unwrap();
    let before = place.matrix.identify().await.unwrap().about;
    let place = {
        let Place { listening, ann, bot, server, keep, kept, room, matrix } = place;
        listening.stop().await;
        // Under the key that the bot has, and under a new one.
        ann.say(&room, "meanwhile").await;
        ann.machine.discard_room_key(&ruma::RoomId::parse(&*room).unwrap()).await.unwrap();
        ann.say(&room, "under a new key").await;
        let again = Arc::new(adapter(&server.url(), Some(&bot.id), &bot.token));
        drop(matrix);
        let listening = Listening::start(&again, &kept);
        Place { listening, ann, bot, server, keep, kept, room, matrix: again }
    };
    place.say_and_hear("after").await;
    assert_eq!(place.kept.texts(), ["before", "meanwhile", "under a new key", "after"]);
    assert_eq!(place.matrix.identify().await.unwrap().about, before);
    let posted = place.matrix.post(&place.post("k2", "ours after")).await.unwrap().message;
    assert_eq!(place.ann.event(&posted.0).await["content"]["body"], "ours after");
    place.was_never_plain();
    place.listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_came_for_the_device_is_neither_lost_nor_taken_twice_where_the_cursor_stays_behind() {
    let mut place = Place::start().await;
    place.say_and_hear("first").await;
    // Its keys are kept, and then the journal takes nothing: as if killed in between.
    for round in 0..3 {
        let room_id = ruma::RoomId::parse(&*place.room).unwrap();
        place.ann.machine.discard_room_key(&room_id).await.unwrap();
        let cursor = place.kept.cursor_now();
        place.kept.refuses.store(true, Ordering::SeqCst);
        let text = format!("message {round}");
        let id = place.ann.say(&place.room, &text).await;
        let fault = place.listening.fails().await;
        assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
        assert_eq!(place.kept.cursor_now(), cursor);
        assert!(place.keep.count("seen/") > 0);
        place.kept.refuses.store(false, Ordering::SeqCst);
        place.matrix =
            Arc::new(adapter(&place.server.url(), Some(&place.bot.id), &place.bot.token));
        place.listening = Listening::start(&place.matrix, &place.kept);
        assert_eq!(&*said(&place.kept.event(&id).await).words.all(), text);
    }
    // The session between the devices is the first still: nobody took a repetition for damage.
    place.say_and_hear("the last").await;
    assert_eq!(place.keep.count("olm/"), 1);
    // And what can't come again is not remembered for ever.
    place.say_and_hear("really the last").await;
    let room_id = ruma::RoomId::parse(&*place.room).unwrap();
    for _ in 0..3 {
        place.ann.machine.discard_room_key(&room_id).await.unwrap();
        place.say_and_hear("under yet another key").await;
    }
    assert_eq!(place.keep.count("seen/"), 1);
    place.listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_without_a_key_waits_for_it_and_the_room_is_told_once() {
    let (clock, handles) = insula_testkit::world(7);
    let place = Place::start_in(&clock).await;
    let Place { ann, kept, room, matrix, keep, .. } = &place;
    let key = ann.key_for(room).await;
    let content = json!({ "msgtype": "m.text", "body": "read me" });
    let first = ann.say_keyless(room, &content).await;
    let plain = ann.person.say(room, "not encrypted");
    kept.event(&plain).await;
    assert_eq!(keep.count("waiting/"), 1);
    // A key may be late: nobody is told at once.
    let is_notice = |event: &Value| {
        let body = event["content"]["body"].as_str()?;
        body.contains("could not read").then(|| event.clone())
    };
    handles.clock.advance(Duration::from_secs(59)).await;
    kept.event(&ann.person.say(room, "a minute is not over")).await;
    assert_eq!(keep.count("told/"), 0);
    handles.clock.advance(Duration::from_secs(2)).await;
    kept.event(&ann.person.say(room, "now it is")).await;
    let notice = ann.hear(is_notice).await;
    assert_eq!(
        (&notice["content"]["msgtype"], &notice["was_encrypted"]),
        (&json!("m.notice"), &json!(true))
    );
    // Once.
    let second = ann.say_keyless(room, &content).await;
    handles.clock.advance(Duration::from_secs(600)).await;
    kept.event(&ann.person.say(room, "and much later")).await;
    kept.event(&ann.person.say(room, "and later")).await;
    matrix.post(&place.post("k", "the last")).await.unwrap();
    place.was_never_plain();
    assert_eq!(ann.sent_by(&place.bot.id, room).len(), 2);

    // The key comes after a restart.
    let place = place.restart().await;
    for request in &key {
        place.ann.tell(request).await;
    }
    for id in [&first, &second] {
        let heard = place.kept.event(id).await;
        assert_eq!(&*said(&heard).words.all(), "read me");
        assert_eq!(heard.address.chat_type, ChatType::Dm);
    }
    place.say_and_hear("and on").await;
    assert_eq!(place.keep.count("waiting/"), 0);
    place.listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_room_that_becomes_encrypted_is_answered_so_from_then_on() {
    let place = Place::start().await;
    let Place { ann, matrix, kept, bot, .. } = &place;
    let room = ann.person.make_direct(&bot.id);
    join(matrix, kept, &room).await;
    kept.event(&ann.person.say(&room, "plain")).await;
    matrix.post(&post(target(&room, None), "p1", "plain too")).await.unwrap();
    let on = json!({ "algorithm": "m.megolm.v1.aes-sha2" });
    ann.person.get("PUT", &format!("/rooms/{room}/state/m.room.encryption"), Some(&on));
    kept.event(&ann.say(&room, "under a key").await).await;
    let id = matrix.post(&post(target(&room, None), "p2", "under ours")).await.unwrap().message;
    assert_eq!(ann.event(&id.0).await["was_encrypted"], true);
    let sent = ann.sent_by(&bot.id, &room);
    let kinds: Vec<_> = sent.iter().rev().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["m.room.message", "m.room.encrypted"]);
    place.listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_keys_nothing_is_said_in_an_encrypted_room() {
    let place = Place::start().await;
    place.say_and_hear("before anything goes wrong").await;
    let Place { server, ann, bot, matrix, keep, kept: journal, listening: connected, room } = place;
    let room = &*room;
    let post = |key: &str| post(target(room, None), key, "plain?");
    // No place for keys.
    let without = Arc::new(adapter(&server.url(), Some(&bot.id), &bot.token));
    let kept = Arc::new(RecordingInbox::default());
    let listening = Listening::begin(&without, &kept).await;
    let refused = without.post(&post("k1")).await;
    assert!(matches!(refused, Err(PostError::Never { .. })), "{refused:?}");
    let body = Body { markdown: "plain?".into(), ..Body::default() };
    let edited = without.edit(&target(room, None), &message_id("$x"), &body).await;
    assert!(edited.is_err());
    without.react(&target(room, None), &message_id("$x"), OwnSign::Working, true).await;
    listening.stop().await;
    // Not connected yet.
    let refused = without.post(&post("k2")).await;
    assert!(refused.is_err(), "{refused:?}");
    // Keys that can't be written.
    keep.refuses.store(true, Ordering::SeqCst);
    let refused = matrix.post(&post("k3")).await;
    assert!(matches!(refused, Err(PostError::Later { .. })), "{refused:?}");
    assert_eq!(ann.sent_by(&bot.id, room), Vec::<Value>::new());
    // The connection ends, and goes on where the keys were.
    ann.person.say(room, "anything");
    let fault = connected.fails().await;
    assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
    keep.refuses.store(false, Ordering::SeqCst);
    let listening = Listening::start(&matrix, &journal);
    journal.event(&ann.say(room, "there is room again").await).await;
    matrix.post(&post("k3")).await.unwrap();
    let sent = ann.sent_by(&bot.id, room);
    assert_eq!((sent.len(), &sent[0]["type"]), (1, &json!("m.room.encrypted")));
    listening.stop().await;

    // Keys that were lost: the device is another's now, by what the server knows.
    keep.lose();
    let kept = RecordingInbox::with(&keep);
    let again = Arc::new(adapter(&server.url(), Some(&bot.id), &bot.token));
    let listening = Listening::begin(&again, &kept).await;
    let us = again.identify().await.unwrap();
    assert!(us.missing.iter().any(|it| it.contains("log in anew")), "{us:?}");
    assert!(again.post(&post("k4")).await.is_err());
    assert_eq!(ann.sent_by(&bot.id, room).len(), 1);
    listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_say_whether_a_room_is_encrypted_gets_no_message_for_it() {
    let world = World::real().unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let script = move |seen: &Seen, _: usize| {
        if seen.line.starts_with("PUT") && seen.line.contains("/send/") {
            count.fetch_add(1, Ordering::SeqCst);
        }
        if let Some(value) = ordinary(seen) {
            return ok(&value);
        }
        if seen.line.contains("/state/m.room.encryption") {
            return vec![answer(502, &[], "<html>")];
        }
        if seen.line.contains("/sync") {
            return vec![Step::Hang];
        }
        ok(&json!({ "event_id": "$1" }))
    };
    let server = Upstream::start(&world, script).await.unwrap();
    let matrix = adapter(&server.url(""), Some(US), "t");
    let refused = matrix.post(&post(target("!r:x", None), "k", "hello")).await;
    assert!(matches!(refused, Err(PostError::Later { .. })), "{refused:?}");
    assert_eq!(sent.load(Ordering::SeqCst), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_speaks_for_another_and_nothing_is_said_twice() {
    let place = Place::start().await;
    let Place { ann, kept, room, server, .. } = &place;
    let [bob] = server.people(["bob"]);
    ann.person.invite(room, &bob.id);
    bob.join(room);
    let bob = Cryptic::new(bob).await;
    ann.sync(0).await;
    let first = ann.say(room, "ann's words").await;
    assert_eq!(kept.event(&first).await.address.user.unwrap().as_str(), ann.person.id);
    // Her message again, by another who can't write under her key.
    let raw = bob.person.get("GET", &format!("/rooms/{room}/event/{first}"), None);
    let forged = bob.person.send_kind(room, "m.room.encrypted", &raw["content"]);
    // And as another event of hers.
    let again = ann.person.send_kind(room, "m.room.encrypted", &raw["content"]);
    // What a server has to judge is not said under a key.
    let room_id = ruma::RoomId::parse(&**room).unwrap();
    let content =
        ruma::serde::Raw::from_json_string(json!({ "redacts": first }).to_string()).unwrap();
    let hidden = ann.machine.encrypt_room_event_raw(&room_id, "m.room.redaction", &content).await;
    let hidden: Value = serde_json::from_str(hidden.unwrap().content.json().get()).unwrap();
    let hidden = ann.person.send_kind(room, "m.room.encrypted", &hidden);
    place.say_and_hear("the end").await;
    for id in [forged, again, hidden] {
        assert!(kept.all().iter().all(|it| *it.event.0 != *id), "{:#?}", kept.all());
    }
    // Somebody who came has our next key; who went has not.
    let id = place.matrix.post(&place.post("k1", "for three")).await.unwrap().message;
    assert_eq!(bob.event(&id.0).await["content"]["body"], "for three");
    ann.person.kick(room, &bob.person.id);
    kept.find(|all| all.iter().any(|it| it.what == Happening::Left).then_some(())).await;
    let id = place.matrix.post(&place.post("k2", "for two")).await.unwrap().message;
    assert_eq!(ann.event(&id.0).await["content"]["body"], "for two");
    place.listening.stop().await;
}
