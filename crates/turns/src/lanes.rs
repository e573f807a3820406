//! Who goes next: one turn at a time in a session, in order; a few at once for an agent, shared
//! by who asks ([`places`](super::turn_slots)); and no agent in another's way.
//!
//! Every session with work has a lane: a bounded queue and one task that empties it. A turn
//! waits first for a place of its own agent, then for one of the daemon, so that however
//! much one agent asks, it competes with others by a few turns only. One that waits for a turn of
//! another agent gives its places back meanwhile ([`place`](super::place)).

use crate::place::{DAEMON_WAITING_MAX, Rooms, TurnPlace};
use insula_domain::Actor;
use insula_domain::{AgentId, SessionKey};
use insula_registry::keyed::{KeyedGuard, KeyedLocks};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Turns that may wait in one session; one more is told to come back.
pub const QUEUE_LEN_MAX: usize = 32;
/// Places beyond that, for messages that were let in together and for turns that go on after
/// a crash: what was journalled must find one.
const QUEUE_LEN_SPARE: usize = 96;
/// Turns of one agent at once.
pub const AGENT_TURNS_MAX: usize = 16;
/// Turns of the whole daemon at once.
pub const DAEMON_TURNS_MAX: usize = 512;

/// One turn's work.
pub struct Work {
    /// Who asked for it. What it begins in turn runs in its place.
    pub who: Actor,
    /// What it waits for first; it takes nobody's place meanwhile.
    pub debounce: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// What it does.
    pub run: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// Who says stop ends it at once, also while it waits for a place.
    pub stop: CancellationToken,
    /// Where it keeps its places.
    pub(crate) place: Arc<TurnPlace>,
}

/// The session has as many turns waiting as it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

/// The lanes of a daemon.
#[derive(Clone)]
pub struct Lanes {
    shared: Arc<Shared>,
}

/// The same, for whom they may be gone: what waits in a lane is not kept by it.
pub(super) struct WeakLanes(Weak<Shared>);

impl WeakLanes {
    /// The lanes, if somebody still has them.
    pub(super) fn upgrade(&self) -> Option<Lanes> {
        self.0.upgrade().map(|shared| Lanes { shared })
    }
}

impl Lanes {
    /// A way to them that does not keep them.
    pub(super) fn downgrade(&self) -> WeakLanes {
        WeakLanes(Arc::downgrade(&self.shared))
    }
}

struct Shared {
    entry_locks: KeyedLocks<SessionKey>,
    /// What waits in each lane that somebody empties.
    sessions: Mutex<HashMap<SessionKey, VecDeque<Work>>>,
    agents: Mutex<HashMap<AgentId, Rooms>>,
    all_turns: Arc<Semaphore>,
    /// Turns that wait for those of other agents, without a place.
    all_waiting: Arc<Semaphore>,
}

impl Shared {
    /// The next work of a lane. When there is none the lane is taken down in the same moment,
    /// so that whoever enters next begins a new one.
    fn next(&self, key: &SessionKey) -> Option<Work> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let work = sessions.get_mut(key).and_then(VecDeque::pop_front);
        if work.is_none() {
            sessions.remove(key);
        }
        work
    }
}

impl Lanes {
    /// Empty lanes.
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                entry_locks: KeyedLocks::default(),
                sessions: Mutex::default(),
                agents: Mutex::default(),
                all_turns: Arc::new(Semaphore::new(DAEMON_TURNS_MAX)),
                all_waiting: Arc::new(Semaphore::new(DAEMON_WAITING_MAX)),
            }),
        }
    }

    /// Waits for the entry of a session. Whoever holds it journals a message and puts its turn
    /// into the lane before the next may, so that the two orders are one.
    pub async fn entry_lock(&self, key: &SessionKey) -> Result<KeyedGuard<SessionKey>, Busy> {
        let guard = self.shared.entry_locks.lock(key).await;
        let sessions = self.shared.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = sessions.get(key).map_or(0, VecDeque::len);
        drop(sessions);
        if waiting < QUEUE_LEN_MAX { Ok(guard) } else { Err(Busy) }
    }

    /// Puts work at the end of its session's lane.
    pub fn enter(&self, key: &SessionKey, work: Work) -> Result<(), Busy> {
        // A panic under this lock is impossible: nothing below it runs foreign code.
        let mut sessions = self.shared.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        match sessions.entry(key.clone()) {
            Entry::Occupied(lane) if lane.get().len() >= QUEUE_LEN_MAX + QUEUE_LEN_SPARE => {
                return Err(Busy);
            }
            Entry::Occupied(mut lane) => lane.get_mut().push_back(work),
            Entry::Vacant(lane) => {
                lane.insert(VecDeque::from([work]));
                tokio::spawn(empty(self.shared.clone(), key.clone()));
            }
        }
        Ok(())
    }
}

/// Works through one lane, and ends when it is empty.
async fn empty(shared: Arc<Shared>, key: SessionKey) {
    let rooms = {
        let mut agents = shared.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let Shared { all_turns, all_waiting, .. } = &*shared;
        let rooms = || Rooms::new(AGENT_TURNS_MAX, all_turns, all_waiting);
        agents.entry(key.agent.clone()).or_insert_with(rooms).clone()
    };
    while let Some(work) = shared.next(&key) {
        if let Some(debounce) = work.debounce {
            tokio::select! {
                biased;
                () = debounce => {}
                () = work.stop.cancelled() => {}
            }
        }
        tokio::select! {
            biased;
            () = work.place.enter(&rooms, &work.who) => {}
            // A turn that was stopped only writes that down.
            () = work.stop.cancelled() => {}
        }
        // In a task of its own: a turn that panics ends alone.
        let _ = tokio::spawn(work.run).await;
        work.place.leave();
    }
}
