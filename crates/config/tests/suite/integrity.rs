//! `integrity.tainted`: acts, tools and patterns of tools, each with what becomes of it.

use crate::common::load_text;
use insula_config::AgentOutcome;
use insula_domain::{Act, AgentId, IntegrityRule};

/// What agent `a` does in a tainted turn.
fn integrity(config: &str) -> IntegrityRule {
    let (report, loaded) = load_text(config);
    let errors: Vec<String> = report.errors().map(|found| found.message.clone()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let agents = loaded.unwrap().agents;
    match &agents[&AgentId::new("a").unwrap()] {
        AgentOutcome::Ready(config) => config.boundary.integrity.clone(),
        AgentOutcome::Failed(reason) => panic!("{reason}"),
    }
}

#[test]
fn acts_tools_and_patterns_are_told_apart() {
    let rule = integrity(
        "
agents:
  a:
    integrity:
      profile: balanced
      tainted:
        send: deny
        send_message: ask
        mcp__mail__*: deny
        mcp__mail__get_*: allow
        mcp__mail__get_all: ask
",
    );
    let acts: Vec<_> = rule.acts.iter().map(|(act, it)| (act.as_str(), it.as_str())).collect();
    assert_eq!(acts, [("send", "deny")]);
    for (tool, becomes) in [
        ("send_message", "ask"),
        ("mcp__mail__send", "deny"),
        ("mcp__mail__get_unread", "allow"),
        ("mcp__mail__get_all", "ask"),
        ("mcp__bank__get_balance", "ask"),
    ] {
        assert_eq!(rule.rule(tool, [Act::Call]).as_str(), becomes, "{tool}");
    }
}
