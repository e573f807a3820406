//! Opens a daemon: configuration, store, what a crash interrupted, every agent.

use super::apply::{self, Record};
use super::damage::Damage;
use super::{Actor, Daemon, Ledger, Parts, Purpose, State, parse, read_files};
use crate::access::{Access, Acting, Rosters};
use crate::agent_logs::AgentLogs;
use crate::boards::Boards;
use crate::context::Generation;
use crate::environment::Environment;
use crate::error::{RuntimeError, in_general};
use crate::handoffs::Handoffs;
use crate::home::{Home, HomeLock};
use crate::home_chats::HomeChats;
use crate::jobs::Jobs;
use crate::lives::Lives;
use crate::outbox::Outbox;
use crate::registry::{AgentEntry, AgentState, Registry, Snapshot};
use crate::renaming::{self, Renaming};
use crate::secrets::{SecretBook, handed};
use crate::trail::Trail;
use arc_swap::{ArcSwap, ArcSwapOption};
use insula_config::daemon::Durability;
use insula_config::{DaemonConfig, LoadReport, Loaded};
use insula_store::{AuditKey, DaemonCommand, Store, StoreOptions};
use insula_world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::sync::Mutex;

impl Daemon {
    /// Opens a home whose lock the caller holds; the daemon, and what it is made of.
    pub async fn open(
        home: Home,
        lock: HomeLock,
        world: World,
        env: BTreeMap<String, String>,
        purpose: Purpose,
        acting: Arc<dyn Acting>,
    ) -> Result<(Arc<Self>, Parts), RuntimeError> {
        let env = Environment::new(env);
        if purpose != Purpose::Look {
            if let Some(refused) = home.read_by_programs() {
                return Err(refused);
            }
            // What an agent left behind keeps no other from serving.
            for left in home.sweep()? {
                tracing::warn!(error = left.reason(), "what a deletion left is still there");
            }
        }
        if purpose != Purpose::Look && Renaming::is_pending(&home) {
            renaming::carry_out(&home, &world, store_options(&home, &world)?).await;
        }
        let files = read_files(&home, &world).await?;
        let (digest, has_content) = (files.digest(), files.config.has_content());
        let (report, loaded) = parse(files, &world, &env).await?;
        let secrets = Arc::new(SecretBook::new(&home, &world));
        let trail = Trail::new(&world, &secrets);
        if purpose != Purpose::Look {
            // What a killed writer left is sealed; that it could not be removed harms nobody.
            let _ = secrets.vault.sweep().await;
        }
        let own = loaded.as_ref().map(|loaded| handed(&loaded.daemon, &env)).unwrap_or_default();
        secrets.read(own, &world).await;
        if loaded.is_none() && purpose != Purpose::Look {
            let report = secrets.settled(Arc::new(report));
            return Err(RuntimeError::Configuration(Box::new(LoadReport::clone(&report))));
        }
        let settings = loaded.as_ref().map(|loaded| loaded.daemon.clone()).unwrap_or_default();
        let mut options = store_options(&home, &world)?;
        options.open_max = settings.store.open_max;
        options.durability = match settings.store.durability {
            Durability::Power => insula_store::Durability::Power,
            Durability::Process => insula_store::Durability::Process,
        };
        let store = Store::open(options, world.clone()).await?;
        let owner = world.random.stream(&["owner"]).id();
        let owner = match purpose {
            Purpose::Look => store.unclaimed(),
            Purpose::Serve | Purpose::Change => store.claim(&owner).await?,
        };
        let mut records = BTreeMap::new();
        for row in store.daemon().agents().await? {
            let record =
                Record { state: row.state, generation: row.generation, digest: row.digest };
            records.insert(row.id, record);
        }
        let tokens = Arc::new(Self::kept_tokens(&store).await?);
        let sign_ins = Arc::new(Self::kept_sign_ins(&store).await?);
        let homes = Arc::new(HomeChats::load(&store).await?);
        let handoffs = Arc::new(Handoffs::load(&store, &owner).await?);
        let lives = Lives::new(&world, &secrets, &homes);
        let outbox = Arc::new(Outbox::new(&world, &trail));
        let rosters = Arc::<Rosters>::default();
        let registry = Arc::new(Registry::new(before(&settings, loaded.as_ref())));
        let feed = store.changes();
        let damage = Arc::<Damage>::default();
        // Those who follow the registry find the others changed.
        let subscriptions = vec![
            tokens.follow(&feed),
            sign_ins.follow(&feed),
            rosters.follow(&feed),
            outbox.follow(&feed),
            homes.follow(&feed),
            handoffs.follow(&feed),
            registry.follow(&feed),
            damage.follow(&feed),
        ];
        let access =
            Access::new(&world, &registry, (&tokens, &rosters, &handoffs), &trail, &acting);
        let logs = AgentLogs::new(&home, &world, &registry);
        let access = Arc::new(access);
        let jobs = Arc::new(Jobs::new(&world, &owner, &access, &trail));
        let boards = Arc::new(Boards::new(&world, &owner, &registry, &access, &trail));
        let parts = Parts {
            home,
            world,
            env,
            store,
            registry,
            owner,
            tokens,
            sign_ins,
            secrets,
            trail,
            access,
            jobs,
            boards,
            outbox,
            inbound: Arc::default(),
            forgotten: Arc::default(),
            handoffs,
            homes,
            lives,
            logs,
        };
        let daemon = Self::of(State {
            parts: parts.clone(),
            acting,
            damage,
            _subscriptions: subscriptions,
            purpose,
            report: ArcSwap::from_pointee(report),
            refused: ArcSwapOption::empty(),
            reloads_applied: AtomicU64::new(0),
            reloads_refused: AtomicU64::new(0),
            tokens_made: std::sync::Mutex::default(),
            sign_ins_made: AtomicU64::new(0),
            started_with: settings,
            changes: Mutex::new(Ledger {
                records,
                named_in_config: BTreeSet::new(),
                implicit: None,
                files: Some(digest),
                damaged: BTreeSet::new(),
                stuck: BTreeMap::new(),
                anew: None,
            }),
            _lock: lock,
        });
        match loaded {
            Some(loaded) => daemon.move_in(loaded, has_content).await?,
            None => daemon.show_as_failed().await,
        }
        Ok((Arc::new(daemon), parts))
    }

    /// Builds every agent, after what a crash interrupted is finished.
    async fn move_in(&self, mut loaded: Loaded, has_content: bool) -> Result<(), RuntimeError> {
        let mut ledger = self.changes.lock().await;
        if self.purpose != Purpose::Look && self.finish_deletions(&mut ledger).await {
            // Their files were still there when they were read.
            let files = read_files(&self.parts.home, &self.parts.world).await?;
            ledger.files = Some(files.digest());
            let (report, again) = parse(files, &self.parts.world, &self.parts.env).await?;
            let Some(again) = again else {
                return Err(RuntimeError::Configuration(Box::new(report)));
            };
            self.report.store(Arc::new(report));
            loaded = again;
        }
        let mut batch = Vec::new();
        if self.purpose == Purpose::Serve {
            let content = serde_json::json!({ "version": env!("CARGO_PKG_VERSION") });
            let entry = self.parts.trail.entry(&Actor::Daemon, "daemon.started", 0, content);
            batch.push(DaemonCommand::Audit(entry));
        }
        apply::apply(self, &mut ledger, loaded, None, &Actor::Daemon, batch).await?;
        if self.purpose != Purpose::Look {
            self.parts.home.mark_configured(has_content)?;
        }
        Ok(())
    }

    /// Shows the agents that are known from before, none of which can serve: the
    /// configuration does not say any more what they may do.
    async fn show_as_failed(&self) {
        let ledger = self.changes.lock().await;
        let reason: Arc<str> = in_general(&self.report()).into();
        let failed = |record: &Record| AgentEntry {
            generation: Generation(record.generation),
            state: AgentState::Failed(reason.clone()),
        };
        let agents =
            ledger.records.iter().map(|(id, record)| (id.clone(), failed(record))).collect();
        let now = self.snapshot();
        self.parts.registry.swap(Snapshot {
            router: now.router.clone(),
            binding_places: now.binding_places.clone(),
            agents,
            daemon: now.daemon.clone(),
        });
        self.refused.store(Some(Arc::new(reason.to_string())));
    }
}

/// The registry before anybody moved in.
fn before(daemon: &DaemonConfig, loaded: Option<&Loaded>) -> Snapshot {
    Snapshot {
        router: loaded.map(|loaded| loaded.router.clone()).unwrap_or_default(),
        binding_places: loaded
            .map(|loaded| loaded.binding_places.clone())
            .unwrap_or_default()
            .into(),
        agents: BTreeMap::new(),
        daemon: Arc::new(daemon.clone()),
    }
}

/// How the store of a home is opened.
pub(crate) fn store_options(home: &Home, world: &World) -> Result<StoreOptions, RuntimeError> {
    home.refuse_lost_audit_key()?;
    let (key, _) = AuditKey::load_or_create(&home.audit_key(), &world.random)?;
    Ok(StoreOptions::new(home.root(), key))
}
