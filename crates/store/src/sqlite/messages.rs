//! Messages in SQLite: appended at the end of their session, read by keyset.

use super::index;
use super::places::{WritableSession, first_id, id_of, last_id, split};
use super::scopes::{self, Scope};
use super::sql::{CommandFault, bad_value};
use crate::error::StoreError;
use crate::id::{MessageSeq, SessionId, TurnId};
use crate::message::{
    MESSAGE_PAGE_BYTES_MAX, MESSAGE_PAGE_MAX, MESSAGES_PER_SESSION_MAX, Message, NewMessage, Role,
    Window,
};
use crate::parts;
use insula_domain::Actor;
use insula_domain::ScopeName;
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::sync::Arc;

const COLUMNS: &str = "id, turn, role, principal, scope, label, generation, at, parts";

/// The place of the newest message; [`MessageSeq::START`] if there is none.
pub(crate) fn last(sql: &Connection, session: SessionId) -> rusqlite::Result<MessageSeq> {
    let id: Option<i64> = sql
        .prepare_cached(
            "SELECT id FROM message WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1",
        )?
        .query_row((first_id(session), last_id(session)), |row| row.get(0))
        .optional()?;
    Ok(id.map_or(MessageSeq::START, |id| split(id).1))
}

/// The place and time of the newest message.
pub(crate) fn newest(
    sql: &Connection,
    session: SessionId,
) -> rusqlite::Result<Option<(MessageSeq, Timestamp)>> {
    sql.prepare_cached(
        "SELECT id, at FROM message WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1",
    )?
    .query_row((first_id(session), last_id(session)), |row| {
        Ok((split(row.get(0)?).1, Timestamp::from_millis(row.get(1)?)))
    })
    .optional()
}

/// The place after the newest message.
pub(crate) fn next(sql: &Connection, session: SessionId) -> Result<MessageSeq, CommandFault> {
    let last = last(sql, session)?.0;
    if last >= MESSAGES_PER_SESSION_MAX {
        return Err(full());
    }
    Ok(MessageSeq(last + 1))
}

fn full() -> CommandFault {
    let max = usize::try_from(MESSAGES_PER_SESSION_MAX).unwrap_or(usize::MAX);
    StoreError::TooLong { what: "a session", len: max.saturating_add(1), max }.into()
}

/// Writes a message at a place that [`next`] gave.
pub(crate) fn put(
    sql: &Connection,
    place: &WritableSession,
    seq: MessageSeq,
    turn: Option<TurnId>,
    message: &NewMessage,
) -> Result<(), CommandFault> {
    let id = id_of(place.session, seq);
    let scope = place.scope.or_intern(sql, &message.scope)?;
    sql.prepare_cached("INSERT INTO message VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
        .execute((
            id,
            turn.map(|turn| turn.0),
            message.role.code(),
            scope,
            message.principal.as_str(),
            &message.label,
            message.generation.cast_signed(),
            message.at.as_millis(),
            parts::encode(&message.parts),
        ))?;
    // What children say to themselves is no part of what was said in a scope.
    if !place.is_child {
        index::add(sql, id, scope, &message.parts)?;
    }
    Ok(())
}

/// Appends messages; the place of the first.
pub(crate) fn append(
    sql: &Connection,
    place: &WritableSession,
    turn: Option<TurnId>,
    messages: &[NewMessage],
) -> Result<MessageSeq, CommandFault> {
    let first = next(sql, place.session)?;
    for (seq, message) in (first.0..).map(MessageSeq).zip(messages) {
        if seq.0 > MESSAGES_PER_SESSION_MAX {
            return Err(full());
        }
        put(sql, place, seq, turn, message)?;
    }
    Ok(first)
}

/// The end of a session.
pub(crate) fn tail(
    sql: &Connection,
    session: SessionId,
    window: Window,
) -> rusqlite::Result<Vec<Message>> {
    // A subquery that names the session by value is evaluated once, over the few there are.
    let standing = "(turn IS NULL OR turn NOT IN
        (SELECT id FROM turn WHERE session = ?4 AND replaced = 1))";
    let mut statement = sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM message WHERE id > ?1 AND id <= ?2 AND {standing}
         ORDER BY id DESC LIMIT ?3"
    ))?;
    let limits = (first_id(session), last_id(session), page(window.messages), session.0);
    let mut rows = statement.query(limits)?;
    let mut messages = take(sql, &mut rows, window.bytes.min(MESSAGE_PAGE_BYTES_MAX))?;
    messages.reverse();
    Ok(messages)
}

/// Messages after a place.
pub(crate) fn after(
    sql: &Connection,
    session: SessionId,
    after: MessageSeq,
    limit: usize,
) -> rusqlite::Result<Vec<Message>> {
    let mut statement = sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM message WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3"
    ))?;
    let mut rows = statement.query((id_of(session, after), last_id(session), page(limit)))?;
    take(sql, &mut rows, MESSAGE_PAGE_BYTES_MAX)
}

/// Messages before a place, oldest first.
pub(crate) fn before(
    sql: &Connection,
    session: SessionId,
    before: MessageSeq,
    limit: usize,
) -> rusqlite::Result<Vec<Message>> {
    // The id of a place that is too large is the last one there can be, which is not before it.
    let upto = MessageSeq(before.0.saturating_sub(1));
    let mut statement = sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM message WHERE id > ?1 AND id <= ?2 ORDER BY id DESC LIMIT ?3"
    ))?;
    let mut rows = statement.query((first_id(session), id_of(session, upto), page(limit)))?;
    let mut messages = take(sql, &mut rows, MESSAGE_PAGE_BYTES_MAX)?;
    messages.reverse();
    Ok(messages)
}

/// Reads rows until their parts pass `bytes`. Rows beyond are never loaded.
fn take(
    sql: &Connection,
    rows: &mut rusqlite::Rows<'_>,
    bytes: usize,
) -> rusqlite::Result<Vec<Message>> {
    let (mut messages, mut used) = (Vec::new(), 0_usize);
    // The messages of a session share a scope: looked up once, not joined for each.
    let mut scope: Option<Scope> = None;
    while let Some(row) = rows.next()? {
        used = used.saturating_add(row.get_ref(8)?.as_blob().map_err(|_| bad_value(8))?.len());
        if used > bytes && !messages.is_empty() {
            break;
        }
        let id = row.get(4)?;
        let known = match scope.take() {
            Some(known) if known.id == id => known,
            _ => Scope { id, name: scopes::name(sql, id)? },
        };
        let message = read(row, &known.name, messages.last())?;
        messages.push(message);
        scope = Some(known);
    }
    Ok(messages)
}

/// How many messages a session has: places have no gaps.
pub(crate) fn count(sql: &Connection, session: SessionId) -> rusqlite::Result<u64> {
    last(sql, session).map(|last| last.0)
}

fn page(limit: usize) -> i64 {
    i64::try_from(limit.min(MESSAGE_PAGE_MAX)).unwrap_or(i64::MAX)
}

/// One message. Names that are the same as in the one before are shared with it: in most
/// sessions they are the same in all.
fn read(row: &Row<'_>, scope: &ScopeName, before: Option<&Message>) -> rusqlite::Result<Message> {
    let shared = |column, known: Option<&Arc<str>>| -> rusqlite::Result<Arc<str>> {
        let text = row.get_ref(column)?.as_str().map_err(|_| bad_value(column))?;
        Ok(known.filter(|known| ***known == *text).cloned().unwrap_or_else(|| text.into()))
    };
    let speaker = || -> rusqlite::Result<Actor> {
        let text = row.get_ref(3)?.as_str().map_err(|_| bad_value(3))?;
        let known = before.map(|it| &it.principal).filter(|known| known.as_str() == text);
        Ok(known.cloned().unwrap_or_else(|| text.into()))
    };
    let (session, seq) = split(row.get(0)?);
    let parts = row.get_ref(8)?.as_blob().ok().and_then(parts::decode);
    Ok(Message {
        session,
        seq,
        turn: row.get::<_, Option<i64>>(1)?.map(TurnId),
        role: Role::from_code(row.get(2)?).ok_or_else(|| bad_value(2))?,
        parts: parts.ok_or_else(|| bad_value(8))?,
        principal: speaker()?,
        scope: scope.clone(),
        label: shared(5, before.map(|it| &it.label))?,
        generation: row.get::<_, i64>(6)?.cast_unsigned(),
        at: Timestamp::from_millis(row.get(7)?),
    })
}
