//! A person answers what their agent asks with one key: once, for the session, always, no, and
//! Ctrl-C, which stops the turn.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use crate::terminal::Person;
use insula_testkit::Home;

const CONFIG: &str = "agents: {main: {tools: coding, approvals: {timeout: 10m}}}\n";

fn person(home: &Home, session: &str) -> Person {
    let mut person = Person::runs(home, &[], &["chat", "--session", session]);
    person.waits_for_prompt("main");
    person
}

impl Person {
    /// Has the agent run a command, on a clear screen.
    fn asks_for(&mut self, command: &str) {
        self.types("\x0c");
        self.waits_for("a clear screen", |seen| seen.trim() == "main ›");
        let call = serde_json::json!({ "command": command });
        self.types(&format!("call terminal {call}\r"));
    }

    fn is_asked(&mut self) {
        self.waits_for_text("y allows it once");
    }

    fn hears(&mut self, what: &str) {
        self.waits_for_text(&format!("? {what}"));
        self.waits_for_prompt("main");
    }
}

#[test]
fn a_key_allows_once_for_the_session_or_always() {
    let home = configured(CONFIG);
    let _daemon = start_still(&home);
    let mut one = person(&home, "one");
    one.asks_for("rm -rf first");
    one.is_asked();
    one.types("y");
    one.hears("approved");
    one.asks_for("rm -rf first");
    one.is_asked();
    one.types("s");
    one.hears("approved");
    one.asks_for("rm -rf first");
    one.waits_for_text("⚙ terminal · done");
    one.waits_for_prompt("main");
    assert!(!one.sees().contains("needs approval"), "{}", one.sees());
    // In another session it is asked about again, and then nowhere.
    let mut two = person(&home, "two");
    two.asks_for("rm -rf first");
    two.is_asked();
    two.types("A");
    two.hears("approved");
    let mut three = person(&home, "three");
    three.asks_for("rm -rf first");
    three.waits_for_text("⚙ terminal · done");
    three.waits_for_prompt("main");
    assert!(!three.sees().contains("needs approval"), "{}", three.sees());
    let grants = json(&home, &["approvals", "grants", "main"]);
    let mut scopes: Vec<&str> =
        grants.as_array().unwrap().iter().filter_map(|it| it["scope"].as_str()).collect();
    scopes.sort_unstable();
    assert_eq!(scopes, ["always", "session"]);
}

#[test]
fn a_key_refuses_and_ctrl_c_stops() {
    let home = configured(CONFIG);
    let _daemon = start_still(&home);
    let mut one = person(&home, "one");
    one.asks_for("mkdir kept && rm -r kept");
    one.is_asked();
    one.types("n");
    one.hears("denied");
    let said = one.sees().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("an admin denied it"), "{said}");
    one.asks_for("touch kept; rm -rf kept");
    one.is_asked();
    one.types("\x03");
    one.hears("stopped");
    assert!(!home.has("agents/main/workspace/kept"));
    assert_eq!(json(&home, &["approvals", "list"]), serde_json::json!([]));
    // It goes on as if nothing had been.
    one.asks_for("echo still here");
    one.waits_for_text("still here\n");
    one.waits_for_prompt("main");
    one.types("\x04");
    assert_eq!(one.leaves().0, Some(0));
    let told: Vec<String> =
        kinds(&home, "main").into_iter().filter(|kind| kind.starts_with("approval.")).collect();
    let expected = ["approval.asked", "approval.denied", "approval.asked", "approval.stopped"];
    assert_eq!(told, expected);
}
