//! Usage in SQLite: sums by day and by hour, kept up with every turn.

use crate::usage::{
    DAY_MS, HOUR_MS, Totals, USAGE_NAMES_MAX, USAGE_ROWS_MAX, Usage, UsageBy, UsageOf, UsagePoints,
    UsageReport, UsageSeries,
};
use insula_world::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::collections::BTreeMap;

/// Most days that are looked up one by one; beyond, one scan is cheaper.
const DAYS_LOOKED_UP_MAX: i64 = 400;

const AGENT: i64 = 0;
const PRINCIPAL: i64 = 1;
const SCOPE: i64 = 2;
/// Here `turns` counts calls of models: a turn may be paid for by several keys.
const KEY: i64 = 3;
const WAY: i64 = 4;
/// As of keys, `turns` are calls here.
const MODEL: i64 = 5;
/// The agent's, by the hour of the day in two digits.
const HOUR: i64 = 6;

const SUMS: &str = "total(turns), total(input), total(output), total(cached), total(reasoning),
    total(cost_micros)";

/// Whose account usage goes to, besides the agent's.
#[derive(Clone, Copy)]
pub(crate) struct Payer<'a> {
    pub(crate) principal: &'a str,
    pub(crate) scope: &'a str,
    /// The ways it came in by, one a line.
    pub(crate) ways: Option<&'a str>,
}

/// The number of a day.
pub(crate) fn day(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(DAY_MS)
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Usage as columns hold it.
pub(crate) fn columns(usage: Usage) -> [i64; 5] {
    [usage.input, usage.output, usage.cached, usage.reasoning, usage.cost_micros].map(signed)
}

/// Adds to the sums of the day.
pub(crate) fn add(
    sql: &Connection,
    payer: Payer<'_>,
    at: Timestamp,
    turns: i64,
    usage: Usage,
) -> rusqlite::Result<()> {
    let day = day(at);
    let ways = payer.ways.into_iter().flat_map(str::lines).map(|way| (WAY, way));
    let hour = format!("{:02}", at.as_millis().rem_euclid(DAY_MS) / HOUR_MS);
    let all = [(AGENT, ""), (PRINCIPAL, payer.principal), (SCOPE, payer.scope), (HOUR, &*hour)];
    let all = all.into_iter();
    for (kind, name) in all.chain(ways) {
        add_row(sql, (day, kind, name), turns, usage)?;
    }
    Ok(())
}

/// Adds one call of a model to the sums of the day of that model, and of whichever key paid.
pub(crate) fn count_call(
    sql: &Connection,
    (model, key): (&str, Option<&str>),
    at: Timestamp,
    usage: Usage,
) -> rusqlite::Result<()> {
    add_row(sql, (day(at), MODEL, model), 1, usage)?;
    key.map_or(Ok(()), |key| add_row(sql, (day(at), KEY, key), 1, usage))
}

fn add_row(
    sql: &Connection,
    (day, kind, name): (i64, i64, &str),
    turns: i64,
    usage: Usage,
) -> rusqlite::Result<()> {
    let [input, output, cached, reasoning, cost] = columns(usage);
    sql.prepare_cached(
        "INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT DO UPDATE SET turns = turns + excluded.turns,
             input = input + excluded.input, output = output + excluded.output,
             cached = cached + excluded.cached, reasoning = reasoning + excluded.reasoning,
             cost_micros = cost_micros + excluded.cost_micros",
    )?
    .execute((day, kind, name, turns, input, output, cached, reasoning, cost))
    .map(drop)
}

/// Usage in the columns from this one on.
pub(crate) fn read(row: &Row<'_>, from: usize) -> rusqlite::Result<Usage> {
    let column =
        |offset| row.get::<_, i64>(from + offset).map(|value| value.max(0).cast_unsigned());
    Ok(Usage {
        input: column(0)?,
        output: column(1)?,
        cached: column(2)?,
        reasoning: column(3)?,
        cost_micros: column(4)?,
    })
}

/// Sums that SQLite made, which are floating so that they can't overflow.
fn sums(row: &Row<'_>, from: usize) -> rusqlite::Result<Totals> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    let column = |offset| row.get::<_, f64>(from + offset).map(|sum| sum as u64);
    Ok(Totals {
        turns: column(0)?,
        usage: Usage {
            input: column(1)?,
            output: column(2)?,
            cached: column(3)?,
            reasoning: column(4)?,
            cost_micros: column(5)?,
        },
    })
}

/// Usage since the beginning of a day.
pub(crate) fn since(sql: &Connection, since: Timestamp) -> rusqlite::Result<UsageReport> {
    let from = day(since);
    let total = sql
        .prepare_cached(&format!("SELECT {SUMS} FROM usage WHERE day >= ?1 AND kind = 0"))?
        .query_row([from], |row| sums(row, 0))?;
    let days = sql
        .prepare_cached(&format!(
            "SELECT day, {SUMS} FROM usage WHERE day >= ?1 AND kind = 0
             GROUP BY day ORDER BY day DESC LIMIT ?2"
        ))?
        .query_map((from, limit()), |row| {
            let midnight = row.get::<_, i64>(0)?.saturating_mul(DAY_MS);
            Ok((Timestamp::from_millis(midnight), sums(row, 1)?))
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let by = |kind: i64| -> rusqlite::Result<Vec<(Box<str>, Totals)>> {
        sql.prepare_cached(&format!(
            "SELECT name, {SUMS} FROM usage WHERE day >= ?1 AND kind = ?2
             GROUP BY name ORDER BY 7 DESC, 3 DESC, name LIMIT ?3"
        ))?
        .query_map((from, kind, limit()), |row| Ok((row.get(0)?, sums(row, 1)?)))?
        .collect()
    };
    Ok(UsageReport {
        total,
        days: days.into_iter().rev().collect(),
        principals: by(PRINCIPAL)?,
        scopes: by(SCOPE)?,
        ways: by(WAY)?,
        keys: by(KEY)?,
    })
}

/// Usage over time since the beginning of a day: the agent's, and that of the costliest names.
pub(crate) fn series(
    sql: &Connection,
    by: UsageBy,
    since: Timestamp,
) -> rusqlite::Result<UsageSeries> {
    let from = day(since);
    let newest: Option<i64> = sql
        .prepare_cached("SELECT day FROM usage ORDER BY day DESC LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let Some(newest) = newest else { return Ok(UsageSeries::default()) };
    // Days are looked up one by one: what else was used on each is passed over.
    let first = from.max(newest.saturating_sub(DAYS_LOOKED_UP_MAX));
    let mut of_day = sql.prepare_cached(
        "SELECT name, turns, input, output, cached, reasoning, cost_micros FROM usage
         WHERE day = ?1 AND kind = ?2",
    )?;
    let mut rows = |day: i64, kind: i64| -> rusqlite::Result<Vec<(Box<str>, Totals)>> {
        let read = |row: &Row<'_>| {
            let turns = row.get::<_, i64>(1)?.max(0).cast_unsigned();
            Ok((row.get(0)?, Totals { turns, usage: read(row, 2)? }))
        };
        of_day.query_map((day, kind), read)?.collect()
    };
    let kind = match by {
        UsageBy::Day => None,
        UsageBy::Hour => Some(HOUR),
        UsageBy::Model => Some(MODEL),
        UsageBy::Principal => Some(PRINCIPAL),
        UsageBy::Scope => Some(SCOPE),
        UsageBy::Key => Some(KEY),
        UsageBy::Way => Some(WAY),
    };
    let mut series = UsageSeries::default();
    let mut names: BTreeMap<Box<str>, UsagePoints> = BTreeMap::new();
    for day in first..=newest {
        let at = Timestamp::from_millis(day.saturating_mul(DAY_MS));
        let own = rows(day, AGENT)?;
        series.total.extend(own.into_iter().map(|(_, totals)| (at, totals)));
        for (name, totals) in kind.map_or_else(|| Ok(Vec::new()), |kind| rows(day, kind))? {
            if by == UsageBy::Hour {
                let hour: i64 = name.parse().unwrap_or_default();
                let at = at.as_millis().saturating_add(hour.saturating_mul(HOUR_MS));
                series.hours.push((Timestamp::from_millis(at), totals));
            } else {
                names.entry(name).or_default().push((at, totals));
            }
        }
    }
    let mut names: Vec<_> = names.into_iter().collect();
    let weight = |all: &[(Timestamp, Totals)]| {
        let sum = |of: fn(&Usage) -> u64| {
            all.iter().fold(0_u64, |sum, (_, totals)| sum.saturating_add(of(&totals.usage)))
        };
        (sum(|it| it.cost_micros), sum(|it| it.input.saturating_add(it.output)))
    };
    names.sort_by_key(|(_, all)| std::cmp::Reverse(weight(all)));
    names.truncate(USAGE_NAMES_MAX);
    series.names = names;
    Ok(series)
}

fn limit() -> i64 {
    i64::try_from(USAGE_ROWS_MAX).unwrap_or(i64::MAX)
}

/// Somebody's usage since the beginning of a day.
pub(crate) fn of(sql: &Connection, of: &UsageOf, since: Timestamp) -> rusqlite::Result<Totals> {
    let (kind, name) = match of {
        UsageOf::Agent => (AGENT, ""),
        UsageOf::Principal(name) => (PRINCIPAL, &**name),
        UsageOf::Scope(name) => (SCOPE, name.as_str()),
        UsageOf::Way(name) => (WAY, &**name),
    };
    let newest: Option<i64> = sql
        .prepare_cached("SELECT day FROM usage ORDER BY day DESC LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let (from, Some(newest)) = (day(since), newest) else { return Ok(Totals::default()) };
    if newest.saturating_sub(from) > DAYS_LOOKED_UP_MAX {
        return sql
            .prepare_cached(&format!(
                "SELECT {SUMS} FROM usage WHERE day >= ?1 AND kind = ?2 AND name = ?3"
            ))?
            .query_row((from, kind, name), |row| sums(row, 0));
    }
    let mut statement = sql.prepare_cached(
        "SELECT turns, input, output, cached, reasoning, cost_micros FROM usage
         WHERE day = ?1 AND kind = ?2 AND name = ?3",
    )?;
    let mut total = Totals::default();
    for day in from..=newest {
        let row = statement
            .query_row((day, kind, name), |row| {
                Ok((row.get::<_, i64>(0)?.max(0).cast_unsigned(), read(row, 1)?))
            })
            .optional()?;
        if let Some((turns, usage)) = row {
            total.turns = total.turns.saturating_add(turns);
            total.usage += usage;
        }
    }
    Ok(total)
}
