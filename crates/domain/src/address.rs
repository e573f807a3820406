//! Where a message was said: platform, account, chat, topic and what surrounds them.

use crate::id::{AccountId, ChatId, GuildId, RoleId, TopicId, UserId};
use crate::platform::Platform;
use std::fmt;

/// What kind of chat it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChatType {
    /// One person and the bot.
    Dm,
    /// Several people.
    Group,
    /// Few write, many read.
    Channel,
    /// A side conversation with an id of its own, below a parent chat.
    Thread,
}

impl ChatType {
    /// Every kind, in the order of their names in the documentation.
    pub const ALL: [Self; 4] = [Self::Dm, Self::Group, Self::Channel, Self::Thread];

    /// The name used in configuration and session keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dm => "dm",
            Self::Group => "group",
            Self::Channel => "channel",
            Self::Thread => "thread",
        }
    }

    /// Finds a kind by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for ChatType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a platform groups chats by. A guild and a team of the same id are not the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Community {
    /// A Discord guild and its like.
    Guild(GuildId),
    /// A Slack or Teams team.
    Team(GuildId),
}

/// The place of one message, and what routing may ask about its sender.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    /// Where it came from.
    pub platform: Platform,
    /// Which of our connections received it.
    pub account: AccountId,
    /// The chat, unique within the account.
    pub chat: ChatId,
    /// What kind of chat that is.
    pub chat_type: ChatType,
    /// The topic inside the chat.
    pub topic: Option<TopicId>,
    /// For a thread: the chat it hangs below.
    pub parent: Option<ChatId>,
    /// The guild or team the chat belongs to.
    pub community: Option<Community>,
    /// Who sent it; absent for posts that nobody signs.
    pub user: Option<UserId>,
    /// The roles the sender holds there.
    pub roles: Vec<RoleId>,
}
