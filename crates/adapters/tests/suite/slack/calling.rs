//! Events by HTTP: who is believed, what is asked, and that each counts once.

use crate::slack::support::{Bench, Listening, SECRET, Tray, bench, body, post};
use insula_adapters::slack::Mode;
use insula_channel::{Adapter, Body, Button, Happening, WebMethod, WebRequest};
use serde_json::{Value, json};
use std::sync::Arc;

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

async fn called(bench: &Bench) -> (Arc<dyn Adapter>, Arc<Tray>, Listening) {
    let (adapter, tray) = (bench.adapter_by(Mode::Webhook(SECRET.into())), Tray::new(None));
    adapter.identify().await.unwrap();
    let listening = Listening::start(&adapter, &tray);
    (adapter, tray, listening)
}

fn message(bench: &Bench, text: &str, ts: &str) -> Value {
    bench.platform.callback(&json!({
        "type": "message", "channel": bench.town, "user": bench.ann, "text": text, "ts": ts,
        "event_ts": ts, "channel_type": "channel",
    }))
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test(start_paused = true)]
async fn an_event_that_comes_again_is_the_same_and_is_answered_when_it_is_taken() {
    let bench = bench().await;
    let (adapter, tray, listening) = called(&bench).await;
    let event = message(&bench, "one", "1700000000.000001").to_string();
    tray.refuse(true);
    assert_eq!(adapter.receive(bench.signed(JSON, &event, 0), &*tray).await.status, 503);
    tray.refuse(false);
    for number in 0..3 {
        let mut request = bench.signed(JSON, &event, 0);
        request.headers.push(("x-slack-retry-num".into(), number.to_string().into()));
        assert_eq!(adapter.receive(request, &*tray).await.status, 200);
    }
    assert_eq!(tray.texts(), ["one"]);
    assert!(tray.was_alive());
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_not_signed_lately_is_refused() {
    let bench = bench().await;
    let (adapter, tray, listening) = called(&bench).await;
    let event = message(&bench, "one", "1700000000.000001").to_string();
    let good = |ahead| bench.signed(JSON, &event, ahead);
    let without = |name: &str| {
        let mut request = good(0);
        request.headers.retain(|(known, _)| &**known != name);
        request
    };
    let with = |name: &str, value: &str| {
        let mut request = without(name);
        request.headers.push((name.into(), value.into()));
        request
    };
    let mut bad = vec![
        good(-301),
        good(301),
        without("x-slack-signature"),
        without("x-slack-request-timestamp"),
        with("x-slack-signature", "v0="),
        with("x-slack-signature", &format!("v0={}", "0".repeat(64))),
        with("x-slack-request-timestamp", "9"),
        with("x-slack-request-timestamp", "99999999999999999999"),
        WebRequest { method: WebMethod::Get, ..good(0) },
        WebRequest { body: event.replace("one", "two").into(), ..good(0) },
    ];
    // Another scheme's prefix is no signature.
    let signature = good(0).header("x-slack-signature").unwrap().replace("v0=", "v1=");
    bad.push(with("x-slack-signature", &signature));
    for request in bad {
        let answer = adapter.receive(request.clone(), &*tray).await;
        assert_eq!(answer.status, 401, "{request:?}");
    }
    assert!(tray.envelopes().is_empty());
    for ahead in [-299, 299] {
        assert_eq!(adapter.receive(good(ahead), &*tray).await.status, 200);
    }
    assert_eq!(tray.texts(), ["one"]);
    listening.stop().await.unwrap();
    // By its socket it hears nobody who calls.
    let socket = bench.adapter();
    assert_eq!(socket.receive(good(0), &*tray).await.status, 401);
}

#[tokio::test(start_paused = true)]
async fn slack_is_told_that_this_is_the_place() {
    let bench = bench().await;
    // Before anything else is known.
    let adapter = bench.adapter_by(Mode::Webhook(SECRET.into()));
    let tray = Tray::new(None);
    let asked =
        json!({"type": "url_verification", "token": "x", "challenge": "3eZbrw1aB"}).to_string();
    let answer = adapter.receive(bench.signed(JSON, &asked, 0), &*tray).await;
    assert_eq!((answer.status, &*answer.body), (200, &b"3eZbrw1aB"[..]));
    let event = message(&bench, "one", "1700000000.000001").to_string();
    // Who we are is not known yet: it comes again.
    assert_eq!(adapter.receive(bench.signed(JSON, &event, 0), &*tray).await.status, 503);
}

#[tokio::test(start_paused = true)]
async fn buttons_and_commands_come_as_forms() {
    let bench = bench().await;
    let (adapter, tray, listening) = called(&bench).await;
    let buttons = vec![vec![Button { label: "Yes".into(), data: "d1".into() }]];
    let question = Body { buttons, ..body("may I?") };
    let posted = adapter.post(&post(bench.town(None), "k", question)).await.unwrap();
    let press = bench.platform.press(&bench.ann, &bench.town, &posted.message.0, 0);
    let form = format!("payload={}", encoded(&press.to_string()));
    assert_eq!(adapter.receive(bench.signed(FORM, &form, 0), &*tray).await.status, 200);
    let form = format!(
        "token=x&team_id=T0TEAM&channel_id={}&user_id={}&command=%2Fada&text=a+b%26c&trigger_id=1.1",
        bench.town, bench.ann
    );
    assert_eq!(adapter.receive(bench.signed(FORM, &form, 0), &*tray).await.status, 200);
    let all = tray.envelopes();
    assert!(matches!(&all[0].what, Happening::Pressed(it) if &*it.data == "d1"), "{all:?}");
    assert_eq!(tray.texts(), ["a b&c"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nonsense_that_is_signed_is_left_out_and_does_not_come_again() {
    let bench = bench().await;
    let (adapter, tray, listening) = called(&bench).await;
    for (media_type, body) in [
        (JSON, ""),
        (JSON, "{"),
        (JSON, "null"),
        (JSON, r#"{"type":5,"event":[]}"#),
        (JSON, r#"{"type":"event_callback","event":{"type":"message","ts":{}}}"#),
        (FORM, "payload={"),
        (FORM, "a=b"),
        (FORM, "command=%2Fx"),
        ("text/plain", "hello"),
    ] {
        let answer = adapter.receive(bench.signed(media_type, body, 0), &*tray).await;
        assert_eq!(answer.status, 200, "{body}");
    }
    assert!(tray.envelopes().is_empty());
    listening.stop().await.unwrap();
}
