//! Search in SQLite: messages of one scope, those that wait to be indexed among them.

use super::index::Document;
use super::places::{first_id, last_id, split};
use super::postings::{Postings, Table};
use super::rank::{self, Beside, Ranked};
use super::scopes;
use super::sql::bad_value;
use super::vectors;
use crate::message::Role;
use crate::parts;
use crate::query::Query;
use crate::search::Hit;
use crate::snippet::{Meant, Snippet};
use crate::vectors::{Near, VectorKind, fused};
use insula_world::Timestamp;
use rusqlite::Connection;

/// The index over messages.
const MESSAGES: Table = Table {
    matches: "SELECT message, weight FROM posting WHERE scope = ?1 AND term = ?2
              ORDER BY message DESC LIMIT ?3",
    next_term: "SELECT term FROM posting WHERE scope = ?1 AND term > ?2 AND term < ?3
                ORDER BY term LIMIT 1",
    between: "SELECT message FROM posting WHERE scope = ?1 AND term = ?2
              AND message BETWEEN ?3 AND ?4 ORDER BY message",
    before: "SELECT message FROM posting WHERE scope = ?1 AND term = ?2
             AND message BETWEEN ?3 AND ?4 ORDER BY message DESC LIMIT ?5",
    after: "SELECT message FROM posting WHERE scope = ?1 AND term = ?2
            AND message BETWEEN ?3 AND ?4 ORDER BY message LIMIT ?5",
    conversation: |message| {
        let (session, _) = split(message);
        (first_id(session), last_id(session))
    },
};

/// In a conversation an answer is where its question is.
const IN_CONVERSATION: Beside = Beside { weights: [0.5, 0.3], finds_silent: true };

/// How many of each list are joined: what is far down in both is not worth a look.
pub(crate) const FUSED_DEPTH: usize = 50;

/// The best matches of a query in a scope.
pub(crate) fn search(
    sql: &Connection,
    scope: &str,
    query: &str,
    limit: usize,
) -> rusqlite::Result<Vec<Hit>> {
    // One look at the file for all that follows.
    let _together = sql.unchecked_transaction()?;
    let Some(scope) = scopes::find(sql, scope)? else { return Ok(Vec::new()) };
    let Ranked { best, meant } = ranked(sql, scope, query, limit)?;
    best.into_iter().map(|(message, score)| hit(sql, message, score, &meant)).collect()
}

/// The same joined with what is near in meaning.
pub(crate) fn search_near(
    sql: &Connection,
    scope: &str,
    query: &str,
    near: &Near,
    limit: usize,
) -> rusqlite::Result<Vec<Hit>> {
    let _together = sql.unchecked_transaction()?;
    let Some(scope) = scopes::find(sql, scope)? else { return Ok(Vec::new()) };
    let deep = limit.max(FUSED_DEPTH);
    let Ranked { best, meant } = ranked(sql, scope, query, deep)?;
    let by_words: Vec<i64> = best.into_iter().map(|(message, _)| message).collect();
    let by_meaning = vectors::nearest(sql, scope, VectorKind::Messages, near, deep)?;
    let all = fused(&by_words, &by_meaning, limit).into_iter();
    all.map(|(message, score)| hit(sql, message, score, &meant)).collect()
}

/// The best matches of a query in a scope, by number.
fn ranked(sql: &Connection, scope: i64, query: &str, limit: usize) -> rusqlite::Result<Ranked> {
    let asked = Query::read(query);
    if asked.wanted.is_empty() || limit == 0 {
        return Ok(Ranked::default());
    }
    let (mut documents, mut terms): (i64, i64) = sql
        .prepare_cached("SELECT documents, terms FROM scope WHERE id = ?1")?
        .query_row([scope], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let waiting = waiting(sql, scope)?;
    for (_, document) in &waiting {
        documents += 1;
        terms += i64::from(document.length);
    }
    if documents <= 0 {
        return Ok(Ranked::default());
    }
    let postings = Postings { sql, table: &MESSAGES, scope, waiting };
    rank::best(&postings, (documents, terms), &asked, limit, &IN_CONVERSATION)
}

/// The messages of a scope that wait to be indexed, in order.
fn waiting(sql: &Connection, scope: i64) -> rusqlite::Result<Vec<(i64, Document)>> {
    let waiting: Vec<(i64, Document)> = sql
        .prepare_cached(
            "SELECT message.id, message.parts FROM unindexed
             JOIN message ON message.id = unindexed.message WHERE unindexed.scope = ?1
             ORDER BY unindexed.message",
        )?
        .query_map([scope], |row| {
            let document = row.get_ref(1)?.as_blob().map(Document::of).unwrap_or_default();
            Ok((row.get(0)?, document))
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(waiting.into_iter().filter(|(_, document)| document.length > 0).collect())
}

fn hit(sql: &Connection, message: i64, score: f64, meant: &Meant) -> rusqlite::Result<Hit> {
    sql.prepare_cached("SELECT role, at, parts, label, principal FROM message WHERE id = ?1")?
        .query_row([message], |row| {
            let (session, seq) = split(message);
            let bytes = row.get_ref(2)?.as_blob().map_err(|_| bad_value(2))?;
            let mut snippet = Snippet::default();
            let _ = parts::words(bytes, |text| snippet.offer(text, meant));
            Ok(Hit {
                session,
                seq,
                role: Role::from_code(row.get(0)?).ok_or_else(|| bad_value(0))?,
                principal: row.get::<_, String>(4)?.into(),
                at: Timestamp::from_millis(row.get(1)?),
                label: row.get::<_, String>(3)?.into(),
                score,
                snippet: snippet.text,
                marks: snippet.marks,
            })
        })
}
