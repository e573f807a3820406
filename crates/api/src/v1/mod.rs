//! The OpenAI-compatible API: the agent is the `model`, the session is a header.

mod assemble;
mod chat;
mod chat_stream;
mod completion;
mod error;
mod file;
mod form;
mod ids;
mod item;
mod journal;
mod part;
mod picture;
mod refused;
mod request;
mod responses;
mod sent;
mod tool;
mod turn;

pub use chat::{__path_completions, completions};
pub use error::OpenAiError;
pub use responses::{__path_forget, __path_respond, __path_response, forget, respond, response};
pub use turn::brought_along;

use crate::Api;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::front::RequestSlot;
use crate::id::Id;
use axum::Json;
use axum::extract::{FromRequestParts, State as With};
use axum::http::request::Parts;
use insula_domain::AgentId;
use insula_registry::tokens::Verb;
use insula_registry::{AgentContext, AgentState};
use insula_turns::{AnswerFormat, Wishes};
use serde_json::{Value, json};
use std::sync::Arc;

/// Who asks, and the place that takes up.
pub struct Asker(pub Caller, pub RequestSlot);

impl FromRequestParts<Api> for Asker {
    type Rejection = OpenAiError;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, OpenAiError> {
        let caller = Caller::of(parts)?;
        let Ok(place) = RequestSlot::from_request_parts(parts, api).await;
        Ok(Self(caller, place))
    }
}

/// The agent a request names. One that is not there, does not serve or is somebody else's:
/// the same answer.
fn agent(
    api: &Api,
    Asker(caller, place): &Asker,
    model: &str,
) -> Result<Arc<AgentContext>, OpenAiError> {
    let missing = || OpenAiError::no_model(model);
    let id = AgentId::new(model).map_err(|_| missing())?;
    if !caller.may(&id, Verb::Chat) {
        return Err(missing());
    }
    let snapshot = api.registry.snapshot();
    let entry = snapshot.agents.get(&id).ok_or_else(missing)?;
    match &entry.state {
        AgentState::Ready(context) => {
            place.about(&id)?;
            Ok(context.clone())
        }
        _ => Err(missing()),
    }
}

/// What a request asks beside what it says.
fn wishes(
    api: &Api,
    agent: &AgentContext,
    tools: &tool::ToolRequest,
    stop: Vec<String>,
    format: Option<AnswerFormat>,
) -> Result<Wishes, OpenAiError> {
    if !tools.is_empty() && !api.registry.snapshot().daemon.api.client_tools {
        let message = "tools of clients are not taken here: `api.client_tools` is false";
        return Err(OpenAiError::invalid_at("tools", message));
    }
    let engine = api.engine.as_ref().ok_or_else(OpenAiError::no_daemon)?;
    let tool::Brought { tools, choice, calls } = tools.read(|name| engine.has_tool(agent, name))?;
    Ok(Wishes { tools: tools.into(), choice, calls, stop, format })
}

/// The agents this token may talk to.
#[utoipa::path(get, path = "/v1/models", responses((status = 200, body = Object)), security(("token" = [])))]
pub async fn models(With(api): With<Api>, Asker(caller, _): Asker) -> Json<Value> {
    let snapshot = api.registry.snapshot();
    let own = caller.own(&snapshot.agents, Verb::Chat);
    let serving = own.filter(|(_, entry)| matches!(entry.state, AgentState::Ready(_)));
    let data: Vec<Value> = serving.map(|(id, _)| described(id)).collect();
    Json(json!({ "object": "list", "data": data }))
}

/// One agent, if this token may talk to it.
#[utoipa::path(get, path = "/v1/models/{id}", params(("id" = String, Path)),
    responses((status = 200, body = Object), (status = 404, body = Object)), security(("token" = [])))]
pub async fn model(
    With(api): With<Api>,
    asker: Asker,
    id: Result<Id, ApiError>,
) -> Result<Json<Value>, OpenAiError> {
    let Id(id) = id.map_err(|_| OpenAiError::no_model("\u{fffd}"))?;
    Ok(Json(described(&agent(&api, &asker, &id)?.id)))
}

fn described(id: &AgentId) -> Value {
    json!({ "id": id.as_str(), "object": "model", "created": 0, "owned_by": "insula" })
}
