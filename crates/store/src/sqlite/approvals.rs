//! Approvals in SQLite: a row while a call waits, and grants that stay.

use crate::approval::{APPROVALS_MAX, Approval, GRANTS_MAX, Grant};
use crate::id::{SessionId, TurnId};
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};

/// What stands for all sessions.
const EVERY: i64 = 0;

pub(crate) fn ask(sql: &Connection, new: &Approval) -> rusqlite::Result<()> {
    // A call is asked about once: whoever asks again after a crash takes the old one's place.
    sql.prepare_cached("DELETE FROM approval WHERE turn = ?1 AND call = ?2")?
        .execute((new.turn.0, &*new.call))?;
    sql.prepare_cached(
        "INSERT INTO approval VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute((
        &*new.id,
        new.turn.0,
        new.session.0,
        &*new.call,
        &*new.tool,
        &new.invocation,
        &*new.rule,
        &new.what,
        new.principal.as_str(),
        new.asked_at.as_millis(),
        new.expires_at.as_millis(),
    ))
    .map(drop)
}

pub(crate) fn settle(sql: &Connection, id: &str, grant: Option<&Grant>) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM approval WHERE id = ?1")?.execute([id])?;
    if let Some(grant) = grant {
        sql.prepare_cached(
            "INSERT OR REPLACE INTO approval_grant
             (invocation, session, by, at, id, tool, rule, what, asked_in)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            &grant.invocation,
            grant.session.map_or(EVERY, |session| session.0),
            grant.by.as_str(),
            grant.at.as_millis(),
            &*grant.id,
            &*grant.tool,
            &*grant.rule,
            &grant.what,
            grant.asked_in.0,
        ))?;
    }
    Ok(())
}

/// Drops what a session asked for and was allowed.
pub(crate) fn forget(sql: &Connection, session: SessionId) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM approval WHERE session = ?1")?.execute([session.0])?;
    sql.prepare_cached("DELETE FROM approval_grant WHERE session = ?1")?.execute([session.0])?;
    // What it was allowed for good stays allowed, without its words.
    sql.prepare_cached("UPDATE approval_grant SET what = '' WHERE asked_in = ?1")?
        .execute([session.0])
        .map(drop)
}

/// Takes a grant back.
pub(crate) fn revoke(sql: &Connection, id: &str) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM approval_grant WHERE id = ?1")?.execute([id]).map(drop)
}

pub(crate) fn grants(sql: &Connection) -> rusqlite::Result<Vec<Grant>> {
    sql.prepare_cached(
        "SELECT invocation, session, by, at, id, tool, rule, what, asked_in FROM approval_grant
         ORDER BY at DESC, id LIMIT ?1",
    )?
    .query_map([GRANTS_MAX], read_grant)?
    .collect()
}

pub(crate) fn waiting(sql: &Connection) -> rusqlite::Result<Vec<Approval>> {
    sql.prepare_cached("SELECT * FROM approval ORDER BY asked_at, id LIMIT ?1")?
        .query_map([APPROVALS_MAX], read)?
        .collect()
}

pub(crate) fn granted(
    sql: &Connection,
    invocation: [u8; 32],
    session: SessionId,
) -> rusqlite::Result<Option<Grant>> {
    sql.prepare_cached(
        "SELECT invocation, session, by, at, id, tool, rule, what, asked_in FROM approval_grant
         WHERE invocation = ?1 AND session IN (?2, ?3) ORDER BY session LIMIT 1",
    )?
    .query_row((invocation, EVERY, session.0), read_grant)
    .optional()
}

fn read_grant(row: &Row<'_>) -> rusqlite::Result<Grant> {
    let text = |at: usize| row.get::<_, String>(at);
    let session: i64 = row.get(1)?;
    Ok(Grant {
        id: text(4)?.into(),
        invocation: row.get(0)?,
        session: (session != EVERY).then_some(SessionId(session)),
        by: text(2)?.as_str().into(),
        at: Timestamp::from_millis(row.get(3)?),
        tool: text(5)?.into(),
        rule: text(6)?.into(),
        what: text(7)?,
        asked_in: SessionId(row.get(8)?),
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<Approval> {
    let text = |at: usize| row.get::<_, String>(at);
    Ok(Approval {
        id: text(0)?.into(),
        turn: TurnId(row.get(1)?),
        session: SessionId(row.get(2)?),
        call: text(3)?.into(),
        tool: text(4)?.into(),
        invocation: row.get(5)?,
        rule: text(6)?.into(),
        what: text(7)?,
        principal: text(8)?.as_str().into(),
        asked_at: Timestamp::from_millis(row.get(9)?),
        expires_at: Timestamp::from_millis(row.get(10)?),
    })
}
