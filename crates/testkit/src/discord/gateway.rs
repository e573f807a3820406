//! The fake's gateway: hello, identify, resume, heartbeats, and whatever is to go wrong.

use super::Shared;
use super::state::{CONTENT, MAY_HEAR, Said, SessionState, State};
use crate::socket::{FakeSocket, FromClient};
use crate::world::locked;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::mpsc;

/// How often Discord wants to hear from clients.
const HEARTBEAT_MS: u64 = 41_250;

type Line = mpsc::UnboundedReceiver<Said>;

/// Serves a socket until either side ends it.
pub(super) async fn attend(socket: FakeSocket, shared: &Arc<Shared>, url: &str) {
    {
        let mut state = locked(&shared.state);
        state.open.0 += 1;
        state.open.1 = state.open.1.max(state.open.0);
    }
    serve(socket, shared, url).await;
    locked(&shared.state).open.0 -= 1;
    shared.change();
}

async fn serve(mut socket: FakeSocket, shared: &Arc<Shared>, url: &str) {
    let every = locked(&shared.state).heartbeat_ms.unwrap_or(HEARTBEAT_MS);
    let hello = json!({ "op": 10, "t": null, "s": null, "d": { "heartbeat_interval": every } });
    if locked(&shared.state).is_deaf || !socket.say(&hello.to_string()).await {
        // An open socket by which nothing comes.
        while !matches!(socket.next().await, FromClient::Gone | FromClient::Closed(..)) {}
        return;
    }
    let mut line: Option<(String, Line)> = None;
    let mut changed = shared.changed.subscribe();
    loop {
        // What is deaf neither reads nor writes.
        if locked(&shared.state).is_deaf {
            if changed.changed().await.is_err() {
                return;
            }
            continue;
        }
        changed.mark_unchanged();
        tokio::select! {
            biased;
            // Whether it became deaf.
            _ = changed.changed() => {}
            heard = socket.next() => match heard {
                FromClient::Text(text) => {
                    let said: Value = serde_json::from_str(&text).unwrap_or_default();
                    let data = &said["d"];
                    match said["op"].as_u64() {
                        Some(1) => {
                            locked(&shared.state).beats += 1;
                            shared.change();
                            let answer = json!({ "op": 11, "t": null, "s": null, "d": null });
                            if !socket.say(&answer.to_string()).await {
                                return;
                            }
                        }
                        Some(2) => match begin(shared, data, url) {
                            Ok(begun) => line = Some(begun),
                            Err(code) => return socket.close(code, "words of the gateway").await,
                        },
                        Some(6) => match take_up(shared, data) {
                            Ok(Some(taken)) => line = Some(taken),
                            Ok(None) => {
                                let gone = json!({ "op": 9, "t": null, "s": null, "d": false });
                                if !socket.say(&gone.to_string()).await {
                                    return;
                                }
                            }
                            Err(code) => return socket.close(code, "words of the gateway").await,
                        },
                        _ => {}
                    }
                }
                FromClient::Closed(code, _) => {
                    left(&mut locked(&shared.state), line.as_ref().map(|it| it.0.as_str()), code);
                    shared.change();
                    return;
                }
                FromClient::Gone => return,
                _ => {}
            },
            said = next(&mut line) => match said {
                Some(Said::Text(text)) => {
                    let cut = {
                        let mut state = locked(&shared.state);
                        if text.contains("\"op\":0") { state.cut_at.take() } else { None }
                    };
                    if let Some(len) = cut {
                        socket.break_after(&text, len).await;
                        return;
                    }
                    if !socket.say(&text).await {
                        return;
                    }
                }
                Some(Said::Close(code)) => return socket.close(code, "words of the gateway").await,
                // A line that another socket took over, or that is broken.
                None => return,
            },
        }
    }
}

async fn next(line: &mut Option<(String, Line)>) -> Option<Said> {
    match line {
        Some((_, line)) => line.recv().await,
        None => std::future::pending().await,
    }
}

/// A client said goodbye. With some codes its session ends.
fn left(state: &mut State, session: Option<&str>, code: Option<u16>) {
    state.goodbyes.push(code);
    if let Some(session) = session.filter(|_| matches!(code, Some(1000 | 1001))) {
        state.sessions.remove(session);
    }
}

/// Begins a session.
fn begin(shared: &Shared, data: &Value, url: &str) -> Result<(String, Line), u16> {
    let mut state = locked(&shared.state);
    let now = shared.now();
    state.begun.push(json!({ "op": 2, "d": data }));
    let token = data["token"].as_str().unwrap_or_default();
    let bot = state.tokens.get(token).cloned().ok_or(4004_u16)?;
    let intents = data["intents"].as_u64().ok_or(4013_u16)?;
    if intents & CONTENT != 0 && bot.flags & MAY_HEAR == 0 {
        return Err(4014);
    }
    let (live, line) = mpsc::unbounded_channel();
    let id = format!("session{}", state.fresh(now));
    let session =
        SessionState { bot: bot.id.clone(), intents, next: 1, kept: vec![], live: Some(live) };
    state.sessions.insert(id.clone(), session);
    let guilds: Vec<String> = state
        .guilds
        .values()
        .filter(|guild| guild.members.contains_key(&bot.id))
        .map(|guild| guild.id.clone())
        .collect();
    let stubs: Vec<Value> =
        guilds.iter().map(|id| json!({ "id": id, "unavailable": true })).collect();
    let ready = json!({
        "v": 10, "user": state.users.get(&bot.id), "guilds": stubs, "session_id": id,
        "resume_gateway_url": url, "private_channels": [], "session_type": "normal",
        "application": { "id": bot.application, "flags": bot.flags }, "shard": [0, 1],
        "_trace": [], "relationships": [], "presences": [], "user_settings": {},
    });
    state.tell_session(&id, "READY", &ready);
    for guild in guilds {
        let told = state.guild(&guild, &bot.id);
        if state.guilds.get(&guild).is_some_and(|it| it.is_there) {
            state.tell_session(&id, "GUILD_CREATE", &told);
        }
    }
    drop(state);
    shared.change();
    Ok((id, line))
}

/// Takes a session up: all that its client did not hear comes again.
fn take_up(shared: &Shared, data: &Value) -> Result<Option<(String, Line)>, u16> {
    let mut state = locked(&shared.state);
    state.begun.push(json!({ "op": 6, "d": data }));
    let token = data["token"].as_str().unwrap_or_default();
    let bot = state.tokens.get(token).cloned().ok_or(4004_u16)?;
    let id = data["session_id"].as_str().unwrap_or_default().to_owned();
    let from = data["seq"].as_u64().unwrap_or(0);
    let (live, line) = mpsc::unbounded_channel();
    let Some(session) = state.sessions.get_mut(&id).filter(|it| it.bot == bot.id) else {
        return Ok(None);
    };
    if from >= session.next {
        return Err(4007);
    }
    for (_, text) in session.kept.iter().filter(|(number, _)| *number > from) {
        let _ = live.send(Said::Text(text.clone()));
    }
    // Whoever was there is put out.
    session.live = Some(live);
    state.tell_session(&id, "RESUMED", &json!({ "_trace": [] }));
    drop(state);
    shared.change();
    Ok(Some((id, line)))
}
