//! The way out: from an agent's outbox to the platform, in order, and once where that can be had.
//!
//! What is to be sent is a row in the agent's store before anything else happens. A chat's rows
//! go one after the other ([`lane`]); different chats go at the same time, within what their
//! account takes ([`Pacing`](insula_channel::Pacing)). That a request is about to be made is
//! journalled before it where the platform would not notice a repetition. While a turn runs,
//! [`follow`] shows that something is being written, what there is of it, and what it asks; the
//! reply itself always leaves by the outbox.

mod buttons;
mod chat_ref;
mod enclosed;
mod finish;
mod follow;
mod lane;
mod progress;
mod provisional;
mod recognised;
mod say;
mod shown;
pub mod split;
mod tasks;
mod working;

pub use buttons::{BUTTON_DATA_BYTES_MAX, Choice};
pub use chat_ref::ChatRef;
pub use lane::SILENT;
pub(crate) use shown::{Because, QuestionShown, Showing};

use crate::tenant;
use insula_channel::{AccountKey, Accounts, Pacing, PostError, PostTarget, Slot, Tenant, WakeRule};
use insula_domain::{AccountId, AgentId, Platform, SessionKey};
use insula_registry::forgotten::Forgotten;
use insula_registry::outbox::Outbox;
use insula_registry::{Access, AgentContext, AgentState, Parts, Registry};
use insula_store::{AgentCommand, Delivery, Lane, Store, StoreError, TurnId};
use insula_turns::Engine;
use insula_world::World;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tasks::Tasks;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How long a request to a platform may take; after that nobody knows what became of it.
const REQUEST_MAX: Duration = Duration::from_secs(60);
/// How many chats are read from a store at once.
const HEADS_AT_ONCE: usize = 64;
/// How soon an agent that does not serve, or whose store failed, is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How often it is looked whether an account that is away has come back.
const AWAY_LOOK: Duration = Duration::from_secs(1);
/// How soon an agent that found no place at an account comes again unless it is called.
const FULL_LOOK: Duration = Duration::from_secs(1);
/// How long running requests may take to end when the daemon stops.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// Sends what agents have to send.
pub struct Relay {
    world: World,
    store: Store,
    registry: Arc<Registry>,
    access: Arc<Access>,
    outbox: Arc<Outbox>,
    forgotten: Arc<Forgotten>,
    pub(crate) engine: Engine,
    accounts: Arc<dyn Accounts>,
    in_flight: Mutex<InFlight>,
    /// Something on the desk has another time now.
    changed: Notify,
    /// How many lines of the gateway's own were said by each account.
    said: Mutex<HashMap<AccountKey, u64>>,
    tasks: Tasks,
    stop: CancellationToken,
}

/// What is going on now. All of it can be read again from the stores.
#[derive(Default)]
struct InFlight {
    /// The chats that are being sent to; whether somebody called meanwhile.
    lanes: HashMap<(AgentId, Lane), Called>,
    /// The turns that are followed: their replies wait for whoever follows.
    followed: HashSet<(AgentId, TurnId)>,
    /// When to look at an agent again, on the clock that never goes back.
    later: BTreeMap<AgentId, Duration>,
    /// The agents that wait for an account.
    away: HashMap<AccountKey, BTreeSet<AgentId>>,
    /// The agents that are being looked at.
    looked_at: HashMap<AgentId, Called>,
    /// When what is over was last taken out of an agent's outbox.
    pruned: HashMap<AgentId, Duration>,
}

/// Whether somebody called while somebody was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Called {
    No,
    Again,
}

impl Relay {
    /// The way out of a daemon.
    pub fn new(parts: &Parts, engine: Engine, accounts: Arc<dyn Accounts>) -> Arc<Self> {
        Arc::new(Self {
            world: parts.world.clone(),
            store: parts.store.clone(),
            registry: parts.registry.clone(),
            access: parts.access.clone(),
            outbox: parts.outbox.clone(),
            forgotten: parts.forgotten.clone(),
            engine,
            accounts,
            in_flight: Mutex::default(),
            changed: Notify::new(),
            said: Mutex::default(),
            tasks: Tasks::default(),
            stop: CancellationToken::new(),
        })
    }

    /// Delivers, from what earlier runs left undelivered on, until `stop`. Requests that run
    /// then are given a moment to end. Called after [`Engine::resume`], so that turns that go
    /// on are followed again.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        match self.store.daemon().busy().await {
            Ok(agents) => {
                for id in agents {
                    self.take_up(&id).await;
                    self.look(id);
                }
            }
            Err(error) => tracing::error!(%error, "what is undelivered can't be read"),
        }
        loop {
            let pause = self.pause();
            let pause = async {
                match pause {
                    Some(pause) => self.world.clock.sleep(pause).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                rung = self.outbox.rung() => rung.into_iter().for_each(|id| self.look(id)),
                () = self.changed.notified() => {}
                () = pause => self.due().into_iter().for_each(|id| self.look(id)),
            }
        }
        self.stop.cancel();
        let end = self.world.clock.sleep(STOP_WITHIN);
        tokio::select! {
            () = self.tasks.wait() => {}
            () = end => tracing::warn!("requests were still running; what became of them is found at the next start"),
        }
    }

    /// An account may be another than before: one that was refused is tried again, and what
    /// waits for it goes on at once.
    pub fn account_is_back(self: &Arc<Self>, platform: Platform, account: &AccountId) {
        let key = (platform, account.clone());
        let mut waiting = self.in_flight().away.remove(&key).unwrap_or_default();
        if self.pacing().renew(&key) {
            // Who waited for it is among those who wait for something.
            waiting.extend(std::mem::take(&mut self.in_flight().later).into_keys());
        }
        waiting.into_iter().for_each(|id| self.look(id));
    }

    fn in_flight(&self) -> MutexGuard<'_, InFlight> {
        // Nothing runs foreign code under it, so a poisoned lock guards nothing broken.
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How fast accounts may send.
    fn pacing(&self) -> &Arc<Pacing> {
        self.accounts.pacing()
    }

    /// Whose conversations an agent's are, as of now.
    pub(crate) fn tenant(&self, agent: &AgentContext) -> Tenant {
        tenant::of(&self.forgotten, agent)
    }

    /// Where to send what an agent says at a place.
    pub(crate) fn target(&self, agent: &AgentContext, place: &ChatRef) -> PostTarget {
        self.target_of(agent, self.tenant(agent), place)
    }

    /// Where to send what a tenant of an agent's says at a place: into the chat of whoever handed
    /// it a conversation there. What strangers hear is in no chat that was handed over.
    fn target_of(&self, agent: &AgentContext, tenant: Tenant, place: &ChatRef) -> PostTarget {
        let is_let_in = tenant == self.tenant(agent);
        let host = is_let_in.then(|| self.access.host_at(&agent.id, place.audience())).flatten();
        PostTarget { host: host.map(|host| self.tenant(&host)), ..place.target(tenant) }
    }

    fn now(&self) -> Duration {
        self.world.clock.elapsed()
    }

    /// The agent, while it serves.
    pub(crate) fn serving(&self, id: &AgentId) -> Option<Arc<AgentContext>> {
        match &self.registry.snapshot().agents.get(id)?.state {
            AgentState::Ready(agent) => Some(agent.clone()),
            _ => None,
        }
    }

    async fn change(
        &self,
        agent: &AgentContext,
        batch: Vec<AgentCommand>,
    ) -> Result<(), StoreError> {
        agent.store.commit(batch).await.map(drop)
    }

    /// A request to a platform, which ends.
    async fn bounded<T>(
        &self,
        request: impl Future<Output = Result<T, PostError>>,
    ) -> Result<T, PostError> {
        tokio::select! {
            biased;
            done = request => done,
            () = self.world.clock.sleep(REQUEST_MAX) => {
                Err(PostError::Uncertain { why: "the platform did not answer in time".into() })
            }
        }
    }

    /// How long nothing has to be done unless somebody calls; `None` for as long as that.
    fn pause(&self) -> Option<Duration> {
        let in_flight = self.in_flight();
        let now = self.now();
        let later = in_flight.later.values().min().map(|at| at.saturating_sub(now));
        let away = (!in_flight.away.is_empty()).then_some(AWAY_LOOK);
        later.into_iter().chain(away).min()
    }

    /// The agents to look at now.
    fn due(&self) -> BTreeSet<AgentId> {
        let now = self.now();
        let away: Vec<AccountKey> = self.in_flight().away.keys().cloned().collect();
        let is_back =
            |(platform, account): &AccountKey| self.accounts.outbound(*platform, account).is_some();
        let back: Vec<AccountKey> = away.into_iter().filter(is_back).collect();
        let mut in_flight = self.in_flight();
        let due: Vec<AgentId> = in_flight
            .later
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(id, _)| id.clone())
            .collect();
        for id in &due {
            in_flight.later.remove(id);
        }
        let mut due = BTreeSet::from_iter(due);
        due.extend(back.iter().filter_map(|key| in_flight.away.remove(key)).flatten());
        due
    }

    /// Looks at an agent again at a moment, or before.
    fn look_at(&self, id: &AgentId, at: Duration) {
        let mut in_flight = self.in_flight();
        let known = in_flight.later.entry(id.clone()).or_insert(at);
        *known = at.min(*known);
        drop(in_flight);
        self.changed.notify_one();
    }

    /// Goes through the chats of an agent and sends what is due.
    fn look(self: &Arc<Self>, id: AgentId) {
        if self.stop.is_cancelled() {
            return;
        }
        match self.in_flight().looked_at.entry(id.clone()) {
            std::collections::hash_map::Entry::Occupied(mut known) => {
                known.insert(Called::Again);
                return;
            }
            std::collections::hash_map::Entry::Vacant(free) => free.insert(Called::No),
        };
        let this = self.clone();
        self.tasks.spawn(async move {
            loop {
                this.go_through(&id).await;
                let mut in_flight = this.in_flight();
                match in_flight.looked_at.get_mut(&id) {
                    Some(called @ Called::Again) => *called = Called::No,
                    _ => {
                        in_flight.looked_at.remove(&id);
                        return;
                    }
                }
            }
        });
    }

    async fn go_through(self: &Arc<Self>, id: &AgentId) {
        let Some(agent) = self.serving(id) else {
            // One that is gone has nothing to send any more.
            let snapshot = self.registry.snapshot();
            let known = snapshot.agents.get(id).map(|entry| &entry.state);
            if known.is_some_and(|it| !matches!(it, AgentState::Deleted | AgentState::Deleting(_)))
            {
                self.look_at(id, self.now() + LOOK_AGAIN);
            }
            return;
        };
        let mut after = None;
        loop {
            if self.stop.is_cancelled() {
                return;
            }
            let heads = match agent.store.delivery_heads(after, HEADS_AT_ONCE).await {
                Ok(heads) => heads,
                Err(StoreError::Retired { .. } | StoreError::Closed) => return,
                Err(error) => {
                    tracing::error!(agent = %id, %error, "an outbox can't be read");
                    return self.look_at(id, self.now() + LOOK_AGAIN);
                }
            };
            after = heads.last().map(|head| head.to.lane.clone());
            for head in heads {
                // A chat that can't go on now is not begun with.
                if !self.puts_off(id, &head) {
                    self.wake(id, head.to.lane);
                }
            }
            if after.is_none() {
                return;
            }
        }
    }

    /// Whether the next of a chat has to wait; whoever can go on then is looked at.
    fn puts_off(&self, id: &AgentId, head: &Delivery) -> bool {
        if let Some(wait) = recognised::between(self.world.clock.now(), head.next_at) {
            self.look_at(id, self.now() + wait);
            return true;
        }
        let Some(key) = account_of(&head.to.lane) else { return false };
        // That it waits for its account is written down once.
        if head.why.is_some() && self.accounts.outbound(key.0, &key.1).is_none() {
            self.await_account(id, key);
            return true;
        }
        false
    }

    /// Looks at an agent again when an account is there.
    fn await_account(&self, id: &AgentId, key: AccountKey) {
        self.in_flight().away.entry(key).or_default().insert(id.clone());
        self.changed.notify_one();
    }

    /// Sends what is due in one chat.
    fn wake(self: &Arc<Self>, id: &AgentId, lane: Lane) {
        if self.stop.is_cancelled() {
            return;
        }
        let Some(key) = account_of(&lane) else {
            let (this, id) = (self.clone(), id.clone());
            self.tasks.spawn(async move { this.refuse(&id, lane).await });
            return;
        };
        let mut in_flight = self.in_flight();
        if let Some(known) = in_flight.lanes.get_mut(&(id.clone(), lane.clone())) {
            *known = Called::Again;
            return;
        }
        match self.pacing().enter(&key, &lane.chat, id, self.now()) {
            Slot::Free(slot) => {
                in_flight.lanes.insert((id.clone(), lane.clone()), Called::No);
                drop(in_flight);
                let (this, id) = (self.clone(), id.clone());
                self.tasks.spawn(async move { this.serve(id, lane, key, slot).await });
            }
            Slot::Rests(until) => {
                drop(in_flight);
                self.look_at(id, until);
            }
            // Called when others leave; or else after a moment, should they not.
            Slot::Full => {
                drop(in_flight);
                self.look_at(id, self.now() + FULL_LOOK);
            }
        }
    }

    /// Calls those who found no place at an account.
    fn call(self: &Arc<Self>, key: &AccountKey, whom: WakeRule) {
        self.pacing().called(key, whom).into_iter().for_each(|id| self.look(id));
    }

    /// Follows the turns of an agent again that an earlier run had begun.
    pub(crate) async fn take_up(self: &Arc<Self>, id: &AgentId) {
        let Some(agent) = self.serving(id) else { return };
        let mut after = TurnId(0);
        loop {
            let some = match agent.store.origins(after, HEADS_AT_ONCE).await {
                Ok(some) => some,
                Err(error) => {
                    tracing::error!(agent = %id, %error, "unfinished turns can't be followed");
                    return;
                }
            };
            let Some(last) = some.last() else { return };
            after = last.turn;
            for origin in some {
                let (Some(place), Ok(key)) =
                    (ChatRef::restored(&origin.to), origin.key.parse::<SessionKey>())
                else {
                    continue;
                };
                // One that is over by now is found in the outbox.
                if let Some(handle) = self.engine.listen(&key, origin.turn) {
                    let reply_to = origin.to.reply_to.map(insula_channel::MessageId);
                    self.follow_again(agent.clone(), place, reply_to, handle);
                }
            }
        }
    }
}

/// The account of a chat; `None` for one that no version of ours wrote.
fn account_of(lane: &Lane) -> Option<AccountKey> {
    Some((Platform::new(&lane.platform).ok()?, AccountId::new(&*lane.account).ok()?))
}
