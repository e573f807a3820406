//! An editor as a way to talk to an agent: what its conversations can have, and what it answers
//! when a turn asks it for a file. What is said in them goes by `messages`, under terms.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, ready};
use crate::messages::Asked;
use crate::terms::AskedFolder;
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use insula_registry::tokens::Verb;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A conversation that an editor wants to hold.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The folder it works in.
    folder: AskedFolder,
}

/// What it would be.
#[derive(Debug, Serialize, ToSchema)]
pub struct Offered {
    agent: String,
    /// What the agent is called.
    name: String,
    /// What may be done in the folder: `rw` or `ro`.
    mode: &'static str,
    /// Whether whoever asks may answer what needs an approval.
    may_approve: bool,
    /// Whether whoever asks may see what tools bring, and so be asked for files.
    may_read: bool,
    /// The models it can run on, the usual one first.
    models: Vec<String>,
}

/// What an editor answers to a turn.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// The caller's name for the conversation.
    session: String,
    /// What was asked, by its name in the event.
    request: String,
    /// What it has open.
    text: Option<String>,
    /// Why it did not.
    error: Option<String>,
}

/// Says whether an editor could hold a conversation with an agent in a folder, and how.
#[utoipa::path(post, path = "/api/agents/{id}/editor", params(("id" = String, Path)), request_body = Wanted,
    responses((status = 200, body = Offered), (status = 400, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn open(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Wanted>, JsonRejection>,
) -> Result<Json<Offered>, ApiError> {
    let agent = ready(&api, &id)?;
    let Json(wanted) = body?;
    let (_, mode, _) = wanted.folder.granted(&caller, &agent)?;
    let address = caller.address("editor".to_owned());
    let address = address.map_err(|error| ApiError::invalid(error.to_string()))?;
    let served = api.access.through(&agent, &address);
    let served = served.map_err(|why| ApiError::new(StatusCode::CONFLICT, "wrong_state", why))?;
    Ok(Json(Offered {
        agent: agent.id.to_string(),
        name: agent.identity.name.to_string(),
        mode: mode.as_str(),
        may_approve: caller.may(&agent.id, Verb::Approve),
        may_read: caller.may(&agent.id, Verb::Read),
        models: served.models.models.iter().map(ToString::to_string).collect(),
    }))
}

/// Takes what an editor answers to a turn of its own conversation.
#[utoipa::path(post, path = "/api/agents/{id}/editor/answer", params(("id" = String, Path)), request_body = Answered,
    responses((status = 204), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn answer(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Answered>, JsonRejection>,
) -> Result<StatusCode, ApiError> {
    let agent = ready(&api, &id)?;
    let Json(Answered { session, request, text, error }) = body?;
    // By whoever asks here: nobody names a conversation of another's.
    let asked = Asked::of(&api, caller, agent, session)?;
    let answer = error.map_or(Ok(text), Err);
    match asked.engine.editor_answers(asked.key(), &request, answer) {
        true => Ok(StatusCode::NO_CONTENT),
        false => {
            let message = "no turn of this conversation waits for that answer";
            Err(ApiError::new(StatusCode::NOT_FOUND, "not_asked", message))
        }
    }
}
