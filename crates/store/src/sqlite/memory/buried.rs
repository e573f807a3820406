//! What is not learned again: messages of which something was forgotten, also when they are
//! said again by a retry, and words that a stale copy of a mirror could bring back.

use crate::chain::{Bytes32, Chain};
use crate::error::StoreError;
use crate::id::{MessageSeq, SessionId};
use crate::memory::{FragmentId, ListName, MemoryList, MemoryOrigin};
use crate::sqlite::places::{first_id, id_of};
use crate::sqlite::scopes;
use crate::sqlite::sql::{CommandFault, bad_value};
use rusqlite::{Connection, OptionalExtension as _};

/// How often a message may have been said again by a retry and still be known for the same.
const RETRIES_MAX: usize = 1_000;

/// Buries the message that a fragment was learned from.
pub(super) fn bury_message(sql: &Connection, id: FragmentId) -> rusqlite::Result<()> {
    sql.prepare_cached(
        "INSERT OR IGNORE INTO tombstone SELECT session, message FROM provenance
         WHERE seq = ?1 AND session NOT NULL AND message NOT NULL",
    )?
    .execute([id.0])
    .map(drop)
}

/// Refuses to learn from a message of which something was forgotten.
pub(super) fn refuse(sql: &Connection, origin: &MemoryOrigin) -> Result<(), CommandFault> {
    let (Some(session), Some(message)) = (origin.session, origin.message) else { return Ok(()) };
    let is_any = sql
        .prepare_cached("SELECT 1 FROM tombstone WHERE session = ?1 LIMIT 1")?
        .query_row([session.0], |_| Ok(()))
        .optional()?;
    if is_any.is_none() {
        return Ok(());
    }
    let mut said = Some(message);
    for _ in 0..RETRIES_MAX {
        let Some(one) = said else { break };
        if is_buried(sql, session, one)? {
            return Err(StoreError::Buried { session, message }.into());
        }
        said = said_before(sql, session, one)?;
    }
    Ok(())
}

fn is_buried(sql: &Connection, session: SessionId, message: MessageSeq) -> rusqlite::Result<bool> {
    sql.prepare_cached("SELECT 1 FROM tombstone WHERE session = ?1 AND message = ?2")?
        .exists((session.0, message.0.cast_signed()))
}

/// The message that this one says again: a retry replaces the turn right before its own.
fn said_before(
    sql: &Connection,
    session: SessionId,
    message: MessageSeq,
) -> rusqlite::Result<Option<MessageSeq>> {
    let before: Option<i64> = sql
        .prepare_cached(
            "SELECT turn FROM message WHERE id > ?1 AND id < ?2 AND turn NOT NULL
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row((first_id(session), id_of(session, message)), |row| row.get(0))
        .optional()?;
    let Some(turn) = before else { return Ok(None) };
    let first: Option<i64> = sql
        .prepare_cached("SELECT message FROM turn WHERE id = ?1 AND replaced = 1")?
        .query_row([turn], |row| row.get(0))
        .optional()?;
    Ok(first.map(|first| MessageSeq(first.cast_unsigned())).filter(|first| *first < message))
}

/// What words in a list are known by after they are gone. Blank space does not matter.
pub(super) fn tag(chain: &Chain, scope: &str, target: MemoryList, text: &str) -> Bytes32 {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let bytes = [scope.as_bytes(), &[0], &target.code().to_le_bytes(), words.as_bytes()].concat();
    chain.tag("forgotten words", &bytes)
}

/// Buries words that are forgotten.
pub(super) fn bury_text(
    sql: &Connection,
    scope: i64,
    target: MemoryList,
    tag: &Bytes32,
) -> rusqlite::Result<()> {
    sql.prepare_cached("INSERT OR IGNORE INTO forgotten_text VALUES (?1, ?2, ?3)")?
        .execute((scope, target.code(), tag))
        .map(drop)
}

/// Words that were said anew are not forgotten any more.
pub(super) fn unbury_text(
    sql: &Connection,
    scope: i64,
    target: MemoryList,
    tag: &Bytes32,
) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM forgotten_text WHERE scope = ?1 AND target = ?2 AND tag = ?3")?
        .execute((scope, target.code(), tag))
        .map(drop)
}

/// Notes the words of a fragment that is removed, should it be forgotten later.
pub(super) fn note_removed(
    sql: &Connection,
    id: FragmentId,
    tag: &Bytes32,
) -> rusqlite::Result<()> {
    sql.prepare_cached("INSERT OR REPLACE INTO removed_text VALUES (?1, ?2)")?
        .execute((id.0, tag))
        .map(drop)
}

/// Buries the words of a fragment that was removed before.
pub(super) fn bury_removed(
    sql: &Connection,
    scope: i64,
    target: MemoryList,
    id: FragmentId,
) -> rusqlite::Result<()> {
    let tag: Option<Bytes32> = sql
        .prepare_cached("DELETE FROM removed_text WHERE fragment = ?1 RETURNING tag")?
        .query_row([id.0], |row| row.get(0))
        .optional()?;
    match tag {
        Some(tag) => bury_text(sql, scope, target, &tag),
        None => Ok(()),
    }
}

/// Which of some words were forgotten in a list.
pub(crate) fn texts(
    sql: &Connection,
    chain: &Chain,
    scope: &str,
    target: MemoryList,
    texts: &[String],
) -> rusqlite::Result<Vec<bool>> {
    let Some(number) = scopes::find(sql, scope)? else { return Ok(vec![false; texts.len()]) };
    let mut known = sql.prepare_cached(
        "SELECT 1 FROM forgotten_text WHERE scope = ?1 AND target = ?2 AND tag = ?3",
    )?;
    let is_forgotten =
        |text: &String| known.exists((number, target.code(), tag(chain, scope, target, text)));
    texts.iter().map(is_forgotten).collect()
}

/// Notes that the files of a list may have what was forgotten.
pub(super) fn erasure_due(
    sql: &Connection,
    scope: i64,
    target: MemoryList,
) -> rusqlite::Result<()> {
    sql.prepare_cached("INSERT OR IGNORE INTO erasure_due VALUES (?1, ?2)")?
        .execute((scope, target.code()))
        .map(drop)
}

/// Whether they may.
pub(super) fn is_due(sql: &Connection, scope: i64, target: MemoryList) -> rusqlite::Result<bool> {
    sql.prepare_cached("SELECT 1 FROM erasure_due WHERE scope = ?1 AND target = ?2")?
        .exists((scope, target.code()))
}

/// Notes that they do not any more.
pub(super) fn erased(sql: &Connection, scope: &str, target: MemoryList) -> rusqlite::Result<()> {
    let Some(number) = scopes::find(sql, scope)? else { return Ok(()) };
    sql.prepare_cached("DELETE FROM erasure_due WHERE scope = ?1 AND target = ?2")?
        .execute((number, target.code()))
        .map(drop)
}

/// The lists whose files may have what was forgotten.
pub(crate) fn due(sql: &Connection) -> rusqlite::Result<Vec<ListName>> {
    sql.prepare_cached(
        "SELECT scope.name, target FROM erasure_due JOIN scope ON scope.id = erasure_due.scope
         ORDER BY scope.name, target",
    )?
    .query_map([], |row| {
        Ok((scopes::read(row, 0)?, MemoryList::from_code(row.get(1)?).ok_or_else(|| bad_value(1))?))
    })?
    .collect()
}
