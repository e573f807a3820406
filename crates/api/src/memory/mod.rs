//! What an agent remembers: for operators all of it, with where it came from; for people what
//! is remembered in their own conversation (`people`).

pub mod people;
pub mod recall;
mod view;

pub use view::{FragmentView, ProvenanceView};

use crate::Api;
use crate::caller::{Caller, Within};
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, kept};
use crate::numbers::Numbers;
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use insula_domain::ScopeName;
use insula_domain::{Scope, ScopeError, scope_rule};
use insula_memory::{MemoryError, Seen, Share};
use insula_registry::AgentContext;
use insula_store::{About, Forget, FragmentId, MemoryOrigin, MemorySource, SessionId, SessionRef};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use utoipa::{IntoParams, ToSchema};
use view::{seen, view};

/// Finds in one answer, where nobody says how many.
const FINDS: usize = 20;

/// Which fragments.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// Only those of this scope.
    scope: Option<String>,
}

/// What to look for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The words.
    q: String,
    /// The scope to look in; every one, where none is given.
    scope: Option<String>,
    /// How many at most.
    limit: Option<usize>,
}

/// What to share with whom.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Sharing {
    fragment: i64,
    /// The scope, as `chat:…` or `global`.
    to: String,
}

/// What to forget: one of these.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Forgetting {
    fragment: Option<i64>,
    session: Option<i64>,
    /// Who said it, as `telegram:12345`.
    user: Option<String>,
    scope: Option<String>,
}

/// A fragment and all it came from, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct Shown {
    fragment: FragmentView,
    provenance: Vec<ProvenanceView>,
}

/// One list as its file has it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExportedList {
    scope: String,
    /// `memory`, `user`, or the day of a daily note.
    target: String,
    text: String,
}

/// What a check found.
#[derive(Debug, Serialize, ToSchema)]
pub struct Checked {
    ok: bool,
    records: u64,
    fragments: u64,
    broken_at: Option<u64>,
    reason: Option<String>,
}

/// What is gone.
#[derive(Debug, Serialize, ToSchema)]
pub struct Gone {
    forgotten: Vec<i64>,
    /// Files that may still have words that were forgotten, now or before; it is tried again
    /// with every use of their lists, and by the next request to forget.
    remains: Vec<RemainsView>,
}

/// A file that may still have words that were forgotten.
#[derive(Debug, Serialize, ToSchema)]
pub struct RemainsView {
    /// The file, below the agent's folder.
    file: String,
    /// Why it could not be cleaned, and what to do.
    why: String,
}

/// What is new.
#[derive(Debug, Serialize, ToSchema)]
pub struct Shared {
    fragment: i64,
}

impl From<MemoryError> for ApiError {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::Store(error) => error.into(),
            error @ MemoryError::NoFragment(_) => {
                Self::new(StatusCode::NOT_FOUND, "no_such_fragment", error.to_string())
            }
            error @ MemoryError::Wrong(_) => Self::invalid(error.to_string()),
            error => Self::new(StatusCode::CONFLICT, "memory", error.to_string()),
        }
    }
}

/// A scope that somebody names. One that is misspelt is an error, never an empty one.
fn scope(text: &str) -> Result<Scope, ApiError> {
    text.parse().map_err(|error: ScopeError| {
        let meant = text.strip_prefix("custom:").and_then(scope_rule::custom);
        let meant = meant.map(|scope| format!("; did you mean `{scope}`?")).unwrap_or_default();
        ApiError::invalid(format!("`{text}`: {error}{meant}"))
    })
}

/// The same, where something must have been remembered there once.
async fn known_scope(agent: &AgentContext, text: &str) -> Result<Scope, ApiError> {
    let scope = scope(text)?;
    if agent.remembered().knows(&scope).await? {
        return Ok(scope);
    }
    Err(no_scope(agent, &scope))
}

fn no_scope(agent: &AgentContext, scope: &Scope) -> ApiError {
    let id = &agent.id;
    let message = format!(
        "nothing was ever remembered in `{scope}`; `insula memory list {id}` shows the scopes there are"
    );
    ApiError::new(StatusCode::NOT_FOUND, "no_such_scope", message)
}

/// The same, for somebody to whom other scopes than their own are not there.
async fn seen_scope(
    agent: &AgentContext,
    within: Within<'_>,
    text: &str,
) -> Result<Scope, ApiError> {
    let named = scope(text)?;
    match within.sees(&named.clone().into()) {
        true => known_scope(agent, text).await,
        false => Err(no_scope(agent, &named)),
    }
}

fn number(numbers: &Numbers, text: &str) -> Result<FragmentId, ApiError> {
    let wrong = || ApiError::invalid(format!("`{text}` is no fragment: give its number"));
    numbers.read_fragment(text).ok_or_else(wrong)
}

/// Everything an agent remembers, with where it came from.
#[utoipa::path(get, path = "/api/agents/{id}/memory", params(("id" = String, Path), Which),
    responses((status = 200, body = [FragmentView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Json<Vec<FragmentView>>, ApiError> {
    let agent = kept(&api, &id)?;
    let Query(Which { scope }) = which?;
    let scope = match (scope, caller.within()) {
        (Some(text), within) => Some(seen_scope(&agent, within, &text).await?.to_string()),
        (None, Within::Scope(own)) => Some(own.to_string()),
        (None, Within::Whole) => None,
    };
    let memory = agent.remembered();
    // Where memory is off, or no daemon runs, a look changes nothing: what people wrote into
    // files is shown, and waits to be taken in.
    let takes_in = api.engine.is_some() && agent.memory.is_some();
    let (all, faults) = if takes_in {
        let (all, faults) = memory.all().await?;
        (all.into_iter().map(|(fragment, record)| Seen::Known(fragment, record)).collect(), faults)
    } else {
        memory.seen().await?
    };
    for error in faults {
        tracing::warn!(agent = %agent.id, %error, "a memory file can't be used");
    }
    let wanted = all
        .into_iter()
        .filter(|it| scope.as_deref().is_none_or(|scope| it.scope().as_str() == scope));
    let numbers = Numbers::of(&caller, &agent.store);
    let views = wanted.map(|it| seen(&api, &numbers, &agent, it).within(caller.within()));
    Ok(Json(views.collect()))
}

/// One fragment, and all it came from.
#[utoipa::path(get, path = "/api/agents/{id}/memory/{fragment}",
    params(("id" = String, Path), ("fragment" = String, Path)),
    responses((status = 200, body = Shown), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn show(
    State(api): State<Api>,
    caller: Caller,
    Path((id, fragment)): Path<(String, String)>,
) -> Result<Json<Shown>, ApiError> {
    let agent = kept(&api, &id)?;
    let numbers = Numbers::of(&caller, &agent.store);
    let (fragment, records) = agent.remembered().show(number(&numbers, &fragment)?).await?;
    let records = records.into_iter().map(|record| ProvenanceView::of(&numbers, record));
    let (provenance, fragment) = (records.collect(), view(&api, &numbers, &agent, fragment, None));
    Ok(Json(Shown { fragment, provenance }))
}

/// Fragments with these words, the best first.
#[utoipa::path(get, path = "/api/agents/{id}/memory/search", params(("id" = String, Path), Wanted),
    responses((status = 200, body = [FragmentView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn search(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<Vec<FragmentView>>, ApiError> {
    let agent = kept(&api, &id)?;
    let Query(Wanted { q, scope, limit }) = wanted?;
    let limit = limit.unwrap_or(FINDS);
    let memory = agent.remembered();
    let scopes: BTreeSet<ScopeName> = match (scope, caller.within()) {
        (Some(text), within) => BTreeSet::from([seen_scope(&agent, within, &text).await?.into()]),
        (None, Within::Scope(own)) => BTreeSet::from([own.clone()]),
        (None, Within::Whole) => {
            memory.known().await?.into_iter().map(|(fragment, _)| fragment.scope).collect()
        }
    };
    let mut hits = Vec::new();
    for scope in scopes {
        hits.extend(memory.find(&scope, &q, limit).await?);
    }
    hits.sort_by(|one, other| other.score.total_cmp(&one.score));
    hits.truncate(limit);
    let numbers = Numbers::of(&caller, &agent.store);
    let views = hits.into_iter().map(|hit| view(&api, &numbers, &agent, hit.fragment, None));
    Ok(Json(views.collect()))
}

/// Where an operator's change comes from.
fn origin(api: &Api, agent: &AgentContext, caller: &Caller, source: MemorySource) -> MemoryOrigin {
    MemoryOrigin {
        source,
        principal: caller.actor(),
        platform: "api".into(),
        session: None,
        message: None,
        call: None,
        generation: agent.generation.0,
        at: api.world.clock.now(),
        approved_by: None,
        label: None,
    }
}

/// Shares a fragment with another scope.
#[utoipa::path(post, path = "/api/agents/{id}/memory/share", params(("id" = String, Path)), request_body = Sharing,
    responses((status = 200, body = Shared), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn share(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Sharing>, JsonRejection>,
) -> Result<Json<Shared>, ApiError> {
    let agent = kept(&api, &id)?;
    let Json(Sharing { fragment, to }) = body?;
    let to = scope(&to)?;
    let origin = origin(&api, &agent, &caller, MemorySource::Shared);
    let told = to.to_string();
    let share = Share { fragment: FragmentId(fragment), to };
    let new = agent.remembered().share(&share, &origin).await?;
    let content = serde_json::json!({ "fragment": fragment, "to": told, "as": new.0 });
    agent.audit.append(About::Agent, &caller.actor(), "memory.shared", content).await?;
    Ok(Json(Shared { fragment: new.0 }))
}

/// Forgets for good: a fragment, what a session taught, what somebody said, or a scope.
#[utoipa::path(post, path = "/api/agents/{id}/memory/forget", params(("id" = String, Path)), request_body = Forgetting,
    responses((status = 200, body = Gone), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn forget(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Forgetting>, JsonRejection>,
) -> Result<Json<Gone>, ApiError> {
    let agent = kept(&api, &id)?;
    let Json(asked) = body?;
    let what = match asked {
        Forgetting { fragment: Some(id), session: None, user: None, scope: None } => {
            Forget::Fragment(FragmentId(id))
        }
        Forgetting { fragment: None, session: Some(id), user: None, scope: None } => {
            known_session(&agent, id).await?;
            Forget::Session(SessionId(id))
        }
        Forgetting { fragment: None, session: None, user: Some(user), scope: None } => {
            who(&user)?;
            Forget::Principal(user.into())
        }
        Forgetting { fragment: None, session: None, user: None, scope: Some(scope) } => {
            Forget::Scope(known_scope(&agent, &scope).await?.into())
        }
        _ => {
            let message = "say what to forget by one of `fragment`, `session`, `user` and `scope`";
            return Err(ApiError::invalid(message));
        }
    };
    // What names a fragment, a session or a person may reach into several scopes.
    let about = match &what {
        Forget::Scope(scope) => About::Scope(scope.clone()),
        Forget::Fragment(_) | Forget::Session(_) | Forget::Principal(_) => About::Agent,
    };
    let by = match &what {
        Forget::Fragment(_) => "fragment",
        Forget::Session(_) => "session",
        Forget::Principal(_) => "user",
        Forget::Scope(_) => "scope",
    };
    if let Forget::Fragment(id) = &what
        && agent.store.fragment(*id).await?.is_none()
    {
        return Err(MemoryError::NoFragment(id.0).into());
    }
    let origin = origin(&api, &agent, &caller, MemorySource::Said);
    let erased = agent.remembered().forget(what, &origin).await?;
    let forgotten: Vec<i64> = erased.fragments.iter().map(|fragment| fragment.id.0).collect();
    let remains: Vec<RemainsView> = erased
        .remains
        .iter()
        .map(|it| RemainsView { file: it.file.display().to_string(), why: it.why.to_string() })
        .collect();
    let files: Vec<&str> = remains.iter().map(|it| it.file.as_str()).collect();
    let content = serde_json::json!({ "by": by, "fragments": forgotten, "left_in": files });
    agent.audit.append(about, &caller.actor(), "memory.forgotten", content).await?;
    Ok(Json(Gone { forgotten, remains }))
}

/// A person as records name one.
fn who(user: &str) -> Result<(), ApiError> {
    match user.split_once(':') {
        Some((platform, id)) if !platform.is_empty() && !id.is_empty() => Ok(()),
        _ => {
            let message =
                format!("`{user}` names nobody: say the platform too, as `telegram:12345`");
            Err(ApiError::invalid(message))
        }
    }
}

/// A session that there is or was.
async fn known_session(agent: &AgentContext, id: i64) -> Result<(), ApiError> {
    if agent.store.session(SessionRef::Id(SessionId(id))).await?.is_some() {
        return Ok(());
    }
    let message =
        format!("there is no session {id}; `insula sessions list {}` shows them", agent.id);
    Err(ApiError::new(StatusCode::NOT_FOUND, "no_such_session", message))
}

/// Every list as its file has it.
#[utoipa::path(get, path = "/api/agents/{id}/memory/export", params(("id" = String, Path)),
    responses((status = 200, body = [ExportedList]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn export(
    State(api): State<Api>,
    Id(id): Id,
) -> Result<Json<Vec<ExportedList>>, ApiError> {
    let agent = kept(&api, &id)?;
    let known = api.secrets.known();
    let lists = agent.remembered().export().await?.into_iter().map(|list| ExportedList {
        scope: list.scope.to_string(),
        target: list.target.name(),
        text: known.told(&agent.id, list.text),
    });
    Ok(Json(lists.collect()))
}

/// What is wrong with the files of an agent's memory, each by its path below the agent's folder.
#[utoipa::path(get, path = "/api/agents/{id}/memory/troubles", params(("id" = String, Path)),
    responses((status = 200, body = [String]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn troubles(State(api): State<Api>, Id(id): Id) -> Result<Json<Vec<String>>, ApiError> {
    let agent = kept(&api, &id)?;
    Ok(Json(agent.remembered().troubles().await?))
}

/// Checks where everything came from.
#[utoipa::path(get, path = "/api/agents/{id}/memory/verify", params(("id" = String, Path)),
    responses((status = 200, body = Checked), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn verify(State(api): State<Api>, Id(id): Id) -> Result<Json<Checked>, ApiError> {
    let agent = kept(&api, &id)?;
    let report = agent.store.memory_verify().await?;
    Ok(Json(Checked {
        ok: report.ok,
        records: report.records,
        fragments: report.fragments,
        broken_at: report.broken_at,
        reason: report.reason,
    }))
}
