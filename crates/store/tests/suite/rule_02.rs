//! Rule 2: a handle belongs to one agent from creation; no method on it takes an agent id.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test that reads the source")]

use std::fs;

#[test]
fn rule_02_handles_are_bound_at_birth() {
    for (file, start, has) in [
        ("src/handle/agent.rs", "impl AgentStore {", "fn audit_tail"),
        ("src/handle/ingress.rs", "impl AgentStore {", "fn pairings"),
        ("src/handle/memory.rs", "impl AgentStore {", "fn memory_page"),
        ("src/handle/outbox.rs", "impl AgentStore {", "fn delivery"),
        ("src/holder.rs", "impl AgentLease {", "fn commit"),
        ("src/backend/mod.rs", "pub trait AgentBackend", "fn commit"),
        ("src/backend/ingress.rs", "pub trait IngressBackend", "fn pairings"),
        ("src/backend/memory.rs", "pub trait MemoryBackend", "fn memory_page"),
        ("src/backend/outbox.rs", "pub trait OutboxBackend", "fn delivery"),
    ] {
        let source = fs::read_to_string(file).unwrap();
        let body = &source[source.find(start).unwrap()..];
        let body = &body[..body.find("\n}").unwrap()];
        assert!(!body.contains("AgentId"), "a method of {file}'s handle names an agent:\n{body}");
        assert!(body.contains(has));
    }
    // Nor can a command say whose data it changes.
    for family in [
        "agent", "id", "ingress", "memory", "message", "outbox", "search", "session", "turn",
        "usage",
    ] {
        let source = fs::read_to_string(format!("src/{family}.rs")).unwrap();
        assert!(!source.contains("AgentId"), "src/{family}.rs names an agent");
    }
}
