//! Whose child a turn is, in SQLite: who pays for it, and what ends with its parent.

use super::turn_reads;
use super::usage;
use crate::id::{SessionId, TurnId};
use crate::turn::{ChildTurn, TurnStatus};
use crate::usage::Usage;
use insula_world::Timestamp;
use rusqlite::Connection;

/// Most children of a turn that one read returns: more than any limit on children allows.
const CHILDREN_MAX: i64 = 10_000;

/// The turns above `?1`, without it.
const ABOVE: &str = "WITH RECURSIVE above (id) AS (
    SELECT parent FROM child WHERE turn = ?1
    UNION ALL SELECT child.parent FROM child JOIN above ON child.turn = above.id)";

/// The turns below `?1`, without it.
const BELOW: &str = "WITH RECURSIVE below (id) AS (
    SELECT turn FROM child WHERE parent = ?1
    UNION ALL SELECT child.turn FROM child JOIN below ON child.parent = below.id)";

/// Adds what a child used to what the turns above it have used. Whoever pays for it was
/// charged with the child's own turn.
pub(crate) fn charge(sql: &Connection, child: TurnId, usage: Usage) -> rusqlite::Result<()> {
    let [input, output, cached, reasoning, cost] = usage::columns(usage);
    sql.prepare_cached(&format!(
        "{ABOVE} UPDATE turn SET input = input + ?2, output = output + ?3, cached = cached + ?4,
             reasoning = reasoning + ?5, cost_micros = cost_micros + ?6
         WHERE id IN (SELECT id FROM above)"
    ))?
    .execute((child.0, input, output, cached, reasoning, cost))
    .map(drop)
}

/// Stops what is unfinished below a turn that is over.
pub(crate) fn stop_below(sql: &Connection, turn: TurnId, at: Timestamp) -> rusqlite::Result<()> {
    // Walking down costs a table of its own, and most turns began nobody.
    if !sql.prepare_cached("SELECT 1 FROM child WHERE parent = ?1 LIMIT 1")?.exists([turn.0])? {
        return Ok(());
    }
    sql.prepare_cached(&format!(
        "{BELOW} UPDATE turn SET status = ?2, ended_at = ?3
         WHERE status = 0 AND id IN (SELECT id FROM below)"
    ))?
    .execute((turn.0, TurnStatus::Stopped.code(), at.as_millis()))
    .map(drop)
}

/// The sessions of children that worked for this one.
pub(crate) fn sessions_below(
    sql: &Connection,
    session: SessionId,
) -> rusqlite::Result<Vec<SessionId>> {
    sql.prepare_cached("SELECT id FROM session WHERE parent = ?1")?
        .query_map([session.0], |row| row.get(0).map(SessionId))?
        .collect()
}

/// The children that a turn began itself, in their order.
pub(crate) fn children(sql: &Connection, turn: TurnId) -> rusqlite::Result<Vec<ChildTurn>> {
    let rows: Vec<(i64, u32, u32)> = sql
        .prepare_cached(
            "SELECT turn, step, number FROM child WHERE parent = ?1
             ORDER BY step, number LIMIT ?2",
        )?
        .query_map((turn.0, CHILDREN_MAX), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut children = Vec::with_capacity(rows.len());
    for (id, step, number) in rows {
        if let Some(turn) = turn_reads::get(sql, TurnId(id))? {
            children.push(ChildTurn { turn, step, number });
        }
    }
    Ok(children)
}

/// How many turns there are below one.
pub(crate) fn count_below(sql: &Connection, turn: TurnId) -> rusqlite::Result<u32> {
    sql.prepare_cached(&format!("{BELOW} SELECT count(*) FROM below"))?
        .query_row([turn.0], |row| row.get(0))
}
