//! A18: a new agent with a deleted one's name has nothing of it.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::canary::Canary;
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::{Act, Call, Script, costly};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
use insula_testkit::telegram::{User, Where};
use serde_json::{Value, json};

/// All of this file, in this order: the first deletes, the others look.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A18", variant: "every file and database of the home", run: files },
    Attempt { row: "A18", variant: "what the new one remembers, finds and is shown", run: shown },
    Attempt {
        row: "A18",
        variant: "the old one's token, secrets, grants and pairings",
        run: rights,
    },
    Attempt { row: "A18", variant: "after a crash and a start", run: after_crash },
];

/// What only a running daemon could still have of it, each with an agent of its own.
pub const IN_MEMORY: &[Attempt] = &[
    Attempt {
        row: "A18",
        variant: "a conversation of the same name and number",
        run: conversation,
    },
    Attempt { row: "A18", variant: "somebody who was paired with the old one", run: paired },
    Attempt { row: "A18", variant: "what the old one had spent", run: spent },
    Attempt { row: "A18", variant: "what the old one was always allowed", run: allowed },
    Attempt { row: "A18", variant: "what the old one told its MCP server", run: server },
];

const SERVER: &str = include_str!("../../../assets/mcp_server.py");

/// Agents that one after the other are deleted and made again.
pub fn mortals(stage: &Stage) -> Result<Ground> {
    let mut plan = Plan::new().agent("stays", "tools: minimal").bot("7:a", "ada");
    for (id, more) in [
        ("talked", "memory: {enabled: true, scope: global}"),
        ("known", "access: {admins: ['telegram:1']}\nsessions: {burst: 0s}"),
        ("rich", "tools: minimal\nbudget: {tokens_per_day: 50000}"),
        ("trusted", "tools: coding\napprovals: {timeout: 5m}"),
        ("served", "mcp_servers: {x: {command: python3, args: [server.py]}}"),
    ] {
        plan =
            plan.file(&format!("agents/{id}/agent.yaml"), &format!("model: puppet/{id}\n{more}\n"));
    }
    plan = plan.file("agents/served/workspace/server.py", SERVER);
    Ground::raise(stage, plan.binding("agent: known, telegram: '*'"))
}

/// Deletes an agent and makes another of its name and settings, without a restart.
fn made_again(ground: &Ground, id: &str) -> Result<()> {
    let file = format!("agents/{id}/agent.yaml");
    let settings = ground.text(&file);
    let deleted = ground.admin("DELETE", &format!("/api/agents/{id}"), &Value::Null)?;
    anyhow::ensure!(deleted.status < 300, "{id} was not deleted: {deleted:?}");
    // Not the very same file: an operator who makes it again writes it again.
    ground.home().write(&file, format!("{settings}# again\n"))?;
    let reloaded = ground.admin("POST", "/api/reload", &Value::Null)?;
    anyhow::ensure!(reloaded.status < 300, "no reload: {reloaded:?}");
    let state = ground.admin("GET", &format!("/api/agents/{id}"), &Value::Null)?.json();
    anyhow::ensure!(state["state"] == "ready", "{id} is not there again: {state}");
    Ok(())
}

fn conversation(ground: &Ground) -> Outcome {
    // The admin's own conversation: of one name and number before and after.
    let canary = ground.canary("the old conversation");
    let admin = ground.text("run/admin.token");
    let old =
        ground.turn_with(admin.trim(), "talked", "desk", &canary.text, Script::say("noted"))?;
    let again = ground.turn_with(admin.trim(), "talked", "desk", "again", Script::say("yes"))?;
    control!(
        old.reply == "noted" && canary.found_in(&again.prompts()).is_some(),
        "it does not go on"
    );
    made_again(ground, "talked")?;
    let new =
        ground.turn_with(admin.trim(), "talked", "desk", "who are you", Script::say("new"))?;
    let seen: Vec<_> = ground.prompts_of("talked").into_iter().skip(2).collect();
    hold!(
        seen.iter().all(|body| canary.found_in(body).is_none()),
        "the new one was shown the old one's conversation"
    );
    hold!(new.reply == "new", "the new one answered something else: {:?}", new.answer);
    Ok(Verdict::Held)
}

fn paired(ground: &Ground) -> Outcome {
    let (eve, place) = (User::new(77, "Eve"), Where::Dm("7:a"));
    let told = ground.command(place, &eve, "let me in")?;
    let code = told.split_once("code is ").and_then(|(_, rest)| rest.split([' ', '.']).next());
    let approved = ground.admin("POST", "/api/agents/known/pairing", &json!({ "code": code }))?;
    control!(approved.status < 300, "the code was not taken: {approved:?}; {told}");
    let own = ground.tell(place, &eve, "hello", Script::say("hello Eve"))?;
    control!(!own.requests.is_empty(), "she was never heard");
    made_again(ground, "known")?;
    let tag = ground.puppets.learn(Script::say("hello again"));
    ground.say(place, &eve, &format!("hello again {tag}"))?;
    let chief = User::new(1, "Chief");
    ground.tell(place, &chief, "are you there", Script::say("present"))?;
    hold!(
        ground.so_far(&tag).requests.is_empty(),
        "who was paired with the old one talks with the new one"
    );
    Ok(Verdict::Held)
}

fn spent(ground: &Ground) -> Outcome {
    let buy = |token: &str| {
        let costly = Script::steps(vec![costly("bought", 49_990)]);
        ground.turn_with(token, "rich", "buys", "x", costly)
    };
    let token = ground.mint("rich", &["chat"])?;
    let (first, second) = (buy(&token.text)?, buy(&token.text)?);
    let statuses = (first.answer.status, second.answer.status);
    control!(statuses == (200, 429), "its budget is not used up by one turn: {statuses:?}");
    made_again(ground, "rich")?;
    let token = ground.mint("rich", &["chat"])?;
    let first = buy(&token.text)?;
    hold!(first.answer.status == 200, "the new one pays for the old one: {:?}", first.answer);
    Ok(Verdict::Held)
}

fn server(ground: &Ground) -> Outcome {
    let canary = ground.canary("what the old one told its server");
    let told = |text: &str| {
        let token = ground.mint("served", &["chat"])?;
        let call = Call::new("mcp__x__state", json!({ "text": text }));
        let turn = ground.turn_with(
            &token.text,
            "served",
            "tells",
            "x",
            Script::steps(vec![Act::Call(vec![call])]),
        )?;
        anyhow::Ok(turn.told())
    };
    told(&canary.text)?;
    let own = told("again")?;
    control!(own.contains(&canary.text), "its server does not remember: {own}");
    made_again(ground, "served")?;
    ground.home().write("agents/served/workspace/server.py", SERVER)?;
    // What it offers is asked for as its first turn begins.
    told("who is there")?;
    let new = told("what do you know")?;
    control!(new.contains("state: "), "the new one's server does not answer: {new}");
    hold!(canary.found_in(new.as_bytes()).is_none(), "the new one's server says: {new}");
    Ok(Verdict::Held)
}

fn allowed(ground: &Ground) -> Outcome {
    let token = ground.mint("trusted", &["chat"])?;
    let run = |token: &str, act: &str| {
        ground.turn_with(
            token,
            "trusted",
            "works",
            "x",
            Script::steps(vec![Act::Call(vec![Call::new("terminal", json!({ "command": act }))])]),
        )
    };
    let make = "mkdir -p build && echo x > build/file";
    let answered = |token: &str, decision: Value| {
        machine::both(
            || run(token, "rm -r build"),
            || {
                let id = machine::eventually("it waits", || {
                    let all =
                        ground.admin("GET", "/api/agents/trusted/approvals", &Value::Null)?.json();
                    Ok(all[0]["id"].as_str().map(str::to_owned))
                })?;
                ground.admin("POST", &format!("/api/agents/trusted/approvals/{id}"), &decision)
            },
        )
    };
    run(&token.text, make)?;
    answered(&token.text, json!({ "decision": "approve", "scope": "always" }))?.1?;
    control!(!ground.has("agents/trusted/workspace/build"), "it was allowed and did not do it");
    made_again(ground, "trusted")?;
    let token = ground.mint("trusted", &["chat"])?;
    run(&token.text, make)?;
    answered(&token.text, json!({ "decision": "deny" }))?.1?;
    hold!(
        ground.has("agents/trusted/workspace/build/file"),
        "the new one did what the old one was allowed"
    );
    Ok(Verdict::Held)
}

/// An agent that leaves something wherever an agent can.
pub fn doomed(stage: &Stage) -> Result<Ground> {
    let settings = "memory: {enabled: true, scope: global}, approvals: {mode: 'off'}, secrets: [KEY], env: {TOKEN: '${secret:KEY}'}";
    let plan = Plan::new().agent("stays", "memory: true");
    let plan = plan.file("agents/doomed/agent.yaml", &format!("model: puppet/doomed\nname: '{{canary:doomed-name}}'\ndescription: '{{canary:doomed-name}}'\n{}\n", settings.replace(", approvals", "\napprovals").replace(", secrets", "\nsecrets").replace(", env", "\nenv")));
    let plan = plan.file("agents/doomed/SOUL.md", "{canary:doomed-soul}");
    let plan = plan.file("agents/doomed/workspace/notes.txt", "{canary:doomed-file}");
    let plan = plan.file(
        "agents/doomed/skills/craft/SKILL.md",
        "---\nname: craft\ndescription: '{canary:doomed-skill}'\n---\nDo it.\n",
    );
    Ground::raise(stage, plan)
}

const NAMES: [&str; 7] = [
    "doomed-name",
    "doomed-soul",
    "doomed-file",
    "doomed-skill",
    "doomed-words",
    "doomed-fact",
    "doomed-secret",
];

fn canaries(ground: &Ground) -> Vec<Canary> {
    NAMES.map(|name| ground.planted(name)).to_vec()
}

fn everywhere(ground: &Ground) -> Result<Option<String>> {
    let mut seen = machine::snapshot(&ground.path("")?);
    seen.push(("the daemon's log".to_owned(), ground.log().into_bytes()));
    Ok(crate::ground::look::leak_in(&canaries(ground), &seen))
}

/// Everything happens to it, then it is deleted, then there is a new one.
fn files(ground: &Ground) -> Outcome {
    let secret = ground.planted("doomed-secret").text;
    let set = ground.admin("PUT", "/api/agents/doomed/secrets/KEY", &json!({ "value": secret }))?;
    control!(set.status < 300, "no secret: {set:?}");
    let token = ground.mint("doomed", &["chat", "read", "approve", "manage"])?;
    ground.home().write("token-of-doomed", &token.text)?;
    let words = ground.planted("doomed-words").text;
    let fact = ground.planted("doomed-fact").text;
    let script = Script::steps(vec![Act::Call(vec![
        Call::new("memory", json!({ "action": "add", "target": "memory", "content": fact })),
        Call::new(
            "terminal",
            json!({ "command": format!("echo {words} > made.txt; echo $TOKEN > kept.txt; seq 1 200000; echo {words}") }),
        ),
        Call::new("terminal", json!({ "command": "sleep 1000", "background": true })),
        Call::new("todo", json!({ "todos": [{ "id": "1", "content": words }] })),
    ])]);
    let turn = ground.turn_with(&token.text, "doomed", "last", &words, script)?;
    control!(turn.results.len() == 4, "not all was done: {turn:?}");
    control!(
        ground.text("agents/doomed/workspace/kept.txt").contains(&secret),
        "no secret was kept"
    );
    control!(everywhere(ground)?.is_some(), "there is nothing to be found even before");
    let deleted = ground.admin("DELETE", "/api/agents/doomed", &Value::Null)?;
    control!(deleted.status < 300, "it was not deleted: {deleted:?}");
    let leak = everywhere(ground)?;
    hold!(leak.is_none(), "after the deletion, {}", leak.unwrap_or_default());
    hold!(!ground.has("agents/doomed"), "its folder is there");
    let body = json!({ "id": "doomed", "model": "puppet/doomed", "memory": true });
    let made = ground.admin("POST", "/api/agents", &body)?;
    control!(made.status < 300, "the name can't be used again: {made:?}");
    let leak = everywhere(ground)?;
    hold!(leak.is_none(), "in the new one, {}", leak.unwrap_or_default());
    Ok(Verdict::Held)
}

fn shown(ground: &Ground) -> Outcome {
    let token = ground.mint("doomed", &["chat"])?;
    let script = Script::steps(vec![Act::Call(vec![
        Call::new("session_search", json!({ "query": "canary" })),
        Call::new("memory_search", json!({ "query": "canary" })),
        Call::new("skills_list", json!({})),
        Call::new("process", json!({ "action": "list" })),
        Call::new("search_files", json!({ "pattern": "canary" })),
        Call::new("terminal", json!({ "command": "env; ls -la; ls -la .." })),
        Call::new("session_search", json!({ "session_id": 1, "around_message_id": 1 })),
    ])]);
    // The name of the old one's conversation, and a token of the new one.
    let turn = ground.turn_with(&token.text, "doomed", "last", "what do you know", script)?;
    control!(turn.results.len() == 7, "not all was asked: {turn:?}");
    for canary in canaries(ground) {
        hold!(canary.found_in(&turn.prompts()).is_none(), "{} is in its prompt", canary.owner);
    }
    let audit = ground.audit("doomed")?;
    hold!(
        audit.iter().all(|it| canaries(ground)
            .iter()
            .all(|canary| canary.found_in(it.to_string().as_bytes()).is_none())),
        "in its audit"
    );
    hold!(ground.table("doomed", "session")?.len() == 1, "it has sessions of the old one");
    Ok(Verdict::Held)
}

fn rights(ground: &Ground) -> Outcome {
    let old = ground.text("token-of-doomed");
    control!(!old.is_empty(), "there is no old token");
    for (method, path) in
        [("GET", "/api/agents/doomed"), ("GET", "/v1/models"), ("POST", "/api/agents/doomed/pause")]
    {
        let answer = ground.api(&old, method, path, &Value::Null)?;
        hold!(answer.status == 401, "the old token at {path}: {answer:?}");
    }
    let secrets = ground.admin("GET", "/api/agents/doomed/secrets", &Value::Null)?;
    hold!(!secrets.body.contains("KEY\","), "the new one has a secret: {secrets:?}");
    for table in ["approval_grant", "pairing", "delivery", "inbox", "fragment"] {
        let rows = ground.table("doomed", table)?;
        hold!(rows.is_empty(), "{table}: {rows:?}");
    }
    Ok(Verdict::Held)
}

fn after_crash(ground: &Ground) -> Outcome {
    ground.crash()?;
    let leak = everywhere(ground)?;
    hold!(leak.is_none(), "while nothing runs, {}", leak.unwrap_or_default());
    ground.start_again()?;
    let leak = everywhere(ground)?;
    hold!(leak.is_none(), "after the start, {}", leak.unwrap_or_default());
    let state = ground.admin("GET", "/api/agents/doomed", &Value::Null)?.json();
    hold!(
        state["state"] == "ready" && state["name"] != ground.planted("doomed-name").text.as_str(),
        "{state}"
    );
    Ok(Verdict::Held)
}
