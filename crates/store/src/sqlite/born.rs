//! The names that agents' chains were begun with. What is sealed by a name stays sealed by it when
//! its agent is called otherwise, and a new agent of that name is sealed by another.

use insula_domain::AgentId;
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::BTreeMap;

/// Those that are not the agent's id.
pub(crate) type Born = BTreeMap<AgentId, Box<str>>;

/// The name of an agent's chains.
pub(crate) fn name<'n>(born: &'n Born, agent: &'n AgentId) -> &'n str {
    born.get(agent).map_or(agent.as_str(), |name| name)
}

/// All that are kept.
pub(crate) fn all(sql: &Connection) -> rusqlite::Result<Born> {
    sql.prepare_cached("SELECT agent, name FROM born")?
        .query_map([], |row| Ok((super::sql::agent_id(row, 0)?, row.get(1)?)))?
        .collect()
}

/// The same for one, from a file that is only looked at.
pub(crate) fn of(sql: &Connection, agent: &AgentId) -> rusqlite::Result<Box<str>> {
    let kept = sql
        .prepare_cached("SELECT name FROM born WHERE agent = ?1")?
        .query_row([agent.as_str()], |row| row.get(0))
        .optional()?;
    Ok(kept.unwrap_or_else(|| agent.as_str().into()))
}

/// The name of an agent that may be new: where another has its id for a name, one that nobody has.
/// Ids have no `~`.
pub(crate) fn begin(sql: &Connection, agent: &AgentId) -> rusqlite::Result<Box<str>> {
    let is_taken = |name: &str| {
        sql.prepare_cached("SELECT 1 FROM born WHERE name = ?1 AND agent <> ?2")?
            .exists([name, agent.as_str()])
    };
    let own = of(sql, agent)?;
    if *own != *agent.as_str() || !is_taken(agent.as_str())? {
        return Ok(own);
    }
    let mut number = 2_u64;
    let mut name = format!("{agent}~{number}");
    while is_taken(&name)? {
        number += 1;
        name = format!("{agent}~{number}");
    }
    sql.prepare_cached("INSERT INTO born VALUES (?1, ?2)")?.execute([agent.as_str(), &name])?;
    Ok(name.into())
}

/// Whoever was called `from` is called `to`, and keeps the name of its chains.
pub(crate) fn renamed(sql: &Connection, from: &AgentId, to: &AgentId) -> rusqlite::Result<()> {
    let name = of(sql, from)?;
    forget(sql, from)?;
    forget(sql, to)?;
    // Back to what it was called at first: nothing is to be kept.
    if *name != *to.as_str() {
        sql.prepare_cached("INSERT INTO born VALUES (?1, ?2)")?.execute([to.as_str(), &name])?;
    }
    Ok(())
}

pub(crate) fn forget(sql: &Connection, agent: &AgentId) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM born WHERE agent = ?1")?.execute([agent.as_str()]).map(drop)
}
