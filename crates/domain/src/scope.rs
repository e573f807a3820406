//! Memory scopes: the partition of an agent's memory that one message may touch.
//!
//! There is no "no scope": whoever has a [`Scope`] has either the agent's global
//! partition, by name, or exactly one context.

use crate::address::Address;
use crate::id::{AccountId, ChatId, IdError, PersonId, TopicId, UserId};
use crate::percent::{self, Encoded};
use crate::platform::Platform;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// One partition of an agent's memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// What every conversation of the agent may read.
    Global,
    /// What one context alone may read.
    Context(ContextId),
}

/// The name of a context. Derived ones and the answers of hooks and expressions live in
/// different variants, so that an answer can't name a derived context.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ContextId {
    /// One user at one account.
    User {
        /// Where they speak.
        platform: Platform,
        /// By which connection of ours.
        account: AccountId,
        user: UserId,
    },
    /// A person with linked identities, wherever they speak.
    Person(PersonId),
    /// One chat.
    Chat {
        platform: Platform,
        /// By which connection of ours.
        account: AccountId,
        chat: ChatId,
    },
    /// One topic of a chat.
    Topic {
        platform: Platform,
        /// By which connection of ours.
        account: AccountId,
        chat: ChatId,
        topic: TopicId,
    },
    /// What a hook or an expression answered.
    Custom(CustomId),
}

/// Longest answer of a scope hook or expression, in bytes.
pub const CUSTOM_ID_BYTES_MAX: usize = 512;

/// A context name made by a hook or an expression: any text, bounded, not empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CustomId(Box<str>);

impl CustomId {
    /// Takes an answer; `None` when it is empty or too long to be a name.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty() && text.len() <= CUSTOM_ID_BYTES_MAX).then(|| Self(text.into()))
    }

    /// The answer as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The named ways to choose a scope. An expression or a hook is not one of them: those
/// are evaluated by the runtime and yield [`ContextId::Custom`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MemoryScope {
    /// The topic if there is one, else the chat.
    #[default]
    Auto,
    /// The topic.
    Topic,
    /// The chat.
    Chat,
    /// The user, wherever they write to this account.
    User,
    /// One memory for the agent.
    Global,
}

impl MemoryScope {
    /// Every named scope.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Topic, Self::Chat, Self::User, Self::Global];

    /// The name used in configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Topic => "topic",
            Self::Chat => "chat",
            Self::User => "user",
            Self::Global => "global",
        }
    }

    /// Finds a named scope.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }

    /// The scope of a message at `address`, from `person` if its sender is linked to one.
    ///
    /// A field that is absent falls to the chat, which every message has: narrower than
    /// what was asked for, never wider, and never global.
    pub fn resolve(self, address: &Address, person: Option<&PersonId>) -> Scope {
        let chat = || ContextId::Chat {
            platform: address.platform,
            account: address.account.clone(),
            chat: address.chat.clone(),
        };
        let topic = || match &address.topic {
            Some(topic) => ContextId::Topic {
                platform: address.platform,
                account: address.account.clone(),
                chat: address.chat.clone(),
                topic: topic.clone(),
            },
            None => chat(),
        };
        let user = || match (person, &address.user) {
            (Some(person), _) => ContextId::Person(person.clone()),
            (None, Some(user)) => ContextId::User {
                platform: address.platform,
                account: address.account.clone(),
                user: user.clone(),
            },
            (None, None) => topic(),
        };
        match self {
            Self::Auto | Self::Topic => Scope::Context(topic()),
            Self::Chat => Scope::Context(chat()),
            Self::User => Scope::Context(user()),
            Self::Global => Scope::Global,
        }
    }
}

/// A scope with its text, as rows and caches carry it: the text is written once, and sharing it
/// costs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeName(Arc<(Box<str>, Scope)>);

impl ScopeName {
    /// As rows and people read it.
    pub fn as_str(&self) -> &str {
        &self.0.0
    }

    /// The scope itself.
    pub fn scope(&self) -> &Scope {
        &self.0.1
    }
}

impl From<Scope> for ScopeName {
    fn from(scope: Scope) -> Self {
        Self(Arc::new((scope.to_string().into(), scope)))
    }
}

impl FromStr for ScopeName {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        text.parse::<Scope>().map(|scope| Self(Arc::new((text.into(), scope))))
    }
}

impl fmt::Display for ScopeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Global => f.write_str("global"),
            Self::Context(context) => context.fmt(f),
        }
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User { platform, account, user } => {
                write!(
                    f,
                    "user:{platform}:{}:{}",
                    Encoded(account.as_str()),
                    Encoded(user.as_str())
                )
            }
            // No platform starts with `@`, so a person can't be mistaken for one.
            Self::Person(person) => write!(f, "user:@{}", Encoded(person.as_str())),
            Self::Chat { platform, account, chat } => {
                write!(
                    f,
                    "chat:{platform}:{}:{}",
                    Encoded(account.as_str()),
                    Encoded(chat.as_str())
                )
            }
            Self::Topic { platform, account, chat, topic } => {
                let (account, chat) = (Encoded(account.as_str()), Encoded(chat.as_str()));
                write!(f, "topic:{platform}:{account}:{chat}:{}", Encoded(topic.as_str()))
            }
            Self::Custom(custom) => write!(f, "custom:{}", Encoded(custom.as_str())),
        }
    }
}

/// Why a text is not a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// the parts are not those of a scope
    #[error(
        "not a scope: expected global, user:<platform>:<account>:<user>, user:@<person>, chat:<platform>:<account>:<chat>, topic:<platform>:<account>:<chat>:<topic> or custom:<name>"
    )]
    Shape,
    /// a part is not encoded the one way it can be
    #[error("`{part}` in a scope is not in its canonical encoding")]
    Encoding {
        /// The part as it stands.
        part: String,
    },
    /// an id in the scope is not valid
    #[error(transparent)]
    Id(#[from] IdError),
}

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        if text == "global" { Ok(Self::Global) } else { text.parse().map(Self::Context) }
    }
}

impl FromStr for ContextId {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        fn plain(part: &str) -> Result<String, ScopeError> {
            percent::decode(part).ok_or_else(|| ScopeError::Encoding { part: part.to_owned() })
        }
        // One part more than any scope has, so that a longer text matches nothing below.
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        Ok(match *parts.as_slice() {
            ["user", person] if person.starts_with('@') => {
                Self::Person(PersonId::new(plain(&person[1..])?)?)
            }
            ["user", platform, account, user] => Self::User {
                platform: Platform::new(platform)?,
                account: AccountId::new(plain(account)?)?,
                user: UserId::new(plain(user)?)?,
            },
            ["chat", platform, account, chat] => Self::Chat {
                platform: Platform::new(platform)?,
                account: AccountId::new(plain(account)?)?,
                chat: ChatId::new(plain(chat)?)?,
            },
            ["topic", platform, account, chat, topic] => Self::Topic {
                platform: Platform::new(platform)?,
                account: AccountId::new(plain(account)?)?,
                chat: ChatId::new(plain(chat)?)?,
                topic: TopicId::new(plain(topic)?)?,
            },
            ["custom", custom] => {
                Self::Custom(CustomId::new(&plain(custom)?).ok_or(ScopeError::Shape)?)
            }
            _ => return Err(ScopeError::Shape),
        })
    }
}

#[cfg(test)]
#[path = "scope_tests.rs"]
mod scope_tests;
