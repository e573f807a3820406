//! Rule 10, as far as it reaches today: with the same seed and the same inputs, two runs leave
//! the same bytes in every file and give the same bytes as answers.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use insula_http::AdminToken;
use insula_registry::{Actor, Home};
use insula_testdaemon::TestDaemon;
use insula_testkit::world;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const CONFIG: &str = "agents:\n  main: {default: true, memory: true}\n  coder: {tools: coding}\n  broken: {tolls: 1}\nbindings:\n  - {agent: coder, telegram: 1}\n";

/// Everything a run leaves and says.
#[derive(Debug, PartialEq)]
struct Trace {
    answers: Vec<String>,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// Every file below `folder`.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap();
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), bytes);
            }
        }
    }
    found
}

async fn ask(router: &Router, token: &AdminToken, call: &str, body: &str) -> String {
    let (method, path) = call.split_once(' ').unwrap();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {}", token.reveal()))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_owned()))
        .unwrap();
    let response = tower::ServiceExt::oneshot(router.clone(), request).await.unwrap();
    let status = response.status();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    format!("{call}: {status} {}", String::from_utf8(bytes.to_vec()).unwrap())
}

/// The same day in the life of a daemon, in `folder`, which it leaves empty.
async fn day(folder: &Path, seed: u64, soul: &str) -> Trace {
    fs::create_dir(folder).unwrap();
    fs::write(folder.join("config.yaml"), CONFIG).unwrap();
    let (world, handles) = world(seed);
    let daemon = TestDaemon::try_open(Home::new(folder), &world, BTreeMap::new()).await.unwrap();
    let (router, admin) = crate::routes(&daemon);
    let mut answers = vec![admin.reveal().to_owned()];
    for (call, body) in [
        ("GET /api/agents", ""),
        ("POST /api/agents/main/pause", ""),
        ("POST /api/agents", r#"{"id": "new", "tools": "minimal"}"#),
        ("POST /api/agents/main/resume", ""),
        ("POST /api/route/explain", r#"{"platform": "telegram", "chat": "1", "user": "5"}"#),
        ("GET /api/agents/new/audit", ""),
        ("DELETE /api/agents/new", ""),
    ] {
        handles.clock.advance(Duration::from_millis(1_234)).await;
        answers.push(ask(&router, &admin, call, body).await);
    }
    fs::create_dir_all(folder.join("agents/coder")).unwrap();
    fs::write(folder.join("agents/coder/SOUL.md"), soul).unwrap();
    daemon.reload(None, &Actor::Signal).await.unwrap();
    for call in [
        "GET /api/status",
        "GET /api/agents",
        "GET /api/agents/coder/context",
        "GET /api/agents/coder/tools",
        "GET /api/agents/main/audit",
        "GET /api/agents/coder/audit",
        "GET /api/agents/broken/audit",
        "GET /api/audit",
        "GET /api/audit/verify",
        "GET /api/agents/main/audit/verify",
        "GET /api/applied",
        "GET /metrics",
    ] {
        answers.push(ask(&router, &admin, call, "").await);
    }
    daemon.close().await.unwrap();
    drop((router, daemon));
    let files = files(folder);
    fs::remove_dir_all(folder).unwrap();
    Trace { answers, files }
}

#[tokio::test]
async fn rule_10_the_same_seed_and_inputs_leave_the_same_bytes() {
    let outer = insula_testkit::Home::empty().unwrap();
    // The same path each time, since a daemon knows where it is.
    let folder = outer.path().join("home");
    let first = day(&folder, 7, "calm").await;
    let names: Vec<&str> = first.files.keys().map(|path| path.to_str().unwrap()).collect();
    for name in [
        "insula.db",
        "audit.anchor",
        "vault/audit.key",
        "agents/main/agent.db",
        "agents/coder/agent.db",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert!(!names.iter().any(|name| name.ends_with("-wal")), "{names:?}");
    let again = day(&folder, 7, "calm").await;
    for (answer, expected) in again.answers.iter().zip(&first.answers) {
        assert_eq!(answer, expected);
    }
    for (name, bytes) in &first.files {
        assert!(again.files.get(name) == Some(bytes), "{} differs", name.display());
    }
    assert_eq!(again.files.len(), first.files.len());
}

#[tokio::test]
async fn rule_10_another_seed_or_another_input_shows() {
    let outer = insula_testkit::Home::empty().unwrap();
    let folder = outer.path().join("home");
    let first = day(&folder, 7, "calm").await;
    let other_seed = day(&folder, 8, "calm").await;
    assert_ne!(other_seed.answers, first.answers);
    let db = Path::new("agents/main/agent.db");
    assert_ne!(other_seed.files[db], first.files[db]);
    let other_soul = day(&folder, 7, "lively").await;
    // What one agent is told leaves no trace in another's file.
    assert_eq!(other_soul.files[db], first.files[db]);
    let coder = Path::new("agents/coder/agent.db");
    assert_ne!(other_soul.files[coder], first.files[coder]);
}
