//! Small changes to the daemon's database that come with every message, and what is read of it as
//! often: those that wait for the file share a transaction and its flush, as batches of agents do.
//!
//! Whoever wants one gets in line and then waits for its answer or for the file, whichever comes
//! first. Who gets the file works for everyone in line, in the order of arrival. Nobody is
//! answered before what they wanted is committed.

use super::sql::Db;
use super::{anchors, busy, directory, ledger, spent, values};
use crate::chain::{Anchor, Chain};
use crate::daemon::{EventKey, Reserved};
use crate::error::{Result, StoreError};
use crate::lease::{Lease, Owned};
use crate::options::Durability;
use crate::usage::Totals;
use insula_domain::id::AgentId;
use insula_world::Timestamp;
use rusqlite::Connection;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Most that wait at once. Every account hands over a limited number of events at a time, so
/// more are a fault of ours.
const WAITING_MAX: usize = 65_536;

/// Most in one transaction: enough to make the flush cheap, few enough to be quick.
const GROUP_MAX: usize = 256;

/// A small change, or a small look.
pub(crate) enum Small {
    /// Gives an event to an agent, unless it already is somebody's.
    Reserve { key: EventKey, agent: AgentId, at: Timestamp },
    /// Sets a named value that a loss of power may undo.
    Note { key: Box<str>, value: String },
    /// Sets or removes the time at which an agent is woken.
    Wake { agent: AgentId, at: Option<Timestamp> },
    /// Marks an agent as busy.
    Busy { agent: AgentId },
    /// Takes the mark away, and keeps what the agent used on its last day. A loss of power may undo
    /// it: a mark that comes back costs a look.
    Idle { agent: AgentId, used: Option<(Timestamp, Totals)> },
    /// Waits until the heads that were due to be anchored are: they are written before the group.
    Heads,
    /// Where an agent's chain is anchored.
    AnchorOf { agent: AgentId, chain: Chain },
    /// A named value.
    Value { key: Box<str> },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Did {
    /// Whose the event is.
    Reserved(Reserved),
    /// It is written down.
    Noted,
    /// The anchor.
    Anchor(Anchor),
    /// The value, where there is one.
    Value(Option<String>),
}

impl Small {
    fn apply(&self, sql: &Connection) -> rusqlite::Result<Did> {
        match self {
            Self::Reserve { key, agent, at } => {
                ledger::reserve(sql, key, agent, *at).map(Did::Reserved)
            }
            Self::Note { key, value } => values::put(sql, key, value).map(|()| Did::Noted),
            Self::Wake { agent, at } => directory::set_wake(sql, agent, *at).map(|()| Did::Noted),
            Self::Busy { agent } => busy::mark(sql, agent).map(|()| Did::Noted),
            Self::Idle { agent, used } => {
                used.map_or(Ok(()), |used| spent::put(sql, agent, used))?;
                busy::clear(sql, agent).map(|()| Did::Noted)
            }
            Self::Heads => Ok(Did::Noted),
            Self::AnchorOf { agent, chain } => anchors::of(sql, chain, agent).map(Did::Anchor),
            Self::Value { key } => values::get(sql, key).map(Did::Value),
        }
    }

    /// Whether it changes nothing.
    fn is_look(&self) -> bool {
        matches!(self, Self::Heads | Self::AnchorOf { .. } | Self::Value { .. })
    }

    /// Whether a loss of power may undo it.
    fn may_be_lost(&self) -> bool {
        self.is_look() || matches!(self, Self::Note { .. } | Self::Idle { .. })
    }
}

type Answer = oneshot::Receiver<Result<Did>>;

/// Somebody in line.
struct Waiting {
    small: Small,
    /// Under which it is made; `None` for what the store notes for itself.
    lease: Option<Lease>,
    reply: oneshot::Sender<Result<Did>>,
}

/// The line before the daemon's database.
#[derive(Default)]
pub(crate) struct DaemonCommitQueue(Mutex<VecDeque<Waiting>>);

impl DaemonCommitQueue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        // Valid after every single statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gets in line.
    pub(crate) fn join(&self, small: Small, lease: Option<&Lease>) -> Result<Answer> {
        let (reply, answer) = oneshot::channel();
        let mut queue = self.lock();
        if queue.len() >= WAITING_MAX {
            queue.retain(|waiting| !waiting.reply.is_closed());
            if queue.len() >= WAITING_MAX {
                let what = lease.map_or(Owned::Daemon, |lease| lease.what.clone());
                return Err(StoreError::Overloaded { what, waiting: queue.len() });
            }
        }
        queue.push_back(Waiting { small, lease: lease.cloned(), reply });
        Ok(answer)
    }

    /// The next ones, of no more than one claim. Who has gone is left out: nothing was promised to
    /// them.
    fn take(&self) -> Vec<Waiting> {
        let mut queue = self.lock();
        let mut group: Vec<Waiting> = Vec::new();
        while group.len() < GROUP_MAX
            && let Some(waiting) = queue.pop_front()
        {
            if waiting.reply.is_closed() {
                continue;
            }
            let first = group.iter().find_map(|one| one.lease.as_ref());
            if waiting.lease.as_ref().is_some_and(|its| first.is_some_and(|first| first != its)) {
                queue.push_front(waiting);
                break;
            }
            group.push(waiting);
        }
        group
    }

    /// Works for the next in line, and tells them once it is committed.
    pub(crate) fn serve(&self, db: &mut Db, durability: Durability) {
        let group = self.take();
        let all: Vec<&Waiting> = group.iter().collect();
        // A failure is rare, and which of them it is about can't be told: then each alone.
        let results: Vec<Result<Did>> = match commit(db, &all, durability) {
            Ok(done) => done.into_iter().map(Ok).collect(),
            Err(error) if all.len() == 1 => vec![Err(error)],
            Err(_) => all.iter().map(|one| alone(db, one, durability)).collect(),
        };
        for (waiting, result) in group.into_iter().zip(results) {
            // Nobody waiting is not an error: an event comes again, and is known then.
            let _ = waiting.reply.send(result);
        }
    }
}

fn alone(db: &mut Db, one: &Waiting, durability: Durability) -> Result<Did> {
    commit(db, &[one], durability)?.pop().ok_or(StoreError::Closed)
}

/// Applies all of them in one transaction, flushed if one of them has to be.
fn commit(db: &mut Db, group: &[&Waiting], durability: Durability) -> Result<Vec<Did>> {
    if group.iter().all(|one| one.small.is_look()) {
        return db.read(|sql| group.iter().map(|one| one.small.apply(sql)).collect());
    }
    let flushes = group.iter().any(|one| !one.small.may_be_lost());
    let durability = if flushes { durability } else { Durability::Process };
    db.read(|_| db.survive(durability))?;
    let apply = |sql: &rusqlite::Transaction<'_>| -> rusqlite::Result<Vec<Did>> {
        group.iter().map(|one| one.small.apply(sql)).collect()
    };
    match group.iter().find_map(|one| one.lease.as_ref()) {
        Some(lease) => db.write_leased(lease, apply),
        None => db.write(apply),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests fail by panicking")]

    use super::*;
    use crate::conformance::agent;
    use crate::lease::Claim;
    use crate::sqlite::open::{Absent, open};
    use crate::sqlite::schema::DAEMON;
    use std::sync::Arc;

    fn reserve(event: &str, name: &str) -> Small {
        let key =
            EventKey { platform: "telegram".into(), account: "main".into(), event: event.into() };
        Small::Reserve { key, agent: agent(name), at: Timestamp::from_millis(1) }
    }

    fn lease(epoch: u64) -> Lease {
        Lease { what: Owned::Daemon, claim: Arc::new(Claim::new("test", epoch)) }
    }

    #[test]
    fn those_in_line_share_a_commit_and_each_hears_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("insula.db");
        let mut db = open(&path, &DAEMON, Durability::Process, Absent::Create).unwrap().unwrap();
        let queue = DaemonCommitQueue::default();
        let join = |small, epoch| queue.join(small, Some(&lease(epoch))).unwrap();
        let kept = |db: &Db| -> i64 {
            db.read(|sql| sql.query_row("SELECT count(*) FROM event", [], |row| row.get(0)))
                .unwrap()
        };
        let (mut one, mut two) = (join(reserve("1", "a"), 2), join(reserve("2", "b"), 2));
        let mut again = join(reserve("1", "b"), 2);
        drop(join(reserve("left", "a"), 2));
        let mut note = join(Small::Note { key: "k".into(), value: "v".into() }, 2);
        let wake = Small::Wake { agent: agent("a"), at: Some(Timestamp::from_millis(7)) };
        let mut woken = join(wake, 2);
        let mut marked = queue.join(Small::Busy { agent: agent("a") }, None).unwrap();
        let mut late = join(reserve("3", "c"), 1);
        assert_eq!(kept(&db), 0, "nothing is written before somebody has the file");
        queue.serve(&mut db, Durability::Power);
        assert_eq!(one.try_recv().unwrap().unwrap(), Did::Reserved(Reserved::New));
        assert_eq!(two.try_recv().unwrap().unwrap(), Did::Reserved(Reserved::New));
        let seen = Did::Reserved(Reserved::Seen(agent("a")));
        assert_eq!(again.try_recv().unwrap().unwrap(), seen);
        for noted in [&mut note, &mut woken, &mut marked] {
            assert_eq!(noted.try_recv().unwrap().unwrap(), Did::Noted);
        }
        let due = db.read(|sql| directory::due(sql, Timestamp::from_millis(7), 9)).unwrap();
        assert_eq!(due.len(), 1);
        assert!(db.read(busy::agents).unwrap().contains(&agent("a")));
        assert!(late.try_recv().is_err(), "another claim has a commit of its own");
        assert_eq!(kept(&db), 2, "who left reserved nothing");
        queue.serve(&mut db, Durability::Power);
        assert!(matches!(late.try_recv().unwrap(), Err(StoreError::Fenced { .. })));
        queue.serve(&mut db, Durability::Power);
        assert_eq!(kept(&db), 2);
    }

    #[test]
    fn what_the_store_notes_for_itself_needs_no_claim_and_a_fence_does_not_stop_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("insula.db");
        let mut db = open(&path, &DAEMON, Durability::Process, Absent::Create).unwrap().unwrap();
        let queue = DaemonCommitQueue::default();
        let mut owner = queue.join(reserve("1", "a"), Some(&lease(2))).unwrap();
        queue.serve(&mut db, Durability::Power);
        owner.try_recv().unwrap().unwrap();
        let mut late = queue.join(reserve("2", "a"), Some(&lease(1))).unwrap();
        let mut marked = queue.join(Small::Busy { agent: agent("b") }, None).unwrap();
        queue.serve(&mut db, Durability::Power);
        assert!(matches!(late.try_recv().unwrap(), Err(StoreError::Fenced { .. })));
        assert_eq!(marked.try_recv().unwrap().unwrap(), Did::Noted);
        let idle = Small::Idle { agent: agent("b"), used: None };
        let mut cleared = queue.join(idle, None).unwrap();
        queue.serve(&mut db, Durability::Power);
        assert_eq!(cleared.try_recv().unwrap().unwrap(), Did::Noted);
        assert!(db.read(busy::agents).unwrap().is_empty());
    }

    #[test]
    fn one_that_fails_takes_no_other_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("insula.db");
        let mut db = open(&path, &DAEMON, Durability::Process, Absent::Create).unwrap().unwrap();
        let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON event WHEN NEW.event = 'bad'
                      BEGIN SELECT raise(ABORT, 'no'); END";
        db.read(|sql| sql.execute_batch(refuse)).unwrap();
        let queue = DaemonCommitQueue::default();
        let join = |event: &str| queue.join(reserve(event, "a"), Some(&lease(1))).unwrap();
        let mut answers = ["1", "bad", "2"].map(join);
        queue.serve(&mut db, Durability::Power);
        let told = answers.each_mut().map(|answer| answer.try_recv().unwrap().is_ok());
        assert_eq!(told, [true, false, true]);
    }

    #[test]
    fn a_line_is_bounded_and_drops_those_who_left() {
        let queue = DaemonCommitQueue::default();
        let join = || queue.join(reserve("1", "a"), Some(&lease(1)));
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| join().unwrap()).collect();
        assert!(join().is_err());
        waiting.pop();
        waiting.push(join().unwrap());
        assert_eq!(queue.take().len(), GROUP_MAX);
    }
}
