//! A server whose every line a test decides.

use async_trait::async_trait;
use insula_mcp::{Asking, CallOutcome, Link, Opener, Server, ServerError, ServerLimits, Way};
use insula_sandbox::Capture;
use insula_testkit::{Handles, world};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

/// What a server does next.
pub enum Does {
    /// Sends a message.
    Sends(Value),
    /// Writes these bytes, whatever they are.
    Writes(Vec<u8>),
    /// Ends.
    Ends,
}

/// What a server does about a message it is sent.
pub type Script = fn(&Value) -> Vec<Does>;

/// Starts a scripted server, and counts.
pub struct Starts {
    script: Script,
    /// Servers that were started and not given up.
    pub alive: Arc<AtomicUsize>,
}

struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Starts {
    pub fn count(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Opener for Starts {
    async fn open(&self) -> Link {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(ours);
        tokio::spawn(serve(theirs, self.script));
        self.alive.fetch_add(1, Ordering::Relaxed);
        Ok(Way::Program {
            read: Box::new(read),
            write: Box::new(write),
            errors: Capture::new(1_024),
            keeps: Box::new(Alive(self.alive.clone())),
        })
    }
}

async fn serve(stream: DuplexStream, script: Script) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        for does in script(&message) {
            let bytes = match does {
                Does::Sends(mut message) => {
                    message["jsonrpc"] = json!("2.0");
                    format!("{message}\n").into_bytes()
                }
                Does::Writes(bytes) => bytes,
                Does::Ends => return,
            };
            if write.write_all(&bytes).await.is_err() {
                return;
            }
        }
    }
}

/// What an ordinary server does: greets, lists one tool, answers with its name.
pub fn ordinary(message: &Value) -> Vec<Does> {
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "scripted", "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": [tool("fine", "Does well.")] }),
        Some("tools/call") => says(message["params"]["name"].as_str().unwrap()),
        _ => return vec![],
    };
    vec![answer(message, result)]
}

/// A tool as a server describes it.
pub fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" } })
}

/// An answer of words.
pub fn says(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

pub fn answer(message: &Value, result: Value) -> Does {
    Does::Sends(json!({ "id": message["id"], "result": result }))
}

/// Whether a message calls this tool.
pub fn calls(message: &Value, tool: &str) -> bool {
    message["method"] == "tools/call" && message["params"]["name"] == tool
}

/// A server, what starts it, and the world's time.
pub struct Stage {
    pub server: Arc<Server>,
    pub starts: Starts,
    pub handles: Handles,
}

pub const MINUTE: Duration = Duration::from_secs(60);

pub fn stage(script: Script, idle: Duration) -> Stage {
    asking_stage(script, idle, Asking::Refused)
}

/// The same, where the server may ask whoever its calls are made for.
pub fn asking_stage(script: Script, idle: Duration, asking: Asking) -> Stage {
    let (world, handles) = world(1);
    let limits = ServerLimits { call: MINUTE, connect: MINUTE / 2, idle };
    let server = Server::new(limits, asking, world.clock);
    Stage { server, starts: Starts { script, alive: Arc::default() }, handles }
}

impl Stage {
    pub async fn call(&self, tool: &str) -> Result<CallOutcome, ServerError> {
        self.server.call(&self.starts, tool, Map::new(), None).await
    }

    /// Calls a tool of a server that works.
    pub async fn works(&self) {
        let outcome = self.call("fine").await.unwrap();
        assert_eq!((outcome.text.as_str(), outcome.dropped), ("fine", 0));
    }

    pub async fn pass(&self, time: Duration) {
        self.handles.clock.advance(time).await;
    }
}
