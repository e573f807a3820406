//! The name of a conversation: typed, injective, agent first.
//!
//! `agent:<id>:<platform>:<account>:<kind>:<chat>[:topic:<t>][:user:<u>]`

use crate::address::{Address, ChatType};
use crate::id::{AccountId, AgentId, ChatId, IdError, TopicId, UserId};
use crate::percent::{self, Encoded};
use crate::platform::Platform;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Who shares a session in a direct message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DmSessions {
    /// Each person has their own.
    #[default]
    PerUser,
    /// Everyone who writes directly to the agent, at one account, shares one.
    Shared,
}

/// What stands for every direct chat of an account where they share one session. A session of one
/// person has their id behind its chat, so that no chat of that name is mistaken for all of them.
const EVERY_CHAT: &str = "*";

/// Platforms whose chats are names that somebody gave to sessions: those are meant to be apart.
const NAMED_SESSIONS: [Platform; 3] = [Platform::API, Platform::CLI, Platform::WEB];

impl DmSessions {
    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PerUser => "per_user",
            Self::Shared => "shared",
        }
    }
}

/// Who shares a session in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GroupSessions {
    /// Everyone in the chat shares it.
    #[default]
    PerChat,
    /// Each person in the chat has their own.
    PerUser,
}

impl GroupSessions {
    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PerChat => "per_chat",
            Self::PerUser => "per_user",
        }
    }
}

/// How an agent cuts its traffic into sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SessionRule {
    /// In direct messages.
    pub dm: DmSessions,
    /// Everywhere else.
    pub group: GroupSessions,
}

/// Which of an agent's conversations it may look through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SearchReach {
    /// Those of the scope it speaks in.
    #[default]
    Here,
    /// All of its own. Never those of another agent.
    Agent,
}

/// The name of one conversation of one agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    /// Whose conversation it is.
    pub agent: AgentId,
    /// Where it takes place.
    pub platform: Platform,
    /// By which connection of ours.
    pub account: AccountId,
    pub kind: ChatType,
    pub chat: ChatId,
    pub topic: Option<TopicId>,
    /// With whom, where each person has a conversation of their own.
    pub user: Option<UserId>,
}

impl SessionKey {
    /// The conversation that a message at `address` belongs to.
    pub fn of(agent: &AgentId, address: &Address, rule: SessionRule) -> Self {
        let per_user = match address.chat_type {
            ChatType::Dm => rule.dm == DmSessions::PerUser,
            ChatType::Group | ChatType::Channel | ChatType::Thread => {
                rule.group == GroupSessions::PerUser
            }
        };
        let every = ChatId::new(EVERY_CHAT).ok().filter(|_| {
            address.chat_type == ChatType::Dm
                && rule.dm == DmSessions::Shared
                && !NAMED_SESSIONS.contains(&address.platform)
        });
        Self {
            agent: agent.clone(),
            platform: address.platform,
            account: address.account.clone(),
            kind: address.chat_type,
            topic: address.topic.clone().filter(|_| every.is_none()),
            chat: every.unwrap_or_else(|| address.chat.clone()),
            user: if per_user { address.user.clone() } else { None },
        }
    }

    /// Whether all direct chats of an account share it.
    pub fn is_of_every_chat(&self) -> bool {
        self.kind == ChatType::Dm && self.user.is_none() && self.chat.as_str() == EVERY_CHAT
    }

    /// Where something is said, as far as scopes depend on it: a session that chats share is one
    /// place, or what is remembered in it would be several people's by turns.
    pub fn place<'a>(&self, address: &'a Address) -> Cow<'a, Address> {
        match self.is_of_every_chat() {
            true => Cow::Owned(Address { chat: self.chat.clone(), topic: None, ..address.clone() }),
            false => Cow::Borrowed(address),
        }
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { agent, platform, account, kind, chat, topic, user } = self;
        let (account, chat) = (Encoded(account.as_str()), Encoded(chat.as_str()));
        write!(f, "agent:{agent}:{platform}:{account}:{kind}:{chat}")?;
        if let Some(topic) = topic {
            write!(f, ":topic:{}", Encoded(topic.as_str()))?;
        }
        if let Some(user) = user {
            write!(f, ":user:{}", Encoded(user.as_str()))?;
        }
        Ok(())
    }
}

/// Why a text is not a session key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionKeyError {
    /// the parts are not those of a key
    #[error(
        "not a session key: expected agent:<id>:<platform>:<account>:<kind>:<chat>[:topic:<t>][:user:<u>]"
    )]
    Shape,
    /// a part is not encoded the one way it can be
    #[error("`{part}` in a session key is not in its canonical encoding")]
    Encoding {
        /// The part as it stands.
        part: String,
    },
    /// an id in the key is not valid
    #[error(transparent)]
    Id(#[from] IdError),
}

impl FromStr for SessionKey {
    type Err = SessionKeyError;

    fn from_str(text: &str) -> Result<Self, SessionKeyError> {
        fn plain(part: &str) -> Result<String, SessionKeyError> {
            percent::decode(part).ok_or_else(|| SessionKeyError::Encoding { part: part.to_owned() })
        }
        let mut parts = text.split(':');
        let mut next = || parts.next().ok_or(SessionKeyError::Shape);
        if next()? != "agent" {
            return Err(SessionKeyError::Shape);
        }
        let agent = AgentId::new(next()?)?;
        let platform = Platform::new(next()?)?;
        let account = AccountId::new(plain(next()?)?)?;
        let kind = ChatType::parse(next()?).ok_or(SessionKeyError::Shape)?;
        let chat = ChatId::new(plain(next()?)?)?;
        let rest: Vec<&str> = parts.collect();
        let (topic, user) = match rest.as_slice() {
            [] => (None, None),
            ["topic", t] => (Some(*t), None),
            ["user", u] => (None, Some(*u)),
            ["topic", t, "user", u] => (Some(*t), Some(*u)),
            _ => return Err(SessionKeyError::Shape),
        };
        let topic = topic.map(plain).transpose()?.map(TopicId::new).transpose()?;
        let user = user.map(plain).transpose()?.map(UserId::new).transpose()?;
        Ok(Self { agent, platform, account, kind, chat, topic, user })
    }
}

#[cfg(test)]
#[path = "session_key_tests.rs"]
mod session_key_tests;
