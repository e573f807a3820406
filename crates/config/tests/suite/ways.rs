//! What bindings and accounts take away, as it is written: read, told, and refused where it can't
//! be meant.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may say what it knows")]

use crate::common::load_text;
use insula_config::FindingOwner;

fn told(narrowing: Option<&std::sync::Arc<insula_domain::Narrowing>>) -> Vec<String> {
    let told = narrowing.into_iter().flat_map(|it| it.told());
    told.map(|(kind, what)| format!("{kind}: {what}")).collect()
}

#[test]
fn a_binding_and_an_account_take_away_what_they_say() {
    let (report, loaded) = load_text(
        "agents: {a: {model: [rehearsal/rehearsal]}}\nchannels:\n  telegram: {accounts: {main: {token: \"${secret:T}\", tools: minimal, budget: {tokens_per_day: 9}}}}\nbindings:\n  - {agent: a, telegram: '*', tools: {deny: [todo]}, rules: {clarify: {max_calls: 1}}, model: rehearsal/rehearsal, group: {respond: mention, observe: false}}\n  - {agent: a, telegram: '-1', tools: []}\n  - {agent: a, telegram: '-2', metadata: {x: y}}\n",
    );
    assert_eq!(report.errors().count(), 0, "{:?}", report.diagnostics);
    let loaded = loaded.unwrap();
    let bindings = loaded.router.bindings();
    assert_eq!(
        told(bindings[0].narrowing.as_ref()),
        [
            "tools: without todo",
            "rule: clarify.max_calls",
            "model: rehearsal/rehearsal",
            "group: respond mention",
            "group: observe false",
        ]
    );
    assert_eq!(bindings[0].narrowing.as_ref().unwrap().name.as_ref(), "binding telegram");
    assert_eq!(told(bindings[1].narrowing.as_ref()), ["tools: only none"]);
    assert!(bindings[2].narrowing.is_none());
    let account = told(loaded.daemon.accounts[0].narrowing.as_ref());
    assert_eq!(account[1], "budget: tokens_per_day 9");
    assert!(account[0].starts_with("tools: only clarify"), "{account:?}");
}

#[test]
fn what_no_way_in_can_mean_is_an_error_where_it_stands() {
    for (written, why) in [
        ("tools: [no_such]", "no_such"),
        ("tools: {also_allow: [terminal]}", "also_allow"),
        ("tools: {rules: {}}", "rules"),
        ("rules: {todo: {expr: '1 +'}}", "column"),
        ("rules: {todo: {no_such: {one_of: [a]}}}", "no_such"),
        ("budget: {usd_per_day: -1}", "usd_per_day"),
        ("budget: {per_user: {tokens_per_day: 1}}", "per_user"),
        ("group: {respond: louder}", "louder"),
        ("model: openai/other", "does not have"),
        ("model: [a, b]", "model"),
    ] {
        let text = format!(
            "agents: {{a: {{}}}}\nbindings:\n  - {{agent: a, telegram: '-1', {written}}}\n"
        );
        let (report, _) = load_text(&text);
        let found: Vec<&str> = report.errors().map(|found| &*found.message).collect();
        assert!(found.iter().any(|it| it.contains(why)), "{written}: {found:?}");
        assert!(report.errors().all(|found| found.span.line == 3), "{written}");
    }
}

#[test]
fn an_account_that_leaves_an_agent_no_model_is_told_of() {
    let (report, loaded) = load_text(
        "agents: {a: {}}\nchannels: {telegram: {accounts: {main: {token: \"${secret:T}\", model: openai/x}}}}\nbindings: [{agent: a, telegram: '*'}]\n",
    );
    assert!(loaded.is_some());
    let mut warned = report.warnings().filter(|it| it.owner == FindingOwner::Binding);
    let message = warned.next().unwrap().message.clone();
    assert!(message.contains("telegram.main") && message.contains("`openai/x`"), "{message}");
}

/// What changes in a way in is a change that an operator is told of.
#[test]
fn a_change_of_a_way_in_shows_in_the_difference() {
    use insula_config::authority::{Applied, diff};
    let with = |more: &str| {
        let text = format!(
            "agents: {{a: {{}}}}\nchannels: {{telegram: {{accounts: {{m: {{token: \"${{secret:T}}\"{more}}}}}}}}}\nbindings: [{{agent: a, telegram: '-1'{more}}}]\n"
        );
        Applied::of(&load_text(&text).1.unwrap())
    };
    let changes = diff(&with(""), &with(", tools: [clarify]"));
    let told: Vec<String> = changes.iter().map(ToString::to_string).collect();
    assert!(
        told.iter().any(|it| it.contains("telegram chat=-1") && it.contains("only clarify")),
        "{told:?}"
    );
    assert!(told.iter().any(|it| it.contains("account telegram.m")), "{told:?}");
}
