//! Vectors in SQLite: what has none yet, keeping them, and what is near a question inside one
//! scope. Every one is compared: a scope has thousands, not millions.

use super::places::{first_id, last_id};
use super::scopes;
use crate::id::SessionId;
use crate::message::Role;
use crate::parts;
use crate::vectors::{
    Backlog, EMBEDDED_BYTES_MAX, Near, Unembedded, Vector, VectorKind, VectorModel,
};
use rusqlite::Connection;

/// Most sessions that are looked through for messages, the newest first.
const SESSIONS_MAX: i64 = 2_000;
/// Below this two texts have nothing to do with each other, whichever model says so.
const COSINE_MIN: f32 = 0.15;

/// What a scope has that a model has not seen, at most `limit` texts.
pub(crate) fn backlog(
    sql: &Connection,
    scope: &str,
    kind: VectorKind,
    model: VectorModel,
    limit: usize,
) -> rusqlite::Result<Backlog> {
    let Some(scope) = scopes::find(sql, scope)? else { return Ok(Backlog::default()) };
    match kind {
        VectorKind::Fragments => fragments(sql, scope, model, limit),
        VectorKind::Messages => messages(sql, scope, model, limit),
    }
}

fn fragments(
    sql: &Connection,
    scope: i64,
    model: VectorModel,
    limit: usize,
) -> rusqlite::Result<Backlog> {
    let texts = sql
        .prepare_cached(
            "SELECT fragment.id, fragment.text FROM fragment
             LEFT JOIN vector ON vector.scope = fragment.scope AND vector.kind = 0
                 AND vector.item = fragment.id AND vector.model = ?2
             WHERE fragment.scope = ?1 AND fragment.blocked IS NULL AND vector.item IS NULL
             LIMIT ?3",
        )?
        .query_map((scope, model.0, i64::try_from(limit).unwrap_or(i64::MAX)), |row| {
            Ok(Unembedded { item: row.get(0)?, text: cut(row.get_ref(1)?.as_str()?) })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(Backlog { texts, looked_through: Vec::new() })
}

fn messages(
    sql: &Connection,
    scope: i64,
    model: VectorModel,
    limit: usize,
) -> rusqlite::Result<Backlog> {
    let mut backlog = Backlog::default();
    let sessions: Vec<(i64, Option<i64>)> = sql
        .prepare_cached(
            "SELECT session.id, looked_through.upto FROM session
             LEFT JOIN looked_through ON looked_through.scope = ?1
                 AND looked_through.session = session.id AND looked_through.model = ?2
             WHERE session.parent IS NULL AND session.forgotten = 0
             ORDER BY session.id DESC LIMIT ?3",
        )?
        .query_map((scope, model.0, SESSIONS_MAX), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut said = sql.prepare_cached(
        "SELECT id, scope, role, parts FROM message WHERE id > ?1 AND id <= ?2 ORDER BY id",
    )?;
    for (session, upto) in sessions {
        let id = SessionId(session);
        let before = upto.unwrap_or_else(|| first_id(id));
        let mut seen = before;
        let mut rows = said.query((before, last_id(id)))?;
        while let Some(row) = rows.next()? {
            if backlog.texts.len() >= limit {
                break;
            }
            seen = row.get(0)?;
            let role = Role::from_code(row.get(2)?);
            if row.get::<_, i64>(1)? != scope || !matches!(role, Some(Role::User | Role::Assistant))
            {
                continue;
            }
            let mut text = String::new();
            let bytes = row.get_ref(3)?.as_blob().unwrap_or_default();
            let _ = parts::words(bytes, |words| {
                if text.len() < EMBEDDED_BYTES_MAX {
                    text.push_str(words);
                    text.push('\n');
                }
            });
            if !text.trim().is_empty() {
                backlog.texts.push(Unembedded { item: seen, text: cut(&text) });
            }
        }
        if seen > before {
            backlog.looked_through.push((session, seen));
        }
        if backlog.texts.len() >= limit {
            break;
        }
    }
    Ok(backlog)
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    let mut end = text.len().min(EMBEDDED_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().trim().to_owned()
}

/// Keeps vectors of one scope, as far as what they are of is still there, and in that scope.
pub(crate) fn put(
    sql: &Connection,
    scope: &str,
    (kind, model): (VectorKind, VectorModel),
    rows: &[(i64, Vector)],
    looked_through: &[(i64, i64)],
) -> rusqlite::Result<()> {
    let Some(scope) = scopes::find(sql, scope)? else { return Ok(()) };
    let kept = match kind {
        VectorKind::Fragments => {
            "INSERT OR REPLACE INTO vector SELECT scope, 0, id, ?3, ?4 FROM fragment
             WHERE scope = ?1 AND id = ?2 AND blocked IS NULL"
        }
        VectorKind::Messages => {
            "INSERT OR REPLACE INTO vector SELECT scope, 1, id, ?3, ?4 FROM message
             WHERE scope = ?1 AND id = ?2"
        }
    };
    let mut insert = sql.prepare_cached(kept)?;
    for (item, vector) in rows {
        insert.execute((scope, item, model.0, vector.to_bytes()))?;
    }
    let mut mark =
        sql.prepare_cached("INSERT OR REPLACE INTO looked_through VALUES (?1, ?2, ?3, ?4)")?;
    for (session, upto) in looked_through {
        mark.execute((scope, session, model.0, upto))?;
    }
    Ok(())
}

/// What is nearest to a question in a scope, the nearest first.
pub(crate) fn nearest(
    sql: &Connection,
    scope: i64,
    kind: VectorKind,
    near: &Near,
    limit: usize,
) -> rusqlite::Result<Vec<i64>> {
    let mut found: Vec<(i64, f32)> = Vec::new();
    let mut rows = sql.prepare_cached(
        "SELECT item, vector FROM vector WHERE scope = ?1 AND kind = ?2 AND model = ?3",
    )?;
    let mut rows = rows.query((scope, kind.code(), near.model.0))?;
    while let Some(row) = rows.next()? {
        let cosine = near.vector.cosine(row.get_ref(1)?.as_blob()?);
        if let Some(cosine) = cosine.filter(|it| *it >= COSINE_MIN) {
            found.push((row.get(0)?, cosine));
        }
    }
    // The newer of two that are as near.
    found.sort_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
    found.truncate(limit);
    Ok(found.into_iter().map(|(item, _)| item).collect())
}
