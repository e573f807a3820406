//! One bot, one group, three topics, three agents: each topic is a world of its own.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and processes, and fail by panicking"
)]

use super::stage::{Bot, Chat, Play, Stage, Who, add, bind, search};
use crate::support::*;

const COLOURS: [&str; 3] = ["red", "green", "blue"];

pub fn one_bot_one_group_three_topics_three_agents<S: Stage>() {
    let stage = S::open();
    let group = stage.group("forum", &[Bot::One]);
    let topics: Vec<Chat> = COLOURS.iter().map(|name| stage.topic(&group, name)).collect();
    let agents: String = COLOURS
        .iter()
        .map(|name| format!("  {name}: {{memory: true, model: puppet/{name}}}\n"))
        .collect();
    let bindings: String =
        COLOURS.iter().zip(&topics).map(|(name, topic)| bind::<S>(name, topic)).collect();
    let play = Play::begin(stage, &agents, &bindings);
    let both = |colour: &str| [format!("word-of-{colour}"), format!("memory-of-{colour}")];
    let talk = |who: Who| {
        for (colour, topic) in COLOURS.iter().zip(&topics) {
            let [word, memory] = both(colour);
            let told = play.ask(topic, who, &format!("here we say {word}"));
            assert!(told.contains(&word), "{told}");
            let told = play.ask(topic, who, &add(&format!("{memory} by {who:?}")));
            assert!(told.contains("done"), "{told}");
        }
    };
    talk(Who::Ann);
    talk(Who::Bob);
    for (colour, topic) in COLOURS.iter().zip(&topics) {
        let found = play.ask(topic, Who::Ann, &search("memory of by"));
        for other in COLOURS {
            assert_eq!(found.contains(&format!("memory-of-{other}")), other == *colour, "{found}");
        }
        play.ask(topic, Who::Ann, "/new");
        play.ask(topic, Who::Bob, "what do you know?");
    }
    for (colour, topic) in COLOURS.iter().zip(&topics) {
        // One conversation at a time, which both people share, and what both said is there.
        let sessions = play.sessions(colour);
        assert_eq!(sessions.iter().filter(|it| it["ended"] == false).count(), 1, "{sessions:?}");
        let scope = play.remembered(colour);
        assert_eq!(scope.len(), 2, "{scope:?}");
        // Not a byte of the other topics was ever shown to this agent's model.
        let shown = play.puppet.shown_to(colour);
        for other in COLOURS {
            let is_own = other == *colour;
            for words in both(other) {
                let times = shown.iter().filter(|body| body.contains(&words)).count();
                assert_eq!(times > 0, is_own, "{words} in a prompt of {colour}");
            }
        }
        // A new conversation is shown what was remembered, and not what was said.
        let [word, memory] = both(colour);
        let last = shown.last().unwrap();
        assert!(last.contains(&memory) && !last.contains(&word), "{last}");
        let heard = play.stage.heard(topic);
        assert!(heard.iter().all(|it| it.bot == Bot::One), "{heard:?}");
    }
    // Nothing was said outside of the topics.
    assert_eq!(play.stage.heard(&group), []);
}

pub fn a_token_lost_is_one_bot_lost<S: Stage>() {
    let stage = S::open();
    let [one, two] = Bot::BOTH.map(|bot| stage.direct(Who::Ann, bot));
    let group = stage.group("all", &[Bot::One]);
    let topic = stage.topic(&group, "a topic");
    let play = Play::begin(stage, "  a: {default: true}\n  b: {}\n", &bind::<S>("b", &topic));
    for chat in [&one, &two, &group, &topic] {
        assert!(play.ask(chat, Who::Ann, "hello").contains("heard: hello"));
    }
    play.stage.revoke(Bot::Two);
    let of = |account: &str| {
        let status = json(&play.home, &["status"]);
        let accounts = status["accounts"].as_array().unwrap().clone();
        accounts.into_iter().find(|it| it["account"] == account).unwrap()
    };
    let lost = eventually("it is told that the token is lost", || {
        Some(of("two")).filter(|it| it["state"] != "connected")
    });
    assert!(lost["reason"].is_string(), "{lost}");
    for chat in [&one, &group, &topic] {
        assert!(play.ask(chat, Who::Ann, "still there?").contains("heard: still there?"));
    }
    assert_eq!(of("one")["state"], "connected");
    assert_eq!(play.stage.heard(&two).len(), 1);
}
