//! What becomes of agents, of the daemon around them and of the accounts they are reached by, for
//! whoever tells of it: hooks and home chats.
//!
//! An event is one agent's, and that agent alone hears of it. Those of an agent wait in its own
//! bounded queue and are told in their order, by a task of its own: a hook that is slow keeps
//! nothing waiting but that agent's next event, and no answer changes anything.

use crate::context::AgentContext;
use crate::home_chats::HomeChats;
use crate::registry::Snapshot;
use crate::secrets::SecretBook;
use async_trait::async_trait;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use insula_domain::hook::HookEvent;
use insula_domain::{AccountId, Actor, AgentId, ChatId, Platform};
use insula_world::{Clock, Timestamp, World};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// What such events are called in the agents' own logs.
pub const LOG: &str = "insula::life";

/// Events of one agent that may wait to be told; the oldest goes when one more comes. An account
/// that comes and goes makes many, and only the last of them say how things stand.
const WAITING_MAX: usize = 64;
/// Longest that a stop or a deletion waits until what it means for agents was told.
const FAREWELL_MAX: Duration = Duration::from_secs(10);
/// How long home chats are waited for then, where no hook may take longer.
const FAREWELL_OF_CHATS: Duration = Duration::from_secs(3);

/// Declares what can become of an agent.
macro_rules! kinds {
    ($($variant:ident $name:literal $doc:literal,)*) => {
        /// What became of an agent, or of what it depends on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum LifeKind {
            $(#[doc = $doc] $variant,)*
        }

        impl LifeKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name that hooks are told.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

kinds! {
    DaemonStarted "daemon.started" "The daemon serves.",
    DaemonStopped "daemon.stopped" "The daemon was told to stop.",
    Created "agent.created" "It is new.",
    Changed "agent.changed" "It has a new generation.",
    Failed "agent.failed" "Its configuration can't be used.",
    Recovered "agent.recovered" "Its configuration can be used again.",
    Paused "agent.paused" "It serves nobody for a while.",
    Resumed "agent.resumed" "It serves again.",
    Archived "agent.archived" "It was put away.",
    Restarted "agent.restarted" "It was begun anew, by an operator.",
    Removed "agent.removed" "The configuration names it no more.",
    Deleted "agent.deleted" "It is erased.",
    AccountUp "account.up" "An account it is reached by is connected.",
    AccountDown "account.down" "An account it is reached by is not connected.",
    ApprovalWaits "approval.waits" "A call of its waits for an admin's yes.",
    BudgetLow "budget.low" "A budget of a day is nearly used.",
}

impl fmt::Display for LifeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that became of an agent.
pub struct LifeEvent {
    pub kind: LifeKind,
    /// Whose hooks hear it and in whose name it is said: the generation that holds, or the last
    /// one that did.
    pub agent: Arc<AgentContext>,
    /// The generation it is about.
    pub generation: u64,
    /// What is another, as the names of settings.
    pub what: Option<String>,
    pub why: Option<String>,
    /// The account it is about.
    pub account: Option<(Platform, AccountId)>,
    /// The chat that knows of it already.
    pub known_in: Option<(Platform, AccountId, ChatId)>,
    /// Who brought it about.
    pub actor: Actor,
    pub at: Timestamp,
}

/// What there is to say of an event, beside whose it is.
#[derive(Debug, Clone, Default)]
pub struct LifeFacts {
    pub what: Option<String>,
    pub why: Option<String>,
    pub account: Option<(Platform, AccountId)>,
    /// The chat that knows of it already.
    pub known_in: Option<(Platform, AccountId, ChatId)>,
}

/// Tells somebody of what became of an agent. Whatever goes wrong there is its own.
#[async_trait]
pub trait TellsOfLife: Send + Sync {
    async fn tell(&self, event: &LifeEvent);
}

/// What waits to be told, by agent, and who tells it.
pub struct Lives {
    clock: Arc<dyn Clock>,
    secrets: Arc<SecretBook>,
    homes: Arc<HomeChats>,
    /// They hold nothing of the daemon for good: it holds them.
    tellers: Mutex<Vec<Arc<dyn TellsOfLife>>>,
    desk: Mutex<Desk>,
    /// Told whenever an agent's queue is empty.
    idle: Notify,
}

#[derive(Default)]
struct Desk {
    /// Before it has, events wait: who tells them is not there yet.
    has_begun: bool,
    /// An agent is here while something of its is told or waits.
    queues: BTreeMap<AgentId, VecDeque<Arc<LifeEvent>>>,
}

impl Lives {
    pub(crate) fn new(
        world: &World,
        secrets: &Arc<SecretBook>,
        homes: &Arc<HomeChats>,
    ) -> Arc<Self> {
        Arc::new(Self {
            clock: world.clock.clone(),
            secrets: secrets.clone(),
            homes: homes.clone(),
            tellers: Mutex::default(),
            desk: Mutex::default(),
            idle: Notify::new(),
        })
    }

    /// Has one more tell of what becomes of agents.
    pub fn add(&self, teller: Arc<dyn TellsOfLife>) {
        self.tellers.lock().unwrap_or_else(PoisonError::into_inner).push(teller);
    }

    /// Tells what waited, and from now on everything as it comes; first of all that the daemon
    /// serves.
    pub fn begin(self: &Arc<Self>, now: &Snapshot) {
        let waiting: Vec<AgentId> = {
            let mut desk = self.desk();
            desk.has_begun = true;
            desk.queues.keys().cloned().collect()
        };
        waiting.into_iter().for_each(|id| self.go(id));
        self.tell_all(now, LifeKind::DaemonStarted);
    }

    /// Tells every agent that the daemon ends, and waits for that as long as its hooks may take.
    pub async fn end(self: &Arc<Self>, now: &Snapshot) {
        if !self.desk().has_begun {
            return;
        }
        self.tell_all(now, LifeKind::DaemonStopped);
        let contexts = now.agents.values().filter_map(|entry| entry.state.context());
        let longest = contexts.map(|agent| self.patience(agent)).max().unwrap_or_default();
        self.settle(longest).await;
    }

    fn tell_all(self: &Arc<Self>, now: &Snapshot, kind: LifeKind) {
        for agent in now.agents.values().filter_map(|entry| entry.state.context()) {
            let generation = agent.generation.0;
            self.tell(agent, kind, generation, &Actor::Daemon, LifeFacts::default());
        }
    }

    /// Tells of one thing, where anybody wants to know.
    pub fn tell(
        self: &Arc<Self>,
        agent: &Arc<AgentContext>,
        kind: LifeKind,
        generation: u64,
        actor: &Actor,
        facts: LifeFacts,
    ) {
        if !self.is_heard(agent) {
            return;
        }
        let redacted = |text: String| self.secrets.known().records().redact(&text).into_owned();
        let event = LifeEvent {
            kind,
            agent: agent.clone(),
            generation,
            what: facts.what.map(redacted),
            why: facts.why.map(redacted),
            account: facts.account,
            known_in: facts.known_in,
            actor: actor.clone(),
            at: self.clock.now(),
        };
        let is_told = {
            let mut desk = self.desk();
            let is_told = desk.queues.contains_key(&agent.id) || !desk.has_begun;
            let queue = desk.queues.entry(agent.id.clone()).or_default();
            if queue.len() >= WAITING_MAX {
                queue.pop_front();
                tracing::warn!(agent = %agent.id, "more happens than its hooks are told in time; the oldest is left out");
            }
            queue.push_back(Arc::new(event));
            is_told
        };
        if !is_told {
            self.go(agent.id.clone());
        }
    }

    /// Tells of an account to those it is bound to, and to nobody else.
    pub fn tell_of_account(
        self: &Arc<Self>,
        now: &Snapshot,
        kind: LifeKind,
        (platform, account): (Platform, &AccountId),
        why: Option<&str>,
    ) {
        for id in bound_to(now, platform, account) {
            let Some(agent) = now.agents.get(&id).and_then(|entry| entry.state.context()) else {
                continue;
            };
            tracing::debug!(target: LOG, agent = %id, %platform, %account, why, "{}", kind.as_str().replace('.', " "));
            let facts = LifeFacts {
                what: None,
                why: why.map(str::to_owned),
                account: Some((platform, account.clone())),
                known_in: None,
            };
            self.tell(agent, kind, agent.generation.0, &Actor::Daemon, facts);
        }
    }

    /// Waits until all that was told of an agent was heard, as long as its hooks may take.
    pub(crate) async fn settle_agent(&self, agent: &AgentContext) {
        let has_begun = self.desk().has_begun;
        if has_begun {
            let patience = self.patience(agent);
            self.wait(patience, |desk| !desk.queues.contains_key(&agent.id)).await;
        }
    }

    /// Waits until everything was told, but no longer than this; whether it was.
    pub async fn settle(&self, within: Duration) -> bool {
        self.wait(within, |desk| desk.queues.is_empty()).await
    }

    async fn wait(&self, within: Duration, is_done: impl Fn(&Desk) -> bool) -> bool {
        let all = async {
            loop {
                let idle = self.idle.notified();
                tokio::pin!(idle);
                idle.as_mut().enable();
                if is_done(&self.desk()) {
                    return;
                }
                idle.await;
            }
        };
        tokio::select! {
            biased;
            () = all => true,
            () = self.clock.sleep(within) => false,
        }
    }

    fn is_heard(&self, agent: &AgentContext) -> bool {
        agent.hooks.has(HookEvent::AgentLifecycle) || self.homes.of(&agent.id).is_some()
    }

    /// How long telling an agent may take when somebody waits for it.
    fn patience(&self, agent: &AgentContext) -> Duration {
        let hooks = agent.hooks.iter().filter(|hook| hook.event == HookEvent::AgentLifecycle);
        let hooks: Duration = hooks.map(|hook| hook.timeout).sum();
        let chats = match self.homes.of(&agent.id) {
            Some(_) => FAREWELL_OF_CHATS,
            None => Duration::ZERO,
        };
        hooks.max(chats).min(FAREWELL_MAX)
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        // Nothing runs foreign code under it, so a poisoned lock guards nothing broken.
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, id: &AgentId) -> Option<Arc<LifeEvent>> {
        let mut desk = self.desk();
        let next = desk.queues.get_mut(id).and_then(VecDeque::pop_front);
        if next.is_none() {
            desk.queues.remove(id);
        }
        next
    }

    /// Tells what waits for an agent, until nothing does.
    fn go(self: &Arc<Self>, id: AgentId) {
        // Without a runtime there is nobody to tell, as in a command that ends at once.
        let Ok(runtime) = Handle::try_current() else { return };
        let this = self.clone();
        runtime.spawn(async move {
            while let Some(event) = this.next(&id) {
                let tellers =
                    this.tellers.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let told = tellers.iter().map(|teller| teller.tell(&event));
                let told = AssertUnwindSafe(join_all(told)).catch_unwind();
                if told.await.is_err() {
                    tracing::error!(agent = %id, event = %event.kind, "telling what became of an agent panicked");
                }
            }
            this.idle.notify_waiters();
        });
    }
}

/// The agents that an account is bound to: by a rule for it or for all accounts of its platform,
/// or because whatever no rule names is theirs.
pub fn bound_to(now: &Snapshot, platform: Platform, account: &AccountId) -> Vec<AgentId> {
    let rules = now.router.bindings().iter().filter(|binding| {
        let rule = &binding.matches;
        binding.refusal.is_none()
            && rule.platform == platform
            && rule.account.as_ref().is_none_or(|named| named == account)
    });
    let mut bound: Vec<AgentId> = rules.map(|binding| binding.agent.clone()).collect();
    bound.extend(now.router.defaults().everywhere.clone());
    bound.sort();
    bound.dedup();
    bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let mut names: Vec<&str> = LifeKind::ALL.iter().map(|kind| kind.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), LifeKind::ALL.len());
        assert!(names.iter().all(|name| name.contains('.')), "{names:?}");
    }
}
