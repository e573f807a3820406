//! Which agent, which conversation, which bot: C1 to C6.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and processes, and fail by panicking"
)]

use super::stage::{Bot, Chat, Play, Stage, Who, bind, config};
use crate::support::*;
use std::collections::BTreeSet;

pub fn c01_a_chat_is_the_same_however_its_id_is_written<S: Stage>() {
    let stage = S::open();
    let groups = [(); 3].map(|()| stage.group("a group", &[Bot::One]));
    let else_where = stage.group("another", &[Bot::One]);
    let platform = S::PLATFORM;
    let is_number = groups[0].id.parse::<i64>().is_ok();
    let bare = if is_number { groups[0].id.clone() } else { format!("\"{}\"", groups[0].id) };
    let bindings = format!(
        "  - {{agent: b, {platform}: {bare}}}\n  - {{agent: b, {platform}: '{}'}}\n  - {{agent: b, {platform}: {{chat: '{}', account: one}}}}\n",
        groups[1].id, groups[2].id,
    );
    let play = Play::begin(stage, "  a: {default: true, name: Aye}\n  b: {name: Bee}\n", &bindings);
    for group in &groups {
        let told = play.ask(group, Who::Bob, "/whoami");
        assert!(told.contains("talking to Bee"), "{told}");
    }
    assert!(play.ask(&else_where, Who::Bob, "/whoami").contains("talking to Aye"));
}

pub fn c02_nobody_stands_in_for_an_agent_that_does_not_serve<S: Stage>() {
    let stage = S::open();
    let [ghost, broken, paused, fine] =
        ["ghost", "broken", "paused", "fine"].map(|name| stage.group(name, &[Bot::One]));
    let agents = "  main: {default: true, model: puppet/main}\n  broken: {isolation: container, model: puppet/broken}\n  paused: {model: puppet/paused}\n";
    let bindings =
        [("ghost", &ghost), ("broken", &broken), ("paused", &paused)].map(|(a, c)| bind::<S>(a, c));
    let play = Play::begin(stage, agents, &bindings.concat());
    insula(&play.home, &["agents", "pause", "paused"]).ok();
    for chat in [&ghost, &broken] {
        play.stage.say(chat, Who::Ann, "is anybody there?");
    }
    play.until_visits("unrouted", 2);
    assert_eq!(play.ask(&paused, Who::Bob, "hello"), "I am paused at the moment");
    assert!(play.ask(&fine, Who::Bob, "hello").contains("heard: hello"));
    for chat in [&ghost, &broken] {
        assert_eq!(play.stage.heard(chat), []);
    }
    let shown: Vec<String> = play.puppet.prompts().into_iter().map(|it| it.model).collect();
    assert_eq!(shown, ["main"], "no model heard of it but the one it was for");
    play.assert_not_shown(0, "is anybody there");
    // It is told to who runs it.
    let log = play.daemon.log();
    for agent in ["ghost", "broken"] {
        assert!(log.lines().any(|line| line.contains("refused") && line.contains(agent)), "{log}");
    }
    // It goes on where it was let go on.
    assert_eq!(play.ask(&paused, Who::Ann, "/resume"), "going on");
    assert!(play.ask(&paused, Who::Bob, "hello").contains("heard: hello"));
}

pub fn c03_two_rules_alike_refuse_and_the_rest_goes_on<S: Stage>() {
    let stage = S::open();
    let [group, other] = ["all", "other"].map(|name| stage.group(name, &[Bot::One]));
    let agents = "  a: {name: Aye}\n  b: {name: Bee}\n";
    let elsewhere = bind::<S>("b", &other);
    let play = Play::begin(stage, agents, &(bind::<S>("a", &group) + &elsewhere));
    assert!(play.ask(&group, Who::Bob, "/whoami").contains("talking to Aye"));
    let tied = bind::<S>("a", &group) + &bind::<S>("b", &group) + &elsewhere;
    let config = config(&play.stage, &play.puppet, agents, &tied);
    play.home.write("config.yaml", &config).unwrap();
    let checked = insula(&play.home, &["check"]);
    assert_eq!(checked.code, Some(2), "{checked:?}");
    let at = |agent: &str| {
        let rule = format!("agent: {agent}, ");
        config.lines().position(|line| line.contains(&rule)).unwrap() + 1
    };
    let told = format!("{}{}", checked.stdout, checked.stderr);
    for line in [at("a"), at("b")] {
        assert!(told.contains(&format!("{line}:")), "line {line}: {told}");
    }
    insula(&play.home, &["reload"]).ok();
    // Neither answers where both would, and the rest goes on.
    let before = play.stage.heard(&group);
    play.stage.say(&group, Who::Bob, "is anybody there?");
    play.until_visits("unrouted", 1);
    assert!(play.ask(&other, Who::Bob, "/whoami").contains("talking to Bee"));
    assert_eq!(play.stage.heard(&group), before);
    play.assert_not_shown(0, "is anybody there");
}

pub fn c04_odd_ids_make_conversations_of_their_own<S: Stage>() {
    let stage = S::open();
    let chats: Vec<Chat> = (0..S::ODD).map(|it| stage.direct(Who::Odd(it), Bot::One)).collect();
    let agents = format!("  a: {{default: true, access: {{allow: ['{}:*']}}}}\n", S::PLATFORM);
    let play = Play::begin(stage, &agents, "");
    for (number, chat) in chats.iter().enumerate() {
        let told = play.ask(chat, Who::Odd(number), &format!("word-{number}"));
        assert_eq!(told, format!("heard: word-{number}"));
    }
    play.stage.send_nonsense(&chats[0]);
    for (number, chat) in chats.iter().enumerate() {
        let from = play.puppet.prompts().len();
        play.ask(chat, Who::Odd(number), "again");
        let shown = &play.puppet.prompts()[from].body;
        for other in 0..chats.len() {
            let is_shown = shown.contains(&format!("word-{other}"));
            assert_eq!(is_shown, other == number, "{number}, {other}: {shown}");
        }
        assert_eq!(play.stage.heard(chat).len(), 2);
    }
    let keys: BTreeSet<String> =
        play.sessions("a").iter().map(|it| it["key"].to_string()).collect();
    assert_eq!(keys.len(), chats.len(), "{keys:?}");
    // Each name says where it came from, whatever letters that has.
    for chat in &chats {
        let id = chat.id.replace('!', "%21").replace(':', "%3A");
        let is_here = |key: &&String| {
            key.contains(&format!(":dm:{id}:")) || key.ends_with(&format!(":dm:{id}\""))
        };
        assert_eq!(keys.iter().filter(is_here).count(), 1, "{id}: {keys:?}");
    }
}

pub fn c05_one_person_and_two_bots_are_two_conversations<S: Stage>() {
    let stage = S::open();
    let [one, two] = Bot::BOTH.map(|bot| stage.direct(Who::Ann, bot));
    let play = Play::begin(stage, "  a: {default: true, memory: true}\n", "");
    play.ask(&one, Who::Ann, "the word of the first is quetzal");
    let from = play.puppet.prompts().len();
    play.ask(&two, Who::Ann, "the word of the second is zx81");
    play.assert_not_shown(from, "quetzal");
    let from = play.puppet.prompts().len();
    play.ask(&one, Who::Ann, "again");
    play.assert_not_shown(from, "zx81");
    assert!(play.puppet.prompts()[from].body.contains("quetzal"));
    assert_eq!(play.sessions("a").len(), 2);
}

pub fn c06_a_reply_leaves_by_the_bot_it_came_in_by<S: Stage>() {
    let stage = S::open();
    let [one, two] = Bot::BOTH.map(|bot| stage.direct(Who::Ann, bot));
    let group = stage.group("all", &[Bot::Two]);
    let play = Play::begin(stage, "  a: {default: true}\n", "");
    for number in 0..3 {
        for chat in [&one, &two, &group] {
            let told = play.ask(chat, Who::Ann, &format!("say {number}"));
            assert_eq!(told, format!("heard: say {number}"));
        }
    }
    // What was asked before a restart too.
    let Play { stage, home, daemon, puppet } = play;
    daemon.terminate().unwrap();
    stage.say(&two, Who::Ann, "while you were away");
    let play = Play { daemon: start_still(&home), stage, home, puppet };
    play.until_said(&two, "while you were away");
    for (chat, bot, count) in [(&one, Bot::One, 3), (&two, Bot::Two, 4), (&group, Bot::Two, 3)] {
        let heard = play.stage.heard(chat);
        assert!(heard.iter().all(|heard| heard.bot == bot), "{heard:?}");
        assert_eq!(heard.len(), count, "{heard:?}");
    }
}
