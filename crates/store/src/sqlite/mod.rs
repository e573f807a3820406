//! The SQLite backend: a file for the daemon, a file per agent.

mod agent;
mod agent_file;
mod anchors;
mod apply;
mod approvals;
mod audit;
mod audit_reads;
mod boards;
mod born;
mod busy;
mod course;
mod daemon;
mod directory;
pub(crate) mod examine;
mod find;
mod foreign;
mod forget;
pub(crate) mod glance;
mod group;
mod index;
mod ingress;
mod jobs;
mod kept;
mod ledger;
mod lineage;
mod means;
mod memory;
mod messages;
mod open;
mod outbox;
mod places;
mod pool;
mod postings;
mod queue;
mod rank;
mod reindex;
pub(crate) mod renaming;
mod reserve;
mod schema;
mod scopes;
mod sessions;
mod shown;
pub(crate) mod snapshot;
mod spent;
mod sql;
mod steps;
mod together;
mod turn_reads;
mod turns;
mod usage;
mod values;
mod vectors;
mod visits;

#[cfg(test)]
mod audit_tests;
#[cfg(test)]
mod pool_tests;
#[cfg(test)]
mod power_tests;
#[cfg(test)]
mod shown_tests;
#[cfg(test)]
mod snapshot_tests;
#[cfg(test)]
mod tests;

use crate::backend::{AgentBackend, Backend, BoardBackend, DaemonBackend};
use crate::error::Result;
use crate::feed::Feed;
use crate::lease::Claim;
use crate::options::StoreOptions;
use agent::SqliteAgent;
use async_trait::async_trait;
use boards::BoardFiles;
use daemon::DaemonFile;
use insula_domain::BoardName;
use insula_domain::id::AgentId;
use insula_world::World;
use pool::Pool;
use std::sync::Arc;
use std::time::Duration;

/// SQLite files below one home.
pub(crate) struct SqliteBackend {
    pool: Arc<Pool>,
    boards: Arc<BoardFiles>,
}

impl SqliteBackend {
    /// Opens the daemon's database.
    pub(crate) async fn open(options: StoreOptions, world: World) -> Result<Self> {
        let daemon = DaemonFile::open(&options, world.clone(), Feed::default()).await?;
        let boards = BoardFiles::new(options.home.clone(), options.durability, world.clone());
        let pool = Arc::new(Pool::new(options, world, Arc::new(daemon)));
        Ok(Self { pool, boards: Arc::new(boards) })
    }
}

#[async_trait]
impl Backend for SqliteBackend {
    async fn claim(&self, owner: &str) -> Result<u64> {
        self.pool.daemon.claim(owner).await
    }

    async fn release(&self, claim: &Claim) -> Result<()> {
        self.pool.daemon.release(claim).await
    }

    fn changes(&self) -> Feed {
        self.pool.daemon.feed.clone()
    }

    fn daemon(&self) -> Arc<dyn DaemonBackend> {
        self.pool.daemon.clone()
    }

    fn agent(&self, id: &AgentId) -> Arc<dyn AgentBackend> {
        Arc::new(SqliteAgent::new(self.pool.clone(), self.pool.slot(id)))
    }

    fn board(&self, name: &BoardName) -> Arc<dyn BoardBackend> {
        Arc::new(self.boards.board(name))
    }

    async fn close_idle(&self, idle_for: Duration) {
        self.pool.close_idle(idle_for).await;
    }

    fn open_count(&self) -> usize {
        self.pool.open_count()
    }

    async fn retire(&self, id: &AgentId) {
        self.pool.retire(id).await;
    }

    async fn shutdown(&self) {
        self.boards.shutdown().await;
        self.pool.shutdown().await;
        self.pool.daemon.close().await;
    }
}
