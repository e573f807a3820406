//! Rules of DESIGN §3 that show from outside.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use serde_json::Value;
use std::fs;

fn answering(home: &Home, message: &str) -> (Value, Value) {
    let args: Vec<&str> =
        ["route", "explain", "--platform"].into_iter().chain(message.split(' ')).collect();
    let route = json(home, &args);
    (route["agent"].clone(), route["refused"].clone())
}

/// Unknown target, missing agent, failed agent, nobody: each is refused with a reason, though
/// a default agent and a rule for the whole platform stand ready.
#[test]
fn rule_04_closed_by_default() {
    let home = configured(
        "agents:\n  main: {default: true}\n  gone: {}\n  asleep: {}\n  broken: {tools: {allow: [no_such_tool]}, memory: maybe}\n  guarded: {isolation: container}\nbindings:\n  - {agent: main, telegram: '*'}\n  - {agent: gone, telegram: 1}\n  - {agent: asleep, telegram: 2}\n  - {agent: broken, telegram: 3}\n  - {agent: guarded, telegram: 4}\n  - {agent: nobody, telegram: 5}\n",
    );
    let daemon = start_still(&home);
    insula(&home, &["agents", "delete", "gone", "--yes"]).ok();
    insula(&home, &["agents", "pause", "asleep"]).ok();
    let assert_closed = || {
        for chat in 1..=5 {
            let (agent, refused) = answering(&home, &format!("telegram --chat {chat}"));
            assert_eq!(agent, Value::Null, "chat {chat}");
            assert!(refused.as_str().is_some_and(|reason| !reason.is_empty()), "chat {chat}");
        }
        assert_eq!(answering(&home, "telegram --chat 6").0, "main");
    };
    assert_closed();
    daemon.terminate().unwrap();
    assert_closed();
    let _daemon = start_still(&home);
    assert_closed();

    // An empty allow-list is none, and a guard that nothing enforces starts nobody.
    home.write("config.yaml", "agents: {main: {tools: []}, other: {tools: {allow: []}}}\n")
        .unwrap();
    insula(&home, &["reload"]).ok();
    for id in ["main", "other"] {
        let tools = json(&home, &["context", "show", id])["tools"].clone();
        assert_eq!(tools, Value::Array(vec![]), "{id}");
    }
    // Without a default nobody answers, rather than somebody.
    assert_eq!(answering(&home, "telegram --chat 6").0, Value::Null);
}

/// Whatever is wrong with one agent shows on that agent and leaves the others serving.
#[test]
fn rule_09_faults_are_contained() {
    let home = Home::empty().unwrap();
    for number in 0..20 {
        home.write(&format!("agents/good{number}/agent.yaml"), "tools: minimal\n").unwrap();
    }
    home.write("config.yaml", "agents: {unknown-key: {tolls: 1}, bad-model: {model: gpt}, unenforced: {isolation: process}, spoiled: {}}\n").unwrap();
    home.write("agents/syntax/agent.yaml", "tools: [half\n").unwrap();
    home.write("agents/bytes/agent.yaml", [0xff, 0xfe, 0x00]).unwrap();
    home.write("agents/folder/agent.yaml/inside", "").unwrap();
    home.write("agents/endless/SOUL.md", vec![b'x'; 1 << 20]).unwrap();
    home.write("agents/endless/agent.yaml", "{}\n").unwrap();
    home.write("agents/spoiled/agent.db", "this is no database, though it is long enough").unwrap();
    std::os::unix::fs::symlink("agent.yaml", home.path().join("agents/loop.yaml")).unwrap();
    fs::create_dir(home.path().join("agents/looping")).unwrap();
    std::os::unix::fs::symlink("agent.yaml", home.path().join("agents/looping/agent.yaml"))
        .unwrap();
    let daemon = start_still(&home);
    let rows = agents(&home);
    for bad in [
        "unknown-key",
        "bad-model",
        "unenforced",
        "syntax",
        "bytes",
        "folder",
        "endless",
        "looping",
    ] {
        let row = rows.get(bad).unwrap_or_else(|| panic!("{bad} is not shown: {rows:#?}"));
        assert_eq!(row["state"], "failed", "{bad}: {row:#}");
        assert!(
            row["reason"].as_str().unwrap().contains(".yaml:") || bad == "endless",
            "{bad}: {row:#}"
        );
    }
    assert_eq!(insula(&home, &["audit", "verify", "spoiled"]).code, Some(1));
    let spoiled = &rows["spoiled"];
    assert!(spoiled["reason"].as_str().unwrap().contains("agent.db is damaged"), "{spoiled:#}");
    for number in 0..20 {
        let id = format!("good{number}");
        assert_eq!(
            (&rows[&id]["state"], &rows[&id]["generation"]),
            (&"ready".into(), &1.into()),
            "{id}"
        );
        insula(&home, &["audit", "verify", &id]).ok();
    }
    assert_eq!(get(&daemon, "/readyz").status, 200);
    // It goes on being so while they are changed, paused and deleted.
    insula(&home, &["agents", "delete", "syntax", "--yes"]).ok();
    insula(&home, &["agents", "pause", "good0"]).ok();
    insula(&home, &["reload"]).ok();
    let serving = agents(&home).into_values().filter(|row| row["state"] == "ready").count();
    assert_eq!(serving, 19, "the good ones but the one that is paused");
}

const SECRET: &str = "sk-canary-5f1e0b7d";

/// A daemon whose operator wrote a credential into the file, twice.
fn home_with_a_secret() -> Home {
    configured(&format!(
        "providers: {{local: {{kind: openai, base_url: \"http://127.0.0.1:1/v1\", api_key: {SECRET}}}}}\nagents: {{main: {{model: local/x, mcp_servers: {{tool: {{command: tool, env: {{TOKEN: {SECRET}}}}}}}}}}}\n"
    ))
}

fn assert_hidden(home: &Home, command: &str) {
    let output = insula(home, &command.split(' ').collect::<Vec<_>>());
    let shown = output.stdout.contains(SECRET) || output.stderr.contains(SECRET);
    assert!(!shown, "{command}: {output:?}");
}

/// No credential of the daemon shows in what it answers, logs or stores.
#[test]
fn rule_12_secrets_stay_out_of_sight() {
    let home = home_with_a_secret();
    let daemon = start_still(&home);
    insula(&home, &["audit", "verify"]).ok();
    for command in [
        "check --json",
        "check --resolved --json",
        "check --diff --json",
        "agents list",
        "context show main",
        "context show main --json",
        "tools main",
        "status --json",
        "doctor",
        "audit tail main --json",
        "audit tail",
    ] {
        assert_hidden(&home, command);
    }
    let admin = token(&home);
    assert!(!daemon.log().contains(SECRET) && !daemon.log().contains(&admin));
    daemon.terminate().unwrap();
    assert_eq!(
        holders(&home, SECRET),
        [home.path().join("config.yaml")],
        "only where it was written"
    );
    assert!(holders(&home, &admin).is_empty());
}

#[test]
fn rule_12_a_warning_about_a_credential_does_not_show_it() {
    let home = home_with_a_secret();
    for command in ["check", "check --resolved", "check --diff"] {
        assert_hidden(&home, command);
    }
}
