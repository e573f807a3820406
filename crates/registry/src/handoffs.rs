//! Which conversations were handed to another agent. Kept in the daemon's store as names of
//! conversations and agents, never as words: whoever finds the way for a message asks here.

use crate::error::RuntimeError;
use arc_swap::ArcSwap;
use insula_domain::{AgentId, Audience, SessionKey};
use insula_store::{DaemonCommand, Feed, FeedChange, LeaseHolder, Store, StoreError, Subscription};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use tokio::sync::Mutex;

/// The name under which the store keeps all of them.
pub(crate) const KEPT: &str = "handoffs";
/// Most conversations that are handed over at once, in the whole daemon: all of them are in
/// memory, and each change writes them all.
const HANDED_MAX: usize = 10_000;

/// Who answers, by the conversation of whoever handed it over.
type Known = BTreeMap<Box<str>, AgentId>;

/// The conversations that an agent was handed, by who it is and where they are.
type Places = HashMap<(AgentId, Audience), BTreeSet<SessionKey>>;

/// The conversations that were handed over, as the store has them.
pub struct Handoffs {
    known: ArcSwap<Known>,
    /// Those of now and those that were handed back since the start: what is said last in one is
    /// on its way when it is handed back.
    lately: std::sync::Mutex<Places>,
    /// Counts changes.
    version: AtomicU64,
    owner: LeaseHolder,
    changing: Mutex<()>,
}

/// Why a conversation was not handed over.
#[derive(Debug, thiserror::Error)]
pub enum HandoffError {
    /// there are as many as there may be
    #[error("too many conversations are handed over at the moment; hand some back first")]
    Full,
    /// the store could not take it
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Handoffs {
    pub(crate) async fn load(store: &Store, owner: &LeaseHolder) -> Result<Self, RuntimeError> {
        let kept = store.daemon().value(KEPT).await?;
        let known = read(kept.as_deref());
        Ok(Self {
            lately: std::sync::Mutex::new(places(&known)),
            known: ArcSwap::from_pointee(known),
            version: AtomicU64::new(0),
            owner: owner.clone(),
            changing: Mutex::default(),
        })
    }

    pub(crate) fn follow(self: &Arc<Self>, feed: &Feed) -> Subscription {
        let handoffs = self.clone();
        feed.subscribe(move |change| match change {
            FeedChange::Value { key, value } if &**key == KEPT => {
                let known = read(value.as_deref());
                handoffs.note(&known);
                handoffs.known.store(Arc::new(known));
                handoffs.version.fetch_add(1, Ordering::SeqCst);
            }
            _ => {}
        })
    }

    /// Tells whether any was handed over or back since.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::SeqCst)
    }

    /// Who answers in a conversation, where that is not whose it is.
    pub fn to(&self, conversation: &SessionKey) -> Option<AgentId> {
        let known = self.known.load();
        if known.is_empty() {
            return None;
        }
        known.get(&*conversation.to_string()).cloned()
    }

    /// The conversations at a place that an agent was handed, now or since the start.
    pub(crate) fn at(&self, to: &AgentId, place: Audience) -> Vec<SessionKey> {
        let lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        if lately.is_empty() {
            return Vec::new();
        }
        lately.get(&(to.clone(), place)).into_iter().flatten().cloned().collect()
    }

    /// Adds what is handed over now to what was since the start.
    fn note(&self, known: &Known) {
        let mut lately = self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        if lately.len() > 2 * HANDED_MAX {
            lately.clear();
        }
        for (place, keys) in places(known) {
            lately.entry(place).or_default().extend(keys);
        }
    }

    /// Hands a conversation over.
    pub async fn put(&self, conversation: &SessionKey, to: &AgentId) -> Result<(), HandoffError> {
        let _changing = self.changing.lock().await;
        let mut after = Known::clone(&self.known.load());
        if after.len() >= HANDED_MAX {
            return Err(HandoffError::Full);
        }
        after.insert(conversation.to_string().into(), to.clone());
        Ok(self.keep(&after).await?)
    }

    /// Hands a conversation back; whether it was handed over.
    pub async fn end(&self, conversation: &SessionKey) -> Result<bool, StoreError> {
        let _changing = self.changing.lock().await;
        let mut after = Known::clone(&self.known.load());
        let was = after.remove(&*conversation.to_string()).is_some();
        if was {
            self.keep(&after).await?;
        }
        Ok(was)
    }

    /// Ends those between agents that are linked no more: a link that comes back later begins
    /// nothing by itself.
    pub async fn tidy(
        &self,
        are_linked: impl Fn(&AgentId, &AgentId) -> bool,
    ) -> Result<(), StoreError> {
        self.lately.lock().unwrap_or_else(PoisonError::into_inner).retain(|(to, _), keys| {
            keys.retain(|key| are_linked(&key.agent, to));
            !keys.is_empty()
        });
        let is_linked = |key: &str, to: &AgentId| {
            key.parse::<SessionKey>().is_ok_and(|from| are_linked(&from.agent, to))
        };
        if self.known.load().iter().all(|(key, to)| is_linked(key, to)) {
            return Ok(());
        }
        let _changing = self.changing.lock().await;
        let mut after = Known::clone(&self.known.load());
        after.retain(|key, to| is_linked(key, to));
        self.keep(&after).await
    }

    async fn keep(&self, after: &Known) -> Result<(), StoreError> {
        let texts: BTreeMap<&str, &str> =
            after.iter().map(|(key, to)| (&**key, to.as_str())).collect();
        // A map of texts always has a text.
        let value = serde_json::to_string(&texts).unwrap_or_default();
        let put = DaemonCommand::PutValue { key: KEPT.into(), value };
        self.owner.daemon().commit(vec![put]).await.map(drop)
    }
}

/// Where each agent was handed conversations.
fn places(known: &Known) -> Places {
    let mut places = Places::new();
    for (key, to) in known {
        let Ok(key) = key.parse::<SessionKey>() else { continue };
        let SessionKey { platform, account, chat, topic, .. } = key.clone();
        let place = Audience { platform, account, chat, topic };
        places.entry((to.clone(), place)).or_default().insert(key);
    }
    places
}

/// What no version of ours wrote is nothing: whoever a conversation belongs to answers in it.
fn read(kept: Option<&str>) -> Known {
    let kept: BTreeMap<Box<str>, String> =
        kept.and_then(|kept| serde_json::from_str(kept).ok()).unwrap_or_default();
    let known = kept.into_iter().filter_map(|(key, to)| Some((key, AgentId::new(&to).ok()?)));
    known.filter(|(key, _)| key.parse::<SessionKey>().is_ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_back_and_nothing_else_hands_over() {
        let key = "agent:a:telegram:main:dm:5:user:5";
        let kept = format!("{{\"{key}\": \"b\", \"nonsense\": \"b\", \"{key}:x\": \"no agent\"}}");
        let known = read(Some(&kept));
        assert_eq!(known.len(), 1);
        assert_eq!(known[key].as_str(), "b");
        for broken in [None, Some(""), Some("[]"), Some("{\"a\": 1}")] {
            assert!(read(broken).is_empty(), "{broken:?}");
        }
    }
}
