//! The check of everything remembered: the chain of provenance, each fragment against its
//! record, what follows from the records (which fragments there are, who came from whom), and
//! the index against the words.

use super::chain::{self, COLUMNS, commitment, link};
use crate::chain::{Bytes32, Chain};
use crate::memory::{FragmentId, MemoryReport, RecordKind};
use crate::sqlite::index::Document;
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::{BTreeMap, BTreeSet};

/// The first thing that is wrong: where, and what.
type Broken = (i64, String);

/// What the chain says there should be.
#[derive(Default)]
struct ExpectedState {
    /// Fragments that came and did not go.
    live: BTreeSet<i64>,
    /// Who came from whom.
    lineage: BTreeSet<(i64, i64)>,
}

/// Checks everything.
pub(crate) fn verify(sql: &Connection, chain: &Chain) -> rusqlite::Result<MemoryReport> {
    let mut report =
        MemoryReport { ok: false, records: 0, fragments: 0, broken_at: None, reason: None };
    match all(sql, chain, &mut report)? {
        None => report.ok = true,
        Some((at, reason)) => {
            report.broken_at = Some(at.cast_unsigned());
            report.reason = Some(reason);
        }
    }
    Ok(report)
}

fn all(
    sql: &Connection,
    chain: &Chain,
    report: &mut MemoryReport,
) -> rusqlite::Result<Option<Broken>> {
    let mut told = ExpectedState::default();
    if let Some(broken) = records(sql, chain, &mut told, report)? {
        return Ok(Some(broken));
    }
    if let Some(broken) = fragments(sql, &told, report)? {
        return Ok(Some(broken));
    }
    if let Some(broken) = lineage(sql, &told)? {
        return Ok(Some(broken));
    }
    if let Some(broken) = tombstones(sql)? {
        return Ok(Some(broken));
    }
    index(sql)
}

/// Every record: its link, and where the audit trail says that they end.
fn records(
    sql: &Connection,
    chain: &Chain,
    told: &mut ExpectedState,
    report: &mut MemoryReport,
) -> rusqlite::Result<Option<Broken>> {
    let anchored: Option<(i64, String)> = chain::anchored(sql)?;
    let mut statement = sql.prepare(&format!("SELECT {COLUMNS} FROM provenance ORDER BY seq"))?;
    let mut rows = statement.query([])?;
    let (mut seq, mut mac) = (0, [0; 32]);
    while let Some(row) = rows.next()? {
        seq += 1;
        let record = match chain::read(row) {
            Ok(record) if record.seq.0 == seq => record,
            Ok(_) => return Ok(Some((seq, format!("record {seq} is missing")))),
            Err(_) => return Ok(Some((seq, format!("record {seq} is unreadable")))),
        };
        if record.prev != mac || record.mac != link(chain, &record) {
            return Ok(Some((seq, format!("record {seq} was changed, moved or put in"))));
        }
        mac = record.mac;
        if let Some((at, link)) = &anchored
            && *at == seq
            && blake3::Hash::from_bytes(mac).to_hex().as_str() != link
        {
            let reason = format!("record {seq} is not the one that the audit trail names");
            return Ok(Some((seq, reason)));
        }
        match record.kind {
            RecordKind::Learned => {
                told.live.insert(seq);
                told.lineage.extend(record.parents.iter().map(|FragmentId(from)| (*from, seq)));
            }
            RecordKind::Removed(id) | RecordKind::Forgotten(id) => {
                told.live.remove(&id.0);
            }
        }
        report.records += 1;
    }
    Ok(anchored
        .filter(|(at, _)| *at > seq)
        .map(|(at, _)| (seq + 1, format!("the end is cut off: the audit trail names record {at}"))))
}

/// Every fragment against its record, and every record that should have one.
fn fragments(
    sql: &Connection,
    told: &ExpectedState,
    report: &mut MemoryReport,
) -> rusqlite::Result<Option<Broken>> {
    let mut statement = sql.prepare(
        "SELECT fragment.id, fragment.salt, fragment.text, fragment.blocked, provenance.commitment
         FROM fragment JOIN scope ON scope.id = fragment.scope
         LEFT JOIN provenance ON provenance.seq = fragment.id AND provenance.kind = 0
             AND provenance.target = fragment.target AND provenance.scope = scope.name
         ORDER BY fragment.id",
    )?;
    let mut rows = statement.query([])?;
    let mut missing = told.live.clone();
    while let Some(row) = rows.next()? {
        let (id, salt, text): (i64, Bytes32, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let blocked: Option<String> = row.get(3)?;
        let said = commitment(&salt, &text, blocked.as_deref());
        if row.get::<_, Option<Bytes32>>(4)? != Some(said) {
            let reason = format!("fragment {id} does not say what record {id} stands for");
            return Ok(Some((id, reason)));
        }
        if !missing.remove(&id) {
            let reason = format!("fragment {id} is there, and the records say that it is gone");
            return Ok(Some((id, reason)));
        }
        report.fragments += 1;
    }
    Ok(missing.first().map(|id| {
        (*id, format!("fragment {id} is missing, and no record says that it was taken out"))
    }))
}

/// Forgetting follows these: one that is missing would leave something behind.
fn lineage(sql: &Connection, told: &ExpectedState) -> rusqlite::Result<Option<Broken>> {
    let mut statement = sql.prepare("SELECT parent, child FROM lineage")?;
    let mut rows = statement.query([])?;
    let mut missing = told.lineage.clone();
    while let Some(row) = rows.next()? {
        let pair: (i64, i64) = (row.get(0)?, row.get(1)?);
        if !missing.remove(&pair) {
            let reason = format!("fragment {} came from others than its record says", pair.1);
            return Ok(Some((pair.1, reason)));
        }
    }
    Ok(missing.first().map(|(_, child)| {
        (*child, format!("fragment {child} came from others than its record says"))
    }))
}

/// What was forgotten was learned from a message that is buried since. Without that it could be
/// learned again.
fn tombstones(sql: &Connection) -> rusqlite::Result<Option<Broken>> {
    let missing: Option<i64> = sql
        .prepare(
            "SELECT forgotten.seq FROM provenance AS forgotten
             JOIN provenance AS learned ON learned.seq = forgotten.about
             WHERE forgotten.kind = 2 AND learned.session NOT NULL AND learned.message NOT NULL
                 AND NOT EXISTS (SELECT 1 FROM tombstone
                     WHERE session = learned.session AND message = learned.message)
             ORDER BY forgotten.seq LIMIT 1",
        )?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(missing.map(|seq| {
        (seq, format!("record {seq} says that something was forgotten, and the tombstone of its message is missing"))
    }))
}

/// The postings and figures of every scope against the words of its fragments.
fn index(sql: &Connection) -> rusqlite::Result<Option<Broken>> {
    let scopes: Vec<i64> = sql
        .prepare(
            "SELECT scope FROM fragment UNION SELECT scope FROM fragment_posting
             UNION SELECT scope FROM fragment_scope",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for scope in scopes {
        if let Some(broken) = index_of(sql, scope)? {
            return Ok(Some(broken));
        }
    }
    Ok(None)
}

fn index_of(sql: &Connection, scope: i64) -> rusqlite::Result<Option<Broken>> {
    let mut expected: BTreeMap<(Box<str>, i64), i64> = BTreeMap::new();
    let (mut documents, mut terms) = (0, 0);
    let mut statement =
        sql.prepare("SELECT id, text FROM fragment WHERE scope = ?1 AND blocked IS NULL")?;
    let mut rows = statement.query([scope])?;
    while let Some(row) = rows.next()? {
        let (id, text): (i64, String) = (row.get(0)?, row.get(1)?);
        let document = Document::of_text(&text);
        documents += i64::from(document.length > 0);
        terms += i64::from(document.length);
        for (term, weight) in document.postings() {
            expected.insert((term.into(), id), weight);
        }
    }
    let wrong = |id: i64| (id, format!("the index does not say what fragment {id} says"));
    let mut statement =
        sql.prepare("SELECT term, fragment, weight FROM fragment_posting WHERE scope = ?1")?;
    let mut rows = statement.query([scope])?;
    while let Some(row) = rows.next()? {
        let (term, id, weight): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if expected.remove(&(term.into(), id)) != Some(weight) {
            return Ok(Some(wrong(id)));
        }
    }
    if let Some((_, id)) = expected.keys().next() {
        return Ok(Some(wrong(*id)));
    }
    let figures: Option<(i64, i64)> = sql
        .prepare_cached("SELECT documents, terms FROM fragment_scope WHERE scope = ?1")?
        .query_row([scope], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if figures.unwrap_or_default() != (documents, terms) {
        let last = "SELECT coalesce(max(id), 0) FROM fragment WHERE scope = ?1";
        let id = sql.query_row(last, [scope], |row| row.get(0))?;
        return Ok(Some((id, "the figures of an index are not those of its words".to_owned())));
    }
    Ok(None)
}
