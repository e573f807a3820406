//! The fake platform's HTTP: requests in, answers out as troubles let them, updates to
//! webhooks.

use super::Shared;
use super::methods::{Refusal, Request};
use super::state::Trouble;
use crate::upstream::{Seen, read_request};
use crate::world::locked;
use insula_world::{Listener, Stream};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// How long the platform waits before it calls a webhook again that failed.
const WEBHOOK_AGAIN: Duration = Duration::from_secs(1);

pub(super) async fn accept(listener: Box<dyn Listener>, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, shared.clone()));
    }
}

async fn serve(mut stream: Box<dyn Stream>, shared: Arc<Shared>) {
    let mut buffer = vec![];
    while let Some(seen) = read_request(&mut stream, &mut buffer, 0).await {
        let (answer, trouble) = answer(&shared, &seen).await;
        let cut = match trouble {
            Some(Trouble::Unheard) => 0,
            Some(Trouble::Silence) => {
                // Until the client gives up.
                let mut byte = [0];
                let _ = stream.read(&mut byte).await;
                return;
            }
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
async fn answer(shared: &Arc<Shared>, seen: &Seen) -> (Vec<u8>, Option<Trouble>) {
    let path = seen.line.split_once(' ').map_or("", |(_, path)| path);
    if let Some(path) = path.strip_prefix("/file/bot") {
        return (file(shared, path), None);
    }
    let Some((token, method)) = path.strip_prefix("/bot").and_then(|path| path.split_once('/'))
    else {
        return (http(404, "not the Bot API"), None);
    };
    let request = request(token, method, seen);
    let trouble = {
        let mut state = locked(&shared.state);
        let known = (token.to_owned(), method.to_owned(), request.arguments.clone());
        state.requests.push(known);
        state.bots.get_mut(token).and_then(|bot| {
            let about = request.arguments.get("chat_id").map(ToString::to_string);
            let about = about.and_then(|chat| chat.trim_matches('"').parse::<i64>().ok());
            let is_it = |(known, chat, _): &(String, Option<i64>, Trouble)| {
                known == method && (chat.is_none() || *chat == about)
            };
            let at = bot.troubles.iter().position(is_it)?;
            bot.troubles.remove(at).map(|(_, _, trouble)| trouble)
        })
    };
    shared.changed();
    match &trouble {
        Some(Trouble::Unheard) => return (vec![0], trouble),
        Some(Trouble::Refuse { code, description, retry_after }) => {
            let mut refusal = Refusal::new(*code, description.clone());
            if let Some(seconds) = retry_after {
                refusal.parameters = json!({"retry_after": seconds});
            }
            return (http(*code, &refusal.body()), None);
        }
        Some(Trouble::Answer { status, body }) => return (http(*status, body), None),
        Some(Trouble::Wait(go)) => go.notified().await,
        Some(Trouble::CutAt(_) | Trouble::Silence) | None => {}
    }
    let done = match locked(&shared.state).bots.get(token) {
        Some(bot) if bot.is_revoked => Err(Refusal::new(401, "Unauthorized")),
        _ => Ok(()),
    };
    let done = match done {
        Ok(()) if method == "getUpdates" => updates(shared, &request).await,
        Ok(()) => {
            let mut state = locked(&shared.state);
            state.now = shared.now();
            state.perform(&request).map(|result| result.to_string())
        }
        Err(refusal) => Err(refusal),
    };
    shared.changed();
    if method == "setWebhook" && done.is_ok() {
        tokio::spawn(call_webhook(shared.clone(), token.to_owned()));
    }
    let bytes = match done {
        Ok(result) => http(200, &format!("{{\"ok\":true,\"result\":{result}}}")),
        Err(refusal) => http(refusal.code, &refusal.body()),
    };
    (bytes, trouble)
}

/// Waits for updates as long as the request asks for.
async fn updates(shared: &Arc<Shared>, request: &Request) -> Result<String, Refusal> {
    let number = |name: &str| request.arguments.get(name).and_then(Value::as_i64);
    let held = Duration::from_secs(number("timeout").unwrap_or(0).unsigned_abs());
    let limit = usize::try_from(number("limit").unwrap_or(100)).unwrap_or(100).clamp(1, 100);
    let mut changes = shared.changes();
    let mut offset = number("offset");
    let mut asked = None;
    let mut late = std::pin::pin!(shared.world.clock.sleep(held));
    let mut is_late = held.is_zero();
    loop {
        changes.mark_unchanged();
        {
            let mut state = locked(&shared.state);
            let bot =
                state.bots.get_mut(&request.token).ok_or_else(|| Refusal::new(404, "Not Found"))?;
            if bot.is_revoked {
                return Err(Refusal::new(401, "Unauthorized"));
            }
            if bot.webhook.is_some() {
                return Err(Refusal::new(
                    409,
                    "Conflict: can't use getUpdates method while webhook is active; use \
                     deleteWebhook to delete the webhook first",
                ));
            }
            let mine = *asked.get_or_insert_with(|| {
                bot.poll += 1;
                bot.poll
            });
            if bot.poll != mine {
                return Err(Refusal::new(
                    409,
                    "Conflict: terminated by other getUpdates request; make sure that only one \
                     bot instance is running",
                ));
            }
            if let Some(offset) = offset.take() {
                let all = std::mem::take(&mut bot.pending);
                let (done, waiting): (Vec<_>, Vec<_>) =
                    all.into_iter().partition(|(id, _)| *id < offset && !bot.again.contains(id));
                bot.past.extend(done);
                bot.pending.extend(waiting);
            }
            if is_late || !bot.pending.is_empty() {
                let given = bot.pending.iter().take(limit);
                let (ids, raw): (Vec<i64>, Vec<&str>) =
                    given.map(|(id, raw)| (*id, raw.as_str())).unzip();
                bot.again.retain(|id| !ids.contains(id));
                return Ok(format!("[{}]", raw.join(",")));
            }
        }
        tokio::select! {
            _ = changes.changed() => {}
            () = &mut late => is_late = true,
        }
    }
}

fn file(shared: &Shared, path: &str) -> Vec<u8> {
    let mut state = locked(&shared.state);
    if let Some((token, path)) = path.split_once('/') {
        let arguments = Map::from_iter([("path".to_owned(), json!(path))]);
        state.requests.push((token.to_owned(), "file".to_owned(), arguments));
    }
    let found = path.split_once('/').and_then(|(token, path)| {
        state.bots.get(token).filter(|bot| !bot.is_revoked)?;
        state.files.get(path.strip_prefix("documents/")?)
    });
    match found {
        Some(content) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", content.len());
            [head.as_bytes(), content].concat()
        }
        None => http(404, &Refusal::new(404, "Not Found").body()),
    }
}

fn http(status: u16, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The request behind some bytes: JSON, or a form.
fn request(token: &str, method: &str, seen: &Seen) -> Request {
    let mut request = Request {
        token: token.to_owned(),
        method: method.to_owned(),
        arguments: Map::new(),
        file: None,
    };
    let kind = seen.header("content-type").unwrap_or_default();
    match kind.split_once("boundary=") {
        Some((_, boundary)) => read_form(&mut request, boundary, &seen.body),
        None => request.arguments = seen.json().as_object().cloned().unwrap_or_default(),
    }
    request
}

fn read_form(request: &mut Request, boundary: &str, body: &[u8]) {
    let mark = format!("--{boundary}").into_bytes();
    let mut starts: Vec<usize> = vec![];
    let mut at = 0;
    while let Some(next) = position(&body[at..], &mark) {
        starts.push(at + next);
        at += next + mark.len();
    }
    for pair in starts.windows(2) {
        let part = &body[pair[0] + mark.len()..pair[1]];
        let Some(head_len) = position(part, b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&part[..head_len]).into_owned();
        let content = part[head_len + 4..].strip_suffix(b"\r\n").unwrap_or_default();
        let value = |name: &str| {
            let from = head.find(&format!("{name}=\""))? + name.len() + 2;
            Some(head[from..].split('"').next().unwrap_or_default().to_owned())
        };
        match (value(" name"), value("filename")) {
            (_, Some(file_name)) => request.file = Some((file_name, content.to_vec())),
            (Some(name), None) => {
                let text = String::from_utf8_lossy(content).into_owned();
                request.arguments.insert(name, Value::String(text));
            }
            (None, None) => {}
        }
    }
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Calls the webhook that is set now with one update after the other, until another is set.
async fn call_webhook(shared: Arc<Shared>, token: String) {
    let mut changes = shared.changes();
    let mut generation = None;
    loop {
        changes.mark_unchanged();
        let next = {
            let state = locked(&shared.state);
            let Some(bot) = state.bots.get(&token) else { return };
            let Some(webhook) = &bot.webhook else { return };
            if *generation.get_or_insert(bot.webhook_generation) != bot.webhook_generation {
                return;
            }
            let next = bot.pending.front().cloned();
            next.map(|(id, raw)| (id, raw, webhook.url.clone(), webhook.secret.clone()))
        };
        let Some((id, raw, url, secret)) = next else {
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        };
        let status = post(&shared, &url, &secret, &raw).await;
        if status.is_some_and(|status| (200..300).contains(&status)) {
            let mut state = locked(&shared.state);
            if let Some(bot) = state.bots.get_mut(&token)
                && bot.pending.front().is_some_and(|(first, _)| *first == id)
            {
                bot.past.extend(bot.pending.pop_front());
            }
            drop(state);
            shared.changed();
        } else {
            shared.world.clock.sleep(WEBHOOK_AGAIN).await;
        }
    }
}

async fn post(shared: &Shared, url: &str, secret: &str, body: &str) -> Option<u16> {
    let (host, path) = url.strip_prefix("http://")?.split_once('/')?;
    let address = host.parse().ok()?;
    let mut stream = shared.world.network.connect(address).await.ok()?;
    let head = format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         x-telegram-bot-api-secret-token: {secret}\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(body.as_bytes()).await.ok()?;
    stream.flush().await.ok()?;
    let mut answer = vec![];
    while !answer.windows(2).any(|window| window == b"\r\n") {
        if stream.read_buf(&mut answer).await.ok()? == 0 {
            return None;
        }
    }
    String::from_utf8_lossy(&answer).split(' ').nth(1)?.parse().ok()
}
