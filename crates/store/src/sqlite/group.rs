//! Group commit: batches that wait for the same file share a transaction and its flush.
//!
//! Whoever commits puts a batch in line and then waits for its answer or for the file,
//! whichever comes first. Who gets the file commits for everyone in line, in the order of
//! arrival; so nobody has to be there to serve the others, and nobody is in charge who could
//! be cancelled. A batch whose caller has gone before it was taken up is left out; once taken
//! up it runs to its end.

use super::agent_file::AgentFile;
use super::anchors::ToAnchor;
use super::apply::{self, Traits};
use super::audit::FLUSH_EVERY;
use super::index::{self, Backlog};
use super::kept;
use super::means::Means;
use super::queue::{self, Queued};
use super::sql::{CommandFault, explain, raise};
use super::{audit, turn_reads};
use crate::agent::{AgentCommand, Committed};
use crate::audit::AuditEntry;
use crate::chain::Link;
use crate::error::{Result, StoreError};
use crate::feed::{self, Feed, FeedChange};
use crate::lease::Lease;
use crate::options::Durability;
use insula_domain::id::AgentId;
use insula_world::{Random, StorageStopped, Timestamp};
use rusqlite::Connection;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Most batches in line for one file; more callers than that are a fault of theirs.
pub(crate) const WAITING_MAX: usize = 4_096;

/// Most batches in one transaction: enough to make the flush cheap, few enough that those who
/// are answered together do not keep the next agent's turn waiting for a processor.
const GROUP_MAX: usize = 16;

type Reply = oneshot::Sender<Result<Committed>>;

/// What is to be written.
pub(crate) enum Writing {
    /// What somebody commits.
    Batch(Vec<AgentCommand>),
    /// Records that waited in the daemon's database.
    Records(Vec<Queued>),
}

/// Somebody in line.
pub(crate) struct Waiting {
    writing: Writing,
    traits: Traits,
    lease: Lease,
    reply: Reply,
}

impl Waiting {
    /// Records to be taken in, before anything else.
    pub(crate) fn records(records: Vec<Queued>, lease: Lease) -> Self {
        let traits = Traits { audits: true, flushes: true, ..Traits::default() };
        // Whoever takes them in sees the result as all others do, and nobody waits for it here.
        let (reply, _) = oneshot::channel();
        Self { writing: Writing::Records(records), traits, lease, reply }
    }

    fn changes(&self, agent: &AgentId) -> Vec<FeedChange> {
        match &self.writing {
            Writing::Batch(batch) => feed::of_agent(agent, batch),
            Writing::Records(_) => Vec::new(),
        }
    }

    /// Whether it erases something.
    pub(crate) fn erases(&self) -> bool {
        self.traits.erases
    }
}

/// The line before one file.
#[derive(Default)]
pub(crate) struct CommitQueue(Mutex<VecDeque<Waiting>>);

impl CommitQueue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        // Valid after every single statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a batch in line. How many there are, if they are too many.
    pub(crate) fn join(
        &self,
        batch: Vec<AgentCommand>,
        lease: Lease,
    ) -> Result<oneshot::Receiver<Result<Committed>>, usize> {
        let (reply, answer) = oneshot::channel();
        let traits = Traits::of(&batch);
        let mut queue = self.lock();
        if queue.len() >= WAITING_MAX {
            queue.retain(|waiting| !waiting.reply.is_closed());
            if queue.len() >= WAITING_MAX {
                return Err(queue.len());
            }
        }
        queue.push_back(Waiting { writing: Writing::Batch(batch), traits, lease, reply });
        Ok(answer)
    }

    /// Whether someone in line wants to begin a turn.
    pub(crate) fn accepts(&self) -> bool {
        self.lock().iter().any(|waiting| waiting.traits.accepts)
    }

    /// Takes the next ones out of the line, as far as `fit` goes.
    pub(crate) fn take(&self, fit: impl Fn(Traits) -> bool) -> Vec<Waiting> {
        let mut queue = self.lock();
        let mut group = Vec::new();
        while group.len() < GROUP_MAX
            && let Some(waiting) = queue.pop_front()
        {
            if waiting.reply.is_closed() {
                continue;
            }
            if !fit(waiting.traits) {
                queue.push_front(waiting);
                break;
            }
            group.push(waiting);
        }
        group
    }
}

/// Answers on their way. Given when dropped, so that none is ever lost.
pub(crate) struct Answers(Vec<(Reply, Result<Committed>)>);

impl Drop for Answers {
    fn drop(&mut self) {
        for (reply, answer) in self.0.drain(..) {
            // Nobody waiting is not an error: the commit itself is what mattered.
            let _ = reply.send(answer);
        }
    }
}

impl Answers {
    /// The first error, where whoever wrote is the only one.
    pub(crate) fn into_error(mut self) -> Option<StoreError> {
        self.0.drain(..).find_map(|(_, answer)| answer.err())
    }

    /// An error after which the file can't be trusted.
    pub(crate) fn worst(&self) -> Option<&StoreError> {
        self.0
            .iter()
            .filter_map(|(_, answer)| answer.as_ref().err())
            .find(|error| matches!(error, StoreError::Damaged { .. } | StoreError::Io { .. }))
    }
}

/// A transaction, rolled back when dropped before it was committed; also by a panic.
struct Transaction<'a>(&'a Connection);

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit()
            && let Err(error) = run(self.0, "ROLLBACK")
        {
            tracing::warn!(%error, "a transaction could not be rolled back");
        }
    }
}

fn run(sql: &Connection, statement: &str) -> rusqlite::Result<()> {
    sql.prepare_cached(statement)?.execute([]).map(drop)
}

/// Commits a group: their answers, and the head to be anchored before those are given. All that is
/// written to an agent's database after it was opened is written here, in one transaction with the
/// check of the lease, so that what a commit changed can be seen in one place.
pub(crate) fn commit(
    file: &mut AgentFile,
    (agent, feed): (&AgentId, &Feed),
    random: &Random,
    now: Timestamp,
    group: Vec<Waiting>,
) -> (Answers, Option<ToAnchor>) {
    let AgentFile { db, durability, chain, link, unflushed, is_on_disk, keeps_erased, backlog } =
        file;
    let (sql, path) = (db.connection(), db.file());
    let traits = group.iter().fold(Traits::default(), |sum, next| sum.and(next.traits));
    // A tail that was lost is told before anything else is, and so that it is not lost again.
    let told = match link {
        Link::Lost(lost) if traits.audits => Some(lost.entry(now)),
        _ => None,
    };
    let work = Work { sql, path, means: Means { chain, random }, group: &group, told: &told };
    backlog.grow(traits.said);
    // The log is written in order: who is flushed later takes along what was not flushed.
    let is_flushed = (traits.flushes && *durability == Durability::Power)
        || told.is_some()
        || (traits.audits && *unflushed + 1 >= FLUSH_EVERY);
    let survives = if is_flushed { Durability::Power } else { Durability::Process };
    let results = match db.survive(survives) {
        Err(error) => work.failed(&error),
        // Failures are rare: only when there was one does each batch get a savepoint of its own.
        Ok(()) => work
            .transact(Isolation::Together, backlog)
            .or_else(|| work.transact(Isolation::Apart, backlog))
            .unwrap_or_default(),
    };
    for (waiting, result) in group.iter().zip(&results) {
        let mut changes = waiting.changes(agent);
        // A commit that failed may have been made all the same: what is kept in memory is read
        // again. An answer only counts when it is durable.
        changes.retain(|it| result.is_ok() || !matches!(it, FeedChange::Approval { .. }));
        changes.iter().for_each(|change| feed.tell(change));
    }
    let replies = group.into_iter().map(|waiting| waiting.reply);
    let answers = Answers(replies.zip(results).collect());
    if answers.0.iter().all(|(_, answer)| answer.is_err()) {
        return (answers, None);
    }
    if traits.erases {
        kept::forget(path);
        // A reader elsewhere may hold the log without an error: closing the file empties it then.
        *keeps_erased = true;
        if let Err(error) = db.truncate_log() {
            // Committed all the same; closing the file truncates too.
            tracing::warn!(%error, "erased content may stay in the log until it is closed");
        }
    }
    *is_on_disk = is_flushed;
    if is_flushed {
        *unflushed = 0;
    } else if traits.audits {
        *unflushed += 1;
    }
    if !traits.audits || *link == Link::Broken {
        return (answers, None);
    }
    *link = Link::Whole;
    let goes_back = told.is_some();
    let head = db.read(audit::head).inspect_err(|error| {
        tracing::warn!(%error, "the head of an audit chain could not be read to be anchored");
    });
    (answers, head.ok().map(|head| ToAnchor { head, is_flushed, goes_back }))
}

/// Whether a batch that fails takes the others with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Isolation {
    /// It does.
    Together,
    /// It is undone alone.
    Apart,
}

/// A group and what it is applied with.
struct Work<'a> {
    sql: &'a Connection,
    path: &'a Path,
    means: Means<'a>,
    group: &'a [Waiting],
    /// What the chain says first.
    told: &'a Option<AuditEntry>,
}

impl Work<'_> {
    /// Applies the group in one transaction: the result of each batch. `None` if one failed
    /// that was to take others with it: nothing is written then.
    fn transact(
        &self,
        isolation: Isolation,
        backlog: &mut Backlog,
    ) -> Option<Vec<Result<Committed>>> {
        // Immediate, so that the epoch is read under the lock it is then written under.
        if let Err(error) = run(self.sql, "BEGIN IMMEDIATE") {
            return Some(self.failed(&error));
        }
        let _transaction = Transaction(self.sql);
        if let Some(told) = self.told {
            let Means { chain, random } = &self.means;
            if let Err(error) = audit::append(self.sql, chain, random, told.clone()) {
                return Some(self.failed(&error));
            }
        }
        let mut results = Vec::with_capacity(self.group.len());
        let mut seen = None;
        for waiting in self.group {
            let result = match isolation {
                Isolation::Together => self.apply(waiting, &mut seen),
                Isolation::Apart => apart(self.sql, || self.apply(waiting, &mut seen)),
            };
            if result.is_err() {
                if isolation == Isolation::Together && self.group.len() > 1 {
                    return None;
                }
                seen = None;
            }
            results.push(result.map_err(|fault| fault.explain(self.path)));
            if self.sql.is_autocommit() {
                // SQLite gave the transaction up: what went well in it is gone too.
                results.iter_mut().filter(|result| result.is_ok()).for_each(|result| {
                    *result = Err(StoreError::Stopped(StorageStopped));
                });
                let rest = self.group.len() - results.len();
                results.extend((0..rest).map(|_| Err(StoreError::Stopped(StorageStopped))));
                return Some(results);
            }
        }
        if results.iter().all(Result::is_err) {
            return Some(results);
        }
        if backlog.is_due()
            && let Err(error) = self.tidy(backlog)
        {
            if self.sql.is_autocommit() {
                // A full disk: SQLite gave the transaction up, and says so of the next statement.
                return Some(self.failed(&error));
            }
            let file = self.path.display();
            tracing::warn!(%file, %error, "messages could not be indexed yet");
        }
        match run(self.sql, "COMMIT") {
            Ok(()) => Some(results),
            Err(error) => Some(self.failed(&error)),
        }
    }

    fn apply<'w>(
        &self,
        waiting: &'w Waiting,
        seen: &mut Option<&'w Lease>,
    ) -> Result<Committed, CommandFault> {
        if *seen != Some(&waiting.lease) {
            raise(self.sql, self.path, &waiting.lease)?;
            *seen = Some(&waiting.lease);
        }
        match &waiting.writing {
            Writing::Batch(batch) => apply::batch(self.sql, &self.means, batch),
            Writing::Records(records) => {
                let Means { chain, random } = &self.means;
                queue::take_in(self.sql, chain, random, records)?;
                Ok(Committed::default())
            }
        }
    }

    /// Indexes what waits, and moves the mark of unfinished turns. If that fails both wait on:
    /// search reads what is not indexed too, and a mark further back is as good.
    fn tidy(&self, backlog: &mut Backlog) -> rusqlite::Result<()> {
        let tidy =
            || index::merge(self.sql, usize::MAX).and_then(|()| turn_reads::settle(self.sql));
        apart(self.sql, tidy)?;
        *backlog = Backlog::default();
        Ok(())
    }

    /// The results when nothing was written.
    fn failed(&self, error: &rusqlite::Error) -> Vec<Result<Committed>> {
        self.group.iter().map(|_| Err(explain(self.path, error))).collect()
    }
}

/// Runs work so that its failure undoes that work alone.
fn apart<T, E: From<rusqlite::Error>>(
    sql: &Connection,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    run(sql, "SAVEPOINT apart")?;
    let result = work();
    if result.is_ok() {
        run(sql, "RELEASE apart")?;
    } else if !sql.is_autocommit() {
        run(sql, "ROLLBACK TO apart")?;
        run(sql, "RELEASE apart")?;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::super::open::{Absent, open};
    use super::super::schema::AGENT;
    use super::*;
    use crate::chain::Chain;
    use crate::key::AuditKey;
    use crate::lease::{Claim, Owned};
    use std::sync::Arc;

    fn join(queue: &CommitQueue) -> Result<oneshot::Receiver<Result<Committed>>, usize> {
        let claim = Arc::new(Claim::new("test", 1));
        queue.join(Vec::new(), Lease { what: Owned::Daemon, claim })
    }

    #[test]
    fn a_line_is_bounded_and_drops_those_who_left() {
        let queue = CommitQueue::default();
        let mut waiting: Vec<_> = (0..WAITING_MAX).map(|_| join(&queue).unwrap()).collect();
        assert_eq!(join(&queue).unwrap_err(), WAITING_MAX);
        waiting.drain(..2);
        waiting.push(join(&queue).unwrap());
        let mut taken = 0;
        loop {
            let group = queue.take(|_| true);
            assert!(group.len() <= GROUP_MAX);
            if group.is_empty() {
                break;
            }
            taken += group.len();
        }
        assert_eq!(taken, WAITING_MAX - 1);
    }

    #[test]
    fn what_ends_a_transaction_behind_our_back_is_what_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.db");
        let db = open(&path, &AGENT, Durability::Process, Absent::Create).unwrap().unwrap();
        let sql = db.connection();
        // As a full disk does, at a moment that can be chosen.
        let gives_up = "CREATE TRIGGER gives_up BEFORE UPDATE ON unfinished
                        BEGIN SELECT RAISE(ROLLBACK, 'no room'); END";
        sql.execute_batch(gives_up).unwrap();
        let queue = CommitQueue::default();
        let _answer = join(&queue).unwrap();
        let (chain, random) =
            (Chain::of_agent(&AuditKey::from_bytes([9; 32]), "a"), Random::from_seed([1; 32]));
        let means = Means { chain: &chain, random: &random };
        let group = queue.take(|_| true);
        let work = Work { sql, path: &path, means, group: &group, told: &None };
        let mut backlog = Backlog::default();
        backlog.grow((index::UNINDEXED_MAX, 0));
        let results = work.transact(Isolation::Together, &mut backlog).unwrap();
        let told = results.into_iter().next().unwrap().unwrap_err().to_string();
        assert!(told.contains("no room"), "{told}");
        assert!(backlog.is_due(), "what was not indexed still waits");
    }
}
