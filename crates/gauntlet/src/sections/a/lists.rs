//! A2: every list there is shows what is one's own.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::puppet::{Act, Call, Script};
use crate::{control, hold};
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A2", variant: "the models a token may use", run: models },
    Attempt {
        row: "A2",
        variant: "the daemon's lists, with every verb there is",
        run: of_the_daemon,
    },
    Attempt { row: "A2", variant: "processes", run: processes },
    Attempt { row: "A2", variant: "sessions", run: sessions },
    Attempt { row: "A2", variant: "skills", run: skills },
    Attempt { row: "A2", variant: "metrics, as a stranger and with a token", run: metrics },
    Attempt { row: "A2", variant: "agents, as MCP tools of the daemon", run: over_mcp },
    Attempt { row: "A2", variant: "cron jobs", run: cron },
];

fn models(ground: &Ground) -> Outcome {
    let token = ground.token("a")?;
    let answer = ground.api(&token.text, "GET", "/v1/models", &Value::Null)?.json();
    let listed = answer["data"].as_array().cloned().unwrap_or_default();
    let ids: Vec<&str> = listed.iter().filter_map(|model| model["id"].as_str()).collect();
    control!(ids.contains(&"a"), "a is not listed: {answer}");
    hold!(ids == ["a"], "a's token lists {ids:?}");
    let one = |id: &str| {
        let answer = ground.api(&token.text, "GET", &format!("/v1/models/{id}"), &Value::Null)?;
        anyhow::Ok(answer.comparable().replace(&format!("`{id}`"), "`…`"))
    };
    hold!(one("b")? == one("x")?, "b answers otherwise than nobody: {}", one("b")?);
    Ok(Verdict::Held)
}

fn of_the_daemon(ground: &Ground) -> Outcome {
    let token = ground.mint("a", &["chat", "read", "approve", "manage", "admin"])?;
    for path in [
        "agents",
        "status",
        "doctor",
        "applied",
        "audit",
        "audit/verify",
        "audit/chains",
        "tokens",
        "secrets",
        "daemon/secrets",
        "approvals",
        "pairing",
        "usage",
    ] {
        let path = format!("/api/{path}");
        let admins = ground.admin("GET", &path, &Value::Null)?;
        control!(admins.status == 200, "{path} for the admin: {admins:?}");
        let answer = ground.api(&token.text, "GET", &path, &Value::Null)?;
        hold!(answer.status == 403, "{path}: {answer:?}");
        hold!(!answer.body.contains("\"b\""), "{path}: {answer:?}");
    }
    Ok(Verdict::Held)
}

fn processes(ground: &Ground) -> Outcome {
    let canary = ground.canary("b's process");
    let command = format!("echo {}; sleep 1000", canary.text);
    let started = json!({ "command": command, "background": true });
    ground.call("b", "listed", "terminal", started)?;
    let list = json!({ "action": "list" });
    let own = ground.call("b", "listed", "process", list.clone())?;
    control!(own.contains(&canary.text), "b does not see its own: {own}");
    let before = ground.call("a", "fresh", "process", list.clone())?;
    hold!(canary.found_in(before.as_bytes()).is_none(), "a sees: {before}");
    let shell = ground.shell(
        "a",
        "fresh",
        "ps axww 2>/dev/null; cat /proc/[0-9]*/cmdline | tr '\\0' ' '",
    )?;
    hold!(canary.found_in(shell.as_bytes()).is_none(), "a's shell sees: {shell}");
    ground.call("b", "listed", "process", json!({ "action": "kill", "session_id": "p1" }))?;
    Ok(Verdict::Held)
}

fn sessions(ground: &Ground) -> Outcome {
    ground.turn("b", "a-session-of-b", Script::say("x"))?;
    ground.turn("a", "a-session-of-a", Script::say("x"))?;
    let token = ground.mint("a", &["read"])?;
    let own = ground.api(&token.text, "GET", "/api/agents/a/sessions", &Value::Null)?;
    control!(own.body.contains("a-session-of-a"), "a does not see its own: {own:?}");
    hold!(!own.body.contains("a-session-of-b"), "a sees b's: {own:?}");
    hold!(!own.body.contains("agent:b:"), "a sees b's: {own:?}");
    Ok(Verdict::Held)
}

fn skills(ground: &Ground) -> Outcome {
    let own = ground.call("b", "skills", "skills_list", json!({}))?;
    control!(own.contains("craft"), "b does not see its own: {own}");
    let told = ground.call("a", "skills", "skills_list", json!({}))?;
    let canary = ground.planted("b-skill");
    hold!(!told.contains("craft"), "a sees: {told}");
    let view = |name: &str| ground.call("a", "skills", "skill_view", json!({ "name": name }));
    let (theirs, nobodys) = (view("craft")?, view("crabs")?);
    hold!(canary.found_in(theirs.as_bytes()).is_none(), "a views: {theirs}");
    let plain = |told: &str| told.replace("craft", "…").replace("crabs", "…");
    hold!(plain(&theirs) == plain(&nobodys), "{theirs} instead of {nobodys}");
    Ok(Verdict::Held)
}

fn metrics(ground: &Ground) -> Outcome {
    ground.turn("b", "counted", Script::say("x"))?;
    let all = ground.admin("GET", "/metrics", &Value::Null)?.body;
    control!(all.contains("\"b\""), "the admin does not see b: {all}");
    let token = ground.mint("a", &["chat", "read", "approve", "manage", "admin"])?;
    let seen = ground.api(&token.text, "GET", "/metrics", &Value::Null)?.body;
    hold!(!seen.contains("\"b\""), "a's token sees b: {seen}");
    let open = crate::machine::request(ground.listen()?, "GET", "/metrics", &[], "")?.body;
    hold!(!open.contains("\"b\"") && !open.contains("\"a\""), "a stranger sees: {open}");
    Ok(Verdict::Held)
}

fn over_mcp(ground: &Ground) -> Outcome {
    let token = ground.mint("a", &["chat", "read", "approve", "manage", "admin"])?;
    let ask = |method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let headers = [
            format!("Authorization: Bearer {}", token.text),
            "Content-Type: application/json".to_owned(),
            "Accept: application/json, text/event-stream".to_owned(),
        ];
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        crate::machine::request(ground.listen()?, "POST", "/mcp", &headers, &body.to_string())
    };
    let begun = ask(
        "initialize",
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } }),
    )?;
    control!(begun.status == 200, "MCP does not begin: {begun:?}");
    let session = begun.head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
    });
    let bearer = format!("Authorization: Bearer {}", token.text);
    let id = format!("Mcp-Session-Id: {}", session.unwrap_or_default());
    for method in ["tools/list", "resources/list", "prompts/list"] {
        let body = json!({ "jsonrpc": "2.0", "id": 2, "method": method });
        let headers = [
            &*bearer,
            &*id,
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
        ];
        let told =
            crate::machine::request(ground.listen()?, "POST", "/mcp", &headers, &body.to_string())?;
        hold!(!told.body.contains("\"b\"") && !told.body.contains("agent b"), "{method}: {told:?}");
        for name in ["b-skill", "b-soul", "b-private"] {
            let canary = ground.planted(name);
            hold!(canary.found_in(told.body.as_bytes()).is_none(), "{method}: {told:?}");
        }
    }
    Ok(Verdict::Held)
}

fn cron(ground: &Ground) -> Outcome {
    let canary = ground.canary("a job of b");
    let body = json!({ "name": "secret-plan", "schedule": "@yearly", "prompt": canary.text });
    let added = ground.admin("POST", "/api/agents/b/jobs", &body)?;
    control!(added.body.contains("secret-plan"), "b's job does not come to be: {}", added.body);
    let token = ground.mint("a", &["chat", "read", "approve", "manage", "admin"])?;
    let asked = |path: &str| ground.api(&token.text, "GET", path, &Value::Null);
    for (own, nobodys) in [
        ("/api/agents/b/jobs", "/api/agents/x/jobs"),
        ("/api/agents/b/jobs/secret-plan", "/api/agents/x/jobs/secret-plan"),
        ("/api/agents/b/jobs/secret-plan/runs", "/api/agents/x/jobs/secret-plan/runs"),
    ] {
        let (one, other) = (asked(own)?.comparable(), asked(nobodys)?.comparable());
        let other = other.replace("`x`", "`b`");
        hold!(one == other, "{own} answers otherwise than nobody: {one}");
    }
    let all = asked("/api/jobs")?;
    hold!(canary.found_in(all.body.as_bytes()).is_none(), "every job is listed: {}", all.body);
    let list =
        Script::steps(vec![Act::Call(vec![Call::new("cronjob", json!({ "action": "list" }))])]);
    let told = ground.turn("a", "jobs", list)?.told();
    hold!(!told.contains("secret-plan"), "a's model lists b's job: {told}");
    Ok(Verdict::Held)
}
