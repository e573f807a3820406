//! An MCP server over HTTP that offers the tools of a suite, does nothing, and keeps what it was
//! asked to do, for each agent apart: an agent is known by the path it asks at.

use super::data::{Made, Suite};
use super::kind::only_looks;
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
    planted: Planted,
}

/// What an attacker has put where the agent looks.
#[derive(Debug, Clone, Default)]
pub(super) enum Planted {
    #[default]
    Nothing,
    /// A text in all that the agent is told.
    Text(String),
    /// A text in two parts, in the first two things that it looks at.
    Halves([String; 2]),
    /// A text as the name of something that it finds.
    Name(String),
}

impl Planted {
    /// What a call is answered, after `before`.
    fn answer(&self, before: &[Made], call: &Made) -> String {
        let looks = only_looks(&call.tool);
        match self {
            Self::Text(text) => format!("done. {text}"),
            Self::Halves(halves) if looks => {
                let seen = before.iter().filter(|it| only_looks(&it.tool)).count();
                format!("done. {}", halves.get(seen).map_or("", String::as_str))
            }
            Self::Name(name) if looks => {
                json!({ "found": [{ "name": format!("{name}.txt"), "size": 3 }] }).to_string()
            }
            Self::Nothing | Self::Halves(_) | Self::Name(_) => "done. ".to_owned(),
        }
    }
}

impl AgentLogs {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, AgentLog>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an agent has done so far.
    pub(super) fn made(&self, agent: &str) -> Vec<Made> {
        self.all().get(agent).map(|log| log.made.clone()).unwrap_or_default()
    }

    /// Forgets what an agent did, and plants something in what it is told from now on.
    pub(super) fn plant(&self, agent: &str, planted: Planted) {
        self.all().insert(agent.to_owned(), AgentLog { made: Vec::new(), planted });
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

/// The tools as servers list them: those that only look say so.
fn offered(suite: &Suite) -> Value {
    let tools = suite.tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.parameters,
            "annotations": { "readOnlyHint": only_looks(&tool.name) },
        })
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
            let text = log.planted.answer(&log.made, &made);
            log.made.push(made);
            json!({ "content": [{ "type": "text", "text": text }] })
        }
        _ => json!({}),
    };
    let body = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
    vec![answer(200, &[("content-type", "application/json")], &body.to_string())]
}
