//! Which agents there are and when to wake them.

use super::sql::{agent_id, bad_text};
use super::{anchors, born, spent};
use crate::chain::{Chain, Head};
use crate::daemon::{AgentRow, Due, Lifecycle};
use crate::key::AuditKey;
use insula_domain::id::AgentId;
use insula_world::Timestamp;
use rusqlite::Connection;

/// Adds or replaces what is known of an agent. Its chain gets an anchor at once, before there
/// is a chain, so that a chain without anchor is known to have lost it.
pub(crate) fn put(sql: &Connection, key: &AuditKey, row: &AgentRow) -> rusqlite::Result<()> {
    sql.prepare_cached(
        "INSERT INTO agent VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (id) DO UPDATE SET state = excluded.state,
                 generation = excluded.generation, digest = excluded.digest,
                 authority = excluded.authority",
    )?
    .execute((
        row.id.as_str(),
        row.state.as_str(),
        row.generation.cast_signed(),
        row.digest,
        &row.authority,
    ))?;
    let chain = Chain::of_agent(key, &born::begin(sql, &row.id)?);
    anchors::begin(sql, &chain, &row.id, Head::START)
}

/// Calls an agent otherwise, with all that is known of it. Nothing, where there is none of that
/// name any more; whoever has the other name is replaced.
pub(crate) fn rename(sql: &Connection, from: &AgentId, to: &AgentId) -> rusqlite::Result<()> {
    if !sql.prepare_cached("SELECT 1 FROM agent WHERE id = ?1")?.exists([from.as_str()])? {
        return Ok(());
    }
    for (table, column) in TABLES {
        for statement in [
            format!("DELETE FROM {table} WHERE {column} = ?2 AND ?1 <> ?2"),
            format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1"),
        ] {
            sql.prepare_cached(&statement)?.execute([from.as_str(), to.as_str()])?;
        }
    }
    born::renamed(sql, from, to)
}

/// Where something is known of an agent, and by which column.
const TABLES: [(&str, &str); 8] = [
    ("agent", "id"),
    ("wake", "agent"),
    ("event", "agent"),
    ("anchor", "agent"),
    ("audit_queue", "agent"),
    ("audit_count", "agent"),
    ("busy", "agent"),
    ("spent", "agent"),
];

/// Removes all that is known of an agent. What it used today stays used, by nobody's name.
pub(crate) fn forget(sql: &Connection, id: &AgentId) -> rusqlite::Result<()> {
    spent::keep_without_name(sql, id)?;
    for (table, column) in TABLES {
        let statement = format!("DELETE FROM {table} WHERE {column} = ?1");
        sql.prepare_cached(&statement)?.execute([id.as_str()])?;
    }
    born::forget(sql, id)
}

/// Every agent, by id.
pub(crate) fn all(sql: &Connection) -> rusqlite::Result<Vec<AgentRow>> {
    sql.prepare("SELECT id, state, generation, digest, authority FROM agent ORDER BY id")?
        .query_map([], |row| {
            let state: String = row.get(1)?;
            Ok(AgentRow {
                id: agent_id(row, 0)?,
                state: Lifecycle::parse(&state).ok_or_else(|| bad_text(1))?,
                generation: row.get::<_, i64>(2)?.cast_unsigned(),
                digest: row.get(3)?,
                authority: row.get(4)?,
            })
        })?
        .collect()
}

/// Sets or removes a wake time.
pub(crate) fn set_wake(
    sql: &Connection,
    agent: &AgentId,
    at: Option<Timestamp>,
) -> rusqlite::Result<()> {
    match at {
        None => sql.prepare_cached("DELETE FROM wake WHERE agent = ?1")?.execute([agent.as_str()]),
        Some(at) => sql
            .prepare_cached(
                "INSERT INTO wake VALUES (?1, ?2)
                 ON CONFLICT (agent) DO UPDATE SET at = excluded.at",
            )?
            .execute((agent.as_str(), at.as_millis())),
    }
    .map(drop)
}

/// Agents to wake, the most overdue first.
pub(crate) fn due(sql: &Connection, now: Timestamp, limit: usize) -> rusqlite::Result<Vec<Due>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    sql.prepare_cached("SELECT at, agent FROM wake WHERE at <= ?1 ORDER BY at, agent LIMIT ?2")?
        .query_map((now.as_millis(), limit), |row| {
            Ok(Due { at: Timestamp::from_millis(row.get(0)?), agent: agent_id(row, 1)? })
        })?
        .collect()
}
