//! What agents do by the clock, over some days: which jobs there are, when each is due, and how its
//! runs went. Of all agents that whoever asks may read.

use crate::Api;
use crate::caller::Caller;
use crate::each::{ask_each, serving_own};
use crate::error::{ApiError, ErrorBody};
use crate::jobs::{JobShown, RunShown, run_shown, shown};
use crate::refusal::not_found;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{OriginalUri, Query, State};
use axum::http::HeaderValue;
use axum::http::header::LINK;
use axum::response::{IntoResponse as _, Response};
use insula_config::job::{BOOT, HEARTBEAT};
use insula_registry::AgentContext;
use insula_registry::jobs::{JobOrigin, JobView};
use insula_registry::tokens::Verb;
use insula_world::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

const DAY_MS: i64 = 86_400_000;
/// The longest time that one answer is about: a month as calendars show it, and some.
const DAYS_MAX: i64 = 62;
/// Moments that are told of one job. One that is due more often is `frequent`.
const MOMENTS_MAX: usize = 70;
/// Runs that are told of one job, the newest.
const RUNS_TOLD: usize = 24;
/// Agents that one answer tells of.
const AGENTS_TOLD: usize = 100;

/// Over which time, and whose.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// From this moment, as 2026-12-01T00:00:00Z; now where nothing is said.
    from: Option<String>,
    /// To before this one; a week later where nothing is said, 62 days at most.
    until: Option<String>,
    /// The jobs of this agent alone.
    agent: Option<String>,
    /// Only those of agents after this one.
    after: Option<String>,
}

/// A job on the calendar.
#[derive(Debug, Serialize, ToSchema)]
pub struct CalendarJob {
    #[serde(flatten)]
    job: JobShown,
    /// `cron`, `heartbeat`, `boot`, or `added` for one that somebody added.
    kind: &'static str,
    /// When it is still due in this time, in milliseconds since 1970; the first of them.
    moments: Vec<i64>,
    /// Whether it is due more often than `moments` tell.
    frequent: bool,
    /// Its newest runs for moments in this time, the newest first.
    recent: Vec<RunShown>,
    /// Its last run, whenever that was.
    last: Option<RunShown>,
}

fn moment(what: &str, text: Option<&str>) -> Result<Option<i64>, ApiError> {
    let wrong = |text: &str| {
        let text = text.escape_debug();
        ApiError::invalid(format!("`{what}` is `{text}`; write it as 2026-12-01T08:30:00Z"))
    };
    text.map(|text| text.parse().map(Timestamp::as_millis).map_err(|_| wrong(text))).transpose()
}

async fn of_job(
    agent: &AgentContext,
    view: &JobView,
    (now, from, until): (Timestamp, i64, i64),
) -> Result<CalendarJob, ApiError> {
    let mut moments = view.ahead(now.as_millis().max(from), MOMENTS_MAX + 1);
    moments.retain(|at| *at < until);
    let frequent = moments.len() > MOMENTS_MAX;
    moments.truncate(MOMENTS_MAX);
    let within = (Timestamp::from_millis(from), Timestamp::from_millis(until));
    let name = &*view.job.name;
    let mut runs = agent.store.job_runs_within(name, within).await?;
    runs.truncate(RUNS_TOLD);
    let last = agent.store.job_runs(name, 1).await?.pop();
    Ok(CalendarJob {
        job: shown(view, now),
        kind: match (view.origin, name) {
            (JobOrigin::Added, _) => "added",
            (JobOrigin::Config, HEARTBEAT) => "heartbeat",
            (JobOrigin::Config, BOOT) => "boot",
            (JobOrigin::Config, _) => "cron",
        },
        moments,
        frequent,
        recent: runs.into_iter().map(|run| run_shown(agent, view, run)).collect(),
        last: last.map(|run| run_shown(agent, view, run)),
    })
}

/// Where the rest of a calendar is.
fn link(after: &str, (from, until): (i64, i64)) -> HeaderValue {
    let [from, until] = [from, until].map(|at| Timestamp::from_millis(at).to_string());
    let target = format!("</api/calendar?after={after}&from={from}&until={until}>; rel=\"next\"");
    // An id of an agent and two moments are such a value.
    HeaderValue::try_from(target).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// The jobs of all agents that the caller may read, over some days: when each is due and how its
/// runs went. Of a hundred agents at once: the header `link` says where the next are.
#[utoipa::path(get, path = "/api/calendar", params(Span),
    responses((status = 200, body = [CalendarJob]), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody)), security(("token" = [])))]
pub async fn calendar(
    State(api): State<Api>,
    caller: Caller,
    original: OriginalUri,
    span: Result<Query<Span>, QueryRejection>,
) -> Result<Response, ApiError> {
    if let Caller::Token(token) = &caller
        && token.scope().is_some()
    {
        return Ok(not_found(original).await);
    }
    let Query(Span { from, until, agent, after }) = span?;
    let now = api.world.clock.now();
    let from = moment("from", from.as_deref())?.unwrap_or_else(|| now.as_millis());
    let until = moment("until", until.as_deref())?.unwrap_or(from.saturating_add(7 * DAY_MS));
    if until <= from || until.saturating_sub(from) > DAYS_MAX * DAY_MS {
        let message = format!("`until` comes after `from`, and {DAYS_MAX} days after at most");
        return Err(ApiError::invalid(message));
    }
    let mut agents = serving_own(&api.registry, &caller, Verb::Read);
    agents.retain(|it| {
        agent.as_deref().is_none_or(|agent| agent == it.id.as_str())
            && after.as_deref().is_none_or(|after| it.id.as_str() > after)
    });
    let next = agents.get(AGENTS_TOLD).and(agents.get(AGENTS_TOLD - 1));
    let next = next.map(|last| link(last.id.as_str(), (from, until)));
    agents.truncate(AGENTS_TOLD);
    let (jobs, actor) = (&api.jobs, &caller.actor());
    let look = async |agent: Arc<AgentContext>| {
        let mut told = Vec::new();
        for view in jobs.seen_by(&agent, actor).await? {
            told.push(of_job(&agent, &view, (now, from, until)).await?);
        }
        Ok::<_, ApiError>(told)
    };
    let all: Vec<CalendarJob> = ask_each(agents, look).await?.into_iter().flatten().collect();
    let mut answer = Json(all).into_response();
    answer.headers_mut().extend(next.map(|next| (LINK, next)));
    Ok(answer)
}
