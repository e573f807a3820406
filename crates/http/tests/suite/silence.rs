//! A stream in which nothing happens for long: whatever stands between must not cut it.

use axum::body::Body;
use axum::http::{Request, header};
use futures_util::StreamExt as _;
use insula_api::{Api, LocalOwner};
use insula_http::{AdminToken, Server};
use insula_testdaemon::TestDaemon;
use insula_testkit::model::{configured, says};
use insula_testkit::upstream::{Step, Upstream};
use insula_testkit::world;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

#[tokio::test]
async fn a_silent_stream_says_that_it_lives() {
    for (path, body) in [
        ("/v1/chat/completions", json!({ "messages": [{ "role": "user", "content": "hi" }] })),
        ("/v1/responses", json!({ "input": "hi" })),
    ] {
        let (world, handles) = world(7);
        let go = Arc::new(Notify::new());
        let waiting = go.clone();
        let upstream = Upstream::start(&world, move |_, _| {
            let mut steps = vec![Step::Wait(waiting.clone())];
            steps.extend(says("at last"));
            steps
        });
        let upstream = upstream.await.unwrap();
        let config =
            configured(&upstream, "model", "agents:\n  main: {default: true, tools: [todo]}\n");
        let files = insula_testkit::Home::with([("config.yaml", &*config)]).unwrap();
        let daemon = TestDaemon::open(&files, &world).await;
        let admin = AdminToken::generate(daemon.world());
        let owner = LocalOwner::new(Api::new(daemon.opened(), Some(daemon.engine())), None);
        let router = insula_http::router(Server::new(daemon.opened(), owner, admin.clone()));
        let mut body = body.clone();
        (body["model"], body["stream"]) = (json!("main"), json!(true));
        let request = Request::builder()
            .method("POST")
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", admin.reveal()))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()))
            .unwrap();
        let answer = tower::ServiceExt::oneshot(router, request).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let mut stream = answer.into_body().into_data_stream();
        let reading = tokio::spawn(async move {
            let mut read = String::new();
            while let Some(bytes) = stream.next().await {
                read += &String::from_utf8_lossy(&bytes.unwrap());
                if read.contains(": still there\n\n") {
                    go.notify_one();
                }
            }
            read
        });
        while !reading.is_finished() {
            handles.clock.advance(Duration::from_secs(1)).await;
            tokio::task::yield_now().await;
        }
        let read = reading.await.unwrap();
        assert!(read.contains(": still there\n\n") && read.contains("at last"), "{path}: {read}");
        daemon.close().await.unwrap();
    }
}
