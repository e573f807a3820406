//! `POST /v1/chat/completions`: a turn, streamed or not.

use super::agent;
use super::error::OpenAiError;
use super::request::ChatRequest;
use crate::Surface;
use crate::auth::Caller;
use crate::error::ApiError;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use insula_domain::{AccountId, Address, Audience, ChatId, ChatType, Label, Platform, UserId};
use insula_runtime::turn::{Inbound, SubmitError, TurnEnd, TurnEvent, TurnHandle};
use insula_store::{IdempotencyKey, Usage};
use serde_json::{Value, json};
use std::convert::Infallible;

/// Names the session to continue; without it a request carries its own history.
const SESSION: &str = "x-insula-session";
/// Makes the same request the same turn.
const IDEMPOTENCY: &str = "idempotency-key";

/// A turn of the agent that `model` names.
#[utoipa::path(post, path = "/v1/chat/completions", request_body = Object,
    responses((status = 200, body = Object), (status = 404, body = Object)), security(("token" = [])))]
pub async fn completions(
    State(surface): State<Surface>,
    headers: HeaderMap,
    body: Result<Json<ChatRequest>, JsonRejection>,
) -> Result<Response, OpenAiError> {
    let caller = Caller::of(&surface, &headers)?;
    let Json(request) =
        body.map_err(|error| OpenAiError::invalid(ApiError::from(error).message()))?;
    let engine = surface.engine.clone().ok_or_else(OpenAiError::no_daemon)?;
    let context = agent(&surface, &caller, &request.model)?;
    let (model, stream) = (request.model.clone(), request.stream);
    let usage_asked = request.stream_options.as_ref().is_some_and(|it| it.include_usage);
    let said = request.said()?;
    let text =
        |name| headers.get(name).and_then(|value| value.to_str().ok()).filter(|it| !it.is_empty());
    let (chat, history) = match text(SESSION) {
        Some(name) => (name.to_owned(), Vec::new()),
        None => (context.one_off_name(&surface.house.world), said.history),
    };
    let address = address(&caller, chat)?;
    let handle = engine
        .submit(Inbound {
            session: context.session_key(&address),
            scope: context.scope(&address),
            label: Label::of(Audience::of(&address)),
            principal: caller.principal().into(),
            history,
            parts: said.last,
            idempotency: text(IDEMPOTENCY)
                .map(|key| IdempotencyKey { who: caller.account().into(), key: key.into() }),
            agent: context.clone(),
        })
        .await;
    let handle = match handle {
        // The same request is the same turn: its reply, if there is one by now.
        Err(SubmitError::Known { turn, status }) => engine
            .ended(&context, turn)
            .await
            .map_err(SubmitError::from)?
            .ok_or(SubmitError::Known { turn, status })?,
        other => other?,
    };
    let about = About {
        id: format!("chatcmpl-{}-{}", context.id, handle.turn),
        model,
        created: seconds(&surface),
    };
    if stream {
        return Ok(streamed(handle, about, usage_asked));
    }
    whole(handle, &about).await
}

fn address(caller: &Caller, chat: String) -> Result<Address, OpenAiError> {
    let wrong = |error: insula_domain::IdError| OpenAiError::invalid(error.to_string());
    Ok(Address {
        platform: if matches!(caller, Caller::Local) { Platform::CLI } else { Platform::API },
        account: AccountId::new(caller.account()).map_err(wrong)?,
        chat: ChatId::new(chat).map_err(wrong)?,
        chat_type: ChatType::Dm,
        topic: None,
        parent: None,
        community: None,
        user: Some(UserId::new(caller.account()).map_err(wrong)?),
        roles: Vec::new(),
    })
}

struct About {
    id: String,
    model: String,
    created: i64,
}

fn seconds(surface: &Surface) -> i64 {
    surface.house.world.clock.now().as_millis() / 1_000
}

async fn whole(mut handle: TurnHandle, about: &About) -> Result<Response, OpenAiError> {
    while let Some(event) = handle.events.recv().await {
        match event {
            TurnEvent::Ended(TurnEnd::Replied { text, usage }) => {
                let message = json!({ "role": "assistant", "content": text });
                let body = json!({
                    "id": about.id,
                    "object": "chat.completion",
                    "created": about.created,
                    "model": about.model,
                    "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
                    "usage": counted(&usage),
                });
                return Ok(Json(body).into_response());
            }
            TurnEvent::Ended(TurnEnd::Failed { error }) => return Err(OpenAiError::failed(error)),
            TurnEvent::Ended(TurnEnd::Stopped) => {
                return Err(OpenAiError::failed("the turn was stopped"));
            }
            _ => {}
        }
    }
    Err(OpenAiError::failed("the turn ended without a word"))
}

fn counted(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
    })
}

/// The reply as it comes. Whoever goes away misses the rest; the turn goes on.
fn streamed(handle: TurnHandle, about: About, usage_asked: bool) -> Response {
    let state = (handle, about, Sent::default());
    let events =
        futures_util::stream::unfold(state, move |(mut handle, about, mut sent)| async move {
            if sent.ended {
                return None;
            }
            let text = match handle.events.recv().await {
                Some(TurnEvent::Text(delta)) => {
                    sent.text.push_str(&delta);
                    chunk(&about, json!({ "role": "assistant", "content": delta }), None)
                }
                Some(TurnEvent::Ended(end)) => {
                    sent.ended = true;
                    ending(&about, end, &sent.text, usage_asked)
                }
                Some(_) => String::new(),
                None => {
                    sent.ended = true;
                    "data: [DONE]\n\n".to_owned()
                }
            };
            Some((Ok::<_, Infallible>(text), (handle, about, sent)))
        });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(events)).into_response()
}

#[derive(Default)]
struct Sent {
    text: String,
    ended: bool,
}

fn chunk(about: &About, delta: Value, finish: Option<&str>) -> String {
    let body = json!({
        "id": about.id,
        "object": "chat.completion.chunk",
        "created": about.created,
        "model": about.model,
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    });
    format!("data: {body}\n\n")
}

fn ending(about: &About, end: TurnEnd, sent: &str, usage_asked: bool) -> String {
    let mut text = String::new();
    match end {
        TurnEnd::Replied { text: reply, usage } => {
            // Deltas are provisional: what was missed, or came from a tool, follows now.
            if let Some(rest) = reply.strip_prefix(sent).filter(|rest| !rest.is_empty()) {
                text += &chunk(about, json!({ "role": "assistant", "content": rest }), None);
            }
            text += &chunk(about, json!({}), Some("stop"));
            if usage_asked {
                let body = json!({
                    "id": about.id, "object": "chat.completion.chunk", "created": about.created,
                    "model": about.model, "choices": [], "usage": counted(&usage),
                });
                text += &format!("data: {body}\n\n");
            }
        }
        TurnEnd::Failed { error } => {
            let body = json!({ "error": { "message": error, "type": "api_error", "code": "turn_failed" } });
            text += &format!("data: {body}\n\n");
        }
        TurnEnd::Stopped => text += &chunk(about, json!({}), Some("stop")),
    }
    text + "data: [DONE]\n\n"
}
