//! Our accounts on platforms: each its own task, which connects, fails, waits and recovers by
//! itself. What one of them does changes nothing for another.

#[cfg(test)]
mod accounts_tests;
mod cursor;
mod examine;
mod inbox;
mod keeper;
mod lanes;
mod pause;
mod settings;
mod state;

pub use examine::{Misfit, examine, misfits};
pub(crate) use inbox::Takes;
pub use state::{AccountState, Connection};

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use cursor::Notes;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use inbox::AccountInbox;
use insula_channel::{
    AccountKey, Accounts, Adapter, OnUncertain, Outbound, Pacing, Tenant, WebAnswer, WebRequest,
    Workshop,
};
use insula_config::{Account, Uncertain};
use insula_domain::{AccountId, Platform};
use insula_registry::Front;
use lanes::Lanes as ChatLanes;
use settings::{Wanted, wanted};
use state::{Counts, Health};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Requests from one platform that are being taken at the same time. Beyond that they are told
/// to come again, which platforms do.
const REQUESTS_AT_ONCE_MAX: usize = 64;

/// Commands that people may type, and what they do.
pub(crate) type Commands = &'static [(&'static str, &'static str)];

/// One account that the configuration names.
pub(crate) struct Line {
    platform: Platform,
    name: AccountId,
    wanted: Wanted,
    health: Health,
    adapter: ArcSwapOption<Arc<dyn Adapter>>,
    notes: Notes,
    lanes: Arc<ChatLanes>,
    requests: Semaphore,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
    /// Whether its present trouble was told.
    troubled: AtomicBool,
    /// What people may type, for the menus of platforms.
    commands: Commands,
    front: Front,
}

impl Line {
    fn adapter(&self) -> Option<Arc<dyn Adapter>> {
        self.adapter.load_full().map(|adapter| (*adapter).clone())
    }

    /// A reason as it may be shown: what a platform or a library says may quote a token.
    fn told(&self, reason: &str) -> String {
        self.front.redacted(reason)
    }

    /// Whether its trouble is new, and from now on is not.
    fn tell_failure(&self) -> bool {
        !self.troubled.swap(true, Ordering::Relaxed)
    }

    fn log_connected(&self) {
        self.troubled.store(false, Ordering::Relaxed);
        tracing::info!(platform = %self.platform, account = %self.name, "account connected");
    }

    fn has_ended(&self) -> bool {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        task.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Tells its task to end, and waits for that.
    async fn close(&self) {
        self.stop.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            // A task that panicked has ended too.
            let _ = task.await;
        }
    }
}

/// Our accounts, each connected by a task of its own.
pub struct Connections {
    front: Front,
    workshop: Arc<dyn Workshop>,
    lines: ArcSwap<BTreeMap<AccountKey, Arc<Line>>>,
    /// What was counted, by account: settings may change under the same name.
    counts: Mutex<HashMap<AccountKey, Arc<Counts>>>,
    /// Accounts that were removed or turned off, while their tasks end.
    leaving: Mutex<Vec<Arc<Line>>>,
    pacing: Arc<Pacing>,
}

impl Connections {
    pub fn new(front: Front, workshop: Arc<dyn Workshop>) -> Arc<Self> {
        let (lines, counts, leaving) = (ArcSwap::default(), Mutex::default(), Mutex::default());
        Arc::new(Self { front, workshop, lines, counts, leaving, pacing: Arc::default() })
    }

    /// Brings the accounts in line with the configuration and the secrets as they are now. An
    /// account whose settings are the same is not touched. Called by one task at a time.
    pub(crate) fn settle(&self, sink: &Arc<dyn Takes>, commands: Commands) {
        let before = self.lines.load_full();
        let configured = self.front.accounts();
        let mut lines: BTreeMap<AccountKey, Arc<Line>> = BTreeMap::new();
        for account in &configured {
            let key = (account.platform, account.name.clone());
            let mut wanted = wanted(&self.front, account);
            if let Some(other) = lines.values().find(|it| it.wanted.is_same_bot(&wanted)) {
                let (platform, name) = (other.platform, &other.name);
                let why = format!("its token is that of `{platform}.{name}`; each needs its own");
                wanted = Wanted::Off(why);
            }
            let line = match before.get(&key) {
                Some(line) if line.wanted == wanted => line.clone(),
                other => self.begin(&key, wanted, other.cloned(), (sink, commands)),
            };
            lines.insert(key, line);
        }
        for (key, line) in before.iter().filter(|(key, _)| !lines.contains_key(*key)) {
            tracing::info!(platform = %key.0, account = %key.1, "account removed");
            self.dismiss(line.clone());
        }
        self.lines.store(Arc::new(lines));
    }

    fn begin(
        &self,
        (platform, name): &AccountKey,
        wanted: Wanted,
        before: Option<Arc<Line>>,
        (sink, commands): (&Arc<dyn Takes>, Commands),
    ) -> Arc<Line> {
        let world = self.front.world();
        let counts = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            counts.entry((*platform, name.clone())).or_default().clone()
        };
        let (state, reason) = match &wanted {
            Wanted::On(_) => (Connection::Connecting, None),
            Wanted::Off(why) => (Connection::Off, Some(why.clone())),
        };
        let line = Arc::new(Line {
            platform: *platform,
            name: name.clone(),
            health: Health::new(world.clock.clone(), counts, state, reason),
            adapter: ArcSwapOption::empty(),
            notes: Notes::new(self.front.account(*platform, name)),
            // Order in a chat holds also across a change of settings.
            lanes: before.as_ref().map(|line| line.lanes.clone()).unwrap_or_default(),
            requests: Semaphore::new(REQUESTS_AT_ONCE_MAX),
            stop: CancellationToken::new(),
            task: Mutex::default(),
            troubled: AtomicBool::new(false),
            commands,
            front: self.front.clone(),
            wanted: wanted.clone(),
        });
        match &wanted {
            Wanted::Off(reason) => {
                tracing::warn!(%platform, account = %name, reason, "account off");
                if let Some(before) = before {
                    self.dismiss(before);
                }
            }
            Wanted::On(settings) => {
                let (workshop, sink) = (self.workshop.clone(), sink.clone());
                let keeping =
                    keeper::keep(line.clone(), settings.clone(), workshop, sink, world.clone());
                let task = tokio::spawn(async move {
                    // Two listeners of one account would take each other's events.
                    if let Some(before) = before {
                        before.close().await;
                    }
                    keeping.await;
                });
                *line.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
            }
        }
        line
    }

    /// Tells an account that is no longer wanted to end, and waits for nothing.
    fn dismiss(&self, line: Arc<Line>) {
        line.stop.cancel();
        let mut leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        leaving.retain(|line| !line.has_ended());
        leaving.push(line);
    }

    /// Ends every account.
    pub(crate) async fn close(&self) {
        let lines = self.lines.swap(Arc::default());
        let leaving =
            std::mem::take(&mut *self.leaving.lock().unwrap_or_else(PoisonError::into_inner));
        join_all(lines.values().chain(&leaving).map(|line| line.close())).await;
    }

    /// The adapter of an account, while there is one.
    pub(crate) fn adapter(
        &self,
        platform: Platform,
        account: &AccountId,
    ) -> Option<Arc<dyn Adapter>> {
        self.lines.load().get(&(platform, account.clone())).and_then(|line| line.adapter())
    }

    /// How every account stands, by platform and name.
    pub(crate) fn states(&self) -> Vec<AccountState> {
        let lines = self.lines.load();
        let state = |line: &Arc<Line>| line.health.state(line.platform, &line.name);
        let mut states: Vec<AccountState> = lines.values().map(state).collect();
        // Between the start and the first look at the configuration nobody keeps them yet.
        let configured = self.front.accounts();
        for account in &configured {
            if !lines.contains_key(&(account.platform, account.name.clone())) {
                states.push(self.unkept(account));
            }
        }
        states.sort_by(|one, other| {
            (one.platform.as_str(), &one.account).cmp(&(other.platform.as_str(), &other.account))
        });
        states
    }

    fn unkept(&self, account: &Account) -> AccountState {
        let (state, reason) = match wanted(&self.front, account) {
            Wanted::On(_) => (Connection::Connecting, None),
            Wanted::Off(why) => (Connection::Off, Some(why)),
        };
        AccountState {
            platform: account.platform,
            account: account.name.clone(),
            state,
            reason,
            since: self.front.world().clock.now(),
            events: 0,
            errors: 0,
        }
    }

    /// Hands a request that reached the daemon's listener to the account it is for. Whether
    /// there is such an account can't be told from the answer.
    pub(crate) async fn receive(
        &self,
        (platform, account): AccountKey,
        request: WebRequest,
        sink: &Arc<dyn Takes>,
    ) -> WebAnswer {
        let line = self.lines.load().get(&(platform, account)).cloned();
        let Some((line, adapter)) = line.and_then(|line| line.adapter().map(|it| (line, it)))
        else {
            return WebAnswer::refused();
        };
        let Ok(_place) = line.requests.try_acquire() else { return WebAnswer::later() };
        let inbox = AccountInbox::new(line.clone(), sink.clone(), line.lanes.clone());
        let answered = AssertUnwindSafe(adapter.receive(request, &inbox)).catch_unwind().await;
        let Ok(answer) = answered else {
            line.health.counts.errors.fetch_add(1, Ordering::Relaxed);
            tracing::error!(%platform, account = %line.name, "taking a request panicked");
            return WebAnswer { status: 500, body: Bytes::new() };
        };
        match answer.status {
            401 | 403 | 404 => WebAnswer::refused(),
            _ => answer,
        }
    }
}

impl Accounts for Connections {
    fn outbound(&self, platform: Platform, account: &AccountId) -> Option<Arc<dyn Outbound>> {
        self.adapter(platform, account).map(|adapter| adapter as Arc<dyn Outbound>)
    }

    fn pacing(&self) -> &Arc<Pacing> {
        &self.pacing
    }

    fn keep_only(&self, tenants: &HashSet<Tenant>) {
        for line in self.lines.load().values() {
            if let Some(adapter) = line.adapter() {
                adapter.keep_only(tenants);
            }
        }
    }

    fn on_uncertain(&self, platform: Platform, account: &AccountId) -> OnUncertain {
        let configured = self.front.accounts();
        let accounts = configured.iter();
        let mut named = accounts.filter(|it| it.platform == platform && it.name == *account);
        match named.next().map(|it| it.uncertain) {
            Some(Uncertain::Hold) => OnUncertain::Hold,
            Some(Uncertain::Resend) | None => OnUncertain::Resend,
        }
    }
}
