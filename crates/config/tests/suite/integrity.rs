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
fn an_agent_that_would_ask_before_every_program_is_told_of() {
    let warned = |agent: &str| -> Vec<String> {
        let text = format!("agents:\n  a: {{{agent}}}\n");
        let (report, _) = load_text(&text);
        assert_eq!(report.errors().count(), 0, "{agent}");
        let told = report.warnings().filter(|it| it.message.contains("before every program"));
        told.map(|it| format!("{}; {}", it.message, it.help.clone().unwrap_or_default())).collect()
    };
    let shared = "files: {shared: [{path: /srv/handbook, mode: ro}]}";
    let both = format!("network: public, tools: coding, {shared}");
    let told = warned(&both);
    assert_eq!(told.len(), 1);
    for part in ["agent `a`", "`/srv/handbook`", "integrity: {trusted: [\"folder:/srv/handbook\"]}"]
    {
        assert!(told[0].contains(part), "{part}: {told:?}");
    }
    for fine in [
        format!("tools: coding, {shared}"),
        "network: public, tools: coding".to_owned(),
        format!("network: public, tools: [read_file], {shared}"),
        format!("{both}, integrity: off"),
        format!("{both}, integrity: {{trusted: [\"folder:/srv\"]}}"),
        format!("{both}, integrity: {{tainted: {{program: allow}}}}"),
    ] {
        assert!(warned(&fine).is_empty(), "{fine}");
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
