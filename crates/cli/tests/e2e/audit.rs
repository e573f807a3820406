//! The audit chains: complete, in order, and damaged by nobody without it showing.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::fs;

const ONE: &str = "agents: {a: {tools: minimal}, b: {}}\n";

fn verified(home: &Home) -> (Option<i32>, Value) {
    let output = insula(home, &["audit", "verify", "a", "--json"]);
    (output.code, output.json())
}

/// A home without a daemon whose agent `a` has six records in its database.
fn home_with_records() -> Home {
    let home = configured(ONE);
    let daemon = start_still(&home);
    for verb in ["pause", "resume", "archive", "resume", "pause"] {
        insula(&home, &["agents", verb, "a"]).ok();
    }
    let (code, report) = verified(&home);
    assert_eq!((code, &report["records"]), (Some(0), &json!(6)));
    daemon.terminate().unwrap();
    home
}

/// A database in the hands of somebody who knows SQL, and takes its guards away first.
fn unguarded(home: &Home, path: &str) -> Connection {
    let sql = Connection::open(home.path().join(path)).unwrap();
    sql.execute_batch(
        "DROP TRIGGER audit_keeps_records; DROP TRIGGER audit_changes_only_by_erasure;",
    )
    .unwrap();
    sql
}

#[test]
fn every_change_of_an_agent_is_in_its_chain_in_order() {
    let home = configured(ONE);
    let daemon = start_still(&home);
    let edit = |config: &str| {
        home.write("config.yaml", config).unwrap();
        insula(&home, &["reload"]).ok();
    };
    insula(&home, &["agents", "pause", "a"]).ok();
    edit("agents: {a: {tools: coding}, b: {}}\n");
    insula(&home, &["agents", "resume", "a"]).ok();
    edit("agents: {a: {tolls: coding}, b: {}}\n");
    edit("agents: {a: {tools: coding}, b: {}}\n");
    home.write("agents/a/SOUL.md", "changed").unwrap();
    daemon.hang_up().unwrap();
    eventually("the signal applies", || (agent(&home, "a")["generation"] == 3).then_some(()));
    edit("agents: {b: {}}\n");
    edit(ONE);
    insula(&home, &["agents", "archive", "a"]).ok();
    let records = json(&home, &["audit", "tail", "a"]);
    let mut seen = vec![];
    for (index, record) in records.as_array().unwrap().iter().enumerate() {
        assert_eq!(record["seq"], index + 1);
        assert_eq!(record["mac"].as_str().unwrap().len(), 64);
        assert!(record["at"].as_str().unwrap().ends_with('Z'), "{record}");
        seen.push(json!([record["kind"], record["actor"], record["generation"]]));
    }
    let cli = "cli:local";
    assert_eq!(
        seen,
        [
            json!(["agent.created", "daemon", 1]),
            json!(["agent.paused", cli, 1]),
            json!(["agent.changed", cli, 2]),
            json!(["agent.resumed", cli, 2]),
            json!(["agent.failed", cli, 2]),
            json!(["agent.recovered", cli, 2]),
            json!(["agent.changed", "daemon:signal", 3]),
            json!(["agent.removed", cli, 3]),
            json!(["agent.changed", cli, 4]),
            json!(["agent.archived", cli, 4]),
        ]
    );
    let content = |seq: usize| &records[seq - 1]["content"];
    assert_eq!(content(3)["settings"], json!(["tools.profile"]), "{:#}", content(3));
    // A mark tells one value from another, and says neither.
    let marks = content(3)["marks"]["tools.profile"].as_array().unwrap();
    assert!(marks.len() == 2 && marks[0] != marks[1], "{:#}", content(3));
    assert_eq!(content(7)["marks"].as_object().unwrap().keys().collect::<Vec<_>>(), ["SOUL.md"]);
    assert_eq!(content(5)["reason"], "config.yaml: unknown key `tolls` in agent `a`");
    assert_eq!(content(7)["soul_changed"], true);
    assert_eq!(kinds(&home, "b"), ["agent.created"]);
    assert_chains_hold(&home);
}

#[test]
fn the_daemons_chain_has_its_starts_and_what_it_applied() {
    let home = configured(ONE);
    start_still(&home).terminate().unwrap();
    let records = json(&home, &["audit", "tail"]);
    let seen: Vec<Value> =
        records.as_array().unwrap().iter().map(|r| json!([r["kind"], r["content"]])).collect();
    let counts = json!({ "added": 2, "changed": 0, "removed": 0, "failed": 0 });
    assert_eq!(
        seen,
        [
            json!(["daemon.started", { "version": env!("CARGO_PKG_VERSION") }]),
            json!(["config.applied", counts]),
            json!(["daemon.stopped", {}]),
        ]
    );
}

#[test]
fn an_intact_chain_verifies_with_and_without_a_daemon() {
    let home = home_with_records();
    let mut expected = json!({ "ok": true, "records": 6, "broken_at": null });
    expected["chains"] = json!([{
        "ok": true, "records": 6, "broken_at": null, "reason": null, "erased": 0, "lost": 0,
        "dropped": 0, "chain": "a",
    }]);
    assert_eq!(verified(&home), (Some(0), expected.clone()));
    let daemon = start_still(&home);
    assert_eq!(verified(&home), (Some(0), expected));
    let all = json(&home, &["audit", "verify"]);
    let names: Vec<&Value> =
        all["chains"].as_array().unwrap().iter().map(|c| &c["chain"]).collect();
    assert_eq!(json!(names), json!(["(daemon)", "a", "b"]));
    drop(daemon);
}

#[test]
fn a_changed_record_is_found_and_located() {
    for (change, at) in [
        ("UPDATE audit SET content = replace(content, '}', ' }') WHERE seq = 3", 3),
        ("UPDATE audit SET kind = 'agent.pausee' WHERE seq = 2", 2),
        ("UPDATE audit SET actor = 'daemon' WHERE seq = 4", 4),
        ("UPDATE audit SET at = at + 1 WHERE seq = 6", 6),
        ("UPDATE audit SET generation = 9 WHERE seq = 1", 1),
        ("UPDATE audit SET scope = 'global' WHERE seq = 5", 5),
        ("UPDATE audit SET session = 'a:b' WHERE seq = 2", 2),
        ("DELETE FROM audit WHERE seq = 3", 3),
        ("DELETE FROM audit WHERE seq = 6", 6),
        ("DELETE FROM audit WHERE seq > 3", 4),
        ("DELETE FROM audit", 1),
        (
            "INSERT INTO audit SELECT 7, at, actor, kind, generation, content, salt, commitment, prev, mac, form, scope, session, scope_seq, told, scope_link FROM audit WHERE seq = 6",
            7,
        ),
    ] {
        let home = home_with_records();
        assert!(unguarded(&home, "agents/a/agent.db").execute(change, []).unwrap() > 0, "{change}");
        let (code, report) = verified(&home);
        assert_eq!((code, &report["ok"]), (Some(1), &json!(false)), "{change}: {report:#}");
        assert_eq!(report["broken_at"], at, "{change}: {report:#}");
        // The daemon says the same, and the others' chains are their own.
        let _daemon = start_still(&home);
        assert_eq!(verified(&home), (code, report), "{change}");
        insula(&home, &["audit", "verify", "b"]).ok();
        assert_eq!(insula(&home, &["audit", "verify"]).code, Some(1));
    }
}

#[test]
fn one_flipped_bit_of_the_file_is_found() {
    let home = home_with_records();
    let path = home.path().join("agents/a/agent.db");
    let original = fs::read(&path).unwrap();
    let needle = b"agent.archived";
    let at = original.windows(needle.len()).position(|window| window == needle).unwrap();
    let mut flipped = original.clone();
    flipped[at] ^= 1;
    fs::write(&path, flipped).unwrap();
    let (code, report) = verified(&home);
    assert_eq!((code, &report["broken_at"]), (Some(1), &json!(4)), "{report:#}");
    let text = insula(&home, &["audit", "verify", "a"]);
    assert_text("audit-verify-broken", &home, &text.stdout);
    fs::write(&path, original).unwrap();
    assert_eq!(verified(&home).0, Some(0));
}

#[test]
fn a_lost_database_shows() {
    let home = home_with_records();
    fs::remove_file(home.path().join("agents/a/agent.db")).unwrap();
    let (code, report) = verified(&home);
    assert_eq!((code, &report["broken_at"]), (Some(1), &json!(1)), "{report:#}");
    // New records go on being written, and do not make up for the old ones.
    insula(&home, &["agents", "resume", "a"]).ok();
    assert_eq!(verified(&home).0, Some(1));
}

#[test]
fn a_change_of_the_daemons_chain_is_found() {
    let home = home_with_records();
    let sql = unguarded(&home, "insula.db");
    sql.execute("UPDATE audit SET kind = 'daemon.startex' WHERE seq = 1", []).unwrap();
    drop(sql);
    let output = insula(&home, &["audit", "verify", "--json"]);
    assert_eq!((output.code, &output.json()["broken_at"]), (Some(1), &json!(1)));
    assert_eq!(insula(&home, &["doctor"]).code, Some(1));
    insula(&home, &["audit", "verify", "a"]).ok();
}

#[test]
fn a_damaged_database_is_its_agents_trouble_alone() {
    let home = home_with_records();
    insula(&home, &["audit", "verify", "b"]).ok();
    fs::write(home.path().join("agents/a/agent.db"), "no database at all, but long enough")
        .unwrap();
    let _daemon = start_still(&home);
    let output = insula(&home, &["audit", "verify", "a"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.contains("agents/a/agent.db"), "{output:?}");
    // The whole is not intact, and says whose chain is not; the others are verified.
    let all = insula(&home, &["audit", "verify", "--json"]);
    assert_eq!((all.code, &all.json()["ok"]), (Some(1), &json!(false)), "{all:?}");
    let chains = all.json()["chains"].clone();
    let intact = |chain: &str| {
        let mut found = chains.as_array().unwrap().iter().filter(|it| it["chain"] == chain);
        found.next().unwrap()["ok"] == true
    };
    assert_eq!([intact("(daemon)"), intact("a"), intact("b")], [true, false, true]);
    insula(&home, &["audit", "verify", "b"]).ok();
    assert_eq!(state(&home, "b"), "ready");
}

#[test]
fn an_export_is_the_whole_chain_one_record_a_line() {
    const CHANGES: usize = 1_100;
    let home = configured("store: {durability: process}\nagents: {a: {}}\n");
    let daemon = start_still(&home);
    for number in 0..CHANGES {
        let verb = if number % 2 == 0 { "pause" } else { "resume" };
        let answer = call(&daemon, &home, "POST", &format!("/api/agents/a/{verb}"), "");
        assert_eq!(answer.status, 200);
    }
    let export = insula(&home, &["audit", "export", "a"]).ok().stdout;
    let records: Vec<Value> =
        export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let seqs: Vec<u64> = records.iter().map(|record| record["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=CHANGES as u64 + 1).collect::<Vec<_>>(), "more than one page");
    let tail = json(&home, &["audit", "tail", "a", "-n", "5"]);
    assert_eq!(tail.as_array().unwrap().as_slice(), &records[records.len() - 5..]);
    assert_chains_hold(&home);
    daemon.terminate().unwrap();
    assert_eq!(insula(&home, &["audit", "export", "a"]).ok().stdout, export, "without a daemon");
}

#[test]
fn a_trail_for_people_reads_well() {
    let home = configured("agents: {a: {tolls: 1}}\n");
    insula(&home, &["reload"]).ok();
    let text = insula(&home, &["audit", "tail", "a"]).ok().stdout;
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["SEQ", "AT", "ACTOR", "SCOPE", "WHAT", "DETAILS"]);
    let record = lines.next().unwrap();
    assert!(record.contains("agent.failed") && record.contains("unknown key `tolls`"), "{record}");
    let nobody = insula(&home, &["audit", "tail", "nobody"]);
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
}

#[test]
fn what_nobody_names_any_more_is_still_verified_and_can_be_deleted() {
    let home = home_with_records();
    insula(&home, &["audit", "verify"]).ok();
    home.write("config.yaml", "agents: {b: {}}\n").unwrap();
    insula(&home, &["reload"]).ok();
    let chains = json(&home, &["audit", "verify"])["chains"].clone();
    assert!(chains.as_array().unwrap().iter().any(|it| it["chain"] == "a"), "{chains:#}");
    insula(&home, &["audit", "tail", "a"]).ok();
    insula(&home, &["agents", "delete", "a", "--yes"]).ok();
    assert!(!home.has("agents/a"));
}

#[test]
fn a_lost_key_is_not_replaced_by_a_new_one() {
    let home = home_with_records();
    home.remove("vault/audit.key").unwrap();
    for command in [&["audit", "verify"][..], &["agents", "list"], &["up"]] {
        let refused = insula(&home, command);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("audit.key is gone"), "{refused:?}");
    }
    assert!(!home.has("vault/audit.key"));
}

#[test]
fn a_broken_configuration_does_not_hide_the_trail() {
    let home = home_with_records();
    home.write("config.yaml", "agents: {a: [").unwrap();
    insula(&home, &["audit", "verify"]).ok();
    assert_eq!(insula(&home, &["doctor"]).code, Some(1));
    assert_eq!(insula(&home, &["status"]).code, Some(1));
    assert_eq!(insula(&home, &["agents", "list"]).code, Some(2));
}
