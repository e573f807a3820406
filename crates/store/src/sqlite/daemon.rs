//! The daemon's database, `insula.db`: always open, one piece of work at a time.

mod backend;
mod commit;

use super::anchors::{self, ToAnchor};
use super::born::{self, Born};
use super::open::{self, Absent};
use super::reserve::Reserve;
use super::sql::Db;
use super::together::{DaemonCommitQueue, Did, Small};
use super::{audit, busy, queue, schema};
use crate::chain::{Anchor, Anchored, Chain, Head, Link};
use crate::error::{Result, StoreError};
use crate::feed::Feed;
use crate::key::AuditKey;
use crate::lease::{Claim, Lease};
use crate::options::{Durability, StoreOptions};
use crate::usage::Totals;
use insula_domain::id::AgentId;
use insula_world::{Random, StorageStopped, Timestamp, World};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The daemon's database and what is remembered of it between calls.
pub(crate) struct DaemonFile {
    world: World,
    file: Arc<tokio::sync::Mutex<Option<Db>>>,
    state: Arc<State>,
    pub(crate) feed: Feed,
}

struct State {
    key: AuditKey,
    chain: Chain,
    random: Random,
    durability: Durability,
    anchor_file: PathBuf,
    /// What is known of the daemon's chain. Changed only while the database is held.
    own: Mutex<Own>,
    /// The agents for whom audit records wait. Changed only while the database is held.
    queued: Mutex<BTreeSet<AgentId>>,
    /// The agents that are marked as busy. Changed only while the database is held.
    busy: Mutex<BTreeSet<AgentId>>,
    /// The names of agents' chains that are not their ids. Changed only while the database is held.
    born: Mutex<Born>,
    /// Heads to anchor: whoever writes next writes them all.
    heads: Mutex<BTreeMap<AgentId, ToAnchor>>,
    /// Small changes: whoever gets the file next makes them all.
    queue: DaemonCommitQueue,
    /// Space for what an operator does.
    reserve: Reserve,
}

/// What is known of the daemon's own chain.
struct Own {
    /// How it stood to its anchor when the file was opened, and stands since.
    link: Link,
    /// The anchor, as it was last written; `None` where it can't be trusted.
    anchored: Option<Anchored>,
    /// Commits with records since the last that was flushed.
    unflushed: u32,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these hold is valid after every single statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DaemonFile {
    /// Opens the database, creating it if need be.
    pub(crate) async fn open(options: &StoreOptions, world: World, feed: Feed) -> Result<Self> {
        let StoreOptions { home, durability, audit_key: key, .. } = options.clone();
        let random = world.random.clone();
        let path = home.join("insula.db");
        let (db, state) = world
            .storage
            .run(move || {
                let reserve = Reserve::of(&home);
                let open = || open::open(&path, &schema::DAEMON, durability, Absent::Create);
                let db = reserve.with(open)?.ok_or(StoreError::Closed)?;
                let chain = Chain::of_daemon(&key);
                let anchor_file = home.join("audit.anchor");
                let mut anchor = anchors::read_file(&anchor_file, &chain)?;
                if matches!(anchor, Anchor::Bad(_)) && db.read(audit::head)? == Head::START {
                    let start = Anchored { written: Head::START, flushed: Head::START };
                    anchors::write_file(&anchor_file, &chain, start)?;
                    anchor = Anchor::At(start);
                }
                let link = db.read(|sql| audit::reaches(sql, anchor))?;
                audit::warn_of(link, &path);
                let anchored = match anchor {
                    Anchor::At(anchored) => Some(anchored),
                    Anchor::None | Anchor::Bad(_) => None,
                };
                let own = Mutex::new(Own { link, anchored, unflushed: 0 });
                let queued = Mutex::new(db.read(queue::agents)?);
                let busy = Mutex::new(db.read(busy::agents)?);
                let born = Mutex::new(db.read(born::all)?);
                let state = State {
                    key,
                    chain,
                    random,
                    durability,
                    anchor_file,
                    own,
                    queued,
                    busy,
                    born,
                    heads: Mutex::default(),
                    queue: DaemonCommitQueue::default(),
                    reserve,
                };
                Ok::<_, StoreError>((db, state))
            })
            .await??;
        let file = Arc::new(tokio::sync::Mutex::new(Some(db)));
        Ok(Self { world, file, state: Arc::new(state), feed })
    }

    /// Runs work on the database, after the work before it and to its end.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Db, &State) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let mut held = self.file.clone().lock_owned().await;
        let state = self.state.clone();
        let job = move || work(held.as_mut().ok_or(StoreError::Closed)?, &state);
        self.world.storage.run(job).await?
    }

    /// Makes a small change, in one commit with those of others who wait.
    async fn together(&self, small: Small, lease: Option<&Lease>) -> Result<Did> {
        let mut answer = self.state.queue.join(small, lease)?;
        loop {
            let mut held = tokio::select! {
                biased;
                answered = &mut answer => return answered.map_err(|_| StorageStopped)?,
                held = self.file.clone().lock_owned() => held,
            };
            let state = self.state.clone();
            let serve = move || -> Result<()> {
                let db = held.as_mut().ok_or(StoreError::Closed)?;
                if let Err(error) = write_heads(db, &state) {
                    tracing::warn!(%error, "the heads of audit chains could not be anchored yet");
                }
                state.queue.serve(db, state.durability);
                Ok(())
            };
            let served = self.world.storage.run(serve).await.map_err(StoreError::from).flatten();
            if let Err(error) = served {
                // Unless somebody else had made it by then.
                return answer.try_recv().unwrap_or(Err(error));
            }
        }
    }

    /// The name that an agent's chains were begun with.
    pub(crate) fn born(&self, agent: &AgentId) -> Box<str> {
        born::name(&lock(&self.state.born), agent).into()
    }

    /// Whether audit records wait for an agent.
    pub(crate) fn is_queued(&self, agent: &AgentId) -> bool {
        lock(&self.state.queued).contains(agent)
    }

    /// An agent's oldest waiting records, and the claim under which they may be taken in: the one
    /// that holds here. No records means none wait any more.
    pub(crate) async fn waiting(&self, agent: &AgentId) -> Result<(Vec<queue::Queued>, Claim)> {
        let agent = agent.clone();
        self.run(move |db, state| {
            let (records, claim) =
                db.read(|sql| Ok((queue::waiting(sql, &agent)?, claimed(sql)?)))?;
            if records.is_empty() {
                lock(&state.queued).remove(&agent);
            }
            Ok((records, claim))
        })
        .await
    }

    /// Removes waiting records that were taken in.
    pub(crate) async fn taken_in(&self, agent: &AgentId, up_to: i64) -> Result<()> {
        let agent = agent.clone();
        self.run(move |db, _| {
            with_sync(db, Durability::Process, |db| {
                db.write(|sql| queue::remove(sql, &agent, up_to))
            })
        })
        .await
    }

    /// An agent's anchor, once what is known of its head is written.
    pub(crate) async fn anchor_of(&self, agent: &AgentId) -> Result<Anchor> {
        let chain = self.state.chain_of(agent);
        match self.together(Small::AnchorOf { agent: agent.clone(), chain }, None).await? {
            Did::Anchor(anchor) => Ok(anchor),
            _ => Err(StoreError::Closed),
        }
    }

    /// Anchors the head of an agent's chain. A failure is only logged: the commit it follows
    /// is done, and the head is written with the next one.
    pub(crate) async fn anchor(&self, agent: &AgentId, due: ToAnchor) {
        self.state.is_due(agent, due);
        if let Err(error) = self.together(Small::Heads, None).await {
            tracing::warn!(%agent, %error, "the head of an audit chain could not be anchored yet");
        }
    }

    /// The same without waiting, where nobody else is at work. False if somebody is. For
    /// work that already runs where storage may block.
    pub(crate) fn anchor_now(&self, agent: &AgentId, due: ToAnchor) -> bool {
        let Ok(mut held) = self.file.try_lock() else { return false };
        let Some(db) = held.as_mut() else { return false };
        self.state.is_due(agent, due);
        write_heads(db, &self.state).is_ok()
    }

    /// Whether an agent is marked as busy.
    pub(crate) fn is_busy(&self, agent: &AgentId) -> bool {
        lock(&self.state.busy).contains(agent)
    }

    /// Marks an agent as busy, durably once this returns.
    pub(crate) async fn mark_busy(&self, agent: &AgentId) -> Result<()> {
        self.together(Small::Busy { agent: agent.clone() }, None).await?;
        lock(&self.state.busy).insert(agent.clone());
        Ok(())
    }

    /// Takes the mark from an agent, and keeps what it used on its last day. Not flushed: a
    /// mark that comes back costs a look.
    pub(crate) async fn clear_busy(
        &self,
        agent: &AgentId,
        used: Option<(Timestamp, Totals)>,
    ) -> Result<()> {
        self.together(Small::Idle { agent: agent.clone(), used }, None).await?;
        lock(&self.state.busy).remove(agent);
        Ok(())
    }

    /// Drops what is remembered of an agent outside the database.
    pub(crate) fn forget_head(&self, agent: &AgentId) {
        lock(&self.state.heads).remove(agent);
    }

    /// Writes everything back and closes the database.
    pub(crate) async fn close(&self) {
        let mut held = self.file.clone().lock_owned().await;
        let state = self.state.clone();
        let closed = self.world.storage.run(move || match held.take() {
            Some(db) => db.truncate_log().and_then(|()| state.note_flushed(&db)),
            None => Ok(()),
        });
        if let Err(error) = closed.await.map_err(StoreError::from).flatten() {
            tracing::warn!(%error, "the daemon's database could not be written back on closing");
        }
    }
}

impl State {
    /// The chain of an agent, by the name it was begun with.
    fn chain_of(&self, agent: &AgentId) -> Chain {
        Chain::of_agent(&self.key, born::name(&lock(&self.born), agent))
    }

    /// Notes that an agent's head is to be anchored.
    fn is_due(&self, agent: &AgentId, due: ToAnchor) {
        let mut heads = lock(&self.heads);
        let due = due.after(heads.get(agent).copied());
        heads.insert(agent.clone(), due);
    }

    /// Anchors the head of the daemon's chain.
    fn anchor_own(&self, due: ToAnchor) -> Result<()> {
        let mut own = lock(&self.own);
        let anchored = due.onto(own.anchored);
        anchors::write_file(&self.anchor_file, &self.chain, anchored)?;
        own.anchored = Some(anchored);
        Ok(())
    }

    /// Notes that all of the database is on the disk.
    fn note_flushed(&self, db: &Db) -> Result<()> {
        let (link, anchored) = {
            let own = lock(&self.own);
            (own.link, own.anchored)
        };
        let head = db.read(audit::head)?;
        if link != Link::Whole || anchored.is_some_and(|anchored| anchored.flushed == head) {
            return Ok(());
        }
        self.anchor_own(ToAnchor { head, is_flushed: true, goes_back: false })
    }
}

/// Writes the heads that wait to be anchored.
fn write_heads(db: &mut Db, state: &State) -> Result<()> {
    let heads = std::mem::take(&mut *lock(&state.heads));
    if heads.is_empty() {
        return Ok(());
    }
    let write = |sql: &rusqlite::Transaction<'_>| {
        heads.iter().try_for_each(|(agent, due)| {
            let chain = state.chain_of(agent);
            anchors::advance(sql, &chain, agent, *due)
        })
    };
    with_sync(db, Durability::Process, |db| db.write(write)).inspect_err(|_| {
        let mut waiting = lock(&state.heads);
        for (agent, due) in heads {
            let newer = waiting.get(&agent).copied();
            waiting.insert(agent, newer.map_or(due, |newer| newer.after(Some(due))));
        }
    })
}

/// Runs a write that survives this much once it returns.
fn with_sync<T>(
    db: &mut Db,
    durability: Durability,
    write: impl FnOnce(&mut Db) -> Result<T>,
) -> Result<T> {
    db.read(|_| db.survive(durability))?;
    write(db)
}

/// The claim that holds.
fn claimed(sql: &Connection) -> rusqlite::Result<Claim> {
    sql.prepare_cached("SELECT epoch, owner FROM fence")?.query_row([], |row| {
        let (epoch, owner): (i64, String) = (row.get(0)?, row.get(1)?);
        Ok(Claim::new(&owner, epoch.cast_unsigned()))
    })
}

/// Makes the next epoch.
fn claim(sql: &Connection, owner: &str) -> rusqlite::Result<u64> {
    let claim = "UPDATE fence SET epoch = epoch + 1, owner = ?1 RETURNING epoch";
    let epoch: i64 = sql.query_row(claim, [owner], |row| row.get(0))?;
    Ok(epoch.cast_unsigned())
}

impl DaemonFile {
    /// Takes over; see [`Backend::claim`](crate::backend::Backend::claim).
    pub(crate) async fn claim(&self, owner: &str) -> Result<u64> {
        let owner: Box<str> = owner.into();
        self.run(move |db, state| {
            // A claim is flushed whatever the durability: an epoch must never be given twice.
            let epoch = state.reserve.with(|| {
                with_sync(db, Durability::Power, |db| db.write(|sql| claim(sql, &owner)))
            })?;
            state.reserve.keep();
            // And all that was written before it.
            state.note_flushed(db)?;
            Ok(epoch)
        })
        .await
    }

    /// Gives a claim up, unless a later one was made.
    pub(crate) async fn release(&self, claim: &Claim) -> Result<()> {
        let (epoch, owner) = (claim.epoch.cast_signed(), claim.owner.clone());
        self.run(move |db, _| {
            // An epoch that is nobody's: what the claim still writes is behind it.
            let release = "UPDATE fence SET epoch = epoch + 1, owner = ''
                           WHERE epoch = ?1 AND owner = ?2";
            with_sync(db, Durability::Process, |db| {
                db.write(|sql| sql.execute(release, (epoch, &*owner)).map(drop))
            })
        })
        .await
    }
}
