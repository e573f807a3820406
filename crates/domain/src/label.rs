//! Audience labels: where information came from decides where it may go.
//!
//! A label only ever grows, so what was learned in one place can't be laundered by passing
//! it through another. Those who may read what was made of two things are those who may read
//! both. Beside that a label says whose words it was made of ([`Integrity`]), so that both travel
//! together wherever one does. Nothing here knows what the information is.

use crate::address::Address;
use crate::id::{AccountId, ChatId, IdError, TopicId};
use crate::integrity::{Integrity, IntegrityError};
use crate::percent::{self, Encoded};
use crate::platform::Platform;
use crate::scope::{ContextId, Scope};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The text of a label without audiences.
const ANYONE: &str = "anyone";
/// The text of a label whose audiences are not known.
const NOBODY: &str = "nobody";
/// What stands before whose words something was made of. No id and no name has one.
const MADE_OF: char = ';';

/// A place whose readers may see something.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Audience {
    pub platform: Platform,
    /// By which connection of ours.
    pub account: AccountId,
    pub chat: ChatId,
    /// Which topic of it; absent is the chat as a whole.
    pub topic: Option<TopicId>,
}

impl Audience {
    /// Those who read what is said at `address`.
    pub fn of(address: &Address) -> Self {
        Self {
            platform: address.platform,
            account: address.account.clone(),
            chat: address.chat.clone(),
            topic: address.topic.clone(),
        }
    }

    /// Whether everyone who reads `other` reads this too: the same place, or a topic of
    /// this chat. A chat is not within its topic, since a topic can have fewer readers.
    pub fn includes(&self, other: &Self) -> bool {
        let Self { platform, account, chat, topic } = self;
        *platform == other.platform
            && *account == other.account
            && *chat == other.chat
            && (topic.is_none() || *topic == other.topic)
    }
}

/// The audiences that information came from, and whose words it was made of. Without any
/// audience, it is fit for every one of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    audiences: Sources,
    integrity: Integrity,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Sources {
    Known(BTreeSet<Audience>),
    /// It came from where nobody can tell who reads: it is fit for no audience.
    Unknown,
}

/// Whether information may go somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow<'l> {
    /// Everyone there could read all of its sources.
    Allowed,
    /// Someone there could not.
    Refused {
        /// The first source, in the order of labels, that they could not read.
        source: &'l Audience,
    },
    /// It is not known who could read its sources.
    Unknown,
}

impl Default for Label {
    fn default() -> Self {
        Self::from(Sources::Known(BTreeSet::new()))
    }
}

impl From<Sources> for Label {
    fn from(audiences: Sources) -> Self {
        Self { audiences, integrity: Integrity::own() }
    }
}

impl Label {
    /// Fit for every audience of the agent.
    pub fn anyone() -> Self {
        Self::default()
    }

    /// Fit for no audience: where it came from is not known.
    pub fn nobody() -> Self {
        Self::from(Sources::Unknown)
    }

    /// Nothing is known of it: it is fit for no audience, and anybody may have had a word in it.
    pub fn unknown() -> Self {
        Self::nobody().with(&Integrity::many())
    }

    /// The same, in which these had a word too.
    #[must_use]
    pub fn with(self, integrity: &Integrity) -> Self {
        Self { integrity: self.integrity.join(integrity), ..self }
    }

    /// The same audiences, and nothing of whose words it was made of: for what a conversation
    /// begins with, before anything was said in it.
    #[must_use]
    pub fn audiences_alone(&self) -> Self {
        Self::from(self.audiences.clone())
    }

    /// Whose words it was made of.
    pub fn integrity(&self) -> &Integrity {
        &self.integrity
    }

    /// From one place.
    pub fn of(audience: Audience) -> Self {
        Self::from(Sources::Known(BTreeSet::from([audience])))
    }

    /// What is known of the readers of a memory scope, of which no more is known: a chat's are
    /// in that chat, and what is global is for everyone. Who shares a user's or an
    /// organisation's scope, and where, its name does not say.
    pub fn of_scope(scope: &Scope) -> Self {
        let audience = match scope {
            Scope::Global => return Self::anyone(),
            Scope::Context(ContextId::Chat { platform, account, chat }) => Audience {
                platform: *platform,
                account: account.clone(),
                chat: chat.clone(),
                topic: None,
            },
            Scope::Context(ContextId::Topic { platform, account, chat, topic }) => Audience {
                platform: *platform,
                account: account.clone(),
                chat: chat.clone(),
                topic: Some(topic.clone()),
            },
            Scope::Context(
                ContextId::User { .. } | ContextId::Person(_) | ContextId::Custom(_),
            ) => return Self::nobody(),
        };
        Self::of(audience)
    }

    /// The label of what was made from both.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let audiences = match (&self.audiences, &other.audiences) {
            (Sources::Known(own), Sources::Known(others)) => {
                Sources::Known(own.union(others).cloned().collect())
            }
            _ => Sources::Unknown,
        };
        Self { audiences, integrity: self.integrity.join(&other.integrity) }
    }

    /// Where it came from, in order; nothing where that is not known.
    pub fn audiences(&self) -> impl Iterator<Item = &Audience> {
        match &self.audiences {
            Sources::Known(audiences) => Some(audiences),
            Sources::Unknown => None,
        }
        .into_iter()
        .flatten()
    }

    /// Whether information with this label may be shown to `to`.
    pub fn may_flow_to(&self, to: &Audience) -> Flow<'_> {
        self.may_flow_with(to, |_| false)
    }

    /// The same, where somebody said of some sources that what was said there may go to `to`.
    /// Of an unknown source (`None`) that can be said too.
    pub fn may_flow_with(
        &self,
        to: &Audience,
        is_granted: impl Fn(Option<&Audience>) -> bool,
    ) -> Flow<'_> {
        self.held_to(|source| {
            source.is_some_and(|source| source.includes(to)) || is_granted(source)
        })
    }

    /// Whether every source is fine; of an unknown one (`None`) that is asked too.
    pub fn held_to(&self, is_fine: impl Fn(Option<&Audience>) -> bool) -> Flow<'_> {
        let Sources::Known(audiences) = &self.audiences else {
            return if is_fine(None) { Flow::Allowed } else { Flow::Unknown };
        };
        match audiences.iter().find(|source| !is_fine(Some(source))) {
            Some(source) => Flow::Refused { source },
            None => Flow::Allowed,
        }
    }

    /// The same without one place: for whoever asked there and hears it anyway.
    #[must_use]
    pub fn without(&self, place: &Audience) -> Self {
        let audiences = match &self.audiences {
            Sources::Known(audiences) => {
                Sources::Known(audiences.iter().filter(|it| *it != place).cloned().collect())
            }
            Sources::Unknown => Sources::Unknown,
        };
        Self { audiences, integrity: self.integrity.clone() }
    }
}

impl fmt::Display for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { platform, account, chat, topic } = self;
        write!(f, "{platform}:{}:{}", Encoded(account.as_str()), Encoded(chat.as_str()))?;
        match topic {
            Some(topic) => write!(f, ":{}", Encoded(topic.as_str())),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.audiences {
            Sources::Unknown => f.write_str(NOBODY)?,
            Sources::Known(audiences) if audiences.is_empty() => f.write_str(ANYONE)?,
            Sources::Known(audiences) => {
                for (place, audience) in audiences.iter().enumerate() {
                    let separator = if place == 0 { "" } else { "," };
                    write!(f, "{separator}{audience}")?;
                }
            }
        }
        // What nobody else had a word in is written as it was before there was more to say.
        if self.integrity.is_own() { Ok(()) } else { write!(f, "{MADE_OF}{}", self.integrity) }
    }
}

/// Why a text is not a label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// the parts are not those of an audience
    #[error("`{text}` is not an audience: expected <platform>:<account>:<chat>[:<topic>]")]
    Shape {
        /// The rejected text.
        text: String,
    },
    /// the audiences are not in order, or one is there twice
    #[error("the audiences of a label are not in order")]
    Order,
    /// an id is not valid
    #[error(transparent)]
    Id(#[from] IdError),
    /// whose words it was made of is not told
    #[error(transparent)]
    Integrity(#[from] IntegrityError),
    /// what nobody else had a word in is told without saying so
    #[error("`own` is not written")]
    Own,
}

impl FromStr for Audience {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        let shape = || LabelError::Shape { text: text.to_owned() };
        let plain = |part: &str| percent::decode(part).ok_or_else(shape);
        let mut parts = text.split(':');
        let mut next = || parts.next().ok_or_else(shape);
        let audience = Self {
            platform: Platform::new(next()?)?,
            account: AccountId::new(plain(next()?)?)?,
            chat: ChatId::new(plain(next()?)?)?,
            topic: parts
                .next()
                .map(|topic| Ok::<_, LabelError>(TopicId::new(plain(topic)?)?))
                .transpose()?,
        };
        if parts.next().is_none() { Ok(audience) } else { Err(shape()) }
    }
}

impl FromStr for Label {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        if let Some((audiences, made_of)) = text.split_once(MADE_OF) {
            let integrity: Integrity = made_of.parse()?;
            return match integrity.is_own() {
                true => Err(LabelError::Own),
                false => Ok(audiences.parse::<Self>()?.with(&integrity)),
            };
        }
        match text {
            ANYONE => return Ok(Self::anyone()),
            NOBODY => return Ok(Self::nobody()),
            _ => {}
        }
        let audiences: Vec<Audience> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        if !audiences.is_sorted_by(|a, b| a < b) {
            return Err(LabelError::Order);
        }
        Ok(Self::from(Sources::Known(audiences.into_iter().collect())))
    }
}

#[cfg(test)]
#[path = "label_tests.rs"]
mod label_tests;
