//! The index over fragments: postings keyed scope first, statistics of each scope, and search.

use crate::memory::{FragmentHit, FragmentId};
use crate::query::Query;
use crate::sqlite::find::FUSED_DEPTH;
use crate::sqlite::index::{COUNT_BITS, Document};
use crate::sqlite::postings::{Postings, Table};
use crate::sqlite::rank::{self, Beside};
use crate::sqlite::{scopes, vectors};
use crate::vectors::{Near, VectorKind, fused};
use rusqlite::{Connection, OptionalExtension as _};

/// The index over fragments.
const FRAGMENTS: Table = Table {
    matches: "SELECT fragment, weight FROM fragment_posting WHERE scope = ?1 AND term = ?2
              ORDER BY fragment DESC LIMIT ?3",
    next_term: "SELECT term FROM fragment_posting WHERE scope = ?1 AND term > ?2 AND term < ?3
                ORDER BY term LIMIT 1",
    between: "SELECT fragment FROM fragment_posting WHERE scope = ?1 AND term = ?2
              AND fragment BETWEEN ?3 AND ?4 ORDER BY fragment",
    before: "SELECT fragment FROM fragment_posting WHERE scope = ?1 AND term = ?2
             AND fragment BETWEEN ?3 AND ?4 ORDER BY fragment DESC LIMIT ?5",
    after: "SELECT fragment FROM fragment_posting WHERE scope = ?1 AND term = ?2
            AND fragment BETWEEN ?3 AND ?4 ORDER BY fragment LIMIT ?5",
    conversation: |_| (i64::MIN, i64::MAX),
};

/// What was learned one after the other often is about one thing, and still each entry has to
/// say something of what is asked.
const IN_MEMORY: Beside = Beside { weights: [0.2, 0.1], finds_silent: false };

/// Indexes a fragment.
pub(crate) fn add(sql: &Connection, scope: i64, id: i64, text: &str) -> rusqlite::Result<()> {
    let document = Document::of_text(text);
    if document.length == 0 {
        return Ok(());
    }
    let mut insert = sql.prepare_cached("INSERT INTO fragment_posting VALUES (?1, ?2, ?3, ?4)")?;
    for (term, weight) in document.postings() {
        insert.execute((scope, term, id, weight))?;
    }
    adjust(sql, scope, 1, i64::from(document.length))
}

/// Takes a fragment out again, exactly as it went in: what it weighs is read from the index.
pub(crate) fn remove(sql: &Connection, scope: i64, id: FragmentId) -> rusqlite::Result<()> {
    let weights: Vec<i64> = sql
        .prepare_cached(
            "DELETE FROM fragment_posting WHERE scope = ?1 AND fragment = ?2 RETURNING weight",
        )?
        .query_map((scope, id.0), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    match weights.first() {
        Some(weight) => adjust(sql, scope, -1, -(weight >> COUNT_BITS)),
        None => Ok(()),
    }
}

fn adjust(sql: &Connection, scope: i64, documents: i64, terms: i64) -> rusqlite::Result<()> {
    sql.prepare_cached(
        "INSERT INTO fragment_scope VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE
         SET documents = documents + excluded.documents, terms = terms + excluded.terms",
    )?
    .execute((scope, documents, terms))
    .map(drop)
}

/// Makes the index anew.
pub(crate) fn rebuild(sql: &Connection) -> rusqlite::Result<()> {
    sql.execute_batch("DELETE FROM fragment_posting; DELETE FROM fragment_scope;")?;
    let mut fragments =
        sql.prepare("SELECT scope, id, text FROM fragment WHERE blocked IS NULL")?;
    let mut rows = fragments.query([])?;
    while let Some(row) = rows.next()? {
        add(sql, row.get(0)?, row.get(1)?, row.get_ref(2)?.as_str()?)?;
    }
    Ok(())
}

/// The best matches of a query in a scope.
pub(crate) fn search(
    sql: &Connection,
    scope: &str,
    query: &str,
    limit: usize,
) -> rusqlite::Result<Vec<FragmentHit>> {
    let Some(scope) = scopes::find(sql, scope)? else { return Ok(Vec::new()) };
    hits(sql, ranked(sql, scope, query, limit)?)
}

/// The same joined with what is near in meaning.
pub(crate) fn search_near(
    sql: &Connection,
    scope: &str,
    query: &str,
    near: &Near,
    limit: usize,
) -> rusqlite::Result<Vec<FragmentHit>> {
    let Some(scope) = scopes::find(sql, scope)? else { return Ok(Vec::new()) };
    let deep = limit.max(FUSED_DEPTH);
    let by_words = ranked(sql, scope, query, deep)?;
    let by_words: Vec<i64> = by_words.into_iter().map(|(fragment, _)| fragment).collect();
    let by_meaning = vectors::nearest(sql, scope, VectorKind::Fragments, near, deep)?;
    hits(sql, fused(&by_words, &by_meaning, limit))
}

fn hits(sql: &Connection, ranked: Vec<(i64, f64)>) -> rusqlite::Result<Vec<FragmentHit>> {
    let mut hits = Vec::with_capacity(ranked.len());
    for (id, score) in ranked {
        let fragment = super::read::one(sql, FragmentId(id))?;
        hits.extend(fragment.map(|fragment| FragmentHit { fragment, score }));
    }
    Ok(hits)
}

/// The best matches of a query in a scope, by number.
fn ranked(
    sql: &Connection,
    scope: i64,
    query: &str,
    limit: usize,
) -> rusqlite::Result<Vec<(i64, f64)>> {
    let query = Query::read(query);
    let figures: Option<(i64, i64)> = sql
        .prepare_cached("SELECT documents, terms FROM fragment_scope WHERE scope = ?1")?
        .query_row([scope], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some(figures) = figures.filter(|(documents, _)| *documents > 0) else {
        return Ok(Vec::new());
    };
    if query.wanted.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let postings = Postings { sql, table: &FRAGMENTS, scope, waiting: Vec::new() };
    Ok(rank::best(&postings, figures, &query, limit, &IN_MEMORY)?.best)
}
