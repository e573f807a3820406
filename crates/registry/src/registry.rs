//! One current generation per agent, swapped atomically together with the routes to it.

use crate::context::{AgentContext, Generation};
use crate::error::RuntimeError;
use crate::events::{AgentEvent, Hub};
use crate::handoffs;
use crate::signal::{Changes, Signal};
use crate::tokens;
use arc_swap::ArcSwap;
use insula_config::DaemonConfig;
use insula_domain::{AgentId, Router};
use insula_store::{Feed, FeedChange, Subscription};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All agents and the routes to them, as of one moment.
pub struct Snapshot {
    /// Which agent answers which message.
    pub router: Arc<Router>,
    /// Where each binding stands, for people.
    pub binding_places: Arc<[String]>,
    pub agents: BTreeMap<AgentId, AgentEntry>,
    /// What the daemon itself runs by.
    pub daemon: Arc<DaemonConfig>,
}

#[derive(Clone)]
pub struct AgentEntry {
    /// Its latest generation.
    pub generation: Generation,
    /// Where it stands.
    pub state: AgentState,
}

/// Where an agent stands.
#[derive(Clone)]
pub enum AgentState {
    /// It serves.
    Ready(Arc<AgentContext>),
    /// It is kept and serves nobody.
    Paused(Arc<AgentContext>),
    /// Its configuration can't be used; why.
    Failed(Arc<str>),
    /// It was put away.
    Archived(Arc<AgentContext>),
    /// It was deleted, and the configuration still names it.
    Deleted,
    /// It was deleted, and something of it could not be removed yet; what.
    Deleting(Arc<str>),
}

impl AgentState {
    /// The state's name for programs. A deleted agent that is still named counts as failed:
    /// somebody has to edit the file.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Ready(_) => "ready",
            Self::Paused(_) => "paused",
            Self::Failed(_) | Self::Deleted => "failed",
            Self::Archived(_) => "archived",
            Self::Deleting(_) => "deleting",
        }
    }

    /// Why it does not serve; `None` when it does.
    pub fn reason(&self) -> Option<Arc<str>> {
        match self {
            Self::Ready(_) => None,
            Self::Paused(_) => Some("paused by an operator".into()),
            Self::Failed(reason) | Self::Deleting(reason) => Some(reason.clone()),
            Self::Archived(_) => Some("archived by an operator".into()),
            Self::Deleted => Some("deleted; remove it from config.yaml".into()),
        }
    }

    pub fn context(&self) -> Option<&Arc<AgentContext>> {
        match self {
            Self::Ready(context) | Self::Paused(context) | Self::Archived(context) => Some(context),
            Self::Failed(_) | Self::Deleted | Self::Deleting(_) => None,
        }
    }
}

/// Holds the current [`Snapshot`]. Reading it never waits.
pub struct Registry {
    current: ArcSwap<Snapshot>,
    /// Where whoever listens to an agent hears of it.
    pub hub: Arc<Hub>,
    /// Told whenever the snapshot, or a secret, is another than before.
    changed: Signal,
}

impl Registry {
    /// A registry that begins with `snapshot`.
    pub fn new(snapshot: Snapshot) -> Self {
        Self {
            current: ArcSwap::from_pointee(snapshot),
            hub: Arc::default(),
            changed: Signal::default(),
        }
    }

    /// What holds now. Whoever needs two facts that agree takes both from one snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// The context of an agent, whether or not it serves; or why there is none.
    pub fn context_of(&self, id: &AgentId) -> Result<Arc<AgentContext>, RuntimeError> {
        let snapshot = self.snapshot();
        let entry = snapshot.agents.get(id);
        let entry = entry.ok_or_else(|| RuntimeError::NoSuchAgent(id.as_str().into()))?;
        entry.state.context().cloned().ok_or_else(|| {
            let reason = entry.state.reason().unwrap_or_default();
            RuntimeError::Broken { agent: id.clone(), reason: (*reason).into() }
        })
    }

    /// Hears of every change of the snapshot and of the secrets from now on.
    pub fn changes(&self) -> Changes {
        self.changed.listen()
    }

    /// Hears of what lets people in: whoever follows the snapshot judges by that too.
    pub(crate) fn follow(self: &Arc<Self>, feed: &Feed) -> Subscription {
        let registry = self.clone();
        feed.subscribe(move |change| match change {
            FeedChange::Access(_) => registry.tell_of_change(),
            FeedChange::Value { key, .. } if [tokens::KEPT, handoffs::KEPT].contains(&&**key) => {
                registry.tell_of_change();
            }
            _ => {}
        })
    }

    pub(crate) fn tell_of_change(&self) {
        self.changed.send();
    }

    pub(crate) fn swap(&self, snapshot: Snapshot) {
        let after = Arc::new(snapshot);
        let before = self.current.swap(after.clone());
        self.tell_of_change();
        let heard: BTreeSet<AgentId> = match self.hub.hears_all() {
            true => before.agents.keys().chain(after.agents.keys()).cloned().collect(),
            false => self.hub.heard().into_iter().collect(),
        };
        for id in heard {
            let (old, new) = (before.agents.get(&id), after.agents.get(&id));
            let facts = |entry: Option<&AgentEntry>| {
                entry.map(|entry| (entry.state.as_str(), entry.generation))
            };
            if facts(old) == facts(new) {
                continue;
            }
            self.hub.tell(&id, || AgentEvent::Health {
                state: new.map_or("deleted", |entry| entry.state.as_str()),
                generation: new.map_or(0, |entry| entry.generation.0),
                reason: new.and_then(|entry| entry.state.reason()).map(|it| it.to_string()),
            });
        }
    }
}
