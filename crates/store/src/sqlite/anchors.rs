//! Where chains end, kept outside their own files: an agent's in the daemon's database, the
//! daemon's in a file beside it, since what cuts a database cuts all that is in it.
//!
//! An anchor may lag behind its chain (a crash between the two writes). It runs ahead only where
//! the power goes before the chain was flushed; so it also says how far the chain is known to be
//! on the disk. It advances only while the chain still holds the record it names: a chain that
//! was cut can't grow over its anchor.

use crate::chain::{Anchor, Anchored, Bytes32, Chain, Head};
use crate::error::Result;
use crate::files;
use insula_domain::id::AgentId;
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::path::Path;

/// A head that is to be anchored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToAnchor {
    pub(crate) head: Head,
    /// Whether it is on the disk, and all before it.
    pub(crate) is_flushed: bool,
    /// Whether a tail was lost and the chain says so: the anchor goes back to where it goes on.
    pub(crate) goes_back: bool,
}

impl ToAnchor {
    /// A head of which nothing is known but that it was written.
    pub(crate) fn written(head: Head) -> Self {
        Self { head, is_flushed: false, goes_back: false }
    }

    /// What is due when this comes after an earlier one.
    pub(crate) fn after(self, before: Option<Self>) -> Self {
        let goes_back = self.goes_back || before.is_some_and(|before| before.goes_back);
        Self { goes_back, ..self }
    }

    /// The anchor that comes of it, where there was `before`.
    pub(crate) fn onto(self, before: Option<Anchored>) -> Anchored {
        let Self { head, is_flushed, goes_back } = self;
        let before = before.unwrap_or(Anchored { written: Head::START, flushed: Head::START });
        let farther = |one: Head, other: Head| if other.seq > one.seq { other } else { one };
        let written = if goes_back { head } else { farther(before.written, head) };
        let flushed = if is_flushed { farther(before.flushed, head) } else { before.flushed };
        Anchored { written, flushed }
    }
}

/// An agent's first anchor, unless it has one.
pub(crate) fn begin(
    sql: &Connection,
    chain: &Chain,
    agent: &AgentId,
    head: Head,
) -> rusqlite::Result<()> {
    let held =
        sql.prepare_cached("SELECT 1 FROM anchor WHERE agent = ?1")?.exists([agent.as_str()])?;
    if held {
        return Ok(());
    }
    advance(sql, chain, agent, ToAnchor::written(head))
}

/// Moves an agent's anchor forward; back only where the chain says why. One that can't be trusted
/// stays as it is: it is evidence.
pub(crate) fn advance(
    sql: &Connection,
    chain: &Chain,
    agent: &AgentId,
    due: ToAnchor,
) -> rusqlite::Result<()> {
    let before = match row(sql, chain, agent)? {
        Some(Anchor::At(before)) => Some(before),
        Some(Anchor::Bad(_)) => return Ok(()),
        Some(Anchor::None) | None => None,
    };
    let Anchored { written, flushed } = due.onto(before);
    sql.prepare_cached("INSERT OR REPLACE INTO anchor VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
        .execute((
            agent.as_str(),
            written.seq.cast_signed(),
            written.mac,
            chain.seal(written),
            flushed.seq.cast_signed(),
            flushed.mac,
            chain.seal_flushed(flushed),
        ))
        .map(drop)
}

/// An agent's anchor.
pub(crate) fn of(sql: &Connection, chain: &Chain, agent: &AgentId) -> rusqlite::Result<Anchor> {
    if let Some(anchor) = row(sql, chain, agent)? {
        return Ok(anchor);
    }
    let known =
        sql.prepare_cached("SELECT 1 FROM agent WHERE id = ?1")?.exists([agent.as_str()])?;
    Ok(if known { Anchor::Bad("the anchor of its head is gone") } else { Anchor::None })
}

fn row(sql: &Connection, chain: &Chain, agent: &AgentId) -> rusqlite::Result<Option<Anchor>> {
    const COLUMNS: &str = "seq, mac, seal, flushed_seq, flushed_mac, flushed_seal";
    let head = |row: &Row<'_>, first: usize| -> rusqlite::Result<Option<(Head, Bytes32)>> {
        let Some(seq) = row.get::<_, Option<i64>>(first)? else { return Ok(None) };
        let head = Head { seq: seq.cast_unsigned(), mac: row.get(first + 1)? };
        Ok(Some((head, row.get(first + 2)?)))
    };
    sql.prepare_cached(&format!("SELECT {COLUMNS} FROM anchor WHERE agent = ?1"))?
        .query_row([agent.as_str()], |row| {
            let written = head(row, 0)?;
            let flushed = head(row, 3)?;
            Ok(written.map_or(Anchor::None, |written| chain.open_seals(written, flushed)))
        })
        .optional()
}

/// Writes the daemon's anchor: position, link and seal, in hexadecimal on one line, and on the
/// next how far the chain is known to be on the disk.
pub(crate) fn write_file(path: &Path, chain: &Chain, anchored: Anchored) -> Result<()> {
    let hex = |bytes: Bytes32| blake3::Hash::from_bytes(bytes).to_hex();
    let Anchored { written, flushed } = anchored;
    let lines = format!(
        "{} {} {}\nflushed {} {} {}\n",
        written.seq,
        hex(written.mac),
        hex(chain.seal(written)),
        flushed.seq,
        hex(flushed.mac),
        hex(chain.seal_flushed(flushed)),
    );
    files::write_atomically(path, lines.as_bytes())
}

/// Reads the daemon's anchor.
pub(crate) fn read_file(path: &Path, chain: &Chain) -> Result<Anchor> {
    let bytes = files::read_small(path)?.map(|(bytes, _)| bytes);
    Ok(read_text(bytes.as_deref(), chain))
}

/// The daemon's anchor, from the text of its file.
pub(crate) fn read_text(bytes: Option<&[u8]>, chain: &Chain) -> Anchor {
    let Some(bytes) = bytes else {
        return Anchor::Bad("the anchor of its head, `audit.anchor`, is gone");
    };
    match parse(bytes) {
        Some((written, flushed)) => chain.open_seals(written, flushed),
        None => Anchor::Bad("the anchor of its head, `audit.anchor`, is unreadable"),
    }
}

type Sealed = (Head, Bytes32);

fn parse(bytes: &[u8]) -> Option<(Sealed, Option<Sealed>)> {
    let mut lines = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?.split('\n');
    let line = |line: &str| -> Option<Sealed> {
        let mut parts = line.split(' ');
        let seq = parts.next()?.parse().ok()?;
        let mut hex = || Some(*blake3::Hash::from_hex(parts.next()?).ok()?.as_bytes());
        let (mac, seal) = (hex()?, hex()?);
        parts.next().is_none().then_some((Head { seq, mac }, seal))
    };
    let written = line(lines.next()?)?;
    // Files of older versions have one line.
    let flushed = match lines.next() {
        Some(text) => Some(line(text.strip_prefix("flushed ")?)?),
        None => None,
    };
    lines.next().is_none().then_some((written, flushed))
}
