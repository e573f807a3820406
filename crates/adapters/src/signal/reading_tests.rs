//! What events become.

use super::known::Known;
use super::people::Us;
use super::reading::{Heard, Reader};
use insula_channel::{
    AttachmentKind, Envelope, EventId, Happening, Message, MessageId, Reaction, ReactionChange,
    Sender,
};
use insula_domain::{AccountId, Address, ChatId, ChatType, Platform, UserId, WordSource, Words};
use insula_world::Timestamp;
use serde_json::{Value, json};

const OURS: &str = "+4915100000001";
const OUR_UUID: &str = "0a0a0a0a-0000-4000-8000-000000000001";
const ANN: &str = "0b0b0b0b-0000-4000-8000-000000000042";
const ANNS_NUMBER: &str = "+4915100000042";
const GROUP: &str = "Z3JvdXA=";

fn known() -> Known {
    let us = Us { uuid: Some(OUR_UUID.into()), name: "Ada".into(), ..Us::named(OURS) };
    Known::new(us)
}

fn heard(event: Value) -> Option<Heard> {
    heard_by(&mut known(), event)
}

fn heard_by(known: &mut Known, event: Value) -> Option<Heard> {
    let account = AccountId::new("main").unwrap();
    let platform = Platform::new("signal").unwrap();
    let reader = Reader { platform, account: &account, ours: OURS, known };
    reader.read(serde_json::from_value(event).unwrap())
}

fn read(event: Value) -> Option<Envelope> {
    match heard(event)? {
        Heard::Event(envelope) => Some(*envelope),
        other => panic!("{other:?}"),
    }
}

/// An event from Ann, with these fields.
fn from_ann(fields: Value) -> Value {
    let mut envelope = json!({"source": ANNS_NUMBER, "sourceNumber": ANNS_NUMBER,
        "sourceUuid": ANN.to_uppercase(), "sourceName": " Ann\n Lee ", "sourceDevice": 2,
        "timestamp": 1_700_000_000_123_i64, "serverReceivedTimestamp": 1, "extra": {"x": 1}});
    envelope.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({"account": OURS, "envelope": envelope})
}

fn message(fields: Value) -> Value {
    let mut message = json!({"timestamp": 1_700_000_000_123_i64, "message": null,
        "expiresInSeconds": 0});
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    from_ann(json!({ "dataMessage": message }))
}

fn group(kind: &str) -> Value {
    json!({"groupId": GROUP, "groupName": "Friends", "revision": 4, "type": kind})
}

fn said(envelope: &Envelope) -> &Message {
    match &envelope.what {
        Happening::Said(message) | Happening::Edited(message) => message,
        other => panic!("{other:?}"),
    }
}

/// The envelope of something Ann says to us.
fn expected(what: Happening) -> Envelope {
    Envelope {
        event: EventId(format!("{OURS}/{ANN}:2:1700000000123").into()),
        address: Address {
            platform: Platform::new("signal").unwrap(),
            account: AccountId::new("main").unwrap(),
            chat: ChatId::new(ANN).unwrap(),
            chat_type: ChatType::Dm,
            topic: None,
            parent: None,
            community: None,
            user: Some(UserId::new(ANN).unwrap()),
            roles: vec![],
        },
        sender: Sender {
            name: "Ann Lee".into(),
            also: vec![UserId::new(ANNS_NUMBER).unwrap()],
            is_bot: false,
        },
        at: Timestamp::from_millis(1_700_000_000_123),
        what,
    }
}

fn saying(words: Words) -> Message {
    Message {
        id: MessageId(format!("1700000000123/{ANN}").into()),
        words,
        mentions_us: false,
        is_for_another: false,
        attachments: vec![],
        quoted: None,
        group: None,
    }
}

#[test]
fn a_message_is_this_envelope() {
    let got = read(message(json!({"message": "hello"})));
    assert_eq!(got, Some(expected(Happening::Said(saying(Words::typed("hello"))))));
}

#[test]
fn a_message_in_a_group_is_this_envelope() {
    let got = read(message(json!({"message": "hello", "groupInfo": group("DELIVER")})));
    let mut envelope = expected(Happening::Said(saying(Words::typed("hello"))));
    envelope.address.chat = ChatId::new(GROUP).unwrap();
    envelope.address.chat_type = ChatType::Group;
    assert_eq!(got, Some(envelope));
}

#[test]
fn changes_and_what_was_taken_back_name_the_message() {
    let edit = from_ann(json!({"editMessage": {"targetSentTimestamp": 77,
        "dataMessage": {"timestamp": 1_700_000_000_123_i64, "message": "better"}}}));
    let mut changed = saying(Words::typed("better"));
    changed.id = MessageId(format!("77/{ANN}").into());
    assert_eq!(read(edit), Some(expected(Happening::Edited(changed))));
    let gone = read(message(json!({"remoteDelete": {"timestamp": 77}})));
    let id = |text: String| Happening::Deleted(MessageId(text.into()));
    assert_eq!(gone, Some(expected(id(format!("77/{ANN}")))));
    let by_admin = read(message(json!({"adminDelete": {"targetAuthorUuid": "bob",
        "targetSentTimestamp": 77}})));
    assert_eq!(by_admin, Some(expected(id("77/bob".into()))));
    let ours = read(message(json!({"adminDelete": {"targetAuthorNumber": OURS,
        "targetSentTimestamp": 77}})));
    assert_eq!(ours, Some(expected(id("77".into()))));
}

#[test]
fn a_quotation_says_whose_and_what() {
    let quote = |author: &str| {
        let got = read(message(json!({"message": "yes", "quote": {"id": 55, "authorUuid": author,
            "authorNumber": null, "text": "really?", "attachments": []}})));
        said(&got.unwrap()).clone()
    };
    let of_ours = quote(OUR_UUID);
    let quoted = of_ours.quoted.unwrap();
    assert!(of_ours.mentions_us && quoted.is_ours && quoted.is_from_here);
    assert_eq!((&*quoted.id.0, quoted.text.as_str()), ("55", "really?"));
    let of_bob = quote("bob");
    let quoted = of_bob.quoted.unwrap();
    assert!(!of_bob.mentions_us && !quoted.is_ours);
    assert_eq!((&*quoted.id.0, quoted.author.unwrap().as_str()), ("55/bob", "bob"));
}

#[test]
fn files_are_what_their_type_says_and_a_memo_has_no_name() {
    use AttachmentKind::{Audio, File, Image, Video, Voice};
    for (media_type, name, kind) in [
        (json!("image/png"), json!("p.png"), Image),
        (json!("video/mp4"), json!(null), Video),
        (json!("audio/aac"), json!(null), Voice),
        (json!("audio/ogg; codecs=opus"), json!(""), Voice),
        (json!("audio/mp4"), json!("Voice Message.m4a"), Voice),
        (json!("audio/mpeg"), json!("song.mp3"), Audio),
        (json!("application/pdf"), json!("a.pdf"), File),
        (json!(null), json!(null), File),
    ] {
        let file = json!({"contentType": media_type, "filename": name, "id": "x1.bin", "size": 9});
        let got = read(message(json!({ "attachments": [file] }))).unwrap();
        let [attachment] = said(&got).attachments.as_slice() else { panic!("{got:?}") };
        assert_eq!(attachment.kind, kind, "{media_type} {name}");
        assert_eq!(&*attachment.handle, format!("u:{ANN}:x1.bin"));
        assert_eq!(attachment.size, Some(9));
    }
    // A newer signal-cli says what was recorded, whatever it is called.
    for (told, kind) in [(true, Voice), (false, Audio)] {
        let name = if told { json!("song.mp3") } else { json!(null) };
        let file = json!({"contentType": "audio/mpeg", "filename": name, "id": "x1.bin", "isVoiceNote": told});
        let got = read(message(json!({ "attachments": [file] }))).unwrap();
        assert_eq!(said(&got).attachments[0].kind, kind, "{told}");
    }
    // What can't be fetched is not there, nor is the message if that is all.
    for id in [json!(null), json!("../../account.db")] {
        let file = json!({"contentType": "image/png", "id": id});
        assert_eq!(read(message(json!({ "attachments": [file] }))), None);
    }
}

#[test]
fn what_nobody_typed_is_nobodys_words() {
    for (fields, source, text) in [
        (
            json!({"sticker": {"packId": "ab", "stickerId": 3}}),
            WordSource::Sticker,
            "sticker 3 of ab",
        ),
        (
            json!({"pollCreate": {"question": "When?", "options": ["a", "b"]}}),
            WordSource::Poll,
            "When? (a / b)",
        ),
        (
            json!({"contacts": [{"name": {"given": "G", "family": null},
                "phone": [{"value": "+491"}]}]}),
            WordSource::Contact,
            "G, +491",
        ),
    ] {
        let got = read(message(fields)).unwrap();
        assert_eq!(said(&got).words, Words::foreign(source, text));
    }
}

#[test]
fn a_reaction_names_the_message_it_is_put_on() {
    let put = |author: &str, is_remove: bool| {
        read(message(json!({"reaction": {"emoji": "\u{1f44d}", "targetAuthorUuid": author,
            "targetSentTimestamp": 55, "isRemove": is_remove}})))
    };
    let what = |message: String, change, is_ours| {
        Happening::Reacted(Reaction {
            message: MessageId(message.into()),
            sign: "\u{1f44d}".into(),
            change,
            is_ours: Some(is_ours),
        })
    };
    let of_ours = what("55".into(), ReactionChange::Put, true);
    assert_eq!(put(OUR_UUID, false), Some(expected(of_ours)));
    let of_hers = what(format!("55/{ANN}"), ReactionChange::Taken, false);
    assert_eq!(put(ANN, true), Some(expected(of_hers)));
}

#[test]
fn what_says_nothing_is_no_event() {
    let fields = json!({"dataMessage": {"timestamp": 5, "message": "x"}});
    let mut of_us = from_ann(fields.clone());
    of_us["envelope"]["sourceUuid"] = json!(OUR_UUID);
    for nothing in [
        json!({}),
        json!({"account": OURS}),
        json!({"account": OURS, "envelope": {}}),
        json!({"account": OURS, "exception": {"type": "X", "message": "m"},
            "envelope": {"sourceUuid": ANN, "timestamp": 5}}),
        from_ann(json!({})),
        from_ann(json!({"typingMessage": {"action": "STARTED", "timestamp": 5}})),
        from_ann(json!({"receiptMessage": {"when": 5, "timestamps": [5]}})),
        from_ann(json!({"storyMessage": {"allowsReplies": true}})),
        from_ann(json!({"callMessage": {}})),
        from_ann(json!({"syncMessage": {}})),
        message(json!({})),
        message(json!({"message": "  "})),
        message(json!({"groupInfo": group("DELIVER")})),
        of_us,
    ] {
        assert_eq!(heard(nothing.clone()), None, "{nothing}");
    }
    // Nobody said it to us alone; in a group somebody did, and nobody knows who.
    let mut nobody = message(json!({"message": "x"}));
    for key in ["source", "sourceNumber", "sourceUuid", "sourceName"] {
        nobody["envelope"][key] = json!(null);
    }
    assert_eq!(heard(nobody.clone()), None);
    nobody["envelope"]["dataMessage"]["groupInfo"] = group("DELIVER");
    let got = read(nobody).unwrap();
    assert_eq!((got.address.user, got.sender.also), (None, vec![]));
}

#[test]
fn a_group_that_changed_is_to_be_asked_about() {
    let got = heard(message(json!({"groupInfo": group("UPDATE")}))).unwrap();
    let Heard::Group { group, revision, by } = got else { panic!("{got:?}") };
    assert_eq!((&*group, revision, by.address.chat.as_str()), (GROUP, 4, GROUP));
    assert_eq!(by.address.user.unwrap().as_str(), ANN);
}

#[test]
fn our_own_uuid_is_learned_from_our_other_devices() {
    let mut known = Known::new(Us::named(OURS));
    let note = json!({"account": OURS, "envelope": {"sourceNumber": OURS, "sourceUuid": OUR_UUID,
        "sourceDevice": 1, "timestamp": 5, "syncMessage": {"sentMessage": {
            "destinationUuid": OUR_UUID, "destinationNumber": OURS, "timestamp": 5,
            "message": "note"}}}});
    let Some(Heard::Event(got)) = heard_by(&mut known, note) else { panic!("nothing") };
    assert_eq!(got.address.chat.as_str(), OUR_UUID);
    assert_eq!(&*said(&got).id.0, "5", "what we said is named by its time alone");
    let mention = message(json!({"message": "\u{fffc} hi", "groupInfo": group("DELIVER"),
        "mentions": [{"uuid": OUR_UUID, "number": null, "name": OUR_UUID, "start": 0,
            "length": 1}]}));
    let Some(Heard::Event(got)) = heard_by(&mut known, mention) else { panic!("nothing") };
    assert!(said(&got).mentions_us);
    assert_eq!(said(&got).words.said(), "hi");
}
