//! `POST /v1/chat/completions`: a turn, streamed or not.

use super::error::OpenAiError;
use super::request::ChatRequest;
use super::sent::Sent;
use super::turn::{Asking, Chat, Listening, TurnInput, TurnUpdate};
use super::{Asker, agent, ids};
use crate::Api;
use crate::error::ApiError;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use insula_store::{Cut, Usage};
use insula_turns::{TurnEnd, TurnEvent};
use serde_json::{Value, json};
use std::convert::Infallible;

/// A turn of the agent that `model` names.
#[utoipa::path(post, path = "/v1/chat/completions", request_body = Object,
    responses((status = 200, body = Object), (status = 404, body = Object)), security(("token" = [])))]
pub async fn completions(
    State(api): State<Api>,
    asker: Asker,
    headers: HeaderMap,
    body: Result<Sent<ChatRequest>, JsonRejection>,
) -> Result<Response, OpenAiError> {
    let Sent { request, body } = body.map_err(ApiError::from)?;
    let agent = agent(&api, &asker, &request.model)?;
    let asking = Asking::of(asker.0, &headers, "chat/completions")?;
    let (model, stream) = (request.model.clone(), request.stream);
    let usage_asked = request.stream_options.as_ref().is_some_and(|it| it.include_usage);
    let (history, parts) = request.said()?;
    // A session has its own history: of what the request repeats, only the end is new.
    let (chat, history) = match asking.session {
        Some(name) => (Chat::Named(name.to_owned()), Vec::new()),
        None => (Chat::Once(agent.one_off_name(&api.world)), history),
    };
    let mut listening =
        asking.begin(&api, &agent, TurnInput { chat, history, parts, body }).await?;
    let about = About {
        id: format!("chatcmpl-{}", ids::seal(&asking.caller, &agent.id, listening.turn)),
        model,
        created: seconds(&api),
    };
    if stream {
        return Ok(streamed(listening, about, usage_asked));
    }
    let (text, usage, cut) = listening.reply().await?;
    let message = json!({ "role": "assistant", "content": text, "refusal": null });
    let body = json!({
        "id": about.id,
        "object": "chat.completion",
        "created": about.created,
        "model": about.model,
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": finish(cut) }],
        "usage": counted(&usage),
    });
    Ok(Json(body).into_response())
}

struct About {
    id: String,
    model: String,
    created: i64,
}

/// The time, as OpenAI's answers give it.
pub fn seconds(api: &Api) -> i64 {
    api.world.clock.now().as_millis() / 1_000
}

/// Why a reply ends, in OpenAI's words.
fn finish(cut: Option<Cut>) -> &'static str {
    match cut {
        None => "stop",
        Some(Cut::Length) => "length",
        Some(Cut::Filtered) => "content_filter",
    }
}

fn counted(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cached },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning },
    })
}

/// Events for a client, as they come.
pub fn event_stream(
    events: impl futures_util::Stream<Item = Result<String, Infallible>> + Send + 'static,
) -> Response {
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(events)).into_response()
}

/// The reply as it comes. Whoever goes away misses the rest; the turn goes on.
fn streamed(listening: Listening, about: About, usage_asked: bool) -> Response {
    let sent = Streamed { about, usage_asked, text: String::new(), gap: false, ended: false };
    event_stream(futures_util::stream::unfold(
        (listening, sent),
        async move |(mut listening, mut sent)| {
            while !sent.ended {
                let text = sent.on(listening.next().await);
                if !text.is_empty() {
                    return Some((Ok(text), (listening, sent)));
                }
            }
            None
        },
    ))
}

/// What a client was sent.
struct Streamed {
    about: About,
    usage_asked: bool,
    /// The text since the last tool call.
    text: String,
    /// Whether what comes next stands apart from what came before.
    gap: bool,
    ended: bool,
}

impl Streamed {
    /// What to send for what was heard.
    fn on(&mut self, heard: TurnUpdate) -> String {
        match heard {
            TurnUpdate::Event(TurnEvent::Text(delta)) => self.more(&delta),
            TurnUpdate::Event(TurnEvent::ToolCall { .. } | TurnEvent::Void) => {
                // What the model said before a call, or before more was asked, is no part of
                // its reply.
                self.gap |= !std::mem::take(&mut self.text).is_empty();
                String::new()
            }
            TurnUpdate::Event(
                event @ (TurnEvent::Approval { .. } | TurnEvent::ApprovalDone { .. }),
            ) => self.waits(&event),
            TurnUpdate::Event(TurnEvent::Ended(end)) => self.end(end),
            TurnUpdate::Event(_) => String::new(),
            TurnUpdate::Lost => self.error(&OpenAiError::revoked()),
            TurnUpdate::Nothing => {
                self.error(&OpenAiError::failed("the turn ended without a word"))
            }
        }
    }

    fn more(&mut self, delta: &str) -> String {
        self.text.push_str(delta);
        let apart = if std::mem::take(&mut self.gap) { "\n\n" } else { "" };
        self.chunk(json!({ "role": "assistant", "content": format!("{apart}{delta}") }), None)
    }

    /// A chunk without words, for clients that look at more than words: the turn waits for an
    /// approval, or no longer does.
    fn waits(&self, event: &TurnEvent) -> String {
        let (kind, mut data) = event.described();
        data["event"] = kind.into();
        let choice = json!({ "index": 0, "delta": {}, "logprobs": null, "finish_reason": null });
        self.event_with(json!([choice]), Value::Null, Some(data))
    }

    fn chunk(&self, delta: Value, finish: Option<&str>) -> String {
        let choice =
            json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        self.event(json!([choice]), Value::Null)
    }

    fn event(&self, choices: Value, usage: Value) -> String {
        self.event_with(choices, usage, None)
    }

    fn event_with(&self, choices: Value, usage: Value, insula: Option<Value>) -> String {
        let About { id, model, created } = &self.about;
        let mut body = json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
            "choices": choices,
        });
        if self.usage_asked {
            body["usage"] = usage;
        }
        if let Some(insula) = insula {
            body["insula"] = insula;
        }
        format!("data: {body}\n\n")
    }

    /// An error ends a stream without `[DONE]`: what came before it is not a whole reply.
    fn error(&mut self, error: &OpenAiError) -> String {
        self.ended = true;
        format!("data: {}\n\n", error.body())
    }

    fn end(&mut self, end: TurnEnd) -> String {
        self.ended = true;
        let mut text = String::new();
        match end {
            TurnEnd::Replied { text: reply, usage, cut } => {
                // Deltas are provisional: what was missed, or came from a tool, follows now.
                let rest = reply.strip_prefix(self.text.as_str()).unwrap_or(&reply).to_owned();
                if !rest.is_empty() {
                    self.gap |= !self.text.is_empty() && rest == reply;
                    text += &self.more(&rest);
                }
                text += &self.chunk(json!({}), Some(finish(cut)));
                if self.usage_asked {
                    text += &self.event(json!([]), counted(&usage));
                }
            }
            TurnEnd::Failed { error } => return self.error(&OpenAiError::failed(error)),
            TurnEnd::OverBudget(over) => return self.error(&OpenAiError::over_budget(over)),
            TurnEnd::Stopped => text += &self.chunk(json!({}), Some("stop")),
        }
        text + "data: [DONE]\n\n"
    }
}
