//! B4: a scope hook that crashes, hangs or lies.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
use serde_json::json;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "B4", variant: "it crashes", run: |ground| denied(ground, "crash") },
    Attempt { row: "B4", variant: "it hangs", run: |ground| denied(ground, "hang") },
    Attempt { row: "B4", variant: "it answers an object", run: |ground| denied(ground, "object") },
    Attempt {
        row: "B4",
        variant: "it answers an empty string",
        run: |ground| denied(ground, "empty"),
    },
    Attempt {
        row: "B4",
        variant: "it answers a very long string",
        run: |ground| denied(ground, "long"),
    },
    Attempt {
        row: "B4",
        variant: "it answers without the key",
        run: |ground| denied(ground, "without"),
    },
    Attempt { row: "B4", variant: "it answers no JSON", run: |ground| denied(ground, "words") },
    Attempt { row: "B4", variant: "it answers ../..", run: |ground| kept(ground, "dots") },
    Attempt {
        row: "B4",
        variant: "it answers another context's id",
        run: |ground| kept(ground, "other"),
    },
    Attempt {
        row: "B4",
        variant: "it answers the word global",
        run: |ground| kept(ground, "word"),
    },
    Attempt {
        row: "B4",
        variant: "an expression over a field that is absent",
        run: |ground| denied(ground, "absent"),
    },
    Attempt { row: "B4", variant: "control: it answers well, and null", run: well },
];

/// Agents whose hooks differ.
pub fn hooked(stage: &Stage) -> Result<Ground> {
    let says = |answer: &str| format!("cat > /dev/null; echo '{answer}'");
    let hooks = [
        ("crash", "exit 3".to_owned()),
        ("hang", "sleep 600".to_owned()),
        ("object", says(r#"{"context_id": {"a": 1}}"#)),
        ("empty", says(r#"{"context_id": ""}"#)),
        ("long", "cat > /dev/null; printf '{\"context_id\": \"'; head -c 200000 /dev/zero | tr '\\0' x; echo '\"}'".to_owned()),
        ("without", says(r#"{"context": "x"}"#)),
        ("words", "echo sure".to_owned()),
        ("dots", says(r#"{"context_id": "../.."}"#)),
        ("other", says(r#"{"context_id": "chat:telegram:ada:-101"}"#)),
        ("word", says(r#"{"context_id": "global"}"#)),
        ("good", says(r#"{"context_id": "org-1"}"#)),
        ("null", says(r#"{"context_id": null}"#)),
    ];
    let mut plan = Plan::new();
    for (name, command) in hooks {
        let timeout = if name == "hang" { "500ms" } else { "30s" };
        plan =
            plan.file(&format!("agents/{name}/hooks/scope.sh"), &format!("#!/bin/sh\n{command}\n"));
        plan = plan.agent(name, &format!("memory: true, hooks: {{'memory:scope': [{{command: 'sh ./scope.sh', timeout: {timeout}}}]}}"));
    }
    let plan = plan.agent("absent", "memory: {enabled: true, scope: \"'org:' + metadata.org_id\"}");
    Ground::raise(stage, plan)
}

/// Has something remembered and looked for; where it went.
fn written(ground: &Ground, agent: &str) -> Result<(String, String, Vec<String>)> {
    let canary = ground.canary(agent);
    let script = Script::steps(vec![Act::Call(vec![
        Call::new("memory", json!({ "action": "add", "target": "memory", "content": canary.text })),
        Call::new("memory_search", json!({ "query": "canary" })),
    ])]);
    let turn = ground.turn(agent, "private", script)?;
    let told = format!("{} {}", turn.told(), turn.answer.body);
    let folder = ground.path(&format!("agents/{agent}/memories"))?;
    let files = machine::files_below(&folder).into_iter();
    let holding = files
        .filter(|path| machine::read(path).is_ok_and(|bytes| canary.found_in(&bytes).is_some()));
    let holding =
        holding.map(|path| path.strip_prefix(&folder).unwrap_or(&path).display().to_string());
    let holding = holding.collect();
    Ok((canary.text, told, holding))
}

fn denied(ground: &Ground, agent: &str) -> Outcome {
    let (canary, told, holding) = written(ground, agent)?;
    hold!(holding.is_empty(), "it was written to {holding:?}: {told}");
    let rows = ground.table(agent, "fragment").unwrap_or_default();
    hold!(!rows.concat().contains(&canary), "there is a fragment: {rows:?}");
    // The next conversation knows nothing of it either.
    let turn = ground.turn(agent, "another", Script::say("x"))?;
    hold!(
        !crate::canary::contains(&turn.prompts(), canary.as_bytes()),
        "another conversation is shown it"
    );
    Ok(Verdict::Held)
}

fn kept(ground: &Ground, agent: &str) -> Outcome {
    let (_, told, holding) = written(ground, agent)?;
    for path in &holding {
        hold!(path.starts_with("contexts/custom="), "it was written to {path}: {told}");
    }
    let strays = machine::files_below(&ground.path("agents")?).into_iter();
    let strays: Vec<_> = strays
        .filter(|path| {
            path.ends_with("MEMORY.md") && !path.display().to_string().contains("/memories/")
        })
        .collect();
    hold!(strays.is_empty(), "files elsewhere: {strays:?}");
    hold!(!ground.has(&format!("agents/{agent}/memories/MEMORY.md")), "it became global: {told}");
    Ok(Verdict::Held)
}

fn well(ground: &Ground) -> Outcome {
    let (_, told, holding) = written(ground, "good")?;
    control!(holding == ["contexts/custom=org-1/MEMORY.md"], "a good hook: {holding:?}: {told}");
    let (_, told, holding) = written(ground, "null")?;
    control!(holding == ["MEMORY.md"], "a hook that says null: {holding:?}: {told}");
    Ok(Verdict::Held)
}
