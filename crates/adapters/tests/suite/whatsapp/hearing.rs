//! The way in: what the platform asks and tells, and what is not believed.

use crate::conformance::harness::{Listening, Tray};
use crate::whatsapp::support::{
    NUMBER, SECRET, VERIFY, adapter, asked, bench, body, post, settings, signed,
};
use bytes::Bytes;
use insula_adapters::whatsapp::WhatsAppSettings;
use insula_channel::{ConnectFault, WebRequest};
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn the_challenge_is_answered_to_whoever_knows_the_word() {
    let bench = bench().await;
    let (adapter, tray) = (bench.adapter(), Tray::new(None));
    let right = format!("hub.mode=subscribe&hub.verify_token={VERIFY}&hub.challenge=1158201444");
    let answer = adapter.receive(asked(&right), &*tray).await;
    assert_eq!((answer.status, &*answer.body), (200, b"1158201444".as_slice()));
    assert_eq!(answer.media_type, Some("text/plain; charset=utf-8"));
    for wrong in [
        "",
        "hub.mode=subscribe&hub.verify_token=wrong&hub.challenge=1",
        "hub.mode=subscribe&hub.challenge=1",
        &format!("hub.mode=unsubscribe&hub.verify_token={VERIFY}&hub.challenge=1"),
        &format!("hub.mode=subscribe&hub.verify_token={VERIFY}"),
    ] {
        assert_eq!(adapter.receive(asked(wrong), &*tray).await.status, 401, "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_what_the_app_signed_is_heard() {
    let bench = bench().await;
    let (adapter, tray) = (bench.adapter(), Tray::new(None));
    let text = bench.platform.saying(NUMBER, &[bench.message("wamid.1", "hi", 0)]).to_string();
    let right = signed(&text);
    let with = |header: &str, body: &str| {
        let headers = vec![("x-hub-signature-256".into(), header.into())];
        WebRequest::posted(headers, Bytes::from(body.to_owned()))
    };
    let signature = right.header("x-hub-signature-256").unwrap().to_owned();
    let flipped = signature.replace('0', "1").replace('f', "0");
    for wrong in [
        WebRequest::posted(vec![], right.body.clone()),
        with(&signature, &text.replace("hi", "ho")),
        with(&flipped, &text),
        with(signature.trim_start_matches("sha256="), &text),
        with(&signature[..40], &text),
        with("sha256=", &text),
        with(&format!("sha256={SECRET}"), &text),
        with(&format!("sha256={}", "é".repeat(32)), &text),
    ] {
        assert_eq!(adapter.receive(wrong.clone(), &*tray).await.status, 401, "{wrong:?}");
    }
    assert!(tray.envelopes().is_empty());
    assert_eq!(adapter.receive(right, &*tray).await.status, 200);
    assert_eq!(tray.texts(), ["hi"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_told_forty_times_is_one_and_one_not_taken_comes_again() {
    let bench = bench().await;
    let (adapter, tray) = (bench.adapter(), Tray::new(None));
    let said = [bench.message("wamid.1", "once", 0)];
    tray.refuse(true);
    assert_eq!(bench.say(&adapter, &tray, &said).await.status, 503, "it is not acknowledged");
    tray.refuse(false);
    for _ in 0..40 {
        // Also by an adapter that knows nothing of it.
        assert_eq!(bench.say(&bench.adapter(), &tray, &said).await.status, 200);
    }
    assert_eq!(tray.texts(), ["once"]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_in_any_order_is_heard_in_order_and_old_copies_are_not() {
    let bench = bench().await;
    let (adapter, tray) = (bench.adapter(), Tray::new(None));
    let week = 7 * 24 * 3600;
    let said = [
        bench.message("wamid.3", "three", 1),
        bench.message("wamid.0", "a copy of years ago", week + 60),
        bench.message("wamid.1", "one", week - 60),
        bench.message("wamid.2", "two", 2),
    ];
    bench.say(&adapter, &tray, &said).await;
    assert_eq!(tray.texts(), ["one", "two", "three"]);
}

#[tokio::test(start_paused = true)]
async fn another_number_of_the_same_app_is_another_account() {
    let bench = bench().await;
    let (adapter, tray) = (bench.adapter(), Tray::new(None));
    let other = bench.platform.saying("100000000000002", &[bench.message("wamid.1", "x", 0)]);
    assert_eq!(adapter.receive(signed(&other.to_string()), &*tray).await.status, 200);
    assert!(tray.envelopes().is_empty());
    // Each of several changes in one request by itself.
    let mut both = bench.platform.saying(NUMBER, &[bench.message("wamid.2", "ours", 0)]);
    let change = other["entry"][0]["changes"][0].clone();
    both["entry"][0]["changes"].as_array_mut().unwrap().insert(0, change);
    adapter.receive(signed(&both.to_string()), &*tray).await;
    assert_eq!(tray.texts(), ["ours"]);
    for not_ours in [json!({"object": "page"}), json!([]), json!({"entry": 5}), json!("x")] {
        assert_eq!(adapter.receive(signed(&not_ours.to_string()), &*tray).await.status, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn with_a_public_address_events_are_had_sent_there_once() {
    let bench = bench().await;
    let url = Some("https://bots.example.org/".to_owned());
    let settings =
        || WhatsAppSettings { public_url: url.clone(), ..settings(&bench.platform.url()) };
    let made = adapter(settings(), &bench.transport, &bench.world);
    assert_eq!(made.identify().await.unwrap().name.as_ref(), "Ada (+49 151 00000001)");
    let tray = Tray::new(None);
    let listening = Listening::start(&made, &tray);
    while bench.platform.hook(NUMBER).is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        bench.platform.hook(NUMBER).unwrap(),
        "https://bots.example.org/hooks/whatsapp/main"
    );
    listening.stop().await.unwrap();
    let told = made.identify().await.unwrap().missing;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("reopen_template"), "{told:?}");
    // Without one, the doctor says where they go.
    let bare = bench.adapter().identify().await.unwrap().missing;
    assert!(bare.iter().all(|it| !it.contains("go to")), "{bare:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_number_and_a_dead_token_are_told_with_what_to_do() {
    let bench = bench().await;
    let wrong = WhatsAppSettings {
        phone_number_id: "100000000000009".to_owned(),
        ..settings(&bench.platform.url())
    };
    let wrong = adapter(wrong, &bench.transport, &bench.world);
    let fault = wrong.identify().await.unwrap_err();
    assert!(
        matches!(&fault, ConnectFault::Refused(why) if why.contains("`phone_number_id`")),
        "{fault}"
    );
    bench.platform.revoke(crate::whatsapp::support::TOKEN);
    let fault = bench.adapter().identify().await.unwrap_err();
    assert!(matches!(&fault, ConnectFault::Refused(why) if why.contains("token")), "{fault}");
}

#[tokio::test(start_paused = true)]
async fn when_somebody_last_wrote_is_known_after_a_restart() {
    let bench = bench().await;
    let tray = Tray::new(None);
    bench.say(&bench.adapter(), &tray, &[bench.message("wamid.1", "hi", 25 * 3600)]).await;
    let adapter = bench.adapter();
    let mut by_bob = bench.message("wamid.2", "hi", 0);
    by_bob["from"] = json!("4915100000043");
    bench.say(&adapter, &tray, &[by_bob]).await;
    let error = adapter.post(&post("k", body("late"))).await.unwrap_err();
    assert!(error.to_string().contains("24 hours"), "{error}");
    assert!(bench.platform.sent().is_empty());
}
