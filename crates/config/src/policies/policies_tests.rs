//! Policies as agents get them: locked, laid over what agents have, and told before.
#![allow(clippy::disallowed_methods, reason = "tests touch files")]

use super::*;
use crate::agent::AgentConfig;
use crate::files::FilesSnapshot;
use crate::load::{AgentOutcome, load};
use insula_domain::boundary::ApprovalMode;
use insula_domain::hook::HookEvent;
use insula_domain::{OpaqueRule, Switch};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

const POLICY: &str = "description: one memory for each server\nscope: \"'server:' + guild\"\ntools:\n  deny: [terminal]\n  rules: {write_file: {expr: turn.admin}}\napprovals: {mode: manual, opaque: deny, separation: true, timeout: 30s}\nhooks:\n  pre_tool_call: [{expr: \"tool_name != 'todo'\"}, {command: ./judge.sh}]\n";

fn home(config: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("policies/org");
    fs::create_dir_all(folder.join("bin")).unwrap();
    fs::write(folder.join(DOCUMENT), POLICY).unwrap();
    fs::write(folder.join("judge.sh"), "echo '{}'\n").unwrap();
    fs::write(folder.join("bin/more"), "more\n").unwrap();
    fs::write(home.path().join("config.yaml"), config).unwrap();
    lock(home.path());
    home
}

fn lock(home: &Path) {
    let mut lock = PolicyLock::default();
    for (name, files) in read_all(home) {
        let locked = LockedPolicy { installed: "now".to_owned(), files: files.hashes() };
        lock.policies.insert(name, locked);
    }
    fs::write(home.join(LOCK), lock.to_text()).unwrap();
}

fn agent(home: &Path) -> Result<Arc<AgentConfig>, String> {
    let snapshot = FilesSnapshot::read(home).unwrap();
    let (report, loaded) = load(&snapshot, &BTreeMap::new());
    let told: Vec<String> = report.errors().map(|found| found.message.clone()).collect();
    let outcome = loaded.and_then(|mut loaded| loaded.agents.pop_first()).map(|(_, it)| it);
    match outcome {
        Some(AgentOutcome::Ready(config)) => Ok(config),
        _ => Err(told.join("; ")),
    }
}

#[test]
fn a_policy_comes_on_top_of_what_an_agent_has() {
    let home = home(
        "agents:\n  a: {policies: [org], memory: true, approvals: {mode: off, timeout: 10s}, tools: {profile: coding, deny: [process]}, hooks: {pre_tool_call: [{expr: 'true'}]}}\n",
    );
    let agent = agent(home.path()).unwrap();
    assert_eq!(agent.scope.as_str(), "'server:' + guild");
    for tool in ["terminal", "process"] {
        assert!(!agent.boundary.tools.verdict(tool).is_in(), "{tool}");
    }
    assert_eq!(agent.boundary.rules.about("write_file").count(), 1);
    let approvals = agent.boundary.approvals;
    assert_eq!((approvals.mode, approvals.separation), (ApprovalMode::Manual, Switch::On));
    assert_eq!((approvals.opaque, approvals.timeout_ms), (OpaqueRule::Deny, 10_000));
    // Its hooks are asked first, and know whose folder they are in.
    let hooks: Vec<_> =
        agent.hooks.iter().filter(|it| it.event == HookEvent::PreToolCall).collect();
    let policies: Vec<_> = hooks.iter().map(|it| it.policy.as_ref().map(|it| &*it.name)).collect();
    assert_eq!(policies, [Some("org"), Some("org"), None]);
}

#[test]
fn a_policy_turns_no_memory_on_and_two_scopes_are_one_too_many() {
    let quiet = home("agents:\n  a: {policies: [org], tools: minimal}\n");
    assert!(agent(quiet.path()).unwrap().memory.is_none());
    let listed = home("agents:\n  a: {policies: [org], tools: [memory]}\n");
    assert!(agent(listed.path()).unwrap().memory.is_some());
    let both = home("agents:\n  a: {policies: [org], memory: {scope: chat}}\n");
    let error = agent(both.path()).unwrap_err();
    assert!(error.contains("policy `org`") && error.contains("memory.scope"), "{error}");
    let inherited = home("defaults: {policies: [org]}\nagents:\n  a: {tools: coding}\n");
    assert!(!agent(inherited.path()).unwrap().boundary.tools.verdict("terminal").is_in());
}

/// Every way to change a policy behind the lock's back keeps its agents from running.
#[test]
fn rule_4_a_policy_that_is_not_as_installed_closes_its_agents() {
    type Change = fn(&Path);
    let changes: [(Change, &str); 9] = [
        (|it| fs::write(it.join("policies/org/policy.yaml"), "{}").unwrap(), "was changed"),
        (|it| fs::write(it.join("policies/org/judge.sh"), "exit 0").unwrap(), "was changed"),
        (|it| fs::remove_file(it.join("policies/org/bin/more")).unwrap(), "is gone"),
        (|it| fs::write(it.join("policies/org/new"), "").unwrap(), "was added"),
        (|it| fs::remove_file(it.join(LOCK)).unwrap(), "not installed"),
        (|it| fs::write(it.join(LOCK), "{").unwrap(), "can't be read"),
        (|it| fs::remove_dir_all(it.join("policies/org")).unwrap(), "no `policies/org`"),
        (
            |it| std::os::unix::fs::symlink("/etc/passwd", it.join("policies/org/l")).unwrap(),
            "neither a file nor a folder",
        ),
        (
            |it| {
                fs::write(it.join("policies/org/policy.yaml"), "tolls: {}").unwrap();
                lock(it);
            },
            "tolls",
        ),
    ];
    for (change, why) in changes {
        let home = home("agents:\n  a: {policies: [org]}\n");
        assert!(agent(home.path()).is_ok());
        change(home.path());
        let error = agent(home.path()).unwrap_err();
        assert!(error.contains(why), "{why}: {error}");
    }
}

#[test]
fn what_a_policy_does_is_told_before_it_is_installed() {
    let home = home("{}");
    let files = read_folder(&home.path().join("policies/org"));
    let told = summary("org", &files).unwrap();
    assert_eq!(told.description.as_deref(), Some("one memory for each server"));
    assert_eq!(told.decides, ["which memory a message has: `'server:' + guild`"]);
    assert_eq!(told.grants, ["runs `./judge.sh` in the agent's sandbox at `pre_tool_call`"]);
    let takes = told.takes.join("\n");
    for what in ["`terminal`", "`expr: turn.admin`", "`opaque: deny`", "tool_name != 'todo'"] {
        assert!(takes.contains(what), "{what}: {takes}");
    }
    // One hash of all: another name or another byte is another one.
    let mut other = files.clone();
    let bytes = other.files.remove("judge.sh").unwrap();
    other.files.insert("judge".to_owned(), bytes);
    assert_ne!(files.hash(), other.hash());
    assert!(summary("org", &PolicyFiles::default()).is_err());
}

#[test]
fn what_holds_for_all_agents_no_agent_names_away() {
    for own in ["policies: []", "policies: [org]", "model: [rehearsal/rehearsal]"] {
        let home = home(&format!("defaults: {{policies: [org]}}\nagents:\n  a: {{{own}}}\n"));
        let agent = agent(home.path()).unwrap();
        assert!(!agent.boundary.tools.verdict("terminal").is_in(), "{own}");
        assert_eq!(agent.boundary.rules.about("write_file").count(), 1, "{own}");
    }
}

#[test]
fn no_hook_takes_the_scope_of_a_policy_away() {
    for config in [
        "agents:\n  a: {policies: [org], hooks: {memory:scope: [{expr: \"'all'\"}]}}\n",
        "hooks: {memory:scope: [{expr: \"'all'\"}]}\nagents:\n  a: {policies: [org]}\n",
        "defaults: {policies: [org]}\nagents:\n  a: {hooks: {memory:scope: [{expr: GLOBAL}]}}\n",
    ] {
        let home = home(config);
        let why = agent(home.path()).unwrap_err();
        assert!(why.contains("memory:scope") && why.contains("`org`"), "{config}: {why}");
    }
}

#[test]
fn what_a_policy_may_do_is_told_as_what_it_is() {
    let of = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(DOCUMENT), text).unwrap();
        summary("p", &read_folder(folder.path())).unwrap()
    };
    let told = of("scope: global\n");
    assert_eq!(told.grants, ["one memory for all conversations of an agent"]);
    let told = of("hooks: {pre_llm_call: [{expr: \"'say yes'\"}]}\n");
    assert!(told.takes.is_empty() && told.grants[0].contains("add words to prompts"), "{told:?}");
    let told = of("hooks: {route:select: [{http: 'https://example.org/x'}]}\n");
    assert!(told.grants[0].contains("send messages elsewhere"), "{told:?}");
}
