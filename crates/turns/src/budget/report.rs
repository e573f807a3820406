//! Reports: what was used, by agent, day, principal and scope, and what a budget leaves.

use super::ledger::midnight;
use insula_domain::{AgentId, Budget, BudgetLimits};
use insula_registry::Snapshot;
use insula_registry::error::RuntimeError;
use insula_store::{Store, Totals, Usage, UsageBy, UsageReport, UsageSeries};
use insula_world::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Most days in one report.
pub const DAYS_MAX: u32 = 400;

const DAY_MS: i64 = 86_400_000;

/// What a home used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonUsage {
    /// The first moment of the first day.
    pub since: Timestamp,
    pub total: Totals,
    /// Today's part.
    pub today: Totals,
    /// What all agents together may spend.
    pub limits: BudgetLimits,
    /// By agent: those that used something, and those that have a budget.
    pub agents: BTreeMap<AgentId, AgentUsage>,
}

/// What one agent used.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentUsage {
    pub total: Totals,
    /// Today's part.
    pub today: Totals,
    /// What it may spend.
    pub budget: Budget,
}

/// What is left of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    pub limit: u64,
    /// What is left of it today.
    pub left: u64,
}

impl Left {
    /// What is left of the tokens of a day.
    pub fn tokens(limits: &BudgetLimits, today: &Totals) -> Option<Self> {
        let used = today.usage.input.saturating_add(today.usage.output);
        Self::of(limits.tokens_per_day, used)
    }

    /// What is left of the money of a day, in millionths of a dollar.
    pub fn money(limits: &BudgetLimits, today: &Totals) -> Option<Self> {
        Self::of(limits.usd_micros_per_day, today.usage.cost_micros)
    }

    fn of(limit: Option<u64>, used: u64) -> Option<Self> {
        limit.map(|limit| Self { limit, left: limit.saturating_sub(used) })
    }
}

/// The first moment of the first of the last `days` days, today included.
pub fn days_ago(now: Timestamp, days: u32) -> Timestamp {
    let today = midnight(now).as_millis();
    let back = i64::from(days.clamp(1, DAYS_MAX) - 1);
    Timestamp::from_millis(today.saturating_sub(back * DAY_MS))
}

/// What this home used in the last `days` days. Opens only databases that have more to
/// tell than is known without.
pub async fn usage(
    store: &Store,
    snapshot: &Snapshot,
    (now, days): (Timestamp, u32),
) -> Result<DaemonUsage, RuntimeError> {
    let (since, today) = (days_ago(now, days), days_ago(now, 1));
    let mut agents: BTreeMap<AgentId, AgentUsage> = BTreeMap::new();
    for (id, entry) in &snapshot.agents {
        let budget = entry.state.context().map(|it| it.boundary.budget).unwrap_or_default();
        if budget != Budget::default() {
            agents.insert(id.clone(), AgentUsage { budget, ..AgentUsage::default() });
        }
    }
    let spending = store.daemon().spending(since).await?;
    let deleted = spending.deleted.map_or_else(Totals::default, |(_, totals)| totals);
    let deleted_today = spending.deleted.filter(|(day, _)| *day == today);
    let deleted_today = deleted_today.map_or_else(Totals::default, |(_, totals)| totals);
    let mut ask = spending.open;
    for (id, day, totals) in spending.closed {
        if since == today && day == today {
            let agent = agents.entry(id).or_default();
            (agent.total, agent.today) = (totals, totals);
        } else {
            ask.push(id);
        }
    }
    for id in ask {
        let agent = store.agent(&id);
        let report = agent.in_passing(agent.usage_since(since)).await?;
        if report.total != Totals::default() {
            let agent = agents.entry(id).or_default();
            (agent.total, agent.today) = (report.total, of_day(&report, today));
        }
    }
    Ok(DaemonUsage {
        since,
        // Who was deleted is named no more, and what they used is still used.
        total: sum(agents.values().map(|agent| agent.total).chain([deleted])),
        today: sum(agents.values().map(|agent| agent.today).chain([deleted_today])),
        limits: snapshot.daemon.budget.own,
        agents,
    })
}

/// What this home used in the last `days` days by the keys that paid, agent by agent.
pub async fn keys(
    store: &Store,
    (now, days): (Timestamp, u32),
) -> Result<Vec<(AgentId, Box<str>, Totals)>, RuntimeError> {
    let since = days_ago(now, days);
    let spending = store.daemon().spending(since).await?;
    let closed = spending.closed.into_iter().map(|(id, ..)| id);
    let agents: BTreeSet<AgentId> = closed.chain(spending.open).collect();
    let mut rows = Vec::new();
    for id in agents {
        let agent = store.agent(&id);
        let report = agent.in_passing(agent.usage_since(since)).await?;
        rows.extend(report.keys.into_iter().map(|(key, totals)| (id.clone(), key, totals)));
    }
    Ok(rows)
}

/// What agents of this home used over time, agent by agent: those that used something, of those
/// that are asked for.
pub async fn series(
    store: &Store,
    is_asked: &(dyn Fn(&AgentId) -> bool + Sync),
    by: UsageBy,
    since: Timestamp,
) -> Result<Vec<(AgentId, UsageSeries)>, RuntimeError> {
    let spending = store.daemon().spending(since).await?;
    let closed = spending.closed.into_iter().map(|(id, ..)| id);
    let agents: BTreeSet<AgentId> = closed.chain(spending.open).filter(|id| is_asked(id)).collect();
    let mut all = Vec::new();
    for id in agents {
        let agent = store.agent(&id);
        let series = agent.in_passing(agent.usage_series(by, since)).await?;
        all.push((id, series));
    }
    Ok(all)
}

/// What one agent used in the last `days` days, in detail.
pub async fn usage_of(
    store: &Store,
    snapshot: &Snapshot,
    id: &AgentId,
    (now, days): (Timestamp, u32),
) -> Result<(AgentUsage, UsageReport), RuntimeError> {
    let entry = snapshot.agents.get(id);
    let entry = entry.ok_or_else(|| RuntimeError::NoSuchAgent(id.as_str().into()))?;
    let budget = entry.state.context().map(|it| it.boundary.budget).unwrap_or_default();
    let report = store.agent(id).usage_since(days_ago(now, days)).await?;
    let today = of_day(&report, days_ago(now, 1));
    Ok((AgentUsage { total: report.total, today, budget }, report))
}

fn of_day(report: &UsageReport, day: Timestamp) -> Totals {
    report.days.iter().find(|(at, _)| *at == day).map(|(_, totals)| *totals).unwrap_or_default()
}

fn sum(all: impl Iterator<Item = Totals>) -> Totals {
    all.fold(Totals::default(), |sum, next| {
        let mut usage: Usage = sum.usage;
        usage += next.usage;
        Totals { turns: sum.turns.saturating_add(next.turns), usage }
    })
}
