//! Where chains end, kept outside their own files: an agent's in the daemon's database, the
//! daemon's in a file beside it, since what cuts a database cuts all that is in it.
//!
//! An anchor may lag behind its chain (a crash between the two writes), never the reverse. It
//! therefore needs no flush of its own, and advances only while the chain still holds the
//! record it names: a chain that was cut can't grow over its anchor.

use super::daemon::DaemonTx;
use crate::chain::{Anchor, Bytes32, Chain, Head};
use crate::error::Result;
use crate::files;
use insula_domain::id::AgentId;
use rusqlite::{Connection, OptionalExtension as _};
use std::path::Path;

/// An agent's first anchor, unless it has one.
pub(crate) fn begin(tx: &DaemonTx<'_>, agent: &AgentId, head: Head) -> rusqlite::Result<()> {
    let held =
        tx.sql.prepare_cached("SELECT 1 FROM anchor WHERE agent = ?1")?.exists([agent.as_str()])?;
    if held {
        return Ok(());
    }
    advance(tx.sql, &Chain::of_agent(tx.key, agent.as_str()), agent, head)
}

/// Moves an agent's anchor forward, never back.
pub(crate) fn advance(
    sql: &Connection,
    chain: &Chain,
    agent: &AgentId,
    head: Head,
) -> rusqlite::Result<()> {
    sql.prepare_cached(
        "INSERT INTO anchor VALUES (?1, ?2, ?3, ?4) ON CONFLICT (agent) DO UPDATE
         SET seq = excluded.seq, mac = excluded.mac, seal = excluded.seal
         WHERE excluded.seq > anchor.seq",
    )?
    .execute((agent.as_str(), head.seq.cast_signed(), head.mac, chain.seal(head)))
    .map(drop)
}

/// An agent's anchor.
pub(crate) fn of(sql: &Connection, chain: &Chain, agent: &AgentId) -> rusqlite::Result<Anchor> {
    let row = sql
        .prepare_cached("SELECT seq, mac, seal FROM anchor WHERE agent = ?1")?
        .query_row([agent.as_str()], |row| {
            let head = Head { seq: row.get::<_, i64>(0)?.cast_unsigned(), mac: row.get(1)? };
            Ok((head, row.get::<_, Bytes32>(2)?))
        })
        .optional()?;
    if let Some((head, seal)) = row {
        return Ok(chain.open_seal(head, &seal));
    }
    let known =
        sql.prepare_cached("SELECT 1 FROM agent WHERE id = ?1")?.exists([agent.as_str()])?;
    Ok(if known { Anchor::Bad("the anchor of its head is gone") } else { Anchor::None })
}

/// Writes the daemon's anchor: position, link and seal, in hexadecimal on one line.
pub(crate) fn write_file(path: &Path, chain: &Chain, head: Head) -> Result<()> {
    let hex = |bytes: Bytes32| blake3::Hash::from_bytes(bytes).to_hex();
    let line = format!("{} {} {}\n", head.seq, hex(head.mac), hex(chain.seal(head)));
    files::write_atomically(path, line.as_bytes())
}

/// Reads the daemon's anchor.
pub(crate) fn read_file(path: &Path, chain: &Chain) -> Result<Anchor> {
    let Some((bytes, _)) = files::read_small(path)? else {
        return Ok(Anchor::Bad("the anchor of its head, `audit.anchor`, is gone"));
    };
    let parse = || {
        let line = std::str::from_utf8(&bytes).ok()?.strip_suffix('\n')?;
        let mut parts = line.split(' ');
        let seq = parts.next()?.parse().ok()?;
        let mut hex = || Some(*blake3::Hash::from_hex(parts.next()?).ok()?.as_bytes());
        let (mac, seal) = (hex()?, hex()?);
        parts.next().is_none().then_some((Head { seq, mac }, seal))
    };
    Ok(match parse() {
        Some((head, seal)) => chain.open_seal(head, &seal),
        None => Anchor::Bad("the anchor of its head, `audit.anchor`, is unreadable"),
    })
}
