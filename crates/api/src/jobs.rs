//! Jobs over HTTP: what an agent does by the clock, and how it went.

use crate::Api;
use crate::caller::Caller;
use crate::each::{ask_each, serving};
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, kept};
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use insula_registry::AgentContext;
use insula_registry::jobs::{JobError, JobOrigin, JobView, NewJob};
use insula_schedule::TOLD_AHEAD;
use insula_store::{Counted, JobRun};
use insula_world::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;

/// Runs that one answer tells of.
const RUNS_TOLD: usize = 50;

/// Something an agent does by the clock.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobShown {
    agent: String,
    name: String,
    /// `config` (only the configuration changes it) or `added`.
    origin: &'static str,
    /// `active`, `paused`, `over` or `disabled`.
    state: &'static str,
    /// Why it is paused.
    why: Option<String>,
    /// When it runs, as it is kept.
    schedule: String,
    timezone: String,
    prompt: String,
    script: Option<String>,
    /// Where its reply goes.
    deliver: String,
    /// Whose memory it has.
    scope: String,
    /// Who made it.
    owner: String,
    made_at: String,
    /// How often it has run by its schedule.
    runs: u32,
    /// How often in a row it failed.
    failures: u32,
    missed: &'static str,
    overlap: &'static str,
    /// What else it was given, by the keys of its settings: `timeout`, `budget`, `tools` and such.
    settings: BTreeMap<&'static str, String>,
    /// When it runs next, jitter included, in its own time.
    next: Vec<String>,
    /// The same moments, in RFC 3339.
    next_at: Vec<String>,
}

/// A run of a job.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunShown {
    job: String,
    /// The moment it is for.
    scheduled_at: String,
    /// When it began; while it waits, since when it does.
    began_at: String,
    /// How many milliseconds late it began, not counting its jitter; none while it waits.
    late_ms: Option<i64>,
    ended_at: Option<String>,
    /// `done`, `silent`, `empty`, `failed`, `timeout`, `stopped`, `budget`, `denied`,
    /// `refused`, `undelivered`, `interrupted`, `overlap` or `missed`; none while it runs.
    outcome: Option<String>,
    /// Whether it waits to begin: for a run before it, for room, or for its agent to go on.
    waits: bool,
    why: Option<String>,
    /// Its turn, by name.
    turn: Option<String>,
}

/// A job to add: a name, and the settings of `cron.<name>` beside it.
#[derive(Debug, Deserialize, ToSchema)]
pub struct AddJob {
    /// Its name; without one it is given one.
    name: Option<String>,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    settings: Map<String, Value>,
}

impl From<JobError> for ApiError {
    fn from(error: JobError) -> Self {
        let (status, code) = match &error {
            JobError::NoSuchJob { .. } => (StatusCode::NOT_FOUND, "no_such_job"),
            JobError::Wrong(_) => (StatusCode::BAD_REQUEST, "invalid"),
            JobError::NotAllowed(_) => (StatusCode::FORBIDDEN, "forbidden"),
            JobError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "store"),
        };
        Self::new(status, code, error.to_string())
    }
}

pub(crate) fn shown(view: &JobView, now: Timestamp) -> JobShown {
    let JobView { agent, job, row, .. } = view;
    let next = view.ahead(now.as_millis(), TOLD_AHEAD);
    JobShown {
        agent: agent.to_string(),
        name: job.name.to_string(),
        origin: match view.origin {
            JobOrigin::Config => "config",
            JobOrigin::Added => "added",
        },
        state: view.state(),
        why: row.why.clone(),
        schedule: match &view.plan {
            Some(plan) => plan.schedule.to_string(),
            None => "at the start".to_owned(),
        },
        timezone: job.zone.to_string(),
        prompt: job.prompt.to_string(),
        script: job.script.as_deref().map(Into::into),
        deliver: view.deliver().to_string(),
        scope: job.scope.to_string(),
        owner: row.owner.to_string(),
        made_at: row.made_at.to_string(),
        runs: row.runs,
        failures: row.failures,
        missed: job.bounds.missed.as_str(),
        overlap: job.overlap.as_str(),
        settings: job.told(),
        next_at: next.iter().map(|at| Timestamp::from_millis(*at).to_string()).collect(),
        next: next.into_iter().map(|at| job.zone.describe(at)).collect(),
    }
}

pub(crate) fn run_shown(agent: &AgentContext, view: &JobView, run: JobRun) -> RunShown {
    let seals = agent.store.seals();
    let meant = run.scheduled_at.as_millis();
    // One that somebody asked for beside the schedule is for the moment they did.
    let meant = match &view.plan {
        Some(plan) if plan.next(meant.saturating_sub(1)) == Some(meant) => plan.moved(meant),
        _ => meant,
    };
    let waits = run.ended_at.is_none() && run.outcome.is_none() && run.turn.is_none();
    RunShown {
        job: run.job.into(),
        scheduled_at: run.scheduled_at.to_string(),
        began_at: run.began_at.to_string(),
        late_ms: (!waits).then(|| run.began_at.as_millis() - meant),
        waits,
        outcome: run.ended_at.and(run.outcome).map(Into::into),
        ended_at: run.ended_at.map(|at| at.to_string()),
        why: run.why,
        turn: run.turn.map(|turn| seals.seal(Counted::Turn, turn.0).to_string()),
    }
}

type NamedPath = Result<Path<(String, String)>, PathRejection>;

fn named(api: &Api, path: NamedPath) -> Result<(Arc<AgentContext>, String), ApiError> {
    let Path((id, name)) = path.map_err(|_| ApiError::no_agent("\u{fffd}"))?;
    Ok((kept(api, &id)?, name))
}

/// The jobs of one agent, by name.
#[utoipa::path(get, path = "/api/agents/{id}/jobs", params(("id" = String, Path)),
    responses((status = 200, body = [JobShown]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Vec<JobShown>>, ApiError> {
    let agent = kept(&api, &id)?;
    let all = api.jobs.seen_by(&agent, &caller.actor()).await?;
    let now = api.world.clock.now();
    Ok(Json(all.iter().map(|view| shown(view, now)).collect()))
}

/// The jobs of every agent.
#[utoipa::path(get, path = "/api/jobs", responses((status = 200, body = [JobShown])), security(("token" = [])))]
pub async fn list_all(
    State(api): State<Api>,
    caller: Caller,
) -> Result<Json<Vec<JobShown>>, ApiError> {
    let (jobs, actor, now) = (&api.jobs, &caller.actor(), api.world.clock.now());
    let look = async |agent: Arc<AgentContext>| jobs.seen_by(&agent, actor).await;
    let all = ask_each(serving(&api.registry), look).await?;
    Ok(Json(all.iter().flatten().map(|view| shown(view, now)).collect()))
}

/// Adds a job.
#[utoipa::path(post, path = "/api/agents/{id}/jobs", params(("id" = String, Path)), request_body = AddJob,
    responses((status = 201, body = JobShown), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)),
    security(("token" = [])))]
pub async fn add(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<AddJob>, JsonRejection>,
) -> Result<(StatusCode, Json<JobShown>), ApiError> {
    let agent = kept(&api, &id)?;
    let Json(AddJob { name, settings }) = body?;
    let by = caller.actor();
    let new = NewJob { name: name.as_deref(), settings, by: &by, place: None, paused: None };
    let view = api.jobs.add(&agent, new).await?;
    Ok((StatusCode::CREATED, Json(shown(&view, api.world.clock.now()))))
}

/// One job.
#[utoipa::path(get, path = "/api/agents/{id}/jobs/{name}", params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = JobShown), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn show(
    State(api): State<Api>,
    caller: Caller,
    path: NamedPath,
) -> Result<Json<JobShown>, ApiError> {
    let (agent, name) = named(&api, path)?;
    let view = api.jobs.one(&agent, &caller.actor(), &name).await?;
    Ok(Json(shown(&view, api.world.clock.now())))
}

/// Removes a job that was added.
#[utoipa::path(delete, path = "/api/agents/{id}/jobs/{name}", params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 204), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn remove(
    State(api): State<Api>,
    caller: Caller,
    path: NamedPath,
) -> Result<StatusCode, ApiError> {
    let (agent, name) = named(&api, path)?;
    api.jobs.remove(&agent, &caller.actor(), &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pauses a job.
#[utoipa::path(post, path = "/api/agents/{id}/jobs/{name}/pause", params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = JobShown), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn pause(
    State(api): State<Api>,
    caller: Caller,
    path: NamedPath,
) -> Result<Json<JobShown>, ApiError> {
    let (agent, name) = named(&api, path)?;
    let view = api.jobs.set_paused(&agent, &caller.actor(), &name, true).await?;
    Ok(Json(shown(&view, api.world.clock.now())))
}

/// Has a job go on from now.
#[utoipa::path(post, path = "/api/agents/{id}/jobs/{name}/resume", params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = JobShown), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn resume(
    State(api): State<Api>,
    caller: Caller,
    path: NamedPath,
) -> Result<Json<JobShown>, ApiError> {
    let (agent, name) = named(&api, path)?;
    let view = api.jobs.set_paused(&agent, &caller.actor(), &name, false).await?;
    Ok(Json(shown(&view, api.world.clock.now())))
}

/// Has a job run now, beside its schedule.
#[utoipa::path(post, path = "/api/agents/{id}/jobs/{name}/run", params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 202, body = RunShown), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn run(
    State(api): State<Api>,
    caller: Caller,
    path: NamedPath,
) -> Result<(StatusCode, Json<RunShown>), ApiError> {
    let (agent, name) = named(&api, path)?;
    let view = api.jobs.one(&agent, &caller.actor(), &name).await?;
    let run = api.jobs.run_now(&agent, &caller.actor(), &name).await?;
    Ok((StatusCode::ACCEPTED, Json(run_shown(&agent, &view, run))))
}

/// The newest runs of a job, the newest first.
#[utoipa::path(get, path = "/api/agents/{id}/jobs/{name}/runs", params(("id" = String, Path), ("name" = String, Path)),
    responses((status = 200, body = [RunShown]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn runs(
    State(api): State<Api>,
    caller: Caller,
    path: NamedPath,
) -> Result<Json<Vec<RunShown>>, ApiError> {
    let (agent, name) = named(&api, path)?;
    let view = api.jobs.one(&agent, &caller.actor(), &name).await?;
    let runs = agent.store.job_runs(&name, RUNS_TOLD).await?;
    Ok(Json(runs.into_iter().map(|run| run_shown(&agent, &view, run)).collect()))
}
