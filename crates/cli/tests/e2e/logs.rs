//! `insula logs`: what happened to each agent, a file a day in its folder, and who can't touch it.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Home, run_with_input};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;

/// The lines of an agent's log.
fn logged(home: &Home, agent: &str) -> Vec<Value> {
    let said = insula(home, &["logs", agent, "--json", "-n", "1000"]).ok().stdout;
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn has(home: &Home, agent: &str, message: &str) -> bool {
    logged(home, agent).iter().any(|line| line["message"] == message)
}

#[test]
fn rule_09_an_agents_log_has_what_happened_to_it_and_nothing_of_others() {
    let home = configured(
        "approvals: {mode: off}\nagents:\n  a: {default: true, tools: coding}\n  b: {}\n",
    );
    home.write("agents/a/logs/2020-01-01.jsonl", "{}\n").unwrap();
    home.write("agents/a/logs/notes.txt", "mine").unwrap();
    run_with_input(INSULA, home.path(), &["secret", "set", "a", "KEY"], "sesame-5a1b77c0\n").ok();
    let daemon = start_still(&home);
    let said = insula(&home, &["chat", "--agent", "a", "-m", "the word is sesame-5a1b77c0"]).ok();
    assert!(!said.stdout.is_empty());
    eventually("a turn in the log", || has(&home, "a", "a turn ended").then_some(()));
    insula(&home, &["agents", "pause", "b"]).ok();
    insula(
        &home,
        &[
            "chat",
            "--agent",
            "a",
            "-m",
            "call terminal {\"command\": \"ls -la ..; cat ../logs/*; echo x >> ../logs/2020-01-02.jsonl\"}",
        ],
    );
    let of_a = logged(&home, "a");
    assert!(of_a.iter().any(|line| line["message"] == "a turn began"), "{of_a:?}");
    assert!(!of_a.iter().any(|line| line["message"] == "agent paused"), "that is another's");
    let ended = of_a.iter().find(|line| line["message"] == "a turn ended").unwrap();
    assert_eq!(ended["status"], "replied", "{ended}");
    assert!(!home.has("agents/a/logs/2020-01-01.jsonl"), "too old");
    assert!(!home.has("agents/a/logs/2020-01-02.jsonl"), "no program writes there");
    assert!(home.has("agents/a/logs/notes.txt"), "none of ours");
    let files = everything_below(&home.path().join("agents/a/logs"));
    let day = files.iter().find(|path| path.extension().is_some_and(|it| it == "jsonl")).unwrap();
    assert_eq!(std::fs::metadata(day).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(day).unwrap();
    assert!(!text.contains("sesame") && !text.contains("the word"), "no words and no secrets");
    // For people, and since when.
    let shown = insula(&home, &["logs", "a", "--since", "1h"]).ok().stdout;
    assert!(shown.contains("a turn ended") && shown.contains("status=replied"), "{shown}");
    let later = insula(&home, &["logs", "a", "--since", "2999-01-01"]).ok().stdout;
    assert_eq!(later.trim(), "nothing is logged of a then");
    assert_eq!(insula(&home, &["logs", "a", "--since", "soon"]).code, Some(2));
    assert!(insula(&home, &["logs", "nobody"]).stderr.contains("no agent `nobody`"));
    insula(&home, &["agents", "delete", "b", "--yes"]).ok();
    assert!(!home.has("agents/b"), "with all it had");
    drop(daemon);
    assert!(!logged(&home, "a").is_empty(), "also without a daemon");
}

#[test]
fn a_log_that_cannot_be_written_stops_no_turn() {
    let home = configured("agents:\n  a: {default: true}\n");
    home.write("agents/a/logs", "in the way").unwrap();
    let daemon = start_still(&home);
    for _ in 0..3 {
        assert!(!insula(&home, &["chat", "-m", "hello"]).ok().stdout.is_empty());
    }
    daemon.wait_for_line("a log can't be written").unwrap();
}

#[test]
fn how_long_logs_are_kept_is_a_number_of_days() {
    for (keep, is_fine) in [
        ("14d", true),
        ("24h", true),
        ("0d", false),
        ("3h", false),
        ("4000d", false),
        ("forever", false),
    ] {
        let home = configured(&format!("agents:\n  a: {{logs: {{keep: {keep}}}}}\n"));
        let checked = insula(&home, &["check"]);
        assert_eq!(checked.code == Some(0), is_fine, "{keep}: {checked:?}");
    }
}
