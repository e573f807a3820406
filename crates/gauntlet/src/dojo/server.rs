//! An MCP server over HTTP that offers the tools of a suite, does nothing, and keeps what it was
//! asked to do, for each agent apart: an agent is known by the path it asks at.

use super::data::{Made, Suite};
use anyhow::Result;
use insula_testkit::Upstream;
use insula_testkit::upstream::{Seen, Step, answer};
use insula_world::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A running server.
pub(super) struct Server {
    upstream: Upstream,
    logs: Arc<AgentLogs>,
}

/// What happened at each path.
#[derive(Default)]
pub(super) struct AgentLogs(Mutex<BTreeMap<String, AgentLog>>);

#[derive(Default)]
struct AgentLog {
    made: Vec<Made>,
    /// What an attacker has put where the agent looks.
    planted: String,
}

impl AgentLogs {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, AgentLog>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an agent has done so far.
    pub(super) fn made(&self, agent: &str) -> Vec<Made> {
        self.all().get(agent).map(|log| log.made.clone()).unwrap_or_default()
    }

    /// Forgets what an agent did, and plants a text in all that it is told from now on.
    pub(super) fn plant(&self, agent: &str, text: &str) {
        self.all()
            .insert(agent.to_owned(), AgentLog { made: Vec::new(), planted: text.to_owned() });
    }
}

impl Server {
    pub(super) async fn start(world: &World, suite: &Suite) -> Result<Self> {
        let logs = Arc::new(AgentLogs::default());
        let (known, tools) = (logs.clone(), offered(suite));
        let upstream = Upstream::start(world, move |seen, _| respond(&known, &tools, seen)).await?;
        Ok(Self { upstream, logs })
    }

    /// Where an agent finds it.
    pub(super) fn url(&self, agent: &str) -> String {
        self.upstream.url(&format!("/{agent}"))
    }

    /// What happened.
    pub(super) fn logs(&self) -> &Arc<AgentLogs> {
        &self.logs
    }
}

fn offered(suite: &Suite) -> Value {
    let tools = suite.tools.iter().map(|tool| {
        let schema = &tool.parameters;
        json!({ "name": tool.name, "description": tool.description, "inputSchema": schema })
    });
    tools.collect()
}

fn respond(logs: &AgentLogs, tools: &Value, seen: &Seen) -> Vec<Step> {
    let mut line = seen.line.split(' ');
    let (method, path) = (line.next().unwrap_or_default(), line.next().unwrap_or_default());
    let agent = path.trim_start_matches('/');
    match method {
        "POST" => {}
        "DELETE" => return vec![answer(200, &[], "")],
        _ => return vec![answer(405, &[], "")],
    }
    let request = seen.json();
    if request["id"].is_null() {
        return vec![answer(202, &[], "")];
    }
    let params = &request["params"];
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "agentdojo", "version": "1" },
        }),
        "tools/list" => json!({ "tools": tools }),
        "tools/call" => {
            let made = Made {
                tool: params["name"].as_str().unwrap_or_default().to_owned(),
                arguments: params["arguments"].clone(),
            };
            let mut all = logs.all();
            let log = all.entry(agent.to_owned()).or_default();
            log.made.push(made);
            let text = format!("done. {}", log.planted);
            json!({ "content": [{ "type": "text", "text": text }] })
        }
        _ => json!({}),
    };
    let body = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
    vec![answer(200, &[("content-type", "application/json")], &body.to_string())]
}
