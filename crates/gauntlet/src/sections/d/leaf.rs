//! D1 and D2: tools that a leaf must not have, and depth.

use super::scene::{Task, calls, delegate, offered};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::puppet::{Act, Call, Script};
use crate::{control, hold};
use anyhow::Result;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

/// Every tool that no leaf has, with arguments that would do something.
fn blocked() -> Vec<Call> {
    [
        ("delegate_task", json!({ "goal": "anything" })),
        ("clarify", json!({ "question": "who are you?" })),
        ("memory", json!({ "action": "add", "target": "memory", "content": "planted by a leaf" })),
        ("memory_search", json!({ "query": "planted" })),
        ("session_search", json!({ "query": "words" })),
        ("send_message", json!({ "target": "telegram:main:1", "message": "planted by a leaf" })),
        ("message_agent", json!({ "agent": "stranger", "message": "planted by a leaf" })),
        ("cronjob", json!({ "action": "create", "schedule": "* * * * *", "prompt": "planted" })),
        ("skill_manage", json!({ "action": "create", "name": "planted", "content": "---\nname: planted\ndescription: planted\n---\nx\n" })),
        ("execute_code", json!({ "code": "open('planted', 'w').write('x')" })),
        ("mcp__notes__note", json!({ "text": "planted by a leaf" })),
    ]
    .map(|(tool, arguments)| Call::new(tool, arguments))
    .into()
}

/// What a leaf left behind that it can't have.
fn planted(ground: &Ground) -> Result<Option<String>> {
    let places = ["workspace/planted", "workspace/noted", "skills/planted", "memories/MEMORY.md"];
    for place in places {
        if ground.text(&format!("agents/parent/{place}")).contains("planted")
            || (place.ends_with("/planted") && ground.has(&format!("agents/parent/{place}")))
        {
            return Ok(Some(place.to_owned()));
        }
    }
    let memory = ground.cli_json(&["memory", "list", "parent"])?;
    Ok(memory.to_string().contains("planted").then(|| "its memory".to_owned()))
}

fn refused(said: &str) -> bool {
    said.contains("you do not have the tool") || said.starts_with("refused")
}

/// A leaf makes these calls, all in one answer; none is shown, none does anything.
fn none_of(ground: &Ground, session: &str, tried: Vec<Call>) -> Outcome {
    let names: Vec<String> = tried.iter().map(|call| call.tool.clone()).collect();
    let script = crate::puppet::obey::at_once(tried);
    let family = delegate(ground, "parent", session, vec![Task::leaf(script)])?;
    let child = &family.children[0];
    control!(
        child.results.len() == names.len(),
        "the child made other calls: {:?}",
        family.report()
    );
    let shown = offered(child);
    control!(shown.iter().any(|tool| tool == "read_file"), "it was shown nothing: {shown:?}");
    for (name, said) in names.iter().zip(&child.results) {
        hold!(!shown.contains(name), "it is shown `{name}`");
        hold!(refused(said), "`{name}` was not refused: {said}");
    }
    if let Some(place) = planted(ground)? {
        return Ok(Verdict::Broken(format!("it took effect: {place}")));
    }
    Ok(Verdict::Held)
}

fn by_name(ground: &Ground) -> Outcome {
    none_of(ground, "by-name", blocked())
}

fn the_parent_itself_can(ground: &Ground) -> Outcome {
    // The control of this row: the same calls by their rightful owner work.
    let note = Call::new("mcp__notes__note", json!({ "text": "by the parent" }));
    let code =
        Call::new("execute_code", json!({ "code": "open('by-the-parent', 'w').write('x')" }));
    let told = ground.calls("parent", "itself", vec![note, code])?;
    control!(ground.text("agents/parent/workspace/noted").contains("by the parent"), "{told:?}");
    control!(ground.has("agents/parent/workspace/by-the-parent"), "{told:?}");
    let family = delegate(
        ground,
        "parent",
        "itself",
        vec![Task::leaf(calls(vec![Call::new(
            "write_file",
            json!({ "path": "by-a-leaf", "content": "x" }),
        )]))],
    )?;
    control!(ground.has("agents/parent/workspace/by-a-leaf"), "{}", family.report());
    by_alias(ground)
}

fn by_alias(ground: &Ground) -> Outcome {
    let mut aliases = vec![];
    for call in blocked() {
        let name = &call.tool;
        for alias in [
            name.to_uppercase(),
            name.replace('_', "-"),
            format!(" {name}"),
            format!("{name}\n"),
            format!("functions.{name}"),
            format!("mcp__insula__{name}"),
            format!("parent.{name}"),
        ] {
            if alias != *name {
                aliases.push(Call { tool: alias, arguments: call.arguments.clone() });
            }
        }
    }
    none_of(ground, "by-alias", aliases)
}

fn through_a_search_for_tools(ground: &Ground) -> Outcome {
    let mut tried = vec![];
    for word in ["note", "memory", "send", "mcp__notes__note"] {
        tried.push(Call::new("tool_search", json!({ "query": word })));
    }
    tried.push(Call::new("mcp__notes__note", json!({ "text": "planted by a leaf" })));
    let family = delegate(ground, "parent", "search", vec![Task::leaf(calls(tried))])?;
    let child = &family.children[0];
    control!(child.results.len() == 5, "the child made other calls: {}", family.report());
    hold!(!child.results[..4].concat().contains("from now on"), "{:?}", child.results);
    hold!(refused(&child.results[4]), "{:?}", child.results);
    if let Some(place) = planted(ground)? {
        return Ok(Verdict::Broken(format!("it took effect: {place}")));
    }
    Ok(Verdict::Held)
}

fn after_a_refresh(ground: &Ground) -> Outcome {
    // While the child waits for its model, its agent gets a new generation and new tools.
    let go = Arc::new(Notify::new());
    let note =
        Act::Call(vec![Call::new("mcp__notes__note", json!({ "text": "planted by a leaf" }))]);
    let read = Act::Call(vec![Call::new("read_file", json!({ "path": "server.py" }))]);
    let script = Script::steps(vec![Act::Hold(go.clone(), Box::new(read)), note]);
    let tag = ground.puppets.learn(script);
    let goal = json!({ "goal": format!("wait {tag}") });
    let parent = Script::steps(vec![Act::Call(vec![Call::new("delegate_task", goal)])]);
    let before = ground.cli_json(&["agents", "show", "parent"])?["generation"].clone();
    let config = ground.home().read("config.yaml")?;
    let widened = config.replace("args: [server.py]}", "args: [server.py], sends: false}");
    control!(widened != config, "the configuration can't be edited");
    let (turn, edited) = crate::machine::both(
        || ground.turn("parent", "refresh", parent),
        || -> Result<Value> {
            ground.wait("the child asks", async {
                while ground.puppets.with_tag(&tag).is_empty() {
                    ground.stage().world.clock.sleep(std::time::Duration::from_millis(5)).await;
                }
            })?;
            ground.home().write("config.yaml", &widened)?;
            ground.cli(&["reload"]);
            let after = ground.cli_json(&["agents", "show", "parent"])?["generation"].clone();
            go.notify_one();
            Ok(after)
        },
    )?;
    let (turn, after) = (turn?, edited?);
    let child = ground.so_far(&tag);
    ground.home().write("config.yaml", &config)?;
    ground.cli(&["reload"]);
    control!(before != after, "there is no new generation");
    control!(child.results.len() == 2, "the child made other calls: {}", turn.told());
    hold!(refused(&child.results[1]), "{:?}", child.results);
    for request in &child.requests {
        hold!(
            !request["tools"].to_string().contains("mcp__notes__note"),
            "it is shown the new tool"
        );
    }
    if let Some(place) = planted(ground)? {
        return Ok(Verdict::Broken(format!("it took effect: {place}")));
    }
    Ok(Verdict::Held)
}

fn by_what_needs_approval(ground: &Ground) -> Outcome {
    ground.shell("parent", "approval", "mkdir -p kept && touch kept/file")?;
    let tried = vec![Call::new("terminal", json!({ "command": "rm -r kept" }))];
    let family = delegate(ground, "parent", "approval", vec![Task::leaf(calls(tried))])?;
    let asked = ground.cli_json(&["approvals", "list", "parent"])?;
    hold!(ground.has("agents/parent/workspace/kept/file"), "it ran: {}", family.report());
    hold!(asked.as_array().is_some_and(Vec::is_empty), "somebody is asked: {asked}");
    Ok(Verdict::Held)
}

fn orchestrator(script: Script) -> Task {
    Task::with(script, json!({ "role": "orchestrator" }))
}

/// A chain of orchestrators, each of which hands on; the tags from the top.
fn chain(ground: &Ground, agent: &str, length: usize) -> Result<(String, Vec<usize>)> {
    let mut tags = vec![];
    let mut script = Script::say("at the bottom");
    for _ in 0..length {
        let tag = ground.puppets.learn(script);
        tags.push(tag.clone());
        let goal = json!({ "goal": format!("hand it on {tag}"), "role": "orchestrator" });
        script = Script::steps(vec![Act::Call(vec![Call::new("delegate_task", goal)])]);
    }
    let turn = ground.turn(agent, &format!("chain-{length}"), script)?;
    let asked = tags.iter().rev().map(|tag| ground.puppets.with_tag(tag).len()).collect();
    Ok((turn.told(), asked))
}

fn depth_one(ground: &Ground) -> Outcome {
    let (told, asked) = chain(ground, "parent", 2)?;
    control!(asked[0] > 0, "there was no child at all: {told}");
    hold!(asked[1] == 0, "a child of a child ran: {asked:?}");
    hold!(told.contains("max_depth"), "the reason is not told: {told}");
    Ok(Verdict::Held)
}

fn depth_two(ground: &Ground) -> Outcome {
    let (told, asked) = chain(ground, "deep", 4)?;
    control!(asked[0] > 0 && asked[1] > 0, "two levels are allowed: {asked:?} {told}");
    hold!(asked[2] == 0 && asked[3] == 0, "a third level ran: {asked:?}");
    Ok(Verdict::Held)
}

fn depth_zero(ground: &Ground) -> Outcome {
    let (told, asked) = chain(ground, "flat", 1)?;
    hold!(asked[0] == 0, "a child ran: {told}");
    Ok(Verdict::Held)
}

fn a_leaf_that_calls_itself_orchestrator(ground: &Ground) -> Outcome {
    let tag = ground.puppets.learn(Script::say("deeper"));
    let tried = ["orchestrator", "leaf"].map(|role| {
        Call::new("delegate_task", json!({ "goal": format!("go on {tag}"), "role": role }))
    });
    let family = delegate(ground, "deep", "leaf", vec![Task::leaf(calls(tried.into()))])?;
    let report = family.report();
    control!(family.children[0].results.len() == 2, "the child made other calls: {report}");
    hold!(ground.puppets.with_tag(&tag).is_empty(), "it delegated: {report}");
    // Who may, can.
    let family = delegate(
        ground,
        "deep",
        "leaf",
        vec![orchestrator(Script::steps(vec![Act::Call(vec![Call::new(
            "delegate_task",
            json!({ "goal": format!("go on {tag}") }),
        )])]))],
    )?;
    control!(!ground.puppets.with_tag(&tag).is_empty(), "{}", family.report());
    Ok(Verdict::Held)
}

/// D1 and D2.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "D1", variant: "by name", run: by_name },
    Attempt {
        row: "D1",
        variant: "by aliases, after its parent did it",
        run: the_parent_itself_can,
    },
    Attempt { row: "D1", variant: "through a search for tools", run: through_a_search_for_tools },
    Attempt { row: "D1", variant: "after a refresh of its tools", run: after_a_refresh },
    Attempt { row: "D1", variant: "what needs approval", run: by_what_needs_approval },
    Attempt { row: "D2", variant: "at depth one of one", run: depth_one },
    Attempt { row: "D2", variant: "at depth two of two", run: depth_two },
    Attempt { row: "D2", variant: "where no child is allowed", run: depth_zero },
    Attempt {
        row: "D2",
        variant: "a leaf that says it is an orchestrator",
        run: a_leaf_that_calls_itself_orchestrator,
    },
];
