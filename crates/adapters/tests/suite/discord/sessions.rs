//! Sessions that are taken up, given up, broken anywhere and refused.

use crate::discord::support::{Listening, TOKEN, Tray, bench};
use insula_channel::ConnectFault;
use insula_testkit::discord::Trouble;
use insula_testkit::socket::frame;
use insula_world::Clock as _;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn a_socket_that_breaks_at_any_byte_loses_nothing_and_says_nothing_twice() {
    let bench = bench().await;
    let (adapter, tray, mut listening) = bench.listening().await;
    bench.say("probe");
    tray.until(1).await;
    let whole = frame(&[b'x'; 1200]).len();
    let mut count = 1;
    for len in (0..whole).step_by(13) {
        bench.platform.cut_next_event(len);
        bench.say(&format!("cut at {len}"));
        bench.say("after");
        // Whatever was whole was taken; the rest comes to who comes back.
        let _ = listening.failed().await;
        listening = Listening::start(&adapter, &tray);
        count += 2;
        tray.until(count).await;
        let texts = tray.texts();
        assert_eq!(texts[count - 2..], [format!("cut at {len}"), "after".to_owned()], "{len}");
    }
    assert_eq!(bench.begun().iter().filter(|op| **op == 2).count(), 1, "one session for all");
    listening.stop().await.unwrap();
    assert!(!bench.platform.goodbyes().contains(&Some(1000)), "that would end the session");
}

#[tokio::test(start_paused = true)]
async fn a_restarted_daemon_takes_its_session_up_and_hears_what_it_missed() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    let first = bench.say("one");
    tray.until(1).await;
    listening.stop().await.unwrap();
    bench.say("two");
    bench.platform.edit(&first, "one, edited");
    let before = bench.platform.requests().len();
    let listening = Listening::start(&bench.adapter(), &tray);
    bench.say("three");
    tray.until(4).await;
    assert_eq!(tray.texts(), ["one", "two", "three"]);
    assert_eq!(bench.begun(), [2, 6]);
    let asked = bench.platform.requests()[before..].to_vec();
    assert!(!asked.iter().any(|(line, _)| line.contains("messages")), "{asked:?}");
    assert!(bench.platform.sockets_max() == 1, "one socket at a time");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_gone_is_begun_anew_and_the_gap_is_read_once() {
    let bench = bench().await;
    let direct = bench.platform.direct(&bench.bot, &bench.bob);
    let thread = bench.platform.thread(&bench.guild, &bench.town);
    let staff = bench.platform.role(&bench.guild);
    bench.platform.member(&bench.guild, &bench.ann, "Annie", &[&staff]);
    let (adapter, tray, listening) = bench.listening().await;
    bench.say("one");
    bench.platform.say(&direct, &bench.bob, "hello");
    tray.until(2).await;
    listening.stop().await.unwrap();
    bench.handles.clock.advance(Duration::from_secs(3600)).await;
    bench.platform.forget_sessions();
    bench.say("two");
    let gone = bench.say("taken back");
    bench.platform.delete(&gone);
    bench.platform.say(&thread, &bench.bob, "three");
    bench.platform.say(&direct, &bench.bob, "four");
    bench.platform.say(&bench.town, &bench.bot, "our own");
    let listening = Listening::start(&adapter, &tray);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    tray.until(5).await;
    bench.say("five");
    let all = tray.until(6).await;
    let mut texts = tray.texts();
    assert_eq!(texts.pop().unwrap(), "five");
    texts.sort();
    assert_eq!(texts, ["four", "hello", "one", "three", "two"]);
    let two = all.iter().find(|it| *it.sender.name == *"Annie" && it.at > all[0].at).unwrap();
    assert_eq!(two.address.roles.len(), 1, "who somebody is was asked for");
    assert_eq!(bench.begun(), [2, 6, 2]);
    listening.stop().await.unwrap();
    // Another gap begins where this one ended: nothing is read for ever.
    bench.platform.forget_sessions();
    bench.handles.clock.advance(Duration::from_secs(60)).await;
    let before = bench.platform.requests().len();
    let listening = Listening::start(&adapter, &tray);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    bench.say("six");
    tray.until(7).await;
    let read = bench.platform.requests()[before..].to_vec();
    let read: Vec<_> = read.iter().filter(|(line, _)| line.contains("/messages?")).collect();
    assert!(read.len() <= 3, "each channel once, a moment before its end: {read:?}");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_never_listened_begins_at_this_moment() {
    let bench = bench().await;
    bench.say("history");
    let (_, tray, listening) = bench.listening().await;
    bench.say("now");
    tray.until(1).await;
    assert_eq!(tray.texts(), ["now"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_gap_of_many_messages_is_read_by_pages_while_heartbeats_go_on() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    bench.say("first");
    tray.until(1).await;
    listening.stop().await.unwrap();
    bench.platform.forget_sessions();
    bench.handles.clock.advance(Duration::from_secs(60)).await;
    for number in 0..1_205 {
        bench.say(&number.to_string());
    }
    // Thirteen answers, one in ten seconds.
    bench.platform.limit(1, 10.0);
    let listening = Listening::start(&adapter, &tray);
    tray.until(1_206).await;
    let expected: Vec<String> = (0..1_205).map(|number| number.to_string()).collect();
    assert_eq!(tray.texts()[1..], expected);
    assert!(bench.platform.beats() >= 2, "{}", bench.platform.beats());
    assert_eq!(bench.platform.sockets(), 1, "and the session stands");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_comes_late_is_read_as_well() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    bench.say("one");
    tray.until(1).await;
    listening.stop().await.unwrap();
    bench.platform.forget_sessions();
    bench.platform.available(&bench.guild, false);
    bench.handles.clock.advance(Duration::from_secs(60)).await;
    bench.say("two");
    let listening = Listening::start(&adapter, &tray);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    // Cut off before the server was there, the gap is still one.
    listening.stop().await.unwrap();
    bench.platform.forget_sessions();
    let listening = Listening::start(&adapter, &tray);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    bench.platform.available(&bench.guild, true);
    tray.until(2).await;
    assert_eq!(tray.texts(), ["one", "two"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn asked_to_come_back_it_does_so_at_once_and_with_one_socket() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    bench.say("one");
    tray.until(1).await;
    bench.handles.clock.advance(Duration::from_secs(60)).await;
    bench.platform.ask_back();
    bench.platform.until(|platform| platform.begun().len() == 2).await;
    bench.say("two");
    tray.until(2).await;
    assert_eq!((tray.texts(), bench.begun()), (vec!["one".into(), "two".into()], vec![2, 6]));
    assert_eq!(bench.platform.sockets_max(), 1);
    assert_eq!(bench.platform.goodbyes(), [Some(4900)]);
    // Sent away as soon as it comes, it comes back later.
    bench.platform.ask_back();
    let fault = listening.failed().await;
    assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_address_is_gone_is_given_up_after_some_tries() {
    let bench = bench().await;
    let (adapter, _, listening) = bench.listening().await;
    listening.stop().await.unwrap();
    let session = r#"{"s":{"i":"session1","u":"ws://127.0.0.1:9","n":3},"t":0,"d":[]}"#;
    let tray = Tray::new(Some(insula_channel::Cursor(session.into())));
    for _ in 0..3 {
        let fault = Listening::start(&adapter, &tray).failed().await;
        assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
    }
    let listening = Listening::start(&adapter, &tray);
    bench.platform.until(|platform| platform.begun().len() == 2).await;
    assert_eq!(bench.begun(), [2, 2]);
    bench.say("one");
    tray.until(1).await;
    listening.stop().await.unwrap();
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
    let ConnectFault::Broken { why, .. } = fault else { panic!("{fault:?}") };
    assert!(why.contains("though the connection is open"), "{why}");
    assert!(waited <= Duration::from_secs(83), "{waited:?}");
    // As open and deaf as before, it is no session.
    let fault = Listening::start(&adapter, &tray).failed().await;
    assert!(
        matches!(&fault, ConnectFault::Broken { why, .. } if why.contains("hello")),
        "{fault:?}"
    );
    bench.platform.deafen(false);
    let listening = Listening::start(&adapter, &tray);
    tray.until(2).await;
    assert_eq!(tray.texts(), ["one", "two"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_quiet_gateway_is_told_that_we_are_there_and_stays_connected() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    bench.world.clock.sleep(Duration::from_secs(600)).await;
    assert!((13..=16).contains(&bench.platform.beats()), "{}", bench.platform.beats());
    bench.platform.raw(r#"{"op":1,"d":null}"#);
    let beats = bench.platform.beats();
    bench.platform.until(|platform| platform.beats() == beats + 1).await;
    bench.say("still there?");
    tray.until(1).await;
    assert_eq!(bench.begun(), [2]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn every_code_of_a_goodbye_means_one_thing() {
    for (code, expected) in [
        (1000, "broken"),
        (1006, "broken"),
        (4000, "broken"),
        (4001, "broken"),
        (4003, "anew"),
        (4004, "refused: token"),
        (4007, "anew"),
        (4008, "broken"),
        (4009, "anew"),
        (4010, "refused: way"),
        (4011, "refused: several bots"),
        (4012, "refused: way"),
        (4013, "refused: Message Content Intent"),
        (4014, "refused: Message Content Intent"),
        (4999, "broken"),
    ] {
        let bench = bench().await;
        let (adapter, tray, listening) = bench.listening().await;
        bench.say("one");
        tray.until(1).await;
        bench.platform.close(code);
        if expected == "anew" {
            bench.platform.until(|platform| platform.begun().len() == 2).await;
            assert_eq!(bench.begun(), [2, 2], "{code}");
            listening.stop().await.unwrap();
            continue;
        }
        match (listening.failed().await, expected.strip_prefix("refused: ")) {
            (ConnectFault::Refused(why), Some(word)) => assert!(why.contains(word), "{why}"),
            (ConnectFault::Broken { .. }, None) => {}
            (fault, _) => panic!("{code}: {fault:?}"),
        }
        // It can be taken up where it was, whatever it was.
        let listening = Listening::start(&adapter, &tray);
        bench.platform.until(|platform| platform.begun().len() == 2).await;
        assert_eq!(bench.begun(), [2, 6], "{code}");
        listening.stop().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_the_gateway_does_not_know_is_begun_anew_after_a_moment() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    bench.say("one");
    tray.until(1).await;
    bench.platform.forget_sessions();
    // The socket went with it.
    let fault = listening.failed().await;
    assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
    let began = bench.handles.clock.elapsed();
    let listening = Listening::start(&bench.adapter(), &tray);
    bench.platform.until(|platform| platform.begun().len() == 3).await;
    let waited = bench.handles.clock.elapsed() - began;
    assert!((1..=6).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!(bench.begun(), [2, 6, 2]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_comes_twice_in_one_session_is_taken_once() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    let message = bench.say("one");
    tray.until(1).await;
    let mut again = bench.platform.get(&message);
    again["guild_id"] = bench.guild.clone().into();
    bench.platform.event(&bench.bot, "MESSAGE_CREATE", &again);
    again["id"] = "9".into();
    let old = serde_json::json!({ "op": 0, "s": 1, "t": "MESSAGE_CREATE", "d": again });
    bench.platform.raw(&old.to_string());
    bench.say("two");
    tray.until(2).await;
    assert_eq!(tray.texts(), ["one", "two"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_behind_where_it_could_not_be_taken() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    bench.say("zero");
    tray.until(1).await;
    tray.refuse(true);
    bench.say("one");
    let _ = listening.failed().await;
    bench.say("two");
    tray.refuse(false);
    let listening = Listening::start(&adapter, &tray);
    tray.until(3).await;
    assert_eq!(tray.texts(), ["zero", "one", "two"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_connection_fails_for_what_it_is() {
    let refuse = |status, wait| Trouble::Refuse { status, code: 0, wait, global: false };
    for (trouble, expected) in [
        (refuse(401, None), ("refused", None)),
        (refuse(429, Some(7.0)), ("broken", Some(7))),
        (refuse(500, None), ("broken", None)),
        (Trouble::Answer { status: 502, body: "<html>".into() }, ("broken", None)),
        (Trouble::Answer { status: 200, body: "<html>".into() }, ("broken", None)),
        (Trouble::CutAt(30), ("broken", None)),
        (Trouble::Unheard, ("broken", None)),
    ] {
        for at in ["GET /users/@me", "GET /applications/@me", "GET /gateway/bot"] {
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
async fn sessions_of_a_day_are_counted_before_one_is_begun() {
    let bench = bench().await;
    bench.platform.starts_left(0);
    let fault = Listening::start(&bench.adapter(), &Tray::new(None)).failed().await;
    let ConnectFault::Broken { wait, .. } = fault else { panic!("{fault:?}") };
    assert_eq!(wait, Some(Duration::from_secs(3600)));
    assert!(bench.begun().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_named() {
    let bench = bench().await;
    let identity = bench.adapter().identify().await.unwrap();
    assert_eq!((&*identity.id, &*identity.name), (bench.bot.as_str(), "@ada"));
    assert!(identity.missing.is_empty(), "{identity:?}");
    bench.platform.may_hear(TOKEN, false);
    bench.platform.endpoint(TOKEN, "https://e.org");
    let other = bench.platform.bot("lonely.token", "bea");
    let missing = bench.adapter().identify().await.unwrap().missing;
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert!(missing[0].contains("Message Content Intent"), "{missing:?}");
    assert!(missing[1].contains("Interactions Endpoint URL"), "{missing:?}");
    let identity = bench.adapter_of("b", "lonely.token").identify().await.unwrap();
    assert_eq!(*identity.id, *other);
    assert!(identity.missing[0].contains("oauth2/authorize?client_id="), "{identity:?}");
}
