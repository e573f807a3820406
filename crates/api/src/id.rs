//! The agent a path names: what can't be an id is an agent that does not exist.

use crate::Api;
use crate::error::ApiError;
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::StatusCode;
use axum::http::request::Parts;
use insula_domain::AgentId;
use insula_registry::{AgentContext, AgentState as Standing};
use std::sync::Arc;

/// The `{id}` of a path. Need not be one of ours, nor an id at all.
pub struct Id(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, state).await.ok();
        let id = params.iter().flatten().find(|(name, _)| *name == "id");
        // Bytes that are no text name nobody either.
        id.map(|(_, id)| Self(id.to_owned())).ok_or_else(|| ApiError::no_agent("\u{fffd}"))
    }
}

/// The agent of this name, if it serves.
pub fn ready(api: &Api, id: &str) -> Result<Arc<AgentContext>, ApiError> {
    let missing = || ApiError::no_agent(id);
    let name = AgentId::new(id).map_err(|_| missing())?;
    let snapshot = api.registry.snapshot();
    let entry = snapshot.agents.get(&name).ok_or_else(missing)?;
    match &entry.state {
        Standing::Ready(context) => Ok(context.clone()),
        other => {
            let reason = other.reason().unwrap_or_else(|| "not ready".into());
            let message = format!("agent `{id}` does not serve: {reason}");
            Err(ApiError::new(StatusCode::CONFLICT, "wrong_state", message))
        }
    }
}

/// The agent of this name, also while it does not serve: what was said stays readable.
pub fn kept(api: &Api, id: &str) -> Result<Arc<AgentContext>, ApiError> {
    let missing = || ApiError::no_agent(id);
    let name = AgentId::new(id).map_err(|_| missing())?;
    let snapshot = api.registry.snapshot();
    let entry = snapshot.agents.get(&name).ok_or_else(missing)?;
    entry.state.context().cloned().ok_or_else(|| {
        let message = format!("agent `{id}` failed; `insula agents show {id}` says why");
        ApiError::new(StatusCode::CONFLICT, "wrong_state", message)
    })
}

/// The context of an agent, whether or not it serves.
pub fn live(api: &Api, id: &str) -> Result<Arc<AgentContext>, ApiError> {
    // A text that can't be an id names an agent that does not exist, no more.
    let id = AgentId::new(id).map_err(|_| ApiError::no_agent(id))?;
    Ok(api.registry.context_of(&id)?)
}
