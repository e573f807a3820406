//! What people do comes in: over the socket, after it broke anywhere, and after a gap.

use crate::mattermost::support::{Listening, Tray, beginning, bench};
use insula_channel::{Envelope, Happening, Reaction, ReactionChange};
use insula_domain::ChatType;
use insula_testkit::socket::frame;
use serde_json::json;
use std::time::Duration;

fn whats(tray: &Tray) -> Vec<Happening> {
    tray.envelopes().into_iter().map(|it| it.what).collect()
}

#[tokio::test(start_paused = true)]
async fn what_happens_in_channels_becomes_envelopes() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    let platform = &bench.platform;
    let direct = platform.direct(&bench.bot, &bench.ann);
    let group = platform.channel("G", &[&bench.bot, &bench.ann, &bench.bob]);
    let first = bench.say("@ada hello");
    platform.say(&direct, &bench.ann, "just us");
    platform.say(&group, &bench.bob, "three of us");
    platform.say_in(&bench.town, &first, &bench.bob, "in the thread");
    platform.edit(&first, "@ada good day");
    platform.react(&bench.bob, &first, "heart", true);
    platform.delete(&first);
    let all = tray.until(7).await;
    let place = |it: &Envelope| {
        let topic = it.address.topic.as_ref().map(|topic| topic.as_str().to_owned());
        (it.address.chat.as_str().to_owned(), it.address.chat_type, topic)
    };
    let town = |topic: Option<&String>| (bench.town.clone(), ChatType::Group, topic.cloned());
    assert_eq!(place(&all[0]), town(None));
    assert_eq!(place(&all[1]), (direct, ChatType::Dm, None));
    assert_eq!(place(&all[2]), (group, ChatType::Group, None));
    assert_eq!(place(&all[3]), town(Some(&first)));
    assert!(matches!(&all[4].what, Happening::Edited(it) if it.words.instruction() == "good day"));
    assert!(matches!(&all[5].what, Happening::Reacted(it) if &*it.sign == "\u{2764}"));
    assert!(matches!(&all[6].what, Happening::Deleted(it) if *it.0 == *first));
    let Happening::Said(hello) = &all[0].what else { panic!("{all:?}") };
    assert!(hello.mentions_us && hello.words.instruction() == "hello");
    assert_eq!((&*all[0].sender.name, all[0].sender.is_bot), ("Ann Lee", false));
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_the_server_says_of_people_is_no_message() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    let platform = &bench.platform;
    let about = |kind: &str| {
        json!({
            "channel_id": bench.town, "user_id": bench.bob, "type": kind, "message": "bob did it",
        })
    };
    for kind in ["system_join_channel", "system_leave_channel", "system_header_change"] {
        platform.post(&about(kind));
    }
    let eve = platform.person("eve", "Eve");
    platform.add(&bench.town, &eve, &bench.ann);
    platform.say(&bench.town, &bench.bot, "our own");
    platform.remove(&bench.town, &bench.bob, &bench.ann);
    let club = platform.channel("P", &[&bench.ann]);
    platform.add(&club, &bench.bot, &bench.ann);
    // Thrown out before it looked, it would not be shown where it had been.
    tray.until(2).await;
    platform.remove(&club, &bench.bot, &bench.ann);
    let all = tray.until(3).await;
    assert_eq!(whats(&tray), [Happening::Left, Happening::Added, Happening::Removed]);
    let users: Vec<_> = all.iter().map(|it| it.address.user.clone().unwrap()).collect();
    assert_eq!(
        users.iter().map(|it| it.as_str()).collect::<Vec<_>>(),
        [bench.bob.as_str(), bench.ann.as_str(), bench.ann.as_str(),]
    );
    assert_eq!(all[2].address.chat.as_str(), club);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reaction_to_an_old_message_tells_its_thread() {
    let bench = bench().await;
    let root = bench.say("before");
    let ours = bench.platform.say_in(&bench.town, &root, &bench.bot, "may I?");
    let (_, tray, listening) = bench.listening().await;
    tray.until(1).await;
    bench.platform.react(&bench.ann, &ours, "+1", true);
    bench.platform.react(&bench.ann, &ours, "+1", false);
    bench.platform.react(&bench.bot, &ours, "eyes", true);
    bench.platform.react(&bench.ann, "gone", "+1", true);
    bench.say("last");
    let all = tray.until(4).await;
    let reaction = |change| {
        Happening::Reacted(Reaction {
            message: insula_channel::MessageId(ours.as_str().into()),
            sign: "👍".into(),
            change,
            is_ours: Some(true),
        })
    };
    assert_eq!(all[1].what, reaction(ReactionChange::Put));
    assert_eq!(all[2].what, reaction(ReactionChange::Taken));
    assert_ne!(all[1].event, all[2].event);
    assert_eq!(all[1].address.topic.as_ref().unwrap().as_str(), root);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_breaks_at_any_byte_loses_nothing_and_says_nothing_twice() {
    let bench = bench().await;
    // As long as an event is on the wire.
    bench.say("probe");
    let adapter = bench.adapter();
    let whole = frame(&[b'x'; 900]).len();
    for len in (0..whole).step_by(7) {
        let tray = Tray::new(Some(beginning()));
        bench.platform.forget_connections();
        let listening = Listening::start(&adapter, &tray);
        bench.platform.until(|platform| platform.sockets() == 1).await;
        let before = tray.until(1).await.len();
        bench.platform.cut_next_event(len);
        bench.say(&format!("cut at {len}"));
        bench.say("after");
        // Whatever was whole was taken; the rest comes to who comes back.
        let _ = listening.failed().await;
        let listening = Listening::start(&adapter, &tray);
        let texts = {
            tray.until(before + 2).await;
            tray.texts()
        };
        let tail = &texts[texts.len() - 2..];
        assert_eq!(tail, [format!("cut at {len}"), "after".to_owned()], "{len}");
        listening.stop().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_back_is_sent_what_they_missed() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    bench.say("one");
    tray.until(1).await;
    bench.platform.break_sockets();
    assert!(matches!(listening.failed().await, insula_channel::ConnectFault::Broken { .. }));
    let ours = bench.say("two");
    bench.platform.edit(&ours, "two, edited");
    bench.say("three");
    let before = bench.platform.requests().len();
    // A new adapter, as after a restart of the daemon.
    let again = bench.adapter();
    let listening = Listening::start(&again, &tray);
    tray.until(4).await;
    assert_eq!(tray.texts(), ["one", "two", "three"]);
    let asked: Vec<String> =
        bench.platform.requests()[before..].iter().map(|(line, _)| line.clone()).collect();
    assert!(!asked.iter().any(|line| line.contains("since=")), "nothing had to be read: {asked:?}");
    drop(adapter);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_gap_is_read_and_what_was_there_before_is_not_said_again() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    let first = bench.say("one");
    tray.until(1).await;
    listening.stop().await.unwrap();
    bench.platform.forget_connections();
    bench.handles.clock.advance(Duration::from_secs(60)).await;
    let gone = bench.say("taken back");
    bench.say("two");
    bench.platform.delete(&gone);
    bench.platform.edit(&first, "one, edited");
    bench.platform.post(&json!({
        "channel_id": bench.town, "user_id": bench.ann, "message": "as it was",
        "original_id": first, "delete_at": 5,
    }));
    let direct = bench.platform.direct(&bench.bot, &bench.bob);
    bench.platform.say(&direct, &bench.bob, "three");
    let listening = Listening::start(&adapter, &tray);
    tray.until(4).await;
    bench.say("four");
    tray.until(5).await;
    assert_eq!(tray.texts(), ["one", "two", "three", "four"]);
    let edited = whats(&tray).into_iter().filter(|it| matches!(it, Happening::Edited(_))).count();
    assert_eq!(edited, 1);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_gap_that_one_answer_does_not_hold_is_read_by_pages() {
    let bench = bench().await;
    for number in 0..1_205 {
        bench.say(&number.to_string());
    }
    let (_, tray, listening) = bench.listening().await;
    tray.until(1_205).await;
    let expected: Vec<String> = (0..1_205).map(|number| number.to_string()).collect();
    assert_eq!(tray.texts(), expected);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_never_listened_begins_at_this_moment() {
    let bench = bench().await;
    bench.say("history");
    let (adapter, tray) = (bench.adapter(), Tray::new(None));
    let listening = Listening::start(&adapter, &tray);
    bench.platform.until(|platform| platform.sockets() == 1).await;
    bench.say("now");
    tray.until(1).await;
    assert_eq!(tray.texts(), ["now"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_behind_where_it_could_not_be_taken() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    tray.refuse(true);
    bench.say("one");
    let _ = listening.failed().await;
    bench.say("two");
    tray.refuse(false);
    let listening = Listening::start(&adapter, &tray);
    tray.until(2).await;
    assert_eq!(tray.texts(), ["one", "two"]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn two_accounts_in_one_channel_hear_each_for_itself() {
    let bench = bench().await;
    let other = bench.platform.bot("othertoken", "bea");
    let both = bench.platform.channel("O", &[&bench.bot, &other, &bench.ann]);
    let (adapter, tray, listening) = bench.listening().await;
    bench.platform.say(&both, &bench.ann, "@bea not you");
    bench.platform.say(&both, &other, "I am a bot too");
    let all = tray.until(2).await;
    let said = tray.messages();
    assert!(!said[0].mentions_us && !said[1].mentions_us);
    assert!(!all[0].sender.is_bot && all[1].sender.is_bot);
    drop(adapter);
    listening.stop().await.unwrap();
}
