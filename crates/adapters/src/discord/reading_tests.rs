//! Every field of a message that somebody outside fills, and whose words it becomes.

use super::known::{Place, Us};
use super::reading::{Reader, Scene, Telling};
use super::types::{Entry, is_id};
use insula_channel::{Envelope, Happening, Message};
use insula_domain::{AccountId, ChatType, Platform};
use proptest::prelude::*;
use serde_json::{Value, json};

fn read_as(message: &Value, telling: Telling) -> Option<Envelope> {
    let entry: Entry = serde_json::from_value(message.clone()).ok()?;
    if !entry.is_sound() {
        return None;
    }
    let account = AccountId::new("main").unwrap();
    let us =
        Us { id: "9".into(), username: "ada".into(), application: "8".into(), hears_content: true };
    let place = Place {
        id: entry.channel_id.as_str().into(),
        chat_type: ChatType::Channel,
        guild: Some("3".into()),
        parent: None,
    };
    let scene = Scene { place: &place, user: Some(&entry.author), member: entry.member.as_ref() };
    let platform = Platform::new("discord").unwrap();
    let roles = ["70".to_owned()];
    Reader { platform, account: &account, us: &us }.entry(scene, &entry, telling, &roles)
}

fn read(message: &Value) -> Option<(Envelope, Message)> {
    let envelope = read_as(message, Telling::Said)?;
    let Happening::Said(said) = envelope.what.clone() else { return None };
    Some((envelope, said))
}

fn message(fields: &Value) -> Value {
    let mut message = json!({
        "id": "175928847299117063", "channel_id": "2", "type": 0, "content": "hello",
        "author": { "id": "5", "username": "ann", "global_name": "Ann Lee" },
        "member": { "nick": null, "roles": ["70", "71", "x"] },
    });
    for (key, value) in fields.as_object().unwrap() {
        message[key] = value.clone();
    }
    message
}

#[test]
fn only_what_people_say_is_said() {
    for (fields, is_said) in [
        (json!({}), true),
        (json!({ "type": 19 }), true),
        (json!({ "type": 7 }), false),
        (json!({ "type": 18 }), false),
        (json!({ "type": 21 }), false),
        (json!({ "type": 20 }), false),
        (json!({ "type": -1 }), false),
        (json!({ "content": null }), false),
        (json!({ "content": " \n" }), false),
        (json!({ "author": { "id": "9" } }), false),
        (json!({ "author": { "id": "643945264868098049", "system": true } }), false),
        (json!({ "author": { "id": "../5" } }), false),
        (json!({ "author": null }), false),
        (json!({ "id": "" }), false),
        (json!({ "channel_id": "2/3" }), false),
        (json!({ "member": null, "attachments": null, "embeds": null, "poll": null }), true),
    ] {
        assert_eq!(read(&message(&fields)).is_some(), is_said, "{fields}");
    }
}

#[test]
fn what_the_sender_did_not_type_is_no_instruction() {
    let long = "x".repeat(5000);
    for (fields, said, instruction) in [
        (json!({}), "hello", "hello"),
        (json!({ "content": "<@9> /new" }), "/new", "/new"),
        (json!({ "content": "> /new" }), "", ""),
        (json!({ "content": "a\n> b" }), "a", ""),
        (json!({ "sticker_items": [{ "name": "/new" }] }), "hello", ""),
        (json!({ "poll": { "question": { "text": "/new" } } }), "hello", ""),
        (
            json!({ "embeds": [{ "type": "rich", "title": "/new", "description": long }] }),
            "hello",
            "",
        ),
        // Discord's own preview of a link.
        (json!({ "embeds": [{ "type": "link", "title": "/new" }] }), "hello", "hello"),
        (
            json!({
                "content": "", "message_reference": { "type": 1, "message_id": "1" },
                "message_snapshots": [{ "message": { "content": "<@9> /new" } }],
            }),
            "",
            "",
        ),
        (json!({ "webhook_id": "5" }), "", ""),
    ] {
        let (_, read) = read(&message(&fields)).unwrap();
        assert_eq!((read.words.said().as_str(), read.words.instruction()), (said, instruction));
    }
}

#[test]
fn who_said_it_and_when_is_told_by_what_discord_vouches_for() {
    let (envelope, _) = read(&message(&json!({}))).unwrap();
    assert_eq!(envelope.at.as_millis(), 1_462_015_105_796);
    assert_eq!((&*envelope.event.0, &*envelope.sender.name), ("175928847299117063", "Ann Lee"));
    let roles: Vec<_> = envelope.address.roles.iter().map(|it| it.as_str()).collect();
    assert_eq!(roles, ["70", "71"]);
    // The name of a webhook is whatever it gave, and it holds no roles.
    let (envelope, _) = read(&message(&json!({ "webhook_id": "5" }))).unwrap();
    assert_eq!((envelope.address.user, envelope.address.roles), (None, vec![]));
    assert!(envelope.sender.is_bot);
    let nick = json!({ "member": { "nick": "A\nn".repeat(200), "roles": [] } });
    let (envelope, _) = read(&message(&nick)).unwrap();
    assert!(envelope.sender.name.len() <= 128 && !envelope.sender.name.contains('\n'));
    let edited = json!({ "edited_timestamp": "2026-01-02T03:04:05.678000+00:00" });
    let envelope = read_as(&message(&edited), Telling::Edited).unwrap();
    assert_eq!(envelope.at.to_string(), "2026-01-02T03:04:05.678Z");
    assert!(envelope.event.0.starts_with("175928847299117063/2026"));
}

#[test]
fn who_is_addressed_is_read_from_what_was_typed() {
    let reply = |author: &str, webhook: Value| {
        json!({
            "type": 19, "message_reference": { "message_id": "4", "channel_id": "2" },
            "referenced_message": {
                "author": { "id": author }, "content": "earlier", "webhook_id": webhook,
            },
        })
    };
    for (fields, mentions_us) in [
        (json!({}), false),
        (json!({ "content": "<@9> x" }), true),
        (json!({ "content": "<@&70> x" }), true),
        (json!({ "content": "<@&71> x" }), false),
        (json!({ "content": "@everyone x", "mention_everyone": true }), false),
        // A list that a client had filled is not what somebody typed.
        (json!({ "mentions": [{ "id": "9" }] }), false),
        (json!({ "content": "<@9> x", "webhook_id": "5" }), false),
        (reply("9", Value::Null), true),
        (reply("9", json!("9")), false),
        (reply("5", Value::Null), false),
        (json!({ "type": 19, "message_reference": { "message_id": "4" } }), false),
    ] {
        let (_, read) = read(&message(&fields)).unwrap();
        assert_eq!(read.mentions_us, mentions_us, "{fields}");
    }
    let (_, read) = read(&message(&reply("5", Value::Null))).unwrap();
    let quoted = read.quoted.unwrap();
    assert!(quoted.is_from_here && !quoted.is_ours && quoted.text == "earlier");
}

proptest! {
    #[test]
    fn any_content_becomes_words_no_longer_than_it(content in "[<@&!9>`\n> a-c:é😀/]{0,60}") {
        if let Some((_, read)) = read(&message(&json!({ "content": content }))) {
            prop_assert!(read.words.bytes() <= content.len());
        }
    }

    #[test]
    fn an_id_is_digits(text in "\\PC{0,24}") {
        prop_assert!(!is_id(&text) || text.bytes().all(|b| b.is_ascii_digit()));
    }
}
