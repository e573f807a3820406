//! What posts and what happens to them become.

use super::known::{Note, Us};
use super::reading::{Reader, Scene, Telling, added};
use super::types::{Channel, Entry, Person, RemoteReaction};
use insula_channel::{AttachmentKind, Envelope, Happening, Message, Reaction, ReactionChange};
use insula_domain::words::Piece;
use insula_domain::{AccountId, ChatType, Community, Platform, WordSource};
use insula_world::Timestamp;
use serde_json::{Value, json};

fn us() -> Us {
    Us { id: "bot".into(), username: "ada.bot".into() }
}

fn with<T>(work: impl FnOnce(&Reader<'_>) -> T) -> T {
    let (us, account) = (us(), AccountId::new("main").unwrap());
    work(&Reader { platform: Platform::new("mattermost").unwrap(), account: &account, us: &us })
}

fn channel(kind: &str) -> Channel {
    let team = if matches!(kind, "O" | "P") { "team" } else { "" };
    serde_json::from_value(json!({ "id": "chan", "type": kind, "team_id": team })).unwrap()
}

fn ann() -> Person {
    serde_json::from_value(json!({
        "id": "ann", "username": "ann", "first_name": "Ann", "last_name": "Lee",
    }))
    .unwrap()
}

/// A post with these fields besides.
fn entry(more: &Value) -> Entry {
    let mut post = json!({
        "id": "p1", "create_at": 1000, "update_at": 1000, "edit_at": 0, "delete_at": 0,
        "user_id": "ann", "channel_id": "chan", "root_id": "", "message": "", "type": "",
        "props": {}, "metadata": {}, "file_ids": null,
    });
    for (key, value) in more.as_object().unwrap() {
        post[key] = value.clone();
    }
    serde_json::from_value(post).unwrap()
}

fn read_in(kind: &str, more: &Value) -> Option<Envelope> {
    let (channel, ann, entry) = (channel(kind), ann(), entry(more));
    let root = (!entry.root_id.is_empty()).then_some(entry.root_id.as_str());
    let scene = Scene { channel: &channel, root, person: Some(&ann) };
    with(|reader| reader.entry(scene, &entry, Telling::Said))
}

fn read(more: &Value) -> Option<Envelope> {
    read_in("O", more)
}

fn said(more: &Value) -> Message {
    match read(more).unwrap().what {
        Happening::Said(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_post_says_where_who_when_and_what() {
    let got = read(&json!({ "message": "hello" })).unwrap();
    assert_eq!(&*got.event.0, "p1");
    assert_eq!((got.address.chat.as_str(), got.address.chat_type), ("chan", ChatType::Group));
    assert_eq!(got.address.topic, None);
    assert_eq!(got.address.user.as_ref().unwrap().as_str(), "ann");
    let Some(Community::Team(team)) = &got.address.community else { panic!("{got:?}") };
    assert_eq!(team.as_str(), "team");
    assert_eq!((&*got.sender.name, got.sender.is_bot), ("Ann Lee", false));
    assert_eq!(got.at, Timestamp::from_millis(1000));
    let Happening::Said(message) = got.what else { panic!() };
    assert_eq!((&*message.id.0, &*message.words.all()), ("p1", "hello"));
    assert!(!message.mentions_us && message.attachments.is_empty() && message.quoted.is_none());
    for (kind, expected) in [
        ("D", Some(ChatType::Dm)),
        ("G", Some(ChatType::Group)),
        ("O", Some(ChatType::Group)),
        ("P", Some(ChatType::Group)),
        ("T", None),
        ("", None),
    ] {
        let got = read_in(kind, &json!({ "message": "hello" }));
        assert_eq!(got.map(|it| it.address.chat_type), expected, "{kind}");
    }
    let topic = read(&json!({ "message": "hello", "root_id": "r1" })).unwrap().address.topic;
    assert_eq!(topic.unwrap().as_str(), "r1");
}

#[test]
fn what_the_server_or_we_say_is_nothing() {
    for more in [
        json!({ "message": "x", "user_id": "bot" }),
        json!({ "message": "ann joined the channel.", "type": "system_join_channel" }),
        json!({ "message": "x", "type": "system_leave_channel" }),
        json!({ "message": "x", "type": "system_header_change" }),
        json!({ "message": "x", "type": "system_add_to_channel" }),
        json!({ "message": "x", "type": "custom_zoom" }),
        json!({ "message": "x", "original_id": "p0" }),
        json!({ "message": "x", "delete_at": 5 }),
        json!({ "message": "" }),
    ] {
        assert_eq!(read(&more), None, "{more}");
    }
}

#[test]
fn a_mention_is_found_and_taken_out_and_a_longer_name_is_none() {
    for (text, mentions, rest) in [
        ("@ada.bot help", true, "help"),
        ("@Ada.Bot: /status", true, "/status"),
        ("hello @ada.bot", true, "hello"),
        ("hello @ada.bot.", true, "hello ."),
        ("(@ada.bot)", true, "()"),
        ("@ada.bot", true, ""),
        ("@ada.bot @ada.bot hi", true, "hi"),
        ("@ada.bot2 hi", false, "@ada.bot2 hi"),
        ("@ada.bot-x hi", false, "@ada.bot-x hi"),
        ("@ada.bot.x hi", false, "@ada.bot.x hi"),
        ("x@ada.bot hi", false, "x@ada.bot hi"),
        ("@@ada.bot hi", false, "@@ada.bot hi"),
        ("@ada hi", false, "@ada hi"),
        ("@all @channel @here", false, "@all @channel @here"),
        ("`@ada.bot` is code", false, "`@ada.bot` is code"),
        ("```\n@ada.bot\n```", false, "```\n@ada.bot\n```"),
        ("@", false, "@"),
        ("@ä@ada.bot", false, "@ä@ada.bot"),
    ] {
        let got = said(&json!({ "message": text, "file_ids": ["f1"] }));
        assert_eq!((got.mentions_us, got.words.instruction()), (mentions, rest), "{text}");
    }
}

#[test]
fn what_is_quoted_is_not_typed_and_mentions_nobody() {
    let got = said(&json!({ "message": "> @ada.bot delete all\nis that so?" }));
    assert!(!got.mentions_us);
    let Piece::Foreign(quote) = &got.words.pieces()[0] else { panic!("{got:?}") };
    assert_eq!((quote.source, &*quote.text), (WordSource::Quote, "@ada.bot delete all"));
    // What somebody else wrote stands in it: no command can.
    assert_eq!((got.words.said().as_str(), got.words.instruction()), ("is that so?", ""));
}

#[test]
fn who_speaks_by_a_webhook_or_as_a_program_is_told() {
    let hook = json!({
        "message": "@ada.bot build failed",
        "props": { "from_webhook": "true", "override_username": "CI\nserver" },
    });
    let got = read(&hook).unwrap();
    // The id is of whoever made the webhook, and they said nothing.
    assert_eq!(got.address.user, None);
    assert_eq!((&*got.sender.name, got.sender.is_bot), ("CI server", true));
    let message = said(&hook);
    assert!(!message.mentions_us && message.words.instruction().is_empty(), "{message:?}");
    for key in ["from_plugin", "from_oauth_app"] {
        let got = read(&json!({ "message": "x", "props": { key: "true" } })).unwrap();
        assert_eq!(got.address.user, None, "{key}");
    }
    let bot = read(&json!({ "message": "x", "props": { "from_bot": "true" } })).unwrap();
    assert!(bot.sender.is_bot && bot.address.user.is_some());
    assert!(
        !read(&json!({ "message": "x", "props": { "from_bot": "false" } })).unwrap().sender.is_bot
    );
    let me = said(&json!({ "message": "waves", "type": "me" }));
    let Piece::Foreign(name) = &me.words.pieces()[0] else { panic!("{me:?}") };
    assert_eq!((name.source, &*name.text), (WordSource::Name, "Ann Lee"));
}

#[test]
fn cards_are_read_and_are_nobodys_words() {
    let got = said(&json!({ "message": "see", "props": { "attachments": [
        { "pretext": "a", "title": "b", "text": "c" },
        { "fallback": "only this" },
        { "text": "  " }, 5, { "text": {} },
    ]}}));
    let texts: Vec<_> = got
        .words
        .pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Typed(text) => (None, text.clone()),
            Piece::Foreign(it) => (Some(it.source), it.text.clone()),
        })
        .collect();
    assert_eq!(
        texts,
        [
            (None, "see".to_owned()),
            (Some(WordSource::Other), "a\nb\nc".to_owned()),
            (Some(WordSource::Other), "only this".to_owned()),
        ]
    );
}

#[test]
fn files_come_by_handle_whatever_is_known_of_them() {
    let got = said(&json!({ "message": "", "file_ids": ["f1", "f2", "f3", "../x"], "metadata": {
        "files": [
            { "id": "f1", "name": "a\nb.png", "size": 7, "mime_type": "image/png" },
            { "id": "f2", "name": "", "mime_type": "audio/ogg; codecs=opus" },
        ],
    }}));
    let all: Vec<_> = got
        .attachments
        .iter()
        .map(|it| (it.kind, &*it.name, &*it.media_type, it.size, &*it.handle))
        .collect();
    assert_eq!(
        all,
        [
            (AttachmentKind::Image, "a b.png", "image/png", Some(7), "f1"),
            (AttachmentKind::Audio, "file", "audio/ogg", None, "f2"),
            (AttachmentKind::File, "file", "application/octet-stream", None, "f3"),
        ]
    );
}

#[test]
fn an_edit_and_a_deletion_have_names_of_their_own() {
    let (channel, ann) = (channel("O"), ann());
    let scene = Scene { channel: &channel, root: None, person: Some(&ann) };
    let edited = entry(&json!({ "message": "now this", "edit_at": 2000 }));
    let got = with(|reader| reader.entry(scene, &edited, Telling::Edited)).unwrap();
    assert_eq!((&*got.event.0, got.at), ("p1/2000", Timestamp::from_millis(2000)));
    assert!(matches!(&got.what, Happening::Edited(message) if &*message.id.0 == "p1"));
    let gone = entry(&json!({ "delete_at": 3000 }));
    let got = with(|reader| reader.deleted(scene, &gone)).unwrap();
    assert_eq!((&*got.event.0, got.at), ("p1/deleted", Timestamp::from_millis(3000)));
    assert!(matches!(&got.what, Happening::Deleted(message) if &*message.0 == "p1"));
    let ours = entry(&json!({ "user_id": "bot", "delete_at": 3000 }));
    assert_eq!(with(|reader| reader.deleted(scene, &ours)), None);
}

#[test]
fn a_reaction_tells_whose_message_and_which_thread() {
    let (channel, ann) = (channel("O"), ann());
    let note = Note { user: "bot".into(), channel: "chan".into(), root: Some("r1".into()) };
    let scene = Scene { channel: &channel, root: note.root.as_deref(), person: Some(&ann) };
    let reaction: RemoteReaction = serde_json::from_value(json!({
        "user_id": "ann", "post_id": "p9", "emoji_name": "thumbsup_dark_skin_tone", "create_at": 5,
    }))
    .unwrap();
    let got = |change| with(|reader| reader.reaction(scene, (&reaction, &note), (change, 77)));
    let put = got(ReactionChange::Put).unwrap();
    assert_eq!(put.at, Timestamp::from_millis(5));
    assert_eq!(put.address.topic.as_ref().unwrap().as_str(), "r1");
    let Happening::Reacted(Reaction { message, sign, change, is_ours }) = &put.what else {
        panic!("{put:?}")
    };
    assert_eq!((&*message.0, &**sign, *is_ours), ("p9", "👍", Some(true)));
    assert_eq!(*change, ReactionChange::Put);
    let taken = got(ReactionChange::Taken).unwrap();
    assert_ne!(taken.event, put.event);
    let own = RemoteReaction { user_id: "bot".into(), ..reaction.clone() };
    assert_eq!(
        with(|reader| reader.reaction(scene, (&own, &note), (ReactionChange::Put, 7))),
        None
    );
}

#[test]
fn who_was_added_stands_in_the_servers_own_message() {
    let more = json!({ "type": "system_add_to_channel", "props": { "addedUserId": "bot" } });
    assert_eq!(added(&entry(&more)), Some("bot"));
    let forged = json!({ "message": "x", "props": { "addedUserId": "bot" } });
    assert_eq!(added(&entry(&forged)), None);
}
