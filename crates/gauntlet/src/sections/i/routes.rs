//! I1: every route and verb of the daemon's own description, by tokens that are not for it.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::machine::{self, Answer};
use crate::puppet::{Script, obey};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
use serde_json::{Value, json};

/// What a route asks of whoever comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Nothing.
    Open,
    /// A signature or a handshake of its own.
    Own,
    /// Any token; which agents it shows depends on the token.
    Token,
    /// A token of the agent with this verb.
    Verb(&'static str),
    /// The admin of the daemon.
    Daemon,
}

/// Whose token it takes, as the manual says; `None` for what the manual does not know.
fn need(method: &str, path: &str) -> Option<Need> {
    let Some(rest) = path.strip_prefix("/api/agents/{id}") else {
        return match path {
            "/healthz" | "/readyz" | "/metrics" => Some(Need::Open),
            "/hooks/{platform}/{account}" | "/chat/ws" | "/api/sign-in" => Some(Need::Own),
            "/mcp"
            | "/api/me"
            | "/api/map"
            | "/api/now"
            | "/api/inbox"
            | "/api/inbox/answered"
            | "/api/inbox/grants"
            | "/api/sessions"
            | "/api/calendar"
            | "/api/costs"
            | "/api/tools"
            | "/api/events"
            | "/v1/models"
            | "/v1/models/{id}"
            | "/v1/chat/completions"
            | "/v1/responses"
            | "/v1/responses/{id}"
            | "/api/boards"
            | "/api/boards/{board}/cards"
            | "/api/boards/{board}/cards/{card}"
            | "/api/boards/{board}/cards/{card}/files"
            | "/api/boards/{board}/cards/{card}/files/{hash}"
            | "/api/boards/{board}/events" => Some(Need::Token),
            "/api/accounts"
            | "/api/accounts/test"
            | "/api/platforms"
            | "/api/agents"
            | "/api/applied"
            | "/api/approvals"
            | "/api/audit"
            | "/api/audit/chains"
            | "/api/audit/verify"
            | "/api/config/check"
            | "/api/config/edit"
            | "/api/config/files"
            | "/api/config/files/{name}"
            | "/api/config/schema"
            | "/api/config/templates"
            | "/api/config/templates/{name}"
            | "/api/daemon/secrets"
            | "/api/daemon/secrets/{name}"
            | "/api/doctor"
            | "/api/gauntlet"
            | "/api/gauntlet/events"
            | "/api/jobs"
            | "/api/pairing"
            | "/api/reload"
            | "/api/route/explain"
            | "/api/secrets"
            | "/api/sign-in/links"
            | "/api/sessions/search"
            | "/api/status"
            | "/api/tokens"
            | "/api/tokens/{id}"
            | "/api/usage" => Some(Need::Daemon),
            _ => None,
        };
    };
    let first = rest.trim_start_matches('/').split('/').next().unwrap_or_default();
    let (reads, says, ends) = (method == "GET", method == "POST", method == "DELETE");
    Some(match first {
        "" if reads => Need::Verb("read"),
        "" if ends => Need::Daemon,
        "context" | "tools" | "audit" | "usage" | "events" | "skills-verify" | "memory"
        | "turns" | "jobs"
            if reads =>
        {
            Need::Verb("read")
        }
        "sessions" | "mcp" if !reads => Need::Daemon,
        "sessions" | "mcp" => Need::Verb("read"),
        "messages" | "stop" | "retry" | "new" | "remembered" | "forget" | "editor"
        | "conversation"
            if says =>
        {
            Need::Verb("chat")
        }
        "conversations" if reads => Need::Verb("chat"),
        "turns" if says => Need::Verb("manage"),
        "approvals" if reads || says => Need::Verb("approve"),
        "grants" | "files" if reads || ends => Need::Verb("approve"),
        "jobs" if says || ends => Need::Verb("manage"),
        "pairing" => Need::Verb("approve"),
        "pause" | "resume" | "reload" | "restart" if says => Need::Verb("manage"),
        "home" if ends => Need::Verb("manage"),
        "home" => Need::Daemon,
        "deliveries" | "skills" if reads => Need::Verb("read"),
        "deliveries" | "skills" => Need::Verb("manage"),
        "archive" | "memory" if says => Need::Daemon,
        "secrets" | "explain" => Need::Daemon,
        _ => return None,
    })
}

/// A route: its method, its path as it is described, and what it asks.
type Route = (String, String, Need);

/// Every route, each known to [`need`].
fn routes(ground: &Ground) -> Result<Vec<Route>> {
    let document = ground.admin("GET", "/api/openapi.json", &Value::Null)?.json();
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    let (mut all, mut unknown) = (vec![], vec![]);
    for (path, methods) in paths {
        for method in methods.as_object().into_iter().flat_map(|it| it.keys()) {
            let method = method.to_uppercase();
            match need(&method, &path) {
                Some(need) => all.push((method, path.clone(), need)),
                None => unknown.push(format!("{method} {path}")),
            }
        }
    }
    anyhow::ensure!(unknown.is_empty(), "no attempt knows whose token these take: {unknown:?}");
    anyhow::ensure!(all.len() > 70, "only {} routes are described", all.len());
    Ok(all)
}

/// A path with an agent and an id in every other place.
fn filled(path: &str, agent: &str, id: &str) -> String {
    let mut path = path.replace("/api/agents/{id}", &format!("/api/agents/{agent}"));
    while let (Some(from), Some(to)) = (path.find('{'), path.find('}')) {
        path.replace_range(from..=to, id);
    }
    path
}

fn body(path: &str, agent: &str) -> Value {
    if path.ends_with("/approvals/{approval}") {
        return json!({ "decision": "approve" });
    }
    json!({ "text": "hello", "message": "hello", "session": "s", "model": agent, "id": agent,
        "messages": [{ "role": "user", "content": "hello" }], "input": "hello",
        "code": "AAAAAAAA", "value": "x", "target": "1", "scope": "global" })
}

/// What is asked with any header line, or with none.
fn asked(ground: &Ground, token: Option<&str>, route: &Route, agent: &str) -> Result<Answer> {
    let (method, path, _) = route;
    let bearer = token.map(|token| format!("Authorization: Bearer {token}"));
    let headers: Vec<&str> =
        bearer.as_deref().into_iter().chain(["Content-Type: application/json"]).collect();
    let body = body(path, agent).to_string();
    machine::request(ground.listen()?, method, &filled(path, agent, "1"), &headers, &body)
}

fn plain(answer: &Answer, agent: &str) -> String {
    let marks = ["`", "\"", "\\\""];
    marks.iter().fold(answer.comparable(), |text, mark| {
        text.replace(&format!("{mark}{agent}{mark}"), "`…`")
    })
}

/// Agents with things that have ids, and some in every other state.
pub fn raise(stage: &Stage) -> Result<Ground> {
    let plan = Plan::new()
        .top("approvals: {mode: manual, timeout: 10m}\nstore: {durability: process}")
        .agent("a", "tools: coding, memory: true")
        .agent("b", "tools: coding, memory: true")
        .agent("p", "tools: coding")
        .agent("q", "tools: coding")
        .agent("r", "tools: coding")
        .file("agents/f/agent.yaml", "tolls: 1\n");
    let ground = Ground::raise(stage, plan)?;
    for (agent, change) in [("p", "pause"), ("q", "archive")] {
        let path = format!("/api/agents/{agent}/{change}");
        let answer = ground.admin("POST", &path, &Value::Null)?;
        anyhow::ensure!(answer.status == 200, "{path}: {answer:?}");
    }
    Ok(ground)
}

/// Whoever has no token is told the same, whatever there is.
fn strangers(ground: &Ground, token: Option<&str>) -> Outcome {
    let before = ground.puppets.count();
    for route in routes(ground)? {
        if matches!(route.2, Need::Open | Need::Own) {
            continue;
        }
        let (there, absent) =
            (asked(ground, token, &route, "b")?, asked(ground, token, &route, "x")?);
        hold!(there.status == 401, "{} {}: {there:?}", route.0, route.1);
        hold!(plain(&there, "b") == plain(&absent, "x"), "{route:?}: {there:?} {absent:?}");
    }
    hold!(ground.puppets.count() == before, "a model was asked");
    Ok(Verdict::Held)
}

fn without(ground: &Ground) -> Outcome {
    strangers(ground, None)
}

fn made_up(ground: &Ground) -> Outcome {
    let real = ground.token("a")?.text.clone();
    let (stem, _) = real.rsplit_once('_').unwrap_or((&real, ""));
    for token in ["insula_a_b", "", "x", stem, &format!("{real}0"), &real.to_uppercase()] {
        let verdict = strangers(ground, Some(token))?;
        hold!(verdict == Verdict::Held, "with `{token}`: {verdict:?}");
    }
    Ok(Verdict::Held)
}

fn revoked(ground: &Ground) -> Outcome {
    let token = ground.mint("b", &["chat", "read", "approve", "manage", "admin"])?;
    let works = ground.api(&token.text, "GET", "/api/agents/b", &Value::Null)?;
    control!(works.status == 200, "{works:?}");
    let gone = ground.admin("DELETE", &format!("/api/tokens/{}", token.id), &Value::Null)?;
    control!((200..300).contains(&gone.status), "{gone:?}");
    strangers(ground, Some(&token.text))
}

/// With a verb, only what that verb opens.
fn another_verb(ground: &Ground) -> Outcome {
    for verb in ["chat", "read", "approve", "manage"] {
        let token = ground.mint("b", &[verb])?.text;
        for route in routes(ground)? {
            let is_open = match route.2 {
                Need::Verb(needed) => needed == verb,
                Need::Daemon => false,
                Need::Open | Need::Own | Need::Token => continue,
            };
            if is_open {
                continue;
            }
            let answer = asked(ground, Some(&token), &route, "b")?;
            hold!(answer.status == 403, "`{verb}` on {} {}: {answer:?}", route.0, route.1);
        }
    }
    Ok(Verdict::Held)
}

/// Whatever state another's agent is in, it does not exist.
fn in_every_state(ground: &Ground) -> Outcome {
    let token = ground.mint("a", &["chat", "read", "approve", "manage", "admin"])?.text;
    for agent in ["b", "f", "p", "q"] {
        for route in routes(ground)? {
            if !matches!(route.2, Need::Verb(_)) && !route.1.starts_with("/v1") {
                continue;
            }
            let there = asked(ground, Some(&token), &route, agent)?;
            let absent = asked(ground, Some(&token), &route, "x")?;
            hold!(plain(&there, agent) == plain(&absent, "x"), "{route:?}: {there:?} {absent:?}");
        }
    }
    Ok(Verdict::Held)
}

/// Ids of another's things, on one's own routes.
fn ids_of_another(ground: &Ground) -> Outcome {
    let canary = ground.canary("b's things");
    ground.turn_saying("b", "things", &canary.text, Script::say(&canary.text))?;
    let remember = json!({ "action": "add", "target": "memory", "content": canary.text });
    ground.turn("b", "things", obey::one("memory", remember))?;
    let mut ids: Vec<String> = (1..12).map(|it: u32| it.to_string()).collect();
    for list in ["sessions", "turns", "memory", "approvals", "grants", "deliveries"] {
        let listed = ground.admin("GET", &format!("/api/agents/b/{list}"), &Value::Null)?.json();
        let entries = listed.as_array().cloned().unwrap_or_default();
        let id = |it: &Value| match &it["id"] {
            Value::String(id) => Some(id.clone()),
            Value::Number(id) => Some(id.to_string()),
            _ => None,
        };
        ids.extend(entries.iter().filter_map(id));
    }
    control!(ids.len() > 12, "b has nothing with an id: {ids:?}");
    let own = ground.token("b")?.text.clone();
    let made =
        ground.api(&own, "POST", "/v1/responses", &json!({ "model": "b", "input": "hi" }))?;
    ids.push(made.json()["id"].as_str().unwrap_or("1").to_owned());
    let token = ground.mint("a", &["chat", "read", "approve", "manage", "admin"])?.text;
    for (method, path, need) in routes(ground)? {
        let has_place = path.matches('{').count() > usize::from(path.contains("/agents/{id}"));
        if !has_place || matches!(need, Need::Daemon | Need::Own) || method != "GET" {
            continue;
        }
        for id in &ids {
            let answer = ground.api(&token, &method, &filled(&path, "a", id), &Value::Null)?;
            let shown = canary.found_in(answer.body.as_bytes());
            hold!(shown.is_none(), "{method} {path} with {id}: {answer:?}");
        }
    }
    Ok(Verdict::Held)
}

/// Calls a tool of the daemon's MCP server, as a client that has begun a session.
pub fn mcp(ground: &Ground, token: &str, tool: &str, arguments: Value) -> Result<Answer> {
    let about = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "g", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about });
    let begun = ground.api(token, "POST", "/mcp", &hello)?;
    let is_session = |line: &&str| line.to_ascii_lowercase().starts_with("mcp-session-id:");
    let session = begun.head.lines().find(is_session).unwrap_or_default().to_owned();
    anyhow::ensure!(!session.is_empty(), "no session was begun: {begun:?}");
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
    let bearer = format!("Authorization: Bearer {token}");
    let accept = "Accept: application/json, text/event-stream";
    let headers = [bearer.as_str(), "Content-Type: application/json", accept, &session];
    machine::request(ground.listen()?, "POST", "/mcp", &headers, &call.to_string())
}

/// Every tool of the MCP server, with another's agent.
fn by_mcp(ground: &Ground) -> Outcome {
    let token = ground.mint("a", &["chat", "read", "approve"])?.text;
    let own = mcp(ground, &token, "sessions", json!({ "agent": "a" }))?;
    control!(own.status == 200 && !own.body.contains("initialize"), "{own:?}");
    let before = ground.prompts_of("b").len();
    let calls = [
        ("talk", "message"),
        ("sessions", "query"),
        ("session", "session"),
        ("approvals", "x"),
        ("approve", "approval"),
    ];
    for (tool, key) in calls {
        let ask = |agent: &str| mcp(ground, &token, tool, json!({ "agent": agent, key: "1" }));
        let (there, absent) = (ask("b")?, ask("x")?);
        hold!(plain(&there, "b") == plain(&absent, "x"), "{tool}: {there:?} {absent:?}");
    }
    hold!(ground.prompts_of("b").len() == before, "the model of b was asked");
    Ok(Verdict::Held)
}

/// Figures that anybody reads do not count what agents do.
fn without_a_token_nothing_counts(ground: &Ground) -> Outcome {
    let look = || -> Result<String> {
        let mut all = String::new();
        for route in routes(ground)?.iter().filter(|it| it.2 == Need::Open) {
            all += &asked(ground, None, route, "b")?.body;
        }
        Ok(all)
    };
    ground.turn("b", "counted", Script::say("once"))?;
    let one = look()?;
    // More is asked, said, opened and made by agents; nothing by whoever looks.
    for number in 0..3 {
        ground.turn("b", &format!("counted-{number}"), Script::say("again"))?;
    }
    let added = ground.cli(&["agents", "add", "one-more", "--model", "puppet/one-more"]);
    control!(added.code == Some(0), "{added:?}");
    let paused = ground.admin("POST", "/api/agents/r/pause", &Value::Null)?;
    control!(paused.status == 200, "{paused:?}");
    let two = look()?;
    let changed: Vec<&str> = two.lines().filter(|line| !one.contains(*line)).collect();
    let is_of_process = |line: &&&str| line.starts_with("process_") || line.contains("uptime");
    let told: Vec<&&str> = changed.iter().filter(|line| !is_of_process(line)).collect();
    hold!(told.is_empty(), "whoever has no token reads: {told:?}");
    Ok(Verdict::Held)
}

/// I1. Tokens do not expire yet: the description has no field for it.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "I1", variant: "without a token, every route", run: without },
    Attempt { row: "I1", variant: "with a token that was made up, every route", run: made_up },
    Attempt { row: "I1", variant: "with a token that was revoked, every route", run: revoked },
    Attempt { row: "I1", variant: "with another verb, every route", run: another_verb },
    Attempt { row: "I1", variant: "of another agent in every state", run: in_every_state },
    Attempt { row: "I1", variant: "with ids of another's things", run: ids_of_another },
    Attempt { row: "I1", variant: "every tool of the MCP server", run: by_mcp },
    Attempt {
        row: "I1",
        variant: "what is open to all counts nobody",
        run: without_a_token_nothing_counts,
    },
];
