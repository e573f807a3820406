//! What a homeserver sends, as far as we read it.
//!
//! An event is kept raw until it is looked at alone: one that makes no sense must not take the
//! answer with it, and anybody in a room can send one.

use insula_world::Timestamp;
use ruma::api::client::sync::sync_events::DeviceLists;
use ruma::{OneTimeKeyAlgorithm, UInt};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The longest id we take, in bytes. Matrix allows 255.
const ID_LEN_MAX: usize = 512;

/// Why a request was refused.
#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    pub errcode: String,
    #[serde(default)]
    pub error: String,
    pub retry_after_ms: Option<u64>,
}

/// The answer to `/account/whoami`.
#[derive(Debug, Deserialize)]
pub(super) struct WhoAmI {
    pub user_id: String,
    /// The device that the token is for, where it is for one.
    pub device_id: Option<String>,
}

/// The answer to `/sync`.
#[derive(Debug, Deserialize)]
pub(super) struct Sync<'a> {
    pub next_batch: String,
    #[serde(borrow, default)]
    pub account_data: Events<'a>,
    #[serde(borrow, default)]
    pub rooms: Rooms<'a>,
    /// What other devices say to ours.
    #[serde(borrow, default)]
    pub to_device: Events<'a>,
    /// Whose devices changed.
    #[serde(default)]
    pub device_lists: DeviceLists,
    /// How many keys of ours are left to begin sessions with.
    #[serde(default)]
    pub device_one_time_keys_count: BTreeMap<OneTimeKeyAlgorithm, UInt>,
    /// The kinds of which the last one left was not used.
    pub device_unused_fallback_key_types: Option<Vec<OneTimeKeyAlgorithm>>,
}

/// The rooms in which something happened.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Rooms<'a> {
    #[serde(borrow, default)]
    pub join: BTreeMap<String, Room<'a>>,
    #[serde(borrow, default)]
    pub leave: BTreeMap<String, Room<'a>>,
    #[serde(borrow, default)]
    pub invite: BTreeMap<String, Invited<'a>>,
}

/// What happened in one room.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Room<'a> {
    #[serde(borrow, default)]
    pub state: Events<'a>,
    #[serde(borrow, default)]
    pub timeline: Timeline<'a>,
}

/// A room we are invited to.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Invited<'a> {
    #[serde(borrow, default)]
    pub invite_state: Events<'a>,
}

/// Events, in order.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Events<'a> {
    #[serde(borrow, default)]
    pub events: Vec<&'a RawValue>,
}

/// The latest of a room, possibly with something missing before it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Timeline<'a> {
    #[serde(borrow, default)]
    pub events: Vec<&'a RawValue>,
    #[serde(default)]
    pub limited: bool,
    pub prev_batch: Option<String>,
}

/// A page of what was said before.
#[derive(Debug, Deserialize)]
pub(super) struct Page<'a> {
    #[serde(borrow, default)]
    pub chunk: Vec<&'a RawValue>,
    pub end: Option<String>,
}

/// The answer to `/joined_members`.
#[derive(Debug, Deserialize)]
pub(super) struct Members {
    pub joined: BTreeMap<String, Member>,
}

/// One who is in a room.
#[derive(Debug, Deserialize)]
pub(super) struct Member {
    pub display_name: Option<String>,
}

/// The answer to a message of ours.
#[derive(Debug, Deserialize)]
pub(super) struct Sent {
    pub event_id: String,
}

/// The answer to an upload.
#[derive(Debug, Deserialize)]
pub(super) struct Uploaded {
    pub content_uri: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Event {
    pub kind: String,
    /// Absent in what is shown to the invited.
    pub id: Option<String>,
    pub sender: String,
    pub at: Option<Timestamp>,
    pub state_key: Option<String>,
    pub content: Value,
    /// What the state was before, where the server tells.
    pub before: Value,
    /// What it takes back.
    pub redacts: Option<String>,
    /// Whether it was itself taken back.
    pub is_redacted: bool,
}

impl Event {
    /// Reads an event; nothing when it is none.
    pub(super) fn read(raw: &RawValue) -> Option<Self> {
        Self::of(serde_json::from_str(raw.get()).ok()?)
    }

    /// The same of a value.
    pub(super) fn of(mut value: Value) -> Option<Self> {
        let text =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let id = |value: &Value, key: &str| text(value, key).filter(|id| is_id(id));
        let content = value.get_mut("content").map(Value::take).filter(Value::is_object)?;
        let redacts = id(&value, "redacts").or_else(|| id(&content, "redacts"));
        let unsigned = value.get("unsigned").unwrap_or(&Value::Null);
        Some(Self {
            kind: text(&value, "type")?,
            id: id(&value, "event_id"),
            sender: id(&value, "sender")?,
            at: value.get("origin_server_ts").and_then(Value::as_i64).map(Timestamp::from_millis),
            state_key: text(&value, "state_key"),
            before: unsigned.get("prev_content").cloned().unwrap_or_default(),
            redacts,
            is_redacted: unsigned.get("redacted_because").is_some(),
            content,
        })
    }

    /// A text of its content.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.content.get(key).and_then(Value::as_str)
    }

    /// Whether it is the moment at which `user` came into the room.
    pub(super) fn is_arrival(&self, user: &str) -> bool {
        self.is_member(user)
            && self.text("membership") == Some("join")
            && self.before.get("membership").and_then(Value::as_str) != Some("join")
    }

    /// Whether it is the moment at which `user` went, or had to go.
    pub(super) fn is_departure(&self, user: &str) -> bool {
        let before = self.before.get("membership").and_then(Value::as_str);
        self.is_member(user)
            && matches!(self.text("membership"), Some("leave" | "ban"))
            && before.is_none_or(|before| before == "join")
    }

    /// Whether it is about `user`'s being in the room.
    pub(super) fn is_member(&self, user: &str) -> bool {
        self.kind == "m.room.member" && self.state_key.as_deref() == Some(user)
    }

    /// How it relates to others.
    pub(super) fn relation(&self) -> Relation<'_> {
        relation(&self.content)
    }
}

/// How an event relates to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation<'a> {
    /// It stands alone.
    None,
    /// It answers another.
    Reply(&'a str),
    /// It belongs to a thread, and possibly answers something in it.
    Thread { root: &'a str, reply: Option<&'a str> },
    /// It says how another is to read.
    Replace(&'a str),
    /// It puts a sign on another.
    Annotation { of: &'a str, sign: &'a str },
    /// Anything else: nothing that changes where a message stands.
    Other,
    /// A thread without a beginning, a change of nothing.
    Senseless,
}

/// How something with this content relates to others.
pub(super) fn relation(content: &Value) -> Relation<'_> {
    let Some(relates) = content.get("m.relates_to").filter(|it| it.is_object()) else {
        return Relation::None;
    };
    let event = read_id(relates.get("event_id"));
    let reply = read_id(relates.get("m.in_reply_to").and_then(|reply| reply.get("event_id")));
    match relates.get("rel_type").and_then(Value::as_str) {
        Some("m.thread") => match event {
            Some(root) => {
                // The reply is there for clients that know no threads.
                let falls_back = relates.get("is_falling_back") == Some(&Value::Bool(true));
                Relation::Thread { root, reply: reply.filter(|_| !falls_back) }
            }
            None => Relation::Senseless,
        },
        Some("m.replace") => event.map_or(Relation::Senseless, Relation::Replace),
        Some("m.annotation") => {
            let sign = relates.get("key").and_then(Value::as_str).filter(|it| is_id(it));
            match (event, sign) {
                (Some(of), Some(sign)) => Relation::Annotation { of, sign },
                _ => Relation::Senseless,
            }
        }
        Some(_) => Relation::Other,
        None => reply.map_or(Relation::None, Relation::Reply),
    }
}

fn read_id(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str).filter(|id| is_id(id))
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= ID_LEN_MAX
}
