//! Frames of a page in the web chat, and requests to a webhook.

use crate::fuzz::event::{Speaker, Template};
use serde_json::{Value, json};

/// What a page sends, to its own chat and to so many rooms. Nothing in it says who it is.
pub fn frames(rooms: usize) -> Vec<Template> {
    let file = json!({ "name": "a", "media_type": "image/png", "content": "aGk=", "voice": true });
    let plain = [
        json!({ "type": "join" }),
        json!({ "type": "hello", "token": "t" }),
        json!({ "type": "say", "id": "1", "text": "hi @site", "reply_to": "agent/k" }),
    ];
    let closed = ["closed", "own:bob", "own:ann", ""].map(str::to_owned);
    let names = (0..rooms).map(|room| format!("room{room}")).chain(closed);
    let inside = names.enumerate().flat_map(|(at, room)| {
        let id = format!("i{at}");
        [
            json!({ "type": "join", "room": room, "topic": "7", "after": "e-1" }),
            json!({ "type": "leave", "room": room, "topic": "7" }),
            json!({ "type": "say", "id": id, "room": room, "text": "x", "mention": true,
                "files": [file] }),
            json!({ "type": "press", "id": id, "room": room, "message": "agent/k", "data": "d" }),
        ]
    });
    plain.into_iter().chain(inside).map(said_by_nobody).collect()
}

/// What a build server sends. Nothing in it says who it is.
pub fn hooks() -> Vec<Template> {
    vec![said_by_nobody(json!({
        "room": "acme/app", "id": 1, "user": "admin", "account": "other",
        "build": { "status": "red", "log": "{{ id }}" }, "list": [1, { "a": [] }],
    }))]
}

fn said_by_nobody(value: Value) -> Template {
    Template::new("", value, Speaker::Unnamed)
}
