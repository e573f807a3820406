//! Audit chains in SQLite: the same table in an agent's database and in the daemon's.

use crate::audit::{AUDIT_DROPPED_MAX, About, AuditEntry, AuditReport, DROPPED, Seq, TAIL_LOST};
use crate::chain::{
    Anchor, Anchored, Bytes32, Chain, Head, Link, LostTail, Noted, RecordPlace, Stored, Walk,
};
use crate::sqlite::scopes;
use insula_domain::{Actor, AuditScope};
use insula_world::{Random, Timestamp};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::ops::RangeInclusive;
use std::path::Path;

/// Everything that is stored of a record, in the order of the table.
pub(crate) const COLUMNS: &str =
    "seq, at, actor, kind, generation, content, salt, commitment, prev, mac,
    form, scope, session, scope_seq, told, scope_link";

/// The forms of records: the first says nothing of whose matter it is.
const FORM_OLD: i64 = 1;
const FORM: i64 = 2;

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

/// The newest record of a scope.
fn scope_head(sql: &Connection, scope: &AuditScope) -> rusqlite::Result<Option<Head>> {
    sql.prepare_cached(
        "SELECT scope_seq, scope_link FROM audit
         WHERE scope = ?1 AND scope_seq IS NOT NULL ORDER BY scope_seq DESC LIMIT 1",
    )?
    .query_row([scope.as_str()], |row| {
        Ok(Head { seq: row.get::<_, i64>(0)?.cast_unsigned(), mac: row.get(1)? })
    })
    .optional()?
    .map_or_else(
        || Ok(scope_start(sql, scope)?.map(|(seq, mac)| Head { seq, mac })),
        |head| Ok(Some(head)),
    )
}

/// Whose matter a record is. A session that is not there is nobody's that is known.
fn place(sql: &Connection, about: &About) -> rusqlite::Result<RecordPlace> {
    let by = |clause: &str| {
        format!(
            "SELECT scope.name, session.key FROM session
             JOIN scope ON scope.id = session.scope WHERE {clause}"
        )
    };
    let read =
        |row: &Row<'_>| Ok((AuditScope::Of(scopes::read(row, 0)?), row.get::<_, Box<str>>(1)?));
    let (scope, session) = match about {
        About::Daemon => (AuditScope::Daemon, None),
        About::Agent => (AuditScope::Agent, None),
        About::Scope(scope) => (AuditScope::Of(scope.clone()), None),
        About::Conversation { scope, key } => (AuditScope::Of(scope.clone()), Some(key.clone())),
        About::Session(id) => {
            let found = sql.prepare_cached(&by("session.id = ?1"))?.query_row([id.0], read);
            match found.optional()? {
                Some((scope, key)) => (scope, Some(key)),
                None => (AuditScope::Unknown, None),
            }
        }
        About::Key(key) => {
            let current = by("session.key = ?1 AND ended_at IS NULL");
            let found = sql.prepare_cached(&current)?.query_row([key], read).optional()?;
            (found.map_or(AuditScope::Agent, |(scope, _)| scope), Some(key.clone()))
        }
    };
    let head = scope_head(sql, &scope)?;
    Ok(RecordPlace { scope, session, head })
}

/// The last record that was dropped, and the seal that says so; the start of the chain where none
/// was.
fn start(sql: &Connection) -> rusqlite::Result<Option<(Head, Bytes32)>> {
    sql.prepare_cached("SELECT seq, mac, seal FROM audit_start")?
        .query_row([], |row| {
            let head = Head { seq: row.get::<_, i64>(0)?.cast_unsigned(), mac: row.get(1)? };
            Ok((head, row.get(2)?))
        })
        .optional()
}

/// The last record of a scope that was dropped: its place and its link.
pub(crate) fn scope_start(
    sql: &Connection,
    scope: &AuditScope,
) -> rusqlite::Result<Option<(u64, Bytes32)>> {
    sql.prepare_cached("SELECT seq, link FROM audit_scope_start WHERE scope = ?1")?
        .query_row([scope.as_str()], |row| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?)))
        .optional()
}

/// Drops records from before a time, oldest first, and appends the record that says which; `None`
/// where there are none. What the anchors name that is dropped here was found in its place before:
/// the beginning is sealed as they are.
pub(crate) fn drop_before(
    sql: &Connection,
    (chain, random): (&Chain, &Random),
    before: Timestamp,
    (at, generation): (Timestamp, u64),
) -> rusqlite::Result<Option<Seq>> {
    let from = start(sql)?.map_or(0, |(head, _)| head.seq);
    let newest = head(sql)?.seq;
    let kept: Option<i64> = sql
        .prepare_cached("SELECT min(seq) FROM audit WHERE at >= ?1")?
        .query_row([before.as_millis()], |row| row.get(0))?;
    let first_kept = kept.map_or(newest, i64::cast_unsigned).min(newest);
    let upto = first_kept.saturating_sub(1).min(from + AUDIT_DROPPED_MAX);
    if upto <= from {
        return Ok(None);
    }
    let last = upto.cast_signed();
    let mac: Bytes32 = sql
        .prepare_cached("SELECT mac FROM audit WHERE seq = ?1")?
        .query_row([last], |row| row.get(0))?;
    // Beside `max`, what stands alone is of the row that has it.
    sql.prepare_cached(
        "INSERT INTO audit_scope_start
         SELECT scope, seq, link FROM (
             SELECT scope, max(scope_seq) AS seq, scope_link AS link FROM audit
             WHERE seq <= ?1 AND scope_seq NOT NULL GROUP BY scope) WHERE true
         ON CONFLICT (scope) DO UPDATE SET seq = excluded.seq, link = excluded.link",
    )?
    .execute([last])?;
    let beginning = Head { seq: upto, mac };
    sql.prepare_cached(
        "INSERT INTO audit_start VALUES (1, ?1, ?2, ?3)
         ON CONFLICT (one) DO UPDATE SET seq = excluded.seq, mac = excluded.mac, seal = excluded.seal",
    )?
    .execute((last, mac, chain.seal_start(beginning)))?;
    sql.prepare_cached("DELETE FROM audit WHERE seq <= ?1")?.execute([last])?;
    let mac = blake3::Hash::from_bytes(mac).to_hex();
    let entry = AuditEntry {
        at,
        actor: Actor::Daemon,
        about: About::Agent,
        kind: DROPPED.into(),
        generation,
        content: format!(
            r#"{{"records":{},"upto":{upto},"before":"{before}","mac":"{mac}"}}"#,
            upto - from
        ),
    };
    append(sql, chain, random, entry).map(Some)
}

/// Appends a record to the chain, inside the caller's transaction.
pub(crate) fn append(
    sql: &Connection,
    chain: &Chain,
    random: &Random,
    entry: AuditEntry,
) -> rusqlite::Result<Seq> {
    let place = place(sql, &entry.about)?;
    let (head, record) = chain.follow(head(sql)?, place, entry, random);
    let (content, salt) = record.content.unzip();
    let noted = record.noted.as_ref();
    sql.prepare_cached(
        "INSERT INTO audit VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?
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
        FORM,
        noted.map(|noted| text(&noted.scope)),
        noted.and_then(|noted| noted.session.as_deref()).map(text),
        noted.map(|noted| noted.seq.cast_signed()),
        noted.map(|noted| noted.told),
        noted.map(|noted| noted.link),
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
    // What was dropped was there: the beginning says so, and a walk asks for its seal.
    if let Some((start, _)) = start(sql)?.filter(|(start, _)| head.seq <= start.seq) {
        return Ok(head.seq < start.seq || head == start);
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
    let start = start(sql)?;
    let beginning = start.map_or(Head::START, |(head, _)| head);
    let mut walk = Walk::new(chain, anchor, beginning);
    if start.is_some_and(|(head, seal)| !chain.is_start(head, seal)) {
        return Ok((walk.broken("the beginning of the chain was changed".to_owned()), None));
    }
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
    let is_null = |column| matches!(cell(column), Some(ValueRef::Null));
    let content = match (cell(5)?, cell(6)?) {
        (ValueRef::Null, ValueRef::Null) => None,
        _ => Some((text(5)?, bytes(6)?)),
    };
    let noted = match number(10)? {
        // Nobody said whose it is: it can't have been said since.
        FORM_OLD => {
            let is_bare =
                text(11)? == AuditScope::Unknown.as_str().as_bytes() && (12..=15).all(is_null);
            is_bare.then_some(None)?
        }
        FORM => Some(Noted {
            scope: text(11)?,
            session: if is_null(12) { None } else { Some(text(12)?) },
            seq: number(13)?.cast_unsigned(),
            told: bytes(14)?,
            link: bytes(15)?,
        }),
        _ => return None,
    };
    Some(Stored {
        at: number(1)?,
        actor: text(2)?,
        kind: text(3)?,
        generation: number(4)?.cast_unsigned(),
        noted,
        content,
        commitment: bytes(7)?,
        prev: bytes(8)?,
        mac: bytes(9)?,
    })
}
