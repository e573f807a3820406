//! A13: whether another agent exists can't be told, by bytes, numbers or prompts.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::{control, hold};
use anyhow::Result;
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A13", variant: "every route of the API, with every verb", run: routes },
    Attempt { row: "A13", variant: "errors of tools", run: errors },
    Attempt { row: "A13", variant: "numbers that count", run: numbers },
    Attempt { row: "A13", variant: "a's prompt with b in the house and without", run: prompt },
    Attempt { row: "A13", variant: "the API that speaks OpenAI's", run: completions },
    Attempt { row: "A13", variant: "a failed agent and a paused one", run: failed },
    Attempt { row: "A13", variant: "by timing", run: timing },
];

/// Every route about an agent that the API describes, with its methods.
fn about_agents(ground: &Ground) -> Result<Vec<(String, String)>> {
    let document = ground.admin("GET", "/api/openapi.json", &Value::Null)?.json();
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    let mut all = vec![];
    for (path, methods) in paths {
        if path.starts_with("/api/agents/{id}") {
            let methods = methods.as_object().cloned().unwrap_or_default();
            all.extend(methods.keys().map(|method| (method.to_uppercase(), path.clone())));
        }
    }
    anyhow::ensure!(all.len() > 20, "the API describes too little: {all:?}");
    Ok(all)
}

fn routes(ground: &Ground) -> Outcome {
    let all = about_agents(ground)?;
    for verbs in [
        &["chat"][..],
        &["read"],
        &["approve"],
        &["manage"],
        &["admin"],
        &["chat", "read", "approve", "manage", "admin"],
    ] {
        let token = ground.mint("a", verbs)?;
        for (method, path) in &all {
            let asked = |agent: &str| {
                let path = path.replacen("{id}", agent, 1);
                // The other parts of the path are things that b has.
                let path = path
                    .replace("{session}", "1")
                    .replace("{fragment}", "1")
                    .replace("{name}", "craft");
                let path =
                    path.split('/').map(|part| if part.starts_with('{') { "1" } else { part });
                let path = path.collect::<Vec<_>>().join("/");
                let answer = ground.api(&token.text, method, &path, &json!({}))?;
                anyhow::Ok(answer.comparable().replace(&format!("`{agent}`"), "`…`"))
            };
            let (b, nobody) = (asked("b")?, asked("x")?);
            hold!(b == nobody, "{verbs:?} {method} {path}: {b}\ninstead of\n{nobody}");
        }
    }
    let state = ground.admin("GET", "/api/agents/b", &Value::Null)?.json();
    hold!(state["state"] == "ready", "b is {state}");
    Ok(Verdict::Held)
}

fn errors(ground: &Ground) -> Outcome {
    let home = ground.path("")?.display().to_string();
    let calls = |agent: &str| {
        let path = format!("{home}/agents/{agent}/workspace/secret.txt");
        vec![
            Call::new("read_file", json!({ "path": path })),
            Call::new("write_file", json!({ "path": path, "content": "x" })),
            Call::new("search_files", json!({ "pattern": "x", "path": path })),
            Call::new(
                "patch",
                json!({ "mode": "replace", "path": path, "old_string": "a", "new_string": "b" }),
            ),
            Call::new(
                "terminal",
                json!({ "command": format!("cat {path}; stat {path}; ls {home}/agents; cd {home}/agents/{agent}; echo $?") }),
            ),
            Call::new(
                "terminal",
                json!({ "command": "pwd", "workdir": format!("{home}/agents/{agent}/workspace") }),
            ),
            Call::new("skill_view", json!({ "name": format!("{agent}/craft") })),
        ]
    };
    // Of one length, so that even lengths are comparable.
    let (b, nobody) =
        (ground.calls("a", "errors", calls("b"))?, ground.calls("a", "errors", calls("x"))?);
    for (b, nobody) in b.iter().zip(&nobody) {
        let plain = |told: &str, agent: &str| {
            told.replace(&format!("agents/{agent}/"), "agents/…/")
                .replace(&format!("agents/{agent}"), "agents/…")
                .replace(&format!("{agent}/craft"), "…/craft")
        };
        let (b, nobody) = (plain(b, "b"), plain(nobody, "x"));
        hold!(b == nobody, "{b}\ninstead of\n{nobody}");
    }
    Ok(Verdict::Held)
}

/// Numbers and ids that a's first steps come to, in a daemon of its own.
fn first_steps(ground: &Ground) -> Result<Vec<String>> {
    let script = Script::live(|asked| match asked.step {
        0 => Act::Call(vec![
            Call::new("terminal", json!({ "command": "sleep 1000", "background": true })),
            Call::new(
                "memory",
                json!({ "action": "add", "target": "memory", "content": "the first" }),
            ),
            Call::new("todo", json!({ "todos": [{ "id": "1", "content": "x" }] })),
        ]),
        1 => Act::Call(vec![
            Call::new("session_search", json!({ "query": "first" })),
            Call::new("process", json!({ "action": "kill", "session_id": "p1" })),
        ]),
        _ => Act::Say("done".to_owned()),
    });
    let turn = ground.turn_saying("a", "first", "first", script)?;
    control!(turn.results.len() == 5, "not all was done: {turn:?}");
    let mut all: Vec<String> = ground
        .table("a", "session")?
        .iter()
        .map(|row| row.split('|').next().unwrap_or_default().to_owned())
        .collect();
    for table in ["turn", "message", "fragment", "provenance", "step"] {
        let rows = ground.table("a", table)?;
        all.push(format!("{table}: {}", rows.len()));
        all.extend(
            rows.iter().map(|row| format!("{table} {}", row.split('|').next().unwrap_or_default())),
        );
    }
    // The time of a hit is a time, and the name of a session is made with the home's own key;
    // everything else is compared.
    let found = turn.results[3].replace(&turn.tag, "TAG");
    let is_name = |word: &str| word.len() == 16 && word.bytes().all(|it| it.is_ascii_hexdigit());
    let words = found.split(' ').filter(|word| !word.contains(':') && !is_name(word));
    all.push(words.collect::<Vec<_>>().join(" "));
    all.push(turn.results[0].clone());
    let shown = ground.admin("GET", "/api/agents/a", &Value::Null)?.json();
    all.push(shown["generation"].to_string());
    Ok(all)
}

fn populated(ground: &Ground, others: usize) -> Result<Ground> {
    let settings = "memory: {enabled: true, scope: global}, approvals: {mode: 'off'}";
    let mut plan = Plan::new();
    for number in 0..others {
        plan = plan.agent(&format!("other-{number}"), settings);
    }
    plan = plan.agent("a", settings);
    let other = Ground::raise(ground.stage(), plan)?;
    for number in 0..others {
        let id = format!("other-{number}");
        for session in ["one", "two"] {
            let fact = json!({ "action": "add", "target": "memory", "content": "something" });
            other.call(&id, session, "memory", fact)?;
        }
    }
    Ok(other)
}

fn numbers(ground: &Ground) -> Outcome {
    let (alone, among) = (populated(ground, 0)?, populated(ground, 3)?);
    let (alone, among) = (first_steps(&alone)?, first_steps(&among)?);
    hold!(alone == among, "alone {alone:?}\namong others {among:?}");
    Ok(Verdict::Held)
}

fn prompt(ground: &Ground) -> Outcome {
    let requests = |other: &Ground| {
        let home = other.path("")?.display().to_string();
        let turn = other.turn(
            "a",
            "same",
            Script::steps(vec![Act::Call(vec![Call::new("skills_list", json!({}))])]),
        )?;
        let all: Vec<String> =
            turn.requests.iter().map(|it| it.to_string().replace(&home, "HOME")).collect();
        // The number of the script and of its calls count what the gauntlet did.
        let all = all.join("\n").replace(&turn.tag, "TAG");
        let mut plain = String::new();
        let mut rest = all.as_str();
        while let Some((before, after)) = rest.split_once("\"c") {
            let end = after.find('"').unwrap_or(0);
            let is_call = after[..end].contains('x')
                && after[..end].chars().all(|c| c.is_ascii_digit() || c == 'x');
            plain += before;
            plain += if is_call { "\"CALL" } else { "\"c" };
            rest = if is_call { &after[end..] } else { after };
        }
        anyhow::Ok(plain + rest)
    };
    let (alone, among) = (populated(ground, 0)?, populated(ground, 2)?);
    let (alone, among) = (requests(&alone)?, requests(&among)?);
    control!(alone.contains("skills_list"), "no prompt: {alone}");
    hold!(alone == among, "alone:\n{alone}\namong others:\n{among}");
    Ok(Verdict::Held)
}

fn completions(ground: &Ground) -> Outcome {
    let token = ground.token("a")?.text.clone();
    for (method, path, body) in [
        (
            "POST",
            "/v1/chat/completions",
            json!({ "model": "AGENT", "messages": [{ "role": "user", "content": "x" }] }),
        ),
        (
            "POST",
            "/v1/chat/completions",
            json!({ "model": "AGENT", "messages": [{ "role": "user", "content": "x" }], "stream": true }),
        ),
        ("POST", "/v1/responses", json!({ "model": "AGENT", "input": "x" })),
        ("GET", "/v1/models/AGENT", Value::Null),
    ] {
        let asked = |agent: &str| {
            let body = body.to_string().replace("AGENT", agent);
            let body: Value = serde_json::from_str(&body)?;
            let answer = ground.api(&token, method, &path.replace("AGENT", agent), &body)?;
            anyhow::Ok(
                answer
                    .comparable()
                    .replace(&format!("`{agent}`"), "`…`")
                    .replace(&format!("\"{agent}\""), "\"…\""),
            )
        };
        let (b, nobody) = (asked("b")?, asked("x")?);
        hold!(b == nobody, "{method} {path}: {b}\ninstead of\n{nobody}");
    }
    Ok(Verdict::Held)
}

fn failed(ground: &Ground) -> Outcome {
    let plan = Plan::new()
        .agent("a", "")
        .agent("paused", "")
        .agent("broken", "tolls: 1")
        .agent("ready1", "");
    let other = Ground::raise_without_tokens(ground.stage(), plan, &["a"])?;
    other.admin("POST", "/api/agents/paused/pause", &Value::Null)?;
    let token = other.mint("a", &["chat", "read", "manage", "admin"])?;
    for rest in ["", "/context", "/sessions", "/audit"] {
        let asked = |agent: &str| {
            let answer = other.api(
                &token.text,
                "GET",
                &format!("/api/agents/{agent}{rest}"),
                &Value::Null,
            )?;
            anyhow::Ok(answer.comparable().replace(&format!("`{agent}`"), "`…`"))
        };
        let nobody = asked("nobody")?;
        for agent in ["paused", "broken", "ready1"] {
            let told = asked(agent)?;
            hold!(told == nobody, "{agent}{rest}: {told}\ninstead of\n{nobody}");
        }
    }
    let open = machine::request(other.listen()?, "GET", "/readyz", &[], "")?.body;
    hold!(!open.contains("broken") && !open.contains("paused"), "a stranger is told names: {open}");
    Ok(Verdict::Held)
}

fn timing(_: &Ground) -> Outcome {
    // No test may depend on how fast a machine is. What takes time is the same: a token's agents
    // are looked at before anything of the agent that was named, in one function for all routes.
    Ok(Verdict::NotRun(
        "times are not judged here, since a busy machine would decide; the routes above are \
         refused by one function, before anything of the agent is looked at"
            .to_owned(),
    ))
}
