//! The way in: opens the daemon's state and hands out handles.

use crate::agent::AgentStore;
use crate::backend::Backend;
use crate::daemon::DaemonStore;
use crate::error::Result;
use crate::feed::Feed;
use crate::key::AuditKey;
use crate::lease::{Claim, LeaseHolder};
use crate::sqlite::SqliteBackend;
use insula_domain::id::AgentId;
use insula_world::World;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Open agent databases when nothing else is said. Three descriptors each, far below the
/// limit a daemon raises at start.
pub const OPEN_MAX_DEFAULT: usize = 256;

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A loss of power: every commit is flushed to the disk (`synchronous=FULL`).
    #[default]
    Power,
    /// A crash of the process, not of the machine (`synchronous=NORMAL`).
    Process,
}

/// How to open a store.
#[derive(Clone)]
pub struct StoreOptions {
    /// The home directory: `insula.db` and `agents/<id>/agent.db` live below it.
    pub home: PathBuf,
    /// What a commit survives.
    pub durability: Durability,
    /// Most agent databases open at once; at least one is always allowed.
    pub open_max: usize,
    /// The key of the audit chains of this home.
    pub audit_key: AuditKey,
}

impl StoreOptions {
    /// The usual options for a home.
    pub fn new(home: impl Into<PathBuf>, audit_key: AuditKey) -> Self {
        Self {
            home: home.into(),
            durability: Durability::default(),
            open_max: OPEN_MAX_DEFAULT,
            audit_key,
        }
    }
}

/// The durable state of one home. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    backend: Arc<dyn Backend>,
    daemon: DaemonStore,
}

impl Store {
    /// Opens the daemon's database, creating it and the home if need be. Agents' databases
    /// open when they are first used.
    pub async fn open(options: StoreOptions, world: World) -> Result<Self> {
        Ok(Self::with_backend(Arc::new(SqliteBackend::open(options, world).await?)))
    }

    /// A store over another backend.
    pub fn with_backend(backend: Arc<dyn Backend>) -> Self {
        let daemon = DaemonStore::new(backend.daemon());
        Self { backend, daemon }
    }

    /// The daemon's own state.
    pub fn daemon(&self) -> &DaemonStore {
        &self.daemon
    }

    /// Takes over: what is written under this is refused by nobody, and what is written under any
    /// earlier claim is, durably. Once per start.
    pub async fn claim(&self, owner: &str) -> Result<LeaseHolder> {
        let epoch = self.backend.claim(owner).await?;
        Ok(LeaseHolder::new(self.clone(), Claim::new(owner, epoch)))
    }

    /// For whoever only looks: it owns nothing, and whatever it would write is refused.
    pub fn unclaimed(&self) -> LeaseHolder {
        LeaseHolder::new(self.clone(), Claim::new("nobody", 0))
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// What commits change, for whoever keeps something of it in memory.
    pub fn changes(&self) -> Feed {
        self.backend.changes()
    }

    /// A handle on one agent's state, bound to it for good. Touches no file.
    pub fn agent(&self, id: &AgentId) -> AgentStore {
        AgentStore::new(self.backend.agent(id))
    }

    /// Closes the databases that nobody used for `idle_for`.
    pub async fn close_idle(&self, idle_for: Duration) {
        self.backend.close_idle(idle_for).await;
    }

    /// How many agent databases are open.
    pub fn open_count(&self) -> usize {
        self.backend.open_count()
    }

    /// Ends this incarnation of an agent: waits for its running work, closes its database,
    /// and makes every handle that exists answer [`StoreError::Retired`] from then on, so none
    /// can create the file again. A later [`Store::agent`] begins a new incarnation.
    ///
    /// [`StoreError::Retired`]: crate::StoreError::Retired
    pub async fn retire(&self, id: &AgentId) {
        self.backend.retire(id).await;
    }

    /// Writes everything back and closes it. Every later call answers
    /// [`StoreError::Closed`](crate::StoreError::Closed).
    pub async fn shutdown(&self) {
        self.backend.shutdown().await;
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}
