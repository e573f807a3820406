//! Whose memory it is, decided by hooks through the real daemon: the policies of
//! `docs/hooks.md` as they stand there, and what becomes of memory when a hook goes wrong.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::json;
use std::path::Path;

/// A token and what it is called with.
struct Caller {
    id: String,
    token: String,
}

fn caller(home: &Home, agent: &str, metadata: &[&str]) -> Caller {
    let mut args = vec!["token", "create", "--agent", agent];
    metadata.iter().for_each(|it| args.extend(["--metadata", it]));
    let made = crate::support::json(home, &args);
    let text = |key: &str| made[key].as_str().unwrap().to_owned();
    Caller { id: text("id"), token: text("token") }
}

/// One turn over the API, in the session of this name.
fn say(daemon: &Daemon, caller: &Caller, agent: &str, session: &str, text: &str) -> String {
    let body = json!({ "model": agent, "messages": [{ "role": "user", "content": text }] });
    let token = format!("Authorization: Bearer {}", caller.token);
    let session = format!("X-Insula-Session: {session}");
    let headers = [token.as_str(), session.as_str(), "Content-Type: application/json"];
    let answer = send(daemon.listen(), "POST", "/v1/chat/completions", &headers, &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
}

const ADD: &str =
    r#"call memory {"action": "add", "target": "memory", "content": "the cat is called Tomkin"}"#;
const SEARCH: &str = r#"call memory_search {"query": "cat"}"#;

/// The scopes in which an agent remembers something.
fn scopes(home: &Home, agent: &str) -> Vec<String> {
    let listed = crate::support::json(home, &["memory", "list", agent]);
    listed.as_array().unwrap().iter().map(|it| it["scope"].as_str().unwrap().to_owned()).collect()
}

/// A policy of the guide: its expression, and its program with the configuration for it.
struct Policy {
    expression: String,
    program: (String, String),
}

fn policy(name: &str) -> Policy {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hooks.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let (_, section) = guide.split_once(&format!("\n### {name}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap().split("\n### ").next().unwrap();
    let fences = |language: &str| -> Vec<String> {
        let open = format!("```{language}\n");
        let fences = section.split(&*open).skip(1);
        fences.map(|rest| rest.split("\n```").next().unwrap().to_owned()).collect()
    };
    let (mut configs, mut programs) = (fences("yaml"), fences("python"));
    assert_eq!((configs.len(), programs.len()), (2, 1), "{name}");
    let program = (configs.pop().unwrap(), programs.pop().unwrap());
    Policy { expression: configs.pop().unwrap(), program }
}

/// Runs a policy in both forms, and its program once more when it is gone.
fn try_out(name: &str, check: impl Fn(&Home, &Daemon)) {
    let Policy { expression, program: (config, program) } = policy(name);
    let file = "agents/helper/hooks/policy.py";
    for (config, program) in [(expression, String::new()), (config, program)] {
        let home = home([("config.yaml", &*config), (file, &*program)]);
        let daemon = start_still(&home);
        assert_eq!(state(&home, "helper"), "ready", "{name}: {config}");
        check(&home, &daemon);
        if program.is_empty() {
            continue;
        }
        // The hook is down: nothing is remembered, and nothing that was is shown.
        let before = scopes(&home, "helper");
        home.write(file, "import sys\nsys.exit('down for repairs')\n").unwrap();
        let ann = caller(&home, "helper", &["org_id=acme"]);
        for text in [ADD, SEARCH] {
            let told = say(&daemon, &ann, "helper", "down", text);
            assert!(told.contains("memory is closed here"), "{name}: {told}");
        }
        assert_eq!(scopes(&home, "helper"), before, "{name}");
        let context = crate::support::json(&home, &["context", "show", "helper"]);
        let last = context["hooks"]["last_failure"].as_str().unwrap();
        assert!(last.contains("down for repairs"), "{name}: {last}");
    }
}

#[test]
fn the_policy_per_chat_works_as_written() {
    try_out("Per chat", |home, daemon| {
        let ann = caller(home, "helper", &[]);
        assert!(say(daemon, &ann, "helper", "one", ADD).contains("done"));
        assert!(say(daemon, &ann, "helper", "one", SEARCH).contains("Tomkin"));
        assert!(say(daemon, &ann, "helper", "two", SEARCH).contains("nothing was found"));
        assert_eq!(scopes(home, "helper"), [format!("custom:api%2F{}%2Fone", ann.id)]);
    });
}

#[test]
fn the_policy_per_user_works_as_written() {
    try_out("Per user", |home, daemon| {
        let (ann, bob) = (caller(home, "helper", &[]), caller(home, "helper", &[]));
        assert!(say(daemon, &ann, "helper", "one", ADD).contains("done"));
        assert!(say(daemon, &ann, "helper", "two", SEARCH).contains("Tomkin"));
        assert!(say(daemon, &bob, "helper", "one", SEARCH).contains("nothing was found"));
        assert_eq!(scopes(home, "helper"), [format!("custom:api%2F{}", ann.id)]);
    });
}

#[test]
fn the_policy_per_organisation_works_as_written() {
    try_out("Per organisation", |home, daemon| {
        let ann = caller(home, "helper", &["org_id=acme"]);
        let bob = caller(home, "helper", &["org_id=acme"]);
        let eve = caller(home, "helper", &["org_id=other"]);
        let nobody = caller(home, "helper", &[]);
        assert!(say(daemon, &ann, "helper", "one", ADD).contains("done"));
        assert!(say(daemon, &bob, "helper", "two", SEARCH).contains("Tomkin"));
        assert!(say(daemon, &eve, "helper", "one", SEARCH).contains("nothing was found"));
        // The field is missing: closed, and never somebody else's or everybody's.
        for text in [ADD, SEARCH] {
            let told = say(daemon, &nobody, "helper", "one", text);
            assert!(told.contains("memory is closed here"), "{told}");
        }
        assert_eq!(scopes(home, "helper"), ["custom:org%3Aacme"]);
    });
}

#[test]
fn the_policy_of_no_memory_works_as_written() {
    try_out("None", |home, daemon| {
        let ann = caller(home, "helper", &["org_id=acme"]);
        for text in [ADD, SEARCH] {
            let told = say(daemon, &ann, "helper", "one", text);
            assert!(told.contains("memory is closed here"), "{told}");
        }
        assert!(scopes(home, "helper").is_empty());
    });
}

#[test]
fn b04_a_scope_hook_that_goes_wrong_denies_and_nothing_is_global() {
    let config = r#"
agents:
  main: {default: true}
  crash: {memory: true, hooks: {memory:scope: [{command: "echo oh dear >&2; exit 3", timeout: 30s}]}}
  hang: {memory: true, hooks: {memory:scope: [{command: "sleep 600", timeout: 300ms}]}}
  nonsense: {memory: true, hooks: {memory:scope: [{command: "echo here you go", timeout: 30s}]}}
  object: {memory: true, hooks: {memory:scope: [{command: "echo '{\"context_id\": {\"a\": 1}}'", timeout: 30s}]}}
  empty: {memory: true, hooks: {memory:scope: [{command: "echo '{\"context_id\": \"\"}'", timeout: 30s}]}}
  silent: {memory: true, hooks: {memory:scope: [{command: "true", timeout: 30s}]}}
  long: {memory: true, hooks: {memory:scope: [{command: "printf '{\"context_id\": \"%0600d\"}' 0", timeout: 30s}]}}
  dots: {memory: true, hooks: {memory:scope: [{command: "echo '{\"context_id\": \"../..\"}'", timeout: 30s}]}}
  forged: {memory: true, hooks: {memory:scope: [{command: "echo '{\"context_id\": \"chat:api:token:victim\"}'", timeout: 30s}]}}
"#;
    let home = configured(config);
    let daemon = start_still(&home);
    for agent in ["crash", "hang", "nonsense", "object", "empty", "silent", "long"] {
        let ann = caller(&home, agent, &[]);
        for text in [ADD, SEARCH] {
            let told = say(&daemon, &ann, agent, "one", text);
            assert!(told.contains("memory is closed here"), "{agent}: {told}");
        }
        // The conversation goes on.
        assert!(!say(&daemon, &ann, agent, "one", "hello").is_empty());
        assert!(scopes(&home, agent).is_empty(), "{agent}");
        assert!(!home.has(&format!("agents/{agent}/memories")), "{agent}");
        // The operator finds out, in three places.
        let context = crate::support::json(&home, &["context", "show", agent]);
        assert!(context["hooks"]["failures"].as_u64().unwrap() > 1, "{agent}: {context}");
        let kinds = kinds(&home, agent);
        for kind in ["hook", "memory.denied"] {
            assert!(kinds.iter().any(|it| it == kind), "{agent}: {kinds:?}");
        }
    }
    for (agent, scope) in
        [("dots", "custom:..%2F.."), ("forged", "custom:chat%3Aapi%3Atoken%3Avictim")]
    {
        let ann = caller(&home, agent, &[]);
        assert!(say(&daemon, &ann, agent, "one", ADD).contains("done"), "{agent}");
        assert_eq!(scopes(&home, agent), [scope]);
    }
    // Nothing was written outside of the agents' own folders, and nothing that is everybody's.
    let holders = holders(&home, "Tomkin");
    let own = |path: &std::path::PathBuf| {
        ["dots", "forged"].iter().any(|it| path.starts_with(home.path().join("agents").join(it)))
    };
    let files: Vec<_> =
        holders.iter().filter(|path| path.extension().is_some_and(|it| it == "md")).collect();
    assert!(files.iter().all(|path| own(path)) && files.len() == 2, "{holders:?}");
    daemon.terminate().unwrap();
    assert_chains_hold(&home);
}
