//! Rule 2: a handle belongs to one agent from creation; no method on it takes an agent id.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test that reads the source")]

use std::fs;

#[test]
fn rule_02_handles_are_bound_at_birth() {
    for (file, start) in
        [("src/agent.rs", "impl AgentStore {"), ("src/backend.rs", "pub trait AgentBackend")]
    {
        let source = fs::read_to_string(file).unwrap();
        let body = &source[source.find(start).unwrap()..];
        let body = &body[..body.find("\n}").unwrap()];
        assert!(!body.contains("AgentId"), "a method of {file}'s handle names an agent:\n{body}");
        assert!(body.contains("fn commit"));
    }
    // Nor can a command say whose data it changes.
    for family in ["agent", "session", "message", "turn", "usage", "search"] {
        let source = fs::read_to_string(format!("src/{family}.rs")).unwrap();
        assert!(!source.contains("AgentId"), "src/{family}.rs names an agent");
    }
}
