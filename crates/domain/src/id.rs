//! Names of things: agents, which we choose, and the ids that platforms hand us.
//!
//! An id that exists is valid: every constructor checks, so nothing below has to.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// Longest agent id, in bytes: it names a folder, a database and a metric label.
pub const AGENT_ID_BYTES_MAX: usize = 64;

/// Longest id accepted from a platform, in bytes. The longest in use are Matrix's 255;
/// the bound keeps session keys and index rows small whatever a peer sends.
pub const EXTERNAL_ID_BYTES_MAX: usize = 512;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// an id is empty
    #[error("{kind} is empty")]
    Empty {
        /// What the id names.
        kind: &'static str,
    },
    /// an id is longer than its limit
    #[error("{kind} is {len} bytes long; at most {max} are accepted")]
    TooLong {
        /// What the id names.
        kind: &'static str,
        /// How long it is.
        len: usize,
        /// How long it may be.
        max: usize,
    },
    /// an agent id has a character outside its alphabet
    #[error(
        "agent id `{text}` is not valid: it starts with a-z or 0-9 and continues with a-z, 0-9, `_` or `-`"
    )]
    AgentAlphabet {
        /// The rejected text.
        text: String,
    },
    /// a platform name nobody knows
    #[error("unknown platform `{text}`")]
    UnknownPlatform {
        /// The rejected text.
        text: String,
    },
}

/// The name of an agent: `^[a-z0-9][a-z0-9_-]{0,63}$`.
///
/// The alphabet has no upper case, dots or non-ASCII letters, so two ids that a file
/// system or a reader could confuse can't both exist.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(Arc<str>);

impl AgentId {
    /// Checks and takes a name.
    pub fn new(text: &str) -> Result<Self, IdError> {
        let kind = "agent id";
        if text.is_empty() {
            return Err(IdError::Empty { kind });
        }
        let body = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        let head = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9');
        if !head(text.as_bytes()[0]) || !text.bytes().all(body) {
            return Err(IdError::AgentAlphabet { text: text.to_owned() });
        }
        if text.len() > AGENT_ID_BYTES_MAX {
            return Err(IdError::TooLong { kind, len: text.len(), max: AGENT_ID_BYTES_MAX });
        }
        Ok(Self(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for AgentId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// Declares an id whose text comes from outside and means nothing to us.
macro_rules! external_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// Checks and takes an id: any text that is not empty and not too long.
            pub fn new(text: impl Into<Box<str>>) -> Result<Self, IdError> {
                let text = text.into();
                if text.is_empty() {
                    return Err(IdError::Empty { kind: $kind });
                }
                if text.len() > EXTERNAL_ID_BYTES_MAX {
                    return Err(IdError::TooLong {
                        kind: $kind,
                        len: text.len(),
                        max: EXTERNAL_ID_BYTES_MAX,
                    });
                }
                Ok(Self(text))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

external_id! {
    /// One connection of ours to a platform: one bot.
    AccountId, "account"
}
external_id! {
    /// A chat, room, channel or thread, unique within its account.
    ChatId, "chat id"
}
external_id! {
    /// A topic inside a chat.
    TopicId, "topic id"
}
external_id! {
    /// A person or bot, as the platform names them.
    UserId, "user id"
}
external_id! {
    /// A guild or team: what a platform groups chats by.
    GuildId, "guild or team id"
}
external_id! {
    /// A role a person holds in a guild.
    RoleId, "role"
}
external_id! {
    /// A person to whom an operator linked several identities.
    PersonId, "person"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_ids_have_one_spelling() {
        for good in ["a", "0", "main", "telegram-bot", "a_b-c", &"x".repeat(64)] {
            assert_eq!(AgentId::new(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "-a",
            "_a",
            "Main",
            "a.b",
            "a ",
            "a/b",
            "..",
            "é",
            "ａ",
            "a\0",
            "a\n",
            &"x".repeat(65),
        ] {
            assert!(AgentId::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn external_ids_are_bounded_and_never_empty() {
        assert!(ChatId::new("").is_err());
        assert!(ChatId::new("x".repeat(EXTERNAL_ID_BYTES_MAX)).is_ok());
        assert!(ChatId::new("x".repeat(EXTERNAL_ID_BYTES_MAX + 1)).is_err());
        assert_eq!(ChatId::new(":%/\u{202e}\0").unwrap().as_str(), ":%/\u{202e}\0");
    }
}
