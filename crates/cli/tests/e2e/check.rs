//! `insula check` and the configuration format.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Home, run};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const MISTAKES: &str = "model: anthropic/claude-sonnet-4-5
agents:
  main: {default: true}
  coder:
    tolls: coding
    memory: maybe
  twin: {model: gpt}
  strict: {isolation: process}
bindings:
  - {agent: ghost, telegram: 1}
  - {agent: main, telgram: 2}
";

#[test]
fn a_good_configuration_is_good() {
    let home = configured("agents: {main: {}}\n");
    let output = insula(&home, &["check"]).ok();
    assert_eq!(output.stdout, "the configuration is good: 1 agent, 0 bindings\n");
    assert_eq!(json(&home, &["check"]), json!({ "ok": true, "errors": [], "warnings": [] }));
}

#[test]
fn an_account_that_would_be_refused_is_told_with_its_place() {
    let home = configured(
        "agents: {main: {}}\nchannels:\n  telegram:\n    accounts:\n      a: {token: \"${secret:A}\", mode: webhook}\n      b:\n        token: \"hush hush\"\n",
    );
    let output = insula(&home, &["check"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    let found = insula(&home, &["check", "--json"]).json();
    let found: Vec<_> = found["errors"].as_array().unwrap().iter().collect();
    let places: Vec<_> = found.iter().map(|it| it["line"].as_u64().unwrap()).collect();
    assert_eq!(places, [5, 7], "{found:?}");
    assert!(output.stdout.contains("`public_url`") && output.stdout.contains("no bot token"));
    assert!(output.stdout.contains("account `telegram.b` does not connect"), "{output:?}");
    assert!(!output.stdout.contains("hush"), "{output:?}");
}

#[test]
fn folders_that_would_not_be_given_are_told_and_nothing_is_made() {
    let beside = tempfile::tempdir().unwrap();
    let beside = beside.path().canonicalize().unwrap();
    std::fs::create_dir(beside.join("there")).unwrap();
    std::fs::write(beside.join("file"), "").unwrap();
    let home = Home::empty().unwrap();
    let (root, base) = (home.path().display(), beside.display());
    let around = home.path().canonicalize().unwrap().parent().unwrap().display().to_string();
    let config = format!(
        "agents:\n  good: {{files: {{shared: [{{path: {base}/there}}]}}}}\n  a:\n    files:\n      shared:\n        - {{path: {base}/later}}\n        - {{path: {base}/file}}\n        - {{path: {root}/keys}}\n        - {{path: {root}}}\n        - {{path: {around}}}\n        - {{path: /proc}}\n        - {{path: {base}/there, mode: rw}}\n"
    );
    home.write("config.yaml", &config).unwrap();
    home.write("keys/x", "").unwrap();
    let output = insula(&home, &["check"]);
    assert_eq!(output.code, Some(0), "the agents serve all the same: {output:?}");
    let told = insula(&home, &["check", "--json"]).json();
    let told: Vec<&str> =
        told["machine"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    let told: Vec<&str> =
        told.into_iter().filter(|line| !line.starts_with("programs of")).collect();
    let expected = [
        format!("`{base}/later` was granted and does not exist; make the folder"),
        format!("`{base}/file` was granted and is not a folder"),
        format!("`{root}/keys` is in the home of the daemon"),
        format!("`{root}` is the home of the daemon"),
        format!("`{around}` contains the daemon's home, so programs don't get it"),
        "`/proc` makes every program of this agent refused: devices".to_owned(),
    ];
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (line, expected) in told.iter().zip(&expected) {
        assert!(line.starts_with(&format!("agent `a`: {expected}")), "{line}");
        assert!(output.stdout.contains(&format!("warning: {line}")), "{output:?}");
    }
    assert!(!home.has("agents"), "looking makes nothing");
    assert!(!beside.join("later").exists());
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let home = configured(MISTAKES);
    let output = insula(&home, &["check"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert_text("check-mistakes", &home, &output.stdout);
    let output = insula(&home, &["check", "--json"]);
    assert_eq!(output.code, Some(2));
    let report = output.json();
    assert_eq!(report["ok"], false);
    let mut places = BTreeSet::new();
    for error in report["errors"].as_array().unwrap() {
        let keys: Vec<&str> = error.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["file", "line", "column", "message", "help", "agent"]);
        assert_eq!(error["file"], "config.yaml");
        assert!(error["column"].as_u64().unwrap() > 0);
        places.insert((error["line"].as_u64().unwrap(), error["agent"].clone().to_string()));
    }
    let place = |line, agent: &str| (line, agent.to_owned());
    let expected = BTreeSet::from([
        place(5, "\"coder\""),
        place(6, "\"coder\""),
        place(7, "\"twin\""),
        place(8, "\"strict\""),
        place(10, "null"),
        place(11, "null"),
    ]);
    assert_eq!(places, expected, "{report:#}");
}

#[test]
fn warnings_alone_are_no_failure() {
    let home = configured("agents: {main: {}}\nbindings: [{agent: main, telegram: 1}]\n");
    let report = json(&home, &["check"]);
    assert_eq!((&report["ok"], &report["errors"]), (&json!(true), &json!([])));
    assert!(!report["warnings"].as_array().unwrap().is_empty());
}

#[test]
fn a_syntax_error_has_a_place_and_keeps_the_daemon_from_starting() {
    let home = configured("agents:\n  main: {tools: [minimal\n");
    let report = insula(&home, &["check", "--json"]);
    assert_eq!(report.code, Some(2), "{report:?}");
    let error = report.json()["errors"][0].clone();
    assert_eq!((&error["file"], &error["agent"]), (&json!("config.yaml"), &Value::Null));
    assert!(error["line"].as_u64().unwrap() >= 2, "{error:#}");
    for command in [&["up", "--listen", "127.0.0.1:0"][..], &["agents", "list"]] {
        let output = insula(&home, command);
        assert_eq!(output.code, Some(2), "{command:?}: {output:?}");
        assert!(output.stderr.contains("config.yaml:"), "{command:?}: {output:?}");
    }
}

#[test]
fn an_agents_own_file_is_checked_like_the_shared_one() {
    let home = home([
        ("config.yaml", "agents: {a: {memory: true}}\n"),
        ("agents/a/agent.yaml", "memory: true\n"),
        ("agents/b/agent.yaml", "nmae: B\n"),
    ]);
    let report = insula(&home, &["check", "--json"]);
    assert_eq!(report.code, Some(2));
    let found: Vec<Value> = report.json()["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| json!([error["file"], error["line"], error["agent"]]))
        .collect();
    assert_eq!(
        found,
        [json!(["agents/a/agent.yaml", 1, "a"]), json!(["agents/b/agent.yaml", 1, "b"])]
    );
}

#[test]
fn a_home_that_is_not_there_is_a_failure_and_not_made() {
    let outer = Home::empty().unwrap();
    let missing = outer.path().join("nowhere");
    for command in [
        &["check"][..],
        &["agents", "list"],
        &["status"],
        &["doctor"],
        &["reload"],
        &["audit", "verify"],
    ] {
        let output = run(INSULA, &missing, command);
        assert_eq!(output.code, Some(1), "{command:?}: {output:?}");
        assert!(output.stderr.contains("`insula up` creates one"), "{command:?}: {output:?}");
        assert!(!missing.exists(), "{command:?}");
    }
}

#[test]
fn a_configuration_that_cannot_be_read_is_an_error() {
    // A folder in its place, and bytes that are no text: neither is read by anybody.
    let folder = home([("config.yaml/inside", "x")]);
    let bytes = Home::with([("config.yaml", b"agents: {\xff: {}}\n".as_slice())]).unwrap();
    for home in [&folder, &bytes] {
        let output = insula(home, &["check", "--json"]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert_eq!(output.json()["errors"][0]["file"], "config.yaml");
        assert_eq!(insula(home, &["up", "--listen", "127.0.0.1:0"]).code, Some(2));
    }
    let unreadable =
        home([("config.yaml", "agents: {a: {}, b: {}}\n"), ("agents/a/agent.yaml/x", "")]);
    let output = insula(&unreadable, &["check", "--json"]);
    assert_eq!((output.code, &output.json()["errors"][0]["agent"]), (Some(2), &json!("a")));
    assert_eq!(state(&unreadable, "b"), "ready");
}

#[test]
fn resolved_settings_come_with_their_origins() {
    let home = home([
        (
            "config.yaml",
            "model: openai/gpt-5\ndefaults: {memory: true}\nagents:\n  a: {tools: minimal}\n",
        ),
        ("agents/a/agent.yaml", "name: Anna\n"),
    ]);
    let resolved = json(&home, &["check", "--resolved"]);
    assert_eq!(resolved["ok"], true);
    let text = resolved.to_string();
    for origin in ["config.yaml:1", "config.yaml:2", "config.yaml:4", "agents/a/agent.yaml:1"] {
        assert!(text.contains(origin), "{origin}: {resolved:#}");
    }
    let text = insula(&home, &["check", "--resolved"]).ok().stdout;
    let line = |setting: &str| -> Vec<&str> {
        let line = text.lines().find(|line| line.trim_start().starts_with(setting));
        line.unwrap_or_else(|| panic!("{setting}: {text}")).split_whitespace().collect()
    };
    assert_eq!(
        line("memory.enabled"),
        ["memory.enabled", "true", "config.yaml:2:20", "(defaults)"]
    );
    assert_eq!(line("tools.profile"), ["tools.profile", "minimal", "config.yaml:4:14"]);
    assert_eq!(line("name"), ["name", "Anna", "agents/a/agent.yaml:1:7"]);
    assert_eq!(line("isolation"), ["isolation", "context", "built-in"]);
}

#[test]
fn another_file_can_be_checked_in_its_place() {
    let home = home([
        ("config.yaml", "agents: {main: {}}\n"),
        ("candidate.yaml", "agents: {main: {tolls: 1}}\n"),
    ]);
    let candidate = home.path().join("candidate.yaml");
    let output = insula(&home, &["check", "--json", "--config", candidate.to_str().unwrap()]);
    assert_eq!((output.code, &output.json()["ok"]), (Some(2), &json!(false)));
    insula(&home, &["check"]).ok();
    let missing = insula(&home, &["check", "--config", "/nowhere.yaml"]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stderr.contains("/nowhere.yaml"), "{missing:?}");
}

#[test]
fn checking_changes_nothing() {
    let home = configured(MISTAKES);
    let before = everything_below(home.path());
    insula(&home, &["check"]);
    insula(&home, &["check", "--resolved", "--json"]);
    assert_eq!(everything_below(home.path()), before);
}

#[test]
fn the_schema_is_one_and_knows_good_from_bad() {
    let home = Home::empty().unwrap();
    let schema = insula(&home, &["config", "schema"]).ok().json();
    assert!(jsonschema::meta::is_valid(&schema));
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(
        validator
            .is_valid(&json!({ "agents": { "main": { "default": true, "tools": ["todo"] } } }))
    );
    assert!(!validator.is_valid(&json!({ "agents": { "main": { "tolls": 1 } } })));
    assert!(!validator.is_valid(&json!({ "nonsense": 1 })));
    assert!(!home.has("insula.db"), "it needs no home");
}

#[test]
fn jobs_that_have_no_moment_left_are_told() {
    let home = configured(
        "agents:
  a:
    cron:
      over: {schedule: 2020-01-01T08:30, prompt: x}
      ended: {schedule: every day at 8:30, until: 2020-01-01, prompt: x}
      off: {schedule: 2020-01-01T08:30, prompt: x, enabled: false}
      daily: {schedule: every day at 8:30, prompt: x}
",
    );
    let check = insula(&home, &["check"]).ok();
    for (name, is_told) in [("over", true), ("ended", true), ("off", false), ("daily", false)] {
        let told = format!("job `{name}` has no moment that is still to come");
        assert_eq!(check.stdout.contains(&told), is_told, "{name}: {}", check.stdout);
    }
}
