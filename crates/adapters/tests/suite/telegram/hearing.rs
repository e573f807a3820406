//! The way in.

use crate::telegram::support::{FORUM, Listening, TOKEN, Tray, bench};
use bytes::Bytes;
use insula_adapters::telegram::TelegramMode;
use insula_channel::{AttachmentKind, ConnectFault, Happening, WebRequest};
use insula_testkit::Upstream;
use insula_testkit::telegram::{Draft, Trouble, User, Where};
use insula_testkit::upstream::answer;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const OTHER: &str = "8:other-token";

#[tokio::test(start_paused = true)]
async fn three_topics_are_three_places_and_two_bots_are_two_accounts() {
    let bench = bench().await;
    bench.platform.bot(OTHER, "bob_bot");
    bench.platform.forum(FORUM, "Forum", &[TOKEN, OTHER]);
    let topics = ["one", "two"].map(|name| bench.platform.topic(FORUM, name));
    let (tray, others) = (Arc::new(Tray::default()), Arc::new(Tray::default()));
    let listening = Listening::start(&bench.adapter(), &tray);
    let other = bench.adapter_of(OTHER, TelegramMode::Polling);
    let others_listening = Listening::start(&other, &others);
    bench.say(Where::Chat(FORUM), "general");
    for topic in topics {
        bench.say(Where::Topic(FORUM, topic), "in a topic");
    }
    bench.say(Where::Dm(OTHER), "only bob");
    let heard = tray.until(3).await;
    let places: Vec<_> =
        heard.iter().map(|one| one.address.topic.as_ref().unwrap().as_str().to_owned()).collect();
    assert_eq!(places, ["1".to_owned(), topics[0].to_string(), topics[1].to_string()]);
    others.until(4).await;
    assert_eq!(others.texts().last().unwrap(), "only bob");
    // One loses its token; the other goes on.
    bench.platform.revoke(OTHER);
    assert!(matches!(others_listening.failed().await, ConnectFault::Refused(_)));
    bench.say(Where::Chat(FORUM), "still");
    tray.until(4).await;
    assert_eq!(tray.texts().last().unwrap(), "still");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn whatever_people_do_is_told() {
    let bench = bench().await;
    bench.platform.group(-5, "Friends", &[]);
    let tray = Arc::new(Tray::default());
    let adapter = bench.adapter();
    let listening = Listening::start(&adapter, &tray);
    let bob = User::new(43, "Bob");
    bench.platform.add(TOKEN, -5, &bench.ann);
    let id = bench.say(Where::Chat(-5), "@ada_bot hello");
    assert!(bench.platform.edit(Where::Chat(-5), &bench.ann, id, "@ada_bot hi"));
    bench.platform.say(Where::Chat(-5), &Draft::new(&bob, "").voice(b"sound").album("g"));
    bench.platform.leave(-5, &bob);
    let moved = bench.platform.migrate(-5);
    bench.say(Where::Chat(moved), "here now");
    bench.platform.remove(TOKEN, moved, &bench.ann);
    let all = tray.until(8).await;
    let what: Vec<&Happening> = all.iter().map(|one| &one.what).collect();
    assert_eq!(what[0], &Happening::Added);
    assert!(matches!(what[1], Happening::Said(m) if m.words.said() == "hello" && m.mentions_us));
    assert!(matches!(what[2], Happening::Edited(m) if m.words.said() == "hi" && m.mentions_us));
    assert!(matches!(what[3], Happening::Said(m)
        if m.attachments[0].kind == AttachmentKind::Voice && m.group.as_deref() == Some("g")));
    assert_eq!(what[4], &Happening::Left);
    assert_eq!(all[4].address.user.as_ref().unwrap().as_str(), "43");
    assert!(matches!(what[5], Happening::Moved(to) if to.as_str() == moved.to_string()));
    assert!(matches!(what[6], Happening::Said(m) if m.words.said() == "here now"));
    assert_eq!(what[7], &Happening::Removed);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_update_is_acknowledged_only_by_the_next_question() {
    let bench = bench().await;
    let tray = Arc::new(Tray::default());
    bench.say(Where::Dm(TOKEN), "one");
    let listening = Listening::start(&bench.adapter(), &tray);
    tray.until(1).await;
    bench.platform.until(|platform| (platform.pending(TOKEN) == 0).then_some(())).await;
    let offsets: Vec<_> = bench
        .platform
        .asked_for("getUpdates")
        .iter()
        .map(|asked| asked.get("offset").cloned())
        .collect();
    assert_eq!(offsets[0], None);
    assert_eq!(offsets[1], Some(json!(1002)), "above the update that was taken");
    // After a silent answer nothing waits for acknowledgement.
    bench
        .platform
        .until(|platform| (platform.asked_for("getUpdates").len() >= 3).then_some(()))
        .await;
    assert_eq!(bench.platform.asked_for("getUpdates")[2].get("offset"), None);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_long_messages_is_heard_in_smaller_parts() {
    let bench = bench().await;
    let tray = Arc::new(Tray::default());
    let long = "x".repeat(60_000);
    for number in 0..80 {
        bench.say(Where::Dm(TOKEN), &format!("{number} {long}"));
    }
    let listening = Listening::start(&bench.adapter(), &tray);
    tray.until(80).await;
    let numbers: Vec<String> =
        tray.texts().iter().map(|text| text.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(numbers, (0..80).map(|number| number.to_string()).collect::<Vec<_>>());
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn updates_out_of_order_are_all_heard_and_all_acknowledged() {
    let bench = bench().await;
    let tray = Arc::new(Tray::default());
    for text in ["one", "two", "three"] {
        bench.say(Where::Dm(TOKEN), text);
    }
    bench.platform.reorder(TOKEN);
    let listening = Listening::start(&bench.adapter(), &tray);
    tray.until(3).await;
    assert_eq!(tray.texts(), ["three", "two", "one"]);
    bench.platform.until(|platform| (platform.pending(TOKEN) == 0).then_some(())).await;
    assert_eq!(tray.envelopes().len(), 3);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_cut_anywhere_loses_and_repeats_nothing() {
    let bench = bench().await;
    let tray = Arc::new(Tray::default());
    let adapter = bench.adapter();
    bench.say(Where::Dm(TOKEN), "whole");
    for cut in (0..240).step_by(3) {
        bench.platform.trouble(TOKEN, "getUpdates", Trouble::CutAt(cut));
        let fault = Listening::start(&adapter, &tray).failed().await;
        assert!(matches!(fault, ConnectFault::Broken { .. }), "{cut}: {fault:?}");
        assert_eq!(tray.envelopes().len(), 0, "{cut}");
    }
    let listening = Listening::start(&adapter, &tray);
    tray.until(1).await;
    listening.stop().await.unwrap();
    assert_eq!(tray.texts(), ["whole"]);
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_with_listening_is_told_with_what_to_do() {
    let bench = bench().await;
    let tray = Arc::new(Tray::default());
    let adapter = bench.adapter();
    let refuse = |code, description: &str, retry_after| Trouble::Refuse {
        code,
        description: description.to_owned(),
        retry_after,
    };
    for (trouble, words, wait) in [
        (
            refuse(409, "Conflict: terminated by other getUpdates request", None),
            "another program listens with this bot's token",
            Some(30),
        ),
        (
            refuse(409, "Conflict: can't use getUpdates method while webhook is active", None),
            "a webhook is set for this bot",
            Some(30),
        ),
        (refuse(429, "Too Many Requests: retry after 9", Some(9)), "Too Many Requests", Some(9)),
        (refuse(502, "Bad Gateway", None), "502", None),
        (Trouble::Answer { status: 200, body: "<html>".into() }, "not the Bot API", None),
        (
            Trouble::Answer { status: 200, body: r#"{"ok":true,"result":{"a":1}}"#.into() },
            "unreadable",
            None,
        ),
        (Trouble::Answer { status: 302, body: String::new() }, "not the Bot API", None),
        (Trouble::Unheard, "broke", None),
        (Trouble::Silence, "timed out", None),
    ] {
        bench.platform.trouble(TOKEN, "getUpdates", trouble.clone());
        match Listening::start(&adapter, &tray).failed().await {
            ConnectFault::Broken { why, wait: got } => {
                assert!(why.contains(words), "{trouble:?}: {why}");
                assert!(!why.contains("secret-token"), "{why}");
                assert_eq!(got, wait.map(Duration::from_secs), "{trouble:?}");
            }
            other => panic!("{trouble:?}: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn two_who_listen_with_one_token_are_told_of_each_other() {
    let bench = bench().await;
    let (one, other) = (Arc::new(Tray::default()), Arc::new(Tray::default()));
    let first = Listening::start(&bench.adapter(), &one);
    bench
        .platform
        .until(|platform| (!platform.asked_for("getUpdates").is_empty()).then_some(()))
        .await;
    let second = Listening::start(&bench.adapter(), &other);
    let fault = first.failed().await;
    assert!(fault.to_string().starts_with("another program listens"), "{fault}");
    second.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_platform_calls_a_webhook_and_proves_that_it_is_the_one() {
    let bench = bench().await;
    let tray = Arc::new(Tray::default());
    let mode = || TelegramMode::Webhook { url: "https://example.org/hook".into(), secret: None };
    let adapter = bench.adapter_of(TOKEN, mode());
    let listening = Listening::start(&adapter, &tray);
    let set = bench.platform.until(|platform| platform.asked_for("setWebhook").pop()).await;
    assert_eq!(set["url"], json!("https://example.org/hook"));
    assert_eq!(set["max_connections"], json!(1));
    let secret = set["secret_token"].as_str().unwrap().to_owned();
    assert!(secret.len() >= 32 && !secret.contains("secret-token"));

    let update = json!({"update_id": 5, "message": {"message_id": 1, "date": 1, "text": "hello",
        "chat": {"id": 42, "type": "private"}, "from": {"id": 42, "first_name": "Ann"}}});
    let request = |secret: Option<&str>, body: &str| {
        let header = |secret: &str| ("x-telegram-bot-api-secret-token".into(), secret.into());
        let headers = secret.map(header).into_iter().collect();
        WebRequest::posted(headers, Bytes::copy_from_slice(body.as_bytes()))
    };
    let update = update.to_string();
    for wrong in [None, Some(""), Some("guess"), Some(&secret[..secret.len() - 1])] {
        assert_eq!(adapter.receive(request(wrong, &update), &*tray).await.status, 401);
    }
    assert!(tray.envelopes().is_empty());
    assert_eq!(adapter.receive(request(Some(&secret), &update), &*tray).await.status, 200);
    assert_eq!(tray.texts(), ["hello"]);
    // Nonsense would come again for ever.
    assert_eq!(adapter.receive(request(Some(&secret), "{"), &*tray).await.status, 200);
    let stays = bench.adapter().receive(request(Some(&secret), &update), &*tray).await;
    assert_eq!(stays.status, 401, "an account that asks is not called");

    // Somebody else sets another one.
    let thief = TelegramMode::Webhook { url: "https://thief.example/".into(), secret: None };
    let thief = bench.adapter_of(TOKEN, thief);
    let thieving = Listening::start(&thief, &Arc::new(Tray::default()));
    let fault = listening.failed().await;
    assert!(fault.to_string().contains("another program changed"), "{fault}");
    thieving.stop().await.unwrap();
    // Asking takes it away again.
    let listening = Listening::start(&bench.adapter(), &tray);
    bench.platform.until(|platform| platform.asked_for("deleteWebhook").pop()).await;
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_webhook_did_not_take_comes_again_and_before_the_next() {
    let bench = bench().await;
    let tray = Arc::new(Tray::default());
    // What stands in for the daemon's listener: it fails at first, then takes.
    let listener = Upstream::start(&bench.world, |_, number| {
        vec![answer(if number == 0 { 503 } else { 200 }, &[], "")]
    })
    .await
    .unwrap();
    let url = listener.url("/hooks/telegram/main");
    let mode = TelegramMode::Webhook { url, secret: Some("s".into()) };
    let adapter = bench.adapter_of(TOKEN, mode);
    let listening = Listening::start(&adapter, &tray);
    bench.platform.until(|platform| platform.asked_for("setWebhook").pop()).await;
    bench.say(Where::Dm(TOKEN), "one");
    bench.say(Where::Dm(TOKEN), "two");
    bench.platform.until(|platform| (platform.pending(TOKEN) == 0).then_some(())).await;
    let seen = listener.seen();
    for request in &seen {
        let headers = request.headers.iter();
        let headers = headers.map(|(name, value)| (name.as_str().into(), value.as_str().into()));
        let request = WebRequest::posted(headers.collect(), Bytes::from(request.body.clone()));
        assert_eq!(adapter.receive(request, &*tray).await.status, 200);
    }
    assert_eq!(tray.texts(), ["one", "one", "two"]);
    assert_eq!(tray.envelopes()[0], tray.envelopes()[1], "the same event, by its id");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_we_are_and_what_we_lack() {
    let bench = bench().await;
    let identity = bench.adapter().identify().await.unwrap();
    assert_eq!((&*identity.id, &*identity.name), ("7", "@ada_bot"));
    assert_eq!(identity.missing, Vec::<String>::new());
    bench.platform.permit(TOKEN, false, false);
    let hook = TelegramMode::Webhook { url: "https://a.example/secret-path".into(), secret: None };
    let tray = Arc::new(Tray::default());
    let listening = Listening::start(&bench.adapter_of(TOKEN, hook), &tray);
    bench.platform.until(|platform| platform.asked_for("setWebhook").pop()).await;
    let missing = bench.adapter().identify().await.unwrap().missing;
    assert_eq!(missing.len(), 3);
    assert!(missing[0].contains("/setprivacy") && missing[1].contains("/setjoingroups"));
    assert!(missing[2].contains("a.example") && !missing[2].contains("secret-path"));
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn settings_that_can_not_work_are_refused() {
    use insula_adapters::telegram::{Telegram, TelegramSettings};
    let bench = bench().await;
    let make = |token: &str, base_url: Option<&str>, mode| {
        let settings = TelegramSettings {
            account: insula_domain::AccountId::new("main").unwrap(),
            token: token.into(),
            base_url: base_url.map(str::to_owned),
            mode,
        };
        Telegram::new(settings, &bench.transport, &bench.world.clock).map(|_| ())
    };
    assert!(make("7:abc", None, TelegramMode::Polling).is_ok());
    for (token, base_url) in [
        ("nonsense", None),
        ("7:a/../b", None),
        ("7:abc", Some("ftp://x")),
        ("7:abc", Some("https://user@x")),
        ("7:abc", Some("https://x/?q")),
    ] {
        let fault = make(token, base_url, TelegramMode::Polling).unwrap_err();
        assert!(matches!(&fault, ConnectFault::Refused(why) if !why.contains("abc")), "{fault:?}");
    }
    let mode = TelegramMode::Webhook { url: "https://x/".into(), secret: Some("a b".into()) };
    assert!(make("7:abc", None, mode).is_err());
}
