//! Which agents' files are open: opened on first use, closed when idle, never more than the
//! limit, one piece of work per file at a time.

use super::agent_file::AgentFile;
use super::anchors::ToAnchor;
use super::audit;
use super::daemon::DaemonFile;
use super::group::CommitQueue;
use super::jobs;
use super::open::{self, Absent, Blank};
use super::outbox;
use super::reindex;
use super::schema;
use super::spent;
use super::turn_reads;
use super::visits::Visits;
use crate::chain::Chain;
use crate::error::{Result, StoreError};
use crate::feed::FeedChange;
use crate::key::AuditKey;
use crate::options::StoreOptions;
use insula_domain::id::AgentId;
use insula_world::{Random, Timestamp, World};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{Notify, OwnedMutexGuard, Semaphore};

/// Slots kept before those that nobody holds are looked for and dropped.
const SLOTS_KEPT_MIN: usize = 1_024;

/// Jobs on agents' files that run at once. More than a small machine has cores, since they wait
/// for the disk; few, since many that are ready to run get in each other's way: a job takes a
/// fraction of a millisecond, and a thread that has lost its turn waits for several.
const JOBS_MAX: usize = 12;

/// All agents' files of one home.
pub(crate) struct Pool {
    world: World,
    jobs: Arc<Semaphore>,
    pub(crate) daemon: Arc<DaemonFile>,
    options: StoreOptions,
    slots: Mutex<BTreeMap<AgentId, Arc<Slot>>>,
    prune_at: AtomicU64,
    /// How many slots there were.
    incarnations: AtomicU64,
    open: Arc<OpenSet>,
    pub(crate) visits: Visits<Arc<Slot>>,
    /// What a new file begins as, once one was needed.
    blank: Arc<Blank>,
    uses: AtomicU64,
    closed: AtomicBool,
}

/// One incarnation of an agent: its place in the pool, open or not.
pub(crate) struct Slot {
    pub(crate) id: AgentId,
    /// Its number among all slots there were.
    pub(crate) incarnation: u64,
    /// The batches that wait to be committed.
    pub(crate) queue: CommitQueue,
    state: Arc<tokio::sync::Mutex<State>>,
    /// How often something was erased from it.
    pub(crate) erasures: AtomicU64,
    /// The number of its last use, for finding the least recently used.
    last_use: AtomicU64,
    /// When that was, in milliseconds of the clock that never goes back.
    last_use_ms: AtomicU64,
}

impl Slot {
    /// Whether its file is closed, and nobody is about to open it.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.try_lock().is_ok_and(|state| matches!(*state, State::Closed))
    }
}

enum State {
    Closed,
    Open(Box<OpenFile>),
    Retired,
}

/// An open file, and the right to have it open, which is given back after it was closed.
struct OpenFile {
    file: AgentFile,
    ticket: Ticket,
}

/// The slots with an open file, and a signal for when one may have become free.
struct OpenSet {
    max: usize,
    slots: Mutex<Vec<Arc<Slot>>>,
    changed: Notify,
    /// Whoever waits for a file to be closed stands in line here, and only the first of them
    /// looks: looking goes through all that are open.
    line: tokio::sync::Mutex<()>,
}

impl OpenSet {
    /// The right to open a file, where fewer than allowed are.
    fn enter(self: &Arc<Self>, slot: &Arc<Slot>) -> Option<Ticket> {
        let mut slots = lock(&self.slots);
        (slots.len() < self.max).then(|| {
            slots.push(slot.clone());
            Ticket { set: Arc::downgrade(self), id: slot.id.clone() }
        })
    }

    /// The least recently used of the open files that nobody works with, held.
    fn least_used(&self) -> Option<(Arc<Slot>, OwnedMutexGuard<State>)> {
        let slots = lock(&self.slots);
        let mut found: Option<(u64, &Arc<Slot>, OwnedMutexGuard<State>)> = None;
        for slot in slots.iter() {
            let used = slot.last_use.load(Ordering::Relaxed);
            if found.as_ref().is_none_or(|(least, ..)| used < *least)
                && let Ok(state) = slot.state.clone().try_lock_owned()
                && matches!(*state, State::Open(_))
            {
                found = Some((used, slot, state));
            }
        }
        found.map(|(_, slot, state)| (slot.clone(), state))
    }
}

/// The right to have one file open, returned when dropped.
struct Ticket {
    // Weak, so that a pool dropped with files open closes them.
    set: Weak<OpenSet>,
    id: AgentId,
}

impl Ticket {
    /// Hands the right on to another file. The one it was for is closed, and still held: it
    /// would get a right of its own.
    fn pass_to(mut self, heir: &Arc<Slot>) -> Self {
        if let Some(set) = self.set.upgrade() {
            let mut slots = lock(&set.slots);
            slots.retain(|slot| slot.id != self.id);
            slots.push(heir.clone());
        }
        self.id = heir.id.clone();
        self
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(set) = self.set.upgrade() {
            lock(&set.slots).retain(|slot| slot.id != self.id);
            set.changed.notify_waiters();
        }
    }
}

/// A slot that is held: nobody else works with its file.
pub(crate) struct SlotGuard {
    state: OwnedMutexGuard<State>,
    // After the state, so that whoever is told finds the slot free.
    _told: NotifyOnDrop,
}

/// Tells those who wait for a free slot, when dropped.
struct NotifyOnDrop(Arc<OpenSet>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.changed.notify_waiters();
    }
}

impl SlotGuard {
    /// The open file.
    pub(crate) fn file(&mut self) -> Result<&mut AgentFile> {
        match &mut *self.state {
            State::Open(open) => Ok(&mut open.file),
            State::Closed | State::Retired => Err(StoreError::Closed),
        }
    }

    /// Closes a file that can't be trusted any more; the next use opens it anew.
    pub(crate) fn close_after(&mut self, error: &StoreError) {
        if matches!(error, StoreError::Damaged { .. } | StoreError::Io { .. }) {
            *self.state = State::Closed;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these hold is valid after every single statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    pub(crate) fn new(options: StoreOptions, world: World, daemon: Arc<DaemonFile>) -> Self {
        let open = Arc::new(OpenSet {
            max: options.open_max.max(1),
            slots: Mutex::default(),
            changed: Notify::new(),
            line: tokio::sync::Mutex::default(),
        });
        Self {
            world,
            jobs: Arc::new(Semaphore::new(JOBS_MAX)),
            daemon,
            options,
            slots: Mutex::default(),
            prune_at: AtomicU64::new(SLOTS_KEPT_MIN as u64),
            incarnations: AtomicU64::new(0),
            open,
            visits: Visits::default(),
            blank: Arc::default(),
            uses: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn audit_key(&self) -> &AuditKey {
        &self.options.audit_key
    }

    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        self.world.clock.now()
    }

    /// Where randomness comes from.
    pub(crate) fn random(&self) -> &Random {
        &self.world.random
    }

    /// Runs a job on the storage executor, when its turn comes, and to its end.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let permit = self.jobs.clone().acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let job = move || {
            // To the end of the job, whoever waits for it.
            let _permit = permit;
            job()
        };
        Ok(self.world.storage.run(job).await?)
    }

    /// The slot of an agent's present incarnation.
    pub(crate) fn slot(&self, id: &AgentId) -> Arc<Slot> {
        let mut slots = lock(&self.slots);
        if slots.len() as u64 >= self.prune_at.load(Ordering::Relaxed) {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
            let next = (slots.len() * 2).max(SLOTS_KEPT_MIN);
            self.prune_at.store(next as u64, Ordering::Relaxed);
        }
        let new = || {
            Arc::new(Slot {
                id: id.clone(),
                incarnation: self.incarnations.fetch_add(1, Ordering::Relaxed),
                queue: CommitQueue::default(),
                state: Arc::new(tokio::sync::Mutex::new(State::Closed)),
                erasures: AtomicU64::new(0),
                last_use: AtomicU64::new(0),
                last_use_ms: AtomicU64::new(0),
            })
        };
        slots.entry(id.clone()).or_insert_with(new).clone()
    }

    /// Waits for a slot and holds it.
    pub(crate) async fn hold(&self, slot: &Slot) -> Result<SlotGuard> {
        // Before waiting: who is dropped while it waits may have been given the slot by then, and
        // whoever waits for a free one has to be told that it is free again.
        let told = NotifyOnDrop(self.open.clone());
        let state = slot.state.clone().lock_owned().await;
        if matches!(*state, State::Retired) {
            return Err(StoreError::Retired { agent: slot.id.clone() });
        }
        if self.closed.load(Ordering::SeqCst) {
            return Err(StoreError::Closed);
        }
        let number = self.uses.fetch_add(1, Ordering::Relaxed) + 1;
        slot.last_use.store(number, Ordering::Relaxed);
        slot.last_use_ms.store(self.elapsed_ms(), Ordering::Relaxed);
        Ok(SlotGuard { state, _told: told })
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.world.clock.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Opens the file of a held slot if it is not open. `None` if it is absent and stays so.
    pub(crate) async fn open(
        &self,
        slot: &Arc<Slot>,
        mut held: SlotGuard,
        absent: Absent,
    ) -> Result<Option<SlotGuard>> {
        if matches!(*held.state, State::Open(_)) {
            return Ok(Some(held));
        }
        let anchor = self.daemon.anchor_of(&slot.id).await?;
        let ticket = self.ticket(slot).await;
        let path = self.path(&slot.id);
        let chain = self.chain_of(&slot.id);
        let durability = self.options.durability;
        let blank = self.blank.clone();
        let job = move || -> Result<Option<SlotGuard>> {
            if absent == Absent::Create {
                open::begin(&path, &schema::AGENT, &blank)?;
            }
            let Some(mut db) = open::open(&path, &schema::AGENT, durability, absent)? else {
                return Ok(None);
            };
            let link = db.read(|sql| audit::reaches(sql, anchor))?;
            audit::warn_of(link, db.file());
            let backlog = reindex::bring_up_to_date(&mut db)?;
            let (is_on_disk, keeps_erased) = (false, false);
            let file = AgentFile {
                db,
                durability,
                chain,
                link,
                is_on_disk,
                keeps_erased,
                unflushed: 0,
                backlog,
            };
            *held.state = State::Open(Box::new(OpenFile { file, ticket }));
            Ok(Some(held))
        };
        self.run(job).await?
    }

    /// The chain of an agent, by the name it was begun with.
    pub(crate) fn chain_of(&self, id: &AgentId) -> Chain {
        Chain::of_agent(&self.options.audit_key, &self.daemon.born(id))
    }

    fn path(&self, id: &AgentId) -> PathBuf {
        self.options.home.join("agents").join(id.as_str()).join("agent.db")
    }

    /// Waits for the right to open one more file, closing the least recently used that
    /// nobody works with.
    async fn ticket(&self, slot: &Arc<Slot>) -> Ticket {
        loop {
            let line = self.open.line.lock().await;
            let (least_used, state) = loop {
                // Listening begins before looking, so that a slot freed in between is noticed.
                let mut changed = pin!(self.open.changed.notified());
                changed.as_mut().enable();
                if let Some(ticket) = self.open.enter(slot) {
                    return ticket;
                }
                if let Some(found) = self.open.least_used() {
                    break found;
                }
                changed.await;
            };
            // Several are closed at once: closing waits for the disk.
            drop(line);
            if let Some(ticket) = self.close(&least_used, state, State::Closed, Some(slot)).await {
                return ticket;
            }
        }
    }

    /// Closes the file of a slot. An agent without unfinished turns and deliveries stops being
    /// busy; see `busy` for why that is safe here. The right to have it open goes to the heir.
    async fn close(
        &self,
        slot: &Slot,
        mut state: OwnedMutexGuard<State>,
        next: State,
        heir: Option<&Arc<Slot>>,
    ) -> Option<Ticket> {
        let told = NotifyOnDrop(self.open.clone());
        let makes_room = heir.is_some();
        let job = move || {
            let used = match &*state {
                State::Open(open) => open.file.db.read(|sql| {
                    let busy = turn_reads::any_unfinished(sql)?
                        || outbox::read::any_open(sql)?
                        || jobs::any_open(sql)?;
                    // Who is removed leaves what they used, finished or not.
                    let stays_busy = busy && !matches!(next, State::Retired);
                    if stays_busy { Ok(None) } else { spent::last(sql).map(Some) }
                }),
                State::Closed | State::Retired => Ok(None),
            };
            // Of an agent that is removed nothing is to be known any more.
            let flushed = match (&*state, &next) {
                (State::Open(open), State::Closed) => open.file.flush_for_good(makes_room),
                _ => None,
            };
            let ticket = match std::mem::replace(&mut *state, next) {
                State::Open(open) => Some(open.ticket),
                State::Closed | State::Retired => None,
            };
            let held = SlotGuard { state, _told: told };
            // What can't be read is looked at again at the next start. The ticket stands before
            // what is held: should nobody wait for it any more, it is dropped first.
            (used.unwrap_or_default(), flushed, ticket, held)
        };
        let (closed, ticket) = match self.run(job).await {
            Ok((used, flushed, ticket, held)) => {
                let ticket = heir.and_then(|heir| Some(ticket?.pass_to(heir)));
                if let Some(head) = flushed {
                    let due = ToAnchor { head, is_flushed: true, goes_back: false };
                    self.daemon.anchor(&slot.id, due).await;
                }
                (Ok((used, held)), ticket)
            }
            Err(error) => (Err(error), None),
        };
        let cleared = match closed {
            Ok((Some(used), held)) if self.daemon.is_busy(&slot.id) => {
                let cleared = self.daemon.clear_busy(&slot.id, used).await;
                drop(held);
                cleared
            }
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = cleared {
            tracing::warn!(agent = %slot.id, %error, "a database could not be closed in order");
        }
        ticket
    }

    pub(crate) async fn close_idle(&self, idle_for: Duration) {
        let idle_ms = u64::try_from(idle_for.as_millis()).unwrap_or(u64::MAX);
        let open = lock(&self.open.slots).clone();
        for slot in open {
            let last = slot.last_use_ms.load(Ordering::Relaxed);
            if self.elapsed_ms().saturating_sub(last) >= idle_ms {
                self.close_unused(&slot).await;
            }
        }
    }

    /// Closes a file unless somebody works with it; whether nobody does.
    pub(crate) async fn close_unused(&self, slot: &Slot) -> bool {
        let Ok(state) = slot.state.clone().try_lock_owned() else { return false };
        if matches!(*state, State::Open(_)) {
            self.close(slot, state, State::Closed, None).await;
        }
        true
    }

    /// Whether somebody waits for a file to be closed.
    #[cfg(test)]
    pub(crate) fn is_waited_for(&self) -> bool {
        self.open.line.try_lock().is_err()
    }

    pub(crate) fn open_count(&self) -> usize {
        lock(&self.open.slots).len()
    }

    pub(crate) async fn retire(&self, id: &AgentId) {
        // Out of the map only once it is closed: a new incarnation must not open the file
        // while the old one still works with it.
        let Some(slot) = lock(&self.slots).get(id).cloned() else { return };
        let _told = NotifyOnDrop(self.open.clone());
        let state = slot.state.clone().lock_owned().await;
        self.close(&slot, state, State::Retired, None).await;
        self.daemon.forget_head(id);
        let mut slots = lock(&self.slots);
        if slots.get(id).is_some_and(|present| Arc::ptr_eq(present, &slot)) {
            slots.remove(id);
        }
        drop(slots);
        // Nobody is let in by what is gone.
        self.daemon.feed.tell(&FeedChange::Access(id.clone()));
    }

    pub(crate) async fn shutdown(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let slots: Vec<_> = lock(&self.slots).values().cloned().collect();
        for slot in slots {
            let state = slot.state.clone().lock_owned().await;
            if matches!(*state, State::Open(_)) {
                self.close(&slot, state, State::Closed, None).await;
            }
        }
    }
}
