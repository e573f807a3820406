//! `POST /v1/chat/completions`: a turn, streamed or not.

use super::chat_stream::streamed;
use super::completion::{About, counted, finish, tool_call};
use super::error::OpenAiError;
use super::item::Told;
use super::request::ChatRequest;
use super::sent::Sent;
use super::turn::{Asking, Chat, Reply, TurnInput};
use super::{Asker, agent, ids, wishes};
use crate::Api;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

/// A turn of the agent that `model` names.
#[utoipa::path(post, path = "/v1/chat/completions", request_body = Object,
    responses((status = 200, body = Object), (status = 404, body = Object)), security(("token" = [])))]
pub async fn completions(
    State(api): State<Api>,
    asker: Asker,
    headers: HeaderMap,
    body: Result<Sent<ChatRequest>, OpenAiError>,
) -> Result<Response, OpenAiError> {
    let Sent { request, body } = body?;
    let agent = agent(&api, &asker, &request.model)?;
    let asking = Asking::of(asker.0, &headers, "chat/completions")?;
    request.check()?;
    let usage_asked = request.stream_options.as_ref().is_some_and(|it| it.include_usage);
    let wishes = wishes(&api, &agent, &request.tools, request.stop()?, request.format()?)?;
    let items = request.items()?;
    // A session has its own history: of what the request repeats, only the end is new.
    let (chat, told) = match asking.session {
        Some(name) => (Chat::Named(name.to_owned()), Told::Again(items)),
        None => (Chat::Once(agent.one_off_name(&api.world)), Told::Whole(items)),
    };
    let input = TurnInput { chat, told, list: "messages", wishes, body };
    let mut listening = asking.begin(&api, &agent, input).await?;
    let about = About {
        sealed: ids::seal(&asking.caller, &agent.id, listening.turn),
        model: request.model,
        created: seconds(&api),
    };
    if request.stream {
        return Ok(streamed(&api, listening, about, usage_asked));
    }
    let Reply { text, usage, cut, calls } = listening.reply().await?;
    let mut message = json!({ "role": "assistant", "content": text, "refusal": null });
    if !calls.is_empty() {
        message["content"] = content(&text);
        let shown = calls.iter().enumerate();
        message["tool_calls"] = shown.map(|(at, call)| tool_call(&about, at, call)).collect();
    }
    let finish_reason = finish(cut, &calls);
    let body = json!({
        "id": about.id(),
        "object": "chat.completion",
        "created": about.created,
        "model": about.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason }],
        "usage": counted(&usage),
    });
    Ok(Json(body).into_response())
}

/// The time, as OpenAI's answers give it.
pub fn seconds(api: &Api) -> i64 {
    api.world.clock.now().as_millis() / 1_000
}

/// What is said beside calls, where anything is.
fn content(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { text.into() }
}
