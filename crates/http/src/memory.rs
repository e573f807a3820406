//! What an agent remembers: for operators all of it, with where it came from; for people what
//! is remembered in their own conversation.

use crate::Surface;
use crate::auth::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, kept, ready};
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use insula_domain::Scope;
use insula_memory::{Memory, MemoryError, Share};
use insula_runtime::AgentContext;
use insula_runtime::memory::{AskError, Asking, Forgot, Remembered};
use insula_store::{Forget, Fragment, FragmentId, Origin, Provenance, SessionId, Source};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

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

/// A conversation of one's own.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Own {
    session: String,
}

/// What to forget in a conversation of one's own.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnForgetting {
    session: String,
    /// The number of an entry, words that only it has, or `all`.
    what: String,
}

/// Where a fragment came from.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProvenanceView {
    record: i64,
    source: &'static str,
    principal: String,
    platform: String,
    session: Option<i64>,
    message: Option<u64>,
    call: Option<String>,
    generation: u64,
    at: String,
    approved_by: Option<String>,
    /// The audiences that the words came from, where a turn wrote them.
    audience: Option<String>,
    /// The fragments whose words went into it.
    from: Vec<i64>,
    hash: String,
    previous: String,
}

/// Something remembered.
#[derive(Debug, Serialize, ToSchema)]
pub struct FragmentView {
    id: i64,
    scope: String,
    target: &'static str,
    text: String,
    /// Whether it is kept from every model.
    blocked: bool,
    blocked_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<ProvenanceView>,
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
    target: &'static str,
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
}

/// What is new.
#[derive(Debug, Serialize, ToSchema)]
pub struct Shared {
    fragment: i64,
}

/// One entry, for the people of its conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntryView {
    number: usize,
    target: &'static str,
    text: String,
    blocked: bool,
}

/// What is remembered in a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct RememberedHere {
    /// Whether the agent remembers at all.
    memory: bool,
    entries: Vec<EntryView>,
}

/// What became of a request to forget.
#[derive(Debug, Serialize, ToSchema)]
pub struct ForgotHere {
    memory: bool,
    forgotten: usize,
    /// What matches, where it is not clear which one is meant.
    unclear: Vec<String>,
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

impl From<AskError> for ApiError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Memory(error) => error.into(),
            error @ (AskError::Denied(_) | AskError::Refused(_)) => {
                Self::new(StatusCode::CONFLICT, "memory_closed", error.to_string())
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl From<Provenance> for ProvenanceView {
    fn from(record: Provenance) -> Self {
        let origin = record.origin;
        Self {
            record: record.seq.0,
            source: origin.source.as_str(),
            principal: origin.principal.to_string(),
            platform: origin.platform.into(),
            session: origin.session.map(|session| session.0),
            message: origin.message.map(|message| message.0),
            call: origin.call.map(Into::into),
            generation: origin.generation,
            at: origin.at.to_string(),
            approved_by: origin.approved_by.map(Into::into),
            audience: origin.label.map(Into::into),
            from: record.parents.iter().map(|id| id.0).collect(),
            hash: hex(&record.mac),
            previous: hex(&record.prev),
        }
    }
}

fn view(
    surface: &Surface,
    agent: &AgentContext,
    fragment: Fragment,
    record: Option<Provenance>,
) -> FragmentView {
    FragmentView {
        id: fragment.id.0,
        scope: fragment.scope.to_string(),
        target: fragment.target.as_str(),
        text: surface.house.secrets.known().told(&agent.id, fragment.text),
        blocked: fragment.blocked.is_some(),
        blocked_reason: fragment.blocked.map(Into::into),
        provenance: record.map(Into::into),
    }
}

/// The memory of an agent, which must have one.
fn memory(agent: &AgentContext) -> Result<&Memory, ApiError> {
    agent.memory.as_ref().map(|memory| &memory.keeper).ok_or_else(|| {
        let message = format!(
            "agent `{}` does not remember; `memory: true` in its configuration turns it on",
            agent.id
        );
        ApiError::new(StatusCode::CONFLICT, "no_memory", message)
    })
}

fn number(text: &str) -> Result<FragmentId, ApiError> {
    let wrong = || ApiError::invalid(format!("`{text}` is no fragment: give its number"));
    text.parse().map(FragmentId).map_err(|_| wrong())
}

/// Everything an agent remembers, with where it came from.
#[utoipa::path(get, path = "/api/agents/{id}/memory", params(("id" = String, Path), Which),
    responses((status = 200, body = [FragmentView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(
    State(surface): State<Surface>,
    Id(id): Id,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Json<Vec<FragmentView>>, ApiError> {
    let agent = kept(&surface, &id)?;
    let Query(Which { scope }) = which?;
    let Some(memory) = agent.memory.as_ref().map(|memory| &memory.keeper) else {
        return Ok(Json(Vec::new()));
    };
    let all = if surface.engine.is_some() {
        let (all, faults) = memory.all().await?;
        for error in faults {
            tracing::warn!(agent = %agent.id, %error, "a memory file can't be used");
        }
        all
    } else {
        // Without a daemon a look changes nothing, so edits of files wait.
        memory.known().await?
    };
    let wanted = all
        .into_iter()
        .filter(|(fragment, _)| scope.as_deref().is_none_or(|scope| *fragment.scope == *scope));
    let views = wanted.map(|(fragment, record)| view(&surface, &agent, fragment, Some(record)));
    Ok(Json(views.collect()))
}

/// One fragment, and all it came from.
#[utoipa::path(get, path = "/api/agents/{id}/memory/{fragment}",
    params(("id" = String, Path), ("fragment" = i64, Path)),
    responses((status = 200, body = Shown), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn show(
    State(surface): State<Surface>,
    Path((id, fragment)): Path<(String, String)>,
) -> Result<Json<Shown>, ApiError> {
    let agent = kept(&surface, &id)?;
    let (fragment, records) = memory(&agent)?.show(number(&fragment)?).await?;
    let provenance = records.into_iter().map(Into::into).collect();
    Ok(Json(Shown { fragment: view(&surface, &agent, fragment, None), provenance }))
}

/// Fragments with these words, the best first.
#[utoipa::path(get, path = "/api/agents/{id}/memory-search", params(("id" = String, Path), Wanted),
    responses((status = 200, body = [FragmentView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn search(
    State(surface): State<Surface>,
    Id(id): Id,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<Vec<FragmentView>>, ApiError> {
    let agent = kept(&surface, &id)?;
    let Query(Wanted { q, scope, limit }) = wanted?;
    let limit = limit.unwrap_or(FINDS);
    let memory = memory(&agent)?;
    let scopes: BTreeSet<Arc<str>> = match scope {
        Some(scope) => BTreeSet::from([scope.into()]),
        None => memory.known().await?.into_iter().map(|(fragment, _)| fragment.scope).collect(),
    };
    let mut hits = Vec::new();
    for scope in scopes {
        hits.extend(memory.find(&scope, &q, limit).await?);
    }
    hits.sort_by(|one, other| other.score.total_cmp(&one.score));
    hits.truncate(limit);
    let views = hits.into_iter().map(|hit| view(&surface, &agent, hit.fragment, None));
    Ok(Json(views.collect()))
}

/// Where an operator's change comes from.
fn origin(surface: &Surface, agent: &AgentContext, caller: &Caller, source: Source) -> Origin {
    Origin {
        source,
        principal: caller.principal().into(),
        platform: "api".into(),
        session: None,
        message: None,
        call: None,
        generation: agent.generation.0,
        at: surface.house.world.clock.now(),
        approved_by: None,
        label: None,
    }
}

/// Shares a fragment with another scope.
#[utoipa::path(post, path = "/api/agents/{id}/memory-share", params(("id" = String, Path)), request_body = Sharing,
    responses((status = 200, body = Shared), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn share(
    State(surface): State<Surface>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Sharing>, JsonRejection>,
) -> Result<Json<Shared>, ApiError> {
    let agent = kept(&surface, &id)?;
    let Json(Sharing { fragment, to }) = body?;
    let to: Scope = to
        .parse()
        .map_err(|error: insula_domain::ScopeError| ApiError::invalid(error.to_string()))?;
    let origin = origin(&surface, &agent, &caller, Source::Shared);
    let told = to.to_string();
    let share = Share { fragment: FragmentId(fragment), to };
    let new = memory(&agent)?.share(&share, &origin).await?;
    let content = serde_json::json!({ "fragment": fragment, "to": told, "as": new.0 });
    agent.audit.append(&caller.principal(), "memory.shared", content).await?;
    Ok(Json(Shared { fragment: new.0 }))
}

/// Forgets for good: a fragment, what a session taught, what somebody said, or a scope.
#[utoipa::path(post, path = "/api/agents/{id}/memory-forget", params(("id" = String, Path)), request_body = Forgetting,
    responses((status = 200, body = Gone), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn forget(
    State(surface): State<Surface>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Forgetting>, JsonRejection>,
) -> Result<Json<Gone>, ApiError> {
    let agent = kept(&surface, &id)?;
    let Json(asked) = body?;
    let what = match asked {
        Forgetting { fragment: Some(id), session: None, user: None, scope: None } => {
            Forget::Fragment(FragmentId(id))
        }
        Forgetting { fragment: None, session: Some(id), user: None, scope: None } => {
            Forget::Session(SessionId(id))
        }
        Forgetting { fragment: None, session: None, user: Some(user), scope: None } => {
            Forget::Principal(user.into())
        }
        Forgetting { fragment: None, session: None, user: None, scope: Some(scope) } => {
            Forget::Scope(scope.into())
        }
        _ => {
            let message = "say what to forget by one of `fragment`, `session`, `user` and `scope`";
            return Err(ApiError::invalid(message));
        }
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
    let origin = origin(&surface, &agent, &caller, Source::Said);
    let gone = memory(&agent)?.forget(what, &origin).await?;
    let forgotten: Vec<i64> = gone.iter().map(|fragment| fragment.id.0).collect();
    let content = serde_json::json!({ "by": by, "fragments": forgotten });
    agent.audit.append(&caller.principal(), "memory.forgotten", content).await?;
    Ok(Json(Gone { forgotten }))
}

/// Every list as its file has it.
#[utoipa::path(get, path = "/api/agents/{id}/memory-export", params(("id" = String, Path)),
    responses((status = 200, body = [ExportedList]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn export(
    State(surface): State<Surface>,
    Id(id): Id,
) -> Result<Json<Vec<ExportedList>>, ApiError> {
    let agent = kept(&surface, &id)?;
    let known = surface.house.secrets.known();
    let lists = memory(&agent)?.export().await?.into_iter().map(|list| ExportedList {
        scope: list.scope.to_string(),
        target: list.target.as_str(),
        text: known.told(&agent.id, list.text),
    });
    Ok(Json(lists.collect()))
}

/// Checks where everything came from.
#[utoipa::path(get, path = "/api/agents/{id}/memory-verify", params(("id" = String, Path)),
    responses((status = 200, body = Checked), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn verify(State(surface): State<Surface>, Id(id): Id) -> Result<Json<Checked>, ApiError> {
    let agent = kept(&surface, &id)?;
    let report = agent.store.memory_verify().await?;
    Ok(Json(Checked {
        ok: report.ok,
        records: report.records,
        fragments: report.fragments,
        broken_at: report.broken_at,
        reason: report.reason,
    }))
}

/// What is remembered in a conversation of one's own.
#[utoipa::path(post, path = "/api/agents/{id}/remembered", params(("id" = String, Path)), request_body = Own,
    responses((status = 200, body = RememberedHere), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn remembered(
    State(surface): State<Surface>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Own>, JsonRejection>,
) -> Result<Json<RememberedHere>, ApiError> {
    let agent = ready(&surface, &id)?;
    let Json(Own { session }) = body?;
    let wrong = |error: insula_domain::IdError| ApiError::invalid(error.to_string());
    let address = caller.address(session).map_err(wrong)?;
    let asking = Asking {
        agent: &agent,
        session: &agent.session_key(&address),
        at: &agent.scope(&address),
        principal: &caller.principal(),
    };
    let lists = match surface.house.remembered(&asking).await? {
        Remembered::Off => return Ok(Json(RememberedHere { memory: false, entries: Vec::new() })),
        Remembered::Lists(lists) => lists,
    };
    let known = surface.house.secrets.known();
    let all = lists.into_iter().flat_map(|list| list.fragments);
    let entries = all.enumerate().map(|(at, fragment)| EntryView {
        number: at + 1,
        target: fragment.target.as_str(),
        text: known.told(&agent.id, fragment.text),
        blocked: fragment.blocked.is_some(),
    });
    Ok(Json(RememberedHere { memory: true, entries: entries.collect() }))
}

/// Forgets something in a conversation of one's own.
#[utoipa::path(post, path = "/api/agents/{id}/forget", params(("id" = String, Path)), request_body = OwnForgetting,
    responses((status = 200, body = ForgotHere), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn forget_here(
    State(surface): State<Surface>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<OwnForgetting>, JsonRejection>,
) -> Result<Json<ForgotHere>, ApiError> {
    let agent = ready(&surface, &id)?;
    let Json(OwnForgetting { session, what }) = body?;
    let wrong = |error: insula_domain::IdError| ApiError::invalid(error.to_string());
    let address = caller.address(session).map_err(wrong)?;
    let asking = Asking {
        agent: &agent,
        session: &agent.session_key(&address),
        at: &agent.scope(&address),
        principal: &caller.principal(),
    };
    let told = match surface.house.forget_here(&asking, &what).await? {
        Forgot::Off => ForgotHere { memory: false, forgotten: 0, unclear: Vec::new() },
        Forgot::Entries(forgotten) => ForgotHere { memory: true, forgotten, unclear: Vec::new() },
        Forgot::Unclear(unclear) => ForgotHere { memory: true, forgotten: 0, unclear },
    };
    Ok(Json(told))
}
