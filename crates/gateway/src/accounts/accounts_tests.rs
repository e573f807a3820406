//! Accounts over a real daemon, with puppets for platforms and time that moves when told to.

use super::puppets_for_tests::{Act, Scene, Stage};
use super::*;
use insula_channel::{Cursor, Inbox as _};
use insula_registry::Actor;
use insula_testkit::world;
use insula_vault::{Secret, SecretName, SecretOwner};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn config(accounts: &str) -> String {
    format!("agents: {{main: {{}}}}\nchannels: {{telegram: {{accounts: {{{accounts}}}}}}}\n")
}

#[tokio::test]
async fn one_accounts_trouble_is_its_own() {
    let names = ["fine", "hangs", "breaks", "refused", "panics"];
    let all = names.map(|name| match name {
        "refused" => "refused: {token: hunter2-hunter2}".to_owned(),
        name => format!("{name}: {{token: of-{name}}}"),
    });
    let all = all.join(", ");
    let scene = Scene::open(&config(&all)).await;
    for (name, act) in [
        ("hangs", Act::Hang),
        ("breaks", Act::Break),
        ("refused", Act::Refuse),
        ("panics", Act::Panic),
    ] {
        scene.theatre.act(name, act);
    }
    scene.settle().await;
    assert_eq!(scene.state("fine"), (Connection::Connected, None));
    assert_eq!(scene.state("hangs").0, Connection::Connecting);
    assert_eq!(scene.state("breaks"), (Connection::BackingOff, Some("gone".to_owned())));
    assert_eq!(scene.state("panics").0, Connection::BackingOff);
    let (state, reason) = scene.state("refused");
    assert_eq!(state, Connection::Refused);
    assert!(!reason.unwrap().contains("hunter2"), "what a platform says may quote the token");
    // No time has passed, so none was waited for; and later it is the same.
    scene.pass(30 * SECOND).await;
    let (state, reason) = scene.state("hangs");
    assert_eq!((state, &*reason.unwrap()), (Connection::BackingOff, "no answer within 30 s"));
    scene.pass(70 * SECOND).await;
    assert_eq!(scene.state("fine").0, Connection::Connected);
    assert_eq!(scene.theatre.listened("fine"), 1);
    assert!(scene.theatre.listened("breaks") > 3 && scene.theatre.listened("panics") > 3);
    scene.accounts.close().await;
    assert!(scene.accounts.connections.load().is_empty());
}

#[tokio::test]
async fn an_account_recovers_and_failures_in_a_row_are_further_apart() {
    let scene = Scene::open(&config("bot: {token: '1'}")).await;
    scene.theatre.act("bot", Act::Break);
    scene.settle().await;
    scene.pass(10 * 60 * SECOND).await;
    let tries = scene.theatre.listened("bot");
    assert!((8..16).contains(&tries), "{tries}");
    scene.theatre.act("bot", Act::Connect);
    scene.pass(300 * SECOND).await;
    // Not why it failed, but what it lacks since it has listened.
    let lacks = "a room that it can't read".to_owned();
    assert_eq!(scene.state("bot"), (Connection::Connected, Some(lacks)));
    let state = &scene.accounts.states()[0];
    assert_eq!(state.errors, u64::try_from(tries).unwrap());
}

#[tokio::test]
async fn a_stream_that_is_silent_is_connected_anew() {
    let scene = Scene::open(&config("bot: {token: '1'}")).await;
    scene.settle().await;
    scene.pass(119 * SECOND).await;
    assert_eq!(scene.theatre.listened("bot"), 1);
    // Heard with or without news, it stays.
    scene.inbox("bot").alive();
    scene.pass(119 * SECOND).await;
    assert_eq!(scene.theatre.listened("bot"), 1);
    scene.pass(5 * SECOND).await;
    assert_eq!(scene.theatre.listened("bot"), 2);
    assert_eq!(scene.state("bot").0, Connection::Connected);
    assert_eq!(scene.theatre.made("bot"), 1, "the same adapter listens again");
}

#[tokio::test]
async fn an_open_connection_by_which_nothing_is_heard_shows_and_heals() {
    let scene = Scene::open(&config("bot: {token: '1'}")).await;
    scene.theatre.act("bot", Act::Deaf);
    scene.settle().await;
    // It says who we are, and is open: that is no sign that it hears.
    assert_eq!(scene.theatre.listened("bot"), 1);
    assert_eq!(scene.state("bot").0, Connection::Connecting);
    scene.pass(120 * SECOND).await;
    let (state, reason) = scene.state("bot");
    assert_eq!((state, &*reason.unwrap()), (Connection::BackingOff, "nothing was heard for 120 s"));
    scene.theatre.act("bot", Act::Connect);
    scene.pass(2 * SECOND).await;
    assert_eq!(scene.state("bot").0, Connection::Connected);
    // Deaf after it was heard is the same.
    scene.theatre.act("bot", Act::Deaf);
    scene.pass(125 * SECOND).await;
    assert_eq!(scene.theatre.listened("bot"), 3);
    assert_eq!(scene.state("bot").0, Connection::Connecting);
}

#[tokio::test]
async fn a_bot_listens_once_at_a_time_whatever_its_account_is_called() {
    let one = config("old: {token: '1'}, other: {token: '2'}");
    for (next, name) in [
        // Renamed either way in the order of names, and turned off and on again.
        (vec![config("zeta: {token: '1'}, other: {token: '2'}")], "zeta"),
        (vec![config("alpha: {token: '1'}, other: {token: '2'}")], "alpha"),
        (vec![config("old: {token: '1', enabled: false}"), config("old: {token: '1'}")], "old"),
        (vec![config("other: {token: '2'}"), config("alpha: {token: '1'}")], "alpha"),
    ] {
        let scene = Scene::open(&one).await;
        scene.theatre.act("old", Act::Linger);
        scene.settle().await;
        assert_eq!(scene.theatre.listened("old"), 1);
        let before = scene.theatre.listened(name);
        for next in &next {
            scene.edit(next).await;
        }
        scene.pass(SECOND).await;
        assert_eq!(scene.theatre.listened(name), before, "{name}: the old one still ends");
        scene.theatre.act("old", Act::Connect);
        scene.pass(2 * SECOND).await;
        assert_eq!(scene.theatre.listened(name), before + 1, "{name}");
        assert_eq!(scene.state(name).0, Connection::Connected, "{name}");
        scene.accounts.close().await;
    }
}

#[tokio::test]
async fn while_ours_is_slow_the_peer_is_not_silent() {
    let scene = Scene::open(&config("bot: {token: '1'}")).await;
    scene.settle().await;
    scene.ledger.held.lock().unwrap().push("slow".to_owned());
    let inbox = scene.inbox("bot");
    let mut taking = Box::pin(inbox.take(vec![scene.envelope("bot", "slow", "1")], None));
    assert!((&mut taking).now_or_never().is_none());
    scene.pass(1_000 * SECOND).await;
    assert_eq!(scene.theatre.listened("bot"), 1);
    scene.ledger.held.lock().unwrap().clear();
    scene.ledger.go_on.notify_one();
    taking.await.unwrap();
    scene.pass(125 * SECOND).await;
    assert_eq!(scene.theatre.listened("bot"), 2);
}

#[tokio::test]
async fn what_was_refused_is_tried_rarely_and_at_once_after_its_secret_changed() {
    let scene = Scene::open(&config("bot: {token: '${secret:BOT}'}")).await;
    scene.settle().await;
    let (state, reason) = scene.state("bot");
    assert_eq!(state, Connection::Off);
    let reason = reason.unwrap();
    assert!(reason.contains("`BOT`") && reason.contains("insula secret set"), "{reason}");
    let name = SecretName::new("BOT").unwrap();
    let set = |value: &str| {
        let value = Secret::new(value);
        scene.daemon.set_secret(&SecretOwner::Daemon, &name, value, &Actor::CommandLine)
    };
    scene.theatre.act("bot", Act::Refuse);
    set("first").await.unwrap();
    scene.settle().await;
    assert_eq!(scene.state("bot").0, Connection::Refused);
    scene.pass(600 * SECOND).await;
    assert_eq!(scene.theatre.made("bot"), 1);
    scene.theatre.act("bot", Act::Connect);
    set("second").await.unwrap();
    scene.settle().await;
    assert_eq!(scene.state("bot").0, Connection::Connected);
    let made = scene.theatre.made.lock().unwrap().clone();
    assert_eq!(
        made,
        [("bot".to_owned(), "first".to_owned()), ("bot".to_owned(), "second".to_owned())]
    );
}

#[tokio::test]
async fn the_doctor_hears_what_those_met_that_listen() {
    let scene = Scene::open(&config("bot: {token: '1'}")).await;
    let stage = Stage(scene.theatre.clone());
    scene.settle().await;
    let front = scene.daemon.front();
    let told = examine(&front, &stage, Some(&scene.accounts)).await;
    assert!(told[0].detail.contains("a room that it can't read"), "{told:?}");
    let told = examine(&front, &stage, None).await;
    assert_eq!(told[0].detail, "we are puppet (bot)", "without a daemon it is asked anew");
}

#[tokio::test]
async fn one_token_under_two_names_connects_once() {
    let scene = Scene::open(&config("a: {token: '${secret:A}'}, b: {token: '${secret:B}'}")).await;
    let set = async |name: &str, value: &str| {
        let name = SecretName::new(name).unwrap();
        let actor = Actor::CommandLine;
        scene
            .daemon
            .set_secret(&SecretOwner::Daemon, &name, Secret::new(value), &actor)
            .await
            .unwrap();
        scene.settle().await;
    };
    set("A", "1:same").await;
    set("B", "1:same").await;
    assert_eq!(scene.state("a").0, Connection::Connected);
    let (state, reason) = scene.state("b");
    assert_eq!(state, Connection::Off);
    assert!(reason.unwrap().contains("that of `telegram.a`"));
    set("B", "1:other").await;
    assert_eq!(scene.state("b").0, Connection::Connected);
    assert_eq!(scene.theatre.made("a"), 1);
}

#[tokio::test]
async fn who_is_one_on_the_platform_connects_once_whatever_they_are_called() {
    let scene = Scene::open(&config("b: {token: '2'}, c: {token: '3'}")).await;
    for name in ["a", "b"] {
        scene.theatre.is_really(name, "4711");
    }
    scene.settle().await;
    assert_eq!(scene.state("b").0, Connection::Connected);
    // The one that comes first by its name has it, also when it comes later.
    scene.edit(&config("a: {token: '1'}, b: {token: '2'}, c: {token: '3'}")).await;
    scene.pass(3 * SECOND).await;
    assert_eq!(scene.state("a").0, Connection::Connected);
    let (state, reason) = scene.state("b");
    assert_eq!(state, Connection::Refused);
    assert!(reason.unwrap().contains("it is puppet (4711), as `telegram.a` is"));
    assert_eq!(scene.theatre.listened("b"), 1);
    scene.pass(600 * SECOND).await;
    assert_eq!(scene.theatre.listened("b"), 1, "it is tried again and is told the same");
    // Once that one is gone, nobody waits for the next try.
    scene.edit(&config("b: {token: '2'}, c: {token: '3'}")).await;
    scene.pass(3 * SECOND).await;
    assert_eq!(scene.state("b").0, Connection::Connected);
    assert_eq!(scene.theatre.made("c"), 1);
    // Another server knows other people under the same number.
    scene
        .edit(&config("a: {token: '1', base_url: 'https://other.example'}, b: {token: '2'}"))
        .await;
    scene.pass(3 * SECOND).await;
    assert_eq!([scene.state("a").0, scene.state("b").0], [Connection::Connected; 2]);
}

#[tokio::test]
async fn a_change_touches_the_account_it_is_about_and_no_other() {
    let scene = Scene::open(&config("a: {token: '1'}, b: {token: '2'}, c: {token: '3'}")).await;
    scene.settle().await;
    scene.edit(&config("a: {token: '1'}, b: {token: '5'}, d: {token: '4'}")).await;
    scene.pass(3 * SECOND).await;
    for (name, made) in [("a", 1), ("b", 2), ("c", 1), ("d", 1)] {
        assert_eq!(scene.theatre.made(name), made, "{name}");
        assert_eq!(scene.theatre.listened(name), made, "{name}");
    }
    let names: Vec<String> =
        scene.accounts.states().iter().map(|state| state.account.to_string()).collect();
    assert_eq!(names, ["a", "b", "d"]);
    let telegram = Platform::new("telegram").unwrap();
    assert!(scene.accounts.adapter(telegram, &AccountId::new("c").unwrap()).is_none());
    // What is wrong in one is said, and is wrong in that one alone.
    scene.edit(&config("a: {token: '1'}, b: {tokn: '2'}, d: {token: '1', enabled: false}")).await;
    assert_eq!(scene.state("a").0, Connection::Connected);
    let (state, reason) = scene.state("b");
    assert_eq!(state, Connection::Off);
    assert!(reason.unwrap().contains("config.yaml:2:"));
    assert!(scene.state("d").1.unwrap().contains("enabled"));
    assert_eq!(scene.theatre.made("a"), 1);
}

#[tokio::test]
async fn events_are_taken_in_order_per_chat_and_chats_do_not_wait_for_each_other() {
    let scene = Scene::open(&config("bot: {token: '1'}")).await;
    scene.settle().await;
    scene.ledger.held.lock().unwrap().push("slow".to_owned());
    let inbox = scene.inbox("bot");
    let batch = ["slow 1", "quick 1", "slow 2", "quick 2"];
    let batch = batch.map(|event| scene.envelope("bot", event.split(' ').next().unwrap(), event));
    let mut taking = Box::pin(inbox.take(batch.into(), Some(Cursor("5".into()))));
    assert!((&mut taking).now_or_never().is_none());
    // Another delivery of the slow chat waits behind the first.
    let other = scene.inbox("bot");
    let mut later = Box::pin(other.take(vec![scene.envelope("bot", "slow", "slow 3")], None));
    assert!((&mut later).now_or_never().is_none());
    assert_eq!(*scene.ledger.taken.lock().unwrap(), ["quick 1", "quick 2"]);
    assert_eq!(inbox.cursor().await.unwrap(), None, "not all of it is durable");
    scene.ledger.held.lock().unwrap().clear();
    scene.ledger.go_on.notify_one();
    taking.await.unwrap();
    later.await.unwrap();
    let taken = scene.ledger.taken.lock().unwrap().clone();
    assert_eq!(taken, ["quick 1", "quick 2", "slow 1", "slow 2", "slow 3"]);
    assert_eq!(inbox.cursor().await.unwrap(), Some(Cursor("5".into())));
}

#[tokio::test]
async fn a_cursor_outlives_the_daemon_and_belongs_to_one_bot() {
    let (world, handles) = world(7);
    let files =
        insula_testkit::Home::with([("config.yaml", &*config("bot: {token: '1'}"))]).unwrap();
    let scene = Scene::open_in(files, world.clone(), handles.clone()).await;
    scene.settle().await;
    scene.inbox("bot").take(vec![], Some(Cursor("41".into()))).await.unwrap();
    scene.accounts.close().await;
    scene.daemon.close().await.unwrap();
    let Scene { files, daemon, accounts, .. } = scene;
    drop((daemon, accounts));
    let scene = Scene::open_in(files, world, handles).await;
    scene.settle().await;
    let inbox = scene.inbox("bot");
    assert_eq!(inbox.cursor().await.unwrap(), Some(Cursor("41".into())));
    let lines = scene.accounts.connections.load();
    lines.values().next().unwrap().notes.identify("somebody else");
    assert_eq!(inbox.cursor().await.unwrap(), None);
}

#[tokio::test]
async fn an_event_that_panics_is_not_acknowledged_and_in_the_end_set_aside() {
    let scene = Scene::open(&config("bot: {token: '1'}")).await;
    scene.settle().await;
    scene.ledger.panics.lock().unwrap().extend([("bad".to_owned(), 99), ("once".to_owned(), 1)]);
    let inbox = scene.inbox("bot");
    let take = |event: &str| inbox.take(vec![scene.envelope("bot", "a", event)], None);
    assert!(take("once").await.is_err());
    assert!(take("once").await.is_ok());
    assert!(take("bad").await.is_err());
    assert!(take("bad").await.is_err());
    assert!(take("bad").await.is_ok(), "nothing behind it would ever be heard");
    assert!(take("next").await.is_ok());
    assert_eq!(*scene.ledger.taken.lock().unwrap(), ["once", "next"]);
}

#[tokio::test]
async fn an_adapter_speaks_for_its_own_account_only() {
    let scene = Scene::open(&config("a: {token: '1'}, b: {token: '2'}")).await;
    scene.settle().await;
    let foreign = scene.envelope("b", "chat", "1");
    assert!(scene.inbox("a").take(vec![foreign], None).await.is_err());
    assert!(scene.ledger.taken.lock().unwrap().is_empty());
}
