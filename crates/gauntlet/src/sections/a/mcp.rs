//! A6: an MCP server of the same name in two agents is two servers.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::puppet::Call;
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A6", variant: "two programs, each with its own token", run: own_token },
    Attempt {
        row: "A6",
        variant: "what one tells its server the other's does not know",
        run: own_state,
    },
    Attempt { row: "A6", variant: "the environment of the server", run: environment },
    Attempt { row: "A6", variant: "the other's files and the daemon's, by the server", run: files },
    Attempt { row: "A6", variant: "over HTTP, each with its own header", run: over_http },
    Attempt { row: "A6", variant: "a server that only the other declares", run: undeclared },
];

const SERVER: &str = include_str!("../../../assets/mcp_server.py");

/// Two agents with a server called `x` each, and b with one more.
pub fn served(stage: &Stage) -> Result<Ground> {
    let x = "x: {command: python3, args: [server.py], env: {TOKEN: '${secret:KEY}'}}";
    let far = "far: {url: '{web}/mcp', headers: {X-Key: 'key ${secret:KEY}'}, connect_timeout: 5s}";
    let only = "only: {command: python3, args: [server.py]}";
    let common = "tools: {also_allow: ['mcp__x__*', 'mcp__far__*', 'mcp__only__*']}, secrets: [KEY], network: {allow: ['{web_address}']}, approvals: {mode: 'off'}";
    let a = format!("{common}, mcp_servers: {{{x}, {far}}}");
    let b = format!("{common}, mcp_servers: {{{x}, {far}, {only}}}");
    let plan = Plan::new().agent("a", &a).agent("b", &b);
    let plan = plan.secret("a", "KEY", "{canary:a-key}").secret("b", "KEY", "{canary:b-key}");
    let plan = plan.file("agents/b/workspace/secret.txt", "{canary:b-file}");
    let plan = plan.file("agents/a/workspace/server.py", SERVER);
    Ground::raise(stage, plan.file("agents/b/workspace/server.py", SERVER))
}

fn x(ground: &Ground, agent: &str, tool: &str, text: &str) -> Result<String> {
    ground.call(agent, "one", &format!("mcp__x__{tool}"), json!({ "text": text }))
}

fn own_token(ground: &Ground) -> Outcome {
    for agent in ["a", "b"] {
        x(ground, agent, "keep", "")?;
        let kept = ground.text(&format!("agents/{agent}/workspace/kept-by-server"));
        let own = ground.planted(&format!("{agent}-key")).text;
        hold!(kept == own, "the server of {agent} was given {kept}");
        let starts = ground.text(&format!("agents/{agent}/workspace/starts"));
        control!(!starts.is_empty(), "the server of {agent} never started");
    }
    let leak = ground.leaked_to("a", &[ground.planted("b-key")])?;
    hold!(leak.is_none(), "{}", leak.unwrap_or_default());
    let leak = ground.leaked_to("b", &[ground.planted("a-key")])?;
    hold!(leak.is_none(), "{}", leak.unwrap_or_default());
    Ok(Verdict::Held)
}

fn own_state(ground: &Ground) -> Outcome {
    let canary = ground.canary("what b told its server");
    x(ground, "b", "state", &canary.text)?;
    let own = x(ground, "b", "state", "again")?;
    control!(own.contains(&canary.text), "b's server does not remember: {own}");
    let told = x(ground, "a", "state", "what do you know")?;
    hold!(canary.found_in(told.as_bytes()).is_none(), "a's server says: {told}");
    Ok(Verdict::Held)
}

fn environment(ground: &Ground) -> Outcome {
    let told = x(ground, "a", "environ", "")?;
    control!(told.contains("TOKEN="), "no environment: {told}");
    let theirs = ground.planted("b-key");
    hold!(theirs.found_in(told.as_bytes()).is_none(), "b's key in: {told}");
    for name in ["INSULA", "NO_COLOR", "KEY="] {
        hold!(!told.contains(name), "{name} in: {told}");
    }
    Ok(Verdict::Held)
}

fn files(ground: &Ground) -> Outcome {
    let own = x(ground, "b", "read", "secret.txt")?;
    control!(own.contains(&ground.planted("b-file").text), "b's server does not read: {own}");
    let home = ground.path("")?.display().to_string();
    for path in [
        format!("{home}/agents/b/workspace/secret.txt"),
        "../../b/workspace/secret.txt".to_owned(),
        format!("/proc/1/root{home}/agents/b/workspace/secret.txt"),
        format!("{home}/run/admin.token"),
        format!("{home}/config.yaml"),
        "../agent.db".to_owned(),
        format!("/proc/{}/environ", ground.pid()?),
        "/etc/shadow".to_owned(),
    ] {
        let told = x(ground, "a", "read", &path)?;
        hold!(told.contains("error "), "{path}: {told}");
    }
    Ok(Verdict::Held)
}

fn over_http(ground: &Ground) -> Outcome {
    // The server on the web answers nothing that is MCP; what it was sent is what counts.
    let before = ground.web.seen().len();
    for agent in ["a", "b"] {
        ground.call(agent, "http", "mcp__far__any", json!({ "text": "x" }))?;
    }
    let seen: Vec<String> = ground.web.seen()[before..]
        .iter()
        .filter_map(|seen| seen.header("x-key").map(str::to_owned))
        .collect();
    let all: Vec<_> = ground
        .web
        .seen()
        .into_iter()
        .filter_map(|it| it.header("x-key").map(str::to_owned))
        .collect();
    let key = |agent: &str| format!("key {}", ground.planted(&format!("{agent}-key")).text);
    control!(
        all.contains(&key("a")) && all.contains(&key("b")),
        "not both asked: {all:?}, of late {seen:?}"
    );
    let others = all.iter().filter(|it| **it != key("a") && **it != key("b")).count();
    hold!(others == 0, "headers of neither: {all:?}");
    // One connection never carries both.
    let mut by_connection = std::collections::BTreeMap::new();
    for seen in ground.web.seen() {
        if let Some(key) = seen.header("x-key") {
            let first = by_connection.entry(seen.connection).or_insert_with(|| key.to_owned());
            hold!(first == key, "one connection carried two agents' keys");
        }
    }
    Ok(Verdict::Held)
}

fn undeclared(ground: &Ground) -> Outcome {
    let own = ground.call("b", "one", "mcp__only__pid", json!({}))?;
    control!(!own.starts_with("refused"), "b's own server does not answer: {own}");
    let calls = ["mcp__only__pid", "mcp__nothing__pid"]
        .map(|tool| Call::new(tool, Value::Object(Default::default())));
    let told = ground.calls("a", "one", calls.to_vec())?;
    let plain = |told: &str| told.replace("only", "…").replace("nothing", "…");
    hold!(plain(&told[0]) == plain(&told[1]), "{} instead of {}", told[0], told[1]);
    hold!(told[0].starts_with("refused"), "a called b's server: {}", told[0]);
    let token = ground.mint("a", &["read", "manage", "admin"])?;
    let listed = ground.api(&token.text, "GET", "/api/agents/a/mcp", &Value::Null)?;
    hold!(!listed.body.contains("only"), "a's list names it: {listed:?}");
    Ok(Verdict::Held)
}
