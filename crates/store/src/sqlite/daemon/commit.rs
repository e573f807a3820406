//! What each command does to the daemon's database, and what a batch of them leaves to do.

use super::{State, lock, with_sync};
use crate::audit::Seq;
use crate::chain::Link;
use crate::daemon::DaemonCommand;
use crate::error::Result;
use crate::lease::Lease;
use crate::options::Durability;
use crate::sqlite::anchors::ToAnchor;
use crate::sqlite::audit::{self, FLUSH_EVERY};
use crate::sqlite::sql::Db;
use crate::sqlite::{born, directory, kept, ledger, queue, values};
use rusqlite::Connection;

/// Applies one command.
fn apply(
    sql: &Connection,
    state: &State,
    command: &DaemonCommand,
) -> rusqlite::Result<Option<Seq>> {
    match command {
        DaemonCommand::PutAgent(row) => directory::put(sql, &state.key, row)?,
        DaemonCommand::ForgetAgent(id) => directory::forget(sql, id)?,
        DaemonCommand::RenameAgent { from, to } => directory::rename(sql, from, to)?,
        DaemonCommand::QueueAudit(agent, entry) => queue::push(sql, agent, entry)?,
        DaemonCommand::Audit(entry) => {
            return audit::append(sql, &state.chain, &state.random, entry.clone()).map(Some);
        }
        DaemonCommand::SetWake { agent, at } => directory::set_wake(sql, agent, *at)?,
        DaemonCommand::PutValue { key, value } => values::put(sql, key, value)?,
        DaemonCommand::DropValue { key } => values::remove(sql, key)?,
        DaemonCommand::PruneEvents { before } => ledger::prune(sql, *before)?,
    }
    Ok(None)
}

/// Whether a change is one that an operator made, and not a part of what goes on by itself.
pub(super) fn is_operators(command: &DaemonCommand) -> bool {
    match command {
        DaemonCommand::PutAgent(_)
        | DaemonCommand::ForgetAgent(_)
        | DaemonCommand::RenameAgent { .. }
        | DaemonCommand::QueueAudit(..)
        | DaemonCommand::Audit(_) => true,
        DaemonCommand::SetWake { .. }
        | DaemonCommand::PutValue { .. }
        | DaemonCommand::DropValue { .. }
        | DaemonCommand::PruneEvents { .. } => false,
    }
}

/// Applies a batch whole, anchors what it added to the daemon's chain, and brings what is
/// remembered of the database in line with it.
pub(super) fn commit(
    db: &mut Db,
    state: &State,
    batch: &[DaemonCommand],
    lease: &Lease,
) -> Result<Vec<Seq>> {
    let records = batch.iter().filter_map(|command| match command {
        DaemonCommand::Audit(entry) => Some(entry),
        _ => None,
    });
    let first = records.map(|entry| entry.at).next();
    let (link, unflushed) = {
        let own = lock(&state.own);
        (own.link, own.unflushed)
    };
    // A tail that was lost is told before anything else is, and so that it is not lost again.
    let told = match link {
        Link::Lost(lost) => first.map(|at| lost.entry(at)),
        Link::Whole | Link::Broken => None,
    };
    let is_flushed = state.durability == Durability::Power
        || told.is_some()
        || (first.is_some() && unflushed + 1 >= FLUSH_EVERY);
    let durability = if is_flushed { Durability::Power } else { Durability::Process };
    let seqs = with_sync(db, durability, |db| {
        db.write_leased(lease, |sql| {
            if let Some(told) = &told {
                audit::append(sql, &state.chain, &state.random, told.clone())?;
            }
            batch.iter().filter_map(|command| apply(sql, state, command).transpose()).collect()
        })
    })?;
    let mut queued = lock(&state.queued);
    let mut erased = false;
    for command in batch {
        match command {
            DaemonCommand::QueueAudit(agent, _) => drop(queued.insert(agent.clone())),
            DaemonCommand::ForgetAgent(agent) => {
                queued.remove(agent);
                lock(&state.busy).remove(agent);
                lock(&state.heads).remove(agent);
                erased = true;
            }
            DaemonCommand::RenameAgent { from, to } => {
                if queued.remove(from) {
                    queued.insert(to.clone());
                }
                let mut busy = lock(&state.busy);
                if busy.remove(from) {
                    busy.insert(to.clone());
                }
                let mut heads = lock(&state.heads);
                if let Some(head) = heads.remove(from) {
                    heads.insert(to.clone(), head);
                }
            }
            _ => {}
        }
    }
    drop(queued);
    let names = |command: &DaemonCommand| {
        matches!(
            command,
            DaemonCommand::PutAgent(_)
                | DaemonCommand::ForgetAgent(_)
                | DaemonCommand::RenameAgent { .. }
        )
    };
    if batch.iter().any(names) {
        *lock(&state.born) = db.read(born::all)?;
    }
    let after = || -> Result<()> {
        if !Vec::is_empty(&seqs) && link != Link::Broken {
            let head = db.read(audit::head)?;
            {
                let mut own = lock(&state.own);
                own.link = Link::Whole;
                own.unflushed = if is_flushed { 0 } else { own.unflushed + 1 };
            }
            state.anchor_own(ToAnchor { head, is_flushed, goes_back: told.is_some() })?;
        }
        if !erased {
            return Ok(());
        }
        kept::forget(db.file());
        db.truncate_log()
    };
    if let Err(error) = after() {
        tracing::warn!(%error, "the daemon's audit chain could not be anchored yet");
    }
    Ok(seqs)
}
