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
pub struct Reply {
    pub text: String,
    pub thread: Option<String>,
}

/// What `bot` says in a room, changes applied.
pub fn replies(messages: &[Value], bot: &str) -> Vec<Reply> {
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

/// Somebody's new room with others in it.
fn room_of(owner: &Person, guests: [&Person; 2], name: &str) -> String {
    let invite = guests.map(|guest| guest.id.as_str());
    let room = owner.make_room(&json!({ "name": name, "invite": invite }));
    guests.iter().for_each(|guest| guest.join(&room));
    room
}

/// A homeserver, a home with two agents, and everybody who talks.
struct MatrixSetup {
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

impl MatrixSetup {
    fn new(model: &EchoModel) -> Self {
        let server = Synapse::start().unwrap();
        let [ann, bob, bot] = server.people(["ann", "bob", "bot"]);
        let make = |name: &str| room_of(&ann, [&bob, &bot], name);
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

    /// A further room of all three, that agent `one` answers in.
    fn make_room(&self, name: &str) -> String {
        room_of(&self.ann, [&self.bob, &self.bot], name)
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
    let mut place = MatrixSetup::new(&model);
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

    // The homeserver restarts: stopped as it should be, and killed.
    for how in ["stopped", "killed"] {
        match how {
            "stopped" => place.server.stop().unwrap(),
            _ => place.server.kill9().unwrap(),
        }
        place.server.start_again().unwrap();
        place.ann.say(&place.room, &format!("room-after-{how}"));
        place.bob.say(&place.other, &format!("other-after-{how}"));
        place.bob.say_in_thread(&place.room, &root, &format!("thread-after-{how}"));
        place.answer(&place.room, &format!("room-after-{how}"));
        place.answer(&place.other, &format!("other-after-{how}"));
        let reply = place.answer(&place.room, &format!("thread-after-{how}"));
        assert_eq!(reply.thread.as_deref(), Some(&*root));
    }

    // The daemon restarts, and what was said meanwhile is answered.
    daemon.terminate().unwrap();
    place.bob.say(&place.room, "room-away");
    place.ann.say(&place.other, "other-away");
    place.ann.say_in_thread(&place.room, &root, "thread-away");
    place.ann.say(&direct, "direct-away");
    let daemon = place.start();
    assert_eq!(place.answer(&place.room, "room-away").thread, None);
    assert_eq!(place.answer(&place.other, "other-away").thread, None);
    assert_eq!(place.answer(&direct, "direct-away").thread, None);
    let reply = place.answer(&place.room, "thread-away");
    assert_eq!(reply.thread.as_deref(), Some(&*root));

    // Both at once.
    daemon.kill9().unwrap();
    place.server.kill9().unwrap();
    place.server.start_again().unwrap();
    place.bob.say(&place.room, "room-after-both");
    place.bob.say(&place.other, "other-after-both");
    let daemon = place.start();
    place.answer(&place.room, "room-after-both");
    place.answer(&place.other, "other-after-both");

    // Nothing was said that nobody asked for, and every conversation went on as one: the model
    // complains of what is lost, doubled or another's.
    let said = |room: &str| replies(&place.ann.messages(room), &place.bot.id).len();
    assert_eq!((said(&place.room), said(&place.other), said(&direct)), (10, 5, 2));
    assert_eq!((place.sessions("one"), place.sessions("two")), (3, 1));
    assert_eq!(model.complaints(), Vec::<String>::new());
    daemon.terminate().unwrap();
}

/// Kills in one room, before everything said there has to be answered.
const KILLS_A_ROOM: u64 = 4;

/// What was said in one room while the daemon was killed, and in which thread.
struct Round {
    room: String,
    root: String,
    said: Vec<(String, Option<String>)>,
}

impl Round {
    /// Whether everything was answered, at least once.
    fn is_answered(&self, replies: &[Reply]) -> bool {
        let has = |text: &str| replies.iter().any(|it| it.text.contains(text));
        self.said.iter().all(|(text, _)| has(text))
    }

    /// Once each, where it was said, and in the order of its place.
    fn check(&self, replies: &[Reply]) {
        for thread in [None, Some(&self.root)] {
            let here = |it: &&Reply| it.thread.as_ref() == thread;
            let all: String = replies.iter().filter(here).map(|it| it.text.as_str()).collect();
            let mut from = 0;
            for (text, _) in self.said.iter().filter(|(_, place)| place.as_ref() == thread) {
                assert_eq!(all.matches(text.as_str()).count(), 1, "{text} in {all}");
                let at = all.find(text.as_str()).unwrap();
                assert!(at >= from, "{text} is out of order in {all}");
                from = at;
            }
        }
    }
}

/// Kills the daemon so often under a stream of messages, and gives how many were answered.
fn kills(count: u64, seed: u64) -> usize {
    let model = EchoModel::start();
    let place = MatrixSetup::new(&model);
    // What is said before the account was ever connected is history.
    place.start().kill9().unwrap();
    let mut dice = seed;
    let mut rounds: Vec<Round> = vec![];
    for first in (0..count).step_by(KILLS_A_ROOM as usize) {
        let room = place.make_room(&format!("round {first}"));
        let text = format!("<root-{first}>");
        let root = place.ann.say(&room, &text);
        let mut round = Round { room, root, said: vec![(text, None)] };
        for number in first..(first + KILLS_A_ROOM).min(count) {
            let daemon = start_still(&place.home);
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let moment = Duration::from_millis((dice >> 33) % ALIVE_MS_MAX);
            thread::scope(|scope| {
                let killed = scope.spawn(move || daemon.kill9_after(moment).unwrap());
                let mut part = 0;
                // A stream that ends with the daemon: at least one message, at most as many as
                // fit.
                while part == 0 || !killed.is_finished() {
                    let text = format!("<k{number}-{part}>");
                    if part % 2 == 0 {
                        place.bob.say(&round.room, &text);
                        round.said.push((text, None));
                    } else {
                        place.ann.say_in_thread(&round.room, &round.root, &text);
                        round.said.push((text, Some(round.root.clone())));
                    }
                    part += 1;
                }
            });
        }
        // What piled up has to be answered now, by one that is not killed before.
        let daemon = place.start();
        let answered = |messages: &[Value]| {
            let replies = replies(messages, &place.bot.id);
            round.is_answered(&replies).then_some(replies)
        };
        round.check(&place.ann.wait_for(&round.room, answered));
        daemon.kill9().unwrap();
        rounds.push(round);
        let messages: usize = rounds.iter().map(|round| round.said.len()).sum();
        println!("{} of {count} kills, {messages} messages", (first + KILLS_A_ROOM).min(count));
    }
    // Nothing is said again later.
    let daemon = place.start();
    place.bob.say(&place.room, "<end>");
    place.answer(&place.room, "<end>");
    for round in &rounds {
        round.check(&replies(&place.ann.messages(&round.room), &place.bot.id));
    }
    daemon.terminate().unwrap();
    assert_chains_hold(&place.home);
    rounds.iter().map(|round| round.said.len()).sum()
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
