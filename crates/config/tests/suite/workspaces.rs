//! Workspaces that other agents can write to.

use crate::common::load_text;
use insula_config::{AgentOutcome, LoadReport};
use std::collections::BTreeMap;

/// The agents whose workspace is shared, those that are warned of it, and the report.
fn shared(agents: &str) -> (Vec<String>, Vec<String>, LoadReport) {
    let (report, loaded) = load_text(&format!("agents:\n{agents}"));
    let errors: Vec<String> = report.errors().map(|found| found.message.clone()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let agents = loaded.unwrap().agents;
    let is_shared = |outcome: &AgentOutcome| match outcome {
        AgentOutcome::Ready(config) => config.workspace_is_shared,
        AgentOutcome::Failed(reason) => panic!("{reason}"),
    };
    let marked = agents.iter().filter(|(_, outcome)| is_shared(outcome));
    let marked = marked.map(|(id, _)| id.to_string()).collect();
    let warned = report.warnings().filter(|it| it.message.contains("other agents can write to"));
    let name = |message: &str| message.split('`').nth(1).unwrap_or_default().to_owned();
    let warned = warned.map(|it| name(&it.message)).collect();
    (marked, warned, report)
}

#[test]
fn a_workspace_that_another_agent_writes_to_is_shared() {
    for (others, expected) in [
        ("  b: {}", &[][..]),
        ("  b: {workspace: {path: /srv/b}}", &[]),
        ("  b: {workspace: {path: /srv/ab}}", &[]),
        ("  b: {files: {shared: [{path: /srv/a, mode: ro}]}}", &[]),
        ("  b: {workspace: {path: /srv/a}}", &["a", "b"]),
        ("  b: {workspace: {path: /srv/x/../a/}}", &["a", "b"]),
        ("  b: {workspace: {path: /srv/a/below}}", &["a", "b"]),
        ("  b: {workspace: {path: /srv}}", &["a", "b"]),
        ("  b: {files: {shared: [{path: /srv/a/below, mode: rw}]}}", &["a"]),
        // It writes to folders of its conversations alone, and reads what the other one writes.
        ("  b: {workspace: {path: /srv/a, scope: chat}}", &["b"]),
    ] {
        let (marked, warned, _) =
            shared(&format!("  a: {{workspace: {{path: /srv/a}}}}\n{others}\n"));
        assert_eq!(marked, expected, "{others}");
        assert_eq!(warned, expected, "{others}");
    }
}

#[test]
fn the_warning_says_what_follows_and_whom_to_look_at() {
    let (_, warned, report) = shared(
        "  a: {workspace: {path: /srv/a}}\n  b: {workspace: {path: /srv/a}, integrity: {trusted: ['folder:/srv/a']}}\n",
    );
    assert_eq!(warned, ["a"], "who trusts it knows of it");
    let found = report.warnings().find(|it| it.message.contains("other agents")).unwrap();
    let help = found.help.as_deref().unwrap_or_default();
    assert!(help.contains("words of others") && help.contains("`folder:/srv/a`"), "{help}");
    let [(_, other)] = &found.related[..] else { panic!("{:?}", found.related) };
    assert_eq!(other, "agent `b` can write there");
}

#[test]
fn a_home_by_its_short_name_is_the_same_folder() {
    let config = "agents: {a: {workspace: {path: ~/x}}, b: {workspace: {path: /home/me/x}}}\n";
    let mut files = insula_config::FilesSnapshot::default();
    files.config = insula_config::files::FileState::Text(config.into());
    let env = BTreeMap::from([("HOME".to_owned(), "/home/me".to_owned())]);
    let (_, loaded) = insula_config::load(&files, &env);
    let shared = |outcome: &AgentOutcome| matches!(outcome, AgentOutcome::Ready(it) if it.workspace_is_shared);
    assert!(loaded.unwrap().agents.values().all(shared));
}

#[test]
fn an_agent_is_another_one_once_others_write_there() {
    let digest = |config: &str| {
        let (_, loaded) = load_text(config);
        match loaded.unwrap().agents.into_values().next() {
            Some(AgentOutcome::Ready(config)) => config.digest,
            other => panic!("{other:?}"),
        }
    };
    let alone = "agents: {a: {workspace: {path: /srv/a}}, b: {}}\n";
    let both = "agents: {a: {workspace: {path: /srv/a}}, b: {workspace: {path: /srv/a}}}\n";
    assert_eq!(digest(alone), digest(&alone.replace("b: {}", "b: {workspace: {path: /srv/b}}")));
    assert_ne!(digest(alone), digest(both));
}
