//! The OpenAI-compatible API: the agent is the `model`, the session is a header.

mod chat;
mod error;
mod request;

pub use chat::{__path_completions, completions};

use crate::Surface;
use axum::Json;
use axum::extract::State as With;
use axum::http::{HeaderMap, header};
use error::OpenAiError;
use insula_domain::AgentId;
use insula_runtime::tokens::{Token, Verb};
use insula_runtime::{AgentContext, State};
use serde_json::{Value, json};
use std::sync::Arc;

/// Who asks.
#[derive(Clone)]
pub enum Caller {
    /// The local command line, admin of all.
    Local,
    /// The bearer of a token.
    Token(Arc<Token>),
}

impl Caller {
    fn of(surface: &Surface, headers: &HeaderMap) -> Result<Self, OpenAiError> {
        if surface.admin.is_shown(headers) {
            return Ok(Self::Local);
        }
        let shown = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        let token = shown.and_then(|text| surface.house.tokens.find(text));
        token.map(Self::Token).ok_or_else(OpenAiError::unauthorized)
    }

    fn may_chat(&self, agent: &AgentId) -> bool {
        match self {
            Self::Local => true,
            Self::Token(token) => token.allows(agent, Verb::Chat),
        }
    }

    /// The account its conversations belong to: two tokens never share one.
    fn account(&self) -> &str {
        match self {
            Self::Local => "local",
            Self::Token(token) => &token.id,
        }
    }

    /// How records name it.
    fn principal(&self) -> String {
        match self {
            Self::Local => "cli:local".to_owned(),
            Self::Token(token) => format!("api:{}", token.id),
        }
    }
}

/// The agent a request names. One that is not there, does not serve or is somebody else's:
/// the same answer.
fn agent(
    surface: &Surface,
    caller: &Caller,
    model: &str,
) -> Result<Arc<AgentContext>, OpenAiError> {
    let missing = || OpenAiError::no_model(model);
    let id = AgentId::new(model).map_err(|_| missing())?;
    if !caller.may_chat(&id) {
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
        .filter(|(id, entry)| caller.may_chat(id) && matches!(entry.state, State::Ready(_)));
    let data: Vec<Value> = serving
        .map(|(id, _)| json!({ "id": id.as_str(), "object": "model", "created": 0, "owned_by": "insula" }))
        .collect();
    Ok(Json(json!({ "object": "list", "data": data })))
}
