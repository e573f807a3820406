//! Pairing over HTTP: who asks to be let in, who was, and letting people in and out.

use crate::Api;
use crate::caller::Caller;
use crate::each::{ask_each, serving};
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, kept};
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use insula_domain::{AgentId, Platform};
use insula_registry::AgentContext;
use insula_registry::access::PairError;
use insula_store::{JoinedChat, Pairing, PairingRequest, PlatformUser};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// Somebody who asks to be let in, or was; or a chat that the agent was added to.
#[derive(Debug, Serialize, ToSchema)]
pub struct PairingView {
    agent: String,
    /// `waiting`, `paired`, `joined` (a chat that somebody added the agent to, where everybody
    /// may talk) or `closed` (such a chat, where whoever did it may no longer).
    state: &'static str,
    /// Who, such as `telegram:12345`, or which chat, such as `telegram:chat:-100`.
    who: String,
    /// The account of ours that they talk to.
    account: String,
    /// What they call themselves.
    name: String,
    /// When they asked, or were let in.
    at: String,
    /// Until when their code is good.
    expires_at: Option<String>,
    /// Who let them in.
    by: Option<String>,
}

fn who(user: &PlatformUser) -> String {
    format!("{}:{}", user.platform, user.user)
}

impl PairingView {
    fn asks(agent: &AgentId, request: PairingRequest) -> Self {
        Self {
            agent: agent.to_string(),
            state: "waiting",
            who: who(&request.who),
            account: request.who.account.into(),
            name: request.name,
            at: request.asked_at.to_string(),
            expires_at: Some(request.expires_at.to_string()),
            by: None,
        }
    }

    fn paired(agent: &AgentId, pairing: Pairing) -> Self {
        Self {
            agent: agent.to_string(),
            state: "paired",
            who: who(&pairing.who),
            account: pairing.who.account.into(),
            name: pairing.name,
            at: pairing.at.to_string(),
            expires_at: None,
            by: Some(pairing.by.to_string()),
        }
    }

    fn joined(agent: &AgentId, (chat, is_open): (JoinedChat, bool)) -> Self {
        Self {
            agent: agent.to_string(),
            state: if is_open { "joined" } else { "closed" },
            who: format!("{}:chat:{}", chat.platform, chat.chat),
            account: chat.account.into(),
            name: String::new(),
            at: chat.at.to_string(),
            expires_at: None,
            by: Some(chat.by.to_string()),
        }
    }
}

/// A code that somebody was given, or who is meant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The code, or who asks, such as `telegram:12345`.
    code: String,
    /// The platform it was given on; without one, any.
    platform: Option<String>,
}

impl From<PairError> for ApiError {
    fn from(error: PairError) -> Self {
        let (status, code) = match &error {
            PairError::NotAdmin(_) => (StatusCode::FORBIDDEN, "forbidden"),
            PairError::NoSuchCode => (StatusCode::NOT_FOUND, "no_such_code"),
            PairError::NotAsking(_) => (StatusCode::NOT_FOUND, "not_asking"),
            PairError::NotPaired(_) => (StatusCode::NOT_FOUND, "not_paired"),
            PairError::Locked(_) => (StatusCode::TOO_MANY_REQUESTS, "locked"),
            PairError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "store"),
        };
        Self::new(status, code, error.to_string())
    }
}

async fn of_agent(api: &Api, agent: &AgentContext) -> Result<Vec<PairingView>, ApiError> {
    let (requests, pairings) = api.access.pairing_list(agent).await?;
    let asks = requests.into_iter().map(|it| PairingView::asks(&agent.id, it));
    let paired = pairings.into_iter().map(|it| PairingView::paired(&agent.id, it));
    let joined = api.access.joined_list(agent).await?;
    let joined = joined.into_iter().map(|it| PairingView::joined(&agent.id, it));
    Ok(asks.chain(paired).chain(joined).collect())
}

/// Who asks to be let in at one agent and who was, without any code, and the chats it was added
/// to.
#[utoipa::path(get, path = "/api/agents/{id}/pairing", params(("id" = String, Path)),
    responses((status = 200, body = [PairingView]), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn list(State(api): State<Api>, Id(id): Id) -> Result<Json<Vec<PairingView>>, ApiError> {
    let agent = kept(&api, &id)?;
    Ok(Json(of_agent(&api, &agent).await?))
}

/// Who asks to be let in at any agent and who was.
#[utoipa::path(get, path = "/api/pairing", responses((status = 200, body = [PairingView])), security(("token" = [])))]
pub async fn list_all(State(api): State<Api>) -> Result<Json<Vec<PairingView>>, ApiError> {
    let of_each = async |agent: Arc<AgentContext>| of_agent(&api, &agent).await;
    let all = ask_each(serving(&api.registry), of_each).await?;
    Ok(Json(all.into_iter().flatten().collect()))
}

/// Lets in whoever was given this code.
#[utoipa::path(post, path = "/api/agents/{id}/pairing", params(("id" = String, Path)), request_body = Approve,
    responses((status = 200, body = PairingView), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 429, body = ErrorBody)),
    security(("token" = [])))]
pub async fn approve(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Approve>, JsonRejection>,
) -> Result<Json<PairingView>, ApiError> {
    let agent = kept(&api, &id)?;
    let Json(Approve { code, platform }) = body?;
    let platform = platform.map(|name| Platform::new(&name)).transpose();
    let platform = platform.map_err(|error| ApiError::invalid(error.to_string()))?;
    let actor = caller.actor();
    let done = api.access.approve_pairing(&agent, &code, platform, &actor).await?;
    let at = api.world.clock.now();
    let by = actor.to_string().into();
    let pairing = Pairing { who: done.who, name: done.name, by, at };
    Ok(Json(PairingView::paired(&agent.id, pairing)))
}

/// Lets somebody in no longer and drops what they asked, or closes a chat that the agent was
/// added to.
#[utoipa::path(delete, path = "/api/agents/{id}/pairing/{who}",
    params(("id" = String, Path), ("who" = String, Path)),
    responses((status = 204), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)),
    security(("token" = [])))]
pub async fn revoke(
    State(api): State<Api>,
    caller: Caller,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<StatusCode, ApiError> {
    let Path((id, who)) = path.map_err(|_| ApiError::no_agent("\u{fffd}"))?;
    let agent = kept(&api, &id)?;
    api.access.revoke_pairing(&agent, &who, &caller.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}
