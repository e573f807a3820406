//! The chain of provenance: its links and its records.
//!
//! Each link is a keyed hash over all fields of a record and the link before it. Where the
//! chain ends is written to the audit trail with every change, whose own end is anchored
//! outside of this file: so a cut tail shows too.

use super::super::scopes;
use crate::chain::{Bytes32, Chain};
use crate::id::{MessageSeq, SessionId};
use crate::memory::{
    FragmentId, MEMORY_PAGE_MAX, MemoryList, MemoryOrigin, MemorySource, Provenance, RecordKind,
};
use crate::sqlite::sql::{actor, bad_value};
use insula_domain::Actor;
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};

/// The kind of audit record that says where the chain ends.
pub(crate) const AUDIT_KIND: &str = "memory.linked";

pub(super) const COLUMNS: &str = "seq, kind, about, scope, target, source, principal, platform, session, \
    message, call, generation, at, approved_by, parents, commitment, prev, mac, label";

/// The newest record: its place and its link.
pub(crate) fn head(sql: &Connection) -> rusqlite::Result<(i64, Bytes32)> {
    sql.prepare_cached("SELECT seq, mac FROM provenance ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map(|head| head.unwrap_or((0, [0; 32])))
}

/// What no text has: it ends the words where something follows them.
const NO_TEXT: [u8; 1] = [0xff];

/// The salted hash of words, and of why no model gets to see them.
pub(crate) fn commitment(salt: &Bytes32, text: &str, blocked: Option<&str>) -> Bytes32 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(salt).update(text.as_bytes());
    if let Some(blocked) = blocked {
        hasher.update(&NO_TEXT).update(blocked.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

fn kind(kind: RecordKind) -> (i64, Option<i64>) {
    match kind {
        RecordKind::Learned => (0, None),
        RecordKind::Removed(id) => (1, Some(id.0)),
        RecordKind::Forgotten(id) => (2, Some(id.0)),
    }
}

/// Appends a record, whose place and links are computed here.
pub(crate) fn append(
    sql: &Connection,
    chain: &Chain,
    head: &mut (i64, Bytes32),
    mut record: Provenance,
) -> rusqlite::Result<()> {
    record.seq = FragmentId(head.0 + 1);
    record.prev = head.1;
    record.mac = link(chain, &record);
    let (kind, about) = kind(record.kind);
    let origin = &record.origin;
    let message = origin.message.map(|message| message.0.cast_signed());
    sql.prepare_cached(
        "INSERT INTO provenance VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
             ?14, ?15, ?16, ?17, ?18, ?19)",
    )?
    .execute(rusqlite::params![
        record.seq.0,
        kind,
        about,
        record.scope.as_str(),
        record.target.code(),
        origin.source.code(),
        origin.principal.as_str(),
        origin.platform,
        origin.session.map(|session| session.0),
        message,
        origin.call,
        origin.generation.cast_signed(),
        origin.at.as_millis(),
        origin.approved_by.as_ref().map(Actor::as_str),
        pack(&record.parents),
        record.commitment,
        record.prev,
        record.mac,
        origin.label,
    ])?;
    *head = (record.seq.0, record.mac);
    Ok(())
}

/// The link of a record: over everything it says.
pub(super) fn link(chain: &Chain, record: &Provenance) -> Bytes32 {
    let (kind, about) = kind(record.kind);
    let origin = &record.origin;
    let mut bytes = Vec::with_capacity(256);
    let mut number = |number: i64| bytes.extend_from_slice(&number.to_le_bytes());
    number(record.seq.0);
    number(kind);
    number(about.unwrap_or(-1));
    number(record.target.code());
    number(origin.source.code());
    number(origin.session.map_or(-1, |session| session.0));
    number(origin.message.map_or(-1, |message| message.0.cast_signed()));
    number(origin.generation.cast_signed());
    number(origin.at.as_millis());
    // A text that is not there and an empty one are different.
    let texts = [
        Some(record.scope.as_str()),
        Some(origin.principal.as_str()),
        Some(&*origin.platform),
        origin.call.as_deref(),
        origin.approved_by.as_ref().map(Actor::as_str),
    ];
    for text in texts {
        let len = text.map_or(u64::MAX, |text| text.len() as u64);
        bytes.extend_from_slice(&len.to_le_bytes());
        bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
    }
    bytes.extend_from_slice(&(record.parents.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&pack(&record.parents));
    bytes.extend_from_slice(&record.commitment);
    bytes.extend_from_slice(&record.prev);
    // Records from before there were labels keep their links.
    if let Some(label) = &origin.label {
        bytes.extend_from_slice(&(label.len() as u64).to_le_bytes());
        bytes.extend_from_slice(label.as_bytes());
    }
    chain.tag("memory", &bytes)
}

/// Fragments as 8 bytes each.
pub(crate) fn pack(ids: &[FragmentId]) -> Vec<u8> {
    ids.iter().flat_map(|id| id.0.to_le_bytes()).collect()
}

/// The reverse.
pub(crate) fn unpack(bytes: &[u8]) -> Option<Vec<FragmentId>> {
    let (ids, rest) = bytes.as_chunks::<8>();
    rest.is_empty().then(|| ids.iter().map(|id| FragmentId(i64::from_le_bytes(*id))).collect())
}

/// A record as a row has it.
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Provenance> {
    let about = row.get::<_, Option<i64>>(2)?.map(FragmentId);
    let kind = match (row.get::<_, i64>(1)?, about) {
        (0, None) => RecordKind::Learned,
        (1, Some(id)) => RecordKind::Removed(id),
        (2, Some(id)) => RecordKind::Forgotten(id),
        _ => return Err(bad_value(1)),
    };
    let message = row.get::<_, Option<i64>>(9)?;
    let text = |at: usize| -> rusqlite::Result<Option<Box<str>>> {
        Ok(row.get::<_, Option<String>>(at)?.map(Into::into))
    };
    Ok(Provenance {
        seq: FragmentId(row.get(0)?),
        kind,
        scope: scopes::read(row, 3)?,
        target: MemoryList::from_code(row.get(4)?).ok_or_else(|| bad_value(4))?,
        origin: MemoryOrigin {
            source: MemorySource::from_code(row.get(5)?).ok_or_else(|| bad_value(5))?,
            principal: actor(row, 6)?,
            platform: row.get::<_, String>(7)?.into(),
            session: row.get::<_, Option<i64>>(8)?.map(SessionId),
            message: message.map(|message| MessageSeq(message.cast_unsigned())),
            call: text(10)?,
            generation: row.get::<_, i64>(11)?.cast_unsigned(),
            at: Timestamp::from_millis(row.get(12)?),
            approved_by: text(13)?.map(|by| Actor::from(&*by)),
            label: text(18)?,
        },
        parents: unpack(row.get_ref(14)?.as_blob()?).ok_or_else(|| bad_value(14))?,
        commitment: row.get(15)?,
        prev: row.get(16)?,
        mac: row.get(17)?,
    })
}

/// A page of records after a place.
pub(crate) fn after(
    sql: &Connection,
    after: FragmentId,
    limit: usize,
) -> rusqlite::Result<Vec<Provenance>> {
    let limit = i64::try_from(limit.min(MEMORY_PAGE_MAX)).unwrap_or(i64::MAX);
    sql.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM provenance WHERE seq > ?1 ORDER BY seq LIMIT ?2"
    ))?
    .query_map((after.0, limit), read)?
    .collect()
}

/// Where the audit trail says that the chain ends: a place and a link.
pub(super) fn anchored(sql: &Connection) -> rusqlite::Result<Option<(i64, String)>> {
    let content: Option<String> = sql
        .prepare("SELECT content FROM audit WHERE kind = ?1 AND content NOT NULL ORDER BY seq DESC LIMIT 1")?
        .query_row([AUDIT_KIND], |row| row.get(0))
        .optional()?;
    Ok(content.and_then(|content| parse(&content)))
}

/// What the audit record says: `{"record":7,"link":"…"}`.
pub(crate) fn anchor_text((seq, mac): (i64, Bytes32)) -> String {
    let link = blake3::Hash::from_bytes(mac).to_hex();
    format!("{{\"record\":{seq},\"link\":\"{link}\"}}")
}

fn parse(content: &str) -> Option<(i64, String)> {
    let rest = content.strip_prefix("{\"record\":")?;
    let (seq, rest) = rest.split_once(",\"link\":\"")?;
    Some((seq.parse().ok()?, rest.strip_suffix("\"}")?.to_owned()))
}
