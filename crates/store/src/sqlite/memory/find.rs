//! The index over fragments: postings keyed scope first, statistics of each scope, BM25.

use crate::memory::{FragmentHit, FragmentId};
use crate::search::{HITS_MAX, MATCHES_PER_TERM_MAX};
use crate::sqlite::find::{Bm25, forms, query_terms};
use crate::sqlite::index::{COUNT_BITS, Document};
use crate::sqlite::scopes;
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::HashMap;

/// Indexes a fragment.
pub(crate) fn add(sql: &Connection, scope: i64, id: i64, text: &str) -> rusqlite::Result<()> {
    let document = Document::of_text(text);
    if document.length == 0 {
        return Ok(());
    }
    let mut insert = sql.prepare_cached("INSERT INTO fragment_posting VALUES (?1, ?2, ?3, ?4)")?;
    for (term, count) in &document.counts {
        insert.execute((scope, term, id, document.weight(*count)))?;
    }
    adjust(sql, scope, 1, i64::from(document.length))
}

/// Takes a fragment out again, exactly as it went in: what it weighs is read from the index,
/// so that it does not matter which version of the program put it there.
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

/// The best matches of a query in a scope.
pub(crate) fn search(
    sql: &Connection,
    scope: &str,
    query: &str,
    limit: usize,
) -> rusqlite::Result<Vec<FragmentHit>> {
    let wanted = query_terms(query);
    let Some(number) = scopes::find(sql, scope)? else { return Ok(Vec::new()) };
    let statistics: Option<(i64, i64)> = sql
        .prepare_cached("SELECT documents, terms FROM fragment_scope WHERE scope = ?1")?
        .query_row([number], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((documents, terms)) = statistics.filter(|(documents, _)| *documents > 0) else {
        return Ok(Vec::new());
    };
    let bm25 = Bm25::new(documents, terms);
    let most = i64::try_from(MATCHES_PER_TERM_MAX).unwrap_or(i64::MAX);
    let mut scores: HashMap<i64, f64> = HashMap::new();
    for term in &wanted {
        // Of the forms of one word, the one that counts most counts.
        let mut best: HashMap<i64, f64> = HashMap::new();
        for (form, counts) in forms(term) {
            let matches: Vec<(i64, i64)> = sql
                .prepare_cached(
                    "SELECT fragment, weight FROM fragment_posting WHERE scope = ?1 AND term = ?2
                     ORDER BY fragment DESC LIMIT ?3",
                )?
                .query_map((number, &*form, most), |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            let rarity = bm25.rarity(matches.len());
            for (fragment, weight) in matches {
                let score = counts * bm25.score(rarity, weight);
                let known = best.entry(fragment).or_default();
                *known = known.max(score);
            }
        }
        for (fragment, score) in best {
            *scores.entry(fragment).or_default() += score;
        }
    }
    let mut best: Vec<(i64, f64)> = scores.into_iter().collect();
    best.sort_unstable_by(|(a, x), (b, y)| y.total_cmp(x).then(b.cmp(a)));
    best.truncate(limit.min(HITS_MAX));
    let mut hits = Vec::with_capacity(best.len());
    for (id, score) in best {
        let fragment = super::read::one(sql, FragmentId(id))?;
        hits.extend(fragment.map(|fragment| FragmentHit { fragment, score }));
    }
    Ok(hits)
}
