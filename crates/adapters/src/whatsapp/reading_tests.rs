//! What changes become.

use super::reading::Reader;
use super::types::Changed;
use insula_channel::{
    AttachmentKind, Envelope, EventId, Happening, Message, MessageId, Press, Reaction,
    ReactionChange, Sender,
};
use insula_domain::{AccountId, Address, ChatId, ChatType, Platform, UserId, WordSource, Words};
use insula_world::Timestamp;
use serde_json::{Value, json};

const ANN: &str = "4915100000042";

fn read_all(changed: Value) -> Vec<Envelope> {
    let account = AccountId::new("main").unwrap();
    let platform = Platform::new("whatsapp").unwrap();
    let reader = Reader { platform, account: &account, phone: "123" };
    reader.read(&serde_json::from_value::<Changed>(changed).unwrap())
}

fn changed(messages: &[Value]) -> Value {
    json!({"messaging_product": "whatsapp",
        "metadata": {"display_phone_number": "+49 151 00000001", "phone_number_id": "123"},
        "contacts": [{"profile": {"name": " Ann\nLee "}, "wa_id": ANN}],
        "messages": messages})
}

/// A message from Ann, with these fields.
fn message(fields: Value) -> Value {
    let mut message = json!({"from": ANN, "id": "wamid.1", "timestamp": "1700000000"});
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    message
}

fn read(fields: Value) -> Option<Envelope> {
    read_all(changed(&[message(fields)])).pop()
}

fn expected(what: Happening) -> Envelope {
    Envelope {
        event: EventId("123/wamid.1".into()),
        address: Address {
            platform: Platform::new("whatsapp").unwrap(),
            account: AccountId::new("main").unwrap(),
            chat: ChatId::new(ANN).unwrap(),
            chat_type: ChatType::Dm,
            topic: None,
            parent: None,
            community: None,
            user: Some(UserId::new(ANN).unwrap()),
            roles: vec![],
        },
        sender: Sender { name: "Ann Lee".into(), also: vec![], is_bot: false },
        at: Timestamp::from_millis(1_700_000_000_000),
        what,
    }
}

fn saying(words: Words) -> Message {
    Message {
        id: MessageId("wamid.1".into()),
        words,
        mentions_us: false,
        is_for_another: false,
        attachments: vec![],
        quoted: None,
        group: None,
    }
}

fn said(envelope: &Envelope) -> &Message {
    match &envelope.what {
        Happening::Said(message) | Happening::Edited(message) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_kind_of_event_is_this_envelope() {
    let id = |id: &str| MessageId(id.into());
    let sign = |emoji: &str, change| Reaction {
        message: id("wamid.0"),
        sign: emoji.into(),
        change,
        is_ours: None,
    };
    let mut edited = saying(Words::typed("better"));
    edited.id = id("wamid.0");
    for (fields, what) in [
        (
            json!({"type": "text", "text": {"body": " hello "}}),
            Happening::Said(saying(Words::typed("hello"))),
        ),
        (
            json!({"type": "edit", "edit": {"original_message_id": "wamid.0",
                "message": {"type": "text", "text": {"body": "better"}}}}),
            Happening::Edited(edited),
        ),
        (
            json!({"type": "revoke", "revoke": {"original_message_id": "wamid.0"}}),
            Happening::Deleted(id("wamid.0")),
        ),
        (
            json!({"type": "reaction", "reaction": {"message_id": "wamid.0", "emoji": "\u{1f44d}"}}),
            Happening::Reacted(sign("\u{1f44d}", ReactionChange::Put)),
        ),
        (
            json!({"type": "reaction", "reaction": {"message_id": "wamid.0"}}),
            Happening::Reacted(sign("", ReactionChange::Taken)),
        ),
        (
            json!({"type": "interactive", "context": {"from": "4915100000001", "id": "wamid.0"},
                "interactive": {"type": "button_reply",
                    "button_reply": {"id": "yes:1", "title": "Yes"}}}),
            Happening::Pressed(Press {
                handle: "wamid.1".into(),
                message: id("wamid.0"),
                data: "yes:1".into(),
            }),
        ),
        (
            json!({"type": "interactive", "context": {"id": "wamid.0"},
                "interactive": {"type": "list_reply",
                    "list_reply": {"id": "no:1", "title": "No", "description": "x"}}}),
            Happening::Pressed(Press {
                handle: "wamid.1".into(),
                message: id("wamid.0"),
                data: "no:1".into(),
            }),
        ),
    ] {
        assert_eq!(read(fields.clone()), Some(expected(what)), "{fields}");
    }
}

#[test]
fn what_nobody_typed_is_nobodys_words() {
    for (fields, source, text) in [
        (
            json!({"location": {"latitude": 1.5, "longitude": -2.0, "name": "Home"}}),
            WordSource::Place,
            "Home, 1.5, -2",
        ),
        (
            json!({"contacts": [{"name": {"formatted_name": "Bob"}, "phones": [{"phone": "+1"}]}]}),
            WordSource::Contact,
            "Bob, +1",
        ),
        (json!({"button": {"payload": "p", "text": "Tell me"}}), WordSource::Choice, "Tell me"),
        (
            json!({"text": {"body": "obey"}, "context": {"forwarded": true}}),
            WordSource::Forwarded,
            "obey",
        ),
    ] {
        let got = read(fields).unwrap();
        assert_eq!(said(&got).words, Words::foreign(source, text));
    }
}

#[test]
fn files_are_what_the_platform_says() {
    for (fields, kind, name, typed) in [
        (
            json!({"image": {"id": "9", "mime_type": "image/jpeg", "caption": "see"}}),
            AttachmentKind::Image,
            "",
            "see",
        ),
        (
            json!({"audio": {"id": "9", "mime_type": "audio/ogg; codecs=opus", "voice": true}}),
            AttachmentKind::Voice,
            "",
            "",
        ),
        (json!({"audio": {"id": "9", "voice": false}}), AttachmentKind::Audio, "", ""),
        (json!({"video": {"id": "9"}}), AttachmentKind::Video, "", ""),
        (json!({"document": {"id": "9", "filename": "a.pdf"}}), AttachmentKind::File, "a.pdf", ""),
        (json!({"sticker": {"id": "9", "animated": false}}), AttachmentKind::Image, "", ""),
    ] {
        let got = read(fields).unwrap();
        let [attachment] = said(&got).attachments.as_slice() else { panic!("{got:?}") };
        assert_eq!((attachment.kind, &*attachment.name, &*attachment.handle), (kind, name, "9"));
        assert_eq!(said(&got).words.said(), typed);
    }
    // Recorded by somebody else is no word of the sender's.
    let passed = read(json!({"audio": {"id": "9", "voice": true}, "context": {"forwarded": true}}));
    assert_eq!(said(&passed.unwrap()).attachments[0].kind, AttachmentKind::Audio);
    assert_eq!(read(json!({"image": {"id": "../x"}})), None);
}

#[test]
fn an_answer_says_whose_word_it_answers() {
    let quoted = |from: &str| {
        let got =
            read(json!({"text": {"body": "yes"}, "context": {"from": from, "id": "wamid.0"}}));
        let message = said(&got.unwrap()).clone();
        (message.mentions_us, message.quoted.unwrap())
    };
    let (mentions, of_ours) = quoted("4915100000001");
    assert!(mentions && of_ours.is_ours);
    assert_eq!(&*of_ours.id.0, "wamid.0");
    let (mentions, of_theirs) = quoted(ANN);
    assert!(!mentions && !of_theirs.is_ours);
}

#[test]
fn who_hides_their_number_is_known_by_another_name() {
    let mut hidden = changed(&[message(json!({"text": {"body": "x"}}))]);
    hidden["contacts"] = json!([{"profile": {"name": "Ann"}, "wa_id": ANN, "user_id": "DE.77"}]);
    let shown = read_all(hidden.clone()).pop().unwrap();
    assert_eq!(shown.address.user.unwrap().as_str(), ANN);
    assert_eq!(shown.sender.also[0].as_str(), "DE.77");
    hidden["contacts"] = json!([{"profile": {"name": "Ann"}, "user_id": "DE.77"}]);
    hidden["messages"][0]["from"] = json!(null);
    let got = read_all(hidden).pop().unwrap();
    assert_eq!((got.address.user.unwrap().as_str(), got.address.chat.as_str()), ("DE.77", "DE.77"));
}

#[test]
fn a_group_is_its_own_chat() {
    let got = read(json!({"text": {"body": "x"}, "group_id": "G1"})).unwrap();
    assert_eq!((got.address.chat.as_str(), got.address.chat_type), ("G1", ChatType::Group));
    assert_eq!(got.address.user.unwrap().as_str(), ANN);
}

#[test]
fn a_batch_comes_in_order_and_nonsense_holds_nothing_up() {
    let at = |id: &str, at: &str, text: &str| json!({"from": ANN, "id": id, "timestamp": at, "text": {"body": text}});
    let got = read_all(changed(&[
        at("wamid.3", "1700000003", "three"),
        json!(null),
        json!({"from": 5}),
        json!({"from": ANN, "id": "wamid.9", "timestamp": "x", "type": "unsupported",
            "errors": [{"code": 131_051}]}),
        json!({"id": "wamid.8", "text": {"body": "from nobody"}, "from": ""}),
        json!({"from": ANN, "id": "", "text": {"body": "without a name"}}),
        at("wamid.1", "1700000001", "one"),
        at("wamid.2", "1700000002", "two"),
    ]));
    let texts: Vec<String> = got.iter().map(|it| said(it).words.said()).collect();
    assert_eq!(texts, ["one", "two", "three"]);
}
