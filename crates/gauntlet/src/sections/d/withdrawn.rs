//! D3: what a parent lost while its child was at work.

use super::scene::{Task, delegate};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::puppet::{Act, Call, Script};
use crate::stage::Stage;
use crate::{control, hold, machine};
use anyhow::Result;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "D3", variant: "a tool its parent lost while it runs", run: lost_tool },
    Attempt { row: "D3", variant: "its parent is paused while it runs", run: paused },
];

/// Two parents that are left with less.
pub fn raise(stage: &Stage) -> Result<Ground> {
    let open = "tools: coding, approvals: {mode: 'off'}, subagents: {max_depth: 1}";
    Ground::raise(stage, Plan::new().agent("parent", open).agent("halted", open))
}

/// A child that has done one thing and is about to do another; `meanwhile` happens in between.
/// Whether it did the first and the second.
fn child(
    ground: &Ground,
    agent: &str,
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<(bool, bool)> {
    let go = Arc::new(Notify::new());
    let write = |name: &str| {
        Act::Call(vec![Call::new("terminal", json!({ "command": format!("touch {name}") }))])
    };
    let script =
        Script::steps(vec![write("early"), Act::Hold(go.clone(), Box::new(write("late")))]);
    let before = ground.puppets.count();
    let ((), other) = machine::both(
        || drop(delegate(ground, agent, "one", vec![Task::leaf(script)])),
        || {
            // The parent's first request, and two of the child.
            ground.wait("the child is in its middle", ground.puppets.until(before + 3))?;
            let done = meanwhile();
            go.notify_one();
            done
        },
    )?;
    other?;
    let has = |name: &str| ground.has(&format!("agents/{agent}/workspace/{name}"));
    Ok((has("early"), has("late")))
}

fn lost_tool(ground: &Ground) -> Outcome {
    let (early, late) = child(ground, "parent", || {
        let before = ground.text("config.yaml");
        let line = |line: &str| match line.starts_with("  parent: ") {
            true => line.replace("tools: coding", "tools: [todo, delegate_task]"),
            false => line.to_owned(),
        };
        let after: Vec<String> = before.lines().map(line).collect();
        ground.home().replace("config.yaml", after.join("\n") + "\n")?;
        let answer = ground.admin("POST", "/api/reload", &Value::Null)?;
        anyhow::ensure!(answer.status < 300, "no reload: {answer:?}");
        Ok(())
    })?;
    control!(early, "it never could");
    hold!(!late, "a child did what its parent may not do any more");
    Ok(Verdict::Held)
}

fn paused(ground: &Ground) -> Outcome {
    let (early, late) = child(ground, "halted", || {
        let answer = ground.admin("POST", "/api/agents/halted/pause", &Value::Null)?;
        anyhow::ensure!(answer.status < 300, "no pause: {answer:?}");
        Ok(())
    })?;
    control!(early, "it never could");
    hold!(!late, "a child of a paused agent went on");
    Ok(Verdict::Held)
}
