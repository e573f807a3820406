//! What people do comes in: by the socket, after it broke anywhere, and once.

use crate::slack::support::{Listening, Tray, bench};
use insula_channel::{Envelope, Happening, Reaction, ReactionChange};
use insula_domain::{ChatType, Community};
use insula_testkit::slack::{BOT, TEAM};
use insula_testkit::socket::frame;
use serde_json::json;
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn what_happens_in_channels_becomes_envelopes() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    let platform = &bench.platform;
    let group = platform.channel("G", &[BOT, &bench.ann, &bench.bob]);
    let first = bench.say("<@U0BOT> hello <@UNOBODY|eve> &amp; all");
    platform.say(&bench.direct, &bench.ann, "just us");
    platform.say(&group, &bench.bob, "three of us");
    platform.say_in(&bench.town, &first, &bench.bob, "in the thread");
    platform.edit(&bench.town, &first, "<@U0BOT> good day");
    platform.react(&bench.bob, &bench.town, &first, "heart", true);
    platform.delete(&bench.town, &first);
    let all = tray.until(7).await;
    let place = |it: &Envelope| {
        let topic = it.address.topic.as_ref().map(|topic| topic.as_str().to_owned());
        (it.address.chat.as_str().to_owned(), it.address.chat_type, topic)
    };
    let town = |topic: Option<&String>| (bench.town.clone(), ChatType::Group, topic.cloned());
    assert_eq!(place(&all[0]), town(None));
    assert_eq!(place(&all[1]), (bench.direct.clone(), ChatType::Dm, None));
    assert_eq!(place(&all[2]), (group, ChatType::Group, None));
    assert_eq!(place(&all[3]), town(Some(&first)));
    assert!(matches!(&all[4].what, Happening::Edited(it) if it.words.instruction() == "good day"));
    assert!(matches!(&all[5].what, Happening::Reacted(it) if &*it.sign == "\u{2764}"));
    assert!(matches!(&all[6].what, Happening::Deleted(it) if *it.0 == *first));
    let Happening::Said(hello) = &all[0].what else { panic!("{all:?}") };
    assert!(hello.mentions_us);
    assert_eq!(hello.words.instruction(), "hello @eve & all");
    assert_eq!((&*all[0].sender.name, all[0].sender.is_bot), ("Ann Lee", false));
    let Some(Community::Team(team)) = &all[0].address.community else { panic!("{all:?}") };
    assert_eq!(team.as_str(), TEAM);
    platform.until(|platform| platform.waiting() == 0).await;
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_mention_that_is_told_twice_is_heard_once() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    bench.say("<@U0BOT> one");
    bench.say("two");
    tray.until(2).await;
    bench.platform.until(|platform| platform.waiting() == 0).await;
    assert_eq!(tray.texts(), ["one", "two"]);
    assert_eq!(bench.platform.acknowledged(), 3, "it is acknowledged twice all the same");
    listening.stop().await.unwrap();
    // Whichever of both comes alone says the same.
    let kinds = |kind: &str| {
        let told = bench.platform.told().into_iter().map(|(_, payload)| payload);
        told.into_iter().find(|it| it["event"]["type"] == kind).unwrap()["event"].clone()
    };
    let envelopes = |event| {
        let bench = &bench;
        async move {
            let tray = Tray::new(None);
            bench.platform.event(&event);
            let listening = Listening::start(&bench.adapter(), &tray);
            let envelopes = tray.until(1).await;
            listening.stop().await.unwrap();
            envelopes
        }
    };
    assert_eq!(envelopes(kinds("app_mention")).await, envelopes(kinds("message")).await);
}

#[tokio::test(start_paused = true)]
async fn what_is_ours_or_slacks_is_no_message_and_a_bots_is_one_of_a_bots() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    let platform = &bench.platform;
    let post = |fields: serde_json::Value| {
        let mut message = json!({ "channel": bench.town, "text": "x" });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        platform.post(&message);
    };
    for subtype in ["channel_join", "channel_topic", "bot_add", "pinned_item", "reminder_add"] {
        post(json!({ "user": bench.ann, "subtype": subtype }));
    }
    post(json!({ "user": BOT, "bot_id": "B0BOT" }));
    post(json!({ "user": bench.ann, "bot_id": "B0BOT" }));
    adapter
        .post(&super::support::post(bench.town(None), "k", super::support::body("ours")))
        .await
        .unwrap();
    let said = bench.say("with a link");
    platform.unfurl(&bench.town, &said);
    // A webhook, another app's bot, and an app that speaks as Ann.
    post(
        json!({ "subtype": "bot_message", "bot_id": "B9", "username": "CI", "text": "<@U0BOT> built" }),
    );
    let robot = platform.bot("Robot");
    post(json!({ "user": robot, "bot_id": "B8", "text": "beep" }));
    post(json!({ "user": bench.ann, "bot_id": "B7", "app_id": "A7", "text": "<@U0BOT> as Ann" }));
    post(json!({ "user": "USLACKBOT", "text": "reminder" }));
    post(
        json!({ "user": bench.bob, "subtype": "thread_broadcast", "thread_ts": said, "text": "to all" }),
    );
    post(json!({ "user": bench.bob, "subtype": "me_message", "text": "waves" }));
    let all = tray.until(7).await;
    let user = |it: &Envelope| it.address.user.as_ref().map(|user| user.as_str().to_owned());
    let facts: Vec<_> = all.iter().map(|it| (user(it), it.sender.is_bot)).collect();
    let person = |id: &str| Some(id.to_owned());
    assert_eq!(
        facts,
        [
            (person(&bench.ann), false),
            (None, true),
            (person(&robot), true),
            (None, true),
            (person("USLACKBOT"), true),
            (person(&bench.bob), false),
            (person(&bench.bob), false),
        ]
    );
    assert_eq!(&*all[1].sender.name, "CI");
    let said: Vec<_> = tray.messages();
    assert!(!said[1].mentions_us && said[1].words.said().is_empty(), "a program's words");
    assert!(!said[3].mentions_us && said[3].words.said().is_empty(), "nobody's words");
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reaction_to_an_old_message_tells_its_thread_and_whose_it_is() {
    let bench = bench().await;
    let root = bench.say("before");
    let ours = bench.platform.say_in(&bench.town, &root, BOT, "may I?");
    // As after a restart: nothing of that is known.
    let (_, tray, listening) = bench.listening().await;
    tray.until(1).await;
    listening.stop().await.unwrap();
    let (_, tray, listening) = bench.listening().await;
    bench.platform.react(&bench.ann, &bench.town, &ours, "+1", true);
    bench.platform.react(&bench.ann, &bench.town, &ours, "+1", false);
    bench.platform.react(BOT, &bench.town, &ours, "eyes", true);
    bench.say("last");
    let all = tray.until(3).await;
    let reaction = |change| {
        Happening::Reacted(Reaction {
            message: insula_channel::MessageId(ours.as_str().into()),
            sign: "👍".into(),
            change,
            is_ours: Some(true),
        })
    };
    assert_eq!(all[0].what, reaction(ReactionChange::Put));
    assert_eq!(all[1].what, reaction(ReactionChange::Taken));
    assert_eq!(all[0].address.topic.as_ref().unwrap().as_str(), root);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn coming_and_going_is_told() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    let platform = &bench.platform;
    let event = |kind: &str, user: &str, more: &str| {
        platform.event(&json!({
            "type": kind, "user": user, "channel": bench.town, "channel_type": "C", "team": TEAM,
            "inviter": more, "actor_id": more, "event_ts": format!("1.{:06}", platform.told().len()),
        }));
    };
    event("member_joined_channel", BOT, &bench.ann);
    event("member_joined_channel", &bench.bob, &bench.ann);
    event("member_left_channel", &bench.bob, "");
    event("channel_left", "", &bench.ann);
    let all = tray.until(3).await;
    let whats: Vec<_> = all.iter().map(|it| it.what.clone()).collect();
    assert_eq!(whats, [Happening::Added, Happening::Left, Happening::Removed]);
    let users: Vec<_> = all.iter().map(|it| it.address.user.clone().unwrap()).collect();
    let users: Vec<_> = users.iter().map(|it| it.as_str()).collect();
    assert_eq!(users, [bench.ann.as_str(), bench.bob.as_str(), bench.ann.as_str()]);
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn events_of_another_workspace_are_left_out() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    let event = json!({
        "type": "message", "user": bench.ann, "channel": bench.town, "text": "elsewhere", "ts": "1.000001",
    });
    let mut payload = bench.platform.callback(&event);
    payload["team_id"] = json!("T0OTHER");
    payload["authorizations"][0] = json!({ "team_id": "T0OTHER", "user_id": "U0OTHER" });
    bench.platform.tell("events_api", payload);
    bench.say("here");
    tray.until(1).await;
    assert_eq!(tray.texts(), ["here"]);
    bench.platform.until(|platform| platform.waiting() == 0).await;
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_breaks_at_any_byte_loses_nothing_and_says_nothing_twice() {
    let bench = bench().await;
    let adapter = bench.adapter();
    // As long as an event is on the wire, and hello before it.
    let whole = frame(&[b'x'; 1200]).len();
    let tray = Tray::new(None);
    let mut expected = vec![];
    for len in (0..whole).step_by(17) {
        let listening = Listening::start(&adapter, &tray);
        bench.platform.until(|platform| platform.sockets() == 1).await;
        bench.platform.cut_next(len);
        bench.say(&format!("cut at {len}"));
        expected.push(format!("cut at {len}"));
        listening.failed().await;
        bench.platform.until(|platform| platform.sockets() == 0).await;
        let listening = Listening::start(&adapter, &tray);
        tray.until(expected.len()).await;
        bench.platform.until(|platform| platform.waiting() == 0).await;
        listening.stop().await.unwrap();
        bench.platform.until(|platform| platform.sockets() == 0).await;
    }
    assert_eq!(tray.texts(), expected);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_was_not_taken_is_not_acknowledged_and_comes_again() {
    let bench = bench().await;
    let (adapter, tray, listening) = bench.listening().await;
    tray.refuse(true);
    bench.say("one");
    listening.failed().await;
    assert_eq!((bench.platform.acknowledged(), bench.platform.waiting()), (0, 1));
    tray.refuse(false);
    let listening = Listening::start(&adapter, &tray);
    tray.until(1).await;
    bench.platform.until(|platform| platform.waiting() == 0).await;
    listening.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_event_is_acknowledged_in_time_though_nobody_tells_a_name() {
    let bench = bench().await;
    let (_, tray, listening) = bench.listening().await;
    let began = bench.world.clock.elapsed();
    // The answer to who that is breaks off, or is refused.
    bench.platform.trouble("users.info", insula_testkit::slack::Trouble::CutAt(30));
    bench.say("one");
    tray.until(1).await;
    let lacks = insula_testkit::slack::Trouble::Lacks("users:read".into());
    bench.platform.trouble("users.info", lacks);
    bench.platform.say(&bench.town, &bench.bob, "two");
    let all = tray.until(2).await;
    assert!(bench.world.clock.elapsed() - began < Duration::from_secs(3));
    assert!(all.iter().all(|it| it.sender.name.is_empty() && it.address.user.is_some()));
    listening.stop().await.unwrap();
}
