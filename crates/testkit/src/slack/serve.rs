//! The fake workspace's connections: requests in, answers out as troubles let them, and sockets.

use super::Shared;
use super::state::{Out, State, Trouble};
use super::{history, methods};
use crate::socket::{FakeSocket, FromClient, asks_for_socket};
use crate::upstream::{Seen, http, read_request};
use crate::world::locked;
use insula_world::{Listener, Stream};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio::io::AsyncWriteExt as _;

/// Arguments that stand as JSON in a form.
const ENCLOSED: [&str; 5] = ["blocks", "attachments", "files", "metadata", "view"];

pub(super) async fn accept(listener: Box<dyn Listener>, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, shared.clone()));
    }
}

async fn serve(mut stream: Box<dyn Stream>, shared: Arc<Shared>) {
    let mut buffer = vec![];
    while let Some(seen) = read_request(&mut stream, &mut buffer, 0).await {
        if asks_for_socket(&seen) {
            begin(stream, buffer, &seen, &shared).await;
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
    let answered = {
        let mut state = locked(&shared.state);
        let target = seen.line.split(' ').nth(1).unwrap_or_default();
        let path = target.split('?').next().unwrap_or_default().to_owned();
        match path.strip_prefix("/api/") {
            Some(method) => method_answer(shared, &mut state, method, target, seen),
            None => (other(&mut state, &path, seen), None),
        }
    };
    shared.change();
    answered
}

fn method_answer(
    shared: &Shared,
    state: &mut State,
    method: &str,
    target: &str,
    seen: &Seen,
) -> (Vec<u8>, Option<Trouble>) {
    let about = arguments(target, seen);
    state.note_request(method, &about);
    let at = state.troubles.iter().position(|(known, _)| known == method);
    let trouble = at.map(|at| state.troubles.remove(at).1);
    let refused = |error: &str| json!({ "ok": false, "error": error });
    let done = match &trouble {
        Some(Trouble::Unheard) => return (vec![], trouble),
        Some(Trouble::Answer { status, body }) => {
            return (http(*status, "text/html", &[], body.as_bytes()), None);
        }
        Some(Trouble::Limited(wait)) => {
            let body = refused("ratelimited").to_string();
            let headers = [("retry-after", wait.to_string())];
            return (http(429, JSON, &headers, body.as_bytes()), None);
        }
        Some(Trouble::Refuse(error)) => refused(error),
        Some(Trouble::Lacks(scope)) => lacks(state, scope),
        Some(Trouble::CutAt(_)) | None => match permitted(state, method, &about, seen) {
            Err(refusal) => refusal,
            Ok(()) => {
                let host = shared.address.to_string();
                match methods::answer(state, shared.now(), &host, method, &about) {
                    Ok(mut done) => {
                        done["ok"] = json!(true);
                        done
                    }
                    Err(error) => refused(error),
                }
            }
        },
    };
    let scopes = (!state.hides_scopes).then(|| ("x-oauth-scopes", state.scopes.join(",")));
    let headers: Vec<_> = scopes.into_iter().collect();
    (http(200, JSON, &headers, done.to_string().as_bytes()), trouble)
}

const JSON: &str = "application/json; charset=utf-8";

fn lacks(state: &State, scope: &str) -> Value {
    let provided = state.scopes.join(",");
    json!({ "ok": false, "error": "missing_scope", "needed": scope, "provided": provided })
}

/// Whether the token is good, and its scopes let it ask this; the answer, where that is all.
fn permitted(state: &State, method: &str, about: &Value, seen: &Seen) -> Result<(), Value> {
    let refused = |error| json!({ "ok": false, "error": error });
    allowed(state, method, about, seen).map_err(refused)?;
    // Nothing is there yet.
    let token = seen.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
    if let Some((team, user)) = token.and_then(|token| state.installs.get(token)) {
        return Err(match method {
            "auth.test" => json!({
                "ok": true, "team": team, "team_id": team, "user": "ada", "user_id": user,
                "bot_id": format!("B{user}"),
            }),
            "users.conversations" => json!({ "ok": true, "channels": [] }),
            _ => refused("not_found"),
        });
    }
    match history::lacked(state, method, about) {
        Some(scope) => Err(lacks(state, scope)),
        None => Ok(()),
    }
}

/// Whether the token may ask this.
fn allowed(state: &State, method: &str, about: &Value, seen: &Seen) -> Result<(), &'static str> {
    if method == "api.test" {
        return Ok(());
    }
    let bearer = seen.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
    let token = bearer.or(about["token"].as_str()).unwrap_or_default();
    if token.is_empty() {
        return Err("not_authed");
    }
    let is_for_app = method.starts_with("apps.");
    let wanted = if is_for_app { &state.app_token } else { &state.bot_token };
    match (token == wanted, state.is_revoked) {
        (true, false) => Ok(()),
        _ if !is_for_app && state.installs.contains_key(token) => Ok(()),
        (true, true) => Err("token_revoked"),
        _ if token == state.app_token || token == state.bot_token => Err("not_allowed_token_type"),
        _ => Err("invalid_auth"),
    }
}

/// Arguments, as JSON or a form or a query. Methods that only look take no JSON, as on Slack.
fn arguments(target: &str, seen: &Seen) -> Value {
    let media_type = seen.header("content-type").unwrap_or_default();
    if media_type.starts_with("application/json") {
        let changes = ["chat.", "reactions.", "files.complete", "assistant.", "apps.", "auth."];
        let method = target.trim_start_matches("/api/");
        let takes = changes.iter().any(|begin| method.starts_with(begin));
        return if takes { seen.json() } else { json!({}) };
    }
    let mut fields = Map::new();
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let body = match media_type.starts_with("application/x-www-form-urlencoded") {
        true => String::from_utf8_lossy(&seen.body).into_owned(),
        false => String::new(),
    };
    for pair in query.split('&').chain(body.split('&')).filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (key, value) = (decoded(key), decoded(value));
        let enclosed = serde_json::from_str(&value).ok().filter(|_| ENCLOSED.contains(&&*key));
        fields.insert(key, enclosed.unwrap_or(Value::String(value)));
    }
    Value::Object(fields)
}

fn decoded(part: &str) -> String {
    let mut bytes = vec![];
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                let digits = String::from_utf8_lossy(&digits).into_owned();
                u8::from_str_radix(&digits, 16).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Files, and what is said to whoever pressed something.
fn other(state: &mut State, path: &str, seen: &Seen) -> Vec<u8> {
    let bearer = seen.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
    if let Some(id) = path.strip_prefix("/upload/") {
        return match state.files.get_mut(id) {
            Some(stored) => {
                stored.content = uploaded(seen);
                let told = format!("OK - {}", stored.content.len());
                http(200, "text/plain", &[], told.as_bytes())
            }
            None => http(404, "text/plain", &[], b"no such file"),
        };
    }
    if let Some(id) = path.strip_prefix("/files/") {
        let stored = state.files.get(id.trim_end_matches("/download"));
        return match stored.filter(|_| bearer == Some(&state.bot_token)) {
            Some(stored) => http(200, &stored.media_type, &[], &stored.content),
            // As the real one: a page to sign in at.
            None => http(200, "text/html; charset=utf-8", &[], b"<!DOCTYPE html>sign in"),
        };
    }
    if path.starts_with("/response/") {
        state.responses.push(seen.json());
        return http(200, "text/plain", &[], b"ok");
    }
    http(404, "text/html", &[], b"<html>not found</html>")
}

/// The content of a file that is given, alone or in a form of parts.
fn uploaded(seen: &Seen) -> Vec<u8> {
    let media_type = seen.header("content-type").unwrap_or_default();
    let boundary = media_type.split("boundary=").nth(1).map(|it| it.trim_matches('"'));
    let Some(boundary) = boundary.filter(|_| media_type.starts_with("multipart/")) else {
        return seen.body.clone();
    };
    let find = |what: &[u8], from: usize| {
        seen.body[from..].windows(what.len()).position(|it| it == what).map(|at| from + at)
    };
    let begin = find(b"\r\n\r\n", 0).map_or(0, |at| at + 4);
    let end = find(format!("\r\n--{boundary}").as_bytes(), begin).unwrap_or(seen.body.len());
    seen.body[begin..end].to_vec()
}

/// Makes a socket of a request for one, if its ticket is good.
async fn begin(mut stream: Box<dyn Stream>, rest: Vec<u8>, seen: &Seen, shared: &Arc<Shared>) {
    let ticket = seen.line.split(['?', '&', ' ']).find_map(|it| it.strip_prefix("ticket="));
    let line = {
        let mut state = locked(&shared.state);
        // Each is good once.
        let at = state.tickets.iter().position(|known| Some(known.as_str()) == ticket);
        at.map(|at| {
            state.tickets.remove(at);
            state.next_id += 1;
            let line = state.next_id;
            state.lines.insert(line, std::collections::VecDeque::new());
            line
        })
    };
    let Some(line) = line else {
        let _ = stream.write_all(&http(408, "text/plain", &[], b"expired")).await;
        return;
    };
    if let Ok(socket) = FakeSocket::upgrade(stream, seen, rest).await {
        shared.change();
        attend(socket, line, shared).await;
    }
    locked(&shared.state).leave(line);
    shared.change();
}

/// Serves a socket until either side ends it.
async fn attend(mut socket: FakeSocket, line: u64, shared: &Arc<Shared>) {
    let mut changed = shared.changed.subscribe();
    let hello = {
        let state = locked(&shared.state);
        json!({
            "type": "hello", "num_connections": state.lines.len(),
            "connection_info": { "app_id": "A0APP" },
            "debug_info": { "host": "fake", "build_number": 1, "approximate_connection_time": 18060 },
        })
    };
    if !locked(&shared.state).is_mute && !socket.say(&hello.to_string()).await {
        return;
    }
    loop {
        changed.mark_unchanged();
        // What is deaf neither reads nor writes.
        let is_deaf = locked(&shared.state).is_deaf;
        if is_deaf {
            if changed.changed().await.is_err() {
                return;
            }
            continue;
        }
        let next = locked(&shared.state).next_for(line);
        match next {
            Some(Out::End) => return,
            Some(Out::Text(text)) => {
                let cut = locked(&shared.state).cut_at.take();
                if let Some(len) = cut {
                    socket.break_after(&text, len).await;
                    return;
                }
                if !socket.say(&text).await {
                    return;
                }
                continue;
            }
            None if !locked(&shared.state).lines.contains_key(&line) => return,
            None => {}
        }
        tokio::select! {
            biased;
            _ = changed.changed() => {}
            heard = socket.next() => match heard {
                FromClient::Text(text) => {
                    let said: Value = serde_json::from_str(&text).unwrap_or_default();
                    if let Some(id) = said["envelope_id"].as_str() {
                        locked(&shared.state).acknowledge(id);
                        shared.change();
                    }
                }
                FromClient::Closed(..) | FromClient::Gone => return,
                _ => {}
            },
        }
    }
}
