//! Which agents may have unfinished turns or undelivered words, told without opening their
//! databases.
//!
//! The mark is set before the first message is taken in, and taken away when the agent's
//! database closes; in between it stays, so that in steady use it costs nothing.
//!
//! Why a crash can't lose it: an agent's slot is held, by one piece of work at a time, while
//! its mark is set or taken away and while its turns are committed.
//!
//! 1. Whoever commits an acceptance, or puts something into the outbox, sees the mark first, or
//!    sets it, flushed as a commit is, before the transaction begins. So neither is durable
//!    without a durable mark.
//! 2. The mark is taken away only after the database was seen to have no unfinished turn and
//!    nothing to deliver, and was closed, which flushed the conclusions that made it so; and nobody can accept in
//!    between, because the slot is held. So no mark is gone while a turn is unfinished.
//! 3. Taking it away is not flushed. If that is lost, a mark is left without a reason: the
//!    agent is looked at once at the next start, and loses it when its database closes.

use super::sql::agent_id;
use insula_domain::id::AgentId;
use rusqlite::Connection;
use std::collections::BTreeSet;

/// Every agent with a mark.
pub(crate) fn agents(sql: &Connection) -> rusqlite::Result<BTreeSet<AgentId>> {
    sql.prepare("SELECT agent FROM busy")?.query_map([], |row| agent_id(row, 0))?.collect()
}

/// Marks an agent.
pub(crate) fn mark(sql: &Connection, agent: &AgentId) -> rusqlite::Result<()> {
    sql.prepare_cached("INSERT OR IGNORE INTO busy VALUES (?1)")?
        .execute([agent.as_str()])
        .map(drop)
}

/// Takes the mark away.
pub(crate) fn clear(sql: &Connection, agent: &AgentId) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM busy WHERE agent = ?1")?.execute([agent.as_str()]).map(drop)
}
