//! Words in a path beside names: what is a word there is no session and no fragment.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode, header};
use insula_http::AdminToken;
use insula_testdaemon::TestDaemon;
use insula_testkit::world;
use serde_json::{Value, json};

async fn ask(router: &Router, admin: &AdminToken, call: &str) -> (StatusCode, Value) {
    let (method, path) = call.split_once(' ').unwrap();
    let request = Request::builder()
        .method(method)
        .uri(format!("/api/agents/main/{path}"))
        .header(header::AUTHORIZATION, format!("Bearer {}", admin.reveal()))
        .body(Body::empty())
        .unwrap();
    let response = tower::ServiceExt::oneshot(router.clone(), request).await.unwrap();
    let status = response.status();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test]
async fn a_word_is_no_session_and_no_fragment() {
    let config = "agents:\n  main: {default: true, memory: true}\n";
    let files = insula_testkit::Home::with([("config.yaml", config)]).unwrap();
    let (world, _handles) = world(7);
    let daemon = TestDaemon::open(&files, &world).await;
    let (router, admin) = crate::routes(&daemon);
    let is_list = |(status, body): (StatusCode, Value)| status == 200 && body.is_array();
    for call in ["GET sessions/search?q=tea", "GET memory/search?q=tea", "GET memory/export"] {
        assert!(is_list(ask(&router, &admin, call).await), "{call}");
    }
    let (_, checked) = ask(&router, &admin, "GET memory/verify").await;
    assert_eq!(checked["ok"], json!(true));
    assert!(ask(&router, &admin, "GET memory/troubles").await.0.is_success());
    for call in ["GET memory/share", "GET memory/forget", "DELETE sessions/search"] {
        let (_, said) = ask(&router, &admin, call).await;
        assert_eq!(said["error"]["code"], json!("wrong_method"), "{call}");
    }
    for (call, code) in [
        ("GET sessions/1", "no_such_session"),
        ("GET sessions/searches", "no_such_session"),
        ("GET memory/1", "no_such_fragment"),
    ] {
        let (_, said) = ask(&router, &admin, call).await;
        assert_eq!(said["error"]["code"], json!(code), "{call}");
    }
    daemon.close().await.unwrap();
}
