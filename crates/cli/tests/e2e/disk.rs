//! What only a quota could deny, through the real daemon: a program that fills the disk, or
//! floods it with files, is ended; what stays free stays free for tools too.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and processes and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use serde_json::{Value, json as value};

fn tool(home: &Home, agent: &str, name: &str, arguments: &Value) -> String {
    let message = format!("call {name} {arguments}");
    insula(home, &["chat", "--agent", agent, "-m", &message]).ok().stdout
}

fn sh(home: &Home, agent: &str, command: &str) -> String {
    tool(home, agent, "terminal", &value!({ "command": command, "timeout": 120 }))
}

/// Bytes that are free where the home is.
fn free(home: &Home) -> u64 {
    let args = ["--output=avail", "-B1", home.path().to_str().unwrap()];
    let said = std::process::Command::new("df").args(args).output().unwrap();
    String::from_utf8(said.stdout).unwrap().lines().last().unwrap().trim().parse().unwrap()
}

/// Writes so many megabytes and then stays, so that only the watchdog ends it in time.
fn fill(megabytes: u64, name: &str) -> String {
    format!("head -c {megabytes}M /dev/zero > {name}; sleep 100")
}

#[test]
fn a_program_that_takes_too_much_of_a_disk_is_ended_and_others_are_not() {
    let config = "approvals: {mode: off}\nagents:\n  a: {default: true, tools: coding, sandbox: {growth: 20MB, new_files: 500}}\n  b: {tools: coding}\n";
    let home = Home::on_own_disk(1200, config).unwrap();
    let _daemon = start_still(&home);
    std::thread::scope(|threads| {
        // Somebody else writes as much meanwhile, and may.
        let other = threads.spawn(|| sh(&home, "b", "head -c 40M /dev/zero > own; echo done"));
        let said = sh(&home, "a", &fill(60, "large"));
        assert!(said.contains("`sandbox.growth`"), "{said}");
        assert!(other.join().unwrap().contains("done"));
    });
    let flood = "for i in $(seq 3000); do : > f$i; done; sleep 100";
    let said = sh(&home, "a", flood);
    assert!(said.contains("`sandbox.new_files`"), "{said}");
    // In the background too.
    let job = value!({ "command": fill(60, "again"), "background": true });
    let said = tool(&home, "a", "terminal", &job);
    assert!(said.contains("p1"), "{said}");
    let said = tool(&home, "a", "process", &value!({ "action": "wait", "session_id": "p1" }));
    assert!(said.contains("`sandbox.growth`"), "{said}");
    assert!(sh(&home, "a", "rm -r f* large again; echo tidy").contains("tidy"));
    let records = json(&home, &["audit", "tail", "a", "-n", "1000"]);
    let of_disk = records.as_array().unwrap().iter().filter(|it| it["kind"] == "sandbox.disk");
    assert_eq!(of_disk.count(), 3, "{records:#}");
    assert!(!kinds(&home, "b").contains(&"sandbox.disk".to_owned()));
}

#[test]
fn what_a_program_hides_in_its_folders_counts_and_is_not_held_against_the_next() {
    let config = "approvals: {mode: off}\nagents:\n  a: {default: true, tools: coding, sandbox: {growth: 20MB}}\n";
    let home = Home::on_own_disk(1200, config).unwrap();
    let _daemon = start_still(&home);
    let deep = "d/".repeat(400);
    let said = sh(&home, "a", &format!("mkdir -p {deep}; {}", fill(60, &format!("{deep}large"))));
    assert!(said.contains("`sandbox.growth`"), "{said}");
    let closed = "mkdir c; exec 3> c/large; chmod 0 c; head -c 60M /dev/zero >&3; sleep 100";
    let said = sh(&home, "a", closed);
    assert!(said.contains("`sandbox.growth`"), "{said}");
    // All that lies there still, and whoever comes now took nothing of it.
    let said = sh(&home, "a", "head -c 10M /dev/zero > small; sleep 1; echo done");
    assert!(said.contains("done"), "{said}");
}

#[test]
fn what_is_kept_free_is_kept_from_programs_and_tools() {
    let home = Home::on_own_disk(1200, "agents: {}\n").unwrap();
    let floor = free(&home) / 1_000_000 - 400;
    let agent = |name: &str, floor: u64| {
        format!("  {name}: {{tools: coding, sandbox: {{free_space: {floor}MB, growth: 900GB}}}}\n")
    };
    let impossible = 900_000_000;
    let config = format!(
        "approvals: {{mode: off}}\nagents:\n{}{}",
        agent("a", floor),
        agent("full", impossible)
    );
    home.write("config.yaml", config).unwrap();
    let _daemon = start_still(&home);
    let said = sh(&home, "a", &fill(700, "large"));
    assert!(said.contains("`sandbox.free_space`"), "{said}");
    // Where there was too little before, one can still look and tidy up.
    assert!(sh(&home, "full", "echo here; : > small; rm small").contains("here"));
    let write = value!({ "path": "note", "content": "words" });
    let said = tool(&home, "full", "write_file", &write);
    assert!(said.contains("nearly full") && said.contains("`sandbox.free_space`"), "{said}");
    assert!(!home.has("agents/full/workspace/note"));
    sh(&home, "a", "rm large");
    assert!(tool(&home, "a", "write_file", &write).contains("note"));
    assert!(home.has("agents/a/workspace/note"));
}

/// A program can be faster than whoever looks; the operator's acts still find room.
#[test]
fn an_operator_can_act_and_start_the_daemon_on_a_disk_that_is_full() {
    let agents = "agents:\n  a: {tools: coding}\n  b: {tools: coding}\n  c: {tools: coding}\n";
    let home = Home::on_own_disk(300, &format!("approvals: {{mode: off}}\n{agents}")).unwrap();
    // The machine's own disk is not filled for this.
    if !home.has_own_disk() {
        return;
    }
    let daemon = start_still(&home);
    let token = json(&home, &["token", "create", "--agent", "a", "--verb", "chat"]);
    let token = token["id"].as_str().unwrap();
    assert!(home.path().join("run/reserve").is_file());
    fill_to_the_last_byte(&home);
    // Nothing was changed, so no chain is broken: a full disk is no proof of anything.
    let said = insula(&home, &["audit", "verify"]);
    assert!(!said.stdout.contains("broken"), "{}", said.stdout);
    insula(&home, &["agents", "pause", "a"]).ok();
    insula(&home, &["token", "revoke", token]).ok();
    daemon.kill9().unwrap();
    let _daemon = start_still(&home);
    insula(&home, &["agents", "delete", "b", "--yes"]).ok();
    let states = json(&home, &["agents", "list"]).to_string();
    assert!(states.contains("paused by an operator"), "{states}");
    assert!(states.contains("deleted; remove it from config.yaml"), "{states}");
    // With room, the reserve is there again.
    std::fs::remove_file(home.path().join("filled")).unwrap();
    insula(&home, &["agents", "pause", "c"]).ok();
    assert!(home.path().join("run/reserve").is_file());
}

/// As the operator's own files would: no limit of a program's holds.
fn fill_to_the_last_byte(home: &Home) {
    use std::io::Write as _;
    let mut file = std::fs::File::create(home.path().join("filled")).unwrap();
    for size in [1 << 20, 4096, 1] {
        let piece = vec![b'x'; size];
        while file.write_all(&piece).is_ok() && file.sync_all().is_ok() {}
    }
}
