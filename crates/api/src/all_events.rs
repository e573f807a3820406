//! What happens to all agents of whoever asks, in one stream: what began and how it ended, and not
//! the words as they come, which each agent's own stream has.

use crate::Api;
use crate::caller::{Caller, Lost};
use crate::error::{ApiError, ErrorBody};
use crate::events::{Stream, revoked, told};
use crate::front::Endless;
use crate::numbers::Numbers;
use crate::refusal::not_found;
use axum::extract::{OriginalUri, State};
use axum::response::Response;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream, SelectAll};
use insula_domain::AgentId;
use insula_registry::events::AgentEvent;
use insula_registry::tokens::Verb;
use insula_turns::TurnEvent;
use serde_json::json;
use std::sync::Arc;
use tokio::sync::broadcast::error::RecvError;

/// What somebody hears of an agent.
enum Heard {
    Event(AgentId, Arc<AgentEvent>),
    Missed(u64),
    /// Which agents there are, or what is said of them, is another than before.
    Changed,
    /// One agent is theirs no longer.
    Lost,
}

/// Everything that happens to the agents of whoever asks, from now on, without the words as they come.
#[utoipa::path(get, path = "/api/events",
    responses((status = 200, body = String, content_type = "text/event-stream"), (status = 401, body = ErrorBody)),
    security(("token" = [])))]
pub async fn follow(
    State(api): State<Api>,
    caller: Caller,
    original: OriginalUri,
) -> Result<Response, ApiError> {
    let (heard, agents) = match &caller {
        Caller::Local => (of_all(&api), 0),
        // To one that sees one scope there is nothing here.
        Caller::Token(token) if token.scope().is_some() => return Ok(not_found(original).await),
        Caller::Token(token) => (of_some(&api, &caller, &token.agents), token.agents.len()),
    };
    let is_local = matches!(caller, Caller::Local);
    let lively = api.clone();
    let state = Some((heard, agents));
    let frames = stream::unfold(state, move |state| {
        let (api, caller) = (api.clone(), caller.clone());
        async move {
            let (mut heard, mut left) = state?;
            let text = match heard.next().await? {
                Heard::Event(agent, event) => frame(&api, &caller, &agent, &event),
                Heard::Missed(events) => named("missed", &json!({ "events": events })),
                Heard::Changed => named("changed", &json!({})),
                Heard::Lost => {
                    left = left.saturating_sub(1);
                    if left == 0 && !is_local {
                        return Some((revoked(), None));
                    }
                    named("changed", &json!({}))
                }
            };
            Some((text, Some((heard, left))))
        }
    });
    let frames = frames.filter(|text| std::future::ready(!text.is_empty()));
    let begun = stream::once(async { ": listening\n\n".to_owned() });
    let mut answer = Stream::response(&lively, begun.chain(frames));
    answer.extensions_mut().insert(Endless);
    Ok(answer)
}

fn named(event: &str, data: &serde_json::Value) -> String {
    format!("event: {event}\ndata: {data}\n\n")
}

/// Whether the words of others are all that it says.
fn is_words(event: &AgentEvent) -> bool {
    let AgentEvent::Turn { event, .. } = event else { return false };
    matches!(event, TurnEvent::Text(_) | TurnEvent::Reasoning(_) | TurnEvent::Void)
}

fn frame(api: &Api, caller: &Caller, agent: &AgentId, event: &AgentEvent) -> String {
    let numbers = Numbers::of(caller, &api.store.agent(agent));
    told(event, &numbers, Some(agent))
}

/// All agents, those that come later included.
fn of_all(api: &Api) -> BoxStream<'static, Heard> {
    let heard = api.registry.hub.listen_to_all();
    let events = stream::unfold(heard, |mut heard| async move {
        loop {
            match heard.recv().await {
                Ok((_, event)) if is_words(&event) => {}
                Ok((agent, event)) => return Some((Heard::Event(agent, event), heard)),
                Err(RecvError::Lagged(missed)) => return Some((Heard::Missed(missed), heard)),
                Err(RecvError::Closed) => return None,
            }
        }
    });
    let changes = stream::unfold(api.registry.changes(), |mut changes| async move {
        changes.changed().await;
        Some((Heard::Changed, changes))
    });
    until_end(events.boxed(), changes.boxed())
}

/// Both, until the first has ended.
fn until_end(
    events: BoxStream<'static, Heard>,
    beside: BoxStream<'static, Heard>,
) -> BoxStream<'static, Heard> {
    stream::unfold((events, beside), |(mut events, mut beside)| async move {
        let heard = tokio::select! {
            biased;
            event = events.next() => event?,
            Some(event) = beside.next() => event,
        };
        Some((heard, (events, beside)))
    })
    .boxed()
}

/// These agents, each for as long as it is the caller's. Whatever happens to others shows nowhere.
fn of_some<'a>(
    api: &Api,
    caller: &Caller,
    agents: impl IntoIterator<Item = &'a AgentId>,
) -> BoxStream<'static, Heard> {
    let mut all = SelectAll::new();
    for agent in agents {
        // One that may only talk hears nothing, and still that it may no longer.
        let held = Verb::ALL.into_iter().find(|verb| caller.may(agent, *verb));
        let held = if caller.may(agent, Verb::Read) { Some(Verb::Read) } else { held };
        let Some(held) = held else { continue };
        let heard = (held == Verb::Read).then(|| api.registry.hub.listen(agent));
        all.push(of_one(agent.clone(), heard, caller.lost(agent, held)));
    }
    all.boxed()
}

type Receiver = tokio::sync::broadcast::Receiver<Arc<AgentEvent>>;

fn of_one(agent: AgentId, heard: Option<Receiver>, lost: Lost) -> BoxStream<'static, Heard> {
    stream::unfold(Some((heard, lost)), move |state| {
        let agent = agent.clone();
        async move {
            let (mut heard, mut lost) = state?;
            loop {
                let event = tokio::select! {
                    biased;
                    () = &mut lost => return Some((Heard::Lost, None)),
                    event = next(&mut heard) => event,
                };
                match event {
                    Ok(event) if is_words(&event) => {}
                    Ok(event) => return Some((Heard::Event(agent, event), Some((heard, lost)))),
                    Err(RecvError::Lagged(missed)) => {
                        return Some((Heard::Missed(missed), Some((heard, lost))));
                    }
                    Err(RecvError::Closed) => return None,
                }
            }
        }
    })
    .boxed()
}

async fn next(heard: &mut Option<Receiver>) -> Result<Arc<AgentEvent>, RecvError> {
    match heard {
        Some(heard) => heard.recv().await,
        None => std::future::pending().await,
    }
}
