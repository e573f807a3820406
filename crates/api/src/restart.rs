//! Begins an agent anew, by its operator.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::Id;
use axum::Json;
use axum::extract::State;
use insula_domain::AgentId;
use serde::Serialize;
use utoipa::ToSchema;

/// An agent that was begun anew.
#[derive(Debug, Serialize, ToSchema)]
pub struct RestartAnswer {
    id: String,
    /// `ready`, or `failed` where its files as they are now can't be used.
    state: &'static str,
    reason: Option<String>,
    generation: u64,
    /// Turns under way that it ended.
    turns_ended: usize,
}

/// Ends the turns, programs and MCP servers of an agent and begins it anew from its files as they
/// are now; no other agent is touched. Turns that run end and say so where they were asked; what
/// was said and has not begun is answered afterwards.
#[utoipa::path(post, path = "/api/agents/{id}/restart", params(("id" = String, Path)),
    responses((status = 200, body = RestartAnswer), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 422, body = ErrorBody)),
    security(("token" = [])))]
pub async fn restart(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<RestartAnswer>, ApiError> {
    let agent = AgentId::new(&id).map_err(|_| ApiError::no_agent(&id))?;
    let engine = api.engine.clone().ok_or_else(ApiError::no_daemon)?;
    let restarted = engine.restart(&agent, &caller.actor()).await;
    // What is wrong elsewhere in the files is not for the bearer of a token of one agent.
    let restarted = restarted.map_err(|error| match caller {
        Caller::Local => ApiError::from(error),
        Caller::Token(_) => ApiError::from(error).about(&agent),
    })?;
    let snapshot = api.registry.snapshot();
    let entry = snapshot.agents.get(&agent).ok_or_else(|| ApiError::no_agent(&id))?;
    Ok(Json(RestartAnswer {
        id,
        state: entry.state.as_str(),
        reason: entry.state.reason().map(|reason| reason.to_string()),
        generation: entry.generation.0,
        turns_ended: restarted.ended,
    }))
}
