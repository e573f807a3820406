//! What was used over time: by agent, model, person, scope, key or way in, of all agents that
//! whoever asks may read, with what budgets leave of today.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::refusal::not_found;
use crate::usage::{BudgetView, date, dollars};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{OriginalUri, Query, State};
use axum::response::{IntoResponse as _, Response};
use insula_domain::{AgentId, Budget};
use insula_registry::key_name::KeyName;
use insula_registry::tokens::Verb;
use insula_store::{Totals, UsageBy, UsageSeries};
use insula_turns::budget::report::{self, DAYS_MAX};
use insula_world::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// Days that are told by the hour at most.
const DAYS_BY_HOUR_MAX: u32 = 7;
/// Names that are told over time, the costliest. What the others used is one series more.
const SERIES_MAX: usize = 10;
/// Names that are told in sum.
const PARTS_MAX: usize = 1_000;

/// Which days are asked for, by what, and whose.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CostsWanted {
    /// How many days back, today included; days begin at midnight UTC. 30 where nothing is said.
    days: Option<u32>,
    /// What it is told by; agents where nothing is said.
    by: Option<CostsBy>,
    /// A point for each of these.
    step: Option<Step>,
    /// What this agent used alone.
    agent: Option<String>,
}

/// What usage is told by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CostsBy {
    #[default]
    Agent,
    /// The models that were asked.
    Model,
    /// Who talked.
    Person,
    /// Memory scopes.
    Scope,
    /// The keys that paid.
    Key,
    /// Bindings, accounts and tokens that take something away from the agent.
    Way,
}

/// How far apart points are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    #[default]
    Day,
    /// Of agents alone.
    Hour,
}

/// What was used over time.
#[derive(Debug, Serialize, ToSchema)]
pub struct Costs {
    /// The first day.
    since: String,
    by: CostsBy,
    step: Step,
    /// Where the points are, in seconds since 1970.
    times: Vec<i64>,
    /// All of it.
    total: Series,
    /// The costliest names, over time.
    series: Vec<Series>,
    /// What all others used, and what has no name of this kind.
    rest: Option<Series>,
    /// Every name in sum, the costliest first.
    parts: Vec<PartOfCosts>,
    /// In sum, what is none of these names'.
    unnamed: Option<PartOfCosts>,
    /// Agents with a budget, and what it leaves of today.
    budgets: Vec<BudgetOfAgent>,
    /// That of all agents together; the admin's to know.
    budget: Option<BudgetView>,
}

/// Points over time, one for each of `times`.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Series {
    name: String,
    usd: Vec<f64>,
    tokens: Vec<u64>,
    /// Turns; calls of models where it is by model or key.
    turns: Vec<u64>,
}

/// One name in sum.
#[derive(Debug, Serialize, ToSchema)]
pub struct PartOfCosts {
    name: String,
    turns: u64,
    input_tokens: u64,
    cached_tokens: u64,
    output_tokens: u64,
    usd: f64,
}

impl PartOfCosts {
    fn of(name: &str, points: &Points) -> Self {
        let Totals { turns, usage } = sum(points);
        Self {
            name: name.to_owned(),
            turns,
            input_tokens: usage.input,
            cached_tokens: usage.cached,
            output_tokens: usage.output,
            usd: dollars(usage.cost_micros),
        }
    }
}

/// What an agent may spend, and what is left of it today.
#[derive(Debug, Serialize, ToSchema)]
pub struct BudgetOfAgent {
    agent: String,
    /// What it used today.
    usd_today: f64,
    tokens_today: u64,
    #[serde(flatten)]
    budget: BudgetView,
}

type Points = BTreeMap<i64, Totals>;

/// Adds up what comes from several agents.
fn add(points: &mut Points, at: i64, more: Totals) {
    let sum = points.entry(at).or_default();
    sum.turns = sum.turns.saturating_add(more.turns);
    sum.usage += more.usage;
}

fn sum(points: &Points) -> Totals {
    points.values().fold(Totals::default(), |mut sum, next| {
        sum.turns = sum.turns.saturating_add(next.turns);
        sum.usage += next.usage;
        sum
    })
}

impl Series {
    fn of(name: &str, times: &[i64], points: &Points) -> Self {
        let at = |time: &i64| points.get(time).copied().unwrap_or_default();
        let all: Vec<Totals> = times.iter().map(at).collect();
        Self {
            name: name.to_owned(),
            usd: all.iter().map(|it| dollars(it.usage.cost_micros)).collect(),
            tokens: all.iter().map(|it| it.usage.input.saturating_add(it.usage.output)).collect(),
            turns: all.iter().map(|it| it.turns).collect(),
        }
    }
}

/// What is left of a whole when its parts are taken out.
fn rest(total: &Points, parts: &[(String, Points)]) -> Points {
    let mut rest = total.clone();
    for (at, left) in &mut rest {
        for (_, points) in parts {
            let Some(part) = points.get(at) else { continue };
            left.turns = left.turns.saturating_sub(part.turns);
            let (usage, less) = (&mut left.usage, part.usage);
            usage.input = usage.input.saturating_sub(less.input);
            usage.cached = usage.cached.saturating_sub(less.cached);
            usage.output = usage.output.saturating_sub(less.output);
            usage.cost_micros = usage.cost_micros.saturating_sub(less.cost_micros);
        }
    }
    rest
}

fn weight(points: &Points) -> (u64, u64, u64) {
    let all = sum(points);
    (all.usage.cost_micros, all.usage.input.saturating_add(all.usage.output), all.turns)
}

/// As people read it.
fn called(by: CostsBy, name: &str) -> String {
    match KeyName::parse(name).filter(|_| by == CostsBy::Key) {
        Some(KeyName { provider, source, mark }) => {
            let mark = mark.map(|mark| format!(", {mark}")).unwrap_or_default();
            format!("{provider} ({}{mark})", source.as_str())
        }
        None => name.to_owned(),
    }
}

/// What several agents used, put together.
#[derive(Default)]
struct Gathered {
    total: Points,
    names: BTreeMap<String, Points>,
    /// By agent, what each used since midnight.
    today: BTreeMap<AgentId, Totals>,
}

impl Gathered {
    fn take(&mut self, id: &AgentId, of: UsageSeries, (by, step): (CostsBy, Step), today: i64) {
        let used = of.total.iter().find(|(at, _)| at.as_millis() == today);
        self.today.extend(used.map(|(_, totals)| (id.clone(), *totals)));
        let own = match step {
            Step::Day => of.total,
            Step::Hour => of.hours,
        };
        for (at, totals) in own {
            add(&mut self.total, at.as_millis(), totals);
            if by == CostsBy::Agent {
                let points = self.names.entry(id.to_string()).or_default();
                add(points, at.as_millis(), totals);
            }
        }
        for (name, points) in of.names {
            let own = self.names.entry(called(by, &name)).or_default();
            points.into_iter().for_each(|(at, totals)| add(own, at.as_millis(), totals));
        }
    }
}

fn seconds(points: &Points) -> Points {
    points.iter().map(|(at, totals)| (at / 1_000, *totals)).collect()
}

/// What all agents that the caller may read used over time, and what their budgets leave.
#[utoipa::path(get, path = "/api/costs", params(CostsWanted),
    responses((status = 200, body = Costs), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody)), security(("token" = [])))]
pub async fn costs(
    State(api): State<Api>,
    caller: Caller,
    original: OriginalUri,
    wanted: Result<Query<CostsWanted>, QueryRejection>,
) -> Result<Response, ApiError> {
    if let Caller::Token(token) = &caller
        && token.scope().is_some()
    {
        return Ok(not_found(original).await);
    }
    let Query(CostsWanted { days, by, step, agent }) = wanted?;
    let (by, step) = (by.unwrap_or_default(), step.unwrap_or_default());
    let most = if step == Step::Hour { DAYS_BY_HOUR_MAX } else { DAYS_MAX };
    let days = days.unwrap_or(if step == Step::Hour { 2 } else { 30 });
    if !(1..=most).contains(&days) {
        return Err(ApiError::invalid(format!("`days` is from 1 to {most}")));
    }
    let of_store = match (step, by) {
        (Step::Hour, CostsBy::Agent) => UsageBy::Hour,
        (Step::Hour, _) => {
            return Err(ApiError::invalid("by the hour it is told of agents alone: `by=agent`"));
        }
        (Step::Day, CostsBy::Agent) => UsageBy::Day,
        (Step::Day, CostsBy::Model) => UsageBy::Model,
        (Step::Day, CostsBy::Person) => UsageBy::Principal,
        (Step::Day, CostsBy::Scope) => UsageBy::Scope,
        (Step::Day, CostsBy::Key) => UsageBy::Key,
        (Step::Day, CostsBy::Way) => UsageBy::Way,
    };
    let now = api.world.clock.now();
    let (since, today) = (report::days_ago(now, days), report::days_ago(now, 1).as_millis());
    let is_asked = |id: &AgentId| {
        caller.may(id, Verb::Read) && agent.as_deref().is_none_or(|it| it == id.as_str())
    };
    let mut all = Gathered::default();
    for (id, of) in report::series(&api.store, &is_asked, of_store, since).await? {
        all.take(&id, of, (by, step), today);
    }
    Ok(Json(told(&api, &caller, all, (by, step), (since, now), &is_asked)).into_response())
}

fn told(
    api: &Api,
    caller: &Caller,
    all: Gathered,
    (by, step): (CostsBy, Step),
    (since, now): (Timestamp, Timestamp),
    is_asked: &dyn Fn(&AgentId) -> bool,
) -> Costs {
    let apart = if step == Step::Hour { HOUR_MS } else { DAY_MS };
    let times = (since.as_millis()..=now.as_millis()).step_by(usize::try_from(apart).unwrap_or(1));
    let times: Vec<i64> = times.map(|at| at / 1_000).collect();
    let total = seconds(&all.total);
    let mut names: Vec<(String, Points)> =
        all.names.iter().map(|(name, points)| (name.clone(), seconds(points))).collect();
    names.sort_by(|(a, one), (b, other)| (weight(other), a).cmp(&(weight(one), b)));
    let (shown, others) = names.split_at(names.len().min(SERIES_MAX));
    let left = rest(&total, shown);
    let is_some = |points: &Points| weight(points).0 > 0 || weight(points).1 > 0;
    let has_rest = !others.is_empty() || is_some(&left);
    let parts = &names[..names.len().min(PARTS_MAX)];
    let unnamed = rest(&total, parts);
    let snapshot = api.registry.snapshot();
    let budgets =
        snapshot.agents.iter().filter(|(id, _)| is_asked(id)).filter_map(|(id, entry)| {
            let budget = entry.state.context().map(|it| it.boundary.budget).unwrap_or_default();
            if budget == Budget::default() {
                return None;
            }
            let today = all.today.get(id).copied().unwrap_or_default();
            Some(BudgetOfAgent {
                agent: id.to_string(),
                usd_today: dollars(today.usage.cost_micros),
                tokens_today: today.usage.input.saturating_add(today.usage.output),
                budget: BudgetView::of(&budget.own, &today)?,
            })
        });
    let of_all = all.today.values().fold(Totals::default(), |mut sum, next| {
        sum.usage += next.usage;
        sum
    });
    Costs {
        since: date(since),
        by,
        step,
        series: shown.iter().map(|(name, points)| Series::of(name, &times, points)).collect(),
        rest: has_rest.then(|| Series::of("others", &times, &left)),
        total: Series::of("all", &times, &total),
        parts: parts.iter().map(|(name, points)| PartOfCosts::of(name, points)).collect(),
        unnamed: is_some(&unnamed).then(|| PartOfCosts::of("others", &unnamed)),
        budgets: budgets.collect(),
        budget: match caller {
            Caller::Local => BudgetView::of(&snapshot.daemon.budget.own, &of_all),
            Caller::Token(_) => None,
        },
        times,
    }
}
