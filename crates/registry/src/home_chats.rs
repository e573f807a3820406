//! The home chats of agents: where each tells its operators what becomes of it. Kept in the
//! daemon's store as places, never as words.

use crate::error::RuntimeError;
use crate::registry::Snapshot;
use crate::routing::RouteRefusal;
use arc_swap::ArcSwap;
use insula_domain::{
    AccountId, Address, AgentId, ChatId, ChatType, Community, GuildId, Platform, RoleId, TopicId,
    UserId,
};
use insula_store::{DaemonCommand, Feed, FeedChange, Store, Subscription};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name under which the store keeps all of them.
pub(crate) const KEPT: &str = "home_chats";

/// Where an agent tells what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HomeChat {
    /// The place, with all that routing asked about it and about whoever chose it.
    pub address: Address,
    /// Who chose it.
    pub by: Box<str>,
}

impl HomeChat {
    /// Whether what is said there is this agent's, also while it does not serve: a chat that
    /// was given to somebody else hears nothing more of it.
    pub fn leads_to(&self, now: &Snapshot, agent: &AgentId) -> bool {
        match now.route(&self.address) {
            Ok(found) => found.context.id == *agent,
            Err(RouteRefusal::NotServing { agent: led, .. }) => led == *agent,
            Err(RouteRefusal::Nobody | RouteRefusal::Rule { .. }) => false,
        }
    }

    /// The place in words, as operators write it.
    pub fn place(&self) -> String {
        let Address { platform, account, chat, topic, .. } = &self.address;
        let topic = topic.as_ref().map(|topic| format!(", topic {topic}")).unwrap_or_default();
        format!("{platform}:{account} {} {chat}{topic}", self.address.chat_type)
    }
}

/// The form in the store.
#[derive(Serialize, Deserialize)]
struct Kept {
    platform: Box<str>,
    account: Box<str>,
    chat: Box<str>,
    chat_type: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    topic: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    guild: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    team: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<Box<str>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    roles: Vec<Box<str>>,
    by: Box<str>,
}

impl Kept {
    fn of(HomeChat { address, by }: &HomeChat) -> Self {
        let text = |id: &str| Box::<str>::from(id);
        let (guild, team) = match &address.community {
            Some(Community::Guild(guild)) => (Some(text(guild.as_str())), None),
            Some(Community::Team(team)) => (None, Some(text(team.as_str()))),
            None => (None, None),
        };
        Self {
            platform: text(address.platform.as_str()),
            account: text(address.account.as_str()),
            chat: text(address.chat.as_str()),
            chat_type: text(address.chat_type.as_str()),
            topic: address.topic.as_ref().map(|it| text(it.as_str())),
            parent: address.parent.as_ref().map(|it| text(it.as_str())),
            guild,
            team,
            user: address.user.as_ref().map(|it| text(it.as_str())),
            roles: address.roles.iter().map(|it| text(it.as_str())).collect(),
            by: by.clone(),
        }
    }

    /// `None` for what no version of ours wrote: such a home is none.
    fn restored(self) -> Option<HomeChat> {
        let community = match (self.guild, self.team) {
            (Some(guild), _) => Some(Community::Guild(GuildId::new(&*guild).ok()?)),
            (None, Some(team)) => Some(Community::Team(GuildId::new(&*team).ok()?)),
            (None, None) => None,
        };
        let roles: Option<Vec<RoleId>> =
            self.roles.iter().map(|role| RoleId::new(&**role).ok()).collect();
        let address = Address {
            platform: Platform::new(&self.platform).ok()?,
            account: AccountId::new(&*self.account).ok()?,
            chat: ChatId::new(&*self.chat).ok()?,
            chat_type: ChatType::parse(&self.chat_type)?,
            topic: self.topic.map(|it| TopicId::new(&*it)).transpose().ok()?,
            parent: self.parent.map(|it| ChatId::new(&*it)).transpose().ok()?,
            community,
            user: self.user.map(|it| UserId::new(&*it)).transpose().ok()?,
            roles: roles?,
        };
        Some(HomeChat { address, by: self.by })
    }
}

type Homes = BTreeMap<AgentId, Arc<HomeChat>>;

/// The home chats as the store has them.
#[derive(Default)]
pub struct HomeChats {
    known: ArcSwap<Homes>,
}

impl HomeChats {
    pub(crate) async fn load(store: &Store) -> Result<Self, RuntimeError> {
        let kept = store.daemon().value(KEPT).await?;
        Ok(Self { known: ArcSwap::from_pointee(read(kept.as_deref())) })
    }

    pub(crate) fn follow(self: &Arc<Self>, feed: &Feed) -> Subscription {
        let homes = self.clone();
        feed.subscribe(move |change| match change {
            FeedChange::Value { key, value } if &**key == KEPT => {
                homes.known.store(Arc::new(read(value.as_deref())));
            }
            _ => {}
        })
    }

    /// The home chat of an agent, if it has one.
    pub fn of(&self, agent: &AgentId) -> Option<Arc<HomeChat>> {
        self.known.load().get(agent).cloned()
    }

    /// What keeps all of them, with one agent's changed; nothing where that is as it was.
    pub(crate) fn with(&self, agent: &AgentId, home: Option<HomeChat>) -> Option<DaemonCommand> {
        let before = self.known.load_full();
        let mut after = Homes::clone(&before);
        match home {
            Some(home) => after.insert(agent.clone(), Arc::new(home)),
            None => after.remove(agent),
        };
        (after != *before)
            .then(|| DaemonCommand::PutValue { key: KEPT.into(), value: kept(&after) })
    }
}

fn read(kept: Option<&str>) -> Homes {
    let kept: BTreeMap<Box<str>, Kept> =
        kept.and_then(|kept| serde_json::from_str(kept).ok()).unwrap_or_default();
    let restored =
        |(id, kept): (Box<str>, Kept)| Some((AgentId::new(&id).ok()?, Arc::new(kept.restored()?)));
    kept.into_iter().filter_map(restored).collect()
}

fn kept(homes: &Homes) -> String {
    let kept: BTreeMap<&str, Kept> =
        homes.iter().map(|(id, home)| (id.as_str(), Kept::of(home))).collect();
    // A map of texts always has a text.
    serde_json::to_string(&kept).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_domain::platform::PLATFORMS;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["-?[0-9]{1,14}", "[!-~]{1,20}", "\\PC{1,12}"]
    }

    fn some<T: std::fmt::Debug>(
        make: impl Fn(String) -> T + 'static,
    ) -> impl Strategy<Value = Option<T>> {
        proptest::option::of(text().prop_map(make))
    }

    prop_compose! {
        fn address()(
            (platform, account) in (0..PLATFORMS.len(), text()),
            (chat, chat_type) in (text(), 0..ChatType::ALL.len()),
            topic in some(|it| TopicId::new(&*it).unwrap()),
            parent in some(|it| ChatId::new(&*it).unwrap()),
            guild in some(|it| GuildId::new(&*it).unwrap()),
            is_team in any::<bool>(),
            user in some(|it| UserId::new(&*it).unwrap()),
            roles in proptest::collection::vec(text(), 0..3),
        ) -> Address {
            Address {
                platform: Platform::new(PLATFORMS[platform]).unwrap(),
                account: AccountId::new(&*account).unwrap(),
                chat: ChatId::new(&*chat).unwrap(),
                chat_type: ChatType::ALL[chat_type],
                topic,
                parent,
                community: guild.map(if is_team { Community::Team } else { Community::Guild }),
                user,
                roles: roles.iter().map(|role| RoleId::new(&**role).unwrap()).collect(),
            }
        }
    }

    proptest! {
        #[test]
        fn a_home_chat_comes_back_from_the_store_as_it_was(
            address in address(),
            by in "[a-z]{1,8}:[0-9]{1,6}",
        ) {
            let id = AgentId::new("a").unwrap();
            let home = HomeChat { address, by: by.into() };
            let homes = Homes::from([(id, Arc::new(home))]);
            prop_assert_eq!(read(Some(&kept(&homes))), homes);
        }
    }

    #[test]
    fn what_nobody_of_ours_wrote_is_no_home() {
        for text in ["", "[]", r#"{"a": {}}"#, r#"{"a": {"platform": "telegram"}}"#] {
            assert!(read(Some(text)).is_empty(), "{text}");
        }
        let bad = r#"{"a": {"platform": "telegram", "account": "m", "chat": "1", "chat_type": "cave", "by": "x"}}"#;
        assert!(read(Some(bad)).is_empty());
    }
}
