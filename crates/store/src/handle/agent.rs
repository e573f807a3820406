//! The handle on one agent's state: what there is to read. Writing takes a lease: `holder`.

use crate::approval::{Approval, Grant};
use crate::audit::{AuditFilter, AuditPart, AuditRecord, AuditReport, Seq};
use crate::backend::AgentBackend;
use crate::error::Result;
use crate::foreign::ForeignFile;
use crate::id::{MessageSeq, SessionId, TurnId};
use crate::limits;
use crate::message::{Message, Window};
use crate::proof::{ScopeRecord, Signer};
use crate::seal::Seals;
use crate::search::Hit;
use crate::session::{Session, SessionRef};
use crate::shown::{ShownAgain, ShownSummary};
use crate::turn::{ChildTurn, Step, Turn, TurnNote, UnfinishedTurn};
use crate::usage::{Totals, UsageBy, UsageOf, UsageReport, UsageSeries};
use insula_domain::{AuditScope, ScopeName};
use insula_world::Timestamp;
use std::fmt;
use std::sync::Arc;

/// A handle on one agent's state. Cheap to clone; bound to its agent at birth.
#[derive(Clone)]
pub struct AgentStore {
    backend: Arc<dyn AgentBackend>,
}

impl AgentStore {
    pub(crate) fn new(backend: Arc<dyn AgentBackend>) -> Self {
        Self { backend }
    }

    pub(crate) fn backend(&self) -> &dyn AgentBackend {
        &*self.backend
    }

    /// Has this agent looked into in passing: what that opened is closed again, and few agents are
    /// looked into at once, whoever asks. For lists of all agents, which leave agents at rest as they
    /// are. No look begins another.
    pub async fn in_passing<T>(&self, look: impl Future<Output = T>) -> T {
        let visit = self.backend.visit().await;
        let found = look.await;
        visit.end().await;
        found
    }

    /// How often something was erased since the daemon began. Whoever keeps a copy of what it
    /// read notes this before it reads: a copy with another number may hold what is gone.
    pub fn erasures(&self) -> u64 {
        self.backend.erasures()
    }

    /// Which life of the agent's name this is, counted since the daemon began. A name that is
    /// used again after a deletion is another agent: what is kept in memory by an agent's id is
    /// kept by this too, or the new one would find it.
    pub fn incarnation(&self) -> u64 {
        self.backend.incarnation()
    }

    /// How this agent's numbers are called outside the store.
    pub fn seals(&self) -> Seals {
        self.backend.seals()
    }

    /// Audit records after a position, oldest first, at most `limit` of them.
    pub async fn audit_after(&self, after: Seq, limit: usize) -> Result<Vec<AuditRecord>> {
        self.audit(AuditFilter::default(), AuditPart::After(after), limit).await
    }

    /// The newest `limit` audit records, oldest first.
    pub async fn audit_tail(&self, limit: usize) -> Result<Vec<AuditRecord>> {
        self.audit(AuditFilter::default(), AuditPart::Newest, limit).await
    }

    /// The audit records that a filter admits, or a part of them, oldest first, at most `limit`.
    pub async fn audit(
        &self,
        filter: AuditFilter,
        part: AuditPart,
        limit: usize,
    ) -> Result<Vec<AuditRecord>> {
        self.backend.audit(filter, part, limit).await
    }

    /// Audit records of one scope after a place among them, oldest first, at most `limit`, as their
    /// tenant may have them.
    pub async fn audit_of_scope(
        &self,
        scope: AuditScope,
        after: u64,
        limit: usize,
    ) -> Result<Vec<ScopeRecord>> {
        self.backend.audit_of_scope(scope, after, limit).await
    }

    /// The name that the agent's chains were begun with, and exports of them have: its id, unless it
    /// was called otherwise since.
    pub fn chain_name(&self) -> Box<str> {
        self.backend.chain_name()
    }

    /// The last record of a scope that was dropped, and its link: what is left follows it. `None`
    /// where none was.
    pub async fn audit_start(&self, scope: AuditScope) -> Result<Option<(u64, [u8; 32])>> {
        self.backend.audit_start(scope).await
    }

    /// What signs parts of the audit chain for those who can't ask the daemon.
    pub fn signer(&self) -> Signer {
        self.backend.signer()
    }

    /// Checks the whole audit chain, and that its head is the one anchored elsewhere.
    pub async fn audit_verify(&self) -> Result<AuditReport> {
        self.backend.audit_verify().await
    }

    /// A session, if there is such a one.
    pub async fn session(&self, session: SessionRef) -> Result<Option<Session>> {
        self.backend.session(session).await
    }

    /// Sessions begun before this one, newest first, at most `limit`; `None` for the newest.
    pub async fn sessions(&self, before: Option<SessionId>, limit: usize) -> Result<Vec<Session>> {
        self.backend.sessions(before, limit).await
    }

    /// Sessions of one scope begun before this one, newest first, at most `limit`.
    pub async fn sessions_in(
        &self,
        scope: &ScopeName,
        before: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>> {
        self.backend.sessions_in(scope, before, limit).await
    }

    /// The end of a session, oldest first, without turns that were replaced. Costs what it
    /// returns, however long the session.
    pub async fn messages_tail(&self, session: SessionId, window: Window) -> Result<Vec<Message>> {
        self.backend.messages_tail(session, window).await
    }

    /// Messages after a place, oldest first, at most `limit` of them.
    pub async fn messages_after(
        &self,
        session: SessionId,
        after: MessageSeq,
        limit: usize,
    ) -> Result<Vec<Message>> {
        self.backend.messages_after(session, after, limit).await
    }

    /// The `limit` messages before a place, oldest first.
    pub async fn messages_before(
        &self,
        session: SessionId,
        before: MessageSeq,
        limit: usize,
    ) -> Result<Vec<Message>> {
        self.backend.messages_before(session, before, limit).await
    }

    /// How many messages a session has.
    pub async fn message_count(&self, session: SessionId) -> Result<u64> {
        self.backend.message_count(session).await
    }

    /// A turn, if there is such a one.
    pub async fn turn(&self, turn: TurnId) -> Result<Option<Turn>> {
        self.backend.turn(turn).await
    }

    /// Turns begun before this one, newest first, at most `limit`; `None` for the newest. Those of
    /// children, and of sessions that were forgotten, are left out.
    pub async fn turns(&self, before: Option<TurnId>, limit: usize) -> Result<Vec<Turn>> {
        self.backend.turns(before, limit).await
    }

    /// The steps of a turn, in order.
    pub async fn steps(&self, turn: TurnId) -> Result<Vec<Step>> {
        self.backend.steps(turn).await
    }

    /// The notes on how a turn went, in order.
    pub async fn turn_notes(&self, turn: TurnId) -> Result<Vec<TurnNote>> {
        self.backend.turn_notes(turn).await
    }

    /// The calls of models that a turn made and what was shown is kept of, in order.
    pub async fn shown_calls(&self, turn: TurnId) -> Result<Vec<ShownSummary>> {
        self.backend.shown_calls(turn).await
    }

    /// What is left of what a model was shown in one of them, if anything is known of it.
    pub async fn shown_call(&self, turn: TurnId, number: u32) -> Result<Option<ShownAgain>> {
        self.backend.shown_call(turn, number).await
    }

    /// The children that a turn began itself, in the order it did.
    pub async fn children(&self, turn: TurnId) -> Result<Vec<ChildTurn>> {
        self.backend.children(turn).await
    }

    /// How many turns of children, and of theirs, there are below one.
    pub async fn count_below(&self, turn: TurnId) -> Result<u32> {
        self.backend.count_below(turn).await
    }

    /// The turns that were accepted and not concluded, oldest first, with their steps.
    pub async fn unfinished(&self) -> Result<Vec<UnfinishedTurn>> {
        self.backend.unfinished().await
    }

    /// Usage since the beginning of the day `since` is in.
    pub async fn usage_since(&self, since: Timestamp) -> Result<UsageReport> {
        self.backend.usage_since(since).await
    }

    /// Usage over time since the beginning of the day `since` is in.
    pub async fn usage_series(&self, by: UsageBy, since: Timestamp) -> Result<UsageSeries> {
        self.backend.usage_series(by, since).await
    }

    /// Somebody's usage since the beginning of the day `since` is in.
    pub async fn usage_of(&self, of: UsageOf, since: Timestamp) -> Result<Totals> {
        self.backend.usage_of(of, since).await
    }

    /// The calls that wait for an answer, in the order they were asked about.
    pub async fn approvals(&self) -> Result<Vec<Approval>> {
        self.backend.approvals().await
    }

    /// What allows an invocation in a session, if anything does.
    pub async fn granted(&self, invocation: [u8; 32], session: SessionId) -> Result<Option<Grant>> {
        self.backend.granted(invocation, session).await
    }

    /// What is allowed for longer than once, the newest first.
    pub async fn grants(&self) -> Result<Vec<Grant>> {
        self.backend.grants().await
    }

    /// The files that hold words of others, by path: the first so many.
    pub async fn foreign_files(&self) -> Result<Vec<ForeignFile>> {
        self.backend.foreign_files().await
    }

    /// Those of them that have to do with what has one of these names, by path: which are it, hold
    /// it or are below it. Where too many are below it, it is anybody's words as a whole.
    pub async fn foreign_about(&self, names: Vec<Box<str>>) -> Result<Vec<ForeignFile>> {
        self.backend.foreign_about(names).await
    }

    /// Messages of one scope that match some words of `query`, the best first, at most
    /// `limit`. What is in other scopes changes neither hits nor scores.
    pub async fn search(&self, scope: &ScopeName, query: &str, limit: usize) -> Result<Vec<Hit>> {
        limits::query(scope.as_str(), query)?;
        self.backend.search(scope, query, limit).await
    }
}

impl fmt::Debug for AgentStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentStore")
    }
}
