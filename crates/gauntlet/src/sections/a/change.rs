//! A11: an agent that is deleted, changed or broken while another works.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A11", variant: "paused and resumed in the middle of b's turn", run: paused },
    Attempt { row: "A11", variant: "reconfigured in the middle of b's turn", run: reconfigured },
    Attempt { row: "A11", variant: "broken by a wrong setting", run: broken },
    Attempt {
        row: "A11",
        variant: "archived, then deleted in the middle of b's turn",
        run: deleted,
    },
    Attempt { row: "A11", variant: "its model fails, stalls and floods", run: model },
];

/// Several agents to be changed, and b.
pub fn changing(stage: &Stage) -> Result<Ground> {
    let settings = "memory: true, approvals: {mode: 'off'}";
    let plan = Plan::new().agent("b", settings);
    let plan =
        ["a", "gone", "wrong", "late"].iter().fold(plan, |plan, id| plan.agent(id, settings));
    Ground::raise(stage, plan)
}

/// What b's model is sent in a conversation that begins anew: all but what the conversation's
/// name decides.
fn bytes(requests: &[Value]) -> String {
    let all: Vec<String> = requests
        .iter()
        .map(|request| {
            let mut request = request.clone();
            let messages = request["messages"].as_array().cloned().unwrap_or_default();
            let plain = |message: &Value| {
                let mut message = message.clone();
                // The tag of the script, and the ids of calls, count what the gauntlet did.
                if message["role"] == "user" {
                    message["content"] = json!("…");
                }
                if message["role"] == "tool" {
                    message["tool_call_id"] = json!("…");
                }
                if let Some(calls) = message["tool_calls"].as_array_mut() {
                    for call in calls {
                        call["id"] = json!("…");
                    }
                }
                message
            };
            request["messages"] = messages.iter().map(plain).collect();
            request.to_string()
        })
        .collect();
    all.join("\n")
}

/// A turn of b's with a tool in it; `meanwhile` happens between the call and the reply.
fn turn_of_b(
    ground: &Ground,
    session: &str,
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<(String, String)> {
    let go = Arc::new(Notify::new());
    let script = Script::live({
        let go = go.clone();
        move |asked| match asked.step {
            0 => Act::Call(vec![Call::new("terminal", json!({ "command": "echo the same" }))]),
            1 => Act::Hold(
                go.clone(),
                Box::new(Act::Call(vec![Call::new(
                    "todo",
                    json!({ "todos": [{ "id": "1", "content": "x" }] }),
                )])),
            ),
            _ => Act::Say("finished".to_owned()),
        }
    });
    let before = ground.puppets.count();
    let (turn, other) = machine::both(
        || ground.turn("b", session, script),
        || {
            ground.wait("b's turn is in its middle", ground.puppets.until(before + 2))?;
            let done = meanwhile();
            go.notify_one();
            done
        },
    )?;
    other?;
    let turn = turn?;
    anyhow::ensure!(turn.answer.status == 200, "b's turn failed: {:?}", turn.answer);
    Ok((bytes(&turn.requests), turn.reply))
}

fn judged(ground: &Ground, meanwhile: impl FnOnce() -> Result<()>) -> Outcome {
    let generation = || {
        let shown = ground.admin("GET", "/api/agents/b", &Value::Null)?.json();
        shown["generation"].as_u64().context("b has no generation")
    };
    let (quiet, generation_before) = (turn_of_b(ground, "quiet", || Ok(()))?, generation()?);
    let again = turn_of_b(ground, "quiet-too", || Ok(()))?;
    control!(quiet == again, "two quiet turns differ:\n{}\n{}", quiet.0, again.0);
    let during = turn_of_b(ground, "during", meanwhile)?;
    hold!(quiet == during, "b's bytes changed during:\n{}\n{}", quiet.0, during.0);
    let after = turn_of_b(ground, "after", || Ok(()))?;
    hold!(quiet == after, "b's bytes changed after:\n{}\n{}", quiet.0, after.0);
    hold!(generation()? == generation_before, "b has another generation");
    for session in ["quiet", "quiet-too", "during", "after"] {
        let token = ground.token("b")?.text.clone();
        ground.api(&token, "POST", "/api/agents/b/new", &json!({ "session": session }))?;
    }
    Ok(Verdict::Held)
}

fn did(ground: &Ground, method: &str, path: &str) -> Result<()> {
    let answer = ground.admin(method, path, &Value::Null)?;
    anyhow::ensure!(answer.status < 300, "{method} {path}: {answer:?}");
    Ok(())
}

fn paused(ground: &Ground) -> Outcome {
    judged(ground, || {
        did(ground, "POST", "/api/agents/a/pause")?;
        did(ground, "POST", "/api/agents/a/resume")
    })
}

fn edited(ground: &Ground, edit: impl Fn(&str) -> String) -> Result<()> {
    let config = ground.text("config.yaml");
    ground.home().replace("config.yaml", edit(&config))?;
    did(ground, "POST", "/api/reload")
}

fn reconfigured(ground: &Ground) -> Outcome {
    let before = ground.text("config.yaml");
    let verdict = judged(ground, || {
        edited(ground, |config| {
            config.replace("  a: {model: puppet/a, ", "  a: {model: puppet/a, name: Another, personality: 'canary of a', tools: [todo], ")
                .replace("tools: [todo], memory: true", "tools: [todo, memory], memory: true")
        })
    })?;
    let shown = ground.admin("GET", "/api/agents/a", &Value::Null)?.json();
    control!(shown["name"] == "Another", "the edit had no effect: {shown}");
    edited(ground, |_| before.clone())?;
    Ok(verdict)
}

fn broken(ground: &Ground) -> Outcome {
    let before = ground.text("config.yaml");
    let verdict = judged(ground, || {
        edited(ground, |config| config.replace("  wrong: {model", "  wrong: {tolls: 1, model"))
    })?;
    let shown = ground.admin("GET", "/api/agents/wrong", &Value::Null)?.json();
    control!(shown["state"] == "failed", "the edit had no effect: {shown}");
    edited(ground, |_| before.clone())?;
    Ok(verdict)
}

fn deleted(ground: &Ground) -> Outcome {
    let verdict = judged(ground, || {
        did(ground, "POST", "/api/agents/late/archive")?;
        did(ground, "DELETE", "/api/agents/gone")
    })?;
    control!(!ground.has("agents/gone/agent.db"), "it was not deleted");
    Ok(verdict)
}

fn model(ground: &Ground) -> Outcome {
    judged(ground, || {
        for act in [
            Act::Fail(500, "{}".to_owned()),
            Act::Fail(400, "{\"error\": {\"message\": \"no\"}}".to_owned()),
            Act::Say("x".repeat(2_000_000)),
        ] {
            ground.turn("a", "failing", Script::steps(vec![act]))?;
        }
        Ok(())
    })
}
