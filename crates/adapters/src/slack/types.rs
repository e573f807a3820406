//! What Slack sends, as far as we read it. Whatever else it says is skipped.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The longest id we take, in bytes. Slack's own have some eleven.
const ID_LEN_MAX: usize = 32;

/// A frame of the socket.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub(super) struct Frame {
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    #[serde(deserialize_with = "or_default")]
    pub envelope_id: String,
    pub payload: Value,
    /// Why the socket will end.
    #[serde(deserialize_with = "or_default")]
    pub reason: String,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            kind: String::new(),
            envelope_id: String::new(),
            payload: Value::Null,
            reason: String::new(),
        }
    }
}

/// What an event stands in.
#[derive(Debug, Deserialize)]
pub(super) struct Callback {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    #[serde(default, deserialize_with = "or_default")]
    pub team_id: String,
    #[serde(default)]
    pub event: Value,
    #[serde(default, deserialize_with = "or_default")]
    pub authorizations: Vec<Authorization>,
    /// What Slack asks to be repeated, when it asks whether this is the place.
    #[serde(default, deserialize_with = "or_default")]
    pub challenge: String,
}

/// For whom of the app an event is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Authorization {
    #[serde(deserialize_with = "or_default")]
    pub team_id: String,
    #[serde(deserialize_with = "or_default")]
    pub user_id: String,
}

/// Something said, or what became of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    #[serde(deserialize_with = "or_default")]
    pub subtype: String,
    #[serde(deserialize_with = "or_default")]
    pub channel: String,
    #[serde(deserialize_with = "or_default")]
    pub channel_type: String,
    #[serde(deserialize_with = "or_default")]
    pub user: String,
    #[serde(deserialize_with = "or_default")]
    pub bot_id: String,
    /// What a program calls itself in this message.
    #[serde(deserialize_with = "or_default")]
    pub username: String,
    #[serde(deserialize_with = "or_default")]
    pub text: String,
    #[serde(deserialize_with = "or_default")]
    pub ts: String,
    #[serde(deserialize_with = "or_default")]
    pub event_ts: String,
    #[serde(deserialize_with = "or_default")]
    pub thread_ts: String,
    /// The last answer in the thread that begins here, where a history tells it.
    #[serde(deserialize_with = "or_default")]
    pub latest_reply: String,
    #[serde(deserialize_with = "or_default")]
    pub blocks: Value,
    #[serde(deserialize_with = "or_default")]
    pub attachments: Value,
    #[serde(deserialize_with = "or_default")]
    pub files: Vec<Value>,
    #[serde(deserialize_with = "or_default")]
    pub edited: Option<Edited>,
    /// What it says now.
    #[serde(deserialize_with = "or_default")]
    pub message: Option<Box<Entry>>,
    /// What it said before.
    #[serde(deserialize_with = "or_default")]
    pub previous_message: Option<Box<Entry>>,
    #[serde(deserialize_with = "or_default")]
    pub deleted_ts: String,
    #[serde(deserialize_with = "or_default")]
    pub is_ephemeral: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Edited {
    #[serde(deserialize_with = "or_default")]
    pub ts: String,
}

impl Entry {
    /// The first message of its thread, where it stands in one.
    pub fn thread(&self) -> Option<&str> {
        Some(self.thread_ts.as_str()).filter(|thread| is_ts(thread) && *thread != self.ts)
    }
}

/// A file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct RemoteFile {
    #[serde(deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub title: String,
    #[serde(deserialize_with = "or_default")]
    pub mimetype: String,
    #[serde(deserialize_with = "or_default")]
    pub subtype: String,
    /// `tombstone` and `hidden_by_limit` are names of files that are not there.
    #[serde(deserialize_with = "or_default")]
    pub mode: String,
    pub size: Option<u64>,
    #[serde(deserialize_with = "or_default")]
    pub url_private: String,
    #[serde(deserialize_with = "or_default")]
    pub url_private_download: String,
    /// Where it was shown, by kind of channel and then by channel.
    #[serde(deserialize_with = "or_default")]
    pub shares: Value,
}

/// Somebody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Person {
    #[serde(deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub real_name: String,
    #[serde(deserialize_with = "or_default")]
    pub is_bot: bool,
    #[serde(deserialize_with = "or_default")]
    pub profile: Profile,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Profile {
    #[serde(deserialize_with = "or_default")]
    pub display_name: String,
}

impl Person {
    /// What people call them.
    pub fn shown(&self) -> &str {
        let names = [&self.profile.display_name, &self.real_name, &self.name];
        names.into_iter().find(|name| !name.trim().is_empty()).map_or("", |name| name.as_str())
    }
}

/// A button that was pressed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pressed {
    #[serde(rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    #[serde(deserialize_with = "or_default")]
    pub user: Named,
    #[serde(deserialize_with = "or_default")]
    pub channel: Named,
    #[serde(deserialize_with = "or_default")]
    pub team: Option<Named>,
    #[serde(deserialize_with = "or_default")]
    pub message: Entry,
    #[serde(deserialize_with = "or_default")]
    pub response_url: String,
    #[serde(deserialize_with = "or_default")]
    pub actions: Vec<Action>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Named {
    #[serde(deserialize_with = "or_default")]
    pub id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Action {
    #[serde(deserialize_with = "or_default")]
    pub action_ts: String,
    #[serde(deserialize_with = "or_default")]
    pub value: String,
}

/// A command that was typed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Commanded {
    #[serde(deserialize_with = "or_default")]
    pub command: String,
    #[serde(deserialize_with = "or_default")]
    pub text: String,
    #[serde(deserialize_with = "or_default")]
    pub user_id: String,
    #[serde(deserialize_with = "or_default")]
    pub channel_id: String,
    #[serde(deserialize_with = "or_default")]
    pub team_id: String,
    #[serde(deserialize_with = "or_default")]
    pub trigger_id: String,
}

/// Who we are there.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tested {
    #[serde(deserialize_with = "or_default")]
    pub team: String,
    #[serde(deserialize_with = "or_default")]
    pub team_id: String,
    #[serde(deserialize_with = "or_default")]
    pub user: String,
    #[serde(deserialize_with = "or_default")]
    pub user_id: String,
    #[serde(deserialize_with = "or_default")]
    pub bot_id: String,
    #[serde(deserialize_with = "or_default")]
    pub is_enterprise_install: bool,
}

/// Whether a text can be an id.
pub(super) fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= ID_LEN_MAX && id.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Whether a text can be the name of a message: a moment, in seconds and a fraction.
pub(super) fn is_ts(ts: &str) -> bool {
    let is_number = |part: &str, most: usize| {
        (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
    };
    ts.split_once('.')
        .is_some_and(|(whole, part)| is_number(whole, 12) && part.len() == 6 && is_number(part, 6))
}

/// The moment in the name of a message, in microseconds.
pub(super) fn micros(ts: &str) -> Option<i64> {
    let (whole, part) = ts.split_once('.').filter(|_| is_ts(ts))?;
    Some(whole.parse::<i64>().ok()? * 1_000_000 + part.parse::<i64>().ok()?)
}

/// A field that may be `null`.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_named_by_a_moment() {
        assert_eq!(micros("1700000000.000100"), Some(1_700_000_000_000_100));
        for bad in [
            "",
            "1",
            "1.1",
            ".000001",
            "1.0000001",
            "-1.000000",
            "1.00000a",
            "9999999999999.000000",
        ] {
            assert_eq!(micros(bad), None, "{bad}");
        }
    }
}
