//! `talk`: a message in, progress while the turn runs, the reply out.

use super::call::{Answered, Call, tool_result, whole};
use super::progress::Progress;
use super::rpc::RpcFault;
use super::sessions::Cancellable;
use super::version::Era;
use crate::caller::Lost;
use crate::events::Stream;
use crate::id::ready;
use crate::messages::Asked;
use crate::submit::apart;
use futures_util::{StreamExt as _, stream};
use insula_domain::SessionKey;
use insula_registry::tokens::Verb;
use insula_store::{Part, TurnId};
use insula_turns::{Engine, TurnEnd, TurnEvent, TurnHandle};
use serde::Deserialize;
use serde_json::{Value, json};

/// The conversation of a credential that names none.
const SESSION: &str = "mcp";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    message: String,
    session: Option<String>,
}

/// Says something.
pub(super) async fn run(
    call: Call,
    era: Era,
    session: Option<String>,
    id: Value,
    arguments: Value,
    progress: Progress,
    streams: bool,
) -> Answered {
    let (engine, key, handle) = match begin(&call, arguments).await {
        Ok(begun) => begun,
        Err(why) => return Answered::Result(id, whole(era, tool_result(Err(why)))),
    };
    let listening = Listening {
        lost: call.caller.lost(&call.agent, Verb::Chat),
        cancellable: call.sessions.begin(session.as_deref(), &id),
        stop: StopOnDrop {
            engine,
            key,
            turn: handle.turn,
            armed: era == Era::Single,
            is_stopped: false,
        },
        handle,
        progress,
        era,
        id,
    };
    if streams {
        let frames = stream::unfold(Some(listening), |state| async move {
            let mut listening = state?;
            let (message, goes_on) = listening.next().await;
            // Who cancelled a request waits for nothing: the stream ends without an answer.
            if listening.stop.is_stopped {
                return None;
            }
            let frame = format!("event: message\ndata: {message}\n\n");
            Some((frame, goes_on.then_some(listening)))
        });
        return Answered::Stream(Stream::response(&call.api, frames));
    }
    let mut frames = Box::pin(stream::unfold(Some(listening), |state| async move {
        let mut listening = state?;
        let (message, goes_on) = listening.next().await;
        Some((message, goes_on.then_some(listening)))
    }));
    let mut last = Value::Null;
    while let Some(message) = frames.next().await {
        last = message;
    }
    let response = ([(axum::http::header::CONTENT_TYPE, "application/json")], last.to_string());
    Answered::Stream(axum::response::IntoResponse::into_response(response))
}

async fn begin(call: &Call, arguments: Value) -> Result<(Engine, SessionKey, TurnHandle), String> {
    let Arguments { message, session } = serde_json::from_value(arguments)
        .map_err(|error| format!("the arguments are not valid: {error}"))?;
    if message.trim().is_empty() {
        return Err("`message` is empty: say something".to_owned());
    }
    let agent = ready(&call.api, call.agent.as_str()).map_err(|error| error.message())?;
    let session = session.unwrap_or_else(|| SESSION.to_owned());
    let asked = Asked::of(&call.api, call.caller.clone(), agent, session);
    let Asked { engine, mut inbound, .. } = asked.map_err(|error| error.message())?;
    inbound.parts = vec![Part::Text(message)];
    let (key, taker) = (inbound.session.clone(), engine.clone());
    let handle = apart(async move { taker.submit(inbound).await }).await;
    Ok((engine, key, handle.map_err(|error| error.to_string())?))
}

/// Stops the turn of a call whose client closed the answer, where that is how one cancels.
struct StopOnDrop {
    engine: Engine,
    key: SessionKey,
    turn: TurnId,
    armed: bool,
    is_stopped: bool,
}

impl StopOnDrop {
    fn stop(&mut self) {
        self.is_stopped = true;
        self.engine.stop_turn(&self.key, self.turn);
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if self.armed {
            self.stop();
        }
    }
}

struct Listening {
    handle: TurnHandle,
    lost: Lost,
    cancellable: Cancellable,
    stop: StopOnDrop,
    progress: Progress,
    era: Era,
    id: Value,
}

impl Listening {
    /// The next message to the client, and whether more will come.
    async fn next(&mut self) -> (Value, bool) {
        loop {
            let event = tokio::select! {
                biased;
                () = &mut self.lost => {
                    // The turn was rightly begun; only listening to it ends.
                    self.stop.armed = false;
                    return (RpcFault::revoked().response(&self.id), false);
                }
                () = self.cancellable.cancelled.cancelled(), if !self.stop.is_stopped => {
                    self.stop.stop();
                    continue;
                }
                event = self.handle.events.recv() => event,
            };
            match event {
                Some(TurnEvent::Ended(end)) => return (self.ended(end), false),
                None => {
                    let lost = TurnEnd::Failed { error: "the daemon is going down".to_owned() };
                    return (self.ended(lost), false);
                }
                Some(event) => {
                    if let Some(notification) = self.progress.about(&event) {
                        return (notification, true);
                    }
                }
            }
        }
    }

    fn ended(&mut self, end: TurnEnd) -> Value {
        self.stop.armed = false;
        let outcome = match end {
            TurnEnd::Replied { text, .. } => Ok(text),
            TurnEnd::Failed { error } => Err(error),
            TurnEnd::OverBudget(refusal) => Err(refusal.to_string()),
            TurnEnd::Stopped => Err("the turn was stopped".to_owned()),
        };
        let result = whole(self.era, tool_result(outcome));
        json!({ "jsonrpc": "2.0", "id": self.id, "result": result })
    }
}
