//! One inbound event, normalised by an adapter.

use crate::reaction::{self, Vote};
use insula_domain::{Address, UserId, Words};
use insula_world::Timestamp;
use std::time::Duration;

/// The platform's name for one event. Unique within the account, and the same when the event
/// is delivered again: that is how a repetition is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EventId(pub Box<str>);

/// The platform's name for one message, unique within its chat.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MessageId(pub Box<str>);

/// How long events are remembered, in front and by owners. No platform delivers one again after
/// that.
pub const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// One event of a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// What a repetition of it would carry.
    pub event: EventId,
    /// Where it happened and by whom.
    pub address: Address,
    /// What is known of whoever caused it.
    pub sender: Sender,
    /// When the platform says it happened.
    pub at: Timestamp,
    pub what: Happening,
}

/// Who caused an event, beside the id in its address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sender {
    /// What people call them. Chosen by them, so it decides nothing.
    pub name: Box<str>,
    /// Other ids the platform itself has for the same user (a number and a UUID).
    pub also: Vec<UserId>,
    /// Whether the platform says that it is a program.
    pub is_bot: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// Something was said.
    Said(Message),
    /// Something said earlier reads otherwise now.
    Edited(Message),
    /// Something said earlier was taken back.
    Deleted(MessageId),
    /// A button under one of our messages was pressed.
    Pressed(Press),
    /// A sign was put on a message, or taken away.
    Reacted(Reaction),
    /// Our account was added to the chat, or invited: by the sender.
    Added,
    /// Our account was removed from the chat.
    Removed,
    /// The sender is no longer in the chat.
    Left,
    /// The chat continues under another id (as when a group becomes a larger kind of group).
    Moved(insula_domain::ChatId),
}

/// Something said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its name.
    pub id: MessageId,
    /// What it says, as plain text and piece by piece: what its sender typed as themselves, and
    /// what came along that they did not. A mention of our account is taken out, so that a
    /// command behind it is found; mentions of others stay.
    pub words: Words,
    /// Whether our account was addressed: mentioned in what the sender typed, or one of its
    /// messages replied to. Words of others address nobody.
    pub mentions_us: bool,
    /// A command addressed to another bot of the same chat by name is nothing for us.
    pub is_for_another: bool,
    /// What came with it.
    pub attachments: Vec<Attachment>,
    /// What it replies to or quotes.
    pub quoted: Option<Quoted>,
    /// The same for all parts of what a client sent as one (an album).
    pub group: Option<Box<str>>,
}

/// Something that came with a message. Its content is fetched when somebody may have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    pub kind: AttachmentKind,
    /// The name its sender gave it; nothing may be opened by it.
    pub name: Box<str>,
    /// What the platform says its content is.
    pub media_type: Box<str>,
    /// How much the platform says it is.
    pub size: Option<u64>,
    /// What [`Outbound::fetch`](crate::Outbound::fetch) takes.
    pub handle: Box<str>,
}

/// What an attachment is. A voice memo counts as addressing the bot in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttachmentKind {
    /// A picture.
    Image,
    /// Speech recorded for the chat.
    Voice,
    /// Other sound.
    Audio,
    /// Moving pictures.
    Video,
    /// Anything else.
    File,
}

/// What a message replies to or quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quoted {
    pub id: MessageId,
    /// Who said it, where the platform tells.
    pub author: Option<UserId>,
    /// Whether our account said it.
    pub is_ours: bool,
    /// Whether the message lies in the chat (and topic) it is quoted in. What was said elsewhere may
    /// have had other readers.
    pub is_from_here: bool,
    /// Its text, as far as the platform gives it along.
    pub text: String,
}

/// A button that was pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    /// What [`Outbound::acknowledge`](crate::Outbound::acknowledge) takes.
    pub handle: Box<str>,
    /// The message the button stands under.
    pub message: MessageId,
    /// What was put into the button. It came back from outside: look up, never trust.
    pub data: Box<str>,
}

/// A sign that was put on a message, or taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaction {
    /// The message.
    pub message: MessageId,
    /// The sign: an emoji as text, or what the platform calls one of its own, between colons.
    pub sign: Box<str>,
    pub change: ReactionChange,
    /// Whether the message is ours; `None` where the platform does not tell.
    pub is_ours: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReactionChange {
    Put,
    Taken,
}

impl Reaction {
    /// What it means where a question waits. Taking a sign away says nothing.
    pub fn vote(&self) -> Option<Vote> {
        match self.change {
            ReactionChange::Put => reaction::vote(&self.sign),
            ReactionChange::Taken => None,
        }
    }
}
