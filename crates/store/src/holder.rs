//! Whoever may write: a claim on a store, and what is written under it.

use crate::agent::{AgentCommand, Committed};
use crate::audit::Seq;
use crate::daemon::{DaemonCommand, EventKey, Reserved};
use crate::error::Result;
use crate::handle::agent::AgentStore;
use crate::handle::boards::BoardLease;
use crate::handle::daemon::DaemonStore;
use crate::lease::{Claim, Lease, Owned};
use crate::limits;
use crate::store::Store;
use insula_domain::id::{AccountId, AgentId};
use insula_domain::{BoardName, Platform};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

impl Store {
    /// Takes over: what is written under this is refused by nobody, and what is written under any
    /// earlier claim is, durably. Once per start.
    pub async fn claim(&self, owner: &str) -> Result<LeaseHolder> {
        let epoch = self.backend().claim(owner).await?;
        Ok(LeaseHolder::new(self.clone(), Claim::new(owner, epoch)))
    }

    /// For whoever only looks: it owns nothing, and whatever it would write is refused.
    pub fn unclaimed(&self) -> LeaseHolder {
        LeaseHolder::new(self.clone(), Claim::new("nobody", 0))
    }
}

/// Whoever made a claim; makes leases at no cost.
#[derive(Clone)]
pub struct LeaseHolder {
    store: Store,
    pub(crate) claim: Arc<Claim>,
}

impl LeaseHolder {
    pub(crate) fn new(store: Store, claim: Claim) -> Self {
        Self { store, claim: Arc::new(claim) }
    }

    /// The store it owns.
    pub fn store(&self) -> &Store {
        &self.store
    }

    fn lease(&self, what: Owned) -> Lease {
        Lease { what, claim: self.claim.clone() }
    }

    /// The state of one agent, to write to. Touches no file.
    pub fn agent(&self, id: &AgentId) -> AgentLease {
        AgentLease { store: self.store.agent(id), lease: self.lease(Owned::Agent(id.clone())) }
    }

    /// One board, to write to. Touches no file.
    pub fn board(&self, name: &BoardName) -> BoardLease {
        BoardLease::new(self.store.board(name), self.lease(Owned::Board(name.clone())))
    }

    /// What is known of an account, to write to.
    pub fn account(&self, platform: Platform, account: &AccountId) -> AccountLease {
        let lease = self.lease(Owned::Account(platform, account.clone()));
        AccountLease {
            store: self.store.daemon().clone(),
            lease,
            platform,
            account: account.clone(),
        }
    }

    /// The daemon's own state, to write to.
    pub fn daemon(&self) -> DaemonLease {
        DaemonLease { store: self.store.daemon().clone(), lease: self.lease(Owned::Daemon) }
    }

    /// Gives everything up: what is written under any lease of this claim is refused from now on,
    /// also what already waits to be committed.
    pub async fn release(&self) -> Result<()> {
        self.claim.give_up();
        self.store.backend().release(&self.claim).await
    }
}

impl fmt::Debug for LeaseHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Owner({}, {})", self.claim.owner, self.claim.epoch)
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
}

impl Deref for DaemonLease {
    type Target = DaemonStore;

    fn deref(&self) -> &DaemonStore {
        &self.store
    }
}

/// What is known of an account in the hands of its owner: whose each event is, and where listening
/// goes on.
#[derive(Clone)]
pub struct AccountLease {
    store: DaemonStore,
    lease: Lease,
    platform: Platform,
    account: AccountId,
}

impl AccountLease {
    fn key(&self, event: &str) -> EventKey {
        EventKey {
            platform: self.platform.as_str().into(),
            account: self.account.as_str().into(),
            event: event.into(),
        }
    }

    /// Gives an event to an agent, unless it already is somebody's.
    pub async fn reserve(&self, event: &str, agent: &AgentId) -> Result<Reserved> {
        self.store.backend().reserve_event(self.key(event), agent, &self.lease).await
    }

    /// Gives an event to another agent than the one it was reserved for, which has done nothing
    /// with it.
    pub async fn give(&self, event: &str, agent: &AgentId) -> Result<()> {
        self.store.backend().move_event(self.key(event), agent, &self.lease).await
    }

    /// Whose an event is.
    pub async fn owner_of(&self, event: &str) -> Result<Option<AgentId>> {
        self.store.backend().event_owner(self.key(event)).await
    }

    // Neither a platform's nor an account's name has a slash.
    fn cursor_key(&self) -> String {
        format!("account.cursor/{}/{}", self.platform, self.account)
    }

    fn kept_key(&self, name: &str) -> String {
        format!("account.kept/{}/{}/{name}", self.platform, self.account)
    }

    /// What is kept under a name.
    pub async fn kept(&self, name: &str) -> Result<Option<String>> {
        self.store.backend().value(&self.kept_key(name)).await
    }

    /// What is kept under names that begin so, by name.
    pub async fn kept_under(&self, prefix: &str) -> Result<Vec<(String, String)>> {
        let whole = self.kept_key("").len();
        let mut kept = self.store.backend().values_under(&self.kept_key(prefix)).await?;
        kept.iter_mut().for_each(|(key, _)| drop(key.drain(..whole)));
        Ok(kept)
    }

    /// Keeps each value under its name, or nothing any more: all of it or none, durably.
    pub async fn keep(&self, changes: Vec<(Box<str>, Option<String>)>) -> Result<()> {
        let change = |(name, value): (Box<str>, Option<String>)| {
            let key = self.kept_key(&name).into();
            match value {
                Some(value) => DaemonCommand::PutValue { key, value },
                None => DaemonCommand::DropValue { key },
            }
        };
        let batch = changes.into_iter().map(change).collect();
        self.store.backend().commit(batch, &self.lease).await.map(drop)
    }

    /// Where listening goes on, as it was noted last.
    pub async fn cursor(&self) -> Result<Option<String>> {
        self.store.backend().value(&self.cursor_key()).await
    }

    /// Notes where listening goes on, durably: without a first note nobody would know.
    pub async fn keep_cursor(&self, value: String) -> Result<()> {
        let put = DaemonCommand::PutValue { key: self.cursor_key().into(), value };
        self.store.backend().commit(vec![put], &self.lease).await.map(drop)
    }

    /// The same where an older note only brings again what is recognised: the end of the process
    /// does not undo it, a loss of power may, until something later is flushed.
    pub async fn note_cursor(&self, value: String) -> Result<()> {
        self.store.backend().note(&self.cursor_key(), value, &self.lease).await
    }
}
