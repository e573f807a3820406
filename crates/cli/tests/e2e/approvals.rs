//! Approvals through the real daemon: a command waits, an admin answers, nobody else can.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;

const CONFIG: &str = "agents:\n  a: {default: true, tools: coding, approvals: {timeout: 10m}}\n  b: {tools: coding}\n";

fn ask(home: &Home, command: &str) -> String {
    let message = format!("call terminal {}", serde_json::json!({ "command": command }));
    insula(home, &["chat", "--agent", "a", "-m", &message]).ok().stdout
}

/// Waits until one call waits; its id.
fn waiting(home: &Home) -> String {
    eventually("a call that waits", || {
        let all = json(home, &["approvals", "list"]);
        Some(all[0]["id"].as_str()?.to_owned())
    })
}

#[test]
fn a_dangerous_command_waits_for_an_admin() {
    let home = configured(CONFIG);
    let _daemon = start_still(&home);
    ask(&home, "mkdir build && echo x > build/file");
    std::thread::scope(|threads| {
        let denied = threads.spawn(|| ask(&home, "rm -r build"));
        let id = waiting(&home);
        insula(&home, &["approvals", "deny", &id, "--reason", "we need it"]).ok();
        let said = denied.join().unwrap();
        assert!(said.contains("an admin denied it: we need it"), "{said}");
    });
    assert!(home.has("agents/a/workspace/build/file"));
    std::thread::scope(|threads| {
        let approved = threads.spawn(|| ask(&home, "rm -r build"));
        let id = waiting(&home);
        assert!(home.has("agents/a/workspace/build/file"));
        insula(&home, &["approvals", "approve", &id]).ok();
        approved.join().unwrap();
    });
    assert!(!home.has("agents/a/workspace/build/file"));
    assert_eq!(json(&home, &["approvals", "list", "a"]), serde_json::json!([]));
    let said = ask(&home, "sudo rm -rf /");
    assert!(said.contains("nobody can allow that"), "{said}");
}
