//! What is under way at this moment, at all agents that whoever asks may read; following it and
//! stopping it.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::id::kept;
use crate::messages::{Stopped, streamed};
use crate::numbers::{Number, Numbers};
use crate::refusal::not_found;
use axum::Json;
use axum::extract::{OriginalUri, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use insula_domain::SessionKey;
use insula_registry::AgentContext;
use insula_registry::tokens::Verb;
use insula_store::{About, SessionId, SessionRef, SessionState, TurnId};
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

/// A turn that is under way, or waits to begin.
#[derive(Debug, Serialize, ToSchema)]
pub struct UnderWayView {
    agent: String,
    #[schema(value_type = Object)]
    turn: Number,
    /// The key of its conversation.
    session: String,
    principal: String,
    /// `waiting` or `running`.
    state: &'static str,
    accepted: Option<String>,
}

/// Every turn that is under way or waits, of all agents that the caller may read.
#[utoipa::path(get, path = "/api/now", responses((status = 200, body = [UnderWayView]), (status = 401, body = ErrorBody)), security(("token" = [])))]
pub async fn now(
    State(api): State<Api>,
    caller: Caller,
    original: OriginalUri,
) -> Result<Response, ApiError> {
    if let Caller::Token(token) = &caller
        && token.scope().is_some()
    {
        return Ok(not_found(original).await);
    }
    let mut told = Vec::new();
    let all = api.engine.as_ref().map(|engine| engine.all_under_way()).unwrap_or_default();
    for it in all {
        if !caller.may(&it.session.agent, Verb::Read) {
            continue;
        }
        let store = api.store.agent(&it.session.agent);
        let turn = store.in_passing(store.turn(it.turn)).await?;
        told.push(UnderWayView {
            agent: it.session.agent.to_string(),
            turn: Numbers::of(&caller, &store).turn(it.turn),
            session: it.session.to_string(),
            principal: it.principal.to_string(),
            state: if it.has_begun { "running" } else { "waiting" },
            accepted: turn.map(|turn| turn.accepted_at.to_string()),
        });
    }
    told.sort_by(|a, b| (&a.agent, &a.accepted).cmp(&(&b.agent, &b.accepted)));
    Ok(Json(told).into_response())
}

/// What happens in one turn, from its beginning to its end.
#[utoipa::path(get, path = "/api/agents/{id}/turns/{turn}/events", params(("id" = String, Path), ("turn" = String, Path)),
    responses((status = 200, body = String, content_type = "text/event-stream"), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn follow(
    State(api): State<Api>,
    caller: Caller,
    Path((id, asked)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    let agent = kept(&api, &id)?;
    let engine = api.engine.as_ref().ok_or_else(ApiError::no_daemon)?;
    let (turn, _, key) = find(&caller, &agent, &asked).await?;
    let handle = match engine.listen(&key, turn) {
        Some(handle) => handle,
        None => engine.ended(&agent, turn).await?.ok_or_else(|| no_turn(&asked))?,
    };
    Ok(streamed(&api, (&caller, Verb::Read), &agent, &key, handle))
}

fn no_turn(asked: &str) -> ApiError {
    let message = format!("there is no turn {}", asked.escape_debug());
    ApiError::new(StatusCode::NOT_FOUND, "no_such_turn", message)
}

/// A turn of an agent, and the conversation it is of.
async fn find(
    caller: &Caller,
    agent: &AgentContext,
    asked: &str,
) -> Result<(TurnId, SessionId, SessionKey), ApiError> {
    let missing = || no_turn(asked);
    let turn = Numbers::of(caller, &agent.store).read_turn(asked).ok_or_else(missing)?;
    let found = agent.store.turn(turn).await?.ok_or_else(missing)?;
    let session = agent.store.session(SessionRef::Id(found.session)).await?;
    let session = session.filter(|it| it.state != SessionState::Forgotten).ok_or_else(missing)?;
    let key = session.key.parse().map_err(|_| missing())?;
    Ok((turn, session.id, key))
}

/// Stops one turn, whoever began it.
#[utoipa::path(post, path = "/api/agents/{id}/turns/{turn}/stop", params(("id" = String, Path), ("turn" = String, Path)),
    responses((status = 200, body = Stopped), (status = 404, body = ErrorBody)), security(("token" = [])))]
pub async fn stop(
    State(api): State<Api>,
    caller: Caller,
    Path((id, asked)): Path<(String, String)>,
) -> Result<Json<Stopped>, ApiError> {
    let agent = kept(&api, &id)?;
    let engine = api.engine.as_ref().ok_or_else(ApiError::no_daemon)?;
    let (turn, session, key) = find(&caller, &agent, &asked).await?;
    let stopped = engine.stop_turn(&key, turn);
    if stopped {
        let (actor, content) = (caller.actor(), json!({ "turn": turn.0 }));
        agent.audit.append(About::Session(session), &actor, "turn.stopped", content).await?;
    }
    Ok(Json(Stopped { stopped: usize::from(stopped) }))
}
