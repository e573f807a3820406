//! Deleting: everything goes, one line stays, and the name means nothing of what it was.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use serde_json::{Value, json};
use std::path::PathBuf;

const CANARY: &str = "canary_7f3a91c2";
const WITH_VICTIM: &str = "agents:\n  main: {default: true}\n  victim: {tools: minimal}\nbindings:\n  - {agent: victim, telegram: 1}\n";
const WITHOUT_VICTIM: &str = "agents:\n  main: {default: true}\n";

/// The deletions in the daemon's chain: who, by whom.
fn deletions(home: &Home) -> Vec<Value> {
    let chain = insula(home, &["audit", "export"]).ok().stdout;
    let records = chain.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let deletions = records.filter(|record| record["kind"] == "agent.deleted");
    deletions.map(|record| json!([record["actor"], record["content"]])).collect()
}

/// A home whose agent `victim` left its canary wherever an agent can leave something today.
fn home_with_canaries() -> Home {
    home([
        ("config.yaml", WITH_VICTIM),
        (
            "agents/victim/agent.yaml",
            &format!(
                "name: {CANARY}\ndescription: {CANARY}\nfiles: {{shared: [{{path: /srv/{CANARY}, mode: ro}}]}}\nmetadata: {{note: {CANARY}}}\nsecrets: [{CANARY}]\n"
            ),
        ),
        ("agents/victim/SOUL.md", CANARY),
        ("agents/victim/workspace/notes.txt", CANARY),
        ("agents/victim/memories/MEMORY.md", CANARY),
        ("agents/victim/logs/log.txt", CANARY),
    ])
}

/// Records with the canary in them: some in the agent's database, some still on their way.
fn plant_in_audit(home: &Home) {
    let good = home.read("agents/victim/agent.yaml").unwrap();
    let fail = |home: &Home| {
        home.write("agents/victim/agent.yaml", format!("{CANARY}: 1\n")).unwrap();
        insula(home, &["reload"]).ok();
        home.write("agents/victim/agent.yaml", &good).unwrap();
        insula(home, &["reload"]).ok();
    };
    fail(home);
    let trail = insula(home, &["audit", "tail", "victim", "--json"]).ok().stdout;
    assert!(trail.contains(CANARY), "{trail}");
    fail(home);
}

fn assert_no_canary(home: &Home, when: &str) {
    assert_eq!(holders(home, CANARY), Vec::<PathBuf>::new(), "{when}");
}

#[test]
fn a_deleted_agent_leaves_one_line_and_nothing_else() {
    let home = home_with_canaries();
    let daemon = start_still(&home);
    plant_in_audit(&home);
    assert!(holders(&home, CANARY).len() >= 7, "{:#?}", holders(&home, CANARY));
    let deleted = json(&home, &["agents", "delete", "victim", "--yes"]);
    assert_eq!(deleted, json!({ "id": "victim", "deleted": true }));
    assert!(!home.has("agents/victim"));
    assert_no_canary(&home, "while the daemon runs");
    assert_eq!(deletions(&home), [json!(["cli:local", { "agent": "victim" }])]);
    daemon.terminate().unwrap();
    assert_no_canary(&home, "after it ended");
    assert_chains_hold(&home);
}

#[test]
fn a_deleted_name_refuses_while_the_configuration_has_it() {
    let home = home_with_canaries();
    let daemon = start_still(&home);
    insula(&home, &["agents", "delete", "victim", "--yes"]).ok();
    let expected = json!({
        "id": "victim", "state": "failed", "reason": "deleted; remove it from config.yaml",
        "generation": 0, "model": null, "memory": null, "isolation": null, "name": null,
        "description": null,
    });
    let assert_refuses = |when: &str| {
        assert_eq!(agent(&home, "victim"), expected, "{when}");
        let args = ["route", "explain", "--platform", "telegram", "--chat", "1"];
        let route = json(&home, &args);
        assert_eq!(route["agent"], Value::Null, "{when}");
        assert!(route["refused"].as_str().unwrap().contains("deleted"), "{when}: {route:#}");
        for verb in ["pause", "resume", "archive", "add"] {
            let output = insula(&home, &["agents", verb, "victim"]);
            assert_eq!(output.code, Some(1), "{when}, {verb}: {output:?}");
            assert!(output.stderr.contains("remove it from config.yaml"), "{output:?}");
        }
        // It would come alive with whoever has the name next.
        let token = insula(&home, &["token", "create", "--agent", "victim", "--verb", "chat"]);
        assert_eq!(token.code, Some(1), "{when}: {token:?}");
        assert!(token.stderr.contains("remove it from config.yaml"), "{token:?}");
        let again = insula(&home, &["agents", "delete", "victim", "--yes"]);
        assert_eq!(again.code, Some(1), "{when}: {again:?}");
    };
    assert_refuses("at once");
    insula(&home, &["reload"]).ok();
    assert_refuses("after a reload");
    daemon.kill9().unwrap();
    assert_refuses("without a daemon");
    let _daemon = start_still(&home);
    assert_refuses("after a restart");
    assert!(!home.has("agents/victim"));
}

#[test]
fn a_name_that_is_used_again_starts_from_nothing() {
    let home = home_with_canaries();
    let _daemon = start_still(&home);
    plant_in_audit(&home);
    insula(&home, &["agents", "pause", "victim"]).ok();
    insula(&home, &["agents", "delete", "victim", "--yes"]).ok();
    home.write("config.yaml", WITHOUT_VICTIM).unwrap();
    insula(&home, &["reload"]).ok();
    assert!(!agents(&home).contains_key("victim"));
    let row = json(&home, &["agents", "add", "victim"]);
    assert_eq!((&row["state"], &row["generation"]), (&json!("ready"), &json!(1)), "{row:#}");
    assert_eq!(kinds(&home, "victim"), ["agent.created"]);
    assert_no_canary(&home, "after it was added again");
    assert_eq!(deletions(&home).len(), 1);
    assert_chains_hold(&home);
}

#[test]
fn an_agent_of_its_own_file_is_gone_and_may_come_again() {
    let home = configured(WITHOUT_VICTIM);
    for _daemon in [Some(start_still(&home)), None] {
        for round in 1..=3 {
            insula(&home, &["agents", "add", "short"]).ok();
            insula(&home, &["agents", "pause", "short"]).ok();
            assert_eq!(kinds(&home, "short"), ["agent.created", "agent.paused"], "{round}");
            insula(&home, &["agents", "delete", "short", "--yes"]).ok();
            assert!(!agents(&home).contains_key("short"));
            assert!(!home.has("agents/short"));
        }
    }
    assert_eq!(deletions(&home).len(), 6);
    assert_chains_hold(&home);
}

#[test]
fn an_agent_is_deleted_without_a_daemon() {
    let home = home_with_canaries();
    insula(&home, &["audit", "verify"]).ok();
    plant_in_audit(&home);
    insula(&home, &["agents", "delete", "victim", "--yes"]).ok();
    assert!(!home.has("agents/victim"));
    assert_no_canary(&home, "without a daemon");
    assert_eq!(deletions(&home), [json!(["cli:local", { "agent": "victim" }])]);
}

#[test]
fn an_agent_that_failed_can_be_deleted() {
    let home = home([("config.yaml", WITHOUT_VICTIM), ("agents/victim/agent.yaml", "tolls: 1\n")]);
    let _daemon = start_still(&home);
    assert_eq!(state(&home, "victim"), "failed");
    insula(&home, &["agents", "delete", "victim", "--yes"]).ok();
    assert!(!home.has("agents/victim"));
    assert!(!agents(&home).contains_key("victim"));
}

#[test]
fn deleting_asks_first_and_without_a_terminal_refuses() {
    let home = home_with_canaries();
    for _daemon in [Some(start_still(&home)), None] {
        let output = insula(&home, &["agents", "delete", "victim"]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stderr.contains("--yes"), "{output:?}");
        assert_eq!(state(&home, "victim"), "ready");
        let nobody = insula(&home, &["agents", "delete", "nobody", "--yes"]);
        assert_eq!(nobody.code, Some(1), "{nobody:?}");
    }
    assert!(home.has("agents/victim/workspace/notes.txt"));
    assert_eq!(deletions(&home), Vec::<Value>::new());
}

#[test]
fn what_an_agent_links_to_is_not_deleted_with_it() {
    let home = home_with_canaries();
    let precious = home.path().join("precious.txt");
    home.write("precious.txt", "keep").unwrap();
    home.write("kept/inside.txt", "keep").unwrap();
    let workspace = home.path().join("agents/victim/workspace");
    std::os::unix::fs::symlink(&precious, workspace.join("link")).unwrap();
    std::os::unix::fs::symlink(home.path().join("kept"), workspace.join("folder")).unwrap();
    let _daemon = start_still(&home);
    insula(&home, &["agents", "delete", "victim", "--yes"]).ok();
    assert_eq!(home.read("precious.txt").unwrap(), "keep");
    assert_eq!(home.read("kept/inside.txt").unwrap(), "keep");
}

#[test]
fn a_deletion_that_was_cut_off_is_finished_before_anybody_sees_the_agent() {
    for daemon in [true, false] {
        let home = home_with_canaries();
        insula(&home, &["agents", "add", "short"]).ok();
        insula(&home, &["audit", "verify"]).ok();
        // What a kill leaves between the decision and the end: all files, and the decision.
        let sql = rusqlite::Connection::open(home.path().join("insula.db")).unwrap();
        let decided = "UPDATE agent SET state = 'deleting' WHERE id IN ('short', 'victim')";
        assert_eq!(sql.execute(decided, []).unwrap(), 2);
        drop(sql);
        let _daemon = daemon.then(|| start_still(&home));
        let rows = agents(&home);
        assert!(!rows.contains_key("short"), "{rows:#?}");
        // Looking finishes nothing; the next change does.
        if !daemon {
            assert!(home.has("agents/short"));
            insula(&home, &["reload"]).ok();
        }
        assert_eq!(rows["victim"]["reason"], "deleted; remove it from config.yaml");
        assert!(!home.has("agents/short") && !home.has("agents/victim"));
        assert_no_canary(&home, "once it is finished");
        let by_daemon = |id: &str| json!(["daemon", { "agent": id }]);
        assert_eq!(deletions(&home), [by_daemon("short"), by_daemon("victim")]);
        assert_chains_hold(&home);
    }
}

#[test]
fn an_addition_that_was_cut_off_leaves_nothing_in_its_way() {
    let home =
        home([("config.yaml", WITHOUT_VICTIM), ("agents/.new-short/.agent.yaml.new", "nam")]);
    let _daemon = start_still(&home);
    assert!(!home.has("agents/.new-short"));
    assert_eq!(json(&home, &["agents", "add", "short"])["state"], "ready");
}
