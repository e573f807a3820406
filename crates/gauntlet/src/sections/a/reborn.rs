//! A18: a new agent with a deleted one's name has nothing of it.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::canary::Canary;
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
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
