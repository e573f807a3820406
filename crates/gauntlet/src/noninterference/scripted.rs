//! The other side of the wire: a model that does what the message tells it, hooks, a search, a web
//! site and an MCP server. What is answered depends on the request alone. And a shell that runs
//! nothing.

use super::cast::{SERVER, WATCHED};
use super::observe::Observed;
use super::stranger::{self, Strangers};
use async_trait::async_trait;
use insula_testkit::upstream::{Seen, Step, Upstream, answer, chunk, event_stream, head};
use insula_tools::{Cleared, Hands, Output, Risk, Tool, ToolError};
use insula_world::World;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Where the web site is.
const SITE: [u8; 4] = [93, 184, 216, 34];

/// What each model waits for that holds back its answer, by agent, in the order in which they
/// began.
#[derive(Default)]
pub struct Holding(Mutex<BTreeMap<String, Vec<Arc<Notify>>>>);

impl Holding {
    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Arc<Notify>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, agent: &str) -> Arc<Notify> {
        let word = Arc::new(Notify::new());
        self.all().entry(agent.to_owned()).or_default().push(word.clone());
        word
    }

    /// What lets the models of one agent go on that hold back now.
    pub fn take(&self, agent: &str) -> Vec<Arc<Notify>> {
        self.all().remove(agent).unwrap_or_default()
    }
}

/// Starts everything that agents talk to, on the network of `world`.
pub async fn start(
    world: &World,
    observed: &Arc<Observed>,
    holding: &Arc<Holding>,
    strangers: Strangers,
) -> std::io::Result<()> {
    let (seen_by, held) = (observed.clone(), holding.clone());
    let main: SocketAddr = SERVER.parse().map_err(std::io::Error::other)?;
    Upstream::listen(world, main, move |seen, _| serve(seen, &seen_by, &held, strangers)).await?;
    let seen_by = observed.clone();
    let site = SocketAddr::from((SITE, 80));
    Upstream::listen(world, site, move |seen, _| page(seen, &seen_by, strangers)).await?;
    Ok(())
}

/// The agent that a path belongs to, and the rest of the path.
fn owner(seen: &Seen) -> (&str, &str) {
    let path = seen.line.split(' ').nth(1).unwrap_or_default();
    let path = path.trim_start_matches('/');
    path.split_once('/').unwrap_or((path, ""))
}

fn note(seen: &Seen, stream: &str, observed: &Observed) {
    if owner(seen).0 == WATCHED {
        let headers: Vec<String> =
            seen.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let body = String::from_utf8_lossy(&seen.body);
        observed.note(stream, format!("{}\n{}\n\n{body}", seen.line, headers.join("\n")));
    }
}

fn page(seen: &Seen, observed: &Observed, strangers: Strangers) -> Vec<Step> {
    note(seen, "site", observed);
    let (id, rest) = owner(seen);
    let more = if strangers.speak { stranger::page(rest) } else { String::new() };
    let html = format!("<title>{rest}</title><p>The page about {rest}, for {id}.</p>{more}");
    vec![answer(200, &[("content-type", "text/html")], &html)]
}

fn serve(seen: &Seen, observed: &Observed, holding: &Holding, strangers: Strangers) -> Vec<Step> {
    let (id, rest) = owner(seen);
    let json_type = [("content-type", "application/json")];
    match rest.split(['/', '?']).next().unwrap_or_default() {
        "v1" => {
            note(seen, &format!("model:{}", conversation(&seen.json())), observed);
            model(seen, id, holding, strangers)
        }
        "hook" => {
            note(seen, "hook", observed);
            vec![answer(200, &json_type, &hook(&seen.json()).to_string())]
        }
        "searx" => {
            note(seen, "search", observed);
            let content = format!("{rest}{}", strangers.words());
            let result = json!({ "title": format!("For {id}"), "url": "http://site.test/x", "content": content });
            vec![answer(200, &json_type, &json!({ "results": [result] }).to_string())]
        }
        "mcp" => {
            note(seen, "mcp", observed);
            mcp(seen, id, strangers)
        }
        _ => vec![answer(404, &[], "")],
    }
}

/// What a request is about: how its conversation began. Children that an agent starts together
/// ask in an order that nobody promised, and each of them in its own.
fn conversation(body: &Value) -> String {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let first = messages.iter().find(|message| message["role"] != "system");
    first.map(|message| message["content"].to_string()).unwrap_or_default()
}

/// A hook that objects to one word and asks an admin about another.
fn hook(payload: &Value) -> Value {
    let text = payload.to_string();
    if payload["hook_event_name"] == "pre_llm_call" {
        return json!({ "context": format!("{} bytes were told", text.len()) });
    }
    if text.contains("compass") {
        return json!({ "decision": "block", "reason": "no compass here" });
    }
    if text.contains("kettle") {
        return json!({ "decision": "approve", "reason": "a kettle" });
    }
    json!({})
}

fn mcp(seen: &Seen, id: &str, strangers: Strangers) -> Vec<Step> {
    if !seen.line.starts_with("POST") {
        return vec![answer(405, &[], "")];
    }
    let asked = seen.json();
    let result = match asked["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "desk", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{
            "name": "echo",
            "description": format!("Says it again, for {id}.{}", strangers.description()),
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
        }] }),
        "tools/call" => {
            let key = seen.header("x-key").unwrap_or("no key");
            let said =
                format!("{} {}{}", asked["params"]["arguments"], key.len(), strangers.words());
            json!({ "content": [{ "type": "text", "text": said }] })
        }
        _ => return vec![answer(202, &[], "")],
    };
    let body = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string();
    vec![answer(200, &[("content-type", "application/json")], &body)]
}

/// Role and words of each message of a request after the system's.
fn said(body: &Value) -> Vec<(&str, String)> {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let said = messages.iter().filter(|message| message["role"] != "system").map(|message| {
        let words = match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("|")
            }
            _ => String::new(),
        };
        (message["role"].as_str().unwrap_or_default(), words)
    });
    said.collect()
}

/// The program in a message. Messages in a row come as one: the last one that has a program counts.
fn program(text: &str) -> Option<Vec<Value>> {
    text.rsplit("\n\n").find_map(|said| {
        let at = said.find("[{")?;
        serde_json::Deserializer::from_str(&said[at..]).into_iter().next()?.ok()
    })
}

fn model(seen: &Seen, id: &str, holding: &Holding, strangers: Strangers) -> Vec<Step> {
    let body = seen.json();
    if body["model"] == "broken" {
        return vec![answer(404, &[], "{\"error\": {\"message\": \"no such model\"}}")];
    }
    let said = said(&body);
    let from = said.iter().rposition(|(role, text)| *role == "user" && program(text).is_some());
    let acts = from.and_then(|from| program(&said[from].1)).unwrap_or_default();
    let since = &said[from.unwrap_or(0)..];
    let at = since.iter().filter(|(role, _)| *role == "assistant").count();
    let at = at - if strangers.speak { stranger::tries(&body).min(at) } else { 0 };
    if strangers.speak
        && let Some(notes) = stranger::notes(&body)
    {
        return said_at_once(seen, &json!({ "content": notes }), "stop");
    }
    let act = acts.get(at).cloned().unwrap_or_else(|| json!({ "say": "done" }));
    if let Some(status) = act["fail"].as_u64().and_then(|it| u16::try_from(it).ok()) {
        let headers = [("content-type", "application/json"), ("retry-after", "2")];
        return vec![answer(status, &headers, "{\"error\": {\"message\": \"not now\"}}")];
    }
    if strangers.speak
        && id == WATCHED
        && let Some(call) = stranger::call(&body)
    {
        return said_at_once(seen, &json!({ "tool_calls": [call] }), "tool_calls");
    }
    let (delta, reason) = match &act["call"] {
        Value::String(tool) => {
            let arguments = stranger::arguments(&act["arguments"], &body);
            let function = json!({ "name": tool, "arguments": arguments });
            let call = json!({ "index": 0, "id": format!("c{at}"), "type": "function", "function": function });
            (json!({ "tool_calls": [call] }), "tool_calls")
        }
        _ if act["tell"] == true => {
            let results = since.iter().filter(|(role, _)| *role == "tool");
            let results: Vec<&str> = results.map(|(_, text)| text.as_str()).collect();
            (json!({ "content": format!("told: {}", results.join("\n--\n")) }), "stop")
        }
        _ => (
            {
                let say = act["say"].as_str().or(act["cut"].as_str()).unwrap_or("done");
                json!({ "content": stranger::with_what_was_read(say, &body) })
            },
            "stop",
        ),
    };
    if act["cut"].is_string() {
        let delta = json!({ "choices": [{ "index": 0, "delta": delta }] });
        return vec![head("text/event-stream"), chunk(format!("data: {delta}\n\n")), Step::Close];
    }
    let mut steps = said_at_once(seen, &delta, reason);
    if act["hold"] == true {
        // After the first words: what is cut off now leaves half an answer on the wire.
        steps.insert(2, Step::Wait(holding.hold(id)));
    }
    steps
}

/// A whole answer.
fn said_at_once(seen: &Seen, delta: &Value, reason: &str) -> Vec<Step> {
    let delta = json!({ "choices": [{ "index": 0, "delta": delta }] }).to_string();
    let stop =
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }).to_string();
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": seen.body.len() / 4, "completion_tokens": 3 } });
    event_stream([&*delta, &*stop, &*usage.to_string(), "[DONE]"])
}

/// A command whose output no model is shown whole.
pub const LONG: &str = "cat everything";

/// How many lines that is.
const LONG_LINES: usize = 6_000;

/// A shell that runs nothing, and falls over when it is told to.
struct Shell;

#[async_trait]
impl Tool for Shell {
    fn name(&self) -> &str {
        "terminal"
    }

    fn description(&self) -> &str {
        "Runs a command."
    }

    fn parameters(&self) -> &str {
        r#"{"type":"object","properties":{"command":{"type":"string"}}}"#
    }

    fn risk<'a>(&self, arguments: &'a Value) -> Risk<'a> {
        Risk::Command(Cow::Borrowed(arguments["command"].as_str().unwrap_or_default()))
    }

    async fn run(&self, _: &Hands<'_>, arguments: &Cleared) -> Result<Output, ToolError> {
        // What is too long for a model is kept in a file, whose path the model is told.
        let more = if arguments["command"] == LONG {
            "and so on\n".repeat(LONG_LINES)
        } else {
            String::new()
        };
        Ok(Output::Text(format!("ran {}{more}", arguments["command"])))
    }
}

/// The built-in tools, with that shell in place of everything that starts programs.
pub const TOOLS: &[&dyn Tool] = &[
    &insula_tools::Clarify,
    &insula_tools::CronJob,
    &insula_tools::DelegateTask,
    &insula_tools::KanbanComment,
    &insula_tools::KanbanComplete,
    &insula_tools::KanbanCreate,
    &insula_tools::KanbanList,
    &insula_tools::KanbanShow,
    &insula_tools::MemorySearch,
    &insula_tools::MessageAgent,
    &insula_tools::Notify,
    &insula_tools::Patch,
    &insula_tools::ReadFile,
    &insula_tools::Remember,
    &insula_tools::SearchFiles,
    &insula_tools::SendMessage,
    &insula_tools::SessionSearch,
    &insula_tools::SkillManage,
    &insula_tools::SkillView,
    &insula_tools::SkillsList,
    &insula_tools::Todo,
    &insula_tools::WebExtract,
    &insula_tools::WebSearch,
    &insula_tools::WriteFile,
    &Shell,
];
