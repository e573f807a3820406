//! Where an agent may send, and what may go there: the one comparison of what a turn has seen
//! with who would read it.

use crate::id::{AccountId, ChatId, TopicId};
use crate::label::{Audience, Flow, Label, LabelError};
use crate::percent::{self, Encoded};
use crate::platform::Platform;
use std::fmt;
use std::str::FromStr;

/// What stands for any chat, or for any source.
const ANY: &str = "*";

/// Some places of one account: a topic, a chat with its topics, or every chat.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChatSelector {
    platform: Platform,
    account: AccountId,
    within: Within,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Within {
    All,
    Chat(ChatId),
    Topic(ChatId, TopicId),
}

impl ChatSelector {
    /// Whether a place is one of them.
    pub fn has(&self, place: &Audience) -> bool {
        let is_within = match &self.within {
            Within::All => true,
            Within::Chat(chat) => *chat == place.chat,
            Within::Topic(chat, topic) => {
                *chat == place.chat && Some(topic) == place.topic.as_ref()
            }
        };
        self.platform == place.platform && self.account == place.account && is_within
    }

    /// The one place that is meant where it is not every chat.
    pub fn named(&self) -> Option<Audience> {
        let (chat, topic) = match &self.within {
            Within::All => return None,
            Within::Chat(chat) => (chat, None),
            Within::Topic(chat, topic) => (chat, Some(topic)),
        };
        Some(Audience {
            platform: self.platform,
            account: self.account.clone(),
            chat: chat.clone(),
            topic: topic.cloned(),
        })
    }
}

impl fmt::Display for ChatSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.named() {
            Some(place) => place.fmt(f),
            None => write!(f, "{}:{}:{ANY}", self.platform, Encoded(self.account.as_str())),
        }
    }
}

impl FromStr for ChatSelector {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        let shape = || LabelError::Shape { text: text.to_owned() };
        if let Some(account) = text.strip_suffix(ANY).and_then(|rest| rest.strip_suffix(':')) {
            let (platform, account) = account.split_once(':').ok_or_else(shape)?;
            return Ok(Self {
                platform: Platform::new(platform)?,
                account: AccountId::new(percent::decode(account).ok_or_else(shape)?)?,
                within: Within::All,
            });
        }
        let Audience { platform, account, chat, topic } = text.parse()?;
        let within = match topic {
            Some(topic) => Within::Topic(chat, topic),
            None => Within::Chat(chat),
        };
        Ok(Self { platform, account, within })
    }
}

/// Where words may come from, of which it was said that they may go somewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlowSource {
    /// Anywhere, also from where it is not known who reads.
    Anywhere,
    /// From these places.
    Places(ChatSelector),
}

impl FlowSource {
    /// Whether a source is one of them; `None` is one of which nothing is known.
    pub fn covers(&self, source: Option<&Audience>) -> bool {
        match (self, source) {
            (Self::Anywhere, _) => true,
            (Self::Places(places), Some(source)) => places.has(source),
            (Self::Places(_), None) => false,
        }
    }
}

impl fmt::Display for FlowSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anywhere => f.write_str(ANY),
            Self::Places(places) => places.fmt(f),
        }
    }
}

impl FromStr for FlowSource {
    type Err = LabelError;

    fn from_str(text: &str) -> Result<Self, LabelError> {
        if text == ANY { Ok(Self::Anywhere) } else { text.parse().map(Self::Places) }
    }
}

/// An operator's word that what was said in one place may go to another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowGrant {
    pub from: FlowSource,
    pub to: ChatSelector,
}

impl FlowGrant {
    fn covers(&self, source: Option<&Audience>, to: &Audience) -> bool {
        self.from.covers(source) && self.to.has(to)
    }
}

/// Where an agent may send, and what may go there although it came from elsewhere. Nothing
/// unless granted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SendGrants {
    /// Where it may send.
    pub to: Vec<ChatSelector>,
    /// What may go there although somebody there could not read it where it was said.
    pub flows: Vec<FlowGrant>,
}

/// Whether something may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sending<'l> {
    /// Everyone there could read all that it may tell.
    Allowed,
    /// Someone there could not, and the operator granted that flow.
    Granted,
    /// The agent may not send there, whatever it says.
    NotThere,
    /// Someone there could not read what was said here.
    Wider {
        /// The first such place, in the order of labels.
        source: &'l Audience,
    },
    /// It is not known who could read what it may tell.
    Unknown,
}

impl Sending<'_> {
    /// The word for it in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Granted => "granted",
            Self::NotThere => "no such target",
            Self::Wider { .. } => "wider audience",
            Self::Unknown => "unknown audience",
        }
    }

    /// Whether it may go.
    pub fn is_allowed(self) -> bool {
        matches!(self, Self::Allowed | Self::Granted)
    }
}

impl SendGrants {
    /// Whether what was made of information with this label may be sent to `to`.
    pub fn decide<'l>(&self, label: &'l Label, to: &Audience) -> Sending<'l> {
        if !self.to.iter().any(|places| places.has(to)) {
            return Sending::NotThere;
        }
        if label.may_flow_to(to) == Flow::Allowed {
            return Sending::Allowed;
        }
        match self.flow(label, to) {
            Flow::Allowed => Sending::Granted,
            Flow::Refused { source } => Sending::Wider { source },
            Flow::Unknown => Sending::Unknown,
        }
    }

    /// Whether information with this label may be shown to whoever reads `here`, when somebody
    /// there asks for it. The same comparison, where nothing is sent.
    pub fn shows(&self, label: &Label, here: &Audience) -> bool {
        self.flow(label, here) == Flow::Allowed
    }

    fn flow<'l>(&self, label: &'l Label, to: &Audience) -> Flow<'l> {
        label.may_flow_with(to, |source| self.flows.iter().any(|flow| flow.covers(source, to)))
    }

    /// Whether it could send something that `other` could not.
    pub fn exceeds(&self, other: &Self) -> bool {
        let Self { to, flows } = self;
        !to.iter().all(|places| other.to.contains(places))
            || !flows.iter().all(|flow| other.flows.contains(flow))
    }
}

#[cfg(test)]
#[path = "send_tests.rs"]
mod send_tests;
