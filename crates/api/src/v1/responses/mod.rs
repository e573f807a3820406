//! `/v1/responses`: a turn in the words of OpenAI's Responses API.

mod body;
mod request;
mod stream;

use super::chat::seconds;
use super::error::OpenAiError;
use super::item::Told;
use super::sent::Sent;
use super::turn::{Asking, Chat, Reply, TurnInput};
use super::{Asker, agent, ids, wishes};
use crate::Api;
use crate::caller::Caller;
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use body::{About, Item, Status};
use insula_domain::{AgentId, SessionKey};
use insula_registry::{AgentContext, AgentState as Standing};
use insula_store::{SessionRef, SessionState, StoreError, TurnId};
use insula_turns::{SubmitError, TurnEnd, TurnEvent, one_off};
use request::{ResponseRequest, SessionChoice};
use serde_json::json;
use std::sync::Arc;

/// What the name of a conversation begins with that a response began.
const KEPT: &str = "response-";
/// What the id of a response begins with.
const PREFIX: &str = "resp_";

/// A turn of the agent that `model` names.
#[utoipa::path(post, path = "/v1/responses", request_body = Object,
    responses((status = 200, body = Object), (status = 404, body = Object)), security(("token" = [])))]
pub async fn respond(
    State(api): State<Api>,
    asker: Asker,
    headers: HeaderMap,
    body: Result<Sent<ResponseRequest>, OpenAiError>,
) -> Result<Response, OpenAiError> {
    let Sent { request, body } = body?;
    let agent = agent(&api, &asker, &request.model)?;
    let asking = Asking::of(asker.0, &headers, "responses")?;
    request.check()?;
    let place = match (asking.session, &request.previous_response_id) {
        (Some(_), Some(_)) => {
            return Err(OpenAiError::invalid_at(
                "previous_response_id",
                "give `previous_response_id` or the header X-Insula-Session, not both",
            ));
        }
        (Some(name), None) => SessionChoice::Session(name.to_owned()),
        (None, Some(id)) => SessionChoice::Session(session_of(&asking.caller, &agent, id).await?),
        (None, None) => SessionChoice::New,
    };
    let once = agent.one_off_name(&api.world);
    let mut about = About::of(&request, seconds(&api));
    let wishes = wishes(&api, &agent, &request.tools, request.stop()?, request.format()?)?;
    let items = request.items()?;
    let (chat, told) = match place {
        SessionChoice::Session(chat) => (Chat::Named(chat), Told::New(items)),
        // Kept, so that it can be continued, under a name that nobody can guess.
        SessionChoice::New if request.is_stored() => {
            (Chat::Named(once.replacen(one_off::PREFIX, KEPT, 1)), Told::Whole(items))
        }
        SessionChoice::New => (Chat::Once(once), Told::Whole(items)),
    };
    let input = TurnInput { chat, told, list: "input", wishes, body };
    let mut listening = asking.begin(&api, &agent, input).await?;
    about.id = ids::seal(&asking.caller, &agent.id, listening.turn);
    if request.stream {
        return Ok(stream::streamed(&api, listening, about));
    }
    let Reply { text, usage, cut, calls } = listening.reply().await?;
    let output = Item::all(&about, text, cut, calls);
    Ok(Json(about.response(Status::Given { output: &output, usage: &usage, cut })).into_response())
}

/// A response that was given before.
#[utoipa::path(get, path = "/v1/responses/{id}", params(("id" = String, Path)),
    responses((status = 200, body = Object), (status = 404, body = Object)), security(("token" = [])))]
pub async fn response(
    State(api): State<Api>,
    Asker(caller, _): Asker,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, OpenAiError> {
    let Path(id) = id.map_err(|_| OpenAiError::no_response("\u{fffd}"))?;
    let missing = || OpenAiError::no_response(&id);
    let engine = api.engine.clone().ok_or_else(OpenAiError::no_daemon)?;
    let (agent, turn) = whose(&api, &caller, &id).ok_or_else(missing)?;
    kept(&agent, turn).await?.ok_or_else(missing)?;
    let created = agent.store.turn(turn).await.map_err(SubmitError::from)?;
    let created = created.ok_or_else(missing)?.accepted_at.as_millis() / 1_000;
    let about = About::again(&agent.id, created, &id[PREFIX.len()..]);
    let ended = engine.ended(&agent, turn).await.map_err(SubmitError::from)?;
    let end = match ended {
        Some(mut handle) => handle.events.recv().await,
        None => None,
    };
    let body = match end {
        Some(TurnEvent::Ended(TurnEnd::Replied { text, usage, cut, calls })) => {
            let output = Item::all(&about, text, cut, calls);
            about.response(Status::Given { output: &output, usage: &usage, cut })
        }
        Some(TurnEvent::Ended(TurnEnd::Failed { error })) => {
            about.response(Status::Failed { output: &[], error: &error })
        }
        Some(TurnEvent::Ended(TurnEnd::OverBudget(refusal))) => {
            about.response(Status::Failed { output: &[], error: &refusal.to_string() })
        }
        Some(TurnEvent::Ended(TurnEnd::Stopped)) => {
            about.response(Status::Failed { output: &[], error: "the turn was stopped" })
        }
        _ => about.response(Status::InProgress),
    };
    Ok(Json(body).into_response())
}

/// Erases a response, and with it the conversation it stands in.
#[utoipa::path(delete, path = "/v1/responses/{id}", params(("id" = String, Path)),
    responses((status = 200, body = Object), (status = 404, body = Object), (status = 409, body = Object)),
    security(("token" = [])))]
pub async fn forget(
    State(api): State<Api>,
    Asker(caller, _): Asker,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, OpenAiError> {
    let Path(id) = id.map_err(|_| OpenAiError::no_response("\u{fffd}"))?;
    let missing = || OpenAiError::no_response(&id);
    let failed = |error: StoreError| OpenAiError::from(SubmitError::from(error));
    let engine = api.engine.clone().ok_or_else(OpenAiError::no_daemon)?;
    let (agent, turn) = whose(&api, &caller, &id).ok_or_else(missing)?;
    let turn = agent.store.turn(turn).await.map_err(failed)?.ok_or_else(missing)?;
    let chat = kept(&agent, turn.id).await?.ok_or_else(missing)?;
    // A session that its caller named is more than a response, and goes on.
    if !chat.starts_with(KEPT) {
        return Err(OpenAiError::in_session(&id));
    }
    engine.forget(&agent, turn.session).await.map_err(failed)?;
    let content = json!({ "session": turn.session.0 });
    let whose = insula_store::About::Session(turn.session);
    let noted = agent.audit.append(whose, &caller.actor(), "session.forgotten", content).await;
    noted.map_err(failed)?;
    Ok(Json(json!({ "id": id, "object": "response", "deleted": true })).into_response())
}

/// The agent and the turn of an id of this caller's.
fn whose(api: &Api, caller: &Caller, id: &str) -> Option<(Arc<AgentContext>, TurnId)> {
    let sealed = id.strip_prefix(PREFIX)?;
    let snapshot = api.registry.snapshot();
    let found = |id: &AgentId| Some((id.clone(), ids::open(caller, id, sealed)?));
    let (id, turn) = match caller {
        Caller::Local => snapshot.agents.keys().find_map(found)?,
        Caller::Token(token) => token.agents.iter().find_map(found)?,
    };
    // What it may not talk to any longer, it may not read either.
    let allowed = caller.may(&id, insula_registry::tokens::Verb::Chat);
    match &snapshot.agents.get(&id).filter(|_| allowed)?.state {
        Standing::Ready(agent) => Some((agent.clone(), turn)),
        _ => None,
    }
}

/// The name of the session that a response of this caller's was given in.
async fn session_of(
    caller: &Caller,
    agent: &Arc<AgentContext>,
    id: &str,
) -> Result<String, OpenAiError> {
    let missing = || OpenAiError::no_response(id).at("previous_response_id");
    let sealed = id.strip_prefix(PREFIX).ok_or_else(missing)?;
    let turn = ids::open(caller, &agent.id, sealed).ok_or_else(missing)?;
    kept(agent, turn).await?.ok_or_else(missing)
}

/// The name of a turn's session, if that goes on. One for a single turn does not, whether that is
/// still under way, was just given, or waits to be asked for again by its key.
async fn kept(agent: &AgentContext, turn: TurnId) -> Result<Option<String>, OpenAiError> {
    let failed = |error: StoreError| OpenAiError::from(SubmitError::from(error));
    let Some(turn) = agent.store.turn(turn).await.map_err(failed)? else { return Ok(None) };
    let session = agent.store.session(SessionRef::Id(turn.session)).await.map_err(failed)?;
    let current = session.filter(|session| session.state == SessionState::Current);
    let key = current.and_then(|session| session.key.parse::<SessionKey>().ok());
    let chat = key.map(|key| key.chat.to_string());
    Ok(chat.filter(|chat| !chat.starts_with(one_off::PREFIX)))
}
