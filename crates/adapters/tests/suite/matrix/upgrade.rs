//! Rooms that are replaced by others, on a real homeserver: we go along where the new one says
//! that it continues the old, and whoever replaced it is told to the gateway as who invites.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch the machine and fail by panicking"
)]

use crate::matrix::support::*;
use insula_channel::{Envelope, Happening, Outbound as _, PostError, PostTarget};
use insula_domain::ChatType;
use insula_testkit::synapse::Synapse;
use serde_json::json;
use std::sync::Arc;

/// Waits for an envelope of this kind in a room.
async fn heard(kept: &RecordingInbox, room: &str, what: &Happening) -> Envelope {
    let is_it = |it: &&Envelope| it.address.chat.as_str() == room && it.what == *what;
    kept.find(|all| all.iter().find(is_it).cloned()).await
}

fn place(envelope: &Envelope) -> PostTarget {
    let address = &envelope.address;
    let tenant = crate::matrix::support::tenant();
    PostTarget {
        host: None,
        tenant,
        chat: address.chat.clone(),
        chat_type: address.chat_type,
        topic: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_room_that_was_upgraded_goes_on_in_the_new_one() {
    let server = Synapse::start().unwrap();
    let [ann, bob, bot] = server.people(["ann", "bob", "bot"]);
    let matrix = Arc::new(adapter(&server.url(), Some(&bot.id), &bot.token));
    let kept = Arc::new(RecordingInbox::default());
    let listening = Listening::begin(&matrix, &kept).await;
    let settings = json!({ "preset": "public_chat", "room_version": "9", "invite": [&*bot.id] });
    let old = ann.make_room(&settings);
    bob.join(&old);
    matrix.join(&place(&heard(&kept, &old, &Happening::Added).await)).await.unwrap();
    kept.event(&ann.say(&old, "hello")).await;

    let upgraded = json!({ "new_version": "10" });
    let answer = ann.get("POST", &format!("/rooms/{old}/upgrade"), Some(&upgraded));
    let new = answer["replacement_room"].as_str().unwrap().to_owned();
    let added = heard(&kept, &new, &Happening::Added).await;
    assert_eq!(added.address.user.as_ref().unwrap().as_str(), ann.id);
    assert_eq!(added.address.chat_type, ChatType::Group);
    heard(&kept, &old, &Happening::Removed).await;
    // Joining is the gateway's decision, and nothing is heard there before.
    bob.join(&new);
    bob.say(&new, "who is here?");
    matrix.join(&place(&added)).await.unwrap();
    let id = ann.say(&new, "here we are");
    let said_there = kept.event(&id).await;
    assert_eq!(said_there.address.chat.as_str(), new);
    assert_eq!(kept.texts(), ["hello", "here we are"]);
    matrix.post(&post(target(&new, None), "k1", "an answer")).await.unwrap();

    // Who points at a room that knows nothing of it takes us nowhere.
    let other = bob.make_room(&json!({ "preset": "public_chat" }));
    let mine = bob.make_room(&json!({ "preset": "public_chat", "invite": [&*bot.id] }));
    matrix.join(&place(&heard(&kept, &mine, &Happening::Added).await)).await.unwrap();
    let tombstone = json!({ "body": "moved", "replacement_room": &*other });
    bob.get("PUT", &format!("/rooms/{mine}/state/m.room.tombstone/"), Some(&tombstone));
    let added = heard(&kept, &other, &Happening::Added).await;
    let refused = matrix.join(&place(&added)).await.unwrap_err();
    assert!(matches!(refused, PostError::Never { .. }), "{refused:?}");
    let members = bob.get("GET", &format!("/rooms/{other}/joined_members"), None);
    assert!(members["joined"].get(&*bot.id).is_none(), "{members}");
    listening.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tombstone_that_makes_no_sense_is_nothing() {
    let server = Synapse::start().unwrap();
    let [ann, bot] = server.people(["ann", "bot"]);
    let matrix = Arc::new(adapter(&server.url(), None, &bot.token));
    let kept = Arc::new(RecordingInbox::default());
    let listening = Listening::begin(&matrix, &kept).await;
    let room = ann.make_room(&json!({ "invite": [&*bot.id] }));
    matrix.join(&place(&heard(&kept, &room, &Happening::Added).await)).await.unwrap();
    for content in [
        json!({ "body": "over" }),
        json!({ "body": "over", "replacement_room": 7 }),
        json!({ "body": "over", "replacement_room": "#alias:localhost" }),
        json!({ "body": "over", "replacement_room": &*room }),
    ] {
        // What the homeserver itself refuses reaches nobody.
        let path = format!("/rooms/{room}/state/m.room.tombstone/");
        ann.ask("PUT", &path, Some(&content)).unwrap();
    }
    kept.event(&ann.say(&room, "still here")).await;
    assert_eq!(kept.all().len(), 2, "{:#?}", kept.all());
    listening.stop().await;
}
