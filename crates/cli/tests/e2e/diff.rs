//! `insula check --diff`: what an edit would grant or take away, before it applies.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use serde_json::{Value, json};

const BEFORE: &str = "agents:\n  main: {default: true}\n  a: {tools: minimal, memory: true}\n";
const AFTER: &str = "agents:\n  main: {default: true}\n  a: {tools: messaging}\n";

fn changes(home: &Home, args: &[&str]) -> Vec<Value> {
    let args: Vec<&str> = ["check", "--diff"].iter().chain(args).copied().collect();
    let mut report = json(home, &args);
    let changes = report["changes"].take();
    changes.as_array().unwrap_or_else(|| panic!("{report:#}")).clone()
}

/// Kind, axis and item of every change.
fn short(changes: &[Value]) -> Vec<[String; 3]> {
    let text = |change: &Value, key: &str| change[key].as_str().unwrap_or_default().to_owned();
    changes.iter().map(|change| ["kind", "axis", "item"].map(|key| text(change, key))).collect()
}

fn assert_says_what_the_edit_does(changes: &[Value]) {
    let short = short(changes);
    let has = |kind: &str, axis: &str, item: &str| {
        assert!(
            short.contains(&[kind, axis, item].map(str::to_owned)),
            "{kind} {axis} {item}: {short:#?}"
        );
    };
    has("grants", "tool", "web_extract");
    has("takes", "tool", "memory");
    assert!(short.iter().any(|[kind, axis, _]| kind == "takes" && axis == "memory"), "{short:#?}");
    assert!(changes.iter().all(|change| change["agent"] == "a"), "{changes:#?}");
}

#[test]
fn an_edit_is_compared_with_what_was_applied_last() {
    let home = configured(BEFORE);
    start_still(&home).terminate().unwrap();
    assert_eq!(changes(&home, &[]), Vec::<Value>::new());
    home.write("config.yaml", AFTER).unwrap();
    assert_says_what_the_edit_does(&changes(&home, &[]));
    // Comparing applies nothing: it says the same again.
    assert_says_what_the_edit_does(&changes(&home, &[]));
    assert_text("check-diff", &home, &insula(&home, &["check", "--diff"]).ok().stdout);
}

#[test]
fn an_edit_is_compared_with_what_the_daemon_runs_by() {
    let home = configured(BEFORE);
    let _daemon = start_still(&home);
    home.write("config.yaml", AFTER).unwrap();
    assert_says_what_the_edit_does(&changes(&home, &[]));
    insula(&home, &["reload"]).ok();
    assert_eq!(changes(&home, &[]), Vec::<Value>::new());
    assert_eq!(
        insula(&home, &["check", "--diff"]).ok().stdout.lines().next(),
        Some("these files change nothing")
    );
}

#[test]
fn a_candidate_is_compared_without_touching_the_file_it_would_replace() {
    let home = home([("config.yaml", BEFORE), ("candidate.yaml", AFTER)]);
    let daemon = start_still(&home);
    let candidate = home.path().join("candidate.yaml");
    let with_it = ["--config", candidate.to_str().unwrap()];
    assert_says_what_the_edit_does(&changes(&home, &with_it));
    assert_eq!(changes(&home, &[]), Vec::<Value>::new());
    daemon.terminate().unwrap();
    assert_says_what_the_edit_does(&changes(&home, &with_it));
}

#[test]
fn agents_and_routes_that_come_and_go_are_told() {
    let home =
        configured("agents: {main: {default: true}, a: {}}\nbindings: [{agent: a, telegram: 1}]\n");
    let _daemon = start_still(&home);
    home.write(
        "config.yaml",
        "agents: {main: {default: true}, b: {}}\nbindings: [{agent: b, telegram: 1}]\n",
    )
    .unwrap();
    let changes = changes(&home, &[]);
    let of = |agent: &str| -> Vec<&str> {
        let of = changes.iter().filter(|change| change["agent"] == agent);
        of.map(|change| change["kind"].as_str().unwrap()).collect()
    };
    assert!(of("a").contains(&"takes") && !of("a").contains(&"grants"), "{changes:#?}");
    assert!(of("b").contains(&"grants") && !of("b").contains(&"takes"), "{changes:#?}");
    assert!(of("main").is_empty(), "{changes:#?}");
}

#[test]
fn a_first_configuration_grants_everything_it_says() {
    let home = configured(BEFORE);
    let changes = changes(&home, &[]);
    assert!(!changes.is_empty());
    assert!(short(&changes).iter().all(|[kind, _, _]| kind != "takes"), "{changes:#?}");
}

#[test]
fn a_configuration_with_mistakes_still_says_what_the_rest_would_do() {
    let home = configured(BEFORE);
    let _daemon = start_still(&home);
    home.write("config.yaml", format!("{AFTER}  broken: {{tolls: 1}}\n")).unwrap();
    let output = insula(&home, &["check", "--diff", "--json"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    let report = output.json();
    assert!(
        short(report["changes"].as_array().unwrap())
            .iter()
            .any(|[_, _, item]| item == "web_extract")
    );
    home.write("config.yaml", "agents: [").unwrap();
    let output = insula(&home, &["check", "--diff", "--json"]);
    assert_eq!(
        (output.code, output.json().get("changes")),
        (Some(2), None),
        "nothing would be applied"
    );
    assert_eq!(json!(state(&home, "a")), "ready");
}
