//! `insula agents rename`: everything of an agent follows, nothing is reached by the old id, and a
//! crash in the middle is followed by the rest.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Home, run_with_input};
use serde_json::{Value, json as value};
use std::fs;

const CONFIG: &str = r#"# bob is one of two
agents:
  bob: {memory: true, access: {allow: ["telegram:5"]}}
  ann: {default: true, links: [{to: bob, as: ask}]}
bindings:
  - {agent: bob, telegram: "*"}
boards:
  work: {agents: {bob: manage, ann: manage}, review: bob}
"#;

fn ids(home: &Home) -> Vec<String> {
    agents(home).into_keys().collect()
}

fn routed(home: &Home) -> Value {
    let args = ["route", "explain", "--platform", "telegram", "--chat", "5", "--user", "5"];
    json(home, &args)["agent"].clone()
}

/// What bob is given before he is called otherwise.
fn furnished() -> Home {
    let home = configured(CONFIG);
    let daemon = start(&home);
    insula(&home, &["chat", "--agent", "bob", "-m", "the kettle is blue"]).ok();
    drop(daemon);
    let args = ["secret", "set", "bob", "KETTLE"];
    run_with_input(INSULA, home.path(), &args, "whistle-for-tests\n").ok();
    insula(&home, &["board", "add", "work", "Boil water", "--assignee", "bob"]).ok();
    home
}

/// Everything is robert's, and nothing bob's.
fn assert_followed(home: &Home) {
    assert_eq!(ids(home), ["ann", "robert"]);
    assert_eq!(agents(home)["robert"]["state"], "ready");
    let config = home.read("config.yaml").unwrap();
    assert!(!config.lines().skip(1).any(|line| line.contains("bob")), "{config}");
    assert!(config.starts_with("# bob is one of two"), "comments are nobody's: {config}");
    assert_eq!(routed(home), "robert");
    let found = json(home, &["sessions", "search", "robert", "kettle"]);
    assert!(!found.as_array().unwrap().is_empty(), "{found:#}");
    let sessions = json(home, &["sessions", "list", "robert"]);
    let key = sessions[0]["key"].as_str().unwrap();
    assert!(key.starts_with("agent:robert:"), "{key}");
    assert_eq!(json(home, &["secret", "list", "robert"])[0]["name"], "KETTLE");
    assert!(!home.path().join("vault/agents/bob").exists());
    let card = json(home, &["board", "show", "work", "1"]);
    assert_eq!(card["assignee"], "robert", "{card:#}");
    assert_chains_hold(home);
    let tail = json(home, &["audit", "tail", "robert"]);
    let kinds: Vec<&str> =
        tail.as_array().unwrap().iter().filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds.iter().filter(|it| **it == "agent.renamed").count(), 1, "{kinds:?}");
    for gone in [
        &["agents", "show", "bob"][..],
        &["sessions", "list", "bob"],
        &["secret", "list", "bob"],
        &["chat", "--agent", "bob", "-m", "hello"],
    ] {
        assert_ne!(insula(home, gone).code, Some(0), "{gone:?}");
    }
    assert!(!home.path().join("run/rename.json").exists());
    assert!(!home.path().join("agents/bob").exists());
}

#[test]
fn everything_follows_while_a_daemon_runs_and_the_old_id_leads_nowhere() {
    let home = furnished();
    let daemon = start(&home);
    let token = json(&home, &["token", "create", "--agent", "bob", "--verb", "chat"]);
    let before = json(&home, &["audit", "verify", "bob"])["records"].as_u64().unwrap();
    let done = json(&home, &["agents", "rename", "bob", "robert"]);
    assert_eq!(done, value!({ "from": "bob", "to": "robert" }));
    assert_followed(&home);
    let after = json(&home, &["audit", "verify", "robert"]);
    assert!(after["records"].as_u64().unwrap() > before, "{after:#}");
    let tokens = json(&home, &["token", "list"]);
    assert_eq!(tokens[0]["agents"], value!(["robert"]), "{tokens:#}");
    assert_eq!(tokens[0]["id"], token["id"]);
    // It goes on where it was.
    insula(&home, &["chat", "--agent", "robert", "-m", "and full"]).ok();
    // Whoever is given the old id is somebody else, and knows nothing.
    insula(&home, &["agents", "add", "bob", "--memory"]).ok();
    let sessions = json(&home, &["sessions", "list", "bob"]);
    assert_eq!(sessions, value!([]));
    insula(&home, &["chat", "--agent", "bob", "-m", "who am I"]).ok();
    assert_chains_hold(&home);
    // And back again, now that the name is taken, is refused.
    assert_eq!(insula(&home, &["agents", "rename", "robert", "bob"]).code, Some(2));
    drop(daemon);
    assert_chains_hold(&home);
}

#[test]
fn what_can_not_be_renamed_is_refused_before_anything_is_written() {
    let home = furnished();
    let before = home.read("config.yaml").unwrap();
    for (from, to, why) in [
        ("bob", "ann", "there is an agent `ann` already"),
        ("carl", "robert", "carl"),
        ("bob", "Bob!", "id"),
        ("bob", "bob", "is called so already"),
        // As YAML has it this is no name at all.
        ("bob", "null", "the configuration would have an error with `null` in it"),
    ] {
        let refused = insula(&home, &["agents", "rename", from, to]);
        assert_ne!(refused.code, Some(0), "{from} {to}");
        assert!(refused.stderr.contains(why), "{from} {to}: {}", refused.stderr);
        assert_eq!(home.read("config.yaml").unwrap(), before);
        assert_eq!(ids(&home), ["ann", "bob"]);
    }
}

#[test]
fn a_crash_anywhere_in_it_is_followed_by_the_rest() {
    for done in 0..=3 {
        let home = furnished();
        home.write("run/rename.json", r#"{"from":"bob","to":"robert"}"#).unwrap();
        let agents = home.path().join("agents");
        if done >= 1 {
            fs::rename(agents.join("bob"), agents.join("robert")).unwrap();
        }
        if done >= 2 {
            let config = home.read("config.yaml").unwrap();
            let config = config.replacen("  bob:", "  robert:", 1);
            home.replace("config.yaml", config).unwrap();
        }
        if done >= 3 {
            // As a kill between the last step and the end of it leaves the wish.
            insula(&home, &["agents", "pause", "ann"]).ok();
            insula(&home, &["agents", "resume", "ann"]).ok();
            home.write("run/rename.json", r#"{"from":"bob","to":"robert"}"#).unwrap();
        }
        let daemon = start(&home);
        assert_followed(&home);
        drop(daemon);
    }
}

#[test]
fn the_built_in_agent_can_be_called_otherwise_too() {
    let home = Home::empty().unwrap();
    let daemon = start(&home);
    insula(&home, &["chat", "-m", "the kettle is red"]).ok();
    insula(&home, &["agents", "rename", "main", "helper"]).ok();
    assert_eq!(ids(&home), ["coder", "family", "helper"]);
    let found = json(&home, &["sessions", "search", "helper", "kettle"]);
    assert!(!found.as_array().unwrap().is_empty(), "{found:#}");
    let reply = insula(&home, &["chat", "-m", "hello"]).ok();
    assert!(!reply.stdout.is_empty());
    assert_chains_hold(&home);
    drop(daemon);
}
