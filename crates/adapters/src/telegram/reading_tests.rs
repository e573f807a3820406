//! What updates become.

use super::reading::Reader;
use super::words::Myself;
use insula_channel::{
    AttachmentKind, Envelope, Happening, Message, MessageId, Reaction, ReactionChange,
};
use insula_domain::words::Piece;
use insula_domain::{AccountId, ChatType, Platform, WordSource};
use insula_world::Timestamp;
use serde_json::{Value, json};

fn read(update: Value) -> Option<Envelope> {
    let myself = Myself { id: 7, username: "ada_bot".into() };
    let account = AccountId::new("main").unwrap();
    let reader = Reader {
        platform: Platform::new("telegram").unwrap(),
        account: &account,
        myself: &myself,
        now: Timestamp::from_millis(5000),
    };
    reader.read(serde_json::from_value(update).unwrap())
}

fn private() -> Value {
    json!({"id": 42, "type": "private", "first_name": "Ann"})
}

fn group() -> Value {
    json!({"id": -5, "type": "group", "title": "Friends"})
}

fn forum() -> Value {
    json!({"id": -1001, "type": "supergroup", "title": "Forum", "is_forum": true})
}

fn ann() -> Value {
    json!({"id": 42, "is_bot": false, "first_name": "Ann", "last_name": "Lee"})
}

/// A message with these fields besides.
fn message(chat: Value, more: Value) -> Value {
    let mut message = json!({"message_id": 3, "date": 10, "chat": chat, "from": ann()});
    for (name, value) in more.as_object().unwrap() {
        message[name] = value.clone();
    }
    json!({"update_id": 900, "message": message})
}

fn said(envelope: &Envelope) -> &Message {
    match &envelope.what {
        Happening::Said(message) | Happening::Edited(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_says_where_who_when_and_what() {
    let got = read(message(private(), json!({"text": "hello"}))).unwrap();
    assert_eq!(&*got.event.0, "7/900");
    assert_eq!(got.address.chat.as_str(), "42");
    assert_eq!((got.address.chat_type, &got.address.topic), (ChatType::Dm, &None));
    assert_eq!(got.address.user.as_ref().unwrap().as_str(), "42");
    assert_eq!((&*got.sender.name, got.sender.is_bot), ("Ann Lee", false));
    assert_eq!(got.at, Timestamp::from_millis(10_000));
    assert_eq!((&*said(&got).id.0, &*said(&got).words.said()), ("3", "hello"));
    assert!(!said(&got).mentions_us);
}

#[test]
fn a_topic_is_a_topic_only_where_the_platform_says_so() {
    let topic = |more: Value, chat: Value| {
        let got = read(message(chat, more)).unwrap();
        got.address.topic.map(|topic| topic.as_str().to_owned())
    };
    let in_topic = json!({"text": "x", "message_thread_id": 9, "is_topic_message": true});
    assert_eq!(topic(in_topic, forum()).as_deref(), Some("9"));
    // A chain of replies outside a forum, and inside General.
    let chain = json!({"text": "x", "message_thread_id": 9});
    assert_eq!(topic(chain.clone(), group()), None);
    assert_eq!(topic(chain, forum()).as_deref(), Some("1"));
    assert_eq!(topic(json!({"text": "x"}), forum()).as_deref(), Some("1"));
}

#[test]
fn a_reply_is_quoted_and_one_to_us_addresses_us() {
    let earlier = |from: i64, more: Value| {
        let mut earlier = json!({
            "message_id": 2, "date": 1, "chat": group(), "text": "earlier",
            "from": {"id": from, "is_bot": from == 7, "first_name": "X"},
        });
        for (name, value) in more.as_object().unwrap() {
            earlier[name] = value.clone();
        }
        json!({"text": "so?", "reply_to_message": earlier})
    };
    let got = read(message(group(), earlier(7, json!({})))).unwrap();
    let quoted = said(&got).quoted.clone().unwrap();
    assert!(said(&got).mentions_us && quoted.is_ours && quoted.is_from_here);
    assert_eq!((&*quoted.id.0, quoted.text.as_str()), ("2", "earlier"));
    assert_eq!(quoted.author.unwrap().as_str(), "7");

    let got = read(message(group(), earlier(8, json!({})))).unwrap();
    assert!(!said(&got).mentions_us && !said(&got).quoted.as_ref().unwrap().is_ours);
    // In the name of a chat nobody is the author.
    let got = read(message(group(), earlier(7, json!({"sender_chat": group()})))).unwrap();
    assert!(said(&got).quoted.as_ref().unwrap().author.is_none() && !said(&got).mentions_us);
}

#[test]
fn a_part_of_a_message_may_be_quoted_and_a_topic_begins_with_no_quotation() {
    let mut update = message(
        group(),
        json!({"text": "that?", "quote": {"text": "part", "position": 0},
            "reply_to_message": {"message_id": 2, "date": 1, "chat": group(), "text": "a part b"}}),
    );
    assert_eq!(said(&read(update.clone()).unwrap()).quoted.as_ref().unwrap().text, "part");
    update["message"]["reply_to_message"]["forum_topic_created"] = json!({"name": "T"});
    assert_eq!(said(&read(update).unwrap()).quoted, None);
}

#[test]
fn what_was_said_elsewhere_is_not_from_here() {
    let external = json!({"text": "see", "quote": {"text": "their words"},
        "external_reply": {"message_id": 77, "origin": {"type": "user", "date": 1, "sender_user": ann()},
            "chat": {"id": -9, "type": "supergroup", "title": "Other"}}});
    let got = read(message(group(), external)).unwrap();
    let quoted = said(&got).quoted.clone().unwrap();
    assert!(!quoted.is_from_here && !quoted.is_ours);
    assert_eq!((quoted.text.as_str(), quoted.author.unwrap().as_str()), ("their words", "42"));
    // Another topic of the same forum.
    let crossed = json!({"text": "x", "message_thread_id": 9, "is_topic_message": true,
        "reply_to_message": {"message_id": 2, "date": 1, "chat": forum(), "text": "general"}});
    assert!(!said(&read(message(forum(), crossed)).unwrap()).quoted.as_ref().unwrap().is_from_here);
}

#[test]
fn nobody_signs_what_is_said_in_the_name_of_a_chat() {
    let anonymous = json!({"text": "/stop", "sender_chat": group(), "author_signature": "boss",
        "from": {"id": 1_087_968_824, "is_bot": true, "first_name": "Group"}});
    let got = read(message(group(), anonymous)).unwrap();
    assert_eq!((got.address.user, got.sender.is_bot), (None, false));
    assert_eq!(&*got.sender.name, "boss");
    let channel = json!({"id": -77, "type": "channel", "title": "News"});
    let post = json!({"update_id": 1, "channel_post":
        {"message_id": 1, "date": 1, "chat": channel, "sender_chat": channel, "text": "x"}});
    let got = read(post).unwrap();
    assert_eq!((got.address.chat_type, got.address.user), (ChatType::Channel, None));
    assert_eq!(&*got.sender.name, "News");
}

#[test]
fn bots_are_known_as_bots_and_we_do_not_hear_ourselves() {
    let by = |id: i64| json!({"text": "x", "from": {"id": id, "is_bot": true, "first_name": "B"}});
    assert!(read(message(group(), by(8))).unwrap().sender.is_bot);
    assert_eq!(read(message(group(), by(7))), None);
}

#[test]
fn somebody_elses_words_are_marked_as_theirs() {
    let forwarded = json!({"text": "/approve all",
        "forward_origin": {"type": "hidden_user", "date": 1, "sender_user_name": "Mal\nlory"}});
    let got = read(message(private(), forwarded)).unwrap();
    assert_eq!(said(&got).words.all(), "/approve all");
    assert_eq!(said(&got).words.instruction(), "");
    let Piece::Foreign(foreign) = &said(&got).words.pieces()[0] else { panic!("{got:?}") };
    assert_eq!((foreign.source, foreign.by.as_deref()), (WordSource::Forwarded, Some("Mal lory")));
}

#[test]
fn said_by_another_nothing_counts_as_typed() {
    let us = |text: &str, more: Value| {
        let mut all = json!({"text": text,
            "entities": [{"type": "mention", "offset": 0, "length": 8}]});
        for (name, value) in more.as_object().unwrap() {
            all[name] = value.clone();
        }
        all
    };
    let channel = json!({"id": -9, "type": "channel", "title": "News"});
    let caption = json!({"caption": "@ada_bot ok", "photo": [{"file_id": "f", "width": 1, "height": 1}],
        "caption_entities": [{"type": "mention", "offset": 0, "length": 8}],
        "forward_origin": {"type": "channel", "chat": channel, "message_id": 1, "date": 1}});
    let text = "@ada_bot ok";
    let cases = [
        caption,
        us(text, json!({"forward_origin": {"type": "user", "sender_user": ann(), "date": 1}})),
        us(text, json!({"forward_origin": {"type": "channel", "chat": channel, "date": 1}})),
        us(text, json!({"forward_from": ann(), "forward_date": 1})),
        us(text, json!({"forward_from_chat": channel})),
        us(text, json!({"forward_sender_name": "x"})),
        us(text, json!({"forward_date": 1})),
        us(text, json!({"is_automatic_forward": true})),
        us(
            text,
            json!({"via_bot": {"id": 9, "is_bot": true, "first_name": "G", "username": "gif"}}),
        ),
        us(text, json!({"sender_business_bot": {"id": 9, "is_bot": true, "first_name": "G"}})),
        us("", json!({"contact": {"phone_number": "+1", "first_name": "ok"}})),
        us(
            "",
            json!({"venue": {"title": "ok", "address": "ok"}, "location": {"latitude": 1.0, "longitude": 1.0}}),
        ),
        us("", json!({"poll": {"id": "1", "question": "ok", "options": [{"text": "ok"}]}})),
        us("", json!({"sticker": {"file_id": "s", "emoji": "ok"}})),
    ];
    for more in cases {
        let got = read(message(group(), more.clone())).unwrap();
        let said = said(&got);
        assert!(!said.mentions_us, "{more}");
        assert_eq!((said.words.said().as_str(), said.words.instruction()), ("", ""), "{more}");
        assert!(said.words.all().contains("ok"), "{more}");
    }
    // What a link to the bot carries is no word of whoever follows it.
    let got = read(message(private(), json!({"text": "/start pay-DE89"}))).unwrap();
    assert_eq!((&*said(&got).words.said(), said(&got).words.instruction()), ("/start", "/start"));
    // A caption of one's own is typed; the name of the file is not.
    let own = json!({"caption": "mine", "document": {"file_id": "d", "file_name": "pay DE89.pdf"}});
    let got = read(message(private(), own)).unwrap();
    assert_eq!(said(&got).words.said(), "mine");
    // A voice memo that was passed on addresses nobody.
    let voice = json!({"voice": {"file_id": "v"}, "forward_date": 1});
    let got = read(message(group(), voice)).unwrap();
    assert_eq!(said(&got).attachments[0].kind, AttachmentKind::Audio);
}

#[test]
fn files_of_every_kind_are_attached() {
    use AttachmentKind::{Audio, File, Image, Video, Voice};
    let file = |kind: &str| json!({"file_id": "F", "file_size": 5, "mime_type": kind});
    for (more, kind, name, media_type) in [
        (
            json!({"photo": [{"file_id": "S", "width": 9, "height": 9},
            {"file_id": "F", "width": 90, "height": 90}]}),
            Image,
            "photo.jpg",
            "image/jpeg",
        ),
        (json!({"voice": file("audio/ogg")}), Voice, "voice.ogg", "audio/ogg"),
        (json!({"audio": file("audio/flac")}), Audio, "audio", "audio/flac"),
        (json!({"video": file("")}), Video, "video.mp4", "video/mp4"),
        (json!({"video_note": {"file_id": "F"}}), Video, "video.mp4", "video/mp4"),
        (
            json!({"animation": file("video/mp4"), "document": file("video/mp4")}),
            Video,
            "animation.mp4",
            "video/mp4",
        ),
        (
            json!({"document": {"file_id": "F", "file_name": "../a.pdf", "mime_type": "application/pdf"}}),
            File,
            "../a.pdf",
            "application/pdf",
        ),
        (json!({"document": file("image/png")}), Image, "file", "image/png"),
        (json!({"sticker": {"file_id": "F", "emoji": "😀"}}), Image, "sticker.webp", "image/webp"),
        (
            json!({"sticker": {"file_id": "F", "is_video": true}}),
            Video,
            "sticker.webm",
            "video/webm",
        ),
    ] {
        let got = read(message(private(), more.clone())).unwrap();
        let attachments = &said(&got).attachments;
        assert_eq!(attachments.len(), 1, "{more}");
        let one = &attachments[0];
        assert_eq!((one.kind, &*one.name, &*one.media_type), (kind, name, media_type), "{more}");
        assert_eq!(&*one.handle, "F");
    }
}

#[test]
fn an_album_is_one_group_with_the_caption_where_it_stands() {
    let part = json!({"photo": [{"file_id": "F"}], "media_group_id": "g1", "caption": "@ada_bot look",
        "caption_entities": [{"type": "mention", "offset": 0, "length": 8}]});
    let got = read(message(group(), part)).unwrap();
    assert_eq!(said(&got).group.as_deref(), Some("g1"));
    assert_eq!((&*said(&got).words.said(), said(&got).mentions_us), ("look", true));
}

#[test]
fn edits_are_edits_with_their_own_time() {
    let mut update = message(private(), json!({"text": "better", "edit_date": 20}));
    update["edited_message"] = update["message"].take();
    let got = read(update).unwrap();
    assert!(matches!(&got.what, Happening::Edited(message) if message.words.said() == "better"));
    assert_eq!(got.at, Timestamp::from_millis(20_000));
}

#[test]
fn a_pressed_button_says_which_and_where() {
    let query = json!({"update_id": 1, "callback_query": {"id": "Q", "from": ann(), "data": "yes",
        "message": {"message_id": 5, "date": 0, "chat": forum(), "message_thread_id": 9,
            "is_topic_message": true}}});
    let got = read(query).unwrap();
    let Happening::Pressed(press) = &got.what else { panic!("{got:?}") };
    assert_eq!((&*press.handle, &*press.message.0, &*press.data), ("Q", "5", "yes"));
    assert_eq!(got.address.topic.as_ref().unwrap().as_str(), "9");
    assert_eq!((got.address.user.unwrap().as_str(), got.at), ("42", Timestamp::from_millis(5000)));
    let inline = json!({"update_id": 1, "callback_query":
        {"id": "Q", "from": ann(), "inline_message_id": "x", "data": "yes"}});
    assert_eq!(read(inline), None);
}

#[test]
fn a_reaction_says_what_changed() {
    let emoji = |sign: &str| json!({"type": "emoji", "emoji": sign});
    let change = |old: Value, new: Value, user: Value| {
        read(json!({"update_id": 1, "message_reaction": {"chat": forum(), "message_id": 5,
            "user": user, "date": 20, "old_reaction": old, "new_reaction": new}}))
    };
    let is = |sign: &str, change| {
        let (message, sign) = (MessageId("5".into()), sign.into());
        Some(Happening::Reacted(Reaction { message, sign, change, is_ours: None }))
    };
    let (up, down) = (emoji("👍"), emoji("👎"));
    for (old, new, expected) in [
        (json!([]), json!([up]), is("👍", ReactionChange::Put)),
        (json!([down]), json!([up]), is("👍", ReactionChange::Put)),
        (json!([down]), json!([down, up]), is("👍", ReactionChange::Put)),
        (json!([up]), json!([]), is("👍", ReactionChange::Taken)),
        (json!([up]), json!([up]), None),
        (json!([]), json!([]), None),
        (
            json!([]),
            json!([{"type": "custom_emoji", "custom_emoji_id": "77"}]),
            is(":77:", ReactionChange::Put),
        ),
        (json!([]), json!([{"type": "paid"}]), None),
    ] {
        let got = change(old.clone(), new.clone(), ann());
        assert_eq!(got.map(|it| it.what), expected, "{old} {new}");
    }
    let got = change(json!([]), json!([up]), ann()).unwrap();
    assert_eq!(got.address.user.as_ref().unwrap().as_str(), "42");
    assert_eq!((got.address.topic, got.at), (None, Timestamp::from_millis(20_000)));
    // Who reacts as the chat is nobody, and our own is no news.
    let nobody = json!({"update_id": 1, "message_reaction": {"chat": group(), "message_id": 5,
        "actor_chat": group(), "date": 20, "old_reaction": [], "new_reaction": [up]}});
    assert_eq!(read(nobody), None);
    let bot = json!({"id": 7, "is_bot": true, "first_name": "Ada"});
    assert_eq!(change(json!([]), json!([up]), bot), None);
}

#[test]
fn coming_and_going_is_told() {
    let change = |key: &str, chat: Value, user: i64, old: &str, new: &str| {
        let member = |status: &str| {
            json!({"status": status, "is_member": false,
                "user": {"id": user, "is_bot": false, "first_name": "U"}})
        };
        read(json!({"update_id": 1, key: {"chat": chat, "from": ann(), "date": 1,
            "old_chat_member": member(old), "new_chat_member": member(new)}}))
        .map(|envelope| {
            let user = envelope.address.user.map(|user| user.as_str().to_owned());
            (envelope.what, user, envelope.address.topic)
        })
    };
    let ann = || Some("42".to_owned());
    let ours = "my_chat_member";
    assert_eq!(change(ours, forum(), 7, "left", "member"), Some((Happening::Added, ann(), None)));
    assert_eq!(
        change(ours, group(), 7, "member", "kicked"),
        Some((Happening::Removed, ann(), None))
    );
    assert_eq!(
        change(ours, group(), 7, "administrator", "restricted"),
        Some((Happening::Removed, ann(), None))
    );
    assert_eq!(change(ours, group(), 7, "member", "administrator"), None);
    assert_eq!(change(ours, private(), 7, "member", "kicked"), None);
    let theirs = "chat_member";
    let bob = Some("8".to_owned());
    assert_eq!(
        change(theirs, forum(), 8, "member", "left"),
        Some((Happening::Left, bob.clone(), None))
    );
    assert_eq!(change(theirs, group(), 8, "left", "member"), None);
    let left = |id: i64| {
        read(message(group(), json!({"left_chat_member": {"id": id, "first_name": "B"}})))
            .map(|envelope| (envelope.what, envelope.address.user.unwrap().as_str().to_owned()))
    };
    assert_eq!(left(8), Some((Happening::Left, "8".into())));
    assert_eq!(left(7), None);
}

#[test]
fn a_group_that_moves_says_where_to() {
    let got = read(message(group(), json!({"migrate_to_chat_id": -1009}))).unwrap();
    assert!(matches!(&got.what, Happening::Moved(chat) if chat.as_str() == "-1009"));
    assert_eq!(got.address.chat.as_str(), "-5");
    assert_eq!(read(message(group(), json!({"migrate_from_chat_id": -5}))), None);
}

#[test]
fn what_is_said_without_words_is_put_in_words_and_service_messages_are_nothing() {
    let text = |more: Value| read(message(group(), more)).map(|got| said(&got).words.all());
    assert_eq!(text(json!({"location": {"latitude": 1.5, "longitude": -2.0}})).unwrap(), "1.5, -2");
    assert_eq!(
        text(json!({"contact": {"phone_number": "+1", "first_name": "B"}})).unwrap(),
        "B, +1"
    );
    assert_eq!(
        text(
            json!({"poll": {"id": "1", "question": "q", "options": [{"text": "a"}, {"text": "b"}]}})
        )
        .unwrap(),
        "q (a / b)"
    );
    for service in [
        json!({"new_chat_title": "x"}),
        json!({"pinned_message": {"message_id": 1}}),
        json!({"forum_topic_created": {"name": "x"}}),
        json!({"new_chat_members": [ann()]}),
    ] {
        assert_eq!(read(message(group(), service)), None);
    }
    assert_eq!(read(json!({"update_id": 5})), None);
    assert_eq!(read(json!({"update_id": 5, "poll": {"id": "x"}})), None);
}
