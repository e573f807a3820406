//! Forgetting a conversation: all that was said in it, wherever it is kept.

use super::places::{first_id, last_id};
use super::sql::CommandFault;
use super::{approvals, course, index, ingress, lineage, memory, outbox, sessions, shown, steps};
use crate::error::StoreError;
use crate::id::SessionId;
use crate::session::SessionRef;
use crate::turn::TurnStatus;
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};

/// Erases all that was said in a session, and what only that was shown with. A session that is not there, or was forgotten
/// already, has nothing to erase.
pub(crate) fn session(sql: &Connection, id: SessionId, at: Timestamp) -> Result<(), CommandFault> {
    one(sql, id, at)?;
    Ok(shown::sweep(sql)?)
}

fn one(sql: &Connection, id: SessionId, at: Timestamp) -> Result<(), CommandFault> {
    match sessions::resolve(sql, &SessionRef::Id(id)) {
        Ok(_) => {}
        Err(CommandFault::Refused(StoreError::NoSession { .. })) => return Ok(()),
        Err(fault) => return Err(fault),
    }
    let (low, high) = (first_id(id), last_id(id));
    let current: Option<String> = sql
        .prepare_cached("SELECT key FROM session WHERE id = ?1 AND ended_at IS NULL")?
        .query_row([id.0], |row| row.get(0))
        .optional()?;
    if let Some(key) = current {
        ingress::forget(sql, &key)?;
    }
    index::forget(sql, low, high)?;
    approvals::forget(sql, id)?;
    outbox::write::forget(sql, id)?;
    memory::write::thaw(sql, id)?;
    // Every turn of the session has at least the message that began it.
    let turns: Vec<i64> = sql
        .prepare("SELECT DISTINCT turn FROM message WHERE id BETWEEN ?1 AND ?2 AND turn NOT NULL")?
        .query_map((low, high), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for turn in turns {
        sql.prepare_cached(
            "UPDATE turn SET error = NULL, reply = NULL,
                 ended_at = iif(status = 0, ?2, ended_at), status = iif(status = 0, ?3, status)
             WHERE id = ?1",
        )?
        .execute((turn, at.as_millis(), TurnStatus::Stopped.code()))?;
        let steps = steps::ids_of(turn);
        sql.prepare_cached("DELETE FROM step WHERE id BETWEEN ?1 AND ?2")?
            .execute((*steps.start(), *steps.end()))?;
        course::forget(sql, turn)?;
        shown::forget(sql, turn)?;
    }
    sql.prepare_cached("DELETE FROM message WHERE id BETWEEN ?1 AND ?2")?.execute((low, high))?;
    sql.prepare_cached(
        "UPDATE session SET title = NULL, summary = NULL, summary_upto = NULL, forgotten = 1,
             notes_wished = 0, ended_at = coalesce(ended_at, ?2) WHERE id = ?1",
    )?
    .execute((id.0, at.as_millis()))?;
    // What children said of it is said of it too.
    for child in lineage::sessions_below(sql, id)? {
        one(sql, child, at)?;
    }
    Ok(())
}
