//! The OpenAI-compatible API: the agent is the `model`, the session is a header.

mod chat;
mod error;
mod ids;
mod picture;
mod request;
mod responses;
mod sent;
mod turn;

pub use chat::{__path_completions, completions};
pub use error::OpenAiError;
pub use responses::{__path_respond, __path_response, respond, response};

use crate::Surface;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::id::Id;
use crate::places::Seat;
use axum::Json;
use axum::extract::{FromRequestParts, State as With};
use axum::http::request::Parts;
use insula_domain::AgentId;
use insula_registry::tokens::Verb;
use insula_registry::{AgentContext, State};
use serde_json::{Value, json};
use std::sync::Arc;

/// Who asks, and by which connection.
pub struct Bearer(pub Caller, pub Option<Seat>);

impl FromRequestParts<Surface> for Bearer {
    type Rejection = OpenAiError;

    async fn from_request_parts(parts: &mut Parts, surface: &Surface) -> Result<Self, OpenAiError> {
        let seat = parts.extensions.get::<Seat>().cloned();
        Ok(Self(Caller::of(surface, &parts.headers)?, seat))
    }
}

/// The agent a request names. One that is not there, does not serve or is somebody else's:
/// the same answer.
fn agent(
    surface: &Surface,
    (caller, seat): (&Caller, Option<&Seat>),
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
        State::Ready(context) => {
            seat.map_or(Ok(()), |seat| seat.about(&id)).map_err(|why| ApiError::from(&why))?;
            Ok(context.clone())
        }
        _ => Err(missing()),
    }
}

/// The agents this token may talk to.
#[utoipa::path(get, path = "/v1/models", responses((status = 200, body = Object)), security(("token" = [])))]
pub async fn models(With(surface): With<Surface>, Bearer(caller, _): Bearer) -> Json<Value> {
    let snapshot = surface.house.snapshot();
    let serving = snapshot
        .agents
        .iter()
        .filter(|(id, entry)| caller.may(id, Verb::Chat) && matches!(entry.state, State::Ready(_)));
    let data: Vec<Value> = serving.map(|(id, _)| described(id)).collect();
    Json(json!({ "object": "list", "data": data }))
}

/// One agent, if this token may talk to it.
#[utoipa::path(get, path = "/v1/models/{id}", params(("id" = String, Path)),
    responses((status = 200, body = Object), (status = 404, body = Object)), security(("token" = [])))]
pub async fn model(
    With(surface): With<Surface>,
    Bearer(caller, seat): Bearer,
    id: Result<Id, ApiError>,
) -> Result<Json<Value>, OpenAiError> {
    let Id(id) = id.map_err(|_| OpenAiError::no_model("\u{fffd}"))?;
    Ok(Json(described(&agent(&surface, (&caller, seat.as_ref()), &id)?.id)))
}

fn described(id: &AgentId) -> Value {
    json!({ "id": id.as_str(), "object": "model", "created": 0, "owned_by": "insula" })
}
