//! What goes out to a platform.

use crate::envelope::MessageId;
use crate::tenant::Tenant;
use bytes::Bytes;
use insula_domain::sound::SoundKind;
use insula_domain::{ChatId, ChatType, TopicId};
use std::time::Duration;

/// A place of one account's to send to, and whose conversation it is there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PostTarget {
    /// Whose words these are. Who keeps something of a chat keeps it by this.
    pub tenant: Tenant,
    /// Whose chat it is, where whoever answers in it handed it to whoever says these words.
    pub host: Option<Tenant>,
    pub chat: ChatId,
    /// What kind of chat.
    pub chat_type: ChatType,
    pub topic: Option<TopicId>,
}

impl PostTarget {
    /// Whose chat it is.
    pub fn owner(&self) -> &Tenant {
        self.host.as_ref().unwrap_or(&self.tenant)
    }
}

/// One message of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    pub target: PostTarget,
    /// What it answers, to be shown as a reply where the platform can.
    pub reply_to: Option<MessageId>,
    /// The same whenever this message is sent again; for platforms that recognise it.
    pub idempotency: Box<str>,
    /// What it says.
    pub body: Body,
}

/// What a message says. The text is within [`Features::text`](crate::Features).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Body {
    /// Markdown, as models write it. The adapter converts; what it can't convert, or the
    /// platform refuses, it sends as plain text.
    pub markdown: String,
    /// Buttons, in rows; left out where the platform has none, since the text says it too.
    pub buttons: Vec<Vec<Button>>,
    /// Files to go along.
    pub files: Vec<File>,
    /// Whether this is what there is so far of a reply that is being written: it ends with
    /// [`GOES_ON`], and will be changed to say more.
    pub goes_on: bool,
}

/// Stands below what is not complete.
pub const GOES_ON: &str = "\n…";

impl Body {
    /// What there is so far of a reply that is being written, without the sign of that.
    pub fn so_far(&self) -> Option<&str> {
        self.markdown.strip_suffix(GOES_ON).filter(|_| self.goes_on)
    }
}

/// A button under a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// What it says.
    pub label: Box<str>,
    /// What comes back when it is pressed; at most 64 bytes.
    pub data: Box<str>,
}

/// A file on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub name: Box<str>,
    /// What its content is.
    pub media_type: Box<str>,
    pub content: Bytes,
}

impl File {
    /// What kind of sound it is, where it is speech: no other sound leaves an agent. Told by its
    /// content, since platforms show some kinds as a voice memo and others as a file.
    pub fn speech(&self) -> Option<SoundKind> {
        let is_sound = self.media_type.starts_with("audio/");
        SoundKind::of(&self.content).filter(|_| is_sound)
    }
}

/// A message that the platform took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The platform's name for it.
    pub message: MessageId,
}

/// Why a message did not go out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// The platform did not take it and says, or it is plain, that later is worth a try.
    #[error("{why}")]
    Later {
        /// What it said.
        why: Box<str>,
        /// How long it asks us to wait.
        wait: Option<Duration>,
        /// What has to wait that long.
        reach: WaitScope,
    },
    /// The request may or may not have arrived. Sending again could say it twice, except while
    /// [`Features::idempotency`](crate::Features) covers it.
    #[error("it is not known whether it arrived: {why}")]
    Uncertain {
        /// What happened.
        why: Box<str>,
    },
    /// The platform will never take it: the chat is gone, we were thrown out, it is too long.
    #[error("{why}")]
    Never {
        /// What it said.
        why: Box<str>,
    },
    /// The account as a whole can't send: its token was refused.
    #[error("{why}")]
    Account {
        /// What it said.
        why: Box<str>,
    },
}

/// What a platform means when it asks us to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitScope {
    /// The chat that was sent to, as far as can be told: platforms that limit both chats and
    /// accounts may say it in the same words.
    Chat,
    /// All that the account sends.
    Account,
}

/// Why the content of an attachment can't be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// It is larger than may be taken, whatever was announced.
    #[error("it is larger than allowed")]
    TooLarge,
    /// Anything else.
    #[error(transparent)]
    Failed(#[from] PostError),
}
