//! The fake server's connections: requests in, answers out as troubles let them, and sockets.

use super::Shared;
use super::answers::{error, http};
use super::routes;
use super::state::{Line, Trouble};
use crate::socket::{FakeSocket, FromClient, asks_for_socket};
use crate::upstream::{Seen, read_request};
use crate::world::locked;
use insula_world::{Listener, Stream};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

pub(super) async fn accept(listener: Box<dyn Listener>, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, shared.clone()));
    }
}

async fn serve(mut stream: Box<dyn Stream>, shared: Arc<Shared>) {
    let mut buffer = vec![];
    while let Some(seen) = read_request(&mut stream, &mut buffer, 0).await {
        if asks_for_socket(&seen) {
            if let Ok(socket) = FakeSocket::upgrade(stream, &seen, buffer).await {
                attend(socket, &seen, &shared).await;
            }
            return;
        }
        let (answer, trouble) = answer(&shared, &seen);
        let cut = match trouble {
            Some(Trouble::Unheard) => return,
            Some(Trouble::CutAt(cut)) => cut,
            _ => usize::MAX,
        };
        let written = &answer[..answer.len().min(cut)];
        if stream.write_all(written).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        if cut < answer.len() {
            let _ = stream.shutdown().await;
            return;
        }
    }
}

/// The whole answer to a request, and what else is to go wrong with it.
fn answer(shared: &Shared, seen: &Seen) -> (Vec<u8>, Option<Trouble>) {
    let now = shared.now();
    let answered = {
        let mut state = locked(&shared.state);
        let line = seen.line.replacen("/api/v4", "", 1);
        let about = if seen.body.len() > 64 * 1024 { Value::Null } else { seen.json() };
        state.requests.push((line.clone(), about));
        let at = state.troubles.iter().position(|(begin, _)| line.starts_with(begin.as_str()));
        let trouble = at.map(|at| state.troubles.remove(at).1);
        match &trouble {
            Some(Trouble::Unheard) => (vec![], trouble),
            Some(Trouble::Answer { status, body }) => {
                (http(*status, "text/html", &[], body.as_bytes()), None)
            }
            Some(Trouble::Refuse { status, id, reset }) => {
                let body = error(*status, id, "words of the server");
                let reset = reset.map(|reset| ("x-ratelimit-reset", reset.to_string()));
                let headers: Vec<_> = reset.into_iter().collect();
                (http(*status, "application/json", &headers, body.as_bytes()), None)
            }
            Some(Trouble::CutAt(_)) | None => {
                (routes::answer(&mut state, now, &line, seen), trouble)
            }
        }
    };
    shared.change();
    answered
}

/// Serves a socket until either side ends it.
async fn attend(mut socket: FakeSocket, seen: &Seen, shared: &Arc<Shared>) {
    let query = seen.line.split_once('?').map_or("", |(_, query)| query);
    let asked = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map_or("", |(_, value)| value).to_owned()
    };
    let (connection, sequence) = (asked("connection_id"), asked("sequence_number"));
    let mut events: Option<mpsc::UnboundedReceiver<String>> = None;
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
                    let seq = said["seq"].clone();
                    match said["action"].as_str().unwrap_or_default() {
                        "authentication_challenge" => {
                            let token = said["data"]["token"].as_str().unwrap_or_default();
                            let place = (connection.as_str(), sequence.as_str());
                            match begin(shared, token, place) {
                                Some(line) => events = Some(line),
                                // As the real one: without a word.
                                None => return,
                            }
                            shared.change();
                            let ok = json!({ "status": "OK", "seq_reply": seq });
                            if !socket.say(&ok.to_string()).await {
                                return;
                            }
                        }
                        "ping" => {
                            let pong = json!({
                                "status": "OK", "data": { "text": "pong" }, "seq_reply": seq,
                            });
                            if !socket.say(&pong.to_string()).await {
                                return;
                            }
                        }
                        _ => {}
                    }
                }
                FromClient::Closed(..) | FromClient::Gone => return,
                _ => {}
            },
            event = next(&mut events) => {
                // A line that another socket took over, or that the server gave up.
                let Some(event) = event else { return };
                let cut = locked(&shared.state).cut_at.take();
                if let Some(len) = cut {
                    socket.break_after(&event, len).await;
                    return;
                }
                if !socket.say(&event).await {
                    return;
                }
            }
        }
    }
}

async fn next(events: &mut Option<mpsc::UnboundedReceiver<String>>) -> Option<String> {
    match events {
        Some(events) => events.recv().await,
        None => std::future::pending().await,
    }
}

/// Begins a connection, or goes on with one where all that was missed is still there.
fn begin(
    shared: &Shared,
    token: &str,
    (connection, sequence): (&str, &str),
) -> Option<mpsc::UnboundedReceiver<String>> {
    let mut state = locked(&shared.state);
    let user = state.tokens.get(token)?.clone();
    let (live, events) = mpsc::unbounded_channel();
    let from: u64 = sequence.parse().unwrap_or(0);
    if let Some(line) = state.lines.get_mut(connection).filter(|line| line.user == user) {
        let is_all_there = from == line.next || line.kept.iter().any(|(seq, _)| *seq == from);
        if is_all_there {
            for (_, event) in line.kept.iter().filter(|(seq, _)| *seq >= from) {
                let _ = live.send(event.clone());
            }
            line.live = Some(live);
            return Some(events);
        }
    }
    state.lines.remove(connection);
    let id = state.fresh('l');
    let mut line = Line { user, next: 0, kept: VecDeque::new(), live: Some(live) };
    let data = json!({
        "connection_id": id, "server_hostname": "fake", "server_version": "10.11.0.fake",
    });
    let broadcast = json!({ "user_id": line.user, "channel_id": "", "team_id": "" });
    line.put(|seq| json!({ "event": "hello", "data": data, "broadcast": broadcast, "seq": seq }));
    state.lines.insert(id, line);
    Some(events)
}
