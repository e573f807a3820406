//! Rule 2: a handle belongs to one agent from creation; no method on it takes an agent id.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test that reads the source")]

use std::fs;

#[test]
fn rule_02_handles_are_bound_at_birth() {
    // Whoever has a handle reaches what these files offer, and none of them names an agent.
    for file in ["src/handle.rs", "src/namespace.rs", "src/resolve.rs", "src/contents.rs"] {
        let source = fs::read_to_string(file).unwrap();
        assert!(!source.contains("AgentId"), "{file} names an agent");
        assert!(!source.contains("Owner::Agent"), "{file} makes an owner");
    }
    let handle = fs::read_to_string("src/handle.rs").unwrap();
    let body = &handle[handle.find("impl<K> Secrets<K> {").unwrap()..];
    let body = &body[..body.find("\n}").unwrap()];
    for method in ["set", "get", "remove", "names"] {
        assert!(body.contains(&format!("pub async fn {method}(&self")), "{method}");
    }
    // The vault is where handles come from: these two are all that takes an id.
    let taking = |file: &str| -> Vec<String> {
        let source = fs::read_to_string(file).unwrap();
        let lines = source.lines().filter(|line| line.contains("fn ") && line.contains("AgentId"));
        lines.map(str::to_owned).collect()
    };
    for (file, method) in
        [("src/bind.rs", "pub fn agent(&self"), ("src/vault.rs", "pub async fn forget(&self")]
    {
        let taking = taking(file);
        assert_eq!(taking.len(), 1, "{taking:#?}");
        assert!(taking[0].contains(method), "{taking:#?}");
    }
}
