//! What models were shown: parts, frames, calls. What no call refers to any more is removed.

use super::sql::bad_value;
use crate::id::TurnId;
use crate::shown::{
    RecipeAgain, SHOWN_HOPS_MAX, SHOWN_TURNS_MAX, ShownAgain, ShownCall, ShownFrame, ShownSummary,
};
use rusqlite::{Connection, OptionalExtension as _, Row};

/// Every so many turns it is looked what is too old.
const PRUNE_EVERY: i64 = 128;

/// Writes down a call. Of a conversation that was forgotten meanwhile nothing is.
pub(crate) fn note(sql: &Connection, call: &ShownCall) -> rusqlite::Result<()> {
    let session: Option<i64> = sql
        .prepare_cached(
            "SELECT session.id FROM turn JOIN session ON session.id = turn.session
             WHERE turn.id = ?1 AND NOT session.forgotten",
        )?
        .query_row([call.turn.0], |row| row.get(0))
        .optional()?;
    let Some(session) = session else { return Ok(()) };
    let known: Option<i64> = sql
        .prepare_cached("SELECT id FROM shown_frame WHERE tag = ?1")?
        .query_row([&call.frame.tag], |row| row.get(0))
        .optional()?;
    let (frame, is_whole) = match known {
        Some(frame) => (frame, true),
        None => new_frame(sql, session, &call.frame)?,
    };
    let recipe = call.recipe.as_ref();
    let base = recipe.and_then(|it| it.base);
    let hash = is_whole.then_some(&call.hash);
    sql.prepare_cached(
        "INSERT OR IGNORE INTO shown_call VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute((
        call.turn.0,
        call.number,
        frame,
        &call.model,
        hash,
        call.bytes.cast_signed(),
        base.map(|(turn, ..)| turn.0),
        base.map(|(_, number, _)| number),
        base.map(|(.., bytes)| bytes),
        recipe.map(|it| &*it.tail),
    ))?;
    if call.number == 1 && call.turn.0 % PRUNE_EVERY == 0 {
        prune(sql, call.turn.0 - SHOWN_TURNS_MAX)?;
    }
    Ok(())
}

/// Writes a frame down, with those of its parts that are not there yet; and whether all of it
/// could be kept. Memory that was forgotten while a turn was shown it does not come back by it.
fn new_frame(sql: &Connection, session: i64, frame: &ShownFrame) -> rusqlite::Result<(i64, bool)> {
    let mut is_whole = frame.parts.is_some();
    let mut parts = Vec::new();
    for part in frame.parts.as_deref().unwrap_or_default() {
        let is_shown = part.chain.is_none()
            || sql
                .prepare_cached(
                    "SELECT 1 FROM memory_block WHERE session = ?1 AND CAST(text AS BLOB) = ?2",
                )?
                .exists((session, &part.bytes[..]))?;
        is_whole &= is_shown;
        let id = if is_shown { Some(part_of(sql, &part.bytes)?) } else { None };
        parts.push((part, id));
    }
    let tag = is_whole.then_some(&frame.tag);
    let id = sql.prepare_cached("INSERT INTO shown_frame (tag) VALUES (?1)")?.insert([tag])?;
    let mut insert =
        sql.prepare_cached("INSERT INTO shown_frame_part VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (number, (part, bytes)) in (0_i64..).zip(parts) {
        insert.execute((id, number, &part.name, &part.chain, bytes))?;
    }
    Ok((id, is_whole))
}

fn part_of(sql: &Connection, bytes: &[u8]) -> rusqlite::Result<i64> {
    let hash = blake3::hash(bytes);
    let known: Option<i64> = sql
        .prepare_cached("SELECT id FROM shown_part WHERE hash = ?1")?
        .query_row([hash.as_bytes()], |row| row.get(0))
        .optional()?;
    match known {
        Some(id) => Ok(id),
        None => sql
            .prepare_cached("INSERT INTO shown_part (hash, bytes) VALUES (?1, ?2)")?
            .insert((hash.as_bytes(), bytes)),
    }
}

/// The calls of a turn, in order.
pub(crate) fn calls(sql: &Connection, turn: TurnId) -> rusqlite::Result<Vec<ShownSummary>> {
    sql.prepare_cached(
        "SELECT number, model, hash, bytes FROM shown_call WHERE turn = ?1 ORDER BY number",
    )?
    .query_map([turn.0], summary)?
    .collect()
}

fn summary(row: &Row<'_>) -> rusqlite::Result<ShownSummary> {
    Ok(ShownSummary {
        number: row.get(0)?,
        model: row.get(1)?,
        hash: row.get(2)?,
        bytes: row.get::<_, i64>(3)?.cast_unsigned(),
    })
}

/// What is left of a call; `None` where nothing is known of it.
pub(crate) fn call(
    sql: &Connection,
    turn: TurnId,
    number: u32,
) -> rusqlite::Result<Option<ShownAgain>> {
    let found: Option<(ShownSummary, i64)> = sql
        .prepare_cached(
            "SELECT number, model, hash, bytes, frame FROM shown_call
             WHERE turn = ?1 AND number = ?2",
        )?
        .query_row((turn.0, number), |row| Ok((summary(row)?, row.get(4)?)))
        .optional()?;
    let Some((call, frame)) = found else { return Ok(None) };
    let parts = sql
        .prepare_cached(
            "SELECT name, shown_part.bytes FROM shown_frame_part
             LEFT JOIN shown_part ON shown_part.id = part WHERE frame = ?1 ORDER BY number",
        )?
        .query_map([frame], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Some(ShownAgain { call, parts, recipe: recipe(sql, turn, number)? }))
}

/// Where a recipe goes on from: turn and number of a call, and how much of its recipe.
type Base = (i64, u32, u32);

/// A recipe, put together of those that it goes on from.
fn recipe(sql: &Connection, turn: TurnId, number: u32) -> rusqlite::Result<RecipeAgain> {
    let mut tails: Vec<(u32, Vec<u8>)> = Vec::new();
    let mut next = Some((turn.0, number));
    while let Some((turn, number)) = next {
        if tails.len() > SHOWN_HOPS_MAX as usize {
            return Err(bad_value(6));
        }
        let found: Option<(Option<Base>, Option<Vec<u8>>)> = sql
            .prepare_cached(
                "SELECT base_turn, base_number, base_bytes, tail FROM shown_call
                 WHERE turn = ?1 AND number = ?2",
            )?
            .query_row((turn, number), |row| {
                let of: Option<i64> = row.get(0)?;
                let base = match of {
                    Some(of) => Some((of, row.get(1)?, row.get(2)?)),
                    None => None,
                };
                Ok((base, row.get(3)?))
            })
            .optional()?;
        let (base, tail) = match found {
            Some((base, Some(tail))) => (base, tail),
            Some((_, None)) if tails.is_empty() => return Ok(RecipeAgain::NeverKept),
            _ => return Ok(RecipeAgain::Gone),
        };
        tails.push((base.map_or(0, |(.., bytes)| bytes), tail));
        next = base.map(|(turn, number, _)| (turn, number));
    }
    let mut whole: Vec<u8> = Vec::new();
    for (kept, tail) in tails.into_iter().rev() {
        let kept = kept as usize;
        if kept > whole.len() {
            return Err(bad_value(6));
        }
        whole.truncate(kept);
        whole.extend_from_slice(&tail);
    }
    Ok(RecipeAgain::Whole(whole))
}

/// Takes away what models were shown in a turn. What only that referred to is swept after.
pub(crate) fn forget(sql: &Connection, turn: i64) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM shown_call WHERE turn = ?1")?.execute([turn]).map(drop)
}

/// Takes memory of a scope out of what sessions were shown: its words may be among those that are
/// forgotten. The hashes of the calls go as well.
pub(crate) fn forget_memory(sql: &Connection, scope: &str) -> rusqlite::Result<()> {
    const OF_SCOPE: &str = "SELECT part FROM shown_frame_part
        WHERE chain NOT NULL AND instr(' ' || chain || ' ', ?1) > 0 AND part NOT NULL";
    let scope = format!(" {scope} ");
    // The same words may stand in the frames of others.
    let frames = format!("SELECT frame FROM shown_frame_part WHERE part IN ({OF_SCOPE})");
    sql.prepare_cached(&format!("UPDATE shown_call SET hash = NULL WHERE frame IN ({frames})"))?
        .execute([&scope])?;
    sql.prepare_cached(&format!("UPDATE shown_frame SET tag = NULL WHERE id IN ({frames})"))?
        .execute([&scope])?;
    sql.prepare_cached(&format!("DELETE FROM shown_part WHERE id IN ({OF_SCOPE})"))?
        .execute([&scope])?;
    sql.prepare_cached(
        "UPDATE shown_frame_part SET part = NULL
         WHERE part NOT NULL AND part NOT IN (SELECT id FROM shown_part)",
    )?
    .execute([])
    .map(drop)
}

/// Removes what no call refers to.
pub(crate) fn sweep(sql: &Connection) -> rusqlite::Result<()> {
    for statement in [
        "DELETE FROM shown_frame WHERE NOT EXISTS
             (SELECT 1 FROM shown_call WHERE shown_call.frame = shown_frame.id)",
        "DELETE FROM shown_frame_part WHERE frame NOT IN (SELECT id FROM shown_frame)",
        "DELETE FROM shown_part WHERE NOT EXISTS
             (SELECT 1 FROM shown_frame_part WHERE shown_frame_part.part = shown_part.id)",
    ] {
        sql.prepare_cached(statement)?.execute([])?;
    }
    Ok(())
}

/// Takes away what was shown in turns up to one.
fn prune(sql: &Connection, upto: i64) -> rusqlite::Result<()> {
    let gone = sql.prepare_cached("DELETE FROM shown_call WHERE turn <= ?1")?.execute([upto])?;
    if gone > 0 { sweep(sql) } else { Ok(()) }
}
