//! What was said while nothing was heard, and Slack tells no more: it is read, and counts once.

use crate::slack::support::{Bench, Listening, SECRET, Tray, bench};
use insula_adapters::slack::Mode;
use insula_channel::{Adapter, ConnectFault, Envelope, Happening};
use insula_testkit::slack::{BOT, Trouble};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Slack has told all of it as often as it does.
fn long_ago(bench: &Bench) {
    bench.platform.give_up();
}

/// Listens again, as new after a restart, with what was kept.
async fn again(bench: &Bench, tray: &Arc<Tray>) -> (Arc<dyn Adapter>, Listening) {
    let adapter = bench.adapter();
    let listening = Listening::start(&adapter, tray);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    (adapter, listening)
}

/// Listens until something was heard, and is away from then on.
async fn away_after(bench: &Bench, text: &str) -> Arc<Tray> {
    let (_, tray, listening) = bench.listening().await;
    let heard = tray.envelopes().len();
    // Later than listening began: moments are measured more coarsely than messages.
    bench.world.clock.sleep(Duration::from_secs(1)).await;
    bench.say(text);
    tray.until(heard + 1).await;
    bench.platform.until(|platform| platform.waiting() == 0).await;
    stopped(bench, listening).await;
    tray
}

async fn stopped(bench: &Bench, listening: Listening) {
    listening.stop().await.unwrap();
    bench.platform.until(|platform| platform.sockets() == 0).await;
}

fn asked(bench: &Bench, method: &str) -> Vec<Value> {
    let all = bench.platform.requests().into_iter();
    all.filter(|it| it.0 == method).map(|it| it.1).collect()
}

#[tokio::test(start_paused = true)]
async fn what_was_said_meanwhile_comes_once_and_in_its_order() {
    let bench = bench().await;
    bench.say("before anybody listened");
    long_ago(&bench);
    let tray = away_after(&bench, "one").await;
    let town = ["two", "<@U0BOT> three", "four"];
    let names: Vec<_> = town.iter().map(|text| bench.say(text)).collect();
    bench.platform.say(&bench.direct, &bench.bob, "nobody knew this one");
    let live: Vec<_> = bench.platform.told();
    long_ago(&bench);
    for _ in 0..3 {
        let (_, listening) = again(&bench, &tray).await;
        tray.until_said(5).await;
        stopped(&bench, listening).await;
    }
    let here = |chat: &str| {
        let all = tray.envelopes().into_iter().filter(|it| it.address.chat.as_str() == chat);
        all.collect::<Vec<Envelope>>()
    };
    let said = here(&bench.town);
    let texts: Vec<_> = said.iter().map(text).collect();
    assert_eq!(texts, ["one", "two", "three", "four"]);
    assert!(matches!(&said[2].what, Happening::Said(it) if it.mentions_us && *it.id.0 == names[1]));
    assert_eq!(here(&bench.direct).len(), 1);
    // What was told of the same is the same.
    for (kind, payload) in live {
        bench.platform.tell(&kind, payload);
    }
    let other = Tray::new(None);
    let listening = Listening::start(&bench.adapter(), &other);
    bench.platform.until(|platform| platform.waiting() == 0).await;
    stopped(&bench, listening).await;
    let told = other.envelopes();
    assert!(said.iter().all(|it| told.contains(it)), "{said:?} {told:?}");
}

fn text(envelope: &Envelope) -> String {
    match &envelope.what {
        Happening::Said(message) => message.words.all(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn what_broke_is_bridged_without_a_restart() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    bench.say("one");
    tray.until(1).await;
    bench.platform.break_sockets();
    listening.failed().await;
    bench.platform.until(|platform| platform.sockets() == 0).await;
    bench.say("two");
    long_ago(&bench);
    let listening = Listening::start(&adapter, &tray);
    tray.until_said(2).await;
    assert_eq!(tray.texts(), ["one", "two"]);
    // So short a break Slack bridges itself; only where somebody spoke last is looked.
    assert_eq!(asked(&bench, "users.conversations").len(), 0);
    stopped(&bench, listening).await;
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_is_replaced_in_time_leaves_no_gap() {
    let bench = bench().await;
    let tray = away_after(&bench, "one").await;
    let (_, listening) = again(&bench, &tray).await;
    let was_read = |chat: &String| {
        asked(&bench, "conversations.history").iter().any(|it| it["channel"] == **chat)
    };
    bench.platform.until(|_| was_read(&bench.town) && was_read(&bench.direct)).await;
    let before = asked(&bench, "conversations.history").len();
    for _ in 0..3 {
        bench.platform.disconnect("refresh_requested");
        bench.platform.until(|platform| platform.sockets() == 2).await;
        // The old one is left when the new one has said hello.
        bench.platform.until(|platform| platform.sockets() == 1).await;
    }
    assert_eq!(asked(&bench, "conversations.history").len(), before);
    stopped(&bench, listening).await;
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_was_silent_may_have_been_deaf() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    bench.say("one");
    tray.until(1).await;
    bench.platform.until(|platform| platform.waiting() == 0).await;
    // Slack told of it, by a socket that carried nothing.
    bench.platform.miss(&bench.town, &bench.ann, "two");
    tray.until_said(2).await;
    assert_eq!(tray.texts(), ["one", "two"]);
    stopped(&bench, listening).await;
}

#[tokio::test(start_paused = true)]
async fn threads_that_we_are_in_are_read() {
    let bench = bench().await;
    let platform = &bench.platform;
    let (_, tray, listening) = bench.listening().await;
    let root = bench.say("long ago");
    let ours = bench.say("somebody else's");
    tray.until(2).await;
    platform.say_in(&bench.town, &root, BOT, "an answer of ours");
    platform.say_in(&bench.town, &ours, &bench.bob, "<@U0BOT> look");
    tray.until(3).await;
    platform.until(|platform| platform.waiting() == 0).await;
    stopped(&bench, listening).await;
    // Longer than reading goes back behind what was taken.
    bench.world.clock.sleep(Duration::from_secs(3600)).await;
    let (_, listening) = again(&bench, &tray).await;
    bench.say("much later");
    tray.until(4).await;
    platform.until(|platform| platform.waiting() == 0).await;
    stopped(&bench, listening).await;
    platform.say_in(&bench.town, &root, &bench.ann, "and then?");
    let new = bench.say("new");
    platform.say_in(&bench.town, &ours, &bench.bob, "well?");
    platform.say_in(&bench.town, &new, &bench.bob, "in a new one");
    platform.post(&json!({
        "channel": bench.town, "user": bench.bob, "thread_ts": new, "subtype": "thread_broadcast",
        "text": "to all",
    }));
    long_ago(&bench);
    let (_, listening) = again(&bench, &tray).await;
    let texts = tray.until_said(9).await;
    assert_eq!(texts[4..], ["and then?", "new", "well?", "in a new one", "to all"]);
    let topics = tray.envelopes().into_iter().skip(4).map(|it| it.address.topic);
    let topics: Vec<_> = topics.map(|it| it.map(|it| it.as_str().to_owned())).collect();
    assert_eq!(topics, [Some(root), None, Some(ours), Some(new.clone()), Some(new)]);
    stopped(&bench, listening).await;
}

#[tokio::test(start_paused = true)]
async fn whoever_speaks_now_is_heard_after_what_was_said_there_before() {
    let bench = bench().await;
    let tray = away_after(&bench, "one").await;
    bench.say("two");
    long_ago(&bench);
    // The list of conversations takes its time.
    bench.platform.trouble("users.conversations", Trouble::Limited(60));
    let (_, listening) = again(&bench, &tray).await;
    bench.say("three");
    assert_eq!(tray.until_said(3).await, ["one", "two", "three"]);
    stopped(&bench, listening).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_said_before_we_came_is_not_for_us() {
    let bench = bench().await;
    let platform = &bench.platform;
    let tray = away_after(&bench, "one").await;
    let other = platform.channel("C", &[BOT, &bench.ann]);
    platform.say(&other, &bench.ann, "among us");
    platform.post(&json!({ "channel": other, "user": BOT, "subtype": "channel_join", "text": "" }));
    platform.say(&other, &bench.ann, "to all of us");
    long_ago(&bench);
    let (_, listening) = again(&bench, &tray).await;
    assert_eq!(tray.until_said(2).await, ["one", "to all of us"]);
    stopped(&bench, listening).await;
}

#[tokio::test(start_paused = true)]
async fn what_was_changed_meanwhile_is_heard_as_it_reads_now() {
    let bench = bench().await;
    let tray = away_after(&bench, "one").await;
    let name = tray.messages()[0].id.0.to_string();
    bench.platform.edit(&bench.town, &name, "one and a half");
    let gone = bench.say("two");
    bench.platform.delete(&bench.town, &gone);
    bench.say("three");
    long_ago(&bench);
    let (_, listening) = again(&bench, &tray).await;
    let all = tray.until(3).await;
    assert!(
        matches!(&all[1].what, Happening::Edited(it) if it.words.all() == "one and a half"),
        "{all:?}"
    );
    assert_eq!(text(&all[2]), "three");
    stopped(&bench, listening).await;
}

#[tokio::test(start_paused = true)]
async fn pages_are_read_to_a_bound_and_asking_waits_as_it_is_told() {
    let bench = bench().await;
    bench.platform.page_len(10);
    let tray = away_after(&bench, "one").await;
    for number in 0..300 {
        bench.say(&format!("{number}"));
    }
    long_ago(&bench);
    bench.platform.trouble("conversations.history", Trouble::Limited(30));
    bench.platform.trouble("conversations.history", Trouble::CutAt(30));
    let began = bench.world.clock.elapsed();
    let (_, listening) = again(&bench, &tray).await;
    let texts = tray.until_said(250).await;
    assert!(bench.world.clock.elapsed() - began >= Duration::from_secs(30));
    // What was taken before is read once more, and is no news.
    let expected: Vec<_> = (0..249).map(|number| number.to_string()).collect();
    assert_eq!(texts[1..], expected);
    let of_town =
        asked(&bench, "conversations.history").into_iter().filter(|it| it["channel"] == bench.town);
    assert_eq!(of_town.count(), 25 + 2);
    stopped(&bench, listening).await;
}

#[tokio::test(start_paused = true)]
async fn a_scope_that_is_missing_is_said_and_the_rest_is_read() {
    for hides in [false, true] {
        let bench = bench().await;
        let (_, tray, listening) = bench.listening().await;
        bench.platform.say(&bench.direct, &bench.ann, "one");
        bench.say("two");
        tray.until(2).await;
        bench.platform.until(|platform| platform.waiting() == 0).await;
        stopped(&bench, listening).await;
        bench.say("three");
        bench.platform.say(&bench.direct, &bench.ann, "just us");
        long_ago(&bench);
        bench.platform.take_scope("channels:history");
        if hides {
            bench.platform.hide_scopes();
        }
        let (adapter, listening) = again(&bench, &tray).await;
        // The channel is asked for first: somebody spoke there last.
        assert_eq!(tray.until_said(3).await, ["one", "two", "just us"]);
        let missing = adapter.identify().await.unwrap().missing;
        let of_it: Vec<_> = missing.iter().filter(|it| it.contains("`channels:history`")).collect();
        assert_eq!(of_it.len(), 1, "{missing:?}");
        stopped(&bench, listening).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_could_not_be_read_is_read_the_next_time() {
    let bench = bench().await;
    let tray = away_after(&bench, "one").await;
    bench.say("two");
    long_ago(&bench);
    for _ in 0..5 {
        let ill = Trouble::Refuse("internal_error".into());
        bench.platform.trouble("conversations.history", ill);
    }
    let (_, listening) = again(&bench, &tray).await;
    bench.platform.until(|_| asked(&bench, "conversations.history").len() >= 5).await;
    // Elsewhere life goes on.
    bench.platform.say(&bench.direct, &bench.ann, "hello");
    tray.until_said(2).await;
    stopped(&bench, listening).await;
    bench.world.clock.sleep(Duration::from_secs(3600)).await;
    let (_, listening) = again(&bench, &tray).await;
    assert_eq!(tray.until_said(3).await, ["one", "hello", "two"]);
    stopped(&bench, listening).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_not_taken_is_read_again() {
    let bench = bench().await;
    let tray = away_after(&bench, "one").await;
    bench.say("two");
    long_ago(&bench);
    tray.refuse(true);
    let fault = Listening::start(&bench.adapter(), &tray).failed().await;
    assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
    tray.refuse(false);
    let (_, listening) = again(&bench, &tray).await;
    assert_eq!(tray.until_said(2).await, ["one", "two"]);
    stopped(&bench, listening).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_older_than_two_weeks_is_left() {
    let bench = bench().await;
    let tray = away_after(&bench, "one").await;
    bench.say("two");
    bench.world.clock.sleep(Duration::from_secs(15 * 24 * 3600)).await;
    bench.say("three");
    long_ago(&bench);
    let (_, listening) = again(&bench, &tray).await;
    assert_eq!(tray.until_said(2).await, ["one", "three"]);
    stopped(&bench, listening).await;
}

#[tokio::test(start_paused = true)]
async fn who_is_called_reads_it_when_it_is_there_again() {
    let bench = bench().await;
    let tray = Tray::new(None);
    let by_hook = || bench.adapter_by(Mode::Webhook(SECRET.into()));
    let adapter = by_hook();
    adapter.identify().await.unwrap();
    let listening = Listening::start(&adapter, &tray);
    tray.until_kept().await;
    bench.say("one");
    let (_, told) = bench.platform.told().pop().unwrap();
    let request = bench.signed("application/json", &told.to_string(), 0);
    assert_eq!(adapter.receive(request, &*tray).await.status, 200);
    listening.stop().await.unwrap();
    bench.say("two");
    let listening = Listening::start(&by_hook(), &tray);
    assert_eq!(tray.until_said(2).await, ["one", "two"]);
    listening.stop().await.unwrap();
}
