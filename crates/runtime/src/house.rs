//! The house: one home, its store, its registry, and the one lock under which it changes.

use crate::apply::{self, Applied, Record};
use crate::context;
use crate::error::RuntimeError;
use crate::home::{Home, HomeLock};
use crate::registry::{Registry, Snapshot};
use arc_swap::ArcSwap;
use insula_config::authority::Applied as AppliedConfig;
use insula_config::daemon::Durability;
use insula_config::files::FileState;
use insula_config::{Loaded, Report, load};
use insula_domain::AgentId;
use insula_store::{AuditEntry, AuditKey, DaemonCommand, Fence, Store, StoreOptions};
use insula_world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Mutex, MutexGuard};

/// Who changes something, as audit records name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// The daemon itself, at start.
    Daemon,
    /// An edit of a file that was noticed.
    FileWatch,
    /// A SIGHUP.
    Signal,
    /// The local command line, admin of all.
    CommandLine,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Daemon => "daemon",
            Self::FileWatch => "daemon:file-watch",
            Self::Signal => "daemon:signal",
            Self::CommandLine => "cli:local",
        })
    }
}

/// Why a house is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To serve, until told to stop.
    Serve,
    /// For one command, without a daemon.
    Command,
}

/// The agents of one home, and everything that may change them.
pub struct House {
    /// The folder.
    pub home: Home,
    /// The world outside.
    pub world: World,
    /// Durable state.
    pub store: Store,
    /// What holds now.
    pub registry: Registry,
    /// Proof that this process may write.
    pub fence: Arc<Fence>,
    env: BTreeMap<String, String>,
    report: ArcSwap<Report>,
    reloads_applied: AtomicU64,
    reloads_refused: AtomicU64,
    changes: Mutex<Ledger>,
    _lock: HomeLock,
}

/// What is known about every agent across restarts. Whoever holds it may change the house.
pub(crate) struct Ledger {
    pub(crate) records: BTreeMap<AgentId, Record>,
    pub(crate) named_in_config: BTreeSet<AgentId>,
    config_was_empty: bool,
    /// The digest of the files as they were last applied, to every agent.
    files: Option<[u8; 32]>,
}

/// How reloads went since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reloads {
    /// Applied.
    pub applied: u64,
    /// Refused, with everything left as it was.
    pub refused: u64,
}

/// What a reload did.
pub struct Reloaded {
    /// What changed.
    pub applied: Applied,
    /// What is wrong with the configuration, warnings included.
    pub report: Arc<Report>,
}

impl House {
    /// Opens a home: takes its lock, loads its configuration, opens its store, finishes what
    /// a crash interrupted, and builds every agent.
    pub async fn open(
        home: Home,
        lock: HomeLock,
        world: World,
        env: BTreeMap<String, String>,
        purpose: Purpose,
    ) -> Result<Self, RuntimeError> {
        home.sweep()?;
        let files = read_files(&home, &world).await?;
        let (digest, config_was_empty) = (files.digest(), is_empty(&files));
        let (report, loaded) = parse(files, &world, &env).await?;
        let Some(loaded) = loaded else {
            return Err(RuntimeError::Configuration(Box::new(report)));
        };
        let mut options = store_options(&home, &world)?;
        options.open_max = loaded.daemon.store.open_max;
        options.durability = match loaded.daemon.store.durability {
            Durability::Power => insula_store::Durability::Power,
            Durability::Process => insula_store::Durability::Process,
        };
        let store = Store::open(options, world.clone()).await?;
        let owner = world.random.stream(&["owner"]).id();
        let fence = Arc::new(store.daemon().claim(&owner).await?);
        let mut records = BTreeMap::new();
        for row in store.daemon().agents().await? {
            let record =
                Record { state: row.state, generation: row.generation, digest: row.digest };
            records.insert(row.id, record);
        }
        let registry = Registry::new(Snapshot {
            router: loaded.router.clone(),
            binding_places: loaded.binding_places.clone().into(),
            agents: BTreeMap::new(),
            daemon: Arc::new(loaded.daemon.clone()),
        });
        let house = Self {
            home,
            world,
            store,
            registry,
            fence,
            env,
            report: ArcSwap::from_pointee(report),
            reloads_applied: AtomicU64::new(0),
            reloads_refused: AtomicU64::new(0),
            changes: Mutex::new(Ledger {
                records,
                named_in_config: BTreeSet::new(),
                config_was_empty,
                files: Some(digest),
            }),
            _lock: lock,
        };
        let mut ledger = house.changes.lock().await;
        house.finish_deletions(&mut ledger).await?;
        let mut batch = Vec::new();
        if purpose == Purpose::Serve {
            batch.push(DaemonCommand::Audit(house.entry(
                &Actor::Daemon,
                "daemon.started",
                0,
                serde_json::json!({
                    "version": env!("CARGO_PKG_VERSION"),
                }),
            )));
        }
        apply::apply(&house, &mut ledger, loaded, None, &Actor::Daemon, batch).await?;
        drop(ledger);
        Ok(house)
    }

    /// Reads the configuration again and applies it: to every agent, or to `only` one.
    ///
    /// An error in the shared part changes nothing and is returned; what ran still runs.
    pub async fn reload(
        &self,
        only: Option<&AgentId>,
        actor: &Actor,
    ) -> Result<Reloaded, RuntimeError> {
        let result = self.try_reload(only, actor).await;
        let counter = if result.is_ok() { &self.reloads_applied } else { &self.reloads_refused };
        counter.fetch_add(1, Ordering::Relaxed);
        result
    }

    async fn try_reload(
        &self,
        only: Option<&AgentId>,
        actor: &Actor,
    ) -> Result<Reloaded, RuntimeError> {
        let mut ledger = self.changes.lock().await;
        let files = read_files(&self.home, &self.world).await?;
        let (digest, empty) = (files.digest(), is_empty(&files));
        if ledger.files == Some(digest) {
            return Ok(Reloaded { applied: Applied::default(), report: self.report() });
        }
        if empty && !ledger.config_was_empty {
            return Err(emptied());
        }
        let (report, loaded) = parse(files, &self.world, &self.env).await?;
        let Some(loaded) = loaded else {
            return Err(RuntimeError::Configuration(Box::new(report)));
        };
        if let Some(id) = only
            && !loaded.agents.contains_key(id)
        {
            return Err(RuntimeError::NoSuchAgent(id.as_str().into()));
        }
        let applied = apply::apply(self, &mut ledger, loaded, only, actor, Vec::new()).await?;
        // After one agent alone was reloaded, others may still wait for theirs.
        ledger.files = only.is_none().then_some(digest);
        ledger.config_was_empty = empty;
        let report = Arc::new(report);
        self.report.store(report.clone());
        Ok(Reloaded { applied, report })
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
        apply::last_applied(&self.store).await
    }

    /// What was wrong with the configuration when it was last applied.
    pub fn report(&self) -> Arc<Report> {
        self.report.load_full()
    }

    /// What holds now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.registry.snapshot()
    }

    /// Ends: writes the end down and closes the store. `turns` have ended before.
    pub async fn close(&self) -> Result<(), RuntimeError> {
        let _changes = self.changes.lock().await;
        let entry = self.entry(&Actor::Daemon, "daemon.stopped", 0, serde_json::json!({}));
        self.store.daemon().commit(vec![DaemonCommand::Audit(entry)], &self.fence).await?;
        self.store.shutdown().await;
        Ok(())
    }

    pub(crate) async fn change(&self) -> MutexGuard<'_, Ledger> {
        self.changes.lock().await
    }

    /// The configuration as the files are now, with one agent's file as if it stood there.
    pub(crate) async fn rehearse(
        &self,
        ledger: &Ledger,
        id: &AgentId,
        agent_yaml: &str,
    ) -> Result<(Report, Option<Loaded>), RuntimeError> {
        let mut snapshot = read_files(&self.home, &self.world).await?;
        if is_empty(&snapshot) && !ledger.config_was_empty {
            return Err(emptied());
        }
        snapshot.folders.entry(id.to_string()).or_default().config =
            FileState::Text(agent_yaml.into());
        Ok(load(&snapshot, &self.env))
    }

    pub(crate) fn entry(
        &self,
        actor: &Actor,
        kind: &str,
        generation: u64,
        content: serde_json::Value,
    ) -> AuditEntry {
        AuditEntry {
            at: self.world.clock.now(),
            actor: actor.to_string().into(),
            kind: kind.into(),
            generation,
            content: content.to_string(),
        }
    }

    pub(crate) fn surroundings(&self) -> context::Surroundings<'_> {
        context::Surroundings {
            world: &self.world,
            home: self.home.root(),
            fence: &self.fence,
            user_home: self.env.get("HOME").map(String::as_str),
        }
    }
}

async fn read_files(home: &Home, world: &World) -> Result<insula_config::Snapshot, RuntimeError> {
    let root = home.root().to_owned();
    let read = world.storage.run(move || insula_config::Snapshot::read(&root)).await;
    read.map_err(insula_store::StoreError::from)?.map_err(|error| RuntimeError::File {
        path: home.agents(),
        what: format!("can't be read: {error}"),
    })
}

/// An editor that writes in place empties a file before it fills it again.
fn emptied() -> RuntimeError {
    let what = "config.yaml is empty, as while it is being written; nothing was changed (write `{}` into it to mean it)";
    RuntimeError::Invalid(what.to_owned())
}

fn is_empty(files: &insula_config::Snapshot) -> bool {
    matches!(&files.config, FileState::Text(text) if text.trim().is_empty())
}

/// Parsing ten thousand agents takes a moment: not on a thread that serves.
async fn parse(
    files: insula_config::Snapshot,
    world: &World,
    env: &BTreeMap<String, String>,
) -> Result<(Report, Option<Loaded>), RuntimeError> {
    let env = env.clone();
    let loaded = world.storage.run(move || load(&files, &env)).await;
    Ok(loaded.map_err(insula_store::StoreError::from)?)
}

fn store_options(home: &Home, world: &World) -> Result<StoreOptions, RuntimeError> {
    let (key, _) = AuditKey::load_or_create(&home.audit_key(), &world.random)?;
    Ok(StoreOptions::new(home.root(), key))
}

/// What the daemon that ran last had applied, without applying anything now. The lock says
/// that none runs.
pub async fn last_applied(
    home: &Home,
    _: &HomeLock,
    world: World,
) -> Result<AppliedConfig, RuntimeError> {
    let store = Store::open(store_options(home, &world)?, world).await?;
    let applied = apply::last_applied(&store).await;
    store.shutdown().await;
    applied
}
