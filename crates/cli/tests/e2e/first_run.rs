//! The first start in an empty home, what it leaves there, and how a daemon ends.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home, run, run_bare};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// A home in which the first start has been.
fn furnished() -> (Home, Daemon) {
    let home = Home::empty().unwrap();
    let daemon = start(&home);
    (home, daemon)
}

/// All the daemon wrote, once this is in it.
fn log_with(daemon: &Daemon, text: &str) -> String {
    eventually(&format!("the daemon says `{text}`"), || {
        assert_eq!(get(daemon, "/healthz").status, 200);
        Some(daemon.log()).filter(|log| log.contains(text))
    })
}

fn tools(home: &Home, id: &str) -> Vec<String> {
    let tools = json(home, &["tools", id]);
    let tools = tools.as_array().unwrap().iter().filter(|tool| tool["exposed"] == true);
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_first_start_furnishes_an_empty_home() {
    let (home, _daemon) = furnished();
    for id in ["main", "coder", "family"] {
        assert!(!home.read(&format!("agents/{id}/SOUL.md")).unwrap().trim().is_empty(), "{id}");
    }
    assert!(home.read("config.yaml").unwrap().starts_with("# Insula"));
    let checked = json(&home, &["check"]);
    assert_eq!(checked, json!({ "ok": true, "errors": [], "warnings": [] }));
}

#[test]
fn the_first_start_makes_a_home_that_does_not_exist_yet() {
    let outer = Home::empty().unwrap();
    let inner = outer.path().join("deep/home");
    let daemon = Daemon::start(INSULA, &inner).unwrap();
    assert!(inner.join("config.yaml").is_file());
    assert_eq!(daemon.cli(&["status", "--json"]).ok().json()["agents"]["ready"], 3);
}

#[test]
fn the_first_start_greets_with_a_summary() {
    let (home, daemon) = furnished();
    // Two outputs, read side by side: lines of the log may stand anywhere between.
    let log = log_with(&daemon, "Ctrl-C stops.");
    let summary = log.lines().filter(|line| !line.contains(" INFO "));
    let summary = summary.collect::<Vec<_>>().join("\n");
    let summary = summary.replace(&daemon.listen().to_string(), "ADDRESS");
    let summary = summary.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    assert_text("first-run-summary", &home, &summary);
}

#[test]
fn the_daemon_says_where_it_is() {
    let (home, daemon) = furnished();
    log_with(&daemon, &format!("INFO ready address={}\n", daemon.listen()));
    let file: Value = serde_json::from_str(&home.read("run/daemon.json").unwrap()).unwrap();
    let expected = json!({
        "pid": daemon.pid(), "listen": daemon.listen().to_string(), "socket": "cli.sock",
        "restarts": true,
    });
    assert_eq!(file, expected);
}

#[test]
fn everything_in_the_home_is_for_its_owner_alone() {
    // The daemon makes the folder itself: one that is there already is the owner's business.
    let outer = Home::empty().unwrap();
    let inner = outer.path().join("home");
    let daemon = Daemon::start(INSULA, &inner).unwrap();
    daemon.cli(&["agents", "add", "new"]).ok();
    daemon.cli(&["audit", "verify"]).ok();
    let found = everything_below(&inner);
    assert!(found.iter().any(|path| path.ends_with("agents/new/agent.db")), "{found:#?}");
    for path in found {
        let Ok(metadata) = fs::metadata(&path) else { continue };
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        let mode = metadata.permissions().mode() & 0o777;
        assert_eq!(mode, expected, "{} has mode {mode:o}", path.display());
    }
}

#[test]
fn the_three_first_agents_are_ready_and_remember_as_designed() {
    let (home, _daemon) = furnished();
    let row = |id: &str, memory: bool| {
        json!({
            "id": id, "state": "ready", "reason": null, "generation": 1,
            "model": "rehearsal/rehearsal", "memory": memory, "isolation": "context",
            "name": id, "description": null,
        })
    };
    let rows = json(&home, &["agents", "list"]);
    assert_eq!(rows, json!([row("coder", true), row("family", false), row("main", true)]));
    assert_text("agents-list", &home, &insula(&home, &["agents", "list"]).ok().stdout);
}

#[test]
fn the_coder_has_files_and_programs_and_the_family_helper_has_neither() {
    let (home, _daemon) = furnished();
    assert_eq!(
        tools(&home, "coder"),
        [
            "clarify",
            "delegate_task",
            "execute_code",
            "memory",
            "memory_search",
            "patch",
            "process",
            "read_file",
            "search_files",
            "session_search",
            "skill_manage",
            "skill_view",
            "skills_list",
            "terminal",
            "todo",
            "web_extract",
            "write_file",
        ]
    );
    assert_eq!(tools(&home, "family"), ["clarify", "todo", "web_extract"]);
    let main = tools(&home, "main");
    assert!(main.contains(&"memory".to_owned()), "{main:?}");
    for granted_by_name in ["send_message", "message_agent"] {
        assert!(!main.contains(&granted_by_name.to_owned()), "{main:?}");
    }
    assert_text("tools-family", &home, &insula(&home, &["tools", "family"]).ok().stdout);
}

#[test]
fn the_context_shows_who_an_agent_is() {
    let (home, _daemon) = furnished();
    let context = json(&home, &["context", "show", "family"]);
    let soul = home.read("agents/family/SOUL.md").unwrap();
    assert_eq!(context["identity"]["soul"].as_str().unwrap().trim(), soul.trim());
    assert_eq!(context["memory"], Value::Null);
    assert_eq!(context["tools"], json!(["clarify", "todo", "web_extract"]));
    let workspace = home.path().join("agents/family/workspace");
    assert_eq!(context["workspace"]["path"], workspace.to_str().unwrap());
    for key in ["id", "generation", "boundary", "skills", "models", "isolation"] {
        assert!(!context[key].is_null(), "{key}: {context:#}");
    }
}

#[test]
fn a_second_daemon_in_the_same_home_fails_and_the_first_serves_on() {
    let (home, daemon) = furnished();
    let before = generations(&home);
    let second = run(INSULA, home.path(), &["up", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stderr.contains(&format!("pid {}", daemon.pid())), "{second:?}");
    assert!(second.stderr.contains(&daemon.listen().to_string()), "{second:?}");
    assert_eq!(get(&daemon, "/healthz").status, 200);
    assert_eq!(generations(&home), before);
    assert_eq!(json(&home, &["status"])["pid"], daemon.pid());
}

#[test]
fn an_address_that_is_taken_is_named_and_nothing_is_left_behind() {
    let (_home, daemon) = furnished();
    let other = Home::empty().unwrap();
    let taken = daemon.listen().to_string();
    let second = run(INSULA, other.path(), &["up", "--listen", &taken]);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stderr.contains(&format!("{taken} is in use")), "{second:?}");
    assert!(!other.has("run/daemon.json"));
    start(&other);
}

#[test]
fn a_termination_or_an_interrupt_drains_and_leaves_no_address() {
    type End = fn(Daemon) -> std::io::Result<std::process::ExitStatus>;
    let ends: [(&str, End); 2] = [("SIGTERM", Daemon::terminate), ("SIGINT", Daemon::interrupt)];
    let home = Home::empty().unwrap();
    for (name, end) in ends {
        let daemon = start(&home);
        assert!(home.has("run/daemon.json") && home.has("run/admin.token"));
        assert_eq!(end(daemon).unwrap().code(), Some(0), "{name}");
        assert!(!home.has("run/daemon.json") && !home.has("run/admin.token"), "{name}");
    }
    let daemon_chain = json(&home, &["audit", "tail"]);
    let kinds: Vec<&Value> =
        daemon_chain.as_array().unwrap().iter().map(|record| &record["kind"]).collect();
    let run = ["daemon.started", "daemon.stopped"];
    assert_eq!(json!(kinds), json!([run[0], "config.applied", run[1], run[0], run[1]]));
}

#[test]
fn a_restart_keeps_every_generation() {
    let home = Home::empty().unwrap();
    let daemon = start_still(&home);
    home.write("agents/coder/SOUL.md", "You write short programs.").unwrap();
    daemon.cli(&["reload"]).ok();
    let before = generations(&home);
    let expected = BTreeMap::from([("coder".into(), 2), ("family".into(), 1), ("main".into(), 1)]);
    assert_eq!(before, expected);
    daemon.terminate().unwrap();
    let _daemon = start_still(&home);
    assert_eq!(generations(&home), before);
    assert_eq!(kinds(&home, "coder"), ["agent.created", "agent.changed"]);
}

#[test]
fn a_first_start_that_was_killed_half_way_is_finished_by_the_next() {
    // What a kill between two files leaves: the mark, and only some of them.
    let home = home([("run/first-run", ""), ("config.yaml", "agents: {main: {}}\n")]);
    let _daemon = start(&home);
    for id in ["main", "coder", "family"] {
        assert!(home.has(&format!("agents/{id}/SOUL.md")), "{id}");
    }
    assert!(!home.has("run/first-run"));
}

#[test]
fn a_home_that_is_configured_is_not_furnished() {
    for files in [[("config.yaml", "{}\n")], [("agents/solo/agent.yaml", "{}\n")]] {
        let home = home(files);
        let daemon = start(&home);
        assert!(!home.has("agents/family"), "{files:?}");
        assert!(!daemon.log().contains("(new)"));
    }
}

#[test]
fn without_a_home_folder_of_the_user_the_command_asks_for_one() {
    let output = run_bare(INSULA, &[], &["agents", "list"]);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("--home"), "{output:?}");
}

#[test]
fn a_daemon_whose_log_nobody_reads_serves_on() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    let home = Home::empty().unwrap();
    let mut daemon = Command::new(INSULA)
        .arg("--home")
        .arg(home.path())
        .args(["up", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = BufReader::new(daemon.stderr.take().unwrap());
    assert!(log.lines().any(|line| line.unwrap().contains("ready")));
    // The reader is gone. Every change below would be a line of the log.
    for _ in 0..3 {
        insula(&home, &["agents", "pause", "coder"]).ok();
        insula(&home, &["agents", "resume", "coder"]).ok();
    }
    assert_eq!(state(&home, "coder"), "ready");
    let stopped = Command::new("kill").arg(daemon.id().to_string()).status().unwrap();
    assert!(stopped.success());
    assert!(daemon.wait().unwrap().success());
}
