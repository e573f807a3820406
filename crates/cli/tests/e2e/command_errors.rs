//! How commands fail: in words for people, in JSON for programs, by the same exit code for the
//! same reason everywhere.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Home, run_bare};
use serde_json::json;

const CONFIG: &str = "agents:\n  a: {default: true, mcp_servers: {one: {command: x}}, tools: coding}\n  broken: {tolls: 1}\n";

/// Commands about something that is not there.
const MISSING: [&[&str]; 31] = [
    &["agents", "show", "nobody"],
    &["agents", "show", "No Body"],
    &["agents", "pause", "nobody"],
    &["agents", "delete", "nobody", "--yes"],
    &["context", "show", "nobody"],
    &["tools", "nobody"],
    &["tools", "nobody", "--child"],
    &["audit", "tail", "nobody"],
    &["usage", "nobody"],
    &["sessions", "list", "nobody"],
    &["sessions", "show", "a", "77"],
    &["sessions", "show", "a", "nothing"],
    &["sessions", "forget", "a", "nothing", "--yes"],
    &["turns", "list", "nobody"],
    &["turns", "show", "a", "77"],
    &["turns", "show", "a", "nothing"],
    &["turns", "follow", "a", "77"],
    &["memory", "list", "nobody"],
    &["mcp", "list", "nobody"],
    &["mcp", "test", "a", "nothing"],
    &["mcp", "restart", "a", "nothing"],
    &["mcp", "approve", "a", "nothing"],
    &["skills", "list", "nobody"],
    &["skills", "show", "a", "nothing"],
    &["skills", "remove", "a", "nothing"],
    &["secret", "remove", "a", "NOTHING"],
    &["token", "revoke", "nothing"],
    &["token", "create", "--agent", "nobody"],
    &["approvals", "approve", "nothing"],
    &["approvals", "grants", "nobody"],
    &["check", "--config", "/nowhere/config.yaml"],
];

fn fails(home: &Home, args: &[&str], code: i32) -> String {
    let text = insula(home, args);
    assert_eq!(text.code, Some(code), "{args:?}: {text:?}");
    assert!(text.stderr.starts_with("error: "), "{args:?}: {text:?}");
    assert_eq!(text.stdout, "", "{args:?}");
    let program = insula(home, &[args, &["--json"]].concat());
    assert_eq!(program.code, Some(code), "{args:?}: {program:?}");
    assert_eq!(program.stderr, "", "{args:?}");
    let error = program.json()["error"].clone();
    let message = error["message"].as_str().unwrap_or_default().to_owned();
    assert!(!message.is_empty() && text.stderr.contains(&message), "{args:?}: {error}");
    assert_eq!(error["exit_code"], code, "{args:?}");
    message
}

#[test]
fn what_is_not_there_is_exit_code_1_everywhere_and_json_where_asked_for() {
    let home = configured(CONFIG);
    for _daemon in [None, Some(start_still(&home))] {
        for args in MISSING {
            fails(&home, args, 1);
        }
    }
    let told = insula(&home, &["tools", "nobody", "--json"]).json();
    assert_eq!(told["error"]["code"], "no_such_agent", "{told}");
}

#[test]
fn a_broken_agent_is_called_broken_whatever_was_asked_of_it() {
    let home = configured(CONFIG);
    for args in [
        &["skills", "list", "broken"][..],
        &["skills", "install", "broken", "/nowhere"],
        &["mcp", "list", "broken"],
        &["tools", "broken"],
        &["context", "show", "broken"],
    ] {
        let message = fails(&home, args, 1);
        assert!(message.contains("agent `broken` is broken: config.yaml: "), "{message}");
        assert!(message.contains("unknown key `tolls`"), "{message}");
    }
}

#[test]
fn wrong_use_is_json_too_where_asked_for() {
    let home = configured(CONFIG);
    for args in [
        &["nonsense", "--json"][..],
        &["agents", "--json"],
        &["--json", "agents", "show"],
        &["sessions", "list", "a", "--limit", "many", "--json"],
        &["chat", "--session", "", "-m", "x", "--json"],
    ] {
        let _daemon = (args[0] == "chat").then(|| start_still(&home));
        let wrong = insula(&home, args);
        assert_eq!((wrong.code, wrong.stderr.as_str()), (Some(2), ""), "{args:?}: {wrong:?}");
        let error = &wrong.json()["error"];
        assert!(error["message"].as_str().is_some_and(|it| !it.is_empty()), "{args:?}: {error}");
    }
    // Help is help, and a word behind `--` is no flag.
    assert!(run_bare(INSULA, &[], &["agents", "--help", "--json"]).ok().stdout.contains("Usage"));
    let plain = run_bare(INSULA, &[], &["nonsense", "--", "--json"]);
    assert!(plain.stderr.contains("Usage") || plain.stderr.contains("--help"), "{plain:?}");
}

#[test]
fn a_configuration_that_can_not_be_used_is_told_with_its_places() {
    let home = configured("agents: [\n");
    let told = insula(&home, &["agents", "list", "--json"]);
    assert_eq!((told.code, told.stderr.as_str()), (Some(2), ""), "{told:?}");
    let error = &told.json()["error"];
    assert_eq!(error["errors"][0]["file"], "config.yaml", "{error}");
    assert!(error["help"].as_str().unwrap().contains("insula check"), "{error}");
}

#[test]
fn a_conversation_without_a_name_is_refused_in_its_own_words() {
    let home = configured(CONFIG);
    let daemon = start_still(&home);
    let wrong = insula(&home, &["chat", "--agent", "a", "--session", "", "-m", "hello"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("`--session` names no conversation"), "{wrong:?}");
    let body = json!({ "session": "", "text": "hello" }).to_string();
    let answer = call(&daemon, &home, "POST", "/api/agents/a/messages", &body);
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("`session` is empty"), "{answer:?}");
}

#[test]
fn an_empty_variable_for_the_home_is_none() {
    let home = configured(CONFIG);
    let path = home.path().display().to_string();
    let empty = ("INSULA_HOME", "");
    run_bare(INSULA, &[empty], &["--home", &path, "agents", "list"]).ok();
    // Without a flag it is the usual home, which is not there.
    let user = ("HOME", path.as_str());
    let usual = run_bare(INSULA, &[empty, user], &["check"]);
    assert!(usual.stderr.contains(&format!("{path}/.insula")), "{usual:?}");
    // What is typed is meant, and names none.
    let typed = run_bare(INSULA, &[user], &["--home", "", "check"]);
    assert_eq!(typed.code, Some(2), "{typed:?}");
    assert!(typed.stderr.contains("empty name"), "{typed:?}");
}
