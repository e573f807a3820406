//! Agents: list, show, add, pause, resume, archive, reload, delete.

use crate::Server;
use crate::home_chat::HomeView;
use crate::system::ReloadAnswer;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use insula_api::{ApiError, Caller, ErrorBody, Id};
use insula_domain::AgentId;
use insula_registry::daemon::lifecycle::NewAgent;
use insula_registry::{Actor, AgentEntry};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One agent, in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentRow {
    id: String,
    /// `ready`, `failed`, `paused` or `archived`.
    state: &'static str,
    reason: Option<String>,
    generation: u64,
    model: Option<String>,
    /// Whether it remembers anything beyond a conversation; `null` where it does not run.
    memory: Option<bool>,
    isolation: Option<&'static str>,
    name: Option<String>,
    description: Option<String>,
}

impl AgentRow {
    /// The same for who may talk to it and not look into it. Whether it remembers is theirs to
    /// know: it is about what they say.
    pub(crate) fn for_members(self) -> Self {
        Self { reason: None, generation: 0, model: None, isolation: None, ..self }
    }

    pub(crate) fn of(id: &AgentId, entry: &AgentEntry) -> Self {
        let context = entry.state.context();
        Self {
            id: id.to_string(),
            state: entry.state.as_str(),
            reason: entry.state.reason().map(|reason| reason.to_string()),
            generation: entry.generation.0,
            model: context.and_then(|c| c.models.models.first()).map(ToString::to_string),
            memory: context.map(|c| c.memory.is_some()),
            isolation: context.map(|c| c.boundary.isolation.as_str()),
            name: context.map(|c| c.identity.name.to_string()),
            description: context.and_then(|c| c.identity.description.as_deref().map(Into::into)),
        }
    }
}

/// One agent, alone.
#[derive(Debug, Serialize, ToSchema)]
pub struct AgentShown {
    #[serde(flatten)]
    row: AgentRow,
    /// Where it tells what becomes of it; absent where it tells nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    home: Option<HomeView>,
    /// The agents it may reach, and how; absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<LinkView>,
}

/// A link to another agent.
#[derive(Debug, Serialize, ToSchema)]
pub struct LinkView {
    to: String,
    /// `ask`, `notify` or `handoff`.
    #[serde(rename = "as")]
    kind: &'static str,
}

impl LinkView {
    fn all(server: &Server, agent: &AgentId) -> Vec<Self> {
        let snapshot = server.registry.snapshot();
        let context = snapshot.agents.get(agent).and_then(|entry| entry.state.context());
        let links = context.iter().flat_map(|it| it.boundary.links.iter());
        links.map(|it| Self { to: it.to.to_string(), kind: it.kind.as_str() }).collect()
    }
}

fn agent_id(text: &str) -> Result<AgentId, ApiError> {
    // A text that can't be an id names an agent that does not exist, no more.
    AgentId::new(text).map_err(|_| ApiError::no_agent(text))
}

/// Every agent.
#[utoipa::path(get, path = "/api/agents", responses((status = 200, body = [AgentRow])), security(("token" = [])))]
pub async fn list(State(server): State<Server>) -> Json<Vec<AgentRow>> {
    let snapshot = server.registry.snapshot();
    Json(snapshot.agents.iter().map(|(id, entry)| AgentRow::of(id, entry)).collect())
}

/// One agent.
#[utoipa::path(get, path = "/api/agents/{id}", params(("id" = String, Path)),
    responses((status = 200, body = AgentShown), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn shown(State(server): State<Server>, Id(id): Id) -> Result<Json<AgentShown>, ApiError> {
    let agent = agent_id(&id)?;
    let Json(row) = show(State(server.clone()), Id(id)).await?;
    Ok(Json(AgentShown {
        row,
        home: Some(HomeView::of(&server, &agent)).filter(|home| home.chat.is_some()),
        links: LinkView::all(&server, &agent),
    }))
}

async fn show(State(server): State<Server>, Id(id): Id) -> Result<Json<AgentRow>, ApiError> {
    let id = agent_id(&id)?;
    let snapshot = server.registry.snapshot();
    let entry = snapshot.agents.get(&id).ok_or_else(|| ApiError::no_agent(id.as_str()))?;
    Ok(Json(AgentRow::of(&id, entry)))
}

/// What a new agent is to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddAgent {
    id: String,
    name: Option<String>,
    description: Option<String>,
    model: Option<String>,
    personality: Option<String>,
    tools: Option<String>,
    memory: Option<bool>,
}

/// Adds an agent by writing its `agent.yaml`.
#[utoipa::path(post, path = "/api/agents", request_body = AddAgent,
    responses((status = 201, body = AgentRow), (status = 400, body = ErrorBody), (status = 409, body = ErrorBody)),
    security(("token" = [])))]
pub async fn add(
    State(server): State<Server>,
    body: Result<Json<AddAgent>, JsonRejection>,
) -> Result<(StatusCode, Json<AgentRow>), ApiError> {
    let Json(add) = body?;
    let id = AgentId::new(&add.id).map_err(|error| ApiError::invalid(error.to_string()))?;
    let new = NewAgent {
        name: add.name,
        description: add.description,
        model: add.model,
        personality: add.personality,
        tools: add.tools,
        memory: add.memory,
    };
    server.daemon.add(&id, &new, &Actor::CommandLine).await?;
    let row = show(State(server), Id(id.to_string())).await?;
    Ok((StatusCode::CREATED, row))
}

/// Declares a handler that changes one agent's standing and answers with its row.
macro_rules! change {
    ($(#[$doc:meta])* $name:ident, $path:literal) => {
        $(#[$doc])*
        #[utoipa::path(post, path = $path, params(("id" = String, Path)),
            responses((status = 200, body = AgentRow), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)),
            security(("token" = [])))]
        pub async fn $name(
            State(server): State<Server>,
            caller: Caller,
            Id(id): Id,
        ) -> Result<Json<AgentRow>, ApiError> {
            let agent = agent_id(&id)?;
            server.daemon.$name(&agent, &caller.actor()).await?;
            show(State(server), Id(id)).await
        }
    };
}

change!(
    /// Stops it from serving; it keeps everything.
    pause, "/api/agents/{id}/pause"
);
change!(
    /// Lets it serve again.
    resume, "/api/agents/{id}/resume"
);
change!(
    /// Puts it away; it keeps everything.
    archive, "/api/agents/{id}/archive"
);

/// Reads the configuration again and applies it to this agent alone.
#[utoipa::path(post, path = "/api/agents/{id}/reload", params(("id" = String, Path)),
    responses((status = 200, body = ReloadAnswer), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)),
    security(("token" = [])))]
pub async fn reload(
    State(server): State<Server>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<ReloadAnswer>, ApiError> {
    let id = agent_id(&id)?;
    let reloaded = server.daemon.reload(Some(&id), &caller.actor()).await;
    // What is wrong elsewhere in the files is not for the bearer of a token of one agent.
    match (caller, reloaded) {
        (Caller::Local, reloaded) => Ok(Json(reloaded?.into())),
        (Caller::Token(_), Ok(reloaded)) => Ok(Json(ReloadAnswer::about(&id, reloaded))),
        (Caller::Token(_), Err(error)) => Err(ApiError::from(error).about(&id)),
    }
}

/// Deletes it with all it has.
#[utoipa::path(delete, path = "/api/agents/{id}", params(("id" = String, Path)),
    responses((status = 204), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn delete(State(server): State<Server>, Id(id): Id) -> Result<StatusCode, ApiError> {
    server.daemon.delete(&agent_id(&id)?, &Actor::CommandLine).await?;
    Ok(StatusCode::NO_CONTENT)
}
