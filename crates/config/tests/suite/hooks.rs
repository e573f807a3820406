//! `hooks`: what is read, in which order, and what is wrong with it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may say what it knows")]

use crate::common::load_text;
use insula_config::AgentOutcome;
use insula_config::hook::{HookOwner, HookWay, OnFailure};
use insula_config::schema::HOOK_EVENTS;
use insula_domain::hook::HookEvent;

#[test]
fn the_table_of_keys_has_every_event() {
    let names: Vec<&str> = HookEvent::ALL.iter().map(|event| event.as_str()).collect();
    assert_eq!(HOOK_EVENTS, names);
}

#[test]
fn hooks_of_the_daemon_come_before_the_agents_own() {
    let (report, loaded) = load_text(
        "hooks: {pre_tool_call: [{expr: 'true'}]}\nagents: {a: {hooks: {pre_tool_call: [{command: './x', timeout: 2s}, {http: 'https://h.example.org/x', on_failure: allow}]}}}",
    );
    assert_eq!(report.errors().count(), 0);
    let loaded = loaded.unwrap();
    let AgentOutcome::Ready(config) = &loaded.agents.iter().next().unwrap().1 else { panic!() };
    let read: Vec<_> =
        config.hooks.iter().map(|it| (it.way.as_str(), it.owner, it.on_failure)).collect();
    assert_eq!(
        read,
        [
            ("expr", HookOwner::Daemon, OnFailure::Deny),
            ("command", HookOwner::Agent, OnFailure::Deny),
            ("http", HookOwner::Agent, OnFailure::Allow),
        ]
    );
    assert!(matches!(&config.hooks[1].way, HookWay::Command(it) if &**it == "./x"));
    assert_eq!(config.hooks[1].timeout.as_secs(), 2);
}

#[test]
fn a_mistake_in_a_hook_fails_its_agent_and_no_other() {
    for (hooks, message) in [
        ("{pre_tool_cal: [{expr: 'true'}]}", "unknown event `pre_tool_cal`"),
        ("{pre_tool_call: [{expr: 'tool_nam == 1'}]}", "did you mean `tool_name`?"),
        ("{pre_tool_call: [{expr: 'true', command: x}]}", "more than one way"),
        ("{pre_tool_call: [{timeout: 5s}]}", "needs `expr`, `command` or `http`"),
        ("{pre_tool_call: [{expr: 'true', timeout: 5m}]}", "longer than 60 s"),
        ("{pre_tool_call: [{expr: 'true', matcher: 'a b'}]}", "matches no tool"),
        ("{pre_llm_call: [{expr: 'true', matcher: todo}]}", "no tool to match"),
        ("{post_tool_call: [{expr: 'true', on_failure: deny}]}", "can't deny"),
        ("{agent:lifecycle: [{command: x}]}", "can't be a command"),
        ("{pre_tool_call: [{http: 'http://a@b/x'}]}", "no plain host"),
        ("{pre_tool_call: [{http: 'ftp://h/x'}]}", "`ftp://h/x` is not an http or https address"),
        ("{pre_tool_call: [{http: 'http://h/${secret:X}'}]}", "has a reference in it"),
        ("{memory:scope: [{expr: \"'x'\", on_failure: allow}]}", "can't be allowed to fail"),
        ("{kanban_task_blocked: [{command: x}]}", "can't be a command"),
    ] {
        let (report, loaded) = load_text(&format!("agents: {{b: {{}}, a: {{hooks: {hooks}}}}}"));
        let found = report.errors().next().unwrap_or_else(|| panic!("{hooks}"));
        let said = format!("{} {}", found.message, found.help.as_deref().unwrap_or_default());
        assert!(said.contains(message), "{hooks}: {said}");
        assert_eq!(report.errors().count(), 1, "{hooks}: said once");
        for (id, outcome) in &loaded.unwrap().agents {
            assert_eq!(matches!(outcome, AgentOutcome::Failed(_)), id.as_str() == "a", "{hooks}");
        }
    }
}

#[test]
fn a_command_about_messages_stands_where_it_is_known_whose_sandbox_it_runs_in() {
    for (text, refused) in [
        ("agents: {a: {hooks: {pre_gateway_dispatch: [{command: x}]}}}", 0),
        ("agents: {a: {hooks: {'route:select': [{command: x}]}}}", 0),
        ("hooks: {'route:select': [{command: x}]}\nagents: {a: {}}", 0),
        ("hooks: {pre_gateway_dispatch: [{http: 'http://h/x'}]}\nagents: {a: {}}", 0),
        ("hooks: {pre_gateway_dispatch: [{command: x}]}\nagents: {a: {}}", 1),
    ] {
        let (report, _) = load_text(text);
        let found: Vec<_> = report.errors().collect();
        assert_eq!(found.len(), refused, "{text}: {found:?}");
        for error in found {
            assert!(error.message.contains("for every agent can't be a command"), "{error:?}");
            let help = error.help.as_deref().unwrap_or_default();
            assert!(help.contains("whose sandbox") && help.contains("at the agents"), "{help}");
        }
    }
}
