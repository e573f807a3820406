//! What was used, and what budgets leave.

use crate::Api;
use crate::error::{ApiError, ErrorBody};
use crate::id::Id;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use insula_domain::{AgentId, BudgetLimits};
use insula_registry::key_name::KeyName;
use insula_store::Totals;
use insula_turns::budget::report::{self, AgentUsage, DAYS_MAX, Left};
use insula_world::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

/// Which days are asked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Days {
    /// How many days back, today included; days begin at midnight UTC. 1 where nothing is said.
    days: Option<u32>,
}

impl Days {
    fn count(&self) -> Result<u32, ApiError> {
        match self.days.unwrap_or(1) {
            days @ 1..=DAYS_MAX => Ok(days),
            _ => Err(ApiError::invalid(format!("`days` is from 1 to {DAYS_MAX}"))),
        }
    }
}

/// Which days are asked for, and by what.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct DaysBy {
    /// How many days back, today included; days begin at midnight UTC. 1 where nothing is said.
    days: Option<u32>,
    /// What it is added up by beside agents.
    by: Option<By>,
}

/// What usage can be added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The agents alone.
    Agent,
    /// The keys that paid.
    Key,
}

/// Sums.
#[derive(Debug, Serialize, ToSchema)]
pub struct Sums {
    turns: u64,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    reasoning_tokens: u64,
    usd: f64,
}

impl Sums {
    fn of(totals: &Totals) -> Self {
        let Totals { turns, usage } = totals;
        Self {
            turns: *turns,
            input_tokens: usage.input,
            cached_tokens: usage.cached,
            output_tokens: usage.output,
            reasoning_tokens: usage.reasoning,
            usd: dollars(usage.cost_micros),
        }
    }
}

/// What a budget allows and what is left of it today; `null` where there is no limit.
#[derive(Debug, Serialize, ToSchema)]
pub struct BudgetView {
    usd_per_day: Option<f64>,
    usd_left: Option<f64>,
    tokens_per_day: Option<u64>,
    tokens_left: Option<u64>,
    turns_per_minute: Option<u32>,
}

impl BudgetView {
    pub(crate) fn of(limits: &BudgetLimits, today: &Totals) -> Option<Self> {
        let (money, tokens) = (Left::money(limits, today), Left::tokens(limits, today));
        (*limits != BudgetLimits::default()).then(|| Self {
            usd_per_day: money.map(|it| dollars(it.limit)),
            usd_left: money.map(|it| dollars(it.left)),
            tokens_per_day: tokens.map(|it| it.limit),
            tokens_left: tokens.map(|it| it.left),
            turns_per_minute: limits.turns_per_minute,
        })
    }
}

/// What an agent used.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentRow {
    agent: String,
    #[serde(flatten)]
    sums: Sums,
    budget: Option<BudgetView>,
}

impl AgentRow {
    fn of(id: &AgentId, used: &AgentUsage) -> Self {
        Self {
            agent: id.to_string(),
            sums: Sums::of(&used.total),
            budget: BudgetView::of(&used.budget.own, &used.today),
        }
    }
}

/// What all agents used.
#[derive(Debug, Serialize, ToSchema)]
pub struct UsageView {
    since: String,
    total: Sums,
    /// That of all agents together.
    budget: Option<BudgetView>,
    agents: Vec<AgentRow>,
    /// By agent and key, where that was asked for; left out else.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<KeyRow>>,
}

/// What one key paid for one agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyRow {
    agent: String,
    provider: String,
    /// Where it came from: `own` (the agent's vault), `shared` (the daemon's), `environment`,
    /// `file` (the configuration) or `none`.
    source: &'static str,
    /// Eight hexadecimal digits that tell keys apart and that no key can be found by; `null` for
    /// no key, and for one that could be guessed.
    mark: Option<String>,
    /// Calls of models.
    calls: u64,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    reasoning_tokens: u64,
    usd: f64,
}

impl KeyRow {
    fn of(agent: &AgentId, name: &str, totals: &Totals) -> Option<Self> {
        let KeyName { provider, source, mark } = KeyName::parse(name)?;
        let sums = Sums::of(totals);
        Some(Self {
            agent: agent.to_string(),
            provider: provider.into(),
            source: source.as_str(),
            mark: mark.map(Into::into),
            calls: sums.turns,
            input_tokens: sums.input_tokens,
            cached_tokens: sums.cached_tokens,
            output_tokens: sums.output_tokens,
            reasoning_tokens: sums.reasoning_tokens,
            usd: sums.usd,
        })
    }
}

/// What one agent used, in detail.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentUsageView {
    since: String,
    #[serde(flatten)]
    row: AgentRow,
    /// Days with usage, oldest first.
    days: Vec<Part>,
    /// By who talked, the costliest first.
    principals: Vec<Part>,
    /// By scope, the costliest first.
    contexts: Vec<Part>,
    /// By binding, account or token, of those that take something away from the agent.
    ways: Vec<Part>,
    /// By the key that paid, the costliest first.
    keys: Vec<KeyRow>,
}

/// What was used on a day, by a principal or in a scope.
#[derive(Debug, Serialize, ToSchema)]
pub struct Part {
    name: String,
    #[serde(flatten)]
    sums: Sums,
}

impl Part {
    fn of(name: impl Into<String>, totals: &Totals) -> Self {
        Self { name: name.into(), sums: Sums::of(totals) }
    }
}

/// What every agent used, and what budgets leave.
#[utoipa::path(get, path = "/api/usage", params(DaysBy),
    responses((status = 200, body = UsageView), (status = 400, body = ErrorBody)), security(("token" = [])))]
pub async fn all(
    State(api): State<Api>,
    asked: Result<Query<DaysBy>, QueryRejection>,
) -> Result<Json<UsageView>, ApiError> {
    let Query(DaysBy { days, by }) = asked?;
    let within = (api.world.clock.now(), Days { days }.count()?);
    let keys = match by {
        Some(By::Key) => Some(report::keys(&api.store, within).await?),
        Some(By::Agent) | None => None,
    };
    let used = report::usage(&api.store, &api.registry.snapshot(), within).await?;
    Ok(Json(UsageView {
        since: date(used.since),
        total: Sums::of(&used.total),
        budget: BudgetView::of(&used.limits, &used.today),
        agents: used.agents.iter().map(|(id, used)| AgentRow::of(id, used)).collect(),
        keys: keys.map(|rows| {
            rows.iter().filter_map(|(id, key, totals)| KeyRow::of(id, key, totals)).collect()
        }),
    }))
}

/// What one agent used, by day, principal and scope.
#[utoipa::path(get, path = "/api/agents/{id}/usage", params(("id" = String, Path), Days),
    responses((status = 200, body = AgentUsageView), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)),
    security(("token" = [])))]
pub async fn agent(
    State(api): State<Api>,
    Id(id): Id,
    days: Result<Query<Days>, QueryRejection>,
) -> Result<Json<AgentUsageView>, ApiError> {
    let days = days?.count()?;
    let id = AgentId::new(&id).map_err(|_| ApiError::no_agent(&id))?;
    let (now, snapshot) = (api.world.clock.now(), api.registry.snapshot());
    let (used, report) = report::usage_of(&api.store, &snapshot, &id, (now, days)).await?;
    let parts = |all: &[(Box<str>, Totals)]| {
        all.iter().map(|(name, totals)| Part::of(&**name, totals)).collect()
    };
    Ok(Json(AgentUsageView {
        since: date(report::days_ago(now, days)),
        row: AgentRow::of(&id, &used),
        days: report.days.iter().map(|(day, totals)| Part::of(date(*day), totals)).collect(),
        principals: parts(&report.principals),
        contexts: parts(&report.scopes),
        ways: parts(&report.ways),
        keys: report.keys.iter().filter_map(|(key, totals)| KeyRow::of(&id, key, totals)).collect(),
    }))
}

/// Limits as the configuration writes them.
pub fn limits(limits: &BudgetLimits) -> Value {
    json!({
        "usd_per_day": limits.usd_micros_per_day.map(dollars),
        "tokens_per_day": limits.tokens_per_day,
        "turns_per_minute": limits.turns_per_minute,
    })
}

pub(crate) fn dollars(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// The day of a moment, as in `2026-11-15`.
pub(crate) fn date(at: Timestamp) -> String {
    let text = at.to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}
