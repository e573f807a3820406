//! Add, pause, resume and archive: with a daemon, without one, and across its ends.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::{Value, json};

const THREE: &str = "agents:\n  main: {default: true}\n  a: {}\n  b: {}\nbindings:\n  - {agent: a, telegram: 1}\n  - {agent: b, telegram: 2}\n";

/// Runs a test in a home where a daemon runs, and in one where none does.
fn with_and_without_daemon(config: &str, test: impl Fn(&Home)) {
    for daemon in [true, false] {
        let home = configured(config);
        let _daemon: Option<Daemon> = daemon.then(|| start_still(&home));
        test(&home);
    }
}

fn route(home: &Home, chat: &str) -> (Value, String) {
    let route = json(home, &["route", "explain", "--platform", "telegram", "--chat", chat]);
    (route["agent"].clone(), route["refused"].as_str().unwrap_or_default().to_owned())
}

fn assert_refused(home: &Home, chat: &str, because: &str) {
    let (agent, refused) = route(home, chat);
    assert_eq!(agent, Value::Null, "chat {chat}");
    assert!(refused.contains(because), "chat {chat}: {refused}");
}

#[test]
fn an_agent_is_paused_archived_and_resumed() {
    with_and_without_daemon(THREE, |home| {
        for (verb, expected, reason) in [
            ("pause", "paused", json!("paused by an operator")),
            ("resume", "ready", Value::Null),
            ("archive", "archived", json!("archived by an operator")),
            ("resume", "ready", Value::Null),
        ] {
            let row = json(home, &["agents", verb, "a"]);
            assert_eq!((&row["state"], &row["reason"]), (&json!(expected), &reason), "{verb}");
            assert_eq!(row["generation"], 1, "nothing about it changed");
            assert_eq!(row, agent(home, "a"));
            assert_eq!(state(home, "b"), "ready");
        }
        let expected =
            ["agent.created", "agent.paused", "agent.resumed", "agent.archived", "agent.resumed"];
        assert_eq!(kinds(home, "a"), expected);
        assert_eq!(kinds(home, "b"), ["agent.created"]);
    });
}

#[test]
fn doing_it_twice_is_doing_it_once() {
    with_and_without_daemon(THREE, |home| {
        for _ in 0..3 {
            insula(home, &["agents", "pause", "a"]).ok();
        }
        insula(home, &["agents", "resume", "b"]).ok();
        assert_eq!(kinds(home, "a"), ["agent.created", "agent.paused"]);
        assert_eq!(kinds(home, "b"), ["agent.created"]);
    });
}

#[test]
fn states_survive_a_restart_and_a_kill() {
    let home = configured(THREE);
    let daemon = start_still(&home);
    insula(&home, &["agents", "pause", "a"]).ok();
    insula(&home, &["agents", "archive", "b"]).ok();
    let before = agents(&home);
    daemon.terminate().unwrap();
    let daemon = start_still(&home);
    assert_eq!(agents(&home), before);
    daemon.kill9().unwrap();
    assert_eq!(agents(&home), before, "without a daemon");
    let daemon = start_still(&home);
    assert_eq!(agents(&home), before);
    insula(&home, &["agents", "resume", "a"]).ok();
    daemon.kill9().unwrap();
    let _daemon = start_still(&home);
    assert_eq!((state(&home, "a").as_str(), state(&home, "b").as_str()), ("ready", "archived"));
    assert_chains_hold(&home);
}

#[test]
fn a_pause_outlives_an_edit_and_a_mistake_in_it() {
    let home = home([("config.yaml", THREE), ("agents/a/SOUL.md", "one")]);
    let _daemon = start_still(&home);
    insula(&home, &["agents", "pause", "a"]).ok();
    home.write("agents/a/SOUL.md", "two").unwrap();
    insula(&home, &["reload"]).ok();
    assert_eq!(
        (state(&home, "a").as_str(), &agent(&home, "a")["generation"]),
        ("paused", &json!(2))
    );
    home.write("agents/a/agent.yaml", "tolls: 1\n").unwrap();
    insula(&home, &["reload"]).ok();
    assert_eq!(state(&home, "a"), "failed");
    home.remove("agents/a/agent.yaml").unwrap();
    insula(&home, &["reload"]).ok();
    assert_eq!(state(&home, "a"), "paused");
}

#[test]
fn a_rule_to_an_agent_that_does_not_serve_refuses_and_nobody_answers_instead() {
    let config = "agents:\n  main: {default: true}\n  a: {}\n  broken: {tolls: 1}\nbindings:\n  \
                  - {agent: a, telegram: 1}\n  - {agent: broken, telegram: 2}\n  \
                  - {agent: missing, telegram: 3}\n  - {agent: main, telegram: \"*\"}\n";
    with_and_without_daemon(config, |home| {
        assert_eq!(route(home, "1").0, "a");
        assert_eq!(route(home, "4").0, "main", "the rules work at all");
        insula(home, &["agents", "pause", "a"]).ok();
        assert_refused(home, "1", "agent `a` does not serve: paused");
        insula(home, &["agents", "archive", "a"]).ok();
        assert_refused(home, "1", "agent `a` does not serve: archived");
        assert_refused(home, "2", "agent `broken` does not serve: config.yaml: unknown key");
        assert_refused(home, "3", "names agent `missing`, which does not exist");
        insula(home, &["agents", "delete", "a", "--yes"]).ok();
        assert_refused(home, "1", "agent `a` does not serve: deleted");
    });
}

#[test]
fn a_default_agent_that_does_not_serve_refuses() {
    with_and_without_daemon(THREE, |home| {
        insula(home, &["agents", "pause", "main"]).ok();
        assert_refused(home, "99", "agent `main` does not serve: paused");
        assert_eq!(route(home, "1").0, "a");
    });
}

#[test]
fn an_added_agent_is_ready_and_lives_in_its_own_file() {
    with_and_without_daemon(THREE, |home| {
        let config = home.read("config.yaml").unwrap();
        let given = [
            "agents",
            "add",
            "new",
            "--name",
            "Neu: \"quoted\" #x",
            "--description",
            "tries",
            "--model",
            "ollama/qwen3",
            "--personality",
            "- a: b",
            "--tools",
            "minimal",
            "--memory",
        ];
        let row = json(home, &given);
        assert_eq!(
            row,
            json!({
                "id": "new", "state": "ready", "reason": null, "generation": 1,
                "model": "ollama/qwen3", "memory": true, "isolation": "context",
                "name": "Neu: \"quoted\" #x", "description": "tries",
            })
        );
        assert_eq!(row, agent(home, "new"));
        assert!(home.has("agents/new/agent.yaml"));
        assert_eq!(home.read("config.yaml").unwrap(), config, "config.yaml is the operator's");
        let context = json(home, &["context", "show", "new"]);
        assert_eq!(context["identity"]["soul"], "- a: b");
        assert_eq!(kinds(home, "new"), ["agent.created"]);
        assert_eq!(json(home, &["reload"])["changed"], json!([]), "it is already applied");
    });
}

#[test]
fn an_agent_that_was_added_is_there_after_a_kill() {
    let home = configured(THREE);
    let daemon = start_still(&home);
    let row = json(&home, &["agents", "add", "new", "--tools", "minimal"]);
    daemon.kill9().unwrap();
    let _daemon = start_still(&home);
    assert_eq!(agent(&home, "new"), row);
}

#[test]
fn a_bad_addition_is_refused_and_leaves_nothing() {
    with_and_without_daemon(THREE, |home| {
        home.write("agents/squatter/notes.txt", "somebody was here").unwrap();
        let long = "x".repeat(65);
        for (args, code, says) in [
            (&["a"][..], 1, "agent `a` is here already"),
            (&["main"], 1, "agent `main` is here already"),
            (&["Main"], 2, "`Main` is not valid"),
            (&["a.b"], 2, "`a.b` is not valid"),
            (&["../x"], 2, "`../x` is not valid"),
            (&["/etc"], 2, "`/etc` is not valid"),
            (&[""], 2, "agent id is empty"),
            (&["\u{430}"], 2, "is not valid"), // a Cyrillic letter that looks like `a`
            (&["\u{ff41}"], 2, "is not valid"), // a wide one
            (&["a\u{200b}"], 2, "is not valid"), // one with a space that is not seen
            (&["new\n"], 2, "is not valid"),
            (&[long.as_str()], 2, "at most 64"),
            (&["new", "--model", "gpt"], 2, "`gpt` is not a model"),
            (&["new", "--model", "nobody/gpt"], 2, "no provider `nobody`"),
            (&["new", "--model", ""], 2, "model"),
            (&["new", "--tools", "everything"], 2, "found `everything` in `tools`"),
            (&["squatter"], 2, "agents/squatter exists already"),
        ] {
            let all: Vec<&str> = ["agents", "add"].iter().chain(args).copied().collect();
            let output = insula(home, &all);
            assert_eq!(output.code, Some(code), "{args:?}: {output:?}");
            assert!(output.stderr.contains(says), "{args:?}: {output:?}");
        }
        let ids: Vec<String> = agents(home).into_keys().collect();
        assert_eq!(ids, ["a", "b", "main"]);
        assert!(!home.has("agents/new") && !home.has("agents/a"));
        assert_eq!(home.read("agents/squatter/notes.txt").unwrap(), "somebody was here");
    });
}

#[test]
fn nobody_is_added_while_the_configuration_is_broken() {
    let home = configured(THREE);
    let _daemon = start_still(&home);
    home.write("config.yaml", "agents: {").unwrap();
    let output = insula(&home, &["agents", "add", "new"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(!home.has("agents/new"));
    assert_eq!(agents(&home).len(), 3);
}

#[test]
fn what_is_not_here_cannot_be_changed() {
    with_and_without_daemon("agents: {broken: {tolls: 1}}\n", |home| {
        for verb in ["pause", "resume", "archive", "reload", "show"] {
            let output = insula(home, &["agents", verb, "nobody"]);
            assert_eq!(output.code, Some(1), "{verb}: {output:?}");
            assert!(output.stderr.contains("no agent `nobody` here"), "{verb}: {output:?}");
        }
        let output = insula(home, &["agents", "pause", "broken"]);
        assert_eq!(output.code, Some(1), "{output:?}");
        assert!(output.stderr.contains("correct its configuration first"), "{output:?}");
    });
}

#[test]
fn adding_the_first_agent_takes_none_away() {
    let home = configured("{}\n");
    let _daemon = start(&home);
    insula(&home, &["agents", "add", "helper"]).ok();
    let ids = || agents(&home).keys().cloned().collect::<Vec<_>>();
    assert_eq!(ids(), ["helper", "main"]);
    insula(&home, &["reload"]).ok();
    assert_eq!(ids(), ["helper", "main"]);
    let route = json(&home, &["route", "explain", "--platform", "telegram", "--chat", "1"]);
    assert_eq!(route["agent"], "main");
}

#[test]
fn the_built_in_agent_can_be_deleted_and_added_again() {
    let home = configured("{}\n");
    insula(&home, &["agents", "delete", "main", "--yes"]).ok();
    assert_eq!(agents(&home)["main"]["state"], "failed");
    insula(&home, &["agents", "add", "main"]).ok();
    assert_eq!(agents(&home)["main"]["generation"], 1);
}
