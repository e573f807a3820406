//! Who is let in over HTTP, and what strangers see: health, metrics, tokens, hosts.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home};
use std::collections::BTreeMap;

fn served() -> (Home, Daemon) {
    let home = configured("agents: {main: {default: true}, secretive: {}, broken: {tolls: 1}}\n");
    let daemon = start_still(&home);
    (home, daemon)
}

/// The samples of an exposition, after checking that it is one.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let name_ok = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
    };
    let body = text.strip_suffix("# EOF\n").expect("it ends with the mark of the end");
    let mut types = BTreeMap::new();
    let mut samples = BTreeMap::new();
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (what, family) = (words.next().unwrap(), words.next().unwrap());
            assert!(["HELP", "TYPE", "UNIT"].contains(&what) && name_ok(family), "{line}");
            if what == "TYPE" {
                let new = types.insert(family.to_owned(), words.next().unwrap().to_owned());
                assert_eq!(new, None, "a type is said once: {line}");
            }
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        let (name, labels) = sample.split_once('{').unwrap_or((sample, "}"));
        assert!(name_ok(name) && labels.ends_with('}'), "{line}");
        let family = ["_info", "_total"].iter().find_map(|end| name.strip_suffix(end));
        let family = family.unwrap_or(name);
        assert!(types.contains_key(family), "`{family}` has no type: {line}");
        let counts = types[family] == "counter";
        assert_eq!(counts, name.ends_with("_total"), "counters, and only they, total: {line}");
        let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(samples.insert(sample.to_owned(), value), None, "twice: {line}");
    }
    samples
}

#[test]
fn health_and_readiness_need_no_token() {
    let (_home, daemon) = served();
    for (path, word) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let answer = get(&daemon, path);
        assert_eq!((answer.status, answer.body.as_str()), (200, word), "{path}");
    }
}

#[test]
fn metrics_show_strangers_that_it_lives_and_a_token_its_own_agent() {
    let (home, daemon) = served();
    let answer = get(&daemon, "/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.head.to_lowercase().contains("content-type: application/openmetrics-text"));
    let samples = samples(&answer.body);
    assert_eq!(samples["insula_up"], 1.0);
    // Nothing is counted that anybody else does or has.
    assert_eq!(samples.len(), 2, "{samples:?}");
    let made = json(&home, &["token", "create", "--agent", "main", "--verb", "read"]);
    let bearer = format!("Authorization: Bearer {}", made["token"].as_str().unwrap());
    let own = send(daemon.listen(), "GET", "/metrics", &[&bearer], "").body;
    assert!(own.contains(r#"insula_agent_up{agent="main"} 1"#), "{own}");
    for name in ["secretive", "broken", "insula_agents", "databases", "inbound"] {
        assert!(!own.contains(name), "`{name}` shows:\n{own}");
    }
    let made = json(&home, &["token", "create", "--agent", "main", "--verb", "chat"]);
    let bearer = format!("Authorization: Bearer {}", made["token"].as_str().unwrap());
    let chat = send(daemon.listen(), "GET", "/metrics", &[&bearer], "").body;
    assert!(!chat.contains("agent="), "{chat}");
}

#[test]
fn metrics_show_the_admin_every_agent() {
    let (home, daemon) = served();
    let samples = samples(&call(&daemon, &home, "GET", "/metrics", "").body);
    assert_eq!(samples[r#"insula_agents{state="ready"}"#], 2.0);
    assert_eq!(samples[r#"insula_agents{state="failed"}"#], 1.0);
    let of = |family: &str, agent: &str| samples[&format!("insula_{family}{{agent=\"{agent}\"}}")];
    for (agent, up, generation) in
        [("main", 1.0, 1.0), ("secretive", 1.0, 1.0), ("broken", 0.0, 0.0)]
    {
        assert_eq!(
            (of("agent_up", agent), of("agent_generation", agent)),
            (up, generation),
            "{agent}"
        );
    }
}

#[test]
fn metrics_count_reloads_that_were_applied_and_refused() {
    let (home, daemon) = served();
    daemon.cli(&["reload"]).ok();
    home.write("config.yaml", "agents: [\n").unwrap();
    assert_eq!(daemon.cli(&["reload"]).code, Some(2));
    let samples = samples(&call(&daemon, &home, "GET", "/metrics", "").body);
    let count = |name: &str| samples[&format!("insula_config_{name}_total")];
    assert_eq!((count("applied"), count("refused")), (1.0, 1.0));
}

#[test]
fn the_api_answers_nobody_without_the_token() {
    let (home, daemon) = served();
    let token = token(&home);
    let wrong = format!("Authorization: Bearer {}x", &token[..token.len() - 1]);
    let longer = format!("Authorization: Bearer {token}x");
    let scheme = format!("Authorization: Basic {token}");
    let bare = format!("Authorization: {token}");
    let shown: [&[&str]; 6] =
        [&[], &[&wrong], &[&longer], &["Authorization: Bearer "], &[&scheme], &[&bare]];
    for (method, path) in [
        ("GET", "/api/agents"),
        ("GET", "/api/agents/secretive"),
        ("GET", "/api/agents/nobody"),
        ("DELETE", "/api/agents/secretive"),
        ("POST", "/api/agents/secretive/pause"),
        ("POST", "/api/reload"),
        ("GET", "/api/audit"),
        ("GET", "/api/status"),
        ("PUT", "/api/agents"),
    ] {
        for headers in shown {
            let answer = send(daemon.listen(), method, path, headers, "");
            assert_eq!(answer.status, 401, "{method} {path} {headers:?}: {answer:?}");
            assert_eq!(answer.json()["error"]["code"], "unauthorized");
            assert!(answer.head.to_lowercase().contains("www-authenticate: bearer"));
            assert!(!answer.body.contains("secretive"), "{answer:?}");
        }
    }
    assert_eq!(state(&home, "secretive"), "ready");
}

#[test]
fn a_token_lives_no_longer_than_its_daemon() {
    let (home, daemon) = served();
    let old = format!("Authorization: Bearer {}", token(&home));
    daemon.terminate().unwrap();
    let daemon = start_still(&home);
    assert_eq!(send(daemon.listen(), "GET", "/api/agents", &[&old], "").status, 401);
    assert_eq!(call(&daemon, &home, "GET", "/api/agents", "").status, 200);
}

#[test]
fn requests_under_a_foreign_name_are_refused_even_with_the_token() {
    let (home, daemon) = served();
    let token = format!("Authorization: Bearer {}", token(&home));
    let port = daemon.listen().port();
    let own = format!("Host: 127.0.0.1:{port}");
    let lookalike = format!("Host: 127.0.0.1.evil.example:{port}");
    let https = format!("Origin: https://127.0.0.1:{port}");
    let foreign: [&[&str]; 9] = [
        &["Host: evil.example"],
        &[&lookalike],
        &["Host: localhost.evil.example"],
        &["Host: 10.0.0.1"],
        &["Host: "],
        &["Host: caf\u{e9}"],
        &[&own, "Origin: http://evil.example"],
        &[&own, "Origin: null"],
        &[&own, &https],
    ];
    for headers in foreign {
        for path in ["/healthz", "/metrics", "/api/agents", "/api/openapi.json", "/nowhere"] {
            let headers: Vec<&str> = headers.iter().copied().chain([token.as_str()]).collect();
            let answer = send(daemon.listen(), "GET", path, &headers, "");
            assert_eq!(answer.status, 403, "{headers:?} {path}: {answer:?}");
            assert_eq!(answer.json()["error"]["code"], "foreign_host");
            assert_eq!(answer.json()["error"].get("param"), None, "ours, not OpenAI's");
        }
        let headers: Vec<&str> = headers.iter().copied().chain([token.as_str()]).collect();
        let error =
            send(daemon.listen(), "GET", "/v1/models", &headers, "").json()["error"].clone();
        assert_eq!(error["code"], "foreign_host", "{error:#}");
        assert!(error["type"].is_string() && error.get("param").is_some(), "{error:#}");
    }
    // One good name does not make up for a bad one beside it.
    let both = format!(
        "GET /api/agents HTTP/1.1\r\n{own}\r\nHost: evil.example\r\n{token}\r\nConnection: close\r\n\r\n"
    );
    assert_ne!(send_bytes(daemon.listen(), both.as_bytes()).status, 200);
}

#[test]
fn requests_under_the_machines_own_names_are_served() {
    let (_home, daemon) = served();
    let port = daemon.listen().port();
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"] {
        let (named, from) =
            (format!("Host: {host}:{port}"), format!("Origin: http://{host}:{port}"));
        let answer = send(daemon.listen(), "GET", "/healthz", &[&named, &from], "");
        assert_eq!(answer.status, 200, "{host}: {answer:?}");
        let without_port = format!("Host: {host}");
        assert_eq!(send(daemon.listen(), "GET", "/healthz", &[&without_port], "").status, 200);
    }
}

#[test]
fn a_request_under_way_is_answered_when_the_daemon_stops() {
    // A connection that says nothing must not hold the end up either.
    let (_home, daemon) = served();
    let idle = std::net::TcpStream::connect(daemon.listen()).unwrap();
    assert_eq!(get(&daemon, "/healthz").status, 200);
    assert_eq!(daemon.terminate().unwrap().code(), Some(0));
    drop(idle);
}
