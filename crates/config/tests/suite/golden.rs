//! Whole configurations and what they come to.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests read their fixtures"
)]

use crate::common::{address, fixtures, load_text, picture, route};
use insula_config::{AgentOutcome, Applied, FilesSnapshot, diff, load, resolved};
use std::collections::BTreeMap;
use std::fs;

#[test]
fn every_fixture_means_what_it_says() {
    let mut names: Vec<_> =
        fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert!(names.len() > 20);
    for name in names {
        let home = fixtures().join(&name);
        let snapshot = FilesSnapshot::read(&home).unwrap();
        let probes = fs::read_to_string(home.join("probes.txt")).unwrap_or_default();
        let (report, loaded) = load(&snapshot, &crate::common::environment());
        insta::assert_snapshot!(name.to_str().unwrap(), picture(&report, loaded.as_ref(), &probes));
    }
}

fn fixture(name: &str) -> insula_config::Loaded {
    let snapshot = FilesSnapshot::read(&fixtures().join(name)).unwrap();
    load(&snapshot, &BTreeMap::new()).1.unwrap()
}

#[test]
fn the_reviewer_of_the_design_fails_for_its_two_guards_and_nothing_else() {
    let snapshot = FilesSnapshot::read(&fixtures().join("design-whole")).unwrap();
    let (report, loaded) = load(&snapshot, &BTreeMap::new());
    let errors: Vec<&str> = report.errors().map(|found| found.message.as_str()).collect();
    let unenforced = |path: &str| {
        format!("`{path}` restricts agent `reviewer` and this version does not enforce it")
    };
    assert_eq!(errors, [unenforced("isolation")]);
    for (id, outcome) in &loaded.unwrap().agents {
        assert_eq!(matches!(outcome, AgentOutcome::Failed(_)), id.as_str() == "reviewer", "{id}");
    }
}

#[test]
fn all_forms_of_a_rule_are_one_rule() {
    let forms = [
        "{agent: a, telegram: \"-100123\", topic: 7}",
        "{agent: a, telegram: -100123, topic: \"7\"}",
        "{agent: a, telegram: {chat: \"-100123\", topic: 7}}",
        "{agent: a, match: {platform: telegram, chat: \"-100123\", topic: 7}}",
        "{agent: a, match: {platform: telegram, chat_id: -100123, thread_id: 7}}",
        "{profile: a, platform: telegram, chat_id: -100123, topic_id: 7}",
        "{agentId: a, telegram: {chat_id: -100123}, thread: 7}",
    ];
    let rules: Vec<_> = forms
        .iter()
        .map(|form| {
            let (_, loaded) = load_text(&format!("agents: {{a: {{}}}}\nbindings: [{form}]\n"));
            loaded.unwrap().router.bindings()[0].clone()
        })
        .collect();
    for (rule, form) in rules.iter().zip(forms) {
        assert_eq!(*rule, rules[0], "{form}");
    }
    for two in [[0, 2], [1, 3], [4, 6]] {
        let rules = two.map(|at| forms[at]).join(", ");
        let (report, loaded) = load_text(&format!("agents: {{a: {{}}}}\nbindings: [{rules}]\n"));
        assert_eq!(report.errors().count(), 1);
        // Both refuse, and what else there is serves.
        let loaded = loaded.unwrap();
        let refusals = loaded.router.bindings().iter().map(|rule| rule.refusal.as_deref());
        let told = Some("bindings 1 and 2 match the same messages");
        assert_eq!(refusals.collect::<Vec<_>>(), [told, told]);
    }
}

#[test]
fn two_bots_of_one_platform_have_two_sessions() {
    let loaded = fixture("two-accounts");
    let to = |account: &str| {
        route(&loaded, &address(&loaded, &format!("telegram account={account} chat=6 user=6")))
    };
    assert_ne!(to("first"), to("second"));
}

#[test]
fn a_resolved_configuration_shows_no_credential() {
    let yaml = "
providers: {p: {kind: openai, api_key: hunter2}}
agents:
  main:
    env: {A: hunter2, B: '${secret:B}'}
    mcp_servers: {m: {url: 'https://example.org/', headers: {Authorization: Bearer hunter2}}}
";
    let (report, loaded) = load_text(yaml);
    let loaded = loaded.unwrap();
    let json = resolved::resolved(&report, &loaded, |_| true).to_string();
    let applied = Applied::of(&loaded).to_json();
    for text in [&json, &resolved::resolved_text(&loaded, |name| name != "cronjob"), &applied] {
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("${secret:B}"));
    }
    assert!(diff(&Applied::of(&loaded), &Applied::from_json(&applied).unwrap()).is_empty());
}

#[test]
fn what_was_resolved_is_shown_with_its_origin() {
    let snapshot = FilesSnapshot::read(&fixtures().join("precedence")).unwrap();
    let (report, loaded) = load(&snapshot, &BTreeMap::new());
    let loaded = loaded.unwrap();
    insta::assert_snapshot!(
        "resolved-text",
        resolved::resolved_text(&loaded, |name| name != "cronjob")
    );
    let json = resolved::resolved(&report, &loaded, |_| true);
    insta::assert_json_snapshot!("resolved-json", json["agents"]["own"]);
}
