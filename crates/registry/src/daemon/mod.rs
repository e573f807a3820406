//! The daemon state: one home, its store, its registry, and the one lock under which it changes.

mod apply;
mod damage;
pub mod files;
mod homes;
pub mod lifecycle;
mod opening;
mod secrets;
mod sign_ins;
mod tokens;

use crate::access::{Access, Acting, InboundCounts};
use crate::agent_logs::AgentLogs;
use crate::boards::Boards;
use crate::context;
use crate::environment::Environment;
use crate::error::RuntimeError;
use crate::forgotten::Forgotten;
use crate::handoffs::Handoffs;
use crate::home::{Home, HomeLock};
use crate::home_chats::HomeChats;
use crate::jobs::Jobs;
use crate::lives::Lives;
use crate::outbox::Outbox;
use crate::registry::{Registry, Snapshot};
use crate::secrets::SecretBook;
use crate::sign_ins::SignIns;
use crate::tokens::Tokens;
use crate::trail::Trail;
use crate::whole::Whole;
use apply::Record;
use arc_swap::{ArcSwap, ArcSwapOption};
use damage::Damage;
use insula_config::authority::Applied as AppliedConfig;
use insula_config::files::FileState;
use insula_config::{DaemonConfig, LoadReport, Loaded, load};
use insula_domain::AgentId;
use insula_store::{DaemonCommand, LeaseHolder, Store, Subscription};
use insula_world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Mutex, MutexGuard};

pub use apply::Applied;
pub use insula_domain::Actor;
pub use sign_ins::NewSignIn;
pub use tokens::NewToken;

/// What ends the turns of an agent.
pub type Ending<'e> = Pin<Box<dyn Future<Output = ()> + Send + 'e>>;

/// Why a daemon is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To serve, until told to stop.
    Serve,
    /// To change something, without a daemon.
    Change,
    /// To look, without a daemon: nothing is applied or written, and a configuration that
    /// can't be used is no obstacle to looking at the rest.
    Look,
}

/// The agents of one home, and everything that may change them.
pub struct Daemon(Whole<State>);

impl Daemon {
    pub(crate) fn of(state: State) -> Self {
        Self(Whole::new(state))
    }
}

impl Deref for Daemon {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

/// What a daemon is made of. Whoever opens one hands each room what it works with, and no room
/// can reach the rest.
#[derive(Clone)]
pub struct Parts {
    pub home: Home,
    /// The world outside.
    pub world: World,
    pub env: Environment,
    /// Durable state.
    pub store: Store,
    /// What holds now.
    pub registry: Arc<Registry>,
    /// What this process may write to.
    pub owner: LeaseHolder,
    /// The tokens of the API.
    pub tokens: Arc<Tokens>,
    /// Who signed in with a browser.
    pub sign_ins: Arc<SignIns>,
    /// The secrets, and what keeps them out of sight.
    pub secrets: Arc<SecretBook>,
    /// Makes records for the audit trails.
    pub trail: Trail,
    /// Who may talk to agents.
    pub access: Arc<Access>,
    /// Which agents have something to deliver.
    pub outbox: Arc<Outbox>,
    /// How many events came for agents, and what became of them.
    pub inbound: Arc<InboundCounts>,
    /// How often agents had to forget a conversation.
    pub forgotten: Arc<Forgotten>,
    /// What agents do by the clock.
    pub jobs: Arc<Jobs>,
    /// Boards that agents share.
    pub boards: Arc<Boards>,
    /// Which conversations were handed to other agents.
    pub handoffs: Arc<Handoffs>,
    /// Where agents tell what becomes of them.
    pub homes: Arc<HomeChats>,
    /// Who is told what becomes of agents.
    pub lives: Arc<Lives>,
    /// What happened to each agent, in its own files.
    pub logs: Arc<AgentLogs>,
}

/// What changing agents takes.
pub struct State {
    pub(crate) parts: Parts,
    /// Who acts for agents.
    pub(crate) acting: Arc<dyn Acting>,
    /// Whose database may be damaged.
    pub(crate) damage: Arc<Damage>,
    /// What keeps the parts up with the store.
    pub(crate) _subscriptions: Vec<Subscription>,
    pub(crate) purpose: Purpose,
    pub(crate) report: ArcSwap<LoadReport>,
    pub(crate) refused: ArcSwapOption<String>,
    pub(crate) reloads_applied: AtomicU64,
    pub(crate) reloads_refused: AtomicU64,
    /// How many tokens were made for the same agents: what is made for others does not show in
    /// their ids.
    pub(crate) tokens_made: std::sync::Mutex<BTreeMap<BTreeSet<AgentId>, u64>>,
    /// How many sign-ins were made, so that no two of one moment are the same.
    pub(crate) sign_ins_made: AtomicU64,
    /// What can't change without a restart.
    pub(crate) started_with: DaemonConfig,
    pub(crate) changes: Mutex<Ledger>,
    pub(crate) _lock: HomeLock,
}

/// What is known about every agent across restarts. Whoever holds it may change the daemon.
pub(crate) struct Ledger {
    pub(crate) records: BTreeMap<AgentId, Record>,
    pub(crate) named_in_config: BTreeSet<AgentId>,
    /// The agent that is there because nobody wrote any.
    pub(crate) implicit: Option<AgentId>,
    /// The digest of the files as they were last applied, to every agent.
    pub(crate) files: Option<[u8; 32]>,
    /// Agents that failed since their database is damaged, when they were looked at last.
    pub(crate) damaged: BTreeSet<AgentId>,
    /// Agents whose deletion did not come to its end, and why.
    pub(crate) stuck: BTreeMap<AgentId, Arc<str>>,
    /// The agent that gets a new generation whether or not its files differ.
    pub(crate) anew: Option<AgentId>,
}

/// Nobody else changes agents or their files while this is there.
pub struct ChangeGuard<'h> {
    _changes: MutexGuard<'h, Ledger>,
}

/// How reloads went since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reloads {
    pub applied: u64,
    /// Refused, with everything left as it was.
    pub refused: u64,
}

/// What a reload did.
pub struct Reloaded {
    /// What changed.
    pub applied: Applied,
    /// Settings of the daemon that changed and wait for a restart.
    pub restart: Vec<&'static str>,
    /// What is wrong with the configuration, warnings included.
    pub report: Arc<LoadReport>,
}

impl Daemon {
    /// Reads the configuration again and applies it: to every agent, or to `only` one.
    ///
    /// An error in the shared part changes nothing and is returned; what ran still runs.
    pub async fn reload(
        &self,
        only: Option<&AgentId>,
        actor: &Actor,
    ) -> Result<Reloaded, RuntimeError> {
        let result = self.try_reload(only, None, actor).await;
        self.note_reload(&result, actor);
        result
    }

    /// Begins an agent anew: a new generation from its files as they are now, and new programs
    /// and servers. `ending` ends its turns; it is waited for once nothing can refuse any more.
    pub async fn restart(
        &self,
        id: &AgentId,
        ending: Ending<'_>,
        actor: &Actor,
    ) -> Result<Reloaded, RuntimeError> {
        let result = self.try_reload(Some(id), Some(ending), actor).await;
        self.note_reload(&result, actor);
        result
    }

    fn note_reload(&self, result: &Result<Reloaded, RuntimeError>, actor: &Actor) {
        match result {
            Ok(_) => {
                self.reloads_applied.fetch_add(1, Ordering::Relaxed);
                self.refused.store(None);
            }
            Err(RuntimeError::NoSuchAgent(_)) => {}
            Err(error) => {
                self.reloads_refused.fetch_add(1, Ordering::Relaxed);
                self.refused.store(Some(Arc::new(error.reason())));
                tracing::error!(%actor, error = error.reason(), "configuration not applied; what ran before still runs");
            }
        }
    }

    async fn try_reload(
        &self,
        only: Option<&AgentId>,
        anew: Option<Ending<'_>>,
        actor: &Actor,
    ) -> Result<Reloaded, RuntimeError> {
        let mut ledger = self.changes.lock().await;
        self.reload_held(&mut ledger, only, anew, actor).await
    }

    /// The same for whoever holds what changes agents.
    async fn reload_held(
        &self,
        ledger: &mut Ledger,
        only: Option<&AgentId>,
        anew: Option<Ending<'_>>,
        actor: &Actor,
    ) -> Result<Reloaded, RuntimeError> {
        if self.finish_deletions(ledger).await {
            ledger.files = None;
        }
        let files = read_files(&self.parts.home, &self.parts.world).await?;
        let (digest, has_content) = (files.digest(), files.config.has_content());
        if ledger.files == Some(digest) && anew.is_none() && ledger.damaged.is_empty() {
            if let Some(id) = only
                && !self.snapshot().agents.contains_key(id)
            {
                return Err(RuntimeError::NoSuchAgent(id.as_str().into()));
            }
            self.follow_secrets().await;
            let restart = restart_needed(&self.started_with, &self.snapshot().daemon);
            return Ok(Reloaded { applied: Applied::default(), restart, report: self.report() });
        }
        let (report, loaded) = parse(files, &self.parts.world, &self.parts.env).await?;
        let Some(loaded) = loaded else {
            let report = self.parts.secrets.settled(Arc::new(report));
            return Err(RuntimeError::Configuration(Box::new(LoadReport::clone(&report))));
        };
        if let Some(id) = only
            && !loaded.agents.contains_key(id)
        {
            return Err(RuntimeError::NoSuchAgent(id.as_str().into()));
        }
        let restart = restart_needed(&self.started_with, &loaded.daemon);
        if let (Some(ending), Some(id)) = (anew, only) {
            self.may_restart(id)?;
            ending.await;
            ledger.anew = Some(id.clone());
        }
        let applied = apply::apply(self, ledger, loaded, only, actor, Vec::new()).await;
        let anew = ledger.anew.take();
        let applied = applied?;
        if let Some(id) = &anew {
            self.acting.restarted(id);
        }
        // After one agent alone was reloaded, others may still wait for theirs.
        ledger.files = match ledger.files == Some(digest) {
            true => Some(digest),
            false => only.is_none().then_some(digest),
        };
        self.parts.home.mark_configured(has_content)?;
        if !restart.is_empty() {
            tracing::warn!(
                settings = restart.join(", "),
                "changed settings take effect after a restart"
            );
        }
        self.report.store(Arc::new(report));
        self.follow_secrets().await;
        self.log_secrets();
        Ok(Reloaded { applied, restart, report: self.report() })
    }

    /// Why the files as they are now were not applied; `None` when they were.
    pub fn refused(&self) -> Option<Arc<String>> {
        self.refused.load_full()
    }

    /// How reloads went since the start.
    pub fn reloads(&self) -> Reloads {
        Reloads {
            applied: self.reloads_applied.load(Ordering::Relaxed),
            refused: self.reloads_refused.load(Ordering::Relaxed),
        }
    }

    /// What is applied now: what an edit is compared with.
    pub async fn applied(&self) -> Result<AppliedConfig, RuntimeError> {
        apply::last_applied(&self.parts.store).await
    }

    /// What was wrong with the configuration when it was last applied.
    pub fn report(&self) -> Arc<LoadReport> {
        self.parts.secrets.settled(self.report.load_full())
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.parts.registry.snapshot()
    }

    /// Ends: writes the end down and closes the store. `turns` have ended before.
    pub async fn close(&self) -> Result<(), RuntimeError> {
        self.acting.end_all();
        let _changes = self.changes.lock().await;
        let entry =
            self.parts.trail.entry(&Actor::Daemon, "daemon.stopped", 0, serde_json::json!({}));
        self.parts.owner.daemon().commit(vec![DaemonCommand::Audit(entry)]).await?;
        self.parts.store.shutdown().await;
        Ok(())
    }

    pub(crate) async fn change(&self) -> MutexGuard<'_, Ledger> {
        self.changes.lock().await
    }

    /// Keeps everybody else from changing agents or their files until the result is dropped.
    pub async fn hold_changes(&self) -> ChangeGuard<'_> {
        ChangeGuard { _changes: self.change().await }
    }

    /// The configuration as the files are now, with one agent's file as if it stood there.
    pub(crate) async fn rehearse(
        &self,
        id: &AgentId,
        agent_yaml: &str,
    ) -> Result<(LoadReport, Option<Loaded>), RuntimeError> {
        let mut snapshot = read_files(&self.parts.home, &self.parts.world).await?;
        snapshot.folders.entry(id.to_string()).or_default().config =
            FileState::Text(agent_yaml.into());
        Ok(load(&snapshot, &self.parts.env))
    }

    pub(crate) fn surroundings(&self) -> context::Surroundings<'_> {
        context::Surroundings {
            world: &self.parts.world,
            home: self.parts.home.root(),
            user_home: self.parts.env.user_home(),
            secrets: &self.parts.secrets,
        }
    }
}

pub(crate) async fn read_files(
    home: &Home,
    world: &World,
) -> Result<insula_config::FilesSnapshot, RuntimeError> {
    let root = home.root().to_owned();
    let read = world.storage.run(move || insula_config::FilesSnapshot::read(&root)).await;
    read.map_err(insula_store::StoreError::from)?.map_err(|error| RuntimeError::File {
        path: home.agents(),
        what: format!("can't be read: {error}"),
    })
}

/// The settings of the daemon that differ and are read at its start only.
fn restart_needed(before: &DaemonConfig, after: &DaemonConfig) -> Vec<&'static str> {
    let settings = [
        ("listen", before.listen != after.listen),
        ("logging", before.logging != after.logging),
        ("store", before.store != after.store),
    ];
    settings.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// Parsing ten thousand agents takes a moment: not on a thread that serves.
pub(crate) async fn parse(
    files: insula_config::FilesSnapshot,
    world: &World,
    env: &BTreeMap<String, String>,
) -> Result<(LoadReport, Option<Loaded>), RuntimeError> {
    let env = env.clone();
    let loaded = world.storage.run(move || load(&files, &env)).await;
    Ok(loaded.map_err(insula_store::StoreError::from)?)
}

/// What the daemon that ran last had applied, without applying anything now. The lock says
/// that none runs.
pub async fn last_applied(
    home: &Home,
    _: &HomeLock,
    world: World,
) -> Result<AppliedConfig, RuntimeError> {
    let store = Store::open(opening::store_options(home, &world)?, world).await?;
    let applied = apply::last_applied(&store).await;
    store.shutdown().await;
    applied
}
