//! What closed agents used lately, told without opening their databases.
//!
//! The row is written in the transaction that takes the agent's mark of being busy away, and
//! nothing can be used without that mark. So either the mark is there, and the agent's own
//! database must be asked; or the row holds all that was used.

use super::busy;
use super::directory::agent_id;
use super::usage;
use crate::daemon::Spending;
use crate::usage::{DAY_MS, Totals};
use insula_domain::id::AgentId;
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};

/// The last day with usage in an agent's database, and the sums of that day.
pub(crate) fn last(sql: &Connection) -> rusqlite::Result<Option<(Timestamp, Totals)>> {
    sql.prepare_cached(
        "SELECT day, turns, input, output, cached, reasoning, cost_micros FROM usage
         WHERE kind = 0 ORDER BY day DESC LIMIT 1",
    )?
    .query_row([], |row| {
        let turns = row.get::<_, i64>(1)?.max(0).cast_unsigned();
        let midnight = Timestamp::from_millis(row.get::<_, i64>(0)?.saturating_mul(DAY_MS));
        Ok((midnight, Totals { turns, usage: usage::read(row, 2)? }))
    })
    .optional()
}

/// Keeps what an agent used on its last day.
pub(crate) fn put(
    sql: &Connection,
    agent: &AgentId,
    (midnight, totals): (Timestamp, Totals),
) -> rusqlite::Result<()> {
    let [input, output, cached, reasoning, cost] = usage::columns(totals.usage);
    let turns = i64::try_from(totals.turns).unwrap_or(i64::MAX);
    sql.prepare_cached("INSERT OR REPLACE INTO spent VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?
        .execute((
            agent.as_str(),
            usage::day(midnight),
            turns,
            input,
            output,
            cached,
            reasoning,
            cost,
        ))
        .map(drop)
}

/// Who used something since the beginning of a day.
pub(crate) fn since(sql: &Connection, since: Timestamp) -> rusqlite::Result<Spending> {
    let open = busy::agents(sql)?;
    let rows = sql
        .prepare_cached(
            "SELECT agent, day, turns, input, output, cached, reasoning, cost_micros FROM spent
             WHERE day >= ?1 ORDER BY agent",
        )?
        .query_map([usage::day(since)], |row| {
            let midnight = Timestamp::from_millis(row.get::<_, i64>(1)?.saturating_mul(DAY_MS));
            let turns = row.get::<_, i64>(2)?.max(0).cast_unsigned();
            let totals = Totals { turns, usage: usage::read(row, 3)? };
            Ok((agent_id(row, 0)?, midnight, totals))
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let closed = rows.into_iter().filter(|(agent, ..)| !open.contains(agent)).collect();
    Ok(Spending { closed, open: open.into_iter().collect() })
}
