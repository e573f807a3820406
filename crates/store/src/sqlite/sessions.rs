//! Sessions in SQLite. What happens in a session does not touch its row: the place and time
//! of its newest message are read from the message.

use super::messages;
use super::places::WritableSession;
use super::scopes::{self, Scope};
use super::sql::CommandFault;
use crate::error::StoreError;
use crate::id::{MessageSeq, SessionId};
use crate::session::{
    NotesWish, OpenSession, SESSION_PAGE_MAX, SESSIONS_MAX, Session, SessionRef, SessionState,
    Summary,
};
use insula_domain::ScopeName;
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};

const SELECT: &str = "SELECT session.id, key, scope.name, label, title, created_at, touched_at,
    ended_at, forgotten, summary_upto, summary, model, notes_wished FROM session JOIN scope ON scope.id = session.scope";

/// Finds the current session of a key in this scope, or begins one.
pub(crate) fn open(sql: &Connection, open: &OpenSession) -> Result<WritableSession, CommandFault> {
    let current = sql
        .prepare_cached(
            "SELECT session.id, scope.id, scope.name, parent NOT NULL FROM session
             JOIN scope ON scope.id = session.scope WHERE key = ?1 AND ended_at IS NULL",
        )?
        .query_row([&open.key], place)
        .optional()?;
    match current {
        Some(place) if place.scope.name == open.scope => return Ok(place),
        Some(WritableSession { session, .. }) => end(sql, &SessionRef::Id(session), open.at)?,
        None => {}
    }
    let scope = Scope { id: scopes::intern(sql, open.scope.as_str())?, name: open.scope.clone() };
    let id = sql
        .prepare_cached(
            "INSERT INTO session (key, scope, label, created_at, touched_at)
             VALUES (?1, ?2, ?3, ?4, ?4)",
        )?
        .insert((&open.key, scope.id, &open.label, open.at.as_millis()))?;
    Ok(WritableSession { session: counted(id)?, scope, is_child: false })
}

/// The id of a new session, while there is room for it.
pub(crate) fn counted(id: i64) -> Result<SessionId, CommandFault> {
    if id > SESSIONS_MAX {
        let (len, max) = (usize::MAX, usize::try_from(SESSIONS_MAX).unwrap_or(usize::MAX));
        return Err(StoreError::TooLong { what: "the list of sessions", len, max }.into());
    }
    Ok(SessionId(id))
}

fn place(row: &Row<'_>) -> rusqlite::Result<WritableSession> {
    let scope = Scope { id: row.get(1)?, name: scopes::read(row, 2)? };
    Ok(WritableSession { session: SessionId(row.get(0)?), scope, is_child: row.get(3)? })
}

/// Ends a session, if it is there and goes on.
pub(crate) fn end(
    sql: &Connection,
    session: &SessionRef,
    at: Timestamp,
) -> Result<(), CommandFault> {
    match session {
        SessionRef::Id(id) => sql
            .prepare_cached("UPDATE session SET ended_at = ?2 WHERE id = ?1 AND ended_at IS NULL")?
            .execute((id.0, at.as_millis()))?,
        SessionRef::Key(key) => sql
            .prepare_cached("UPDATE session SET ended_at = ?2 WHERE key = ?1 AND ended_at IS NULL")?
            .execute((key, at.as_millis()))?,
    };
    Ok(())
}

/// Makes a session the current one of its key again.
pub(crate) fn resume(
    sql: &Connection,
    session: SessionId,
    at: Timestamp,
) -> Result<(), CommandFault> {
    let found: Option<Box<str>> = sql
        .prepare_cached(
            "SELECT key FROM session WHERE id = ?1 AND forgotten = 0 AND parent IS NULL",
        )?
        .query_row([session.0], |row| row.get(0))
        .optional()?;
    let Some(key) = found else {
        return Err(StoreError::NoSession { session: format!("session {session}") }.into());
    };
    sql.prepare_cached(
        "UPDATE session SET ended_at = ?3 WHERE key = ?1 AND ended_at IS NULL AND id <> ?2",
    )?
    .execute((&key, session.0, at.as_millis()))?;
    sql.prepare_cached(
        "UPDATE session SET ended_at = NULL, touched_at = max(touched_at, ?2) WHERE id = ?1",
    )?
    .execute((session.0, at.as_millis()))?;
    Ok(())
}

/// Sets or removes the model that is asked first in a session.
pub(crate) fn choose_model(
    sql: &Connection,
    session: &SessionRef,
    model: Option<&str>,
) -> Result<(), CommandFault> {
    let id = resolve(sql, session)?.session;
    sql.prepare_cached("UPDATE session SET model = ?2 WHERE id = ?1")?.execute((id.0, model))?;
    Ok(())
}

/// Notes that the older part of a session is to become notes, or that it was seen to.
pub(crate) fn wish_notes(
    sql: &Connection,
    session: &SessionRef,
    wish: NotesWish,
) -> Result<(), CommandFault> {
    let id = resolve(sql, session)?.session;
    let is_made = wish == NotesWish::Made;
    sql.prepare_cached("UPDATE session SET notes_wished = ?2 WHERE id = ?1")?
        .execute((id.0, is_made))?;
    Ok(())
}

/// A session that can be written to.
pub(crate) fn resolve(
    sql: &Connection,
    session: &SessionRef,
) -> Result<WritableSession, CommandFault> {
    let found = match session {
        SessionRef::Id(id) => sql
            .prepare_cached(
                "SELECT session.id, scope.id, scope.name, parent NOT NULL FROM session
                 JOIN scope ON scope.id = session.scope WHERE session.id = ?1 AND forgotten = 0",
            )?
            .query_row([id.0], place)
            .optional()?,
        SessionRef::Key(key) => sql
            .prepare_cached(
                "SELECT session.id, scope.id, scope.name, parent NOT NULL FROM session
                 JOIN scope ON scope.id = session.scope WHERE key = ?1 AND ended_at IS NULL",
            )?
            .query_row([key], place)
            .optional()?,
    };
    found.ok_or_else(|| {
        let session = match session {
            SessionRef::Id(id) => format!("session {id}"),
            SessionRef::Key(key) => format!("current session `{key}`"),
        };
        StoreError::NoSession { session }.into()
    })
}

/// Sets or removes a title.
pub(crate) fn title(
    sql: &Connection,
    session: &SessionRef,
    title: Option<&str>,
) -> Result<(), CommandFault> {
    let id = resolve(sql, session)?.session;
    sql.prepare_cached("UPDATE session SET title = ?2 WHERE id = ?1")?.execute((id.0, title))?;
    Ok(())
}

/// Sets or removes the pointer to a summary, which must be a message that is there.
pub(crate) fn summarise(
    sql: &Connection,
    session: &SessionRef,
    summary: Option<Summary>,
) -> Result<(), CommandFault> {
    let id = resolve(sql, session)?.session;
    if let Some(Summary { upto, message }) = summary {
        let last = messages::last(sql, id)?;
        let furthest = upto.0.max(message.0);
        if furthest > last.0 || message.0 == 0 {
            let session = format!("message {furthest} in session {id}");
            return Err(StoreError::NoSession { session }.into());
        }
    }
    let place = |seq: MessageSeq| seq.0.cast_signed();
    sql.prepare_cached(
        "UPDATE session SET summary_upto = ?2, summary = ?3, notes_wished = 0 WHERE id = ?1",
    )?
    .execute((id.0, summary.map(|it| place(it.upto)), summary.map(|it| place(it.message))))?;
    Ok(())
}

/// Marks a session as used.
pub(crate) fn touch(
    sql: &Connection,
    session: &SessionRef,
    at: Timestamp,
) -> Result<(), CommandFault> {
    let id = resolve(sql, session)?.session;
    sql.prepare_cached("UPDATE session SET touched_at = max(touched_at, ?2) WHERE id = ?1")?
        .execute((id.0, at.as_millis()))?;
    Ok(())
}

/// A session, if it is there.
pub(crate) fn get(sql: &Connection, session: &SessionRef) -> rusqlite::Result<Option<Session>> {
    let found = match session {
        SessionRef::Id(id) => sql
            .prepare_cached(&format!("{SELECT} WHERE session.id = ?1"))?
            .query_row([id.0], read)
            .optional()?,
        SessionRef::Key(key) => sql
            .prepare_cached(&format!("{SELECT} WHERE key = ?1 AND ended_at IS NULL"))?
            .query_row([key], read)
            .optional()?,
    };
    found.map(|session| with_last(sql, session)).transpose()
}

/// A page of conversations' sessions, newest first.
pub(crate) fn page(
    sql: &Connection,
    before: Option<SessionId>,
    limit: usize,
) -> rusqlite::Result<Vec<Session>> {
    let before = before.map_or(i64::MAX, |id| id.0);
    let limit = i64::try_from(limit.min(SESSION_PAGE_MAX)).unwrap_or(i64::MAX);
    let rows: Vec<Session> = sql
        .prepare_cached(&format!(
            "{SELECT} WHERE session.id < ?1 AND parent IS NULL ORDER BY session.id DESC LIMIT ?2"
        ))?
        .query_map((before, limit), read)?
        .collect::<rusqlite::Result<_>>()?;
    rows.into_iter().map(|session| with_last(sql, session)).collect()
}

/// Sessions of one scope, newest first.
pub(crate) fn page_in(
    sql: &Connection,
    scope: &ScopeName,
    before: Option<SessionId>,
    limit: usize,
) -> rusqlite::Result<Vec<Session>> {
    let Some(scope) = scopes::find(sql, scope.as_str())? else { return Ok(Vec::new()) };
    let before = before.map_or(i64::MAX, |id| id.0);
    let limit = i64::try_from(limit.min(SESSION_PAGE_MAX)).unwrap_or(i64::MAX);
    let rows: Vec<Session> = sql
        .prepare_cached(&format!(
            "{SELECT} WHERE session.scope = ?3 AND session.id < ?1 AND parent IS NULL
             ORDER BY session.id DESC LIMIT ?2"
        ))?
        .query_map((before, limit, scope), read)?
        .collect::<rusqlite::Result<_>>()?;
    rows.into_iter().map(|session| with_last(sql, session)).collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Session> {
    let seq = |column| -> rusqlite::Result<Option<MessageSeq>> {
        Ok(row.get::<_, Option<i64>>(column)?.map(|seq| MessageSeq(seq.cast_unsigned())))
    };
    let ended: Option<i64> = row.get(7)?;
    let state = match (ended, row.get::<_, bool>(8)?) {
        (_, true) => SessionState::Forgotten,
        (Some(_), false) => SessionState::Ended,
        (None, false) => SessionState::Current,
    };
    let active = row.get::<_, i64>(6)?.max(ended.unwrap_or(i64::MIN));
    Ok(Session {
        id: SessionId(row.get(0)?),
        key: row.get(1)?,
        scope: scopes::read(row, 2)?,
        label: row.get(3)?,
        title: row.get(4)?,
        created_at: Timestamp::from_millis(row.get(5)?),
        active_at: Timestamp::from_millis(active),
        state,
        summary: seq(9)?.zip(seq(10)?).map(|(upto, message)| Summary { upto, message }),
        last: MessageSeq::START,
        model: row.get(11)?,
        notes: if row.get(12)? { NotesWish::Made } else { NotesWish::Settled },
    })
}

fn with_last(sql: &Connection, mut session: Session) -> rusqlite::Result<Session> {
    if let Some((last, at)) = messages::newest(sql, session.id)? {
        session.last = last;
        session.active_at = session.active_at.max(at);
    }
    Ok(session)
}
