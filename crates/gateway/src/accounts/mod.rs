//! Our accounts on platforms: each its own task, which connects, fails, waits and recovers by
//! itself. What one of them does changes nothing for another.

#[cfg(test)]
mod accounts_tests;
mod claims;
mod cursor;
mod examine;
mod inbox;
mod keep;
#[cfg(test)]
mod keep_tests;
mod keeper;
mod lanes;
mod pause;
#[cfg(test)]
mod puppets_for_tests;
mod settings;
mod state;

pub use examine::{Misfit, examine, examine_one, misfits};
pub(crate) use inbox::Takes;
pub use state::{AccountState, Connection};

use arc_swap::{ArcSwap, ArcSwapOption};
use claims::Claims;
use cursor::Notes;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use inbox::AccountInbox;
use insula_channel::{
    AccountKey, Accounts, Adapter, AdapterFactory, OnUncertain, Outbound, Pacing, ShowsWork,
    Tenant, WebAnswer, WebRequest,
};
use insula_config::{Account, Uncertain, Working};
use insula_domain::{AccountId, Platform};
use insula_registry::Front;
use lanes::Lanes as ChatLanes;
use settings::{AccountPlan, wanted};
use state::{Counts, Health};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Requests from one platform that are being taken at the same time. Beyond that they are told
/// to come again, which platforms do.
const REQUESTS_AT_ONCE_MAX: usize = 64;

/// Commands that people may type, and what they do.
pub(crate) type Commands = &'static [(&'static str, &'static str)];

/// One account that the configuration names.
pub(crate) struct AccountConnection {
    platform: Platform,
    name: AccountId,
    wanted: AccountPlan,
    health: Health,
    adapter: ArcSwapOption<Arc<dyn Adapter>>,
    notes: Notes,
    lanes: Arc<ChatLanes>,
    requests: Semaphore,
    stop: CancellationToken,
    /// Whether its task has ended, or there never was one.
    ended: CancellationToken,
    /// Whether its present trouble was told.
    troubled: AtomicBool,
    claims: Arc<Claims>,
    /// What people may type, for the menus of platforms.
    commands: Commands,
    front: Front,
}

impl AccountConnection {
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
        self.front.account_became((self.platform, &self.name), Ok(()));
    }

    fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Tells its task to end, and waits for that.
    async fn close(&self) {
        self.stop.cancel();
        self.ended.cancelled().await;
    }
}

/// Our accounts, each connected by a task of its own.
pub struct Connections {
    front: Front,
    factory: Arc<dyn AdapterFactory>,
    connections: ArcSwap<BTreeMap<AccountKey, Arc<AccountConnection>>>,
    /// What was counted, by account: settings may change under the same name.
    counts: Mutex<HashMap<AccountKey, Arc<Counts>>>,
    /// Accounts that were removed or turned off, while their tasks end.
    leaving: Mutex<Vec<Arc<AccountConnection>>>,
    pacing: Arc<Pacing>,
    claims: Arc<Claims>,
}

impl Connections {
    pub fn new(front: Front, factory: Arc<dyn AdapterFactory>) -> Arc<Self> {
        let (connections, counts, leaving) =
            (ArcSwap::default(), Mutex::default(), Mutex::default());
        let (pacing, claims) = Default::default();
        Arc::new(Self { front, factory, connections, counts, leaving, pacing, claims })
    }

    /// Brings the accounts in line with the configuration and the secrets as they are now. An
    /// account whose settings are the same is not touched. Called by one task at a time.
    pub(crate) fn settle(&self, sink: &Arc<dyn Takes>, commands: Commands) {
        let before = self.connections.load_full();
        let configured = self.front.accounts();
        let mut connections: BTreeMap<AccountKey, Arc<AccountConnection>> = BTreeMap::new();
        for account in &configured {
            let key = (account.platform, account.name.clone());
            let mut wanted = wanted(&self.front, account);
            if let Some(other) = connections.values().find(|it| it.wanted.is_same_bot(&wanted)) {
                let (platform, name) = (other.platform, &other.name);
                let why = format!("its token is that of `{platform}.{name}`; each needs its own");
                wanted = AccountPlan::Off(why);
            }
            let connection = match before.get(&key) {
                Some(connection) if connection.wanted == wanted => connection.clone(),
                _ => self.begin(&key, wanted, &before, (sink, commands)),
            };
            connections.insert(key, connection);
        }
        for (key, connection) in before.iter().filter(|(key, _)| !connections.contains_key(*key)) {
            tracing::info!(platform = %key.0, account = %key.1, "account removed");
            let why = "it was removed from the configuration";
            self.front.account_became((key.0, &key.1), Err(why));
            self.dismiss(connection.clone());
        }
        self.connections.store(Arc::new(connections));
    }

    fn begin(
        &self,
        (platform, name): &AccountKey,
        wanted: AccountPlan,
        all_before: &BTreeMap<AccountKey, Arc<AccountConnection>>,
        (sink, commands): (&Arc<dyn Takes>, Commands),
    ) -> Arc<AccountConnection> {
        let before = all_before.get(&(*platform, name.clone()));
        let world = self.front.world();
        let counts = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            counts.entry((*platform, name.clone())).or_default().clone()
        };
        let (state, reason) = match &wanted {
            AccountPlan::On(_) => (Connection::Connecting, None),
            AccountPlan::Off(why) => (Connection::Off, Some(why.clone())),
        };
        let connection = Arc::new(AccountConnection {
            platform: *platform,
            name: name.clone(),
            health: Health::new(world.clock.clone(), counts, state, reason),
            adapter: ArcSwapOption::empty(),
            notes: Notes::new(self.front.account(*platform, name)),
            // Order in a chat holds also across a change of settings.
            lanes: before.map(|connection| connection.lanes.clone()).unwrap_or_default(),
            requests: Semaphore::new(REQUESTS_AT_ONCE_MAX),
            stop: CancellationToken::new(),
            ended: CancellationToken::new(),
            troubled: AtomicBool::new(false),
            claims: self.claims.clone(),
            commands,
            front: self.front.clone(),
            wanted: wanted.clone(),
        });
        match &wanted {
            AccountPlan::Off(reason) => {
                tracing::warn!(%platform, account = %name, reason, "account off");
                self.front.account_became((*platform, name), Err(reason));
                connection.ended.cancel();
                if let Some(before) = before {
                    self.dismiss(before.clone());
                }
            }
            AccountPlan::On(settings) => {
                let (factory, sink) = (self.factory.clone(), sink.clone());
                let keeping = keeper::keep(
                    connection.clone(),
                    settings.clone(),
                    factory,
                    sink,
                    world.clone(),
                );
                let before = self.ending_as(&connection, all_before);
                let ended = connection.ended.clone().drop_guard();
                tokio::spawn(async move {
                    // However it ends, a panic included.
                    let _ended = ended;
                    // Two listeners of one bot would take each other's events.
                    join_all(before.iter().map(|before| before.close())).await;
                    keeping.await;
                });
            }
        }
        connection
    }

    /// Those that end for a new connection, since they were the same account or the same bot: it
    /// begins after them. No other connection of a bot is kept beside it.
    fn ending_as(
        &self,
        connection: &AccountConnection,
        before: &BTreeMap<AccountKey, Arc<AccountConnection>>,
    ) -> Vec<Arc<AccountConnection>> {
        let leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |other: &&Arc<AccountConnection>| {
            let has_name = other.platform == connection.platform && other.name == connection.name;
            !other.has_ended() && (has_name || other.wanted.is_same_bot(&connection.wanted))
        };
        before.values().chain(leaving.iter()).filter(is_same).cloned().collect()
    }

    /// Tells an account that is no longer wanted to end, and waits for nothing.
    fn dismiss(&self, connection: Arc<AccountConnection>) {
        connection.stop.cancel();
        let mut leaving = self.leaving.lock().unwrap_or_else(PoisonError::into_inner);
        leaving.retain(|connection| !connection.has_ended());
        leaving.push(connection);
    }

    /// Ends every account.
    pub(crate) async fn close(&self) {
        let connections = self.connections.swap(Arc::default());
        let leaving =
            std::mem::take(&mut *self.leaving.lock().unwrap_or_else(PoisonError::into_inner));
        join_all(connections.values().chain(&leaving).map(|connection| connection.close())).await;
    }

    /// The adapter of an account, while there is one.
    pub(crate) fn adapter(
        &self,
        platform: Platform,
        account: &AccountId,
    ) -> Option<Arc<dyn Adapter>> {
        self.connections
            .load()
            .get(&(platform, account.clone()))
            .and_then(|connection| connection.adapter())
    }

    /// An account as the configuration has it.
    fn configured(&self, platform: Platform, account: &AccountId) -> Option<Account> {
        let mut configured = self.front.accounts().into_iter();
        configured.find(|it| it.platform == platform && it.name == *account)
    }

    /// How every account stands, by platform and name.
    pub(crate) fn states(&self) -> Vec<AccountState> {
        let connections = self.connections.load();
        let state = |connection: &Arc<AccountConnection>| {
            connection.health.state(connection.platform, &connection.name)
        };
        let mut states: Vec<AccountState> = connections.values().map(state).collect();
        // Between the start and the first look at the configuration nobody keeps them yet.
        let configured = self.front.accounts();
        for account in &configured {
            if !connections.contains_key(&(account.platform, account.name.clone())) {
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
            AccountPlan::On(_) => (Connection::Connecting, None),
            AccountPlan::Off(why) => (Connection::Off, Some(why)),
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
        let connection = self.connections.load().get(&(platform, account)).cloned();
        let Some((connection, adapter)) =
            connection.and_then(|connection| connection.adapter().map(|it| (connection, it)))
        else {
            return WebAnswer::refused();
        };
        let Ok(_place) = connection.requests.try_acquire() else { return WebAnswer::later() };
        let inbox = AccountInbox::new(connection.clone(), sink.clone(), connection.lanes.clone());
        let answered = AssertUnwindSafe(adapter.receive(request, &inbox)).catch_unwind().await;
        let Ok(answer) = answered else {
            connection.health.counts.errors.fetch_add(1, Ordering::Relaxed);
            tracing::error!(%platform, account = %connection.name, "taking a request panicked");
            return WebAnswer::empty(500);
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
        for connection in self.connections.load().values() {
            if let Some(adapter) = connection.adapter() {
                adapter.keep_only(tenants);
            }
        }
    }

    fn on_uncertain(&self, platform: Platform, account: &AccountId) -> OnUncertain {
        match self.configured(platform, account).map(|it| it.uncertain) {
            Some(Uncertain::Hold) => OnUncertain::Hold,
            Some(Uncertain::Resend) | None => OnUncertain::Resend,
        }
    }

    fn shows_work(&self, platform: Platform, account: &AccountId) -> Option<ShowsWork> {
        let working = self.configured(platform, account)?.working?;
        let has = |ways: &[Working]| ways.contains(&working);
        Some(ShowsWork {
            by_typing: has(&[Working::Typing, Working::Both]),
            by_reaction: has(&[Working::Reaction, Working::Both]),
        })
    }
}
