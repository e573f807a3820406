//! The events of an agent over HTTP: one form for all that happens, in one stream.

use crate::Api;
use crate::caller::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::front::Endless;
use crate::id::Id;
use crate::numbers::{Number, Numbers};
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use futures_util::stream;
use insula_domain::AgentId;
use insula_registry::events::AgentEvent;
use insula_registry::tokens::Verb;
use insula_turns::TurnEvent;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;

/// How often a silent stream says that it lives, so that nothing between cuts it.
const STILL_THERE: Duration = Duration::from_secs(15);

/// An event stream as an answer.
pub struct Stream;

impl Stream {
    /// The answer whose body are these frames, with a sign of life in long silences.
    pub fn response(
        api: &Api,
        frames: impl stream::Stream<Item = String> + Send + 'static,
    ) -> Response {
        let clock = api.world.clock.clone();
        let lively = stream::unfold(Box::pin(frames), move |mut frames| {
            let clock = clock.clone();
            async move {
                let frame = tokio::select! {
                    biased;
                    frame = frames.next() => frame?,
                    () = clock.sleep(STILL_THERE) => ": still there\n\n".to_owned(),
                };
                Some((Ok::<_, Infallible>(frame), frames))
            }
        });
        let headers =
            [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
        (headers, Body::from_stream(lively)).into_response()
    }
}

/// One event of a turn as a frame, with the turn it is of.
pub fn frame(of: Option<(&str, &Number)>, event: &TurnEvent) -> String {
    let (kind, mut data) = event.described();
    if let Some((session, turn)) = of {
        data["session"] = session.into();
        data["turn"] = turn.clone().into();
    }
    written(kind, &data)
}

fn written(kind: &str, data: &Value) -> String {
    format!("event: {kind}\ndata: {data}\n\n")
}

/// Everything that happens to an agent, from now on.
#[utoipa::path(get, path = "/api/agents/{id}/events", params(("id" = String, Path)),
    responses((status = 200, body = String, content_type = "text/event-stream"), (status = 404, body = ErrorBody)),
    security(("token" = [])))]
pub async fn follow(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Response, ApiError> {
    let agent = AgentId::new(&id).map_err(|_| ApiError::no_agent(&id))?;
    if !api.registry.snapshot().agents.contains_key(&agent) {
        return Err(ApiError::no_agent(&id));
    }
    let heard = api.registry.hub.listen(&agent);
    let lost = caller.lost(&agent, Verb::Read);
    let numbers = Numbers::of(&caller, &api.store.agent(&agent));
    let events = stream::unfold(Some((heard, lost, numbers)), |state| async move {
        let (mut heard, mut lost, numbers) = state?;
        let event = tokio::select! {
            biased;
            () = &mut lost => return Some((revoked(), None)),
            event = heard.recv() => event,
        };
        let text = match event {
            Ok(event) => told(&event, &numbers, None),
            Err(RecvError::Lagged(missed)) => {
                format!("event: missed\ndata: {}\n\n", json!({ "events": missed }))
            }
            Err(RecvError::Closed) => return None,
        };
        Some((text, Some((heard, lost, numbers))))
    });
    // The first bytes say that the stream stands, before anything happens.
    let begun = stream::once(async { ": listening\n\n".to_owned() });
    let mut answer = Stream::response(&api, begun.chain(events));
    answer.extensions_mut().insert(Endless);
    Ok(answer)
}

/// The last frame of a stream whose token was revoked.
pub fn revoked() -> String {
    let message = "the token was revoked, or lost this agent; nothing more is done for it";
    let data = json!({ "error": { "code": "token_revoked", "message": message } });
    format!("event: error\ndata: {data}\n\n")
}

/// An event as a frame; with the agent's name where the stream is of several.
pub fn told(event: &AgentEvent, numbers: &Numbers, agent: Option<&AgentId>) -> String {
    let (kind, mut data) = match event {
        AgentEvent::Turn { session, turn, event } => {
            let (kind, mut data) = event.described();
            data["session"] = (&**session).into();
            data["turn"] = numbers.turn(*turn).into();
            (kind, data)
        }
        AgentEvent::Work(event) => {
            let (kind, mut data) = event.described();
            if let Some(turn) = event.turn() {
                data["turn"] = numbers.turn(turn).into();
            }
            (kind, data)
        }
        AgentEvent::Health { state, generation, reason } => {
            ("health", json!({ "state": state, "generation": generation, "reason": reason }))
        }
    };
    if let Some(agent) = agent {
        data["agent"] = agent.as_str().into();
    }
    written(kind, &data)
}
