//! What signal-cli sends: the fields that are read, and nothing else of it.

use serde::{Deserialize, Deserializer};

/// The data of one event of the stream.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Received {
    /// The number of the account that received it.
    pub(super) account: Option<String>,
    pub(super) envelope: Option<Envelope>,
    /// What came could not be decrypted, or something like it.
    pub(super) exception: Option<Exception>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Exception {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Envelope {
    pub(super) source_number: Option<String>,
    pub(super) source_uuid: Option<String>,
    /// The name in the contacts, or of the profile.
    pub(super) source_name: Option<String>,
    pub(super) source_device: Option<i64>,
    pub(super) timestamp: i64,
    pub(super) data_message: Option<DataMessage>,
    pub(super) edit_message: Option<EditMessage>,
    pub(super) sync_message: Option<SyncMessage>,
}

/// What another device of our own account did.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SyncMessage {
    pub(super) sent_message: Option<SentMessage>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SentMessage {
    pub(super) destination_number: Option<String>,
    pub(super) destination_uuid: Option<String>,
    pub(super) edit_message: Option<EditMessage>,
    #[serde(flatten)]
    pub(super) message: DataMessage,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct EditMessage {
    pub(super) target_sent_timestamp: i64,
    pub(super) data_message: DataMessage,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DataMessage {
    pub(super) timestamp: i64,
    pub(super) message: Option<String>,
    pub(super) reaction: Option<Reaction>,
    pub(super) quote: Option<Quote>,
    #[serde(deserialize_with = "nullable")]
    pub(super) mentions: Vec<Mention>,
    #[serde(deserialize_with = "nullable")]
    pub(super) attachments: Vec<RemoteFile>,
    pub(super) sticker: Option<Sticker>,
    pub(super) remote_delete: Option<RemoteDelete>,
    pub(super) admin_delete: Option<AdminDelete>,
    #[serde(deserialize_with = "nullable")]
    pub(super) contacts: Vec<Contact>,
    pub(super) poll_create: Option<Poll>,
    pub(super) group_info: Option<GroupInfo>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Reaction {
    pub(super) emoji: String,
    pub(super) target_author_number: Option<String>,
    pub(super) target_author_uuid: Option<String>,
    pub(super) target_sent_timestamp: i64,
    pub(super) is_remove: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Quote {
    pub(super) id: i64,
    pub(super) author_number: Option<String>,
    pub(super) author_uuid: Option<String>,
    pub(super) text: Option<String>,
    #[serde(deserialize_with = "nullable")]
    pub(super) mentions: Vec<Mention>,
}

/// Somebody named in a text, by place and length in UTF-16 units.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Mention {
    pub(super) number: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) start: i64,
    pub(super) length: i64,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RemoteFile {
    pub(super) content_type: Option<String>,
    pub(super) filename: Option<String>,
    /// What it is fetched by; absent where signal-cli did not download it.
    pub(super) id: Option<String>,
    pub(super) size: Option<u64>,
    /// Whether it was recorded in the chat, where signal-cli tells.
    pub(super) is_voice_note: Option<bool>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Sticker {
    pub(super) pack_id: String,
    pub(super) sticker_id: i64,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct RemoteDelete {
    pub(super) timestamp: i64,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AdminDelete {
    pub(super) target_author_number: Option<String>,
    pub(super) target_author_uuid: Option<String>,
    pub(super) target_sent_timestamp: i64,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Contact {
    pub(super) name: Option<ContactName>,
    #[serde(deserialize_with = "nullable")]
    pub(super) phone: Vec<ContactPhone>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContactName {
    pub(super) given: Option<String>,
    pub(super) family: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContactPhone {
    pub(super) value: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Poll {
    pub(super) question: String,
    #[serde(deserialize_with = "nullable")]
    pub(super) options: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GroupInfo {
    pub(super) group_id: String,
    pub(super) revision: i64,
    /// `UPDATE` where the group itself changed, `DELIVER` where something was said in it.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
}

/// The answer to a call.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    pub(super) result: Option<Box<serde_json::value::RawValue>>,
    pub(super) error: Option<RpcError>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct RpcError {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<ErrorData>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ErrorData {
    pub(super) response: Option<Sent>,
}

/// What became of a message, for each of whom it went to.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Sent {
    pub(super) timestamp: i64,
    #[serde(deserialize_with = "nullable")]
    pub(super) results: Vec<SendResult>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SendResult {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// There when Signal wants a captcha to be solved.
    pub(super) token: Option<String>,
    pub(super) retry_after_seconds: Option<u64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Version {
    pub(super) version: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct KnownContact {
    pub(super) number: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) profile: Option<Profile>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Profile {
    pub(super) given_name: Option<String>,
    pub(super) family_name: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Group {
    pub(super) id: String,
    pub(super) is_member: bool,
    #[serde(deserialize_with = "nullable")]
    pub(super) pending_members: Vec<Member>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Member {
    pub(super) number: Option<String>,
    pub(super) uuid: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct FileData {
    pub(super) data: String,
}

/// A list that may be left out or null.
fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::<Vec<T>>::deserialize(deserializer)?.unwrap_or_default())
}
