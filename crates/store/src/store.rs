//! The way in: opens the daemon's state and hands out handles.

use crate::backend::Backend;
use crate::error::Result;
use crate::feed::Feed;
use crate::handle::agent::AgentStore;
use crate::handle::boards::BoardStore;
use crate::handle::daemon::DaemonStore;
use crate::options::StoreOptions;
use crate::sqlite::SqliteBackend;
use insula_domain::BoardName;
use insula_domain::id::AgentId;
use insula_world::World;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

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

    /// A handle on one board, bound to it for good. Touches no file.
    pub fn board(&self, name: &BoardName) -> BoardStore {
        BoardStore::new(self.backend.board(name))
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
