//! What the Bot API sends, as far as we read it. Whatever else it says is skipped.

use serde::Deserialize;
use serde_json::value::RawValue;

/// What every method answers.
#[derive(Deserialize)]
pub(super) struct Answer<'a> {
    pub(super) ok: bool,
    #[serde(borrow)]
    pub(super) result: Option<&'a RawValue>,
    pub(super) error_code: Option<u16>,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) parameters: Parameters,
}

/// What an error says for programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Parameters {
    /// Seconds.
    pub(super) retry_after: Option<u64>,
    pub(super) migrate_to_chat_id: Option<i64>,
}

/// The name of an update, which is there when the rest makes no sense.
#[derive(Deserialize)]
pub(super) struct UpdateId {
    pub(super) update_id: i64,
}

/// One event. At most one of the fields is there.
#[derive(Deserialize)]
pub(super) struct Update {
    pub(super) update_id: i64,
    pub(super) message: Option<Message>,
    pub(super) edited_message: Option<Message>,
    pub(super) channel_post: Option<Message>,
    pub(super) edited_channel_post: Option<Message>,
    pub(super) callback_query: Option<CallbackQuery>,
    pub(super) message_reaction: Option<ReactionUpdate>,
    pub(super) my_chat_member: Option<MemberChange>,
    pub(super) chat_member: Option<MemberChange>,
}

#[derive(Deserialize)]
pub(super) struct User {
    pub(super) id: i64,
    #[serde(default)]
    pub(super) is_bot: bool,
    #[serde(default)]
    pub(super) first_name: String,
    #[serde(default)]
    pub(super) last_name: String,
    #[serde(default)]
    pub(super) username: String,
}

#[derive(Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
    /// `private`, `group`, `supergroup` or `channel`.
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) is_forum: bool,
}

#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) message_id: i64,
    #[serde(default)]
    pub(super) date: i64,
    pub(super) edit_date: Option<i64>,
    pub(super) chat: Chat,
    pub(super) from: Option<User>,
    /// Whom it was sent in the name of: an anonymous admin's group, a channel.
    pub(super) sender_chat: Option<Chat>,
    #[serde(default)]
    pub(super) author_signature: String,
    pub(super) message_thread_id: Option<i64>,
    #[serde(default)]
    pub(super) is_topic_message: bool,
    pub(super) forward_origin: Option<Origin>,
    /// As servers told it before there was `forward_origin`.
    pub(super) forward_from: Option<User>,
    pub(super) forward_from_chat: Option<Chat>,
    pub(super) forward_sender_name: Option<String>,
    pub(super) forward_date: Option<i64>,
    /// A channel's post that its group was given by itself.
    #[serde(default)]
    pub(super) is_automatic_forward: bool,
    /// The bot that wrote it into the sender's line.
    pub(super) via_bot: Option<User>,
    /// The bot that wrote it in the name of a business.
    pub(super) sender_business_bot: Option<User>,
    pub(super) reply_to_message: Option<Box<Earlier>>,
    pub(super) external_reply: Option<ExternalReply>,
    pub(super) quote: Option<Quote>,
    pub(super) media_group_id: Option<String>,
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) entities: Vec<Entity>,
    pub(super) caption: Option<String>,
    #[serde(default)]
    pub(super) caption_entities: Vec<Entity>,
    #[serde(default)]
    pub(super) photo: Vec<Media>,
    pub(super) document: Option<Media>,
    pub(super) voice: Option<Media>,
    pub(super) audio: Option<Media>,
    pub(super) video: Option<Media>,
    pub(super) video_note: Option<Media>,
    pub(super) animation: Option<Media>,
    pub(super) sticker: Option<Sticker>,
    pub(super) location: Option<Location>,
    pub(super) venue: Option<Venue>,
    pub(super) contact: Option<Contact>,
    pub(super) poll: Option<Poll>,
    pub(super) left_chat_member: Option<User>,
    pub(super) migrate_to_chat_id: Option<i64>,
}

/// A message that another refers to. It refers to none itself, so nothing here nests.
#[derive(Deserialize)]
pub(super) struct Earlier {
    pub(super) message_id: i64,
    pub(super) chat: Chat,
    pub(super) from: Option<User>,
    pub(super) sender_chat: Option<Chat>,
    pub(super) message_thread_id: Option<i64>,
    #[serde(default)]
    pub(super) is_topic_message: bool,
    pub(super) text: Option<String>,
    pub(super) caption: Option<String>,
    /// It began a topic. Everything said in the topic replies to it, as the wire has it.
    pub(super) forum_topic_created: Option<Nothing>,
}

/// Something whose presence is all that counts.
#[derive(Deserialize)]
pub(super) struct Nothing {}

#[derive(Deserialize)]
pub(super) struct Entity {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// In UTF-16 units, as is the length.
    pub(super) offset: i64,
    pub(super) length: i64,
    pub(super) url: Option<String>,
    pub(super) user: Option<User>,
}

#[derive(Deserialize)]
pub(super) struct Quote {
    #[serde(default)]
    pub(super) text: String,
}

/// A reply to a message of another chat or topic.
#[derive(Deserialize)]
pub(super) struct ExternalReply {
    pub(super) origin: Option<Origin>,
    pub(super) message_id: Option<i64>,
}

/// Where a forwarded or quoted message comes from.
#[derive(Deserialize)]
pub(super) struct Origin {
    pub(super) sender_user: Option<User>,
    #[serde(default)]
    pub(super) sender_user_name: String,
    pub(super) sender_chat: Option<Chat>,
    pub(super) chat: Option<Chat>,
}

#[derive(Deserialize)]
pub(super) struct Media {
    pub(super) file_id: String,
    #[serde(default)]
    pub(super) file_name: String,
    #[serde(default)]
    pub(super) mime_type: String,
    pub(super) file_size: Option<u64>,
    #[serde(default)]
    pub(super) width: u64,
    #[serde(default)]
    pub(super) height: u64,
}

#[derive(Deserialize)]
pub(super) struct Sticker {
    pub(super) file_id: String,
    pub(super) file_size: Option<u64>,
    #[serde(default)]
    pub(super) emoji: String,
    #[serde(default)]
    pub(super) is_animated: bool,
    #[serde(default)]
    pub(super) is_video: bool,
}

#[derive(Deserialize)]
pub(super) struct Location {
    pub(super) latitude: f64,
    pub(super) longitude: f64,
}

#[derive(Deserialize)]
pub(super) struct Venue {
    #[serde(default)]
    pub(super) title: String,
    #[serde(default)]
    pub(super) address: String,
}

#[derive(Deserialize)]
pub(super) struct Contact {
    #[serde(default)]
    pub(super) phone_number: String,
    #[serde(default)]
    pub(super) first_name: String,
}

#[derive(Deserialize)]
pub(super) struct Poll {
    #[serde(default)]
    pub(super) question: String,
    #[serde(default)]
    pub(super) options: Vec<PollOption>,
}

#[derive(Deserialize)]
pub(super) struct PollOption {
    #[serde(default)]
    pub(super) text: String,
}

#[derive(Deserialize)]
pub(super) struct CallbackQuery {
    pub(super) id: String,
    pub(super) from: User,
    /// Gone for messages sent by way of another chat's input line.
    pub(super) message: Option<Box<Earlier>>,
    pub(super) data: Option<String>,
}

/// Somebody's reactions to a message, before and after.
#[derive(Deserialize)]
pub(super) struct ReactionUpdate {
    pub(super) chat: Chat,
    pub(super) message_id: i64,
    /// Nobody where an admin reacts as the chat.
    pub(super) user: Option<User>,
    #[serde(default)]
    pub(super) date: i64,
    #[serde(default)]
    pub(super) old_reaction: Vec<ReactionSign>,
    #[serde(default)]
    pub(super) new_reaction: Vec<ReactionSign>,
}

/// An emoji, or one of somebody's own, which only has a number.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ReactionSign {
    pub(super) emoji: Option<String>,
    pub(super) custom_emoji_id: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct MemberChange {
    pub(super) chat: Chat,
    pub(super) from: User,
    #[serde(default)]
    pub(super) date: i64,
    pub(super) old_chat_member: Member,
    pub(super) new_chat_member: Member,
}

#[derive(Deserialize)]
pub(super) struct Member {
    pub(super) user: User,
    pub(super) status: String,
    #[serde(default)]
    pub(super) is_member: bool,
}

impl Member {
    /// Whether they are in the chat.
    pub(super) fn is_there(&self) -> bool {
        match self.status.as_str() {
            "creator" | "administrator" | "member" => true,
            "restricted" => self.is_member,
            _ => false,
        }
    }
}

/// What `getMe` says of us.
#[derive(Deserialize)]
pub(super) struct Me {
    pub(super) id: i64,
    #[serde(default)]
    pub(super) username: String,
    #[serde(default)]
    pub(super) first_name: String,
    #[serde(default)]
    pub(super) can_join_groups: bool,
    #[serde(default)]
    pub(super) can_read_all_group_messages: bool,
}

#[derive(Deserialize)]
pub(super) struct WebhookInfo {
    #[serde(default)]
    pub(super) url: String,
    #[serde(default)]
    pub(super) last_error_message: String,
}

/// A message of ours, as its sending is answered.
#[derive(Deserialize)]
pub(super) struct Sent {
    pub(super) message_id: i64,
}

#[derive(Deserialize)]
pub(super) struct RemoteFile {
    pub(super) file_size: Option<u64>,
    pub(super) file_path: Option<String>,
}
