//! The ledger of events: a redelivery goes to the agent that got the first delivery.

use super::sql::agent_id;
use crate::daemon::{EventKey, Reserved};
use insula_domain::id::AgentId;
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};

/// Gives an event to an agent, unless it already is somebody's.
pub(crate) fn reserve(
    sql: &Connection,
    key: &EventKey,
    agent: &AgentId,
    now: Timestamp,
) -> rusqlite::Result<Reserved> {
    let added = sql
        .prepare_cached("INSERT OR IGNORE INTO event VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute((&key.platform, &key.account, &key.event, agent.as_str(), now.as_millis()))?;
    if added > 0 {
        return Ok(Reserved::New);
    }
    owner(sql, key)
        .and_then(|owner| owner.map(Reserved::Seen).ok_or(rusqlite::Error::QueryReturnedNoRows))
}

/// Whose an event is.
pub(crate) fn owner(sql: &Connection, key: &EventKey) -> rusqlite::Result<Option<AgentId>> {
    sql.prepare_cached(
        "SELECT agent FROM event WHERE platform = ?1 AND account = ?2 AND event = ?3",
    )?
    .query_row((&key.platform, &key.account, &key.event), |row| agent_id(row, 0))
    .optional()
}

/// Gives an event to another agent.
pub(crate) fn give(sql: &Connection, key: &EventKey, agent: &AgentId) -> rusqlite::Result<()> {
    sql.prepare_cached(
        "UPDATE event SET agent = ?4 WHERE platform = ?1 AND account = ?2 AND event = ?3",
    )?
    .execute((&key.platform, &key.account, &key.event, agent.as_str()))
    .map(drop)
}

/// Forgets events reserved before a time.
pub(crate) fn prune(sql: &Connection, before: Timestamp) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM event WHERE reserved_at < ?1")?
        .execute([before.as_millis()])
        .map(drop)
}
