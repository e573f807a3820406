//! Sub-agents through the daemon: the wall around their programs, a kill while they run, what
//! operators see of them, and the guide.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and processes, and fail by panicking"
)]

use crate::acts_model::ActsModel;
use crate::support::*;
use insula_testkit::Home;
use serde_json::{Value, json};
use std::thread;

const GUIDE: &str = include_str!("../../../../docs/guides/parallel-review.md");

fn acted(model: &ActsModel, agent: &str) -> Home {
    let url = model.url();
    configured(&format!(
        "model: acts/model\nproviders: {{acts: {{kind: openai, base_url: \"{url}\"}}}}\nagents: {{a: {agent}}}\n"
    ))
}

fn delegate(goals: &[Value]) -> Value {
    let task = |goal: &Value| json!({ "goal": goal.to_string(), "role": "orchestrator" });
    let tasks: Vec<Value> = goals.iter().map(task).collect();
    json!({ "call": "delegate_task", "arguments": { "tasks": tasks } })
}

/// The last words of an agent's only conversation, once it has answered.
fn last_words(home: &Home) -> String {
    eventually("the turn is answered", || {
        let shown = json(home, &["sessions", "show", "a", "1"]);
        let last = shown["messages"].as_array()?.last()?.clone();
        let is_reply = last["role"] == "assistant" && !last.to_string().contains("delegate_task");
        is_reply.then(|| last.to_string())
    })
}

#[test]
fn a_kill_while_children_run_loses_no_report_and_repeats_none() {
    let model = ActsModel::start();
    let home = acted(&model, "{tools: coding, subagents: {max_depth: 2, max_children: 4}}");
    let daemon = start(&home);
    let team = [json!([{ "say": "delta is done" }]), json!([{ "hold": "epsilon is done" }])];
    let goals = [
        json!([{ "say": "alpha is done" }]),
        json!([{ "say": "beta is done" }]),
        json!([{ "call": "todo", "arguments": {} }, { "hold": "gamma is done" }]),
        json!([delegate(&team), { "tell": true }]),
    ];
    let text = json!([delegate(&goals), { "tell": true }]).to_string();
    let asking = {
        let path = home.path().to_owned();
        thread::spawn(move || {
            insula_testkit::run(INSULA, path, &["chat", "--agent", "a", "-m", &text])
        })
    };
    eventually("three children are done and two wait", || {
        let ended = kinds(&home, "a").iter().filter(|kind| *kind == "child.ended").count();
        let waiting = (model.asked("gamma"), model.asked("epsilon")) == (2, 1);
        (ended == 3 && waiting).then_some(())
    });
    daemon.kill9().unwrap();
    asking.join().unwrap();
    model.release();
    let daemon = start(&home);
    let reply = last_words(&home);
    for word in ["alpha", "beta", "gamma", "delta", "epsilon"] {
        assert!(reply.contains(&format!("{word} is done")), "{reply}");
    }
    assert_eq!(["alpha", "beta", "delta"].map(|word| model.asked(word)), [1, 1, 1]);
    // From its last step: what its first answer asked for was done before.
    assert_eq!((model.asked("gamma"), model.asked("epsilon")), (3, 2));
    let count = |kind: &str| kinds(&home, "a").iter().filter(|it| *it == kind).count();
    assert_eq!((count("child.started"), count("child.ended")), (6, 6));
    assert_eq!(json(&home, &["sessions", "list", "a"]).as_array().unwrap().len(), 1);
    let usage = json(&home, &["usage", "a"]);
    assert!(usage.to_string().contains("\"turns\":1"), "{usage}");
    assert_chains_hold(&home);
    daemon.terminate().unwrap();
}

#[test]
fn a_childs_programs_are_behind_the_same_wall_as_its_parents() {
    let home = configured("agents: {a: {tools: coding}}\n");
    home.write("secret.txt", "heliotrope").unwrap();
    let _daemon = start(&home);
    let secret = home.path().join("secret.txt").display().to_string();
    let ask = |text: &str| {
        let told = insula(&home, &["chat", "--agent", "a", "-m", text]).ok().stdout;
        assert!(!told.contains("heliotrope"), "{told}");
        told
    };
    let own = ask(&format!("run cat {secret}"));
    let childs = ask(&format!("delegate run cat {secret}"));
    assert!(own.contains("No such file") || own.contains("denied"), "{own}");
    assert!(childs.contains("No such file") || childs.contains("denied"), "{childs}");
    assert!(childs.contains("child 1 finished"), "{childs}");
    // The same place, too.
    ask("delegate run echo by a child > made.txt");
    assert_eq!(home.read("agents/a/workspace/made.txt").unwrap(), "by a child\n");
}

#[test]
fn what_a_child_would_have_is_shown_and_why_the_rest_is_out() {
    let home = configured(
        "agents:\n  a: {tools: full, memory: true, subagents: {max_depth: 2}}\n  b: {tools: full}\n  c: {subagents: {max_depth: 0}}\n",
    );
    let row = |args: &[&str], name: &str| {
        let tools = json(&home, args);
        let row = tools.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
        (row["exposed"] == true, row["rule"].as_str().unwrap().to_owned())
    };
    for (args, name, exposed, why) in [
        (&["tools", "a"][..], "delegate_task", true, "profile"),
        (&["tools", "a", "--child"], "read_file", true, "profile"),
        (&["tools", "a", "--child"], "delegate_task", false, "role `leaf`: it can delegate"),
        (&["tools", "a", "--child"], "memory", false, "role `leaf`"),
        (&["tools", "a", "--child"], "session_search", false, "it can read past sessions"),
        (&["tools", "a", "--child", "orchestrator"], "delegate_task", true, "profile"),
        (&["tools", "b", "--child", "orchestrator"], "delegate_task", false, "max_depth"),
        (&["tools", "a", "--child", "leaf"], "video_generate", false, "not available"),
    ] {
        let (is_in, rule) = row(args, name);
        assert_eq!(is_in, exposed, "{args:?} {name}: {rule}");
        assert!(rule.contains(why), "{args:?} {name}: {rule}");
    }
    let shown = insula(&home, &["tools", "a", "--child"]).ok().stdout;
    assert!(shown.contains("taken away by role `leaf`"), "{shown}");
    let none = insula(&home, &["tools", "c", "--child"]);
    assert_eq!(none.code, Some(1), "{none:?}");
    assert!(none.stderr.contains("`subagents.max_depth`"), "{none:?}");
    assert_eq!(insula(&home, &["tools", "a", "--child", "king"]).code, Some(2));
}

#[test]
fn the_guide_to_a_parallel_review_works_as_written() {
    let block = |kind: &str, with: &str| {
        let blocks = GUIDE.split("```").skip(1).step_by(2);
        let mut fitting =
            blocks.filter_map(|it| it.strip_prefix(kind)).filter(|it| it.contains(with));
        fitting.next().unwrap().trim().to_owned()
    };
    let home = configured(&block("yaml", "agents:"));
    for line in block("sh", "mkdir").lines().filter_map(|line| line.strip_prefix("echo '")) {
        let (text, name) = line.split_once("' > ").unwrap();
        home.write(&format!("agents/reviewer/workspace/{name}"), text).unwrap();
    }
    let _daemon = start(&home);
    let command = block("sh", "insula chat");
    let message = command.split('\'').nth(1).unwrap();
    let told = insula(&home, &["chat", "--agent", "reviewer", "-m", message]).ok().stdout;
    for (child, text) in [(1, "a - b"), (2, "a * b"), (3, "a / b")] {
        assert!(told.contains(&format!("child {child} finished")), "{told}");
        assert!(told.contains(text), "{told}");
    }
    let records = json(&home, &["audit", "tail", "reviewer"]).to_string();
    assert!(records.contains("child.ended"), "{records}");
}
