//! The daemon's database as a part of the backend.

use super::{DaemonFile, commit, lock, with_sync};
use crate::audit::{AuditFilter, AuditPart, AuditRecord, AuditReport, Seq};
use crate::backend::DaemonBackend;
use crate::daemon::{AgentRow, DaemonCommand, Due, EventKey, Reserved, Spending};
use crate::error::{Result, StoreError};
use crate::feed;
use crate::lease::Lease;
use crate::sqlite::anchors::{self, ToAnchor};
use crate::sqlite::together::{Did, Small};
use crate::sqlite::{audit, audit_reads, directory, ledger, spent, values};
use async_trait::async_trait;
use insula_domain::id::AgentId;
use insula_world::Timestamp;

#[async_trait]
impl DaemonBackend for DaemonFile {
    async fn commit(&self, batch: Vec<DaemonCommand>, lease: &Lease) -> Result<Vec<Seq>> {
        if let [DaemonCommand::SetWake { agent, at }] = &*batch {
            // Comes with every run of a job.
            let wake = Small::Wake { agent: agent.clone(), at: *at };
            return self.together(wake, Some(lease)).await.map(|_| Vec::new());
        }
        let (lease, feed) = (lease.clone(), self.feed.clone());
        let is_operators = batch.iter().any(commit::is_operators);
        self.run(move |db, state| {
            let done = if is_operators {
                let done = state.reserve.with(|| commit::commit(db, state, &batch, &lease))?;
                state.reserve.keep();
                done
            } else {
                commit::commit(db, state, &batch, &lease)?
            };
            feed::of_daemon(&batch).iter().for_each(|change| feed.tell(change));
            Ok(done)
        })
        .await
    }

    async fn agents(&self) -> Result<Vec<AgentRow>> {
        self.run(|db, _| db.read(directory::all)).await
    }

    async fn value(&self, key: &str) -> Result<Option<String>> {
        match self.together(Small::Value { key: key.into() }, None).await? {
            Did::Value(value) => Ok(value),
            _ => Err(StoreError::Closed),
        }
    }

    async fn values_under(&self, prefix: &str) -> Result<Vec<(String, String)>> {
        let prefix = prefix.to_owned();
        self.run(move |db, _| db.read(|sql| values::under(sql, &prefix))).await
    }

    async fn due(&self, now: Timestamp, limit: usize) -> Result<Vec<Due>> {
        self.run(move |db, _| db.read(|sql| directory::due(sql, now, limit))).await
    }

    async fn busy(&self) -> Result<Vec<AgentId>> {
        self.run(|_, state| Ok(lock(&state.busy).iter().cloned().collect())).await
    }

    async fn spending(&self, since: Timestamp) -> Result<Spending> {
        self.run(move |db, _| db.read(|sql| spent::since(sql, since))).await
    }

    async fn reserve_event(
        &self,
        key: EventKey,
        agent: &AgentId,
        lease: &Lease,
    ) -> Result<Reserved> {
        let (agent, at) = (agent.clone(), self.world.clock.now());
        match self.together(Small::Reserve { key, agent, at }, Some(lease)).await? {
            Did::Reserved(reserved) => Ok(reserved),
            _ => Err(StoreError::Closed),
        }
    }

    async fn note(&self, key: &str, value: String, lease: &Lease) -> Result<()> {
        self.together(Small::Note { key: key.into(), value }, Some(lease)).await.map(drop)
    }

    async fn event_owner(&self, key: EventKey) -> Result<Option<AgentId>> {
        self.run(move |db, _| db.read(|sql| ledger::owner(sql, &key))).await
    }

    async fn move_event(&self, key: EventKey, agent: &AgentId, lease: &Lease) -> Result<()> {
        let (agent, lease) = (agent.clone(), lease.clone());
        self.run(move |db, state| {
            let moved = |sql: &rusqlite::Transaction<'_>| ledger::give(sql, &key, &agent);
            with_sync(db, state.durability, |db| db.write_leased(&lease, moved))
        })
        .await
    }

    async fn audit(
        &self,
        filter: AuditFilter,
        part: AuditPart,
        limit: usize,
    ) -> Result<Vec<AuditRecord>> {
        self.run(move |db, _| db.read(|sql| audit_reads::read(sql, &filter, part, limit))).await
    }

    async fn audit_verify(&self) -> Result<AuditReport> {
        self.run(|db, state| {
            let anchor = anchors::read_file(&state.anchor_file, &state.chain)?;
            let (report, head) = db.read(|sql| audit::verify(sql, &state.chain, anchor))?;
            // What was found is true whether the anchor moves on or not: a full disk is no
            // change of the chain. It is written with the next record.
            if let Some(head) = head
                && let Err(error) = state.anchor_own(ToAnchor::written(head))
            {
                tracing::warn!(%error, "the daemon's audit chain could not be anchored yet");
            }
            Ok(report)
        })
        .await
    }
}
