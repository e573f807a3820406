//! Agents: list, show, add, pause, resume, archive, reload, delete.

use crate::Surface;
use crate::auth::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::Id;
use crate::system::ReloadAnswer;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use insula_config::settings::Setting;
use insula_domain::AgentId;
use insula_domain::boundary::Boundary;
use insula_registry::lifecycle::NewAgent;
use insula_registry::{Actor, AgentContext, Entry};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
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
    memory: Option<bool>,
    isolation: Option<&'static str>,
    name: Option<String>,
    description: Option<String>,
}

impl AgentRow {
    fn of(id: &AgentId, entry: &Entry) -> Self {
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

fn agent_id(text: &str) -> Result<AgentId, ApiError> {
    // A text that can't be an id names an agent that does not exist, no more.
    AgentId::new(text).map_err(|_| ApiError::no_agent(text))
}

/// The context of an agent, whether or not it serves.
pub(crate) fn live(surface: &Surface, id: &str) -> Result<Arc<AgentContext>, ApiError> {
    Ok(surface.house.context_of(&agent_id(id)?)?)
}

/// Every agent.
#[utoipa::path(get, path = "/api/agents", responses((status = 200, body = [AgentRow])), security(("token" = [])))]
pub async fn list(State(surface): State<Surface>) -> Json<Vec<AgentRow>> {
    let snapshot = surface.house.snapshot();
    Json(snapshot.agents.iter().map(|(id, entry)| AgentRow::of(id, entry)).collect())
}

/// One agent.
#[utoipa::path(get, path = "/api/agents/{id}", params(("id" = String, Path)),
    responses((status = 200, body = AgentRow), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn show(State(surface): State<Surface>, Id(id): Id) -> Result<Json<AgentRow>, ApiError> {
    let id = agent_id(&id)?;
    let snapshot = surface.house.snapshot();
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
    State(surface): State<Surface>,
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
    surface.house.add(&id, &new, &Actor::CommandLine).await?;
    let row = show(State(surface), Id(id.to_string())).await?;
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
            State(surface): State<Surface>,
            caller: Caller,
            Id(id): Id,
        ) -> Result<Json<AgentRow>, ApiError> {
            let agent = agent_id(&id)?;
            surface.house.$name(&agent, &caller.actor()).await?;
            show(State(surface), Id(id)).await
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
    State(surface): State<Surface>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<ReloadAnswer>, ApiError> {
    let id = agent_id(&id)?;
    let reloaded = surface.house.reload(Some(&id), &caller.actor()).await;
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
pub async fn delete(State(surface): State<Surface>, Id(id): Id) -> Result<StatusCode, ApiError> {
    surface.house.delete(&agent_id(&id)?, &Actor::CommandLine).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The live context object, secrets by name only.
#[utoipa::path(get, path = "/api/agents/{id}/context", params(("id" = String, Path)),
    responses((status = 200, body = Object), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn context(
    State(surface): State<Surface>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Value>, ApiError> {
    let context = live(&surface, &id)?;
    // Lines move with what others wrote, which only the admin may know of.
    let origin = |setting: &Setting| match caller {
        Caller::Local => setting.origin.to_string(),
        Caller::Token(_) => setting.origin.in_general(),
    };
    let mut settings = context.config.settings.iter();
    let soul_origin = match settings.find(|setting| &*setting.path == "personality") {
        Some(setting) => origin(setting),
        None => context.identity.soul.origin.to_string(),
    };
    let conversations = &context.conversations;
    Ok(Json(json!({
        "id": context.id.as_str(),
        "generation": context.generation.0,
        "identity": {
            "name": &*context.identity.name,
            "description": context.identity.description.as_deref(),
            "soul": &*context.identity.soul.text,
            "soul_origin": soul_origin,
            "instructions": context.identity.instructions.as_ref().map(|it| &*it.text),
            "instructions_origin": context.identity.instructions.as_ref().map(|it| &*it.origin),
        },
        "boundary": boundary(&context.boundary),
        "tools": context.tools().exposed().filter(|tool| context.runs(tool)).map(str::to_owned).chain(context.toolbox.names().map(str::to_owned)).collect::<Vec<_>>(),
        "memory": context.memory.as_ref().map(|memory| json!({
            "scope": conversations.scope.as_str(),
            "also_read": memory.also_read.iter().map(|it| it.text()).collect::<Vec<_>>(),
            "global_writes": memory.global_writes.as_str(),
        })),
        "workspace": {
            "path": context.workspace.path.display().to_string(),
            "scope": context.boundary.files.workspace.as_str(),
        },
        "skills": {
            "bundles": context.skills.bundles,
            "names": context.skills.skills.iter().map(|skill| &*skill.name).collect::<Vec<_>>(),
            "unusable": context.skills.unusable.iter()
                .map(|it| json!({ "name": &*it.name, "reason": &*it.why }))
                .collect::<Vec<_>>(),
            "prompt_bytes": context.skills.index.len(),
        },
        "hooks": hooks(&context),
        "models": context.models.models.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "isolation": context.boundary.isolation.as_str(),
        "sessions": { "dm": conversations.sessions.dm.as_str(), "group": conversations.sessions.group.as_str() },
        "scope": conversations.scope.as_str(),
        "metadata": context.config.metadata,
        "settings": context.config.settings.iter().map(|setting| json!({
            "setting": &*setting.path,
            "value": setting.shown(),
            "origin": origin(setting),
        })).collect::<Vec<_>>(),
    })))
}

fn hooks(context: &AgentContext) -> Value {
    let trouble = context.hooks.trouble();
    let configured = context.hooks.iter().map(|hook| {
        json!({ "hook": &*hook.name, "event": hook.event.as_str(), "way": hook.way.as_str() })
    });
    json!({
        "configured": configured.collect::<Vec<_>>(),
        "failures": trouble.as_ref().map_or(0, |(count, _)| *count),
        "last_failure": trouble.map(|(_, last)| last),
    })
}

fn boundary(boundary: &Boundary) -> Value {
    let Boundary {
        isolation,
        tools,
        rules,
        files,
        network,
        secrets,
        budget,
        approvals,
        spawn,
        send,
        messages,
    } = boundary;
    json!({
        "isolation": isolation.as_str(),
        "tools": tools.exposed().count(),
        "rules": rules.iter()
            .map(|rule| json!({ "tools": rule.tools.to_string(), "rule": &*rule.name, "allows": rule.to_string() }))
            .collect::<Vec<_>>(),
        "files": {
            "workspace": files.workspace.as_str(),
            "shared": files.shared.iter()
                .map(|shared| json!({ "path": &*shared.path, "mode": shared.mode.as_str() }))
                .collect::<Vec<_>>(),
            "stale_writes": files.stale_writes.as_str(),
        },
        "network": network.lists().iter()
            .map(|hosts| hosts.iter().map(ToString::to_string).collect::<Vec<_>>())
            .collect::<Vec<_>>(),
        "credentials": network.credentials().iter()
            .map(|it| json!({
                "host": it.host.to_string(),
                "header": &*it.header,
                "secrets": it.secrets,
                "plain_http": it.plain_http == insula_domain::Switch::On,
            }))
            .collect::<Vec<_>>(),
        "secrets": secrets,
        "budget": {
            "usd_per_day": budget.own.usd_micros_per_day.map(|micros| micros as f64 / 1e6),
            "tokens_per_day": budget.own.tokens_per_day,
            "turns_per_minute": budget.own.turns_per_minute,
            "per_user": crate::usage::limits(&budget.per_user),
            "per_context": crate::usage::limits(&budget.per_context),
        },
        "approvals": {
            "mode": approvals.mode.as_str(),
            "timeout_ms": approvals.timeout_ms,
            "separation": approvals.separation == insula_domain::Switch::On,
            "opaque": approvals.opaque.as_str(),
        },
        "spawn": {
            "max_depth": spawn.max_depth,
            "max_children": spawn.max_children,
            "max_total": spawn.max_total,
            "max_iterations": spawn.max_iterations,
            "wall_clock_ms": spawn.wall_clock_ms,
            "models": spawn.models,
        },
        "send": send.iter().map(AgentId::as_str).collect::<Vec<_>>(),
        "messages": {
            "to": messages.to.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "flows": messages.flows.iter()
                .map(|flow| json!({ "from": flow.from.to_string(), "to": flow.to.to_string() }))
                .collect::<Vec<_>>(),
        },
    })
}
