//! Search in SQLite: BM25 over the postings of one scope, and over the messages of that scope
//! that wait to be indexed.

use super::index::{COUNT_BITS, Document};
use super::places::split;
use super::scopes;
use super::sql::bad_value;
use crate::inflection::{self, FORM_WEIGHT};
use crate::message::Role;
use crate::parts;
use crate::search::{HITS_MAX, Hit, MATCHES_PER_TERM_MAX, SNIPPET_BYTES_MAX, TERMS_PER_QUERY_MAX};
use crate::terms::{self, Flow};
use insula_world::Timestamp;
use rusqlite::Connection;
use std::collections::HashMap;
use std::ops::Range;

/// How soon more of the same term stops counting (BM25's k1).
const SATURATION: f64 = 1.2;

/// How much the length of a message counts (BM25's b).
const LENGTH_WEIGHT: f64 = 0.75;

/// Bytes of a snippet before the first match.
const SNIPPET_BEFORE: usize = 60;

/// A message that has a term: its id, how often, and how long the message is.
struct Match {
    message: i64,
    count: u32,
    length: u32,
}

/// The best matches of a query in a scope.
pub(crate) fn search(
    sql: &Connection,
    scope: &str,
    query: &str,
    limit: usize,
) -> rusqlite::Result<Vec<Hit>> {
    let wanted = query_terms(query);
    let Some(scope) = scopes::find(sql, scope)? else { return Ok(Vec::new()) };
    if wanted.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let (mut documents, mut length): (i64, i64) = sql
        .prepare_cached("SELECT documents, terms FROM scope WHERE id = ?1")?
        .query_row([scope], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let waiting = waiting(sql, scope)?;
    for (_, document) in &waiting {
        documents += 1;
        length += i64::from(document.length);
    }
    if documents <= 0 {
        return Ok(Vec::new());
    }
    let bm25 = Bm25::new(documents, length);
    let mut scores: HashMap<i64, f64> = HashMap::new();
    for term in &wanted {
        // Of the forms of one word, the one that counts most counts.
        let mut best: HashMap<i64, f64> = HashMap::new();
        for (form, counts) in forms(term) {
            let mut matches = matches(sql, scope, &form)?;
            matches.extend(waiting.iter().filter_map(|(message, document)| {
                let count = *document.counts.get(&*form)?;
                Some(Match { message: *message, count, length: document.length })
            }));
            let rarity = bm25.rarity(matches.len());
            for Match { message, count, length } in matches {
                let score = counts * bm25.of(rarity, count, length);
                let known = best.entry(message).or_default();
                *known = known.max(score);
            }
        }
        for (message, score) in best {
            *scores.entry(message).or_default() += score;
        }
    }
    let mut best: Vec<(i64, f64)> = scores.into_iter().collect();
    best.sort_unstable_by(|(a, x), (b, y)| y.total_cmp(x).then(b.cmp(a)));
    best.truncate(limit.min(HITS_MAX));
    let meant: Vec<Box<str>> =
        wanted.iter().flat_map(|term| forms(term)).map(|(form, _)| form).collect();
    let hits = best.into_iter().map(|(message, score)| hit(sql, message, score, &meant));
    let hits: Vec<Hit> = hits.collect::<rusqlite::Result<_>>()?;
    Ok(hits)
}

/// How well documents of one collection match, from the figures of that collection alone.
pub(crate) struct Bm25 {
    documents: f64,
    mean_length: f64,
}

impl Bm25 {
    /// For a collection of this many documents, with this many terms in all.
    pub(crate) fn new(documents: i64, terms: i64) -> Self {
        let documents = to_float(documents);
        Self { documents, mean_length: to_float(terms) / documents }
    }

    /// What a term says that this many documents have.
    pub(crate) fn rarity(&self, matches: usize) -> f64 {
        let frequency = to_float(i64::try_from(matches).unwrap_or(i64::MAX));
        (1.0 + (self.documents - frequency + 0.5).max(0.0) / (frequency + 0.5)).ln()
    }

    /// What a term adds to a document that has it this often and is this long.
    fn of(&self, rarity: f64, count: u32, length: u32) -> f64 {
        let count = f64::from(count);
        let share = f64::from(length) / self.mean_length.max(1.0);
        let damping = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * share);
        rarity * count * (SATURATION + 1.0) / (count + damping)
    }

    /// The same, for what the index says of the two.
    pub(crate) fn score(&self, rarity: f64, weight: i64) -> f64 {
        let part = |value: i64| u32::try_from(value).unwrap_or(0);
        self.of(rarity, part(weight & ((1 << COUNT_BITS) - 1)), part(weight >> COUNT_BITS))
    }
}

#[expect(clippy::cast_precision_loss, reason = "statistics: more messages than fit can't be")]
fn to_float(count: i64) -> f64 {
    count as f64
}

/// The different terms of a query, in order.
pub(crate) fn query_terms(query: &str) -> Vec<Box<str>> {
    let mut wanted: Vec<Box<str>> = Vec::new();
    terms::each(query, |term, _| {
        if !wanted.iter().any(|known| **known == *term) {
            wanted.push(term.into());
        }
        if wanted.len() < TERMS_PER_QUERY_MAX { Flow::Go } else { Flow::Stop }
    });
    wanted
}

/// The forms of a term that a query means, and what a match of each counts.
pub(crate) fn forms(term: &str) -> impl Iterator<Item = (Box<str>, f64)> {
    let others = inflection::others(term).into_iter().map(|form| (form.into(), FORM_WEIGHT));
    std::iter::once((term.into(), 1.0)).chain(others)
}

/// The messages of a scope that wait to be indexed.
fn waiting(sql: &Connection, scope: i64) -> rusqlite::Result<Vec<(i64, Document)>> {
    let waiting: Vec<(i64, Document)> = sql
        .prepare_cached(
            "SELECT message.id, message.parts FROM unindexed
             JOIN message ON message.id = unindexed.message WHERE unindexed.scope = ?1",
        )?
        .query_map([scope], |row| {
            let document = row.get_ref(1)?.as_blob().map(Document::of).unwrap_or_default();
            Ok((row.get(0)?, document))
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(waiting.into_iter().filter(|(_, document)| document.length > 0).collect())
}

/// The indexed messages of a scope that have a term, newest first.
fn matches(sql: &Connection, scope: i64, term: &str) -> rusqlite::Result<Vec<Match>> {
    let limit = i64::try_from(MATCHES_PER_TERM_MAX).unwrap_or(i64::MAX);
    sql.prepare_cached(
        "SELECT message, weight FROM posting WHERE scope = ?1 AND term = ?2
         ORDER BY message DESC LIMIT ?3",
    )?
    .query_map((scope, term, limit), |row| {
        let weight: i64 = row.get(1)?;
        let part = |value: i64| u32::try_from(value).unwrap_or(0);
        let (count, length) = (weight & ((1 << COUNT_BITS) - 1), weight >> COUNT_BITS);
        Ok(Match { message: row.get(0)?, count: part(count), length: part(length) })
    })?
    .collect()
}

fn hit(sql: &Connection, message: i64, score: f64, wanted: &[Box<str>]) -> rusqlite::Result<Hit> {
    sql.prepare_cached("SELECT role, at, parts, label, principal FROM message WHERE id = ?1")?.query_row(
        [message],
        |row| {
            let (session, seq) = split(message);
            let bytes = row.get_ref(2)?.as_blob().map_err(|_| bad_value(2))?;
            let (snippet, marks) = snippet(bytes, wanted);
            Ok(Hit {
                session,
                seq,
                role: Role::from_code(row.get(0)?).ok_or_else(|| bad_value(0))?,
                principal: row.get::<_, String>(4)?.into(),
                at: Timestamp::from_millis(row.get(1)?),
                label: row.get::<_, String>(3)?.into(),
                score,
                snippet,
                marks,
            })
        },
    )
}

/// The words around the first match, and where in them the terms are.
fn snippet(bytes: &[u8], wanted: &[Box<str>]) -> (String, Vec<Range<usize>>) {
    let mut found = (String::new(), Vec::new());
    let _ = parts::words(bytes, |text| {
        if !found.1.is_empty() {
            return;
        }
        let mut window: Option<Range<usize>> = None;
        let mut marks = Vec::new();
        terms::each(text, |term, at| {
            let window = window.get_or_insert(0..0);
            if window.end > 0 && at.end > window.end {
                return Flow::Stop;
            }
            if wanted.iter().any(|known| **known == *term) {
                if window.end == 0 {
                    let start = text.floor_char_boundary(at.start.saturating_sub(SNIPPET_BEFORE));
                    *window = start..text.floor_char_boundary(start + SNIPPET_BYTES_MAX);
                }
                if at.start < window.end {
                    let end = at.end.min(window.end);
                    marks.push(at.start - window.start..end - window.start);
                }
            }
            Flow::Go
        });
        if let (Some(window), false) = (window, marks.is_empty()) {
            found = (text[window].to_owned(), marks);
        }
    });
    found
}
