//! The home chat of an agent: where it tells its operators what becomes of it.

use crate::Server;
use crate::route::Probe;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use insula_api::{ApiError, Caller, ErrorBody, Id};
use insula_domain::AgentId;
use insula_registry::Actor;
use insula_registry::home_chats::HomeChat;
use serde::Serialize;
use utoipa::ToSchema;

/// Where an agent tells what becomes of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct HomeView {
    /// `null` where it tells nobody.
    pub(crate) chat: Option<String>,
    /// Who chose it.
    by: Option<String>,
    /// Whether messages there still reach this agent. While they do not, nothing is told.
    leads_here: Option<bool>,
}

impl HomeView {
    pub(crate) fn of(server: &Server, id: &AgentId) -> Self {
        let home = server.front.home_of(id);
        let leads = home.as_ref().map(|home| home.leads_to(&server.registry.snapshot(), id));
        Self {
            chat: home.as_ref().map(|home| home.place()),
            by: home.as_ref().map(|home| home.by.to_string()),
            leads_here: leads,
        }
    }
}

fn agent_id(text: &str) -> Result<AgentId, ApiError> {
    AgentId::new(text).map_err(|_| ApiError::no_agent(text))
}

/// Sets where an agent tells what becomes of it.
#[utoipa::path(put, path = "/api/agents/{id}/home", params(("id" = String, Path)), request_body = Probe,
    responses((status = 200, body = HomeView), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)),
    security(("token" = [])))]
pub async fn set(
    State(server): State<Server>,
    Id(id): Id,
    body: Result<Json<Probe>, JsonRejection>,
) -> Result<Json<HomeView>, ApiError> {
    let id = agent_id(&id)?;
    let snapshot = server.registry.snapshot();
    if !snapshot.agents.contains_key(&id) {
        return Err(ApiError::no_agent(id.as_str()));
    }
    let Json(probe) = body?;
    let address = probe.address(&snapshot.daemon).map_err(ApiError::invalid)?;
    let home = HomeChat { address, by: Actor::CommandLine.as_str().into() };
    if !home.leads_to(&snapshot, &id) {
        return Err(ApiError::invalid(format!(
            "what is said in {} does not reach agent `{id}`; `insula route explain` says whom it reaches",
            home.place()
        )));
    }
    server.daemon.set_home(&id, Some(home), &Actor::CommandLine).await?;
    Ok(Json(HomeView::of(&server, &id)))
}

/// Has an agent tell nobody any more what becomes of it.
#[utoipa::path(delete, path = "/api/agents/{id}/home", params(("id" = String, Path)),
    responses((status = 200, body = HomeView), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn clear(
    State(server): State<Server>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<HomeView>, ApiError> {
    let id = agent_id(&id)?;
    server.daemon.set_home(&id, None, &caller.actor()).await?;
    Ok(Json(HomeView::of(&server, &id)))
}
