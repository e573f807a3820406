//! What a token opens: its agents, by its verbs, and nothing that shows there are others.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::json;

const CONFIG: &str =
    "agents:\n  a: {default: true, tools: minimal}\n  b: {tools: [todo]}\n  broken: {tolls: 1}\n";

fn served() -> (Home, Daemon) {
    let home = configured(CONFIG);
    let daemon = start_still(&home);
    (home, daemon)
}

/// A token for agent `a` with these verbs.
fn token_with(home: &Home, verbs: &[&str]) -> String {
    token_of(home, "a", verbs)
}

fn token_of(home: &Home, agent: &str, verbs: &[&str]) -> String {
    let mut args = vec!["token", "create", "--agent", agent];
    args.extend(verbs.iter().flat_map(|verb| ["--verb", verb]));
    json(home, &args)["token"].as_str().unwrap().to_owned()
}

fn with(daemon: &Daemon, token: &str, method: &str, path: &str) -> Answer {
    let bearer = format!("Authorization: Bearer {token}");
    send(daemon.listen(), method, path, &[&bearer, "Content-Type: application/json"], "")
}

#[test]
fn a_verb_opens_the_routes_it_covers_and_no_others() {
    let (home, daemon) = served();
    let routes = [
        ("read", "GET", ""),
        ("read", "GET", "/context"),
        ("read", "GET", "/tools"),
        ("read", "GET", "/audit"),
        ("read", "GET", "/audit/verify"),
        ("manage", "POST", "/pause"),
        ("manage", "POST", "/resume"),
        ("manage", "POST", "/reload"),
    ];
    for verb in ["chat", "read", "approve", "manage", "admin"] {
        let token = token_with(&home, &[verb]);
        for (needed, method, rest) in routes {
            let answer = with(&daemon, &token, method, &format!("/api/agents/a{rest}"));
            let expected = if verb == needed || verb == "admin" { 200 } else { 403 };
            assert_eq!(answer.status, expected, "{verb}: {method} {rest}: {answer:?}");
        }
        for (method, path) in [
            ("GET", "/api/agents"),
            ("DELETE", "/api/agents/a"),
            ("POST", "/api/agents/a/archive"),
            ("GET", "/api/status"),
            ("POST", "/api/reload"),
            ("GET", "/api/audit"),
            ("GET", "/api/tokens"),
            ("GET", "/api/doctor"),
        ] {
            let answer = with(&daemon, &token, method, path);
            assert_eq!(
                (answer.status, &answer.json()["error"]["code"]),
                (403, &json!("forbidden")),
                "{verb}: {method} {path}: {answer:?}"
            );
        }
    }
    assert_eq!(state(&home, "a"), "ready");
}

#[test]
fn what_a_token_reads_does_not_move_with_what_was_written_about_others() {
    let config = |about_b: &str| {
        format!(
            "agents:\n  b: {{{about_b}}}\n  a: {{default: true, tools: minimal, personality: kind}}\n  broken: {{tolls: 1}}\ndefaults: {{memory: false}}\n"
        )
    };
    let home = configured(&config("tools: [todo]"));
    let daemon = start_still(&home);
    let tokens = ["a", "broken"].map(|id| (id, token_of(&home, id, &["read", "manage"])));
    let read = || {
        let answers = tokens.iter().flat_map(|(id, token)| {
            let routes = [("GET", ""), ("GET", "/context"), ("GET", "/tools"), ("POST", "/reload")];
            // Reading is on record too, so the records are read first.
            let audit = with(&daemon, token, "GET", &format!("/api/agents/{id}/audit"));
            let failures = audit.body.matches("agent.failed").count();
            assert!(!audit.body.contains(".yaml:1") && !audit.body.contains(".yaml:4"));
            let answers = routes.map(|(method, rest)| {
                with(&daemon, token, method, &format!("/api/agents/{id}{rest}")).body
            });
            answers.into_iter().chain([failures.to_string()])
        });
        answers.collect::<Vec<_>>()
    };
    let before = read();
    assert!(before[1].contains("\"origin\":\"config.yaml\""), "{}", before[1]);
    assert!(before[1].contains("\"soul_origin\":\"config.yaml\""), "{}", before[1]);
    assert!(before[1].contains("\"origin\":\"config.yaml (defaults)\""), "{}", before[1]);
    assert!(before[5].contains("config.yaml: unknown key `tolls`"), "{}", before[5]);
    assert!(before[8].contains("unknown key `tolls`"), "{}", before[8]);
    assert!(before.iter().all(|it| !it.contains("\"line\"")), "{before:#?}");
    home.write(
        "config.yaml",
        config("\n    tools: [todo],\n    name: Bee,\n    description: new\n  "),
    )
    .unwrap();
    insula(&home, &["reload"]).ok();
    assert_eq!(read(), before);
    // The admin is told where it is.
    let shown = call(&daemon, &home, "GET", "/api/agents/a/context", "");
    assert!(shown.body.contains("\"origin\":\"config.yaml:3:"), "{shown:?}");
}

#[test]
fn another_agent_answers_exactly_as_one_that_does_not_exist() {
    let (home, daemon) = served();
    let same = |token: &str| {
        for (method, rest) in [
            ("GET", ""),
            ("DELETE", ""),
            ("GET", "/context"),
            ("GET", "/tools"),
            ("GET", "/audit"),
            ("GET", "/audit?limit=nonsense"),
            ("GET", "/audit/verify"),
            ("POST", "/pause"),
            ("POST", "/reload"),
            ("POST", "/archive"),
        ] {
            let told = |id: &str| {
                let answer = with(&daemon, token, method, &format!("/api/agents/{id}{rest}"));
                let plain = |text: &str| {
                    let lines =
                        text.lines().filter(|line| !line.to_lowercase().starts_with("date:"));
                    lines.collect::<Vec<_>>().join("\n").replace(&format!("`{id}`"), "`…`")
                };
                (answer.status, plain(&answer.head), plain(&answer.body))
            };
            // Of one length, so that even the length of the answer is comparable.
            assert_eq!(told("b"), told("x"), "{method} {rest}");
            assert_eq!(told("broken"), told("nobody"), "{method} {rest}");
        }
    };
    for verb in ["chat", "read", "manage", "admin"] {
        same(&token_with(&home, &[verb]));
    }
    assert_eq!(state(&home, "b"), "ready");
}

#[test]
fn what_a_token_changes_is_recorded_as_its_own() {
    let (home, daemon) = served();
    let token = token_with(&home, &["manage"]);
    assert_eq!(with(&daemon, &token, "POST", "/api/agents/a/pause").status, 200);
    let records = json(&home, &["audit", "tail", "a"]);
    let last = records.as_array().unwrap().last().unwrap().clone();
    let id = token.split('_').nth(1).unwrap();
    assert_eq!(last["actor"], format!("api:{id}"), "{last:#}");
}

#[test]
fn a_reload_tells_a_token_about_its_agent_only() {
    let (home, daemon) = served();
    let token = token_with(&home, &["manage"]);
    let answer = with(&daemon, &token, "POST", "/api/agents/a/reload");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(!answer.body.contains("broken"), "{answer:?}");
    home.write("config.yaml", "agents: {a: {}, secretive: {}}\nnonsense: 1\n").unwrap();
    let refused = with(&daemon, &token, "POST", "/api/agents/a/reload");
    assert_eq!(refused.status, 422, "{refused:?}");
    assert!(!refused.body.contains("nonsense"), "{refused:?}");
}
