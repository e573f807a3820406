//! The postings of one scope, whichever table they are in: which documents have a term, which
//! terms there are, and which documents stand beside each other. Documents that wait to be
//! indexed count as if they were.

use super::index::{COUNT_BITS, Document, EVERY};
use crate::search::{FORMS_PER_TERM_MAX, MATCHES_PER_TERM_MAX};
use rusqlite::Connection;
use std::ops::Bound;

/// How many of a scope's documents are read in one go to know who stands beside whom; in
/// larger scopes those around the best matches are looked for.
const LANE_MAX: i64 = 256;

/// How many documents on each side of one are looked at: those that count for it, and those that
/// count for them.
pub(crate) const REACH: usize = 4;

/// A table of postings.
pub(crate) struct Table {
    /// Documents with a term, newest first: scope, term, most.
    pub(crate) matches: &'static str,
    /// The next term: scope, after which, before which.
    pub(crate) next_term: &'static str,
    /// Documents in an order: scope, the term that all have, from, to.
    pub(crate) between: &'static str,
    /// The last documents before one: scope, the term that all have, from, before, most.
    pub(crate) before: &'static str,
    /// The first documents after one: scope, the term that all have, after, to, most.
    pub(crate) after: &'static str,
    /// The first and last id that a document of the same conversation as this one can have.
    pub(crate) conversation: fn(i64) -> (i64, i64),
}

/// A document that has a term: its id, how often, and how long it is.
pub(crate) struct Match {
    pub(crate) document: i64,
    pub(crate) count: u32,
    pub(crate) length: u32,
}

/// The postings of a scope.
pub(crate) struct Postings<'a> {
    pub(crate) sql: &'a Connection,
    pub(crate) table: &'static Table,
    pub(crate) scope: i64,
    /// Documents that wait to be indexed, in order.
    pub(crate) waiting: Vec<(i64, Document)>,
}

impl Postings<'_> {
    /// Adds the documents that have a term, newest first, up to as many as are ranked.
    pub(crate) fn matches(&self, term: &str, found: &mut Vec<Match>) -> rusqlite::Result<()> {
        let room = MATCHES_PER_TERM_MAX.saturating_sub(found.len());
        let room = i64::try_from(room).unwrap_or(i64::MAX);
        let mut statement = self.sql.prepare_cached(self.table.matches)?;
        let mut rows = statement.query((self.scope, term, room))?;
        let part = |value: i64| u32::try_from(value).unwrap_or(0);
        while let Some(row) = rows.next()? {
            let weight: i64 = row.get(1)?;
            let (count, length) = (weight & ((1 << COUNT_BITS) - 1), weight >> COUNT_BITS);
            found.push(Match { document: row.get(0)?, count: part(count), length: part(length) });
        }
        found.extend(self.waiting.iter().filter_map(|(document, words)| {
            let count = *words.counts.get(term)?;
            Some(Match { document: *document, count, length: words.length })
        }));
        Ok(())
    }

    /// Calls `each` with the terms that begin with this, in no order, some of them twice. There
    /// is an end to how many are looked at.
    pub(crate) fn terms_from(
        &self,
        beginning: &str,
        mut each: impl FnMut(&str),
    ) -> rusqlite::Result<()> {
        let end = format!("{beginning}{}", char::MAX);
        let mut statement = self.sql.prepare_cached(self.table.next_term)?;
        let mut last = beginning.to_owned();
        // The beginning itself is asked for by whoever has it as a term.
        for _ in 0..FORMS_PER_TERM_MAX {
            let mut rows = statement.query((self.scope, &last, &end))?;
            let Some(row) = rows.next()? else { break };
            let term = row.get_ref(0)?.as_str().unwrap_or_default();
            each(term);
            term.clone_into(&mut last);
        }
        for (_, document) in &self.waiting {
            let from = (Bound::Included(beginning), Bound::Unbounded);
            let from = document.counts.range::<str, _>(from);
            from.take_while(|(term, _)| term.starts_with(beginning))
                .for_each(|(term, _)| each(term));
        }
        Ok(())
    }

    /// All documents of the scope in order, if they are few.
    pub(crate) fn lane(&self, documents: i64) -> rusqlite::Result<Option<Vec<i64>>> {
        if documents > LANE_MAX {
            return Ok(None);
        }
        self.between(i64::MIN, i64::MAX).map(Some)
    }

    fn between(&self, from: i64, to: i64) -> rusqlite::Result<Vec<i64>> {
        let mut ids: Vec<i64> = self
            .sql
            .prepare_cached(self.table.between)?
            .query_map((self.scope, EVERY, from, to), |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        self.add_waiting(&mut ids, from, to);
        Ok(ids)
    }

    fn add_waiting(&self, ids: &mut Vec<i64>, from: i64, to: i64) {
        let waiting = self.waiting.iter().map(|(id, _)| *id);
        let before = ids.len();
        ids.extend(waiting.filter(|id| (from..=to).contains(id)));
        if ids.len() > before {
            ids.sort_unstable();
        }
    }

    /// The documents around one in the order of their conversation, itself among them: up to
    /// [`REACH`] on each side.
    pub(crate) fn around(&self, document: i64, lane: Option<&[i64]>) -> rusqlite::Result<Vec<i64>> {
        let (first, last) = (self.table.conversation)(document);
        if let Some(lane) = lane {
            let at = lane.partition_point(|id| *id < document);
            let near = lane.get(at.saturating_sub(REACH)..lane.len().min(at + REACH + 1));
            let near = near.unwrap_or_default().iter().copied();
            return Ok(near.filter(|id| (first..=last).contains(id)).collect());
        }
        // Mostly they have the numbers beside it.
        let step = i64::try_from(REACH).unwrap_or(i64::MAX);
        let (from, to) = (first.max(document - step), last.min(document + step));
        let mut near = self.between(from, to)?;
        let at = near.partition_point(|id| *id < document);
        if at < REACH && from > first {
            near.splice(..at, self.outward(self.table.before, document, first, document - 1)?);
        }
        let at = near.partition_point(|id| *id <= document);
        if near.len() - at < REACH && to < last {
            near.splice(at.., self.outward(self.table.after, document, document + 1, last)?);
        }
        Ok(near)
    }

    /// The nearest documents on one side of one, in order.
    fn outward(
        &self,
        statement: &'static str,
        document: i64,
        from: i64,
        to: i64,
    ) -> rusqlite::Result<Vec<i64>> {
        let most = i64::try_from(REACH).unwrap_or(i64::MAX);
        let mut ids: Vec<i64> = self
            .sql
            .prepare_cached(statement)?
            .query_map((self.scope, EVERY, from, to, most), |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        self.add_waiting(&mut ids, from, to);
        ids.sort_unstable_by_key(|id| id.abs_diff(document));
        ids.truncate(REACH);
        ids.sort_unstable();
        Ok(ids)
    }
}
