//! The search index: terms of messages in a B-tree, scope first.
//!
//! A message goes in by its number only; when enough of them wait, they are indexed together,
//! in the transaction of the message that was one too many. Sorted and at once, their terms
//! share pages, which costs a fraction of what they cost one by one, and search reads those
//! that wait as they are, so that nobody can tell the difference. An index that an older version
//! made is made anew: `reindex`.

use crate::message::Part;
use crate::parts;
use crate::search::TERMS_PER_MESSAGE_MAX;
use crate::terms::{self, Flow};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// Most messages that wait: what a search can read beside the index without being slower.
pub(crate) const UNINDEXED_MAX: usize = 128;

/// Most bytes of words that wait, for the same reason.
pub(crate) const UNINDEXED_BYTES_MAX: usize = 64 * 1024;

/// The bits of a weight that say how often a message has a term.
pub(crate) const COUNT_BITS: u32 = 10;

/// The term that every document has, beside those of its words: which documents of a scope there
/// are, in their order.
pub(crate) const EVERY: &str = "";

/// The words of a message, as terms.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    /// How often it has which term.
    pub(crate) counts: BTreeMap<Box<str>, u32>,
    /// How many terms it has in all.
    pub(crate) length: u32,
}

impl Document {
    /// What the words in a message's bytes come to. Bytes that can't be read have no words, and
    /// what stands beside the words of nobody is not looked for.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut document = Self::default();
        match parts::words(bytes, |text| document.add(text)) {
            Some(own) if own > 0 => document,
            _ => Self::default(),
        }
    }

    /// What a text comes to.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut document = Self::default();
        document.add(text);
        document
    }

    fn add(&mut self, text: &str) {
        terms::each(text, |term, _| {
            if let Some(count) = self.counts.get_mut(term) {
                *count += 1;
            } else if self.counts.len() < TERMS_PER_MESSAGE_MAX {
                self.counts.insert(term.into(), 1);
            } else {
                return Flow::Stop;
            }
            self.length += 1;
            Flow::Go
        });
    }

    /// What the index says of it: terms and their weights. Nothing of one without words.
    pub(crate) fn postings(&self) -> impl Iterator<Item = (&str, i64)> {
        let every = (self.length > 0).then(|| (EVERY, self.weight(0)));
        let words = self.counts.iter().map(|(term, count)| (&**term, self.weight(*count)));
        every.into_iter().chain(words)
    }

    /// The weight of a term in it.
    fn weight(&self, count: u32) -> i64 {
        let most = (1 << COUNT_BITS) - 1;
        (i64::from(self.length) << COUNT_BITS) | i64::from(count.min(most))
    }
}

/// How many bytes of words these parts have.
pub(crate) fn words(parts: &[Part]) -> usize {
    parts.iter().map(|part| if let Part::Text(text) = part { text.len() } else { 0 }).sum()
}

/// Puts a message on the list of those to be indexed, if it has words.
pub(crate) fn add(
    sql: &Connection,
    message: i64,
    scope: i64,
    parts: &[Part],
) -> rusqlite::Result<()> {
    let bytes = words(parts);
    if bytes == 0 {
        return Ok(());
    }
    sql.prepare_cached("INSERT INTO unindexed VALUES (?1, ?2, ?3)")?
        .execute((message, scope, i64::try_from(bytes).unwrap_or(i64::MAX)))
        .map(drop)
}

/// How much waits to be indexed, at most: messages and bytes of words.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Backlog {
    messages: usize,
    bytes: usize,
}

impl Backlog {
    /// What waits in a database that was just opened.
    pub(crate) fn read(sql: &Connection) -> rusqlite::Result<Self> {
        let size = |value: i64| usize::try_from(value).unwrap_or(0);
        sql.prepare("SELECT count(*), coalesce(sum(bytes), 0) FROM unindexed")?
            .query_row([], |row| Ok(Self { messages: size(row.get(0)?), bytes: size(row.get(1)?) }))
    }

    /// Takes note of more.
    pub(crate) fn grow(&mut self, (messages, bytes): (usize, usize)) {
        self.messages = self.messages.saturating_add(messages);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Whether that is enough to be indexed.
    pub(crate) fn is_due(&self) -> bool {
        self.messages >= UNINDEXED_MAX || self.bytes >= UNINDEXED_BYTES_MAX
    }

    /// Whether it is more than is ever left to wait.
    pub(crate) fn is_overdue(&self) -> bool {
        self.messages > UNINDEXED_MAX
    }
}

/// Indexes the messages that wait: the oldest, up to this many.
pub(crate) fn merge(sql: &Connection, most: usize) -> rusqlite::Result<()> {
    let mut postings: Vec<(i64, Box<str>, i64, i64)> = Vec::new();
    let mut sums: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    let mut last = i64::MIN;
    {
        let mut waiting = sql.prepare_cached(
            "SELECT unindexed.message, unindexed.scope, message.parts FROM unindexed
             LEFT JOIN message ON message.id = unindexed.message
             ORDER BY unindexed.message LIMIT ?1",
        )?;
        let mut rows = waiting.query([i64::try_from(most).unwrap_or(i64::MAX)])?;
        while let Some(row) = rows.next()? {
            let (message, scope): (i64, i64) = (row.get(0)?, row.get(1)?);
            last = message;
            let document = row.get_ref(2)?.as_blob().map(Document::of).unwrap_or_default();
            if document.length == 0 {
                continue;
            }
            let sum = sums.entry(scope).or_default();
            *sum = (sum.0 + 1, sum.1 + i64::from(document.length));
            let terms = document.postings();
            postings.extend(terms.map(|(term, weight)| (scope, term.into(), message, weight)));
        }
    }
    postings.sort_unstable();
    let mut insert = sql.prepare_cached("INSERT INTO posting VALUES (?1, ?2, ?3, ?4)")?;
    for posting in &postings {
        insert.execute((posting.0, &posting.1, posting.2, posting.3))?;
    }
    for (scope, (documents, terms)) in sums {
        adjust(sql, scope, documents, terms)?;
    }
    sql.prepare_cached("DELETE FROM unindexed WHERE message <= ?1")?.execute([last]).map(drop)
}

fn adjust(sql: &Connection, scope: i64, documents: i64, terms: i64) -> rusqlite::Result<()> {
    sql.prepare_cached(
        "UPDATE scope SET documents = documents + ?2, terms = terms + ?3 WHERE id = ?1",
    )?
    .execute((scope, documents, terms))
    .map(drop)
}

/// Takes the messages with these ids out again, exactly as they went in: what they weigh is
/// read from the index, not from their words.
pub(crate) fn forget(sql: &Connection, low: i64, high: i64) -> rusqlite::Result<()> {
    sql.prepare("DELETE FROM unindexed WHERE message BETWEEN ?1 AND ?2")?.execute((low, high))?;
    let scopes: Vec<i64> = sql
        .prepare("SELECT DISTINCT scope FROM message WHERE id BETWEEN ?1 AND ?2")?
        .query_map((low, high), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for scope in scopes {
        let (documents, terms) = sql
            .prepare(
                "SELECT count(*), coalesce(sum(weight >> ?5), 0) FROM posting
                 WHERE scope = ?1 AND term = ?4 AND message BETWEEN ?2 AND ?3",
            )?
            .query_row((scope, low, high, EVERY, COUNT_BITS), |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            })?;
        if documents > 0 {
            sql.prepare("DELETE FROM posting WHERE scope = ?1 AND message BETWEEN ?2 AND ?3")?
                .execute((scope, low, high))?;
            adjust(sql, scope, -documents, -terms)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_with_too_many_words_is_indexed_in_part() {
        let text: String = (0..TERMS_PER_MESSAGE_MAX * 2).map(|n| format!("w{n} w0 ")).collect();
        let document = Document::of(&parts::encode(&[Part::Text(text)]));
        assert_eq!(document.counts.len(), TERMS_PER_MESSAGE_MAX);
        let often = document.counts["w0"];
        assert_eq!(document.length as usize, TERMS_PER_MESSAGE_MAX - 1 + often as usize);
        let weight = document.weight(often);
        assert_eq!(weight & ((1 << COUNT_BITS) - 1), (1 << COUNT_BITS) - 1);
        assert_eq!(weight >> COUNT_BITS, i64::from(document.length));
        let expected = TERMS_PER_MESSAGE_MAX + 1;
        assert_eq!(document.postings().count(), expected, "its words, and that it is there");
        assert_eq!(Document::of(&[9, 9]), Document::default());
        let beside = Document::of(&parts::encode(&[Part::Beside("a note".to_owned())]));
        assert_eq!(beside, Document::default());
        assert_eq!(beside.postings().count(), 0);
    }
}
