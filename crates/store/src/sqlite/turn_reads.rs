//! Reading turns and their steps back: one by one, and all that are not finished.

use super::sql::bad_value;
use super::steps::{self, kind};
use super::usage;
use crate::id::{MessageSeq, SessionId, TurnId};
use crate::sqlite::sql::actor;
use crate::turn::{
    Cut, Step, StepKind, TURN_PAGE_MAX, Turn, TurnStatus, UNFINISHED_MAX, UnfinishedTurn,
};
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};

const COLUMNS: &str = "turn.id, turn.session, turn.message, turn.principal, turn.status,
    turn.reply, turn.error, turn.accepted_at, turn.ended_at, turn.input, turn.output, turn.cached,
    turn.reasoning, turn.cost_micros, turn.cut";

/// Which turns are not finished.
const UNFINISHED: &str = "turn.id >= (SELECT from_turn FROM unfinished) AND turn.status = 0";

/// A turn, if it is there.
pub(crate) fn get(sql: &Connection, turn: TurnId) -> rusqlite::Result<Option<Turn>> {
    sql.prepare_cached(&format!("SELECT {COLUMNS} FROM turn WHERE id = ?1"))?
        .query_row([turn.0], read)
        .optional()
}

/// Turns of conversations before this one, newest first. Of what was forgotten none is there.
pub(crate) fn page(
    sql: &Connection,
    before: Option<TurnId>,
    limit: usize,
) -> rusqlite::Result<Vec<Turn>> {
    let before = before.map_or(i64::MAX, |turn| turn.0);
    let limit = i64::try_from(limit.min(TURN_PAGE_MAX)).unwrap_or(i64::MAX);
    sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM turn JOIN session ON session.id = turn.session
         WHERE turn.id < ?1 AND NOT session.forgotten AND session.parent IS NULL
         ORDER BY turn.id DESC LIMIT ?2"
    ))?
    .query_map((before, limit), read)?
    .collect()
}

/// The steps of a turn, in order.
pub(crate) fn steps(sql: &Connection, turn: TurnId) -> rusqlite::Result<Vec<Step>> {
    let ids = steps::ids_of(turn.0);
    sql.prepare_cached(
        "SELECT id, kind, at, call, name, message FROM step
         WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
    )?
    .query_map((*ids.start(), *ids.end()), read_step)?
    .collect()
}

/// Whether a turn is not finished, or a message waits for one.
pub(crate) fn any_unfinished(sql: &Connection) -> rusqlite::Result<bool> {
    if super::ingress::any_waiting(sql)? {
        return Ok(true);
    }
    sql.prepare_cached(&format!("SELECT 1 FROM turn WHERE {UNFINISHED} LIMIT 1"))?.exists([])
}

/// Moves the mark before which all turns are finished. Called now and then.
pub(crate) fn settle(sql: &Connection) -> rusqlite::Result<()> {
    sql.prepare_cached(&format!(
        "UPDATE unfinished SET from_turn = coalesce(
             (SELECT min(turn.id) FROM turn WHERE {UNFINISHED}), (SELECT max(id) + 1 FROM turn),
             from_turn)"
    ))?
    .execute([])
    .map(drop)
}

/// The turns that are not finished, oldest first, with their steps. Those of children are left
/// out: whoever goes on with their parents finds them.
pub(crate) fn unfinished(sql: &Connection) -> rusqlite::Result<Vec<UnfinishedTurn>> {
    let limit = i64::try_from(UNFINISHED_MAX).unwrap_or(i64::MAX);
    let mut turns: Vec<UnfinishedTurn> = sql
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, session.key, turn.said_at FROM turn JOIN session ON session.id = turn.session
             WHERE {UNFINISHED} AND session.parent IS NULL ORDER BY turn.id LIMIT ?1"
        ))?
        .query_map([limit], |row| {
            Ok(UnfinishedTurn {
                turn: read(row)?,
                key: row.get(15)?,
                said_at: row.get(16)?,
                steps: Vec::new(),
            })
        })?
        .collect::<rusqlite::Result<_>>()?;
    for unfinished in &mut turns {
        unfinished.steps = steps(sql, unfinished.turn.id)?;
    }
    Ok(turns)
}

fn seq(value: i64) -> MessageSeq {
    MessageSeq(value.cast_unsigned())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Turn> {
    Ok(Turn {
        id: TurnId(row.get(0)?),
        session: SessionId(row.get(1)?),
        message: seq(row.get(2)?),
        principal: actor(row, 3)?,
        status: TurnStatus::from_code(row.get(4)?).ok_or_else(|| bad_value(4))?,
        reply: row.get::<_, Option<i64>>(5)?.map(seq),
        cut: Cut::from_code(row.get(14)?).ok_or_else(|| bad_value(14))?,
        error: row.get(6)?,
        usage: usage::read(row, 9)?,
        accepted_at: Timestamp::from_millis(row.get(7)?),
        ended_at: row.get::<_, Option<i64>>(8)?.map(Timestamp::from_millis),
    })
}

fn read_step(row: &Row<'_>) -> rusqlite::Result<Step> {
    let message = || row.get::<_, i64>(5).map(seq);
    let kind = match row.get(1)? {
        kind::ANSWERED => StepKind::Answered { message: message()? },
        kind::CALL_BEGUN => StepKind::CallBegun { call: row.get(3)?, name: row.get(4)? },
        kind::CALL_ENDED => StepKind::CallEnded { call: row.get(3)?, message: message()? },
        kind::JOINED => StepKind::Joined { message: message()? },
        kind::SPENT => StepKind::Spent,
        _ => return Err(bad_value(1)),
    };
    let at = Timestamp::from_millis(row.get(2)?);
    Ok(Step { number: steps::number(row.get(0)?), at, kind })
}
