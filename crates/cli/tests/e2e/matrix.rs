//! Agents in the rooms of a real homeserver: two people, two agents, threads, restarts of
//! either side, and kills under a stream of messages. Every message is answered, once.
//!
//! `scripts/matrix-campaign` kills as often as told.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files, sockets and processes, and fail by panicking"
)]

use crate::echo_model::EchoModel;
use crate::support::*;
use insula_testkit::synapse::{Person, Synapse};
use insula_testkit::{Daemon, Home};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

/// The longest that a daemon is left alone under load, in milliseconds.
const ALIVE_MS_MAX: u64 = 2_000;

/// A message of the bot's, as people read it now.
#[derive(Debug)]
struct Reply {
    text: String,
    thread: Option<String>,
}

/// What `bot` says in a room, changes applied.
fn replies(messages: &[Value], bot: &str) -> Vec<Reply> {
    let mut order = vec![];
    let mut by_id: BTreeMap<String, Reply> = BTreeMap::new();
    for event in messages.iter().filter(|event| event["sender"] == bot) {
        let (content, id) = (&event["content"], event["event_id"].as_str().unwrap().to_owned());
        let relates = &content["m.relates_to"];
        let body = |content: &Value| content["body"].as_str().unwrap_or_default().to_owned();
        if relates["rel_type"] == "m.replace" {
            let original = relates["event_id"].as_str().unwrap();
            by_id.get_mut(original).unwrap().text = body(&content["m.new_content"]);
            continue;
        }
        let thread = (relates["rel_type"] == "m.thread")
            .then(|| relates["event_id"].as_str().unwrap().to_owned());
        by_id.insert(id.clone(), Reply { text: body(content), thread });
        order.push(id);
    }
    order.into_iter().map(|id| by_id.remove(&id).unwrap()).collect()
}

/// Waits for the one answer to `text`.
fn answer(person: &Person, room: &str, bot: &str, text: &str) -> Reply {
    person.wait_for(room, |messages| {
        let mut found: Vec<Reply> =
            replies(messages, bot).into_iter().filter(|it| it.text.contains(text)).collect();
        assert!(found.len() <= 1, "`{text}` was answered twice: {found:#?}");
        found.pop()
    })
}

/// A homeserver, a home with two agents, and everybody who talks.
struct Place {
    server: Synapse,
    home: Home,
    ann: Person,
    bob: Person,
    bot: Person,
    /// A room of all three that agent `one` answers in.
    room: String,
    /// The same for agent `two`.
    other: String,
}

impl Place {
    fn new(model: &EchoModel) -> Self {
        let server = Synapse::start().unwrap();
        let [ann, bob, bot] = server.people(["ann", "bob", "bot"]);
        let make = |name: &str| {
            let room = ann.make_room(&json!({ "name": name, "invite": [&*bob.id, &*bot.id] }));
            bob.join(&room);
            bot.join(&room);
            room
        };
        let (room, other) = (make("one"), make("two"));
        let config = format!(
            "model: echo/echo\nproviders: {{echo: {{kind: openai, base_url: '{}'}}}}\n\
             defaults: {{access: {{allow: ['matrix:@ann:localhost', 'matrix:@bob:localhost']}}, sessions: {{quiet: 0s}}, group: {{respond: all}}}}\n\
             agents:\n  one: {{default: true}}\n  two: {{}}\n\
             channels:\n  matrix:\n    accounts:\n      home: {{homeserver: '{}', user: '{}', token: '{}'}}\n\
             bindings:\n  - {{agent: two, matrix: '{other}'}}\n  - {{agent: one, matrix: '*'}}\n",
            model.url(),
            server.url(),
            bot.id,
            bot.token,
        );
        Self { server, home: configured(&config), ann, bob, bot, room, other }
    }

    /// Starts the daemon and waits until its account is connected.
    fn start(&self) -> Daemon {
        let daemon = start_still(&self.home);
        self.connected();
        daemon
    }

    fn connected(&self) {
        eventually("the account is connected", || {
            let status = json(&self.home, &["status"]);
            (status["accounts"][0]["state"] == "connected").then_some(())
        });
    }

    fn answer(&self, room: &str, text: &str) -> Reply {
        answer(&self.ann, room, &self.bot.id, text)
    }

    fn sessions(&self, agent: &str) -> usize {
        json(&self.home, &["sessions", "list", agent]).as_array().unwrap().len()
    }
}

#[test]
fn two_people_talk_with_two_agents_in_rooms_and_threads_across_restarts() {
    let model = EchoModel::start();
    let mut place = Place::new(&model);
    let daemon = place.start();

    // Two rooms, two agents.
    place.ann.say(&place.room, "first-room");
    place.bob.say(&place.other, "second-room");
    assert_eq!(place.answer(&place.room, "first-room").thread, None);
    assert_eq!(place.answer(&place.other, "second-room").thread, None);

    // A thread is a world of its own, and the answer comes in it.
    let root = place.bob.say(&place.room, "root");
    place.answer(&place.room, "root");
    place.ann.say_in_thread(&place.room, &root, "in-thread");
    assert_eq!(place.answer(&place.room, "in-thread").thread.as_deref(), Some(&*root));
    assert_eq!((place.sessions("one"), place.sessions("two")), (2, 1));

    // Alone with it: the invitation of somebody who may talk is accepted.
    let direct = place.ann.make_direct(&place.bot.id);
    place.ann.wait_for(&direct, |_| {
        let members = place.ann.get("GET", &format!("/rooms/{direct}/joined_members"), None);
        members["joined"].get(&place.bot.id).map(|_| ())
    });
    place.ann.say(&direct, "alone");
    place.answer(&direct, "alone");

    // The homeserver restarts.
    place.server.stop().unwrap();
    place.server.start_again().unwrap();
    place.ann.say(&place.room, "after-the-server");
    place.answer(&place.room, "after-the-server");

    // The daemon restarts, and what was said meanwhile is answered.
    daemon.terminate().unwrap();
    place.bob.say(&place.room, "room-away");
    place.ann.say_in_thread(&place.room, &root, "thread-away");
    let daemon = place.start();
    assert_eq!(place.answer(&place.room, "room-away").thread, None);
    let reply = place.answer(&place.room, "thread-away");
    assert_eq!(reply.thread.as_deref(), Some(&*root));

    // Nothing was said that nobody asked for.
    let messages = place.ann.messages(&place.room);
    let said = replies(&messages, &place.bot.id);
    assert_eq!(said.len(), 6, "{said:#?}");
    daemon.terminate().unwrap();
}

/// Kills the daemon so often under a stream of messages, and gives how many were answered.
fn kills(count: u64, seed: u64) -> usize {
    let model = EchoModel::start();
    let place = Place::new(&model);
    let root = place.ann.say(&place.room, "<root>");
    // What is said before the account was ever connected is history.
    place.start().kill9().unwrap();
    let mut dice = seed;
    let mut said: Vec<(String, Option<String>)> = vec![];
    let mut settled = 0;
    for number in 0..count {
        let daemon = start_still(&place.home);
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = Duration::from_millis((dice >> 33) % ALIVE_MS_MAX);
        thread::scope(|scope| {
            let killed = scope.spawn(move || daemon.kill9_after(moment).unwrap());
            let mut part = 0;
            // A stream that ends with the daemon: at least one message, at most as many as fit.
            while part == 0 || !killed.is_finished() {
                let text = format!("<k{number}-{part}>");
                if part % 2 == 0 {
                    place.bob.say(&place.room, &text);
                    said.push((text, None));
                } else {
                    place.ann.say_in_thread(&place.room, &root, &text);
                    said.push((text, Some(root.clone())));
                }
                part += 1;
            }
        });
        // Every few kills everything has to be answered; in between it may pile up.
        if number % 4 == 3 || number + 1 == count {
            let daemon = place.start();
            let (last, _) = &said[said.len() - 1];
            let before = said.len() - settled;
            place.answer(&place.room, last);
            for (text, thread) in &said[settled..] {
                assert_eq!(place.answer(&place.room, text).thread, *thread, "kill {number}");
            }
            assert!(before > 0);
            settled = said.len();
            daemon.kill9().unwrap();
        }
    }
    // Once each, and in the order they were said in their place.
    let daemon = place.start();
    place.bob.say(&place.room, "<end>");
    place.answer(&place.room, "<end>");
    let replies = replies(&place.ann.messages(&place.room), &place.bot.id);
    for thread in [None, Some(root)] {
        let here = |it: &&Reply| it.thread == thread;
        let all: String = replies.iter().filter(here).map(|it| it.text.as_str()).collect();
        let mut from = 0;
        for (text, _) in said.iter().filter(|(_, place)| *place == thread) {
            assert_eq!(all.matches(text.as_str()).count(), 1, "{text} in {all}");
            let at = all.find(text.as_str()).unwrap();
            assert!(at >= from, "{text} is out of order in {all}");
            from = at;
        }
    }
    daemon.terminate().unwrap();
    said.len()
}

#[test]
fn rule_11_kills_under_a_stream_of_messages_answer_each_once() {
    assert!(kills(3, 5) >= 3);
}

/// `scripts/matrix-campaign` runs this.
#[test]
#[ignore = "takes as long as it is told; run it with scripts/matrix-campaign"]
fn matrix_campaign() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("INSULA_KILLS").expect("INSULA_KILLS says how many");
    let seed = number("INSULA_SEED").unwrap_or(1);
    let answered = kills(count, seed);
    println!(
        "{count} kills with seed {seed}: {answered} messages, each answered once and in order"
    );
}
