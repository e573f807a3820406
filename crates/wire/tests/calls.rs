//! Whole exchanges: what comes back, what is too much, and whether the request may have arrived.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test"
)]

use insula_testkit::upstream::{Step, answer, chunk, head};
use insula_testkit::{Upstream, auto_world};
use insula_wire::{Form, HttpCall, Phase, Reply, Transport, WireFault};
use insula_world::World;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

async fn call(transport: &Transport, call: HttpCall) -> Result<Reply, WireFault> {
    transport.call(call, &CancellationToken::new()).await
}

async fn server(world: &World, steps: Vec<Step>) -> Upstream {
    Upstream::start(world, move |_, _| steps.clone()).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_reply_has_status_body_and_how_long_to_wait() {
    let (world, _) = auto_world(1);
    let transport = Transport::new(&world, &[]).unwrap();
    let upstream = server(&world, vec![answer(429, &[("retry-after", "7")], r#"{"a": 1}"#)]).await;
    let request = HttpCall::post(upstream.url("/x").parse().unwrap()).bearer("token");
    let reply = call(&transport, request.json(&"hello").unwrap()).await.unwrap();
    assert_eq!((reply.status, reply.is_success()), (429, false));
    assert_eq!(reply.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(reply.json::<serde_json::Value>().unwrap()["a"], 1);
    assert!(matches!(reply.json::<u8>(), Err(WireFault::Garbage { .. })));
    let seen = &upstream.seen()[0];
    assert_eq!(seen.header("authorization"), Some("Bearer token"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.body, b"\"hello\"");
}

#[tokio::test(start_paused = true)]
async fn files_go_out_in_a_form() {
    let (world, _) = auto_world(1);
    let transport = Transport::new(&world, &[]).unwrap();
    let upstream = server(&world, vec![answer(200, &[], "{}")]).await;
    let form = Form::new().text("chat_id", "7").file("f", "a.txt", "text/plain", "content".into());
    let request = HttpCall::post(upstream.url("/x").parse().unwrap()).form(form);
    call(&transport, request).await.unwrap();
    let seen = &upstream.seen()[0];
    assert!(seen.header("content-type").unwrap().starts_with("multipart/form-data; boundary="));
    assert!(String::from_utf8_lossy(&seen.body).contains("\r\n\r\ncontent\r\n--"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_taken_up_to_its_limit_and_no_further() {
    let (world, _) = auto_world(1);
    let transport = Transport::new(&world, &[]).unwrap();
    let upstream = server(&world, vec![answer(200, &[], &"x".repeat(100))]).await;
    let uri: insula_wire::Uri = upstream.url("/").parse().unwrap();
    let reply = call(&transport, HttpCall::get(uri.clone()).len_max(100)).await.unwrap();
    assert_eq!(reply.body.len(), 100);
    let reply = call(&transport, HttpCall::get(uri).len_max(99)).await;
    assert_eq!(reply.unwrap_err(), WireFault::TooMuch { len_max: 99 });
}

#[tokio::test(start_paused = true)]
async fn a_fault_tells_whether_the_request_may_have_arrived() {
    let (world, _) = auto_world(1);
    let transport = Transport::new(&world, &[]).unwrap();
    let nobody: insula_wire::Uri = "http://127.0.0.1:1/".parse().unwrap();
    let fault = call(&transport, HttpCall::post(nobody)).await.unwrap_err();
    assert!(matches!(fault, WireFault::Unreachable { .. }), "{fault:?}");
    assert!(!fault.may_have_arrived());

    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_vec();
    let drip: Vec<Step> =
        std::iter::once(head("text/plain")).chain([chunk("x"), Step::Hang]).collect();
    for (steps, expected) in [
        (vec![Step::Close], "lost"),
        (vec![Step::Write(b"HTTP/1.1 200".to_vec()), Step::Close], "lost"),
        (vec![Step::Write(half), Step::Close], "cut off"),
        (vec![Step::Write(b"nonsense\r\n\r\n".to_vec()), Step::Close], "garbage"),
        (vec![Step::Hang], "no first byte"),
        (drip, "stalled"),
    ] {
        let upstream = server(&world, steps).await;
        let request = HttpCall::post(upstream.url("/").parse().unwrap());
        let fault = call(&transport, request).await.unwrap_err();
        let got = match &fault {
            WireFault::Lost { .. } => "lost",
            WireFault::CutOff => "cut off",
            WireFault::Garbage { .. } => "garbage",
            WireFault::TimedOut { phase: Phase::FirstByte, .. } => "no first byte",
            WireFault::TimedOut { phase: Phase::Idle, .. } => "stalled",
            other => panic!("{other:?} where {expected} was expected"),
        };
        assert_eq!(got, expected, "{fault:?}");
        assert!(fault.may_have_arrived(), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_drips_ends_too() {
    let (world, handles) = auto_world(1);
    let transport = Transport::new(&world, &[]).unwrap();
    let clock = handles.clock.clone();
    let upstream = Upstream::start(&world, |_, _| {
        std::iter::once(head("text/plain")).chain([Step::Hang]).collect()
    })
    .await
    .unwrap();
    let request = HttpCall::get(upstream.url("/").parse().unwrap()).within(Duration::from_secs(3));
    let began = insula_world::Clock::elapsed(&*clock);
    let fault = call(&transport, request).await.unwrap_err();
    let waited = insula_world::Clock::elapsed(&*clock) - began;
    assert_eq!(fault, WireFault::TimedOut { phase: Phase::Idle, waited: Duration::from_secs(3) });
    assert_eq!(waited, Duration::from_secs(3));
}
