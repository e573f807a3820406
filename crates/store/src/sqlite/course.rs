//! How turns went, in the words of whoever runs them.

use crate::id::TurnId;
use crate::turn::{NOTES_PER_TURN_MAX, TurnNote};
use insula_world::Timestamp;
use rusqlite::Connection;

/// Adds a note to those of a turn. Of a turn that has too many, the later ones are left out: they
/// are for people who look, and nothing depends on them.
pub(crate) fn note(
    sql: &Connection,
    turn: TurnId,
    at: Timestamp,
    note: &str,
) -> rusqlite::Result<()> {
    sql.prepare_cached(
        "INSERT INTO turn_note (turn, number, at, note)
         SELECT ?1, 1 + coalesce(max(number), 0), ?2, ?3 FROM turn_note WHERE turn = ?1
         HAVING coalesce(max(number), 0) < ?4",
    )?
    .execute((turn.0, at.as_millis(), note, NOTES_PER_TURN_MAX))
    .map(drop)
}

/// The notes of a turn, in order.
pub(crate) fn notes(sql: &Connection, turn: TurnId) -> rusqlite::Result<Vec<TurnNote>> {
    sql.prepare_cached("SELECT number, at, note FROM turn_note WHERE turn = ?1 ORDER BY number")?
        .query_map([turn.0], |row| {
            Ok(TurnNote {
                number: row.get(0)?,
                at: Timestamp::from_millis(row.get(1)?),
                note: row.get::<_, String>(2)?.into(),
            })
        })?
        .collect()
}

/// Takes the notes of a turn away.
pub(crate) fn forget(sql: &Connection, turn: i64) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM turn_note WHERE turn = ?1")?.execute([turn]).map(drop)
}
