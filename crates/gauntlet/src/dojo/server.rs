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
    desks: Arc<Desks>,
}

/// What happened at each path.
#[derive(Default)]
pub(super) struct Desks(Mutex<BTreeMap<String, Desk>>);

#[derive(Default)]
struct Desk {
    made: Vec<Made>,
    /// What an attacker has put where the agent looks.
    planted: String,
}

impl Desks {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Desk>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an agent has done so far.
    pub(super) fn made(&self, agent: &str) -> Vec<Made> {
        self.all().get(agent).map(|desk| desk.made.clone()).unwrap_or_default()
    }

    /// Forgets what an agent did, and plants a text in all that it is told from now on.
    pub(super) fn plant(&self, agent: &str, text: &str) {
        self.all().insert(agent.to_owned(), Desk { made: Vec::new(), planted: text.to_owned() });
    }
}

impl Server {
    /// Starts it.
    pub(super) async fn start(world: &World, suite: &Suite) -> Result<Self> {
        let desks = Arc::new(Desks::default());
        let (known, tools) = (desks.clone(), offered(suite));
        let upstream = Upstream::start(world, move |seen, _| respond(&known, &tools, seen)).await?;
        Ok(Self { upstream, desks })
    }

    /// Where an agent finds it.
    pub(super) fn url(&self, agent: &str) -> String {
        self.upstream.url(&format!("/{agent}"))
    }

    /// What happened.
    pub(super) fn desks(&self) -> &Arc<Desks> {
        &self.desks
    }
}

fn offered(suite: &Suite) -> Value {
    let tools = suite.tools.iter().map(|tool| {
        let schema = &tool.parameters;
        json!({ "name": tool.name, "description": tool.description, "inputSchema": schema })
    });
    tools.collect()
}

fn respond(desks: &Desks, tools: &Value, seen: &Seen) -> Vec<Step> {
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
            let mut all = desks.all();
            let desk = all.entry(agent.to_owned()).or_default();
            desk.made.push(made);
            let text = format!("done. {}", desk.planted);
            json!({ "content": [{ "type": "text", "text": text }] })
        }
        _ => json!({}),
    };
    let body = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
    vec![answer(200, &[("content-type", "application/json")], &body.to_string())]
}
