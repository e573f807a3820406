//! The fake daemon's HTTP: calls in and answers out as troubles let them, and streams of events.

use super::Shared;
use super::methods;
use super::state::Trouble;
use crate::upstream::{Seen, read_request};
use crate::world::locked;
use insula_world::{Listener, Stream};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// How often a stream says that it is there.
const KEPT_ALIVE: Duration = Duration::from_secs(15);

pub(super) async fn accept(listener: Box<dyn Listener>, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, shared.clone()));
    }
}

async fn serve(mut stream: Box<dyn Stream>, shared: Arc<Shared>) {
    let mut buffer = vec![];
    while let Some(seen) = read_request(&mut stream, &mut buffer, 0).await {
        let (method, target) = seen.line.split_once(' ').unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match (method, path) {
            ("GET", "/api/v1/check") => {
                if write(&mut stream, &http(200, "")).await.is_err() {
                    return;
                }
            }
            ("GET", "/api/v1/events") => return events(stream, &shared, &seen, query).await,
            ("POST", "/api/v1/rpc") => {
                let (answer, trouble) = answer(&shared, &seen);
                let cut = match trouble {
                    Some(Trouble::Unheard) => 0,
                    Some(Trouble::Silence) => {
                        // Until the client gives up.
                        let _ = stream.read(&mut [0]).await;
                        return;
                    }
                    Some(Trouble::CutAt(cut)) => cut,
                    _ => usize::MAX,
                };
                if write(&mut stream, &answer[..answer.len().min(cut)]).await.is_err() {
                    return;
                }
                if cut < answer.len() {
                    let _ = stream.shutdown().await;
                    return;
                }
            }
            (_, "/api/v1/rpc" | "/api/v1/events" | "/api/v1/check") => {
                let _ = write(&mut stream, &http(405, "")).await;
            }
            _ => {
                let _ = write(&mut stream, &http(404, "")).await;
            }
        }
    }
}

async fn write(stream: &mut Box<dyn Stream>, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}

fn answer(shared: &Shared, seen: &Seen) -> (Vec<u8>, Option<Trouble>) {
    let kind = seen.header("content-type").unwrap_or_default();
    if !kind.starts_with("application/json") {
        return (http(415, ""), None);
    }
    let call = seen.json();
    let method = call.get("method").and_then(Value::as_str).unwrap_or_default();
    let params = call.get("params").cloned().unwrap_or_default();
    let id = call.get("id").cloned().unwrap_or_default();
    let mut state = locked(&shared.state);
    state.now = shared.world.clock.now().as_millis();
    state.requests.push((method.to_owned(), params.clone()));
    let at = state.troubles.iter().position(|(known, _)| known == method);
    let trouble = at.and_then(|at| state.troubles.remove(at)).map(|(_, trouble)| trouble);
    let answered = match &trouble {
        Some(Trouble::Unheard) => vec![0],
        Some(Trouble::Answer { status, body }) => http(*status, body),
        Some(refused @ Trouble::Refuse { .. }) => {
            let body = methods::refused(refused, &id).unwrap_or_default();
            http(200, &body.to_string())
        }
        _ => http(200, &methods::answer(&mut state, method, &params, &id).to_string()),
    };
    drop(state);
    shared.changed();
    let is_done = matches!(trouble, Some(Trouble::Answer { .. } | Trouble::Refuse { .. }));
    (answered, trouble.filter(|_| !is_done))
}

/// Tells an account's events until the client goes, or the stream is cut or falls silent.
async fn events(mut stream: Box<dyn Stream>, shared: &Shared, seen: &Seen, query: &str) {
    let named = query.split('&').find_map(|part| part.strip_prefix("account="));
    let named = named.unwrap_or_default().replace("%2B", "+");
    let behind = seen.header("last-event-id").and_then(|id| id.parse::<usize>().ok());
    let begun = {
        let mut state = locked(&shared.state);
        state.streams += 1;
        let numbers = state.numbers;
        let cut = state.cuts.pop_front();
        state.number_of(&named).map(|account| {
            let delivered = state.accounts.get(&account).map_or(0, |it| it.delivered);
            let at = behind.filter(|_| numbers).unwrap_or(delivered);
            (account, at, numbers, cut.unwrap_or(usize::MAX))
        })
    };
    shared.changed();
    let Some((account, mut at, numbers, cut)) = begun else {
        let _ = write(&mut stream, &http(400, "")).await;
        return;
    };
    let head = "HTTP/1.1 200 OK\r\nContent-type: text/event-stream\r\n\
                Transfer-encoding: chunked\r\n\r\n";
    let mut out = Limited { stream, left: cut };
    if !out.write(head.as_bytes()).await {
        return;
    }
    let mut changes = shared.change.subscribe();
    let mut beat = std::pin::pin!(shared.world.clock.sleep(KEPT_ALIVE));
    loop {
        changes.mark_unchanged();
        let (next, is_wedged, is_gone) = {
            let state = locked(&shared.state);
            let known = state.accounts.get(&account);
            let next = known.and_then(|it| it.events.get(at.checked_sub(it.forgotten)?).cloned());
            (next, state.is_wedged, known.is_none_or(|it| it.is_unlinked))
        };
        if is_wedged {
            let _ = out.stream.read(&mut [0]).await;
            return;
        }
        if is_gone {
            let _ = out.stream.shutdown().await;
            return;
        }
        if let Some(event) = next {
            let id = if numbers { format!("id:{}\n", at + 1) } else { String::new() };
            let data: String = event.lines().map(|line| format!("data:{line}\n")).collect();
            if !out.chunk(&format!("{id}event:receive\n{data}\n")).await {
                return;
            }
            at += 1;
            let mut state = locked(&shared.state);
            if let Some(known) = state.accounts.get_mut(&account) {
                known.delivered = known.delivered.max(at);
            }
            continue;
        }
        tokio::select! {
            biased;
            _ = changes.changed() => {}
            read = out.stream.read_u8() => {
                if read.is_err() {
                    return;
                }
            }
            () = &mut beat => {
                if !out.chunk(":\n").await {
                    return;
                }
                beat.set(shared.world.clock.sleep(KEPT_ALIVE));
            }
        }
    }
}

/// A connection that breaks after so many bytes.
struct Limited {
    stream: Box<dyn Stream>,
    left: usize,
}

impl Limited {
    /// Whether all of it went out.
    async fn write(&mut self, bytes: &[u8]) -> bool {
        let fits = bytes.len().min(self.left);
        self.left -= fits;
        let is_written = write(&mut self.stream, &bytes[..fits]).await.is_ok();
        if fits < bytes.len() {
            let _ = self.stream.shutdown().await;
            return false;
        }
        is_written
    }

    async fn chunk(&mut self, text: &str) -> bool {
        let framed = format!("{:x}\r\n{text}\r\n", text.len());
        self.write(framed.as_bytes()).await
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
