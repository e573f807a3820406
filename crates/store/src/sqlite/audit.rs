//! Audit chains in SQLite: the same table in an agent's database and in the daemon's.

use crate::audit::{AUDIT_PAGE_MAX, AuditEntry, AuditRecord, AuditReport, Seq, TAIL_LOST};
use crate::chain::{Anchor, Anchored, Bytes32, Chain, Head, Link, LostTail, Stored, Walk};
use crate::sqlite::sql::actor;
use insula_world::{Random, Timestamp};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::ops::RangeInclusive;
use std::path::Path;

const COLUMNS: &str = "seq, at, actor, kind, generation, content, salt, commitment, prev, mac";

/// Commits with audit records of which one is flushed, where commits need not survive the power:
/// so many are lost at most.
pub(crate) const FLUSH_EVERY: u32 = 64;

/// The newest record.
pub(crate) fn head(sql: &Connection) -> rusqlite::Result<Head> {
    sql.prepare_cached("SELECT seq, mac FROM audit ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| {
            Ok(Head { seq: row.get::<_, i64>(0)?.cast_unsigned(), mac: row.get(1)? })
        })
        .optional()
        .map(|head| head.unwrap_or(Head::START))
}

/// Appends a record to the chain, inside the caller's transaction.
pub(crate) fn append(
    sql: &Connection,
    chain: &Chain,
    random: &Random,
    entry: AuditEntry,
) -> rusqlite::Result<Seq> {
    let (head, record) = chain.follow(head(sql)?, entry, random);
    let (content, salt) = record.content.unzip();
    sql.prepare_cached("INSERT INTO audit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
        .execute((
            head.seq.cast_signed(),
            record.at,
            text(&record.actor),
            text(&record.kind),
            record.generation.cast_signed(),
            content.as_deref().map(text),
            salt,
            record.commitment,
            record.prev,
            record.mac,
        ))?;
    Ok(Seq(head.seq))
}

/// Bytes that came from a `String`, as text for SQLite.
fn text(bytes: &[u8]) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(ValueRef::Text(bytes))
}

/// Erases content and salt of some records.
pub(crate) fn erase(sql: &Connection, range: &RangeInclusive<u64>) -> rusqlite::Result<()> {
    let bound = |seq: u64| i64::try_from(seq).unwrap_or(i64::MAX);
    sql.execute(
        "UPDATE audit SET content = NULL, salt = NULL
         WHERE seq BETWEEN ?1 AND ?2 AND content IS NOT NULL",
        (bound(*range.start()), bound(*range.end())),
    )?;
    Ok(())
}

/// A page of records after a position.
pub(crate) fn after(
    sql: &Connection,
    after: Seq,
    limit: usize,
) -> rusqlite::Result<Vec<AuditRecord>> {
    let after = i64::try_from(after.0).unwrap_or(i64::MAX);
    sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM audit WHERE seq > ?1 ORDER BY seq LIMIT ?2"
    ))?
    .query_map((after, page(limit)), record)?
    .collect()
}

/// The newest records.
pub(crate) fn tail(sql: &Connection, limit: usize) -> rusqlite::Result<Vec<AuditRecord>> {
    sql.prepare_cached(&format!(
        "SELECT * FROM (SELECT {COLUMNS} FROM audit ORDER BY seq DESC LIMIT ?1) ORDER BY seq"
    ))?
    .query_map([page(limit)], record)?
    .collect()
}

fn page(limit: usize) -> i64 {
    i64::try_from(limit.min(AUDIT_PAGE_MAX)).unwrap_or(i64::MAX)
}

fn record(row: &Row<'_>) -> rusqlite::Result<AuditRecord> {
    Ok(AuditRecord {
        seq: Seq(row.get::<_, i64>(0)?.cast_unsigned()),
        at: Timestamp::from_millis(row.get(1)?),
        actor: actor(row, 2)?,
        kind: row.get(3)?,
        generation: row.get::<_, i64>(4)?.cast_unsigned(),
        content: row.get(5)?,
        commitment: row.get(7)?,
        prev: row.get(8)?,
        mac: row.get(9)?,
    })
}

/// How the chain stands to its anchor. A first look, which trusts what is stored: only a walk
/// along the whole chain tells whether that is true.
pub(crate) fn reaches(sql: &Connection, anchor: Anchor) -> rusqlite::Result<Link> {
    let Anchored { written, flushed } = match anchor {
        Anchor::None => return Ok(Link::Whole),
        Anchor::Bad(_) => return Ok(Link::Broken),
        Anchor::At(anchored) => anchored,
    };
    if !holds(sql, flushed)? {
        return Ok(Link::Broken);
    }
    if holds(sql, written)? || says_lost(sql, flushed, written)? {
        return Ok(Link::Whole);
    }
    let head = head(sql)?;
    if head.seq >= written.seq {
        return Ok(Link::Broken);
    }
    Ok(Link::Lost(LostTail { anchored: written, records: written.seq - head.seq }))
}

fn holds(sql: &Connection, head: Head) -> rusqlite::Result<bool> {
    if head.seq == 0 {
        return Ok(true);
    }
    sql.prepare_cached("SELECT mac = ?2 FROM audit WHERE seq = ?1")?
        .query_row((head.seq.cast_signed(), head.mac), |row| row.get(0))
        .optional()
        .map(Option::unwrap_or_default)
}

/// Whether the chain says that the tail up to `written` was lost.
fn says_lost(sql: &Connection, flushed: Head, written: Head) -> rusqlite::Result<bool> {
    let mut statement = sql.prepare_cached(
        "SELECT content FROM audit WHERE seq > ?1 AND kind = ?2 AND content IS NOT NULL",
    )?;
    let mut rows = statement.query((flushed.seq.cast_signed(), TAIL_LOST))?;
    while let Some(row) = rows.next()? {
        let said = row.get_ref(0)?.as_bytes().ok().and_then(LostTail::read);
        if said.is_some_and(|said| said.anchored == written) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Says what is not as it should be with a chain.
pub(crate) fn warn_of(link: Link, path: &Path) {
    let file = path.display();
    match link {
        Link::Whole => {}
        Link::Lost(LostTail { records, .. }) => {
            tracing::warn!(%file, records, "the last records of an audit chain were lost with the power, before they were on the disk; the chain goes on and says so");
        }
        Link::Broken => {
            tracing::error!(%file, "an audit chain does not reach its anchored head; run `insula audit verify`");
        }
    }
}

/// Checks the whole chain. The head comes with it if all is well.
pub(crate) fn verify(
    sql: &Connection,
    chain: &Chain,
    anchor: Anchor,
) -> rusqlite::Result<(AuditReport, Option<Head>)> {
    let mut walk = Walk::new(chain, anchor);
    let mut statement =
        sql.prepare(&format!("SELECT {COLUMNS} FROM audit WHERE seq >= 1 ORDER BY seq"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let seq = row.get::<_, i64>(0)?.cast_unsigned();
        if let Err(broken) = walk.step(seq, stored(row)) {
            return Ok((broken, None));
        }
    }
    // Positions begin at 1: what is below was put in, or moved there from a gap found above.
    let below: i64 =
        sql.query_row("SELECT count(*) FROM audit WHERE seq < 1", [], |row| row.get(0))?;
    if below > 0 {
        return Ok((walk.broken(format!("{below} records have impossible positions")), None));
    }
    Ok(walk.finish())
}

/// A record bit by bit as it is stored; `None` if it lacks the form of one.
fn stored(row: &Row<'_>) -> Option<Stored> {
    let cell = |column| row.get_ref(column).ok();
    let text = |column| match cell(column)? {
        ValueRef::Text(bytes) => Some(bytes.to_vec()),
        _ => None,
    };
    let bytes = |column| match cell(column)? {
        ValueRef::Blob(bytes) => Bytes32::try_from(bytes).ok(),
        _ => None,
    };
    let number = |column| match cell(column)? {
        ValueRef::Integer(number) => Some(number),
        _ => None,
    };
    let content = match (cell(5)?, cell(6)?) {
        (ValueRef::Null, ValueRef::Null) => None,
        _ => Some((text(5)?, bytes(6)?)),
    };
    Some(Stored {
        at: number(1)?,
        actor: text(2)?,
        kind: text(3)?,
        generation: number(4)?.cast_unsigned(),
        content,
        commitment: bytes(7)?,
        prev: bytes(8)?,
        mac: bytes(9)?,
    })
}
