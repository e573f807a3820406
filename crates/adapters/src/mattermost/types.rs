//! What a server sends, as far as we read it. Whatever else it says is skipped.

use crate::nullable::or_default;
use serde::Deserialize;
use serde_json::Value;

/// The longest id we take, in bytes. The server's own have 26.
const ID_LEN_MAX: usize = 64;

/// A frame of the socket: an event, or the answer to something of ours.
#[derive(Debug, Deserialize)]
pub(super) struct Frame {
    #[serde(default)]
    pub event: String,
    #[serde(default)]
    pub data: Value,
    #[serde(default, deserialize_with = "or_default")]
    pub broadcast: Broadcast,
    /// The number of an event, from 0 on for each connection.
    pub seq: Option<u64>,
    /// The number of what this answers.
    pub seq_reply: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    pub status: String,
}

/// Whom an event is for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Broadcast {
    #[serde(deserialize_with = "or_default")]
    pub channel_id: String,
    #[serde(deserialize_with = "or_default")]
    pub user_id: String,
}

impl Frame {
    /// A text of its data.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.data.get(key).and_then(Value::as_str)
    }

    /// A thing that stands in its data as JSON in a text.
    pub fn enclosed<T: for<'de> Deserialize<'de>>(&self, key: &str) -> Option<T> {
        serde_json::from_str(self.text(key)?).ok()
    }

    /// The channel it happened in.
    pub fn channel(&self) -> Option<&str> {
        let said = self.text("channel_id").unwrap_or_default();
        let channel = if said.is_empty() { self.broadcast.channel_id.as_str() } else { said };
        Some(channel).filter(|id| is_id(id))
    }
}

/// Something said.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Entry {
    pub id: String,
    #[serde(default)]
    pub create_at: i64,
    #[serde(default)]
    pub edit_at: i64,
    #[serde(default)]
    pub delete_at: i64,
    pub user_id: String,
    pub channel_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub root_id: String,
    /// The message of which this is what it said before an edit.
    #[serde(default, deserialize_with = "or_default")]
    pub original_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
    /// Nothing for what people say; `system_…` for what the server says of them.
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    #[serde(default, deserialize_with = "or_default")]
    pub props: Value,
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    pub file_ids: Vec<String>,
}

impl Entry {
    /// Whether its ids are some.
    pub fn is_sound(&self) -> bool {
        let ids = [&self.id, &self.user_id, &self.channel_id];
        ids.into_iter().all(|id| is_id(id)) && (self.root_id.is_empty() || is_id(&self.root_id))
    }

    /// Whether a property of it says yes. The server and its plugins write that as a text.
    pub fn has(&self, key: &str) -> bool {
        match self.props.get(key) {
            Some(Value::Bool(is)) => *is,
            Some(Value::String(text)) => text == "true",
            _ => false,
        }
    }

    /// A text among its properties.
    pub fn property(&self, key: &str) -> Option<&str> {
        self.props.get(key).and_then(Value::as_str)
    }
}

/// What came with a message.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    #[serde(deserialize_with = "or_default")]
    pub files: Vec<RemoteFile>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct RemoteFile {
    pub id: String,
    #[serde(default)]
    pub name: String,
    pub size: Option<u64>,
    #[serde(default)]
    pub mime_type: String,
}

/// A reaction.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RemoteReaction {
    pub user_id: String,
    pub post_id: String,
    pub emoji_name: String,
    #[serde(default)]
    pub create_at: i64,
}

/// Somebody.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Person {
    pub id: String,
    #[serde(default)]
    pub username: String,
    #[serde(default)]
    pub nickname: String,
    #[serde(default)]
    pub first_name: String,
    #[serde(default)]
    pub last_name: String,
    #[serde(default)]
    pub is_bot: bool,
}

/// Where people talk.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Channel {
    pub id: String,
    #[serde(default)]
    pub team_id: String,
    /// `D`, `G`, `O` or `P`.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub last_post_at: i64,
}

/// Some of what was said in a channel.
#[derive(Debug, Deserialize)]
pub(super) struct Entries {
    #[serde(default)]
    pub posts: std::collections::BTreeMap<String, Value>,
}

/// What the server lets clients know of its settings.
#[derive(Debug, Deserialize)]
pub(super) struct ClientConfig {
    #[serde(default, rename = "MaxPostSize")]
    pub max_post_size: String,
}

/// Files that were taken.
#[derive(Debug, Deserialize)]
pub(super) struct Uploaded {
    #[serde(default)]
    pub file_infos: Vec<RemoteFile>,
}

/// Why a request was refused.
#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    pub id: String,
    #[serde(default)]
    pub message: String,
}

/// A button that was pressed.
#[derive(Debug, Deserialize)]
pub(super) struct Pressed {
    pub user_id: String,
    pub post_id: String,
    pub channel_id: String,
    pub trigger_id: String,
    pub context: PressedContext,
}

/// What we had put into the button.
#[derive(Debug, Deserialize)]
pub(super) struct PressedContext {
    pub data: String,
    pub mac: String,
}

/// Whether a text can be an id, and stand in an address as it is.
pub(super) fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= ID_LEN_MAX && id.bytes().all(|b| b.is_ascii_alphanumeric())
}
