//! Bindings: the rules that send messages to agents, and how specific each one is.
//!
//! A rule does not know the other rules: which of several wins is the router's decision.

use crate::address::{ChatType, Community};
use crate::id::{AccountId, AgentId, ChatId, RoleId, TopicId, UserId};
use crate::narrowing::Narrowing;
use crate::platform::Platform;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Plain facts that an operator attached to a rule, for hooks and expressions.
pub type Metadata = BTreeMap<Box<str>, Box<str>>;

/// What a message must be like for a rule to apply. Every field that is given must match.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Match {
    /// Where it comes from.
    pub platform: Platform,
    /// Which of our connections received it.
    pub account: Option<AccountId>,
    /// The chat, or the chat that a thread hangs below.
    pub chat: Option<ChatId>,
    /// What kind of chat it is.
    pub chat_type: Option<ChatType>,
    /// The topic inside the chat.
    pub topic: Option<TopicId>,
    /// The guild or team.
    pub community: Option<Community>,
    /// Who sent it.
    pub user: Option<UserId>,
    /// A role that the sender holds.
    pub role: Option<RoleId>,
}

impl Match {
    /// Every message of a platform.
    pub fn platform(platform: Platform) -> Self {
        Self {
            platform,
            account: None,
            chat: None,
            chat_type: None,
            topic: None,
            community: None,
            user: None,
            role: None,
        }
    }

    /// The most specific field this rule uses.
    pub fn tier(&self) -> Tier {
        match Field::ALL.into_iter().find(|field| self.uses(*field)) {
            Some(Field::Topic) => Tier::Topic,
            Some(Field::Chat) => Tier::Chat,
            Some(Field::User) => Tier::User,
            Some(Field::Role) => Tier::Role,
            Some(Field::Community) => match self.community {
                Some(Community::Team(_)) => Tier::Team,
                Some(Community::Guild(_)) | None => Tier::Guild,
            },
            Some(Field::ChatType) => Tier::ChatType,
            Some(Field::Account) => Tier::Account,
            None => Tier::Platform,
        }
    }

    /// Whether the rule gives a value for `field`.
    pub fn uses(&self, field: Field) -> bool {
        match field {
            Field::Topic => self.topic.is_some(),
            Field::Chat => self.chat.is_some(),
            Field::User => self.user.is_some(),
            Field::Role => self.role.is_some(),
            Field::Community => self.community.is_some(),
            Field::ChatType => self.chat_type.is_some(),
            Field::Account => self.account.is_some(),
        }
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.platform)?;
        if let Some(account) = &self.account {
            write!(f, " account={account}")?;
        }
        match &self.community {
            Some(Community::Guild(guild)) => write!(f, " guild={guild}")?,
            Some(Community::Team(team)) => write!(f, " team={team}")?,
            None => {}
        }
        if let Some(kind) = self.chat_type {
            write!(f, " chat_type={kind}")?;
        }
        if let Some(chat) = &self.chat {
            write!(f, " chat={chat}")?;
        }
        if let Some(topic) = &self.topic {
            write!(f, " topic={topic}")?;
        }
        if let Some(user) = &self.user {
            write!(f, " user={user}")?;
        }
        if let Some(role) = &self.role {
            write!(f, " role={role}")?;
        }
        Ok(())
    }
}

/// A rule that sends messages to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Its place in the list as it was written, from 1. One that names several roles is several
    /// of one number.
    pub number: usize,
    /// Who answers.
    pub agent: AgentId,
    /// Which messages.
    pub matches: Match,
    /// Decides between rules that differ only in the role they name; higher wins.
    pub priority: i32,
    /// What it takes away from the agent, for these messages.
    pub narrowing: Option<Arc<Narrowing>>,
    /// Facts for hooks and expressions.
    pub metadata: Metadata,
    /// Set when the rule itself can't be honoured. It stays in the table and refuses with
    /// this reason, so that its messages don't fall to a wider rule.
    pub refusal: Option<Box<str>>,
}

/// What a rule can ask about a message, beside its platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// The topic inside the chat.
    Topic,
    /// The chat.
    Chat,
    /// The sender.
    User,
    /// A role of the sender.
    Role,
    /// The guild or team.
    Community,
    /// The kind of chat.
    ChatType,
    /// Our connection.
    Account,
}

impl Field {
    /// Every field, the most specific first.
    pub const ALL: [Self; 7] = [
        Self::Topic,
        Self::Chat,
        Self::User,
        Self::Role,
        Self::Community,
        Self::ChatType,
        Self::Account,
    ];

    /// What people call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Chat => "chat",
            Self::User => "user",
            Self::Role => "role",
            Self::Community => "guild or team",
            Self::ChatType => "chat type",
            Self::Account => "account",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How specific a rule is, by the most specific field it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// It names a topic.
    Topic,
    /// It names a chat.
    Chat,
    /// It names a sender.
    User,
    /// It names a role.
    Role,
    /// It names a guild.
    Guild,
    /// It names a team.
    Team,
    /// It names a kind of chat.
    ChatType,
    /// It names one of our connections.
    Account,
    /// It takes the whole platform.
    Platform,
    /// No rule at all: the default agent.
    Default,
}

impl Tier {
    /// The name that `route explain` prints.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Chat => "chat",
            Self::User => "user",
            Self::Role => "role",
            Self::Guild => "guild",
            Self::Team => "team",
            Self::ChatType => "chat_type",
            Self::Account => "account",
            Self::Platform => "platform",
            Self::Default => "default",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::GuildId;

    #[test]
    fn a_rule_prints_what_it_asks_for_and_is_as_specific_as_its_narrowest_field() {
        let telegram = Match::platform(Platform::new("telegram").unwrap());
        assert_eq!((telegram.to_string().as_str(), telegram.tier()), ("telegram", Tier::Platform));
        let topic = Match {
            chat: Some(ChatId::new("-100123").unwrap()),
            topic: Some(TopicId::new("7").unwrap()),
            ..telegram.clone()
        };
        assert_eq!(topic.to_string(), "telegram chat=-100123 topic=7");
        assert_eq!(topic.tier(), Tier::Topic);
        let guild = |community| Match { community: Some(community), ..telegram.clone() };
        let id = GuildId::new("9").unwrap();
        assert_eq!(guild(Community::Guild(id.clone())).tier(), Tier::Guild);
        assert_eq!(guild(Community::Team(id.clone())).tier(), Tier::Team);
        assert_eq!(guild(Community::Team(id)).to_string(), "telegram team=9");
    }

    #[test]
    fn fields_and_tiers_have_names() {
        let fields = Field::ALL.map(|it| it.to_string());
        let named = ["topic", "chat", "user", "role", "guild or team", "chat type", "account"];
        assert_eq!(fields, named);
        for (tier, name) in [
            (Tier::Topic, "topic"),
            (Tier::Chat, "chat"),
            (Tier::User, "user"),
            (Tier::Role, "role"),
            (Tier::Guild, "guild"),
            (Tier::Team, "team"),
            (Tier::ChatType, "chat_type"),
            (Tier::Account, "account"),
            (Tier::Platform, "platform"),
            (Tier::Default, "default"),
        ] {
            assert_eq!(tier.to_string(), name);
        }
    }
}
