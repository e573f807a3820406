//! What Discord sends, as far as we read it. Whatever else it says is skipped.

use crate::nullable::or_default;
use serde::Deserialize;
use serde_json::value::RawValue;

/// When Discord's ids begin to count, in milliseconds since the epoch.
const EPOCH_MS: i64 = 1_420_070_400_000;

/// A frame of the gateway.
#[derive(Debug, Deserialize)]
pub(super) struct Frame<'a> {
    pub op: u64,
    #[serde(borrow, default)]
    pub d: Option<&'a RawValue>,
    /// The number of an event.
    #[serde(default)]
    pub s: Option<u64>,
    /// Its name.
    #[serde(default)]
    pub t: Option<String>,
}

impl Frame<'_> {
    /// What it carries, where that makes sense.
    pub(super) fn read<T: for<'de> Deserialize<'de>>(&self) -> Option<T> {
        serde_json::from_str(self.d?.get()).ok()
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Hello {
    pub heartbeat_interval: u64,
}

/// A session begins.
#[derive(Debug, Deserialize)]
pub(super) struct Ready {
    pub session_id: String,
    pub resume_gateway_url: String,
    pub user: User,
    #[serde(default, deserialize_with = "or_default")]
    pub guilds: Vec<GuildStub>,
}

#[derive(Debug, Deserialize)]
pub(super) struct GuildStub {
    pub id: String,
}

/// A server that we are in, told when a session begins.
#[derive(Debug, Deserialize)]
pub(super) struct Guild {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub unavailable: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub channels: Vec<Channel>,
    #[serde(default, deserialize_with = "or_default")]
    pub threads: Vec<Channel>,
    #[serde(default, deserialize_with = "or_default")]
    pub members: Vec<Member>,
}

/// Where people talk.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Channel {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub guild_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub parent_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub last_message_id: String,
}

/// Threads of a channel that we see from now on.
#[derive(Debug, Deserialize)]
pub(super) struct ThreadList {
    pub guild_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub threads: Vec<Channel>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct User {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub username: String,
    #[serde(default, deserialize_with = "or_default")]
    pub global_name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub bot: bool,
    #[serde(default, deserialize_with = "or_default")]
    pub system: bool,
}

/// Somebody on a server. Whose membership it is stands beside it in some events.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Member {
    #[serde(default, deserialize_with = "or_default")]
    pub user: Option<User>,
    #[serde(default, deserialize_with = "or_default")]
    pub nick: String,
    #[serde(default, deserialize_with = "or_default")]
    pub roles: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MemberUpdate {
    pub guild_id: String,
    pub user: User,
    #[serde(default, deserialize_with = "or_default")]
    pub roles: Vec<String>,
}

/// Something said.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Entry {
    pub id: String,
    pub channel_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub guild_id: String,
    pub author: User,
    #[serde(default, deserialize_with = "or_default")]
    pub member: Option<Member>,
    #[serde(default, deserialize_with = "or_default")]
    pub content: String,
    /// 0 for what people say, 19 for replies; others are what Discord says of them.
    #[serde(rename = "type", default)]
    pub kind: u64,
    /// Who wrote it, where that was no account.
    #[serde(default, deserialize_with = "or_default")]
    pub webhook_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub mention_roles: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub edited_timestamp: String,
    #[serde(default, deserialize_with = "or_default")]
    pub flags: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub attachments: Vec<RemoteFile>,
    #[serde(default, deserialize_with = "or_default")]
    pub message_reference: Option<Reference>,
    #[serde(default, deserialize_with = "or_default")]
    pub referenced_message: Option<Box<Earlier>>,
    #[serde(default, deserialize_with = "or_default")]
    pub message_snapshots: Vec<Snapshot>,
    #[serde(default, deserialize_with = "or_default")]
    pub sticker_items: Vec<Sticker>,
    #[serde(default, deserialize_with = "or_default")]
    pub embeds: Vec<Embed>,
    #[serde(default, deserialize_with = "or_default")]
    pub poll: Option<Poll>,
}

impl Entry {
    /// Whether its ids are some.
    pub(super) fn is_sound(&self) -> bool {
        let optional = |id: &String| id.is_empty() || is_id(id);
        [&self.id, &self.channel_id, &self.author.id].into_iter().all(|id| is_id(id))
            && optional(&self.guild_id)
    }

    /// Whether a program wrote it that is no account: the name is whatever it gave.
    pub(super) fn is_of_webhook(&self) -> bool {
        !self.webhook_id.is_empty()
    }
}

/// What a message points at.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Reference {
    /// 0 for a reply, 1 for something passed on.
    #[serde(rename = "type", default)]
    pub kind: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub message_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub channel_id: String,
}

/// What a message replies to.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Earlier {
    pub author: User,
    #[serde(default, deserialize_with = "or_default")]
    pub content: String,
    #[serde(default, deserialize_with = "or_default")]
    pub webhook_id: String,
}

/// What was passed on.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Snapshot {
    pub message: Passed,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Passed {
    #[serde(default, deserialize_with = "or_default")]
    pub content: String,
    #[serde(default, deserialize_with = "or_default")]
    pub attachments: Vec<RemoteFile>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct RemoteFile {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub filename: String,
    #[serde(default, deserialize_with = "or_default")]
    pub content_type: String,
    #[serde(default)]
    pub size: Option<u64>,
    #[serde(default, deserialize_with = "or_default")]
    pub url: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Sticker {
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
}

/// What programs put below a message, and Discord below a link.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Embed {
    #[serde(rename = "type", default, deserialize_with = "or_default")]
    pub kind: String,
    #[serde(default, deserialize_with = "or_default")]
    pub title: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Poll {
    pub question: PollWords,
    #[serde(default, deserialize_with = "or_default")]
    pub answers: Vec<PollAnswer>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct PollAnswer {
    pub poll_media: PollWords,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct PollWords {
    #[serde(default, deserialize_with = "or_default")]
    pub text: String,
}

/// Messages that are gone.
#[derive(Debug, Deserialize)]
pub(super) struct Gone {
    #[serde(default, deserialize_with = "or_default")]
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub ids: Vec<String>,
    pub channel_id: String,
}

/// A sign on a message.
#[derive(Debug, Deserialize)]
pub(super) struct RemoteReaction {
    pub user_id: String,
    pub channel_id: String,
    pub message_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub message_author_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub member: Option<Member>,
    pub emoji: Emoji,
}

#[derive(Debug, Deserialize)]
pub(super) struct Emoji {
    /// Nothing for a sign of Unicode's.
    #[serde(default, deserialize_with = "or_default")]
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
}

/// Somebody pressed a button or used a command.
#[derive(Debug, Deserialize)]
pub(super) struct Interaction {
    pub id: String,
    pub token: String,
    /// 2 for a command, 3 for a button.
    #[serde(rename = "type")]
    pub kind: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub channel_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub member: Option<Member>,
    #[serde(default, deserialize_with = "or_default")]
    pub user: Option<User>,
    #[serde(default, deserialize_with = "or_default")]
    pub message: Option<Under>,
    #[serde(default, deserialize_with = "or_default")]
    pub data: InteractionData,
}

/// The message a button stands under.
#[derive(Debug, Deserialize)]
pub(super) struct Under {
    pub id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InteractionData {
    #[serde(deserialize_with = "or_default")]
    pub custom_id: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub options: Vec<CommandOption>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CommandOption {
    #[serde(default)]
    pub value: serde_json::Value,
}

/// Our application.
#[derive(Debug, Deserialize)]
pub(super) struct Application {
    pub id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub flags: u64,
    #[serde(default, deserialize_with = "or_default")]
    pub interactions_endpoint_url: String,
}

/// Where the gateway is, and how many sessions may begin.
#[derive(Debug, Deserialize)]
pub(super) struct Gateway {
    pub url: String,
    #[serde(default)]
    pub session_start_limit: Option<StartLimit>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StartLimit {
    #[serde(default)]
    pub remaining: Option<u64>,
    /// In milliseconds.
    #[serde(default)]
    pub reset_after: u64,
}

/// A command as Discord has it.
#[derive(Debug, Deserialize)]
pub(super) struct Command {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub description: String,
}

/// Why a request was refused.
#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    pub message: String,
    #[serde(default)]
    pub code: i64,
    /// In seconds.
    #[serde(default)]
    pub retry_after: Option<f64>,
    #[serde(default)]
    pub global: bool,
}

/// Whether a text can be an id, and stand in an address as it is.
pub(super) fn is_id(id: &str) -> bool {
    number(id).is_some()
}

/// The number that an id is. Later things have larger ones.
pub(super) fn number(id: &str) -> Option<u64> {
    let is_plain = !id.is_empty() && id.len() <= 20 && id.bytes().all(|b| b.is_ascii_digit());
    is_plain.then(|| id.parse().ok()).flatten()
}

/// When something with this number was made, in milliseconds since the epoch.
pub(super) fn made_at(number: u64) -> i64 {
    i64::try_from(number >> 22).unwrap_or(i64::MAX).saturating_add(EPOCH_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_number_and_tells_when() {
        assert_eq!(made_at(175_928_847_299_117_063), 1_462_015_105_796);
        for bad in ["", "-1", "1 ", "abc", "99999999999999999999", "123456789012345678901", "é"] {
            assert!(!is_id(bad), "{bad}");
        }
        assert_eq!(number("18446744073709551615"), Some(u64::MAX));
        assert!(made_at(u64::MAX) > 0);
    }
}
