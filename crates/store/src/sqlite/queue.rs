//! Audit records that wait for their agent's database to open.
//!
//! They move in three steps: read here, appended there together with the highest id taken in,
//! removed here. A crash after any step repeats nothing: an id not higher than the one taken
//! in is skipped.

use super::audit;
use super::sql::agent_id;
use crate::audit::{About, AuditEntry};
use crate::chain::Chain;
use crate::id::SessionId;
use crate::sqlite::sql::{actor, bad_value};
use insula_domain::AuditScope;
use insula_domain::id::AgentId;
use insula_world::{Random, Timestamp};
use rusqlite::{Connection, Row};
use std::collections::BTreeSet;

/// Records moved in one transaction; more are moved in several.
const MOVED_AT_ONCE_MAX: i64 = 1_000;

/// A waiting record.
pub(crate) struct Queued {
    pub(crate) id: i64,
    pub(crate) entry: AuditEntry,
}

/// In the daemon's database: keeps a record for an agent. Numbers begin anew above those of every
/// earlier epoch, so that none is used twice even where a loss of power undid the newest of them.
pub(crate) fn push(sql: &Connection, agent: &AgentId, entry: &AuditEntry) -> rusqlite::Result<()> {
    let id: i64 = sql
        .prepare_cached(
            "INSERT INTO audit_count SELECT ?1, (epoch << 32) + 1 FROM fence WHERE true
             ON CONFLICT (agent) DO UPDATE SET last = max(last + 1, excluded.last)
             RETURNING last",
        )?
        .query_row([agent.as_str()], |row| row.get(0))?;
    sql.prepare_cached(
        "INSERT INTO audit_queue (agent, id, at, actor, kind, generation, content, about)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((
        agent.as_str(),
        id,
        entry.at.as_millis(),
        entry.actor.as_str(),
        &entry.kind,
        entry.generation.cast_signed(),
        &entry.content,
        about_text(&entry.about),
    ))
    .map(drop)
}

/// What a waiting record is about, as text. Neither scopes nor keys have a blank in them, and no
/// scope begins with a sign.
fn about_text(about: &About) -> String {
    match about {
        About::Daemon => AuditScope::Daemon.to_string(),
        About::Agent => AuditScope::Agent.to_string(),
        About::Scope(scope) => scope.to_string(),
        About::Conversation { scope, key } => format!("{scope} {key}"),
        About::Session(id) => format!("#{id}"),
        About::Key(key) => format!("@{key}"),
    }
}

fn read_about(row: &Row<'_>, column: usize) -> rusqlite::Result<About> {
    let text: String = row.get(column)?;
    let read = || -> Option<About> {
        if let Some(id) = text.strip_prefix('#') {
            return Some(About::Session(SessionId(id.parse().ok()?)));
        }
        if let Some(key) = text.strip_prefix('@') {
            return Some(About::Key(key.into()));
        }
        if let Some((scope, key)) = text.split_once(' ') {
            return Some(About::Conversation { scope: scope.parse().ok()?, key: key.into() });
        }
        match text.parse().ok()? {
            AuditScope::Daemon => Some(About::Daemon),
            AuditScope::Agent => Some(About::Agent),
            AuditScope::Of(scope) => Some(About::Scope(scope)),
            AuditScope::Unknown => None,
        }
    };
    read().ok_or_else(|| bad_value(column))
}

/// In the daemon's database: the agents for whom records wait.
pub(crate) fn agents(sql: &Connection) -> rusqlite::Result<BTreeSet<AgentId>> {
    sql.prepare("SELECT DISTINCT agent FROM audit_queue")?
        .query_map([], |row| agent_id(row, 0))?
        .collect()
}

/// In the daemon's database: an agent's oldest waiting records.
pub(crate) fn waiting(sql: &Connection, agent: &AgentId) -> rusqlite::Result<Vec<Queued>> {
    sql.prepare_cached(
        "SELECT id, at, actor, kind, generation, content, about FROM audit_queue
         WHERE agent = ?1 ORDER BY id LIMIT ?2",
    )?
    .query_map((agent.as_str(), MOVED_AT_ONCE_MAX), |row| {
        Ok(Queued {
            id: row.get(0)?,
            entry: AuditEntry {
                at: Timestamp::from_millis(row.get(1)?),
                actor: actor(row, 2)?,
                about: read_about(row, 6)?,
                kind: row.get(3)?,
                generation: row.get::<_, i64>(4)?.cast_unsigned(),
                content: row.get(5)?,
            },
        })
    })?
    .collect()
}

/// In the daemon's database: removes what was taken in.
pub(crate) fn remove(sql: &Connection, agent: &AgentId, up_to: i64) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM audit_queue WHERE agent = ?1 AND id <= ?2")?
        .execute((agent.as_str(), up_to))
        .map(drop)
}

/// In the agent's database: appends the records not taken in before.
pub(crate) fn take_in(
    sql: &Connection,
    chain: &Chain,
    random: &Random,
    records: &[Queued],
) -> rusqlite::Result<()> {
    let taken: i64 = sql.query_row("SELECT id FROM taken_in", [], |row| row.get(0))?;
    let mut highest = taken;
    for Queued { id, entry } in records {
        if *id > taken {
            audit::append(sql, chain, random, entry.clone())?;
            highest = highest.max(*id);
        }
    }
    sql.execute("UPDATE taken_in SET id = ?1", [highest]).map(drop)
}
