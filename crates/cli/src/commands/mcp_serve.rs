//! `insula mcp serve`: an agent as an MCP server on standard input and output.
//!
//! A bridge and nothing more: each line is one message, which goes to the daemon's `/mcp`, and
//! what comes back is written as lines. Who may do what is decided there.

use crate::arguments::McpServe;
use crate::endpoint::{Answer, Broken, DaemonEndpoint};
use crate::failure::Failure;
use crate::reach::{NO_DAEMON, Reach, part};
use crate::setting::Setting;
use crate::stdio::{fault, lines, write};
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};

/// Requests under way; the next waits.
const AT_ONCE: usize = 32;
/// Requests under way and waiting; more are refused.
const UNANSWERED_MAX: usize = 1_024;
/// Longest event taken in.
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;
const VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";

/// Runs it, until standard input ends and every request is answered.
pub async fn run(reach: &Reach, setting: &Setting, serve: McpServe) -> Result<u8, Failure> {
    let Reach::Daemon(known) = reach else {
        return Err(Failure::Failed(NO_DAEMON.to_owned()));
    };
    let own = serve.token.clone().and_then(|token| reach.speaking_as(token));
    let agent = own.as_ref().unwrap_or(reach).agent_here(&serve.agent).await?;
    let known = known.load_full();
    let token = serve.token.unwrap_or_else(|| known.token.clone());
    let bridge = Arc::new(Bridge {
        path: format!("/mcp?agent={}", part(&agent)),
        line: known.line.clone(),
        token,
        session: Mutex::default(),
        under_way: Mutex::default(),
    });
    bridge.check(&agent).await?;
    let mut lines = lines(&setting.world);
    let (room, mut tasks) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
    while let Some(line) = lines.recv().await {
        let message: Value = match serde_json::from_slice(&line) {
            Ok(message) => message,
            Err(_) => {
                write(&fault(&Value::Null, -32_700, "a line is one message of JSON"));
                continue;
            }
        };
        if bridge.cancels(&message) {
            continue;
        }
        let id = message.get("id").filter(|_| message.get("method").is_some()).cloned();
        if let (Some(id), true) = (&id, tasks.len() >= UNANSWERED_MAX) {
            write(&fault(id, -32_000, "too many requests are under way; wait for answers"));
            continue;
        }
        let is_first = message["method"] == "initialize";
        let (sender, wanted) = (bridge.clone(), Wanted::default());
        let (still, room, is_request) = (wanted.clone(), room.clone(), id.is_some());
        let task = tasks.spawn(async move {
            // Here and not before: a cancellation is read also while others wait for room.
            let _permit = if is_request { room.acquire_owned().await.ok() } else { None };
            sender.send(message, &still).await;
        });
        if let Some(id) = id {
            bridge.note(&id, Under { task, wanted });
        }
        // What follows belongs to the session that this begins.
        if is_first {
            tasks.join_next().await;
        }
        while tasks.try_join_next().is_some() {}
    }
    while tasks.join_next().await.is_some() {}
    bridge.end().await;
    Ok(0)
}

/// What is said when the daemon went away.
fn silent(error: &Broken) -> String {
    match error {
        Broken::Connect(_) => {
            "the daemon does not run any more; start it with `insula up`, then connect again"
                .to_owned()
        }
        error => format!("the daemon does not answer: {error}; `insula status` says how it is"),
    }
}

struct Bridge {
    line: DaemonEndpoint,
    path: String,
    token: String,
    /// The session that the daemon opened, in the versions that have one.
    session: Mutex<Option<String>>,
    /// Requests that are not answered yet.
    under_way: Mutex<HashMap<String, Under>>,
}

/// A request that is not answered yet.
struct Under {
    task: AbortHandle,
    wanted: Wanted,
}

/// Whether anybody still waits for the answer to a request. To one that was cancelled nothing
/// is written any more, whatever is on its way.
#[derive(Clone, Default)]
struct Wanted(Arc<AtomicBool>);

impl Wanted {
    fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn write(&self, message: &Value) {
        if !self.0.load(Ordering::Acquire) {
            write(message);
        }
    }
}

impl Bridge {
    fn session(&self) -> Option<String> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, id: &Value, under: Under) {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.retain(|_, under| !under.task.is_finished());
        under_way.insert(id.to_string(), under);
    }

    /// Whether a message cancels a request here, by dropping it. With a session the daemon
    /// hears of it, and stops what was begun.
    fn cancels(&self, message: &Value) -> bool {
        if message["method"] != "notifications/cancelled" {
            return false;
        }
        let has_session = self.session().is_some();
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(under) = under_way.remove(&message["params"]["requestId"].to_string()) {
            under.wanted.cancel();
            if !has_session {
                under.task.abort();
            }
        }
        !has_session
    }

    /// Finds out at once whether the daemon lets us, rather than at the first question.
    async fn check(&self, agent: &str) -> Result<(), Failure> {
        let ping = json!({ "jsonrpc": "2.0", "id": 0, "method": "ping" });
        let response = self.post(&ping).await.map_err(|error| Failure::Failed(silent(&error)))?;
        if response.status.is_success() {
            return Ok(());
        }
        let said = response.whole().await.unwrap_or_default();
        let said: Value = serde_json::from_slice(&said).unwrap_or_default();
        let message = said["error"]["message"].as_str().unwrap_or("the daemon refused").to_owned();
        Err(Failure::Failed(format!("agent `{agent}` can't be served: {message}")))
    }

    async fn post(&self, message: &Value) -> Result<Answer, Broken> {
        let session = self.session();
        let mut headers = vec![("accept", "application/json, text/event-stream")];
        headers.extend(session.as_deref().map(|session| ("mcp-session-id", session)));
        // A message that stands for itself repeats in headers what it says inside.
        if let Some(version) = message["params"]["_meta"][VERSION_META].as_str() {
            headers.push(("mcp-protocol-version", version));
            headers.push(("mcp-method", message["method"].as_str().unwrap_or_default()));
            headers.extend(message["params"]["name"].as_str().map(|name| ("mcp-name", name)));
        }
        self.line.send(Method::POST, &self.path, &self.token, &headers, message.to_string()).await
    }

    /// Sends one message and writes what comes back.
    async fn send(&self, message: Value, wanted: &Wanted) {
        let id = message.get("id").cloned().unwrap_or_default();
        let is_request = message.get("method").is_some() && !id.is_null();
        if let Err(why) = self.exchange(&message, &id, wanted).await
            && is_request
        {
            wanted.write(&fault(&id, -32_000, &why));
        }
    }

    async fn exchange(&self, message: &Value, id: &Value, wanted: &Wanted) -> Result<(), String> {
        let mut response = self.post(message).await.map_err(|error| silent(&error))?;
        if message["method"] == "initialize"
            && let Some(session) = response.headers.get("mcp-session-id")
        {
            let session = session.to_str().ok().map(str::to_owned);
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = session;
        }
        let streams = response
            .headers
            .get(CONTENT_TYPE)
            .is_some_and(|it| it.as_bytes().starts_with(b"text/event-stream"));
        if !streams {
            let status = response.status;
            let body = response.whole().await.map_err(|error| error.to_string())?;
            if body.is_empty() {
                return Ok(());
            }
            let answer: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
            if answer.get("jsonrpc").is_some() {
                wanted.write(&answer);
                return Ok(());
            }
            let said = answer["error"]["message"].as_str();
            return Err(said.map_or_else(|| format!("the daemon answered {status}"), str::to_owned));
        }
        let (mut buffer, mut answered) = (Vec::new(), false);
        while let Some(chunk) = response.piece().await.map_err(|error| error.to_string())? {
            buffer.extend_from_slice(&chunk);
            if buffer.len() > EVENT_BYTES_MAX {
                return Err("the daemon's answer is too long".to_owned());
            }
            while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = buffer.drain(..end + 2).collect();
                for data in event.split(|byte| *byte == b'\n') {
                    let Some(data) = data.strip_prefix(b"data: ") else { continue };
                    if let Ok(value) = serde_json::from_slice::<Value>(data) {
                        answered |= value.get("id") == Some(id);
                        wanted.write(&value);
                    }
                }
            }
        }
        if answered { Ok(()) } else { Err("the daemon broke off".to_owned()) }
    }

    /// Lets the daemon forget the session.
    async fn end(&self) {
        if let Some(session) = self.session() {
            let session = [("mcp-session-id", &*session)];
            let ended =
                self.line.send(Method::DELETE, &self.path, &self.token, &session, String::new());
            // It would be forgotten in time anyway.
            let _ = ended.await;
        }
    }
}
