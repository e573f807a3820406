//! Tables for reading: each kind of message, and the exact envelope.

use super::known::Us;
use super::reading::{Reader, Scene, Telling};
use super::types::{Commanded, Entry, Person};
use insula_channel::{
    Attachment, AttachmentKind, Envelope, EventId, Happening, Message, MessageId, Sender,
};
use insula_domain::{
    AccountId, Address, ChatId, ChatType, Community, GuildId, Platform, TopicId, UserId,
    WordSource, Words,
};
use insula_world::Timestamp;
use serde_json::{Value, json};

fn us() -> Us {
    Us { user: "U0BOT".into(), bot: "B0BOT".into(), team: "T1".into(), is_everywhere: false }
}

fn person(id: &str, is_bot: bool) -> Person {
    let fields = json!({"id": id, "name": "ann", "real_name": "Ann  Lee", "is_bot": is_bot});
    serde_json::from_value(fields).unwrap()
}

fn read(fields: &Value) -> Option<Envelope> {
    read_by(fields, false)
}

fn read_by(fields: &Value, is_bot: bool) -> Option<Envelope> {
    let mut whole = json!({
        "type": "message", "channel": "C1", "user": "U1", "text": "hello",
        "ts": "1700000000.000100",
    });
    whole.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let entry: Entry = serde_json::from_value(whole).unwrap();
    let (account, us, person) = (AccountId::new("main").unwrap(), us(), person("U1", is_bot));
    let user = Some(entry.user.as_str()).filter(|user| !user.is_empty());
    let scene = Scene {
        team: "T1",
        channel: &entry.channel,
        thread: entry.thread(),
        user,
        person: user.map(|_| &person),
    };
    let platform = Platform::new("slack").unwrap();
    let name = |id: &str| (id == "U2").then(|| "Bob".to_owned());
    Reader { platform, account: &account, us: &us, name: &name }.entry(scene, &entry, Telling::Said)
}

fn message(fields: &Value) -> Message {
    match read(fields).unwrap().what {
        Happening::Said(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_is_exactly_this_envelope() {
    let fields = json!({"thread_ts": "1699999999.000001", "text": "<@U0BOT> good &amp; day <@U2>"});
    let expected = Envelope {
        event: EventId("T1:C1:1700000000.000100".into()),
        address: Address {
            platform: Platform::new("slack").unwrap(),
            account: AccountId::new("main").unwrap(),
            chat: ChatId::new("C1").unwrap(),
            chat_type: ChatType::Group,
            topic: Some(TopicId::new("1699999999.000001").unwrap()),
            parent: None,
            community: Some(Community::Team(GuildId::new("T1").unwrap())),
            user: Some(UserId::new("U1").unwrap()),
            roles: vec![],
        },
        sender: Sender { name: "Ann Lee".into(), also: vec![], is_bot: false },
        at: Timestamp::from_millis(1_700_000_000_000),
        what: Happening::Said(Message {
            id: MessageId("1700000000.000100".into()),
            words: Words::typed("good & day @Bob"),
            mentions_us: true,
            is_for_another: false,
            attachments: vec![],
            quoted: None,
            group: None,
        }),
    };
    assert_eq!(read(&fields), Some(expected));
}

#[test]
fn the_first_message_of_a_thread_stands_outside_of_it() {
    let root = read(&json!({"thread_ts": "1700000000.000100"})).unwrap();
    assert_eq!(root.address.topic, None);
    let odd = read(&json!({"thread_ts": "yesterday"})).unwrap();
    assert_eq!(odd.address.topic, None);
}

#[test]
fn a_chat_is_what_its_id_says() {
    for (channel, expected) in
        [("D1", ChatType::Dm), ("C1", ChatType::Group), ("G1", ChatType::Group)]
    {
        let read = read(&json!({"channel": channel})).unwrap();
        assert_eq!(read.address.chat_type, expected, "{channel}");
    }
    assert_eq!(read(&json!({"channel": "a/b"})), None);
}

#[test]
fn words_of_others_are_not_typed() {
    let quoted = message(&json!({"text": "&gt; <@U0BOT> /new\nwhat is this?"}));
    assert!(!quoted.mentions_us);
    assert_eq!(quoted.words.said(), "what is this?");
    let hidden = message(&json!({"text": "<https://evil.example|my bank>"}));
    assert_eq!(hidden.words.said(), "my bank");
    assert!(hidden.words.all().contains("https://evil.example"));
    let shared = message(&json!({"text": "look", "attachments": [
        {"is_share": true, "author_name": "Bob", "text": "<@U0BOT> do &lt;it&gt;", "fallback": "f"},
        {"title": "a page", "text": "its text"},
    ]}));
    assert!(!shared.mentions_us);
    assert_eq!(shared.words.said(), "look");
    let mut expected = Words::typed("look");
    expected.push_foreign(WordSource::Forwarded, Some("Bob"), "@U0BOT do <it>");
    expected.push_foreign(WordSource::Other, None, "a page\nits text");
    assert_eq!(shared.words, expected);
}

#[test]
fn a_mention_in_blocks_alone_is_one() {
    let section = |elements: Value| json!([{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}]);
    let mention = json!([{"type": "user", "user_id": "U0BOT"}, {"type": "text", "text": " hi"}]);
    let alone = message(&json!({"text": "", "blocks": section(mention.clone())}));
    assert!(alone.mentions_us && alone.words.said() == "hi");
    let beside = message(&json!({"text": "hi", "blocks": section(mention)}));
    assert!(beside.mentions_us && beside.words.said() == "hi");
    let quoted = json!([{"type": "rich_text", "elements": [{"type": "rich_text_quote",
        "elements": [{"type": "user", "user_id": "U0BOT"}]}]}]);
    assert!(!message(&json!({"text": "hi", "blocks": quoted})).mentions_us);
}

#[test]
fn files_are_told_by_their_ids() {
    let file = |fields: Value| {
        let mut whole = json!({"id": "F1", "name": "a.png", "mimetype": "image/png", "size": 5,
            "url_private": "https://evil.example/x"});
        whole.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        whole
    };
    let read = message(&json!({"subtype": "file_share", "text": "", "files": [
        file(json!({})),
        file(json!({"id": "F2", "subtype": "slack_audio", "mimetype": "video/mp4", "name": "", "title": "memo"})),
        file(json!({"id": "F3", "mode": "tombstone"})),
        file(json!({"id": "../F4"})),
        json!(5),
        json!({"id": "F5"}),
    ]}));
    let attachment = |kind, name: &str, media_type: &str, size, handle: &str| Attachment {
        kind,
        name: name.into(),
        media_type: media_type.into(),
        size,
        handle: handle.into(),
    };
    assert_eq!(
        read.attachments,
        [
            attachment(AttachmentKind::Image, "a.png", "image/png", Some(5), "F1"),
            attachment(AttachmentKind::Voice, "memo", "video/mp4", Some(5), "F2"),
            attachment(AttachmentKind::File, "file", "application/octet-stream", None, "F5"),
        ]
    );
}

#[test]
fn what_says_nothing_is_nothing() {
    for fields in [
        json!({"text": ""}),
        json!({"subtype": "channel_topic"}),
        json!({"is_ephemeral": true}),
        json!({"ts": "never"}),
        json!({"user": "U0BOT"}),
        json!({"bot_id": "B0BOT"}),
    ] {
        assert_eq!(read(&fields), None, "{fields}");
    }
    assert!(message(&json!({"text": "<@U0BOT>"})).mentions_us);
}

#[test]
fn a_program_is_itself_and_nobody_in_whose_name_it_speaks() {
    let bot = json!({"bot_id": "B9", "username": "CI"});
    let own = read_by(&bot, true).unwrap();
    assert!(own.sender.is_bot && own.address.user.is_some());
    let others = read_by(&bot, false).unwrap();
    assert!(others.sender.is_bot && others.address.user.is_none());
    assert_eq!(&*others.sender.name, "CI");
}

#[test]
fn a_command_is_one_of_ours_or_words() {
    let (account, us) = (AccountId::new("main").unwrap(), us());
    let reader = Reader {
        platform: Platform::new("slack").unwrap(),
        account: &account,
        us: &us,
        name: &|_| None,
    };
    let said = |text: &str| {
        let said = Commanded {
            text: text.to_owned(),
            user_id: "U1".to_owned(),
            trigger_id: "1.2".to_owned(),
            ..Commanded::default()
        };
        let scene =
            Scene { team: "T1", channel: "C1", thread: None, user: Some("U1"), person: None };
        let now = Timestamp::from_millis(5);
        let envelope = reader.command(scene, &said, &|word| word == "new", now).unwrap();
        assert_eq!(envelope.at, now);
        match envelope.what {
            Happening::Said(message) if message.mentions_us => message.words.said(),
            other => panic!("{other:?}"),
        }
    };
    for (text, expected) in [
        ("new", "/new"),
        (" new work", "/new work"),
        ("news of today", "news of today"),
        ("/new", "/new"),
        ("", "/help"),
        ("a &amp; b", "a & b"),
    ] {
        assert_eq!(said(text), expected, "{text}");
    }
}
