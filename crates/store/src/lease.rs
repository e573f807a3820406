//! Who may write: whoever holds the lease, and nobody before them.

use crate::agent::{AgentCommand, AgentStore, Committed};
use crate::audit::Seq;
use crate::daemon::{DaemonCommand, DaemonStore, EventKey, Reserved};
use crate::error::Result;
use crate::limits;
use crate::store::Store;
use insula_domain::id::AgentId;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// What can be owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owned {
    /// What is nobody's in particular: who there is, tokens, events, cursors.
    Daemon,
    /// All state of an agent.
    Agent(AgentId),
}

/// Proof that something is owned: by whom, and since which claim. A database that has seen a
/// higher epoch refuses what is written under a lower one, so an owner that was replaced but still
/// runs can't write. Only a claim makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What is owned.
    pub(crate) what: Owned,
    /// Who owns it, for people to read: a host and process, say.
    pub(crate) owner: Arc<str>,
    /// Which claim this is: each is higher than all before it.
    pub(crate) epoch: u64,
}

impl Lease {
    /// What is owned.
    pub fn what(&self) -> &Owned {
        &self.what
    }

    /// Which claim this is.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// A claim on everything in a store, from which leases are made at no cost.
#[derive(Clone)]
pub struct Owner {
    pub(crate) store: Store,
    pub(crate) name: Arc<str>,
    pub(crate) epoch: u64,
}

impl Owner {
    /// The store it owns.
    pub fn store(&self) -> &Store {
        &self.store
    }

    fn lease(&self, what: Owned) -> Lease {
        Lease { what, owner: self.name.clone(), epoch: self.epoch }
    }

    /// The state of one agent, to write to. Touches no file.
    pub fn agent(&self, id: &AgentId) -> AgentLease {
        AgentLease { store: self.store.agent(id), lease: self.lease(Owned::Agent(id.clone())) }
    }

    /// The daemon's own state, to write to.
    pub fn daemon(&self) -> DaemonLease {
        DaemonLease { store: self.store.daemon().clone(), lease: self.lease(Owned::Daemon) }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({}, {})", self.name, self.epoch)
    }
}

/// The state of an agent in the hands of its owner: all that a reader has, and writing.
#[derive(Clone)]
pub struct AgentLease {
    store: AgentStore,
    lease: Lease,
}

impl AgentLease {
    /// Applies all of `batch`, in order, or none of it. When this returns, it is durable.
    /// Batches of one agent are applied in the order in which they came.
    pub async fn commit(&self, batch: Vec<AgentCommand>) -> Result<Committed> {
        limits::check(&batch)?;
        self.store.backend().commit(batch, &self.lease).await
    }

    /// The lease.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }
}

impl Deref for AgentLease {
    type Target = AgentStore;

    fn deref(&self) -> &AgentStore {
        &self.store
    }
}

/// The daemon's state in the hands of its owner.
#[derive(Clone)]
pub struct DaemonLease {
    store: DaemonStore,
    lease: Lease,
}

impl DaemonLease {
    /// Applies all of `batch`, in order, or none of it. Returns the positions of the records
    /// it appended to the daemon's own chain.
    pub async fn commit(&self, batch: Vec<DaemonCommand>) -> Result<Vec<Seq>> {
        for command in &batch {
            if let DaemonCommand::Audit(entry) | DaemonCommand::QueueAudit(_, entry) = command {
                limits::audit(entry)?;
            }
        }
        self.store.backend().commit(batch, &self.lease).await
    }

    /// Sets a named value that can be found out again: the end of the process does not undo it,
    /// a loss of power may, until something later is flushed.
    pub async fn note(&self, key: &str, value: String) -> Result<()> {
        self.store.backend().note(key, value, &self.lease).await
    }

    /// Gives an event to an agent, unless it already is somebody's.
    pub async fn reserve_event(&self, key: EventKey, agent: &AgentId) -> Result<Reserved> {
        self.store.backend().reserve_event(key, agent, &self.lease).await
    }

    /// Gives an event to another agent than the one it was reserved for, which has done nothing
    /// with it.
    pub async fn move_event(&self, key: EventKey, agent: &AgentId) -> Result<()> {
        self.store.backend().move_event(key, agent, &self.lease).await
    }
}

impl Deref for DaemonLease {
    type Target = DaemonStore;

    fn deref(&self) -> &DaemonStore {
        &self.store
    }
}
