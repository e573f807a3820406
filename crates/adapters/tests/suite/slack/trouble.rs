//! Sockets that end, that are no use although they are open, and a platform that says no.

use crate::slack::support::{APP_TOKEN, Listening, SECRET, Tray, bench};
use insula_adapters::slack::Mode;
use insula_channel::ConnectFault;
use insula_testkit::slack::{BOT, Trouble};
use insula_world::Clock as _;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn a_socket_that_will_end_is_heard_until_the_next_says_hello() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    for (number, reason) in ["warning", "refresh_requested", "refresh_requested"].iter().enumerate()
    {
        // Both are open before the old one goes.
        bench.platform.disconnect(reason);
        bench.platform.until(|platform| platform.sockets() == 2).await;
        bench.say(&format!("{number}: while both are open"));
        bench.platform.end_oldest();
        bench.platform.until(|platform| platform.sockets() == 1).await;
        bench.say(&format!("{number}: after that"));
        tray.until(number * 2 + 2).await;
    }
    bench.platform.until(|platform| platform.waiting() == 0).await;
    let mut texts = tray.texts();
    texts.sort();
    assert_eq!(
        texts,
        [
            "0: after that",
            "0: while both are open",
            "1: after that",
            "1: while both are open",
            "2: after that",
            "2: while both are open",
        ]
    );
    listening.stop().await.unwrap();
    bench.platform.until(|platform| platform.sockets() == 0).await;
}

#[tokio::test(start_paused = true)]
async fn an_old_socket_that_slack_leaves_open_is_closed() {
    let bench = bench().await;
    let (_, _tray, listening) = bench.listening().await;
    bench.platform.disconnect("refresh_requested");
    bench.platform.until(|platform| platform.sockets() == 2).await;
    bench.platform.until(|platform| platform.sockets() == 1).await;
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_old_socket_serves_while_no_other_can_be_had() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    bench.platform.trouble("apps.connections.open", Trouble::Limited(60));
    bench.platform.disconnect("warning");
    bench
        .platform
        .until(|it| it.requests().iter().filter(|it| it.0 == "apps.connections.open").count() == 2)
        .await;
    bench.say("one");
    tray.until(1).await;
    // Another is tried for later.
    bench.platform.until(|platform| platform.sockets() == 2).await;
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn socket_mode_that_was_turned_off_is_refused_and_not_tried_again() {
    let bench = bench().await;
    let (_, _tray, listening) = bench.listening().await;
    bench.platform.disconnect("link_disabled");
    let fault = listening.failed().await;
    assert!(
        matches!(&fault, ConnectFault::Refused(why) if why.contains("Socket Mode")),
        "{fault:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_is_open_and_deaf_is_left_and_what_was_said_is_heard() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    bench.say("one");
    tray.until(1).await;
    bench.platform.deafen(true);
    bench.say("two");
    let began = bench.handles.clock.elapsed();
    let fault = listening.failed().await;
    let waited = bench.handles.clock.elapsed() - began;
    assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
    assert!(waited <= Duration::from_secs(60), "{waited:?}");
    bench.platform.deafen(false);
    let listening = Listening::start(&adapter, &tray);
    tray.until(2).await;
    assert_eq!(tray.texts(), ["one", "two"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_quiet_workspace_is_asked_for_a_new_hello_and_nothing_is_missed() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    // Pings come and go; what Slack itself says is hello.
    let opened = |bench: &super::support::Bench| {
        let requests = bench.platform.requests();
        requests.iter().filter(|it| it.0 == "apps.connections.open").count()
    };
    bench.world.clock.sleep(Duration::from_secs(3600)).await;
    assert!((5..=7).contains(&opened(&bench)), "{}", opened(&bench));
    assert_eq!(bench.platform.sockets(), 1);
    bench.say("still there?");
    tray.until(1).await;
    assert!(tray.was_alive());
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_open_socket_is_no_sign_of_life() {
    let bench = bench().await;
    bench.platform.mute(true);
    let (_, tray, listening) = bench.listening().await;
    let fault = listening.failed().await;
    assert!(
        matches!(&fault, ConnectFault::Broken { why, .. } if why.contains("says nothing")),
        "{fault:?}"
    );
    assert!(!tray.was_alive());
}

#[tokio::test(start_paused = true)]
async fn a_connection_fails_for_what_it_is() {
    let refuse = |error: &str| Trouble::Refuse(error.into());
    for (trouble, expected) in [
        (refuse("invalid_auth"), ("refused", None)),
        (refuse("account_inactive"), ("refused", None)),
        (Trouble::Lacks("connections:write".into()), ("refused", None)),
        (Trouble::Limited(7), ("broken", Some(7))),
        (refuse("internal_error"), ("broken", None)),
        (Trouble::Answer { status: 502, body: "<html>".into() }, ("broken", None)),
        (Trouble::Answer { status: 200, body: "<html>".into() }, ("broken", None)),
        (Trouble::CutAt(30), ("broken", None)),
        (Trouble::Unheard, ("broken", None)),
    ] {
        for at in ["auth.test", "apps.connections.open"] {
            let bench = bench().await;
            bench.platform.trouble(at, trouble.clone());
            let tray = Tray::new(None);
            let fault = Listening::start(&bench.adapter(), &tray).failed().await;
            let got = match fault {
                ConnectFault::Refused(_) => ("refused", None),
                ConnectFault::Broken { wait, .. } => ("broken", wait.map(|it| it.as_secs())),
            };
            assert_eq!(got, expected, "{at}: {trouble:?}");
            assert!(tray.envelopes().is_empty() && !tray.was_alive());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_named() {
    let bench = bench().await;
    let adapter = bench.adapter();
    let identity = adapter.identify().await.unwrap();
    assert_eq!((&*identity.id, &*identity.name), (BOT, "@ada (Fake)"));
    assert!(identity.missing.is_empty(), "{identity:?}");
    // The address that was asked for then is the one that is opened.
    let tray = Tray::new(None);
    let listening = Listening::start(&adapter, &tray);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    let opened = bench.platform.requests().into_iter().filter(|it| it.0 == "apps.connections.open");
    assert_eq!(opened.count(), 1);
    listening.stop().await.unwrap();

    bench.platform.take_scope("files:read");
    bench.platform.take_scope("im:history");
    bench.platform.leave(&bench.town, BOT);
    let lacks = adapter.identify().await.unwrap().missing;
    assert!(lacks.len() == 2 && lacks[1].contains("/invite @ada"), "{lacks:?}");
    assert!(lacks[0].contains("`files:read`") && lacks[0].contains("`im:history`"), "{lacks:?}");
    assert!(!lacks[0].contains("`chat:write`"), "{lacks:?}");

    // An app's token that is none is no matter of the bot's.
    let other = bench.adapter_by(Mode::Socket("xapp-other".into())).identify().await;
    assert!(
        matches!(&other, Err(ConnectFault::Refused(why)) if why.contains("`app_token`")),
        "{other:?}"
    );
    bench.adapter_by(Mode::Webhook(SECRET.into())).identify().await.unwrap();
    let swapped = bench.adapter_by(Mode::Socket(APP_TOKEN.into()));
    bench.platform.revoke();
    assert!(matches!(swapped.identify().await, Err(ConnectFault::Refused(_))));
}
