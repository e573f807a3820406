//! The OpenAI-compatible API: the agent is the `model`, the session is a header.

mod chat;
mod error;
mod request;

pub use chat::{__path_completions, completions};

use crate::Surface;
use crate::auth::Caller;
use axum::Json;
use axum::extract::State as With;
use axum::http::HeaderMap;
use error::OpenAiError;
use insula_domain::AgentId;
use insula_runtime::tokens::Verb;
use insula_runtime::{AgentContext, State};
use serde_json::{Value, json};
use std::sync::Arc;

/// The agent a request names. One that is not there, does not serve or is somebody else's:
/// the same answer.
fn agent(
    surface: &Surface,
    caller: &Caller,
    model: &str,
) -> Result<Arc<AgentContext>, OpenAiError> {
    let missing = || OpenAiError::no_model(model);
    let id = AgentId::new(model).map_err(|_| missing())?;
    if !caller.may(&id, Verb::Chat) {
        return Err(missing());
    }
    let snapshot = surface.house.snapshot();
    let entry = snapshot.agents.get(&id).ok_or_else(missing)?;
    match &entry.state {
        State::Ready(context) => Ok(context.clone()),
        _ => Err(missing()),
    }
}

/// The agents this token may talk to.
#[utoipa::path(get, path = "/v1/models", responses((status = 200, body = Object)), security(("token" = [])))]
pub async fn models(
    With(surface): With<Surface>,
    headers: HeaderMap,
) -> Result<Json<Value>, OpenAiError> {
    let caller = Caller::of(&surface, &headers)?;
    let snapshot = surface.house.snapshot();
    let serving = snapshot
        .agents
        .iter()
        .filter(|(id, entry)| caller.may(id, Verb::Chat) && matches!(entry.state, State::Ready(_)));
    let data: Vec<Value> = serving
        .map(|(id, _)| json!({ "id": id.as_str(), "object": "model", "created": 0, "owned_by": "insula" }))
        .collect();
    Ok(Json(json!({ "object": "list", "data": data })))
}
