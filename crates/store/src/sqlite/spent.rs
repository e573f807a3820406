//! What closed agents used lately, told without opening their databases.
//!
//! The row is written in the transaction that takes the agent's mark of being busy away, and
//! nothing can be used without that mark. So either the mark is there, and the agent's own
//! database must be asked; or the row holds all that was used.

use super::busy;
use super::sql::agent_id;
use super::{usage, values};
use crate::daemon::Spending;
use crate::usage::{DAY_MS, Totals, Usage};
use insula_domain::id::AgentId;
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};

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

/// Where it is kept what deleted agents used on the last day that any of them used something.
const OF_DELETED: &str = "spent.deleted";

/// Adds what an agent used on its last day to what deleted agents used. The money is gone, and a
/// limit for all agents together has to know of it.
pub(crate) fn keep_without_name(sql: &Connection, agent: &AgentId) -> rusqlite::Result<()> {
    let found = sql
        .prepare_cached(
            "SELECT day, turns, input, output, cached, reasoning, cost_micros FROM spent
             WHERE agent = ?1",
        )?
        .query_row([agent.as_str()], |row| Ok((row.get(0)?, columns_of(row)?)))
        .optional()?;
    let Some((day, used)) = found else { return Ok(()) };
    let used = match of_deleted(sql)? {
        Some((known, _)) if known > day => return Ok(()),
        Some((known, before)) if known == day => {
            std::array::from_fn(|at| before[at].saturating_add(used[at]))
        }
        _ => used,
    };
    let figures = used.iter().map(i64::to_string).collect::<Vec<_>>().join(" ");
    values::put(sql, OF_DELETED, &format!("{day} {figures}"))
}

/// The number of a day, and what deleted agents used on it.
fn of_deleted(sql: &Connection) -> rusqlite::Result<Option<(i64, [i64; 6])>> {
    let Some(kept) = values::get(sql, OF_DELETED)? else { return Ok(None) };
    let figures: Option<Vec<i64>> = kept.split(' ').map(|it| it.parse().ok()).collect();
    Ok(match figures.as_deref() {
        Some([day, used @ ..]) => used.try_into().ok().map(|used| (*day, used)),
        _ => None,
    })
}

/// The sums of a row, behind its first column.
fn columns_of(row: &Row<'_>) -> rusqlite::Result<[i64; 6]> {
    let mut sums = [0; 6];
    for (at, sum) in sums.iter_mut().enumerate() {
        *sum = row.get(at + 1)?;
    }
    Ok(sums)
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
    let deleted = of_deleted(sql)?.filter(|(day, _)| *day >= usage::day(since));
    let deleted = deleted.map(|(day, [turns, input, output, cached, reasoning, cost_micros])| {
        let midnight = Timestamp::from_millis(day.saturating_mul(DAY_MS));
        let [turns, input, output, cached, reasoning, cost_micros] =
            [turns, input, output, cached, reasoning, cost_micros]
                .map(|it| it.max(0).cast_unsigned());
        let usage = Usage { input, output, cached, reasoning, cost_micros };
        (midnight, Totals { turns, usage })
    });
    Ok(Spending { closed, open: open.into_iter().collect(), deleted })
}
