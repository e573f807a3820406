//! Sub-agents in whole turns: what a child has, what it can't get, how many there are and how
//! they end.
#![allow(clippy::disallowed_methods, reason = "tests touch files")]

use crate::turns::play::{
    INPUT, OUTPUT, acts, call, delegate, hang, offered, open_fixture, play, say, tell,
};
use crate::turns::support::{Fixture, end, reply, shown, with_tools};
use async_trait::async_trait;
use insula_domain::AgentId;
use insula_store::{TurnStatus, UsageOf};
use insula_tools::{Cleared, Hands, Output, Tool, ToolError};
use insula_turns::{ChildAct, ChildOutcome, TurnEnd, TurnEvent, TurnHandle};
use insula_world::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

/// Tools that no leaf has, whatever they are called.
const BLOCKED: [&str; 14] = [
    "delegate_task",
    "clarify",
    "memory",
    "memory_search",
    "session_search",
    "send_message",
    "message_agent",
    "cronjob",
    "skill_manage",
    "execute_code",
    "mcp__mail__send",
    "mcp__files__read",
    "Clarify",
    "send-message",
];

const FULL: &str = "agents:\n  a: {tools: {profile: full, also_allow: [send_message, message_agent]}, memory: true, mcp_servers: {mail: {command: x}, files: {command: x}}, links: [{to: b, as: ask}], send: {to: ['telegram:main:*']}}\n  b: {tools: minimal}\n";

async fn run(fixture: &Fixture, text: &str) -> String {
    fixture.say("a", "one", text).await
}

async fn submit(fixture: &Fixture, text: &str) -> TurnHandle {
    fixture.submit("one", text).await
}

/// All that is told of a turn, to its end.
async fn events(mut handle: TurnHandle) -> (Vec<(String, ChildAct)>, TurnEnd) {
    let mut acts = Vec::new();
    loop {
        match handle.events.recv().await.unwrap() {
            TurnEvent::Child { child, act } => acts.push((child.to_string(), act)),
            TurnEvent::Ended(end) => return (acts, end),
            _ => {}
        }
    }
}

async fn audit(fixture: &Fixture, kind: &str) -> Vec<Value> {
    let store = fixture.daemon.store_of(&AgentId::new("a").unwrap());
    let records = store.audit_tail(500).await.unwrap();
    let records = records.iter().filter(|record| &*record.kind == kind);
    records.map(|it| serde_json::from_str(it.content.as_ref().unwrap()).unwrap()).collect()
}

pub fn task(goal: String) -> Value {
    json!({ "goal": goal })
}

pub fn orchestrator(goal: String) -> Value {
    json!({ "goal": goal, "role": "orchestrator" })
}

#[tokio::test]
async fn a_child_sees_its_goal_and_context_and_nothing_else() {
    let fixture =
        open_fixture("agents: {a: {personality: 'the soul of a', tools: coding}}\n").await;
    run(&fixture, &acts([say("the word is heliotrope")])).await;
    let goal = acts([say("I counted three.")]);
    let tasks = json!({ "goal": goal, "context": "beans on the desk" });
    let told = run(&fixture, &acts([delegate([tasks]), tell()])).await;
    assert_eq!(told, "child 1 finished:\nI counted three.\n");
    let seen = fixture.upstream().seen();
    let child = seen[2].json();
    let text = child.to_string();
    assert!(text.contains("beans on the desk") && text.contains("helper of the agent"), "{text}");
    assert!(!text.contains("heliotrope") && !text.contains("the soul of a"), "{text}");
    assert_eq!(shown(&seen[2]).len(), 1);
}

#[tokio::test]
async fn d1_a_leaf_has_none_of_the_blocked_tools_and_is_refused_when_it_calls_one() {
    let fixture = open_fixture(FULL).await;
    let mut goal: Vec<Value> = BLOCKED.iter().map(|tool| call(tool, json!({}))).collect();
    goal.push(tell());
    let told =
        run(&fixture, &acts([delegate([task(Value::Array(goal).to_string())]), tell()])).await;
    let results: Vec<&str> = told.split("\n--\n").collect();
    assert_eq!(results.len(), BLOCKED.len(), "{told}");
    for (tool, result) in BLOCKED.iter().zip(results) {
        assert!(result.contains(&format!("you do not have the tool `{tool}`")), "{result}");
    }
    for seen in &fixture.upstream().seen()[1..BLOCKED.len() + 1] {
        let offered = offered(seen);
        assert!(offered.iter().all(|tool| !BLOCKED.contains(&tool.as_str())), "{offered:?}");
        assert!(offered.iter().any(|tool| tool == "read_file"));
    }
    let refused = audit(&fixture, "tool.call").await;
    let refused: Vec<&Value> = refused.iter().filter(|it| it["verdict"] == "refused").collect();
    assert_eq!(refused.len(), BLOCKED.len());
    assert!(refused.iter().all(|it| it["child"] == "1" && it["depth"] == 1 && it["parent"] == 1));
}

#[tokio::test]
async fn d2_an_orchestrator_at_the_last_depth_is_refused_with_the_reason() {
    let fixture = open_fixture("agents: {a: {tools: coding, subagents: {max_depth: 1}}}\n").await;
    let goal = acts([delegate([task(acts([say("deep")]))]), tell()]);
    let told = run(&fixture, &acts([delegate([orchestrator(goal)]), tell()])).await;
    assert!(told.contains("you do not have the tool `delegate_task`"), "{told}");
    assert!(told.contains("`subagents.max_depth`, which is reached"), "{told}");
}

#[tokio::test]
async fn an_orchestrator_that_can_hand_nothing_on_is_told_of_as_a_leaf() {
    let fixture = open_fixture("agents: {a: {tools: coding, subagents: {max_depth: 1}}}\n").await;
    let told = run(&fixture, &acts([delegate([orchestrator(acts([say("done")]))]), tell()])).await;
    assert_eq!(
        told,
        "child 1 finished:\ndone\n[child 1 was to be an orchestrator and worked as a leaf: it could hand nothing on: taken away by `subagents.max_depth`, which is reached: it can delegate]\n"
    );
    let child = fixture.upstream().seen()[1].json().to_string();
    assert!(!child.contains("You may hand parts of it on"), "{child}");
    let started = audit(&fixture, "child.started").await;
    assert_eq!(started[0]["role"], "orchestrator");
    assert!(started[0]["leaf_because"].as_str().unwrap().contains("max_depth"), "{started:?}");
    // By its own choice of tools, too; and one that can is told of as before.
    let narrow = json!({ "goal": acts([say("done")]), "role": "orchestrator", "tools": ["todo"] });
    let told = run(&fixture, &acts([delegate([narrow]), tell()])).await;
    assert!(told.contains("worked as a leaf"), "{told}");
}

#[tokio::test]
async fn d3_what_the_parent_lacks_no_child_gets() {
    let agents = "providers: {other: {kind: rehearsal}}\nagents: {a: {tools: {allow: [read_file, todo, delegate_task]}, subagents: {models: [other/x]}}}\n";
    let fixture =
        open_fixture(&agents.replace("providers: {", "  ").replace("}}\nagents", "}\nagents"))
            .await;
    for (asked, reason) in [
        (json!({ "tools": ["terminal"] }), "can't have the tool `terminal`: not in `allow`"),
        (json!({ "tools": ["todo", "clarify"] }), "can't have the tool `clarify`"),
        (json!({ "tools": ["delegate_task"] }), "role `leaf`: it can delegate"),
        (json!({ "tools": ["everything"] }), "unknown tool `everything`"),
        (
            json!({ "model": "openai/gpt-5" }),
            "model `openai/gpt-5` is not allowed for children; allowed: fake/model, other/x",
        ),
        (json!({ "secrets": ["KEY"] }), "unknown field `secrets`"),
        (json!({ "network": ["example.org"] }), "unknown field `network`"),
        (json!({ "budget": { "usd_per_day": 9 } }), "unknown field `budget`"),
        (json!({ "isolation": "context" }), "unknown field `isolation`"),
    ] {
        let mut task = asked;
        task["goal"] = json!("[]");
        let told = run(&fixture, &acts([delegate([task]), tell()])).await;
        assert!(told.contains(reason), "{told}");
    }
    // Less is fine, and is what it gets; the other model, which the list has, too.
    let goal = acts([call("read_file", json!({ "path": "a" })), tell()]);
    let less = json!({ "goal": goal, "tools": ["todo"] });
    let told = run(&fixture, &acts([delegate([less]), tell()])).await;
    assert!(told.contains("not kept by role `leaf`"), "{told}");
    let other = json!({ "goal": "ping", "model": "other/x" });
    assert_eq!(
        run(&fixture, &acts([delegate([other]), tell()])).await,
        "child 1 finished:\npong\n"
    );
}

#[tokio::test]
async fn the_model_is_the_calls_or_the_configured_one_or_the_parents() {
    let agents =
        "  other: {kind: rehearsal}\nagents: {a: {tools: coding, subagents: {model: other/x}}}\n";
    let fixture = open_fixture(agents).await;
    assert_eq!(
        run(&fixture, &acts([delegate([task("ping".to_owned())]), tell()])).await,
        "child 1 finished:\npong\n"
    );
    let own = json!({ "goal": acts([say("by the parent's")]), "model": "fake/model" });
    let told = run(&fixture, &acts([delegate([own]), tell()])).await;
    assert_eq!(told, "child 1 finished:\nby the parent's\n");
}

#[tokio::test]
async fn d4_more_than_fit_at_once_wait_and_more_than_allowed_in_all_are_refused() {
    let fixture =
        open_fixture("agents: {a: {tools: coding, subagents: {max_children: 2, max_total: 5}}}\n")
            .await;
    let one = || task(acts([say("x")]));
    let six = (0..6).map(|_| one());
    let told = run(&fixture, &acts([delegate(six), tell()])).await;
    assert!(
        told.contains(
            "one turn may have 5 children in all (`subagents.max_total`), and 5 are left"
        ),
        "{told}"
    );
    let three = || delegate((0..3).map(|_| one()));
    let text = acts([three(), three(), delegate([one(), one()]), tell()]);
    let (acts, end) = events(submit(&fixture, &text).await).await;
    let TurnEnd::Replied { text, usage, .. } = end else { panic!("{end:?}") };
    assert!(text.contains("and 2 are left"), "{text}");
    assert!(text.contains("child 4 finished") && text.contains("child 5 finished"), "{text}");
    let (mut now, mut most) = (0, 0);
    for (_, act) in &acts {
        match act {
            ChildAct::Started { .. } => now += 1,
            ChildAct::Ended { .. } => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    assert_eq!((now, most), (0, 2));
    assert_eq!(fixture.engine.children_running(), 0);
    assert_eq!((usage.input, usage.output), (9 * INPUT, 9 * OUTPUT));
}

#[tokio::test]
async fn d4_a_child_that_never_ends_is_stopped_and_its_slot_comes_back() {
    let fixture =
        open_fixture("agents: {a: {tools: coding, subagents: {max_children: 1, timeout: 60s}}}\n")
            .await;
    let tasks = [task(acts([hang()])), task(acts([say("second")]))];
    let handle = submit(&fixture, &acts([delegate(tasks), tell()])).await;
    fixture.upstream().requests(2).await;
    assert_eq!(fixture.engine.children_running(), 1);
    fixture.handles.as_ref().unwrap().clock.advance(Duration::from_secs(61)).await;
    let (acts, end) = events(handle).await;
    let TurnEnd::Replied { text, .. } = end else { panic!("{end:?}") };
    assert!(text.starts_with("child 1 was stopped:\nit took longer than the 60 s"), "{text}");
    assert!(text.ends_with("child 2 finished:\nsecond\n"), "{text}");
    assert!(acts.contains(&("1".to_owned(), ChildAct::Ended { outcome: ChildOutcome::TimedOut })));
    assert_eq!(fixture.engine.children_running(), 0);
}

#[tokio::test]
async fn a_child_makes_as_many_model_calls_and_uses_as_many_tokens_as_it_may() {
    let fixture =
        open_fixture("agents: {a: {tools: coding, subagents: {max_iterations: 2}}}\n").await;
    let many = || acts([call("todo", json!({})), call("todo", json!({})), say("never")]);
    let told = run(&fixture, &acts([delegate([task(many())]), tell()])).await;
    assert!(told.contains("did not end after 2 model calls"), "{told}");
    let few = json!({ "goal": many(), "max_tokens": 5 });
    let told = run(&fixture, &acts([delegate([few]), tell()])).await;
    assert!(told.contains("13 of the 5 tokens that it was given"), "{told}");
}

#[tokio::test]
async fn a_budget_is_one_for_a_turn_and_its_children() {
    let daemon = crate::turns::play::open_fixture(
        "agents: {a: {tools: coding, budget: {tokens_per_day: 100000}}}\n",
    )
    .await;
    let store = daemon.daemon.store_of(&AgentId::new("a").unwrap());
    let tasks = (0..3).map(|_| task(acts([call("todo", json!({})), say("x")])));
    let told = run(&daemon, &acts([delegate(tasks), tell()])).await;
    assert!(told.contains("child 3 finished"), "{told}");
    let used = store.usage_of(UsageOf::Agent, Timestamp::from_millis(0)).await.unwrap();
    assert_eq!((used.turns, used.usage.input, used.usage.output), (1, 8 * INPUT, 8 * OUTPUT));
    // What is reserved for one is not there for another.
    let daemon = crate::turns::play::open_fixture(
        "agents: {a: {tools: coding, budget: {tokens_per_day: 6000}}}\n",
    )
    .await;
    let tasks = (0..3).map(|_| task(acts([say("x")])));
    let told = run(&daemon, &acts([delegate(tasks), tell()])).await;
    assert!(told.contains("child 1 finished") && told.contains("the agent's budget"), "{told}");
}

#[tokio::test]
async fn d5_what_a_child_wrote_is_stale_for_its_parent_and_its_siblings() {
    let fixture =
        open_fixture("agents: {a: {tools: coding, subagents: {max_children: 1}}}\n").await;
    fixture.files().write("agents/a/workspace/a.txt", "one\n").unwrap();
    let read = || call("read_file", json!({ "path": "a.txt" }));
    let write = |text: &str| call("write_file", json!({ "path": "a.txt", "content": text }));
    // One that has read nothing may not write, though its parent has read it.
    let first = task(acts([write("two\n"), read(), write("two\n"), tell()]));
    let second = task(acts([write("three\n"), tell()]));
    let text =
        acts([read(), delegate([first, second]), write("four\n"), read(), write("four\n"), tell()]);
    let told = run(&fixture, &text).await;
    assert!(told.contains("was not written: you have not read it, and it exists"), "{told}");
    assert!(told.contains("[it changed a.txt; read them again before you change them]"), "{told}");
    assert!(
        told.contains("a child of this agent wrote it since you read it; read it with read_file"),
        "{told}"
    );
    assert_eq!(fixture.files().read("agents/a/workspace/a.txt").unwrap(), "four\n");
}

#[tokio::test]
async fn a_child_reads_what_its_parent_may_and_nothing_else() {
    let outside = tempfile::tempdir().unwrap();
    let path = |name: &str| outside.path().join(name).display().to_string();
    for folder in ["shared", "secret"] {
        std::fs::create_dir(path(folder)).unwrap();
        std::fs::write(path(&format!("{folder}/f")), folder).unwrap();
    }
    let agents = format!(
        "agents: {{a: {{tools: coding, files: {{shared: [{{path: '{}', mode: ro}}]}}}}}}\n",
        path("shared")
    );
    let fixture = open_fixture(&agents).await;
    let goal = acts([
        call("read_file", json!({ "path": path("shared/f") })),
        call("read_file", json!({ "path": path("secret/f") })),
        call("write_file", json!({ "path": path("shared/g"), "content": "x" })),
        call("read_file", json!({ "path": "../../b/workspace/x" })),
        tell(),
    ]);
    let told = run(&fixture, &acts([delegate([task(goal)]), tell()])).await;
    let results: Vec<&str> = told.split("\n--\n").collect();
    assert!(results[0].contains("shared"), "{told}");
    for refused in &results[1..] {
        assert!(refused.contains("refused"), "{refused}");
    }
}

#[tokio::test]
async fn an_approval_in_a_child_is_denied_unless_the_operator_says_otherwise() {
    let goal = || task(acts([call("terminal", json!({ "command": "rm -rf ./build" })), tell()]));
    let fixture = open_fixture(
        "agents: {a: {tools: coding}, b: {tools: coding, subagents: {approvals: inherit}}}\n",
    )
    .await;
    let told = run(&fixture, &acts([delegate([goal()]), tell()])).await;
    assert!(told.contains("there is nobody here who could be asked"), "{told}");
    let (inbound, _) = fixture.inbound("b", "one", &acts([delegate([goal()]), tell()]));
    let mut handle = fixture.engine.submit(inbound).await.unwrap();
    let asked = loop {
        if let TurnEvent::Approval { what, .. } = handle.events.recv().await.unwrap() {
            break what;
        }
    };
    assert_eq!(asked, "where its programs begin\ncommand:\n| rm -rf ./build");
    fixture.handles.as_ref().unwrap().clock.advance(Duration::from_secs(61)).await;
    assert!(reply(handle).await.contains("no admin of this agent answered in time"));
}

#[tokio::test]
async fn four_orchestrators_with_sixteen_leaves_add_up_and_leave_nothing() {
    let agents =
        "agents: {a: {tools: coding, subagents: {max_depth: 3, max_children: 2, max_total: 21}}}\n";
    let daemon = open_fixture(agents).await;
    let leaf = || task(acts([call("todo", json!({})), say("leaf")]));
    // The last of the leaves is one deeper, and has one of its own.
    let deep = || orchestrator(acts([delegate([leaf()]), say("leaf")]));
    let team =
        |last: Value| orchestrator(acts([delegate([leaf(), leaf(), leaf(), last]), say("team")]));
    let teams = [team(leaf()), team(leaf()), team(leaf()), team(deep())];
    let (acts, end) = events(submit(&daemon, &acts([delegate(teams), tell()])).await).await;
    let TurnEnd::Replied { text, usage, .. } = end else { panic!("{end:?}") };
    assert_eq!(text.matches("finished:\nteam").count(), 4, "{text}");
    let started = acts.iter().filter(|(_, act)| matches!(act, ChildAct::Started { .. })).count();
    let ended = acts
        .iter()
        .filter(|(_, act)| matches!(act, ChildAct::Ended { outcome: ChildOutcome::Finished }))
        .count();
    assert_eq!((started, ended), (21, 21));
    assert!(acts.iter().any(|(child, _)| child == "4.4.1"));
    assert_eq!(daemon.engine.children_running(), 0);
    // Two calls each, of all of them and of the turn itself.
    let calls = 22 * 2;
    assert_eq!((usage.input, usage.output), (calls * INPUT, calls * OUTPUT));
    let store = daemon.daemon.store_of(&AgentId::new("a").unwrap());
    let used = store.usage_of(UsageOf::Agent, Timestamp::from_millis(0)).await.unwrap();
    assert_eq!((used.turns, used.usage), (1, usage));
    assert_eq!(store.sessions(None, 100).await.unwrap().len(), 1);
    let records = audit(&daemon, "child.ended").await;
    assert_eq!(records.len(), 21);
    let deepest = records.iter().find(|it| it["child"] == "4.4.1").unwrap();
    assert_eq!((&deepest["depth"], &deepest["outcome"]), (&json!(3), &json!("finished")));
}

#[tokio::test]
async fn a_deep_family_does_not_stand_on_one_stack() {
    let agents =
        "agents: {a: {tools: coding, subagents: {max_depth: 8, max_children: 1, max_total: 8}}}\n";
    let fixture = open_fixture(agents).await;
    let mut deepest = acts([say("the deepest")]);
    for _ in 0..7 {
        deepest = acts([delegate([orchestrator(deepest)]), tell()]);
    }
    let told = run(&fixture, &acts([delegate([orchestrator(deepest)]), tell()])).await;
    assert!(told.contains("the deepest"), "{told}");
    assert_eq!(audit(&fixture, "child.ended").await.len(), 8);
}

#[tokio::test]
async fn a_stop_ends_every_child_and_what_was_used_is_counted() {
    let agents =
        "agents: {a: {tools: coding, subagents: {max_depth: 2, max_children: 4, max_total: 50}}}\n";
    let daemon = open_fixture(agents).await;
    let team = || {
        orchestrator(acts([
            delegate((0..4).map(|_| task(acts([call("todo", json!({})), hang()])))),
            say("never"),
        ]))
    };
    let text = acts([delegate((0..4).map(|_| team())), say("never")]);
    let (inbound, key) = daemon.inbound("a", "one", &text);
    let handle = daemon.engine.submit(inbound).await.unwrap();
    // The turn, four teams, and sixteen that answered once and hang now.
    daemon.upstream().requests(1 + 4 + 32).await;
    assert_eq!(daemon.engine.children_running(), 20);
    assert_eq!(daemon.engine.stop(&key), 1);
    assert_eq!(end(handle).await, TurnEnd::Stopped);
    assert_eq!(daemon.engine.children_running(), 0);
    let store = daemon.daemon.store_of(&AgentId::new("a").unwrap());
    let turn = store.turn(insula_store::TurnId(1)).await.unwrap().unwrap();
    assert_eq!((turn.status, turn.usage.input), (TurnStatus::Stopped, (1 + 4 + 16) * INPUT));
    for child in store.children(turn.id).await.unwrap() {
        assert_eq!(child.turn.status, TurnStatus::Stopped);
        for leaf in store.children(child.turn.id).await.unwrap() {
            assert_eq!(leaf.turn.status, TurnStatus::Stopped);
        }
    }
    assert!(store.unfinished().await.unwrap().is_empty());
}

/// A tool with a fault in it.
struct Faulty;

#[async_trait]
impl Tool for Faulty {
    fn name(&self) -> &'static str {
        "todo"
    }

    fn description(&self) -> &'static str {
        "Panics."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object"}"#
    }

    async fn run(&self, _: &Hands<'_>, _: &Cleared) -> Result<Output, ToolError> {
        panic!("a fault")
    }
}

#[tokio::test]
async fn rule_09_a_child_that_panics_fails_alone() {
    const TOOLS: &[&dyn Tool] = &[&insula_tools::DelegateTask, &Faulty];
    let agents = "agents: {a: {tools: coding}}\n";
    let fixture = with_tools(None, agents, TOOLS, |seen, _| play(seen)).await;
    let faulty = task(acts([call("todo", json!({})), say("never")]));
    let told = run(&fixture, &acts([delegate([faulty, task(acts([say("well")]))]), tell()])).await;
    assert!(told.starts_with("child 1 failed:\nthe child met a fault of the runtime"), "{told}");
    assert!(told.ends_with("child 2 finished:\nwell\n"), "{told}");
    assert_eq!(fixture.engine.children_running(), 0);
}

#[tokio::test]
async fn a_long_report_is_cut_and_the_whole_is_in_a_file_of_the_conversation() {
    let fixture = open_fixture("agents: {a: {tools: coding}}\n").await;
    let long: String = (0..6_000).map(|number| format!("word {number} ")).collect();
    let goal = acts([json!({ "say": "word ", "times": 6_000 })]);
    let told = run(&fixture, &acts([delegate([task(goal)]), tell()])).await;
    assert!(told.chars().count() < 25_000, "{}", told.len());
    let path = told.split("the whole is in ").nth(1).unwrap().split(',').next().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), long);
    let read = acts([call("read_file", json!({ "path": path, "limit": 1 })), tell()]);
    assert!(fixture.say("a", "one", &read).await.contains("word 0 word 1"));
}

#[tokio::test]
async fn what_children_say_is_in_no_list_and_found_by_no_search() {
    let daemon = open_fixture("agents: {a: {tools: coding}}\n").await;
    let child = task(acts([
        call("todo", json!({ "todos": [{ "id": "1", "content": "heliotrope" }] })),
        say("done heliotrope"),
    ]));
    run(&daemon, &acts([delegate([child]), say("all done")])).await;
    let store = daemon.daemon.store_of(&AgentId::new("a").unwrap());
    assert_eq!(store.sessions(None, 10).await.unwrap().len(), 1);
    let (inbound, _) = daemon.inbound("a", "one", "");
    let found = store
        .search(
            &inbound.scope.fallback(&inbound.session).to_string().parse().unwrap(),
            "heliotrope",
            10,
        )
        .await
        .unwrap();
    // The parent's own words, which told the child what to do, are its own.
    assert!(found.iter().all(|hit| hit.session.0 == 1), "{found:?}");
}
