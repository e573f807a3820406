//! One agent's database, `agents/<id>/agent.db`, through its slot in the pool.

mod ingress;
mod jobs;
mod memory;
mod outbox;
mod passing;
mod vectors;

use super::agent_file::AgentFile;
use super::anchors::ToAnchor;
use super::group::{self, Answers, Waiting};
use super::open::Absent;
use super::pool::{Pool, Slot, SlotGuard};
use super::{
    approvals, audit, audit_reads, course, find, foreign, lineage, messages, sessions, shown,
    turn_reads, usage,
};
use crate::agent::{AgentCommand, Committed};
use crate::approval::{Approval, Grant};
use crate::audit::{AuditFilter, AuditPart, AuditRecord, AuditReport};
use crate::backend::{AgentBackend, Visit};
use crate::chain::{Bytes32, Chain, Head, Walk};
use crate::error::{Result, StoreError};
use crate::feed::FeedChange;
use crate::foreign::ForeignFile;
use crate::id::{MessageSeq, SessionId, TurnId};
use crate::lease::{Lease, Owned};
use crate::message::{Message, Window};
use crate::proof::{ScopeRecord, Signer};
use crate::seal::Seals;
use crate::search::Hit;
use crate::session::{Session, SessionRef};
use crate::shown::{ShownAgain, ShownSummary};
use crate::turn::{ChildTurn, Step, Turn, TurnNote, UnfinishedTurn};
use crate::usage::{Totals, UsageBy, UsageOf, UsageReport, UsageSeries};
use async_trait::async_trait;
use insula_domain::{AuditScope, ScopeName};
use insula_world::{StorageStopped, Timestamp};
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A handle on one agent's database.
pub(crate) struct SqliteAgent {
    pool: Arc<Pool>,
    slot: Arc<Slot>,
}

/// Why a job that commits for those in line came to its end.
enum Ended {
    /// Nobody is in line, or others should have their turn.
    Enough,
    /// The agent must be marked as busy, or records be taken in, before the next in line.
    Prepare,
    /// This head must be anchored before the answers are given.
    Anchor(ToAnchor, Answers),
}

impl SqliteAgent {
    pub(crate) fn new(pool: Arc<Pool>, slot: Arc<Slot>) -> Self {
        Self { pool, slot }
    }

    /// Runs work on the open file, once what waited for it is taken in. `None` if there is
    /// no file and none is to be made. The slot stays held until the second part is dropped.
    async fn run<T: Send + 'static>(
        &self,
        absent: Absent,
        work: impl FnOnce(&mut AgentFile) -> Result<T> + Send + 'static,
    ) -> Result<Option<(T, SlotGuard)>> {
        let done = async {
            let held = self.pool.hold(&self.slot).await?;
            match self.ready(held, absent).await? {
                None => Ok(None),
                Some(held) => self.job(held, work).await.map(Some),
            }
        };
        self.told(done.await)
    }

    /// Tells of damage that was met.
    fn told<T>(&self, done: Result<T>) -> Result<T> {
        if let Err(StoreError::Damaged { .. }) = &done {
            self.pool.daemon.feed.tell(&FeedChange::Damaged(self.slot.id.clone()));
        }
        done
    }

    /// Gets in line with a batch, and leads it where nobody does.
    async fn commit_in_line(&self, batch: Vec<AgentCommand>, lease: &Lease) -> Result<Committed> {
        let joined = self.slot.queue.join(batch, lease.clone());
        let mut answer = joined
            .map_err(|waiting| StoreError::Overloaded { what: lease.what.clone(), waiting })?;
        loop {
            let held = tokio::select! {
                biased;
                answered = &mut answer => return answered.map_err(|_| StorageStopped)?,
                held = self.pool.hold(&self.slot) => held?,
            };
            if let Err(error) = self.lead(held).await {
                // Unless somebody else had committed it by then.
                return answer.try_recv().unwrap_or(Err(error));
            }
        }
    }

    /// Opens the file of a held slot, and takes in what waited for it.
    async fn ready(&self, held: SlotGuard, absent: Absent) -> Result<Option<SlotGuard>> {
        let queued = self.pool.daemon.is_queued(&self.slot.id);
        let absent = if queued { Absent::Create } else { absent };
        let Some(held) = self.pool.open(&self.slot, held, absent).await? else {
            return Ok(None);
        };
        if queued { self.take_in(held).await.map(Some) } else { Ok(Some(held)) }
    }

    /// One job on the storage executor, which holds the slot to its end whoever waits.
    async fn job<T: Send + 'static>(
        &self,
        mut held: SlotGuard,
        work: impl FnOnce(&mut AgentFile) -> Result<T> + Send + 'static,
    ) -> Result<(T, SlotGuard)> {
        let job = move || match held.file().and_then(work) {
            Ok(result) => Ok((result, held)),
            Err(error) => {
                held.close_after(&error);
                Err(error)
            }
        };
        self.pool.run(job).await?
    }

    /// Moves the waiting audit records into the agent's chain.
    async fn take_in(&self, mut held: SlotGuard) -> Result<SlotGuard> {
        let mut due: Option<ToAnchor> = None;
        loop {
            let (records, claim) = self.pool.daemon.waiting(&self.slot.id).await?;
            let Some(last) = records.last().map(|record| record.id) else { break };
            let lease = Lease { what: Owned::Agent(self.slot.id.clone()), claim: Arc::new(claim) };
            let (pool, slot) = (self.pool.clone(), self.slot.clone());
            let moved = self.job(held, move |file| {
                let group = vec![Waiting::records(records, lease)];
                let (answers, due) = write_group(file, &pool, &slot, group);
                answers.into_error().map_or(Ok(due), Err)
            });
            let next;
            (next, held) = moved.await?;
            due = next.map(|next| next.after(due));
            self.pool.daemon.taken_in(&self.slot.id, last).await?;
        }
        if let Some(due) = due {
            self.pool.daemon.anchor(&self.slot.id, due).await;
        }
        Ok(held)
    }

    /// Commits for those who are first in line.
    async fn lead(&self, mut held: SlotGuard) -> Result<()> {
        loop {
            let Some(mut ready) = self.ready(held, Absent::Create).await? else { return Ok(()) };
            if self.slot.queue.accepts() && !self.pool.daemon.is_busy(&self.slot.id) {
                self.pool.daemon.mark_busy(&self.slot.id).await?;
            }
            let (pool, slot) = (self.pool.clone(), self.slot.clone());
            let job = move || {
                let ended = next_group(&pool, &slot, &mut ready);
                (ended, ready)
            };
            let (ended, next) = self.pool.run(job).await?;
            match ended {
                Ended::Enough => return Ok(()),
                Ended::Prepare => held = next,
                Ended::Anchor(due, answers) => {
                    self.pool.daemon.anchor(&self.slot.id, due).await;
                    // Held until here, so that retiring the agent waits for its anchor too.
                    drop(answers);
                    return Ok(());
                }
            }
        }
    }

    /// A read, empty where there is no file.
    pub(super) async fn read<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let read = self.run(Absent::Leave, |file| file.db.read(work)).await?;
        Ok(read.map(|(result, _)| result).unwrap_or_default())
    }
}

impl SqliteAgent {
    /// A read that needs the key of the agent's chains; `None` where there is no file.
    pub(super) async fn read_with_chain<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &Chain) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<Option<T>> {
        let read = |file: &mut AgentFile| {
            let chain = &file.chain;
            file.db.read(|sql| work(sql, chain))
        };
        Ok(self.run(Absent::Leave, read).await?.map(|(result, _)| result))
    }
}

/// Commits the next group of the line before a held file. One and no more in a job on the storage
/// executor, so that readers and other agents get their turn.
fn next_group(pool: &Pool, slot: &Slot, held: &mut SlotGuard) -> Ended {
    if pool.daemon.is_queued(&slot.id) {
        return Ended::Prepare;
    }
    let busy = pool.daemon.is_busy(&slot.id);
    let group = slot.queue.take(|traits| busy || !traits.accepts);
    if group.is_empty() {
        return if slot.queue.accepts() { Ended::Prepare } else { Ended::Enough };
    }
    // The file was opened before, and nobody closes it while it is held.
    let Ok(file) = held.file() else { return Ended::Enough };
    let erases = group.iter().any(Waiting::erases);
    let (answers, due) = write_group(file, pool, slot, group);
    if erases {
        // After the erasure and before anybody hears of it: who reads the count and then
        // the file can't have seen what is gone under the count that comes now.
        slot.erasures.fetch_add(1, Ordering::SeqCst);
    }
    if let Some(error) = answers.worst() {
        held.close_after(error);
        return Ended::Enough;
    }
    match due {
        Some(due) if !pool.daemon.anchor_now(&slot.id, due) => Ended::Anchor(due, answers),
        _ => Ended::Enough,
    }
}

fn write_group(
    file: &mut AgentFile,
    pool: &Pool,
    slot: &Slot,
    group: Vec<Waiting>,
) -> (Answers, Option<ToAnchor>) {
    group::commit(file, (&slot.id, &pool.daemon.feed), pool.random(), pool.now(), group)
}

#[async_trait]
impl AgentBackend for SqliteAgent {
    async fn commit(&self, batch: Vec<AgentCommand>, lease: &Lease) -> Result<Committed> {
        self.told(self.commit_in_line(batch, lease).await)
    }

    async fn visit(&self) -> Box<dyn Visit> {
        passing::visit(&self.pool, &self.slot).await
    }

    fn erasures(&self) -> u64 {
        self.slot.erasures.load(Ordering::SeqCst)
    }

    fn incarnation(&self) -> u64 {
        self.slot.incarnation
    }

    fn seals(&self) -> Seals {
        Seals::of_agent(self.pool.audit_key(), &self.chain_name())
    }

    async fn audit(
        &self,
        filter: AuditFilter,
        part: AuditPart,
        limit: usize,
    ) -> Result<Vec<AuditRecord>> {
        self.read(move |sql| audit_reads::read(sql, &filter, part, limit)).await
    }

    async fn audit_of_scope(
        &self,
        scope: AuditScope,
        after: u64,
        limit: usize,
    ) -> Result<Vec<ScopeRecord>> {
        let read = move |sql: &Connection, chain: &Chain| {
            audit_reads::of_scope(sql, chain, &scope, after, limit)
        };
        Ok(self.read_with_chain(read).await?.unwrap_or_default())
    }

    fn chain_name(&self) -> Box<str> {
        self.pool.daemon.born(&self.slot.id)
    }

    async fn audit_start(&self, scope: AuditScope) -> Result<Option<(u64, Bytes32)>> {
        self.read(move |sql| audit::scope_start(sql, &scope)).await
    }

    fn signer(&self) -> Signer {
        Signer::of_agent(self.pool.audit_key(), &self.chain_name())
    }

    async fn audit_verify(&self) -> Result<AuditReport> {
        // Opening first: what waited is anchored by then.
        let opened = self.run(Absent::Leave, |_| Ok(())).await?;
        let anchor = self.pool.daemon.anchor_of(&self.slot.id).await?;
        let Some(((), held)) = opened else {
            let chain = self.pool.chain_of(&self.slot.id);
            return Ok(Walk::new(&chain, anchor, Head::START).finish().0);
        };
        let verify = move |file: &mut AgentFile| {
            let chain = &file.chain;
            file.db.read(|sql| audit::verify(sql, chain, anchor))
        };
        let ((report, head), held) = self.job(held, verify).await?;
        if let Some(head) = head {
            self.pool.daemon.anchor(&self.slot.id, ToAnchor::written(head)).await;
        }
        drop(held);
        Ok(report)
    }

    async fn session(&self, session: SessionRef) -> Result<Option<Session>> {
        self.read(move |sql| sessions::get(sql, &session)).await
    }

    async fn sessions(&self, before: Option<SessionId>, limit: usize) -> Result<Vec<Session>> {
        self.read(move |sql| sessions::page(sql, before, limit)).await
    }

    async fn sessions_in(
        &self,
        scope: &ScopeName,
        before: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>> {
        let scope = scope.clone();
        self.read(move |sql| sessions::page_in(sql, &scope, before, limit)).await
    }

    async fn messages_tail(&self, session: SessionId, window: Window) -> Result<Vec<Message>> {
        self.read(move |sql| messages::tail(sql, session, window)).await
    }

    async fn messages_after(
        &self,
        session: SessionId,
        after: MessageSeq,
        limit: usize,
    ) -> Result<Vec<Message>> {
        self.read(move |sql| messages::after(sql, session, after, limit)).await
    }

    async fn messages_before(
        &self,
        session: SessionId,
        before: MessageSeq,
        limit: usize,
    ) -> Result<Vec<Message>> {
        self.read(move |sql| messages::before(sql, session, before, limit)).await
    }

    async fn message_count(&self, session: SessionId) -> Result<u64> {
        self.read(move |sql| messages::count(sql, session)).await
    }

    async fn turn(&self, turn: TurnId) -> Result<Option<Turn>> {
        self.read(move |sql| turn_reads::get(sql, turn)).await
    }

    async fn turns(&self, before: Option<TurnId>, limit: usize) -> Result<Vec<Turn>> {
        self.read(move |sql| turn_reads::page(sql, before, limit)).await
    }

    async fn steps(&self, turn: TurnId) -> Result<Vec<Step>> {
        self.read(move |sql| turn_reads::steps(sql, turn)).await
    }

    async fn turn_notes(&self, turn: TurnId) -> Result<Vec<TurnNote>> {
        self.read(move |sql| course::notes(sql, turn)).await
    }

    async fn shown_calls(&self, turn: TurnId) -> Result<Vec<ShownSummary>> {
        self.read(move |sql| shown::calls(sql, turn)).await
    }

    async fn shown_call(&self, turn: TurnId, number: u32) -> Result<Option<ShownAgain>> {
        self.read(move |sql| shown::call(sql, turn, number)).await
    }

    async fn children(&self, turn: TurnId) -> Result<Vec<ChildTurn>> {
        self.read(move |sql| lineage::children(sql, turn)).await
    }

    async fn count_below(&self, turn: TurnId) -> Result<u32> {
        self.read(move |sql| lineage::count_below(sql, turn)).await
    }

    async fn unfinished(&self) -> Result<Vec<UnfinishedTurn>> {
        self.read(turn_reads::unfinished).await
    }

    async fn usage_since(&self, since: Timestamp) -> Result<UsageReport> {
        self.read(move |sql| usage::since(sql, since)).await
    }

    async fn usage_series(&self, by: UsageBy, since: Timestamp) -> Result<UsageSeries> {
        self.read(move |sql| usage::series(sql, by, since)).await
    }

    async fn usage_of(&self, of: UsageOf, since: Timestamp) -> Result<Totals> {
        self.read(move |sql| usage::of(sql, &of, since)).await
    }

    async fn approvals(&self) -> Result<Vec<Approval>> {
        self.read(approvals::waiting).await
    }

    async fn granted(&self, invocation: [u8; 32], session: SessionId) -> Result<Option<Grant>> {
        self.read(move |sql| approvals::granted(sql, invocation, session)).await
    }

    async fn grants(&self) -> Result<Vec<Grant>> {
        self.read(approvals::grants).await
    }

    async fn foreign_files(&self) -> Result<Vec<ForeignFile>> {
        self.read(foreign::all).await
    }

    async fn foreign_about(&self, names: Vec<Box<str>>) -> Result<Vec<ForeignFile>> {
        self.read(move |sql| foreign::about(sql, &names)).await
    }

    async fn search(&self, scope: &ScopeName, query: &str, limit: usize) -> Result<Vec<Hit>> {
        let (scope, query) = (scope.to_owned(), query.to_owned());
        self.read(move |sql| find::search(sql, scope.as_str(), &query, limit)).await
    }
}
