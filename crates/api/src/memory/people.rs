//! What people may ask in a conversation of their own: what is remembered here, and to have it
//! forgotten.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::{Id, ready};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use insula_capabilities::memory::{AskError, Asking, Forgot, Remembered};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A conversation of one's own.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Own {
    session: String,
}

/// What to forget in a conversation of one's own.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OwnForgetting {
    session: String,
    /// The number of an entry, words that only it has, or `all`.
    what: String,
}

/// One entry, for the people of its conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntryView {
    number: usize,
    /// `memory`, `user`, or the day of a daily note.
    target: String,
    text: String,
    blocked: bool,
}

/// What is remembered in a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct RememberedHere {
    /// Whether the agent remembers at all.
    memory: bool,
    entries: Vec<EntryView>,
    /// How many entries more there are that were said in other conversations.
    held_back: usize,
}

/// What became of a request to forget.
#[derive(Debug, Serialize, ToSchema)]
pub struct ForgotHere {
    memory: bool,
    forgotten: usize,
    /// Whether a file that may still have the words could not be cleaned yet.
    unfinished: bool,
    /// What matches, where it is not clear which one is meant.
    unclear: Vec<String>,
}

impl From<AskError> for ApiError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Memory(error) => error.into(),
            closed @ (AskError::Denied(_) | AskError::Refused(_) | AskError::Apart) => {
                Self::new(StatusCode::CONFLICT, "memory_closed", closed.to_string())
            }
        }
    }
}

/// What is remembered in a conversation of one's own.
#[utoipa::path(post, path = "/api/agents/{id}/remembered", params(("id" = String, Path)), request_body = Own,
    responses((status = 200, body = RememberedHere), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn remembered(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<Own>, JsonRejection>,
) -> Result<Json<RememberedHere>, ApiError> {
    let agent = ready(&api, &id)?;
    let Json(Own { session }) = body?;
    let wrong = |error: insula_domain::IdError| ApiError::invalid(error.to_string());
    let address = caller.address(session).map_err(wrong)?;
    let asking = Asking {
        agent: &agent,
        session: &agent.session_key(&address),
        at: &agent.scope(&address),
        principal: &caller.actor(),
    };
    let (lists, held_back) = match api.capabilities.remembered(&asking).await? {
        Remembered::Off => {
            let entries = Vec::new();
            return Ok(Json(RememberedHere { memory: false, entries, held_back: 0 }));
        }
        Remembered::Lists { lists, held_back } => (lists, held_back),
    };
    let known = api.secrets.known();
    let all = lists.into_iter().flat_map(|list| list.fragments);
    let entries = all.enumerate().map(|(at, fragment)| EntryView {
        number: at + 1,
        target: fragment.target.name(),
        text: known.told(&agent.id, fragment.text),
        blocked: fragment.blocked.is_some(),
    });
    Ok(Json(RememberedHere { memory: true, entries: entries.collect(), held_back }))
}

/// Forgets something in a conversation of one's own.
#[utoipa::path(post, path = "/api/agents/{id}/forget", params(("id" = String, Path)), request_body = OwnForgetting,
    responses((status = 200, body = ForgotHere), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn forget_here(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
    body: Result<Json<OwnForgetting>, JsonRejection>,
) -> Result<Json<ForgotHere>, ApiError> {
    let agent = ready(&api, &id)?;
    let Json(OwnForgetting { session, what }) = body?;
    let wrong = |error: insula_domain::IdError| ApiError::invalid(error.to_string());
    let address = caller.address(session).map_err(wrong)?;
    let asking = Asking {
        agent: &agent,
        session: &agent.session_key(&address),
        at: &agent.scope(&address),
        principal: &caller.actor(),
    };
    let mut told =
        ForgotHere { memory: true, forgotten: 0, unfinished: false, unclear: Vec::new() };
    match api.capabilities.forget_here(&asking, &what).await? {
        Forgot::Off => told.memory = false,
        Forgot::Entries(forgotten) => told.forgotten = forgotten,
        Forgot::Partly(forgotten) => {
            told.forgotten = forgotten;
            told.unfinished = true;
        }
        Forgot::Unclear(unclear) => told.unclear = unclear,
    }
    Ok(Json(told))
}
