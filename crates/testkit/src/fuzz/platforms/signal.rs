//! Events of signal-cli's stream.

use super::with;
use crate::fuzz::event::{Cast, Speaker, Template};
use serde_json::{Value, json};

/// A number for each person: of their id the digits behind the last dash.
fn number(user: &str) -> String {
    let digits = user.rsplit('-').next().unwrap_or_default();
    format!("+49151{}", digits.trim_start_matches('0'))
}

/// `cast.ours` is our number, `cast.chat` a group, people are UUIDs.
pub fn signal(cast: &Cast, speaker: &str) -> Vec<Template> {
    let (ours, friend) = (&cast.ours, &cast.friend);
    let number = number(speaker);
    let by = |fields: Value| {
        let envelope = json!({"source": speaker, "sourceNumber": number, "sourceUuid": speaker,
            "sourceName": "Ann", "sourceDevice": 2, "timestamp": 1_700_000_000_000_i64});
        let event = json!({"account": ours, "envelope": with(envelope, &fields)});
        let places = [
            ("/envelope/source", speaker),
            ("/envelope/sourceUuid", speaker),
            ("/envelope/sourceNumber", &number),
        ];
        let places = places.map(|(place, who)| (place, Value::from(who))).to_vec();
        Template { focus: "/envelope", ..Template::new("", event, Speaker::At(places)) }
    };
    let group = json!({"groupId": cast.chat, "groupName": "F", "revision": 3, "type": "DELIVER"});
    vec![
        by(json!({"dataMessage": {"timestamp": 1_700_000_000_000_i64,
            "message": "\u{1f600} \u{fffc} /new \u{fffc}", "expiresInSeconds": 0,
            "mentions": [{"name": "x", "number": ours, "uuid": null, "start": 3, "length": 1},
                {"uuid": friend, "start": 10, "length": 1}],
            "quote": {"id": 4, "author": friend, "authorUuid": friend, "text": "before"},
            "groupInfo": group}})),
        by(json!({"dataMessage": {"timestamp": 6, "message": null, "attachments": [
            {"contentType": "audio/aac", "filename": null, "id": "a.aac", "size": 9},
            {"contentType": "image/png", "filename": "p.png", "id": "../x", "size": null}]}})),
        by(json!({"editMessage": {"targetSentTimestamp": 6, "dataMessage": {"timestamp": 8,
            "message": "better", "groupInfo": group}}})),
        by(json!({"syncMessage": {"sentMessage": {"destination": ours,
            "destinationNumber": ours, "timestamp": 9, "message": "note"}}})),
        by(json!({"dataMessage": {"timestamp": 10, "remoteDelete": {"timestamp": 6}}})),
        by(json!({"dataMessage": {"timestamp": 10, "reaction": {"emoji": "x",
            "targetAuthorUuid": friend, "targetSentTimestamp": 6, "isRemove": false}}})),
        by(json!({"dataMessage": {"timestamp": 11, "sticker": {"packId": "ab",
            "stickerId": 3}, "contacts": [{"name": {"given": "G"}, "phone": [{"value": "1"}]}],
            "pollCreate": {"question": "q", "options": ["a", "b"]}}})),
        by(json!({"typingMessage": {"action": "STARTED", "timestamp": 4}})),
        by(json!({"receiptMessage": {"when": 4, "isDelivery": true, "timestamps": [4]}})),
    ]
}
