//! The frames of a web chat: what a page may say, and what it is told. See the top of the
//! module for what each means.

use insula_channel::Body;
use serde::Deserialize;
use serde_json::{Value, json};

/// Longest frame a page may send: the longest text, the files in Base64, and what stands around
/// them.
pub const FRAME_BYTES_MAX: usize = 128 * 1024 + FILES_BYTES_MAX / 3 * 4;

/// Longest text.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Longest id that a page gives to what it says.
pub const ID_BYTES_MAX: usize = 64;

/// Files of one message that go along in a frame, in bytes. Larger ones of ours go by name alone.
pub const FILES_BYTES_MAX: usize = 512 * 1024;

/// Files of one message of a page.
pub const FILES_MAX: usize = 8;

/// What a page says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ClientFrame {
    /// Shows the token; only as the first frame.
    Hello { token: String },
    /// Comes into a room.
    Join {
        /// Which; the bearer's own when left out.
        room: Option<String>,
        topic: Option<String>,
        /// The cursor of the last frame that was read.
        after: Option<String>,
    },
    /// Leaves a room.
    Leave { room: Option<String>, topic: Option<String> },
    /// Says something.
    Say {
        /// The page's own name for it, the same when it is sent again.
        id: String,
        /// Where; the bearer's own room when left out.
        room: Option<String>,
        topic: Option<String>,
        text: String,
        /// Whether it is meant for the agent, in a room with others.
        #[serde(default)]
        mention: bool,
        /// The message it answers.
        reply_to: Option<String>,
        /// What goes along.
        #[serde(default)]
        files: Vec<Enclosed>,
    },
    /// Presses a button.
    Press {
        /// The page's own name for it.
        id: String,
        /// Where the button is.
        room: Option<String>,
        topic: Option<String>,
        /// The message it stands under.
        message: String,
        /// What was in the button.
        data: String,
    },
}

/// A file that a page sends along.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enclosed {
    pub name: String,
    /// What its content is.
    pub media_type: String,
    /// The content, in Base64.
    pub content: String,
    /// Whether it is speech recorded for this chat.
    #[serde(default)]
    pub voice: bool,
}

/// Where a frame belongs, as pages name it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RoomRef {
    /// The room; `None` for the bearer's own.
    pub room: Option<Box<str>>,
    pub topic: Option<Box<str>>,
}

impl RoomRef {
    fn onto(&self, mut frame: Value) -> Value {
        frame["room"] = json!(self.room);
        frame["topic"] = json!(self.topic);
        frame
    }
}

/// The chat is open.
pub fn ready(account: &str, user: &str) -> Value {
    json!({ "type": "ready", "account": account, "user": user, "protocol": 1 })
}

/// A room was entered: `cursor` is where it stands, and whether frames between the page's
/// cursor and what follows are lost.
pub fn joined(place: &RoomRef, cursor: &str, gap: bool) -> Value {
    place.onto(json!({ "type": "joined", "cursor": cursor, "gap": gap }))
}

/// A room was left, or had to be.
pub fn left(place: &RoomRef, why: Option<&str>) -> Value {
    place.onto(json!({ "type": "left", "why": why }))
}

/// Somebody in the room said something.
pub fn said(place: &RoomRef, id: &str, user: &str, words: &PageMessage) -> Value {
    let mut frame = place.onto(json!({
        "type": "message", "id": id, "by": "user", "user": user,
        "text": words.text, "reply_to": words.reply_to,
    }));
    if !words.files.is_empty() {
        // Others see that there is one; its content is the agent's.
        let file = |it: &Enclosed| json!({ "name": it.name, "media_type": it.media_type, "content": null });
        frame["files"] = words.files.iter().map(file).collect();
    }
    frame
}

/// What a page says in one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageMessage {
    pub text: String,
    /// Whether it is meant for the agent.
    pub mention: bool,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// What goes along.
    pub files: Vec<Enclosed>,
}

/// Something said in an earlier run, as the agent's records have it.
pub fn remembered(place: &RoomRef, id: &str, user: Option<&str>, text: &str) -> Value {
    let by = if user.is_some() { "user" } else { "agent" };
    place.onto(json!({
        "type": "message", "id": id, "by": by, "user": user, "text": text, "reply_to": null,
    }))
}

/// The agent said something.
pub fn answered(place: &RoomRef, id: &str, body: &Body, reply_to: Option<&str>) -> Value {
    let mut frame = place.onto(json!({
        "type": "message", "id": id, "by": "agent", "user": null,
        "text": body.markdown, "reply_to": reply_to, "buttons": buttons(body),
    }));
    if !body.files.is_empty() {
        frame["files"] = files(body);
    }
    frame
}

/// The agent's message reads otherwise now.
pub fn edited(place: &RoomRef, id: &str, body: &Body) -> Value {
    let text = &*body.markdown;
    place.onto(json!({ "type": "edit", "id": id, "text": text, "buttons": buttons(body) }))
}

/// Something is being written.
pub fn typing(place: &RoomRef) -> Value {
    place.onto(json!({ "type": "typing" }))
}

/// What a page said is durable.
pub fn taken(id: &str) -> Value {
    json!({ "type": "taken", "id": id })
}

/// What a page said was not taken.
pub fn refused(id: Option<&str>, code: &str, why: &str) -> Value {
    json!({ "type": "refused", "id": id, "code": code, "why": why })
}

/// A word to one page alone.
pub fn notice(text: &str) -> Value {
    json!({ "type": "notice", "text": text })
}

fn buttons(body: &Body) -> Value {
    let row = |row: &Vec<insula_channel::Button>| -> Value {
        row.iter().map(|button| json!({ "label": button.label, "data": button.data })).collect()
    };
    body.buttons.iter().map(row).collect()
}

fn files(body: &Body) -> Value {
    let all: usize = body.files.iter().map(|file| file.content.len()).sum();
    body.files
        .iter()
        .map(|file| {
            let content = (all <= FILES_BYTES_MAX).then(|| base64(&file.content));
            json!({ "name": file.name, "media_type": file.media_type, "content": content })
        })
        .collect()
}

/// The content of a file that came along, if that is what it is.
pub fn content(base64: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(base64).ok()
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_one_of_the_known_ones_and_nothing_else() {
        let good = [
            r#"{"type":"hello","token":"insula_x_y"}"#,
            r#"{"type":"join"}"#,
            r#"{"type":"join","room":"family","topic":"7","after":"e-1"}"#,
            r#"{"type":"say","id":"1","text":"hi"}"#,
            r#"{"type":"say","id":"1","text":"","files":[{"name":"a","media_type":"b/c","content":""}]}"#,
            r#"{"type":"press","id":"2","message":"m","data":"d"}"#,
        ];
        for text in good {
            assert!(serde_json::from_str::<ClientFrame>(text).is_ok(), "{text}");
        }
        let bad = [
            "",
            "{}",
            "[]",
            "null",
            r#"{"type":"shout"}"#,
            r#"{"type":"say","text":"hi"}"#,
            r#"{"type":"say","id":"1","text":"hi","user":"somebody"}"#,
            r#"{"type":"say","id":1,"text":""}"#,
            r#"{"type":"say","id":"1","text":"","files":[{"name":"a","path":"/etc/passwd"}]}"#,
        ];
        for text in bad {
            assert!(serde_json::from_str::<ClientFrame>(text).is_err(), "{text}");
        }
    }
}
