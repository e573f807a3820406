//! `insula acp`: an agent for editors that speak the Agent Client Protocol, on standard streams.
//!
//! A translator and nothing more: what is asked goes to the daemon's API, as whoever began the
//! command or as the bearer of a token, and what happens there comes back as frames. Who may do
//! what, and which folder is granted, is decided there.

mod answer;
mod client;
mod history;
mod session;
mod tool;
mod turn;

use crate::arguments::Acp;
use crate::failure::Failure;
use crate::reach::{NO_DAEMON, Reach, part};
use crate::setting::Setting;
use crate::stdio::{lines, write};
use answer::{Fault, INVALID_REQUEST, PARSE};
use client::Client;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use insula_world::World;
use serde_json::{Value, json};
use session::EditorSession;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The version of the protocol that is spoken.
const PROTOCOL_VERSION: u64 = 1;
/// Requests under way; more are refused.
const UNANSWERED_MAX: usize = 256;
/// How long what is under way may take to end once the editor is gone.
const ENDING_MAX: Duration = Duration::from_secs(5);
/// Conversations that are open at a time.
const SESSIONS_MAX: usize = 64;

/// What all requests work with.
struct Bridge<'r> {
    reach: &'r Reach,
    world: &'r World,
    /// The agent, by its id.
    agent: String,
    /// Whose conversations they are: the account of whoever speaks.
    account: String,
    /// What the operator grants of an editor's folder that the agent does not have.
    share: Option<String>,
    sessions: Mutex<HashMap<String, EditorSession>>,
    client: Client,
    is_initialized: AtomicBool,
    /// How many conversations were begun.
    begun: AtomicU64,
}

/// Runs it, until standard input ends.
pub async fn run(reach: &Reach, setting: &Setting, acp: Acp) -> Result<u8, Failure> {
    if !reach.is_daemon() {
        return Err(Failure::Failed(NO_DAEMON.to_owned()));
    }
    let account = acp.token.as_deref().map_or("local", account_of).to_owned();
    let own = acp.token.and_then(|token| reach.speaking_as(token));
    let reach = own.as_ref().unwrap_or(reach);
    // At once, rather than at the first question.
    let agent = reach.agent_here(&acp.agent).await?;
    let share = match (acp.share, acp.read_only) {
        (false, _) => None,
        (true, false) => Some("rw".to_owned()),
        (true, true) => Some("ro".to_owned()),
    };
    let bridge = Bridge {
        reach,
        world: &setting.world,
        agent,
        account,
        share,
        sessions: Mutex::default(),
        client: Client::default(),
        is_initialized: AtomicBool::new(false),
        begun: AtomicU64::new(0),
    };
    let mut lines = lines(&setting.world);
    let mut under_way = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            Some(()) = under_way.next(), if !under_way.is_empty() => {}
            line = lines.recv() => {
                let Some(line) = line else { break };
                let Some((id, method, params)) = bridge.read(&line) else { continue };
                if under_way.len() >= UNANSWERED_MAX {
                    let fault = Fault::new(INVALID_REQUEST, "too many requests are under way");
                    write(&fault.frame(&id));
                    continue;
                }
                under_way.push(bridge.answer(id, method, params));
            }
        }
    }
    // The editor is gone: what it asked for and nobody hears is not gone on with.
    let ending = async {
        bridge.client.leave();
        bridge.stop_all().await;
        while under_way.next().await.is_some() {
            bridge.stop_all().await;
        }
    };
    tokio::select! {
        () = ending => {}
        () = setting.world.clock.sleep(ENDING_MAX) => {}
    }
    Ok(0)
}

impl Bridge<'_> {
    /// Reads a frame; a request or notification to be dealt with, where it is one.
    fn read(&self, line: &[u8]) -> Option<(Value, String, Value)> {
        let frame: Value = match serde_json::from_slice(line) {
            Ok(frame) => frame,
            Err(_) => {
                write(&Fault::new(PARSE, "a line is one message of JSON").frame(&Value::Null));
                return None;
            }
        };
        let wrong = |id: &Value, message: &str| {
            write(&Fault::new(INVALID_REQUEST, message).frame(id));
            None
        };
        let Some(fields) = frame.as_object() else {
            return wrong(&Value::Null, "a message is an object; batches are not taken");
        };
        let id = fields.get("id").cloned().unwrap_or_default();
        if !matches!(id, Value::Null | Value::String(_) | Value::Number(_)) {
            return wrong(&Value::Null, "`id` is a text or a number");
        }
        if frame["jsonrpc"] != "2.0" {
            return wrong(&id, "`jsonrpc` is \"2.0\"");
        }
        match fields.get("method") {
            Some(Value::String(method)) => {
                Some((id, method.clone(), fields.get("params").cloned().unwrap_or_default()))
            }
            Some(_) => wrong(&id, "`method` is a text"),
            None if fields.contains_key("result") || fields.contains_key("error") => {
                self.client.take_answer(&id, &frame);
                None
            }
            None => wrong(&id, "neither a request nor an answer"),
        }
    }

    /// Deals with a request or a notification. To the latter nothing is said.
    async fn answer(&self, id: Value, method: String, params: Value) {
        let answer = self.dispatch(&method, &params).await;
        if id.is_null() {
            return;
        }
        write(&match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(fault) => fault.frame(&id),
        });
    }

    async fn dispatch(&self, method: &str, params: &Value) -> Result<Value, Fault> {
        if method == "initialize" {
            return Ok(self.initialize(params));
        }
        if !self.is_initialized.load(Ordering::Acquire) {
            return Err(Fault::new(INVALID_REQUEST, "say `initialize` first"));
        }
        match method {
            "authenticate" => Err(Fault::params(
                "there is nothing to authenticate by: who may talk is decided by --token, or by \
                 whose home it is",
            )),
            "session/new" => self.begin(params).await,
            "session/load" => self.load(params, true).await,
            "session/resume" => self.load(params, false).await,
            "session/list" => self.list(params).await,
            "session/close" => self.close(params).await,
            "session/cancel" => self.cancel(params).await,
            "session/set_mode" => self.choose(params, "mode", "modeId").map(|_| json!({})),
            "session/set_config_option" => {
                let option = text(params, "configId")?;
                self.choose(params, option, "value")
            }
            "session/prompt" => self.prompt(params).await,
            other => Err(Fault::unknown_method(other)),
        }
    }

    fn initialize(&self, params: &Value) -> Value {
        self.client.introduce(&params["clientCapabilities"]);
        self.is_initialized.store(true, Ordering::Release);
        json!({
            "protocolVersion": PROTOCOL_VERSION,
            "agentInfo": {
                "name": "insula",
                "title": format!("Insula: {}", self.agent),
                "version": env!("CARGO_PKG_VERSION"),
            },
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
                "mcpCapabilities": { "http": false, "sse": false },
                "sessionCapabilities": { "list": {}, "resume": {}, "close": {} },
            },
            "authMethods": [],
        })
    }

    /// Begins a conversation in a folder.
    async fn begin(&self, params: &Value) -> Result<Value, Fault> {
        let cwd = folder(params)?;
        let session = self.offered(cwd).await?;
        let World { clock, random, .. } = self.world;
        let number = self.begun.fetch_add(1, Ordering::Relaxed).to_string();
        let at = clock.now().as_millis().to_string();
        let id = random.stream(&["editor", &self.agent, &at, &number]).id();
        let name = session::name(&id, cwd);
        let told = json!({
            "sessionId": name, "modes": session.modes(), "configOptions": session.options(),
        });
        self.keep(name, session)?;
        Ok(told)
    }

    /// Asks the daemon whether a conversation can be held in a folder, and how.
    async fn offered(&self, cwd: &str) -> Result<EditorSession, Fault> {
        let wanted = json!({ "folder": { "path": cwd, "share": self.share } });
        let offer = match self.reach.post(&self.path("editor"), Some(wanted)).await {
            Err(Failure::Refused { code, message, .. }) if code == "unfit_folder" => {
                return Err(Fault::params(&format!("`cwd`: {message}")));
            }
            offer => offer?,
        };
        Ok(EditorSession::offered(cwd, &offer))
    }

    fn keep(&self, name: String, session: EditorSession) -> Result<(), Fault> {
        let mut sessions = self.sessions();
        if sessions.len() >= SESSIONS_MAX && !sessions.contains_key(&name) {
            let message = format!("{SESSIONS_MAX} conversations are open; close one first");
            return Err(Fault::new(INVALID_REQUEST, &message));
        }
        sessions.insert(name, session);
        Ok(())
    }

    /// Opens a conversation that was held before, and says what was said in it where that is
    /// wanted.
    async fn load(&self, params: &Value, tells: bool) -> Result<Value, Fault> {
        let name = text(params, "sessionId")?;
        let cwd = folder(params)?;
        let missing = || Fault::params("there is no such conversation; session/list says which");
        if session::cwd_of(name).ok_or_else(missing)? != cwd {
            return Err(Fault::params("the conversation belongs to another folder"));
        }
        let number = self.number_of(name).await?.ok_or_else(missing)?;
        let session = self.offered(cwd).await?;
        if tells {
            self.tell_history(name, &number).await?;
        }
        let told = json!({ "modes": session.modes(), "configOptions": session.options() });
        self.keep(name.to_owned(), session)?;
        Ok(told)
    }

    /// Forgets that a conversation is open, and stops what runs in it. What was said stays.
    async fn close(&self, params: &Value) -> Result<Value, Fault> {
        let name = self.open_name(params)?;
        self.stop(&name).await?;
        self.sessions().remove(&name);
        Ok(json!({}))
    }

    /// Stops what runs in a conversation.
    async fn cancel(&self, params: &Value) -> Result<Value, Fault> {
        let name = self.open_name(params)?;
        self.client.cancel(&name);
        self.stop(&name).await?;
        Ok(json!({}))
    }

    async fn stop(&self, name: &str) -> Result<Value, Fault> {
        self.post("stop", json!({ "session": name })).await
    }

    async fn stop_all(&self) {
        let names: Vec<String> = {
            let sessions = self.sessions();
            let busy = sessions.iter().filter(|(_, session)| session.is_busy);
            busy.map(|(name, _)| name.clone()).collect()
        };
        for name in names {
            // Nobody is left who could be told that it failed.
            let _ = self.stop(&name).await;
        }
    }

    /// Chooses a mode or a model for the turns to come.
    fn choose(&self, params: &Value, option: &str, key: &str) -> Result<Value, Fault> {
        let name = self.open_name(params)?;
        let value = text(params, key)?;
        let mut sessions = self.sessions();
        let Some(session) = sessions.get_mut(&name) else { return Err(not_open()) };
        session.choose(option, value).map_err(|why| Fault::params(&why))?;
        Ok(json!({ "configOptions": session.options() }))
    }

    /// The name of a conversation that is open here.
    fn open_name(&self, params: &Value) -> Result<String, Fault> {
        let name = text(params, "sessionId")?;
        let is_open = self.sessions().contains_key(name);
        is_open.then(|| name.to_owned()).ok_or_else(not_open)
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<String, EditorSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/agents/{}/{rest}", part(&self.agent))
    }

    async fn post(&self, rest: &str, body: Value) -> Result<Value, Fault> {
        Ok(self.reach.post(&self.path(rest), Some(body)).await?)
    }
}

/// Whose conversations the bearer of a token holds: those of its id, which is no secret.
fn account_of(token: &str) -> &str {
    token.trim_start_matches("insula_").split('_').next().unwrap_or_default()
}

fn not_open() -> Fault {
    Fault::params(
        "no conversation of that name is open here: session/new or session/load opens one",
    )
}

fn text<'p>(params: &'p Value, key: &str) -> Result<&'p str, Fault> {
    let found = params[key].as_str().filter(|text| !text.is_empty());
    found.ok_or_else(|| Fault::params(&format!("`{key}` is missing, or no text")))
}

/// The folder of a conversation that is begun or loaded. What else an editor brings along is
/// refused where it would be left out silently.
fn folder(params: &Value) -> Result<&str, Fault> {
    let is_there = |key: &str| params[key].as_array().is_some_and(|all| !all.is_empty());
    if is_there("mcpServers") {
        return Err(Fault::params(
            "an agent has the MCP servers of its own settings (`mcp_servers`); those of an editor \
             are not connected",
        ));
    }
    if is_there("additionalDirectories") {
        return Err(Fault::params("a conversation works in one folder; leave the others out"));
    }
    text(params, "cwd")
}
