//! `insula agents restart`: one agent's turns, servers and programs begin anew, and nobody else's.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests look at processes and fail by panicking"
)]

use crate::programs::{gone, runs};
use crate::support::*;
use insula_testkit::Home;
use serde_json::json as value;

const SERVER: &str = include_str!("mcp_server.py");

/// What an agent says to this.
fn say(home: &Home, agent: &str, text: &str) -> String {
    insula(home, &["chat", "--agent", agent, "--session", "one", "-m", text]).stdout
}

fn background(home: &Home, agent: &str, command: &str) {
    let wish = value!({ "command": command, "background": true });
    let said = say(home, agent, &format!("call terminal {wish}"));
    assert!(said.contains("started process"), "{said}");
    eventually(command, || runs(command).then_some(()));
}

/// The process of a command, by its number.
fn pid(words: &str) -> u32 {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut found = processes.filter_map(|entry| {
        let pid = entry.file_name().to_string_lossy().parse::<u32>().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        (String::from_utf8_lossy(&line).replace('\0', " ").trim() == words).then_some(pid)
    });
    found.next().expect(words)
}

fn who(home: &Home, agent: &str) {
    let said = say(home, agent, "call mcp__x__who {\"text\": \"\"}");
    assert!(said.contains("gave back:"), "{said}");
}

#[test]
fn rule_09_a_restart_ends_what_one_agent_runs_and_touches_no_other() {
    let agent = "{tools: {profile: coding, also_allow: ['mcp__x__*']}, mcp_servers: {x: {command: python3, args: [server.py]}}}";
    let home = configured(&format!(
        "defaults: {{integrity: off}}\napprovals: {{mode: off}}\nagents:\n  a: {agent}\n  b: {agent}\n"
    ));
    for agent in ["a", "b"] {
        home.write(&format!("agents/{agent}/workspace/server.py"), SERVER).unwrap();
    }
    let daemon = start_still(&home);
    for agent in ["a", "b"] {
        who(&home, agent);
    }
    background(&home, "a", "sleep 87441");
    background(&home, "b", "sleep 87442");
    let (others, before) = (pid("sleep 87442"), generations(&home));
    let running = std::thread::scope(|scope| {
        let turn = scope.spawn(|| {
            insula(&home, &["chat", "--agent", "a", "--session", "two", "-m", "run sleep 87443"])
        });
        eventually("a turn that runs", || runs("sleep 87443").then_some(()));
        let done = json(&home, &["agents", "restart", "a"]);
        assert_eq!(
            (&done["turns_ended"], &done["state"]),
            (&value!(1), &value!("ready")),
            "{done}"
        );
        turn.join().unwrap()
    });
    let told = format!("{}{}", running.stdout, running.stderr);
    assert!(told.contains("restarted by its operator"), "{told}");
    gone("sleep 87441");
    gone("sleep 87443");
    assert_eq!(pid("sleep 87442"), others, "the other's goes on");
    let after = generations(&home);
    assert_eq!((after["a"], after["b"]), (before["a"] + 1, before["b"]));
    for agent in ["a", "b"] {
        who(&home, agent);
    }
    assert_eq!(home.read("agents/a/workspace/starts").unwrap(), "xx", "a new server");
    assert_eq!(home.read("agents/b/workspace/starts").unwrap(), "x", "the same server");
    assert!(kinds(&home, "a").contains(&"agent.restarted".to_owned()));
    assert!(!kinds(&home, "b").contains(&"agent.restarted".to_owned()));
    drop(daemon);
}

#[test]
fn what_cannot_be_restarted_says_why() {
    let home = configured("agents:\n  a: {}\n  b: {}\n");
    let refused = |args: &[&str]| {
        let output = insula(&home, args);
        assert_eq!(output.code, Some(1), "{output:?}");
        output.stderr
    };
    let told = refused(&["agents", "restart", "a"]);
    assert!(told.contains("no daemon"), "{told}");
    let daemon = start_still(&home);
    assert!(refused(&["agents", "restart", "nobody"]).contains("nobody"));
    insula(&home, &["agents", "pause", "b"]).ok();
    let told = refused(&["agents", "restart", "b"]);
    assert!(told.contains("paused") && told.contains("resume"), "{told}");
    let said = insula(&home, &["agents", "restart", "a"]).ok().stdout;
    assert_eq!(said.trim(), "restarted a, generation 2; no turn was under way");
    drop(daemon);
}

#[test]
fn a_home_chat_is_shown_set_and_cleared() {
    let home = configured(
        "agents:\n  a: {}\n  b: {}\nbindings:\n  - {agent: a, telegram: {chat: '-100'}}\n  - {agent: b, telegram: {chat: '-200'}}\n",
    );
    let _daemon = start_still(&home);
    let shown = insula(&home, &["agents", "home", "a"]).ok().stdout;
    assert!(shown.contains("has no home chat"), "{shown}");
    let set = |chat: &str| {
        insula(&home, &["agents", "home", "a", "--platform", "telegram", "--chat", chat])
    };
    let refused = set("-200");
    assert!(refused.stderr.contains("does not reach agent `a`"), "{refused:?}");
    set("-100").ok();
    let shown = json(&home, &["agents", "home", "a"]);
    assert_eq!(shown["chat"], "telegram:default group -100", "{shown}");
    assert_eq!(shown["leads_here"], true);
    let facts = insula(&home, &["agents", "show", "a"]).ok().stdout;
    assert!(facts.contains("telegram:default group -100"), "{facts}");
    insula(&home, &["agents", "home", "a", "off"]).ok();
    assert!(json(&home, &["agents", "home", "a"])["chat"].is_null());
}
