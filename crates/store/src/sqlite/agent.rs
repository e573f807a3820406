//! One agent's database, `agents/<id>/agent.db`, through its slot in the pool.

use super::open::Absent;
use super::pool::{AgentFile, Held, Pool, Slot};
use super::{audit, queue};
use crate::agent::{AgentCommand, Committed};
use crate::audit::{AuditRecord, AuditReport, Seq};
use crate::backend::AgentBackend;
use crate::chain::{Chain, Head, Walk};
use crate::error::Result;
use crate::fence::Fence;
use async_trait::async_trait;
use insula_world::Random;
use rusqlite::Connection;
use std::sync::Arc;

/// A handle on one agent's database.
pub(crate) struct SqliteAgent {
    pool: Arc<Pool>,
    slot: Arc<Slot>,
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
    ) -> Result<Option<(T, Held)>> {
        let held = self.pool.hold(&self.slot).await?;
        let queued = self.pool.daemon.is_queued(&self.slot.id);
        let absent = if queued { Absent::Create } else { absent };
        let Some(mut held) = self.pool.open(&self.slot, held, absent).await? else {
            return Ok(None);
        };
        if queued {
            held = self.take_in(held).await?;
        }
        self.job(held, work).await.map(Some)
    }

    /// One job on the storage executor, which holds the slot to its end whoever waits.
    async fn job<T: Send + 'static>(
        &self,
        mut held: Held,
        work: impl FnOnce(&mut AgentFile) -> Result<T> + Send + 'static,
    ) -> Result<(T, Held)> {
        let job = move || match held.file().and_then(work) {
            Ok(result) => Ok((result, held)),
            Err(error) => {
                held.close_after(&error);
                Err(error)
            }
        };
        self.pool.world.storage.run(job).await?
    }

    /// Moves the waiting audit records into the agent's chain.
    async fn take_in(&self, mut held: Held) -> Result<Held> {
        let mut head = None;
        loop {
            let records = self.pool.daemon.waiting(&self.slot.id).await?;
            let Some(last) = records.last().map(|record| record.id) else { break };
            let random = self.pool.world.random.clone();
            let moved = self.job(held, move |file| {
                let AgentFile { db, chain, linked, .. } = file;
                db.write(|sql| {
                    queue::take_in(sql, chain, &random, records)?;
                    anchorable(sql, *linked)
                })
            });
            (head, held) = moved.await?;
            self.pool.daemon.taken_in(&self.slot.id, last).await?;
        }
        if let Some(head) = head {
            self.pool.daemon.anchor(&self.slot.id, head).await;
        }
        Ok(held)
    }

    /// A read, empty where there is no file.
    async fn read<T: Default + Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let read = self.run(Absent::Leave, |file| file.db.read(work)).await?;
        Ok(read.map(|(result, _)| result).unwrap_or_default())
    }
}

/// The head to anchor, if the chain holds the one anchored before.
fn anchorable(sql: &Connection, linked: bool) -> rusqlite::Result<Option<Head>> {
    linked.then(|| audit::head(sql)).transpose()
}

/// Applies one command. A new family is an arm here and a file beside `audit`.
fn apply(
    sql: &Connection,
    chain: &Chain,
    random: &Random,
    command: AgentCommand,
    committed: &mut Committed,
) -> rusqlite::Result<()> {
    match command {
        AgentCommand::Audit(entry) => {
            committed.audit.push(audit::append(sql, chain, random, entry)?);
        }
        AgentCommand::EraseAuditContent(range) => audit::erase(sql, &range)?,
    }
    Ok(())
}

#[async_trait]
impl AgentBackend for SqliteAgent {
    async fn commit(&self, batch: Vec<AgentCommand>, fence: &Fence) -> Result<Committed> {
        let mut erases = false;
        for command in &batch {
            match command {
                AgentCommand::Audit(entry) => audit::check(entry)?,
                AgentCommand::EraseAuditContent(_) => erases = true,
            }
        }
        let (fence, random) = (fence.clone(), self.pool.world.random.clone());
        let work = move |file: &mut AgentFile| {
            let AgentFile { db, chain, linked, .. } = file;
            let done = db.write_fenced(&fence, |sql| {
                let mut committed = Committed::default();
                for command in batch {
                    apply(sql, chain, &random, command, &mut committed)?;
                }
                Ok((committed, anchorable(sql, *linked)?))
            })?;
            if erases && let Err(error) = db.truncate_log() {
                // Committed all the same; closing the file truncates too.
                tracing::warn!(%error, "erased content may stay in the log until it is closed");
            }
            Ok(done)
        };
        let Some(((committed, head), held)) = self.run(Absent::Create, work).await? else {
            return Ok(Committed::default());
        };
        if let Some(head) = head {
            self.pool.daemon.anchor(&self.slot.id, head).await;
        }
        // Held until here, so that retiring the agent waits for its anchor too.
        drop(held);
        Ok(committed)
    }

    async fn audit_after(&self, after: Seq, limit: usize) -> Result<Vec<AuditRecord>> {
        self.read(move |sql| audit::after(sql, after, limit)).await
    }

    async fn audit_tail(&self, limit: usize) -> Result<Vec<AuditRecord>> {
        self.read(move |sql| audit::tail(sql, limit)).await
    }

    async fn audit_verify(&self) -> Result<AuditReport> {
        // Opening first: what waited is anchored by then.
        let opened = self.run(Absent::Leave, |_| Ok(())).await?;
        let anchor = self.pool.daemon.anchor_of(&self.slot.id).await?;
        let Some(((), held)) = opened else {
            let chain = Chain::of_agent(self.pool.audit_key(), self.slot.id.as_str());
            return Ok(Walk::new(&chain, anchor).finish().0);
        };
        let verify = move |file: &mut AgentFile| {
            let chain = &file.chain;
            file.db.read(|sql| audit::verify(sql, chain, anchor))
        };
        let ((report, head), held) = self.job(held, verify).await?;
        if let Some(head) = head {
            self.pool.daemon.anchor(&self.slot.id, head).await;
        }
        drop(held);
        Ok(report)
    }
}
