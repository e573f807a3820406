//! A18: an agent that leaves behind what can't be removed as it stands. What that shows depends on
//! the daemon's user: root needs no rights.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::puppet::Script;
use crate::stage::Stage;
use crate::{control, hold, machine};
use anyhow::Result;
use serde_json::Value;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A18", variant: "folders that let nobody in, then deleted", run: locked },
    Attempt { row: "A18", variant: "folders deeper than any path, then deleted", run: deep },
    Attempt {
        row: "A18",
        variant: "deleted by files and a restart, with folders that let nobody in",
        run: restarted,
    },
];

/// Agents that will be deleted, and one that stays.
pub fn leaving(stage: &Stage) -> Result<Ground> {
    let settings = "tools: coding, approvals: {mode: 'off'}, secrets: [KEY]";
    let mut plan = Plan::new().agent("stays", "tools: coding, approvals: {mode: 'off'}");
    for id in ["locked", "deep", "cut"] {
        plan = plan.agent(id, settings).secret(id, "KEY", &format!("{{canary:{id}-key}}"));
    }
    Ground::raise(stage, plan)
}

const LOCK: &str = "mkdir -p open/locked/inner 'a\nb' && touch open/locked/inner/file && ln -s / link && chmod 000 open/locked/inner && chmod 000 open/locked && chmod 500 open && echo made";

/// What is left of an agent that was deleted.
fn left(ground: &Ground, agent: &str) -> Result<Option<String>> {
    let agents = machine::names(&ground.path("agents")?);
    if let Some(name) = agents.iter().find(|name| name.contains(agent)) {
        return Ok(Some(format!("agents/{name} is there")));
    }
    let vault = machine::files_below(&ground.path("vault")?);
    if let Some(path) = vault.iter().find(|path| path.to_string_lossy().contains(agent)) {
        return Ok(Some(format!("{} is there", path.display())));
    }
    let tokens = ground.admin("GET", "/api/tokens", &Value::Null)?;
    if tokens.body.contains(&format!("\"{agent}\"")) {
        return Ok(Some(format!("a token is there: {}", tokens.body)));
    }
    Ok(None)
}

/// Deletes an agent, restarts the daemon, and sees who is there.
fn deleted(ground: &Ground, agent: &str) -> Outcome {
    let answer = ground.admin("DELETE", &format!("/api/agents/{agent}"), &Value::Null)?;
    let left_before = left(ground, agent)?;
    ground.stop()?;
    let again = ground.start_again();
    hold!(again.is_ok(), "the daemon does not start any more: {again:?}; {answer:?}");
    let turn = ground.turn("stays", "after", Script::say("here"))?;
    hold!(turn.reply == "here", "another agent does not serve: {:?}", turn.answer);
    hold!(answer.status < 300, "it can't be deleted: {answer:?}");
    hold!(left_before.is_none(), "after the deletion, {}", left_before.unwrap_or_default());
    Ok(Verdict::Held)
}

fn locked(ground: &Ground) -> Outcome {
    let told = ground.shell("locked", "one", LOCK)?;
    control!(told.contains("made"), "nothing was made: {told}");
    deleted(ground, "locked")
}

fn deep(ground: &Ground) -> Outcome {
    let name = "n".repeat(60);
    let make = format!(
        "i=0; while [ $i -lt 300 ]; do mkdir {name} && cd -P {name} || break; i=$((i+1)); done; echo depth $i"
    );
    let told = ground.shell("deep", "one", &make)?;
    control!(told.contains("depth 300"), "it is not that deep: {told}");
    deleted(ground, "deep")
}

fn restarted(ground: &Ground) -> Outcome {
    let told = ground.shell("cut", "one", LOCK)?;
    control!(told.contains("made"), "nothing was made: {told}");
    // As a deletion that a power cut ended half-way leaves it.
    ground.crash()?;
    let folder = ground.path("agents")?;
    let (from, to) = (folder.join("cut"), folder.join(".deleted-cut"));
    crate::beside::rename(&from, &to)?;
    let again = ground.start_again();
    hold!(again.is_ok(), "the daemon does not start any more: {again:?}");
    let turn = ground.turn("stays", "restarted", Script::say("here"))?;
    hold!(turn.reply == "here", "another agent does not serve: {:?}", turn.answer);
    hold!(!machine::is_there(&to), "what the deletion left is there for ever");
    Ok(Verdict::Held)
}
