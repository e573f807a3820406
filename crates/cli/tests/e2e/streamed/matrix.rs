//! On a real Matrix homeserver, which recognises what it has: one message for each answer, always.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use super::between::{Between, Fate};
use super::model::SlowModel;
use super::verdict::{Shown, Verdict};
use super::{Dice, asked_for};
use crate::matrix::replies;
use crate::support::*;
use insula_testkit::synapse::{Person, Synapse};
use insula_testkit::{Daemon, Home};
use serde_json::json as value;
use std::time::Duration;

/// Rooms that are talked in at once.
const ROOMS: usize = 4;
/// Kills before everything that was said has to be answered, and other rooms are taken: a
/// conversation that is long is shortened on its way to the model.
const KILLS_A_ROUND: u64 = 10;
/// The longest that a daemon is left alone, in milliseconds.
const ALIVE_MS_MAX: u64 = 9_000;
/// The longest that a kill comes after what it waits for, in milliseconds.
const AFTER_MS_MAX: u64 = 25;

struct Place {
    home: Home,
    between: Between,
    ann: Person,
    bot: Person,
    _server: Synapse,
}

impl Place {
    fn new(model: &SlowModel) -> Self {
        let server = Synapse::start().unwrap();
        let to = server.url().strip_prefix("http://").unwrap().parse().unwrap();
        let between = Between::start(to, &["/send/m.room.message/"]);
        let [ann, bot] = server.people(["ann", "bot"]);
        let config = format!(
            "model: slow/slow\nproviders: {{slow: {{kind: openai, base_url: '{}'}}}}\n\
             agents:\n  one: {{default: true, access: {{allow: ['matrix:@ann:localhost']}}, sessions: {{quiet: 0s}}, group: {{respond: all}}}}\n\
             channels:\n  matrix:\n    accounts:\n      home: {{homeserver: '{}', user: '{}', token: '{}'}}\n\
             bindings:\n  - {{agent: one, matrix: '*'}}\n",
            model.url(),
            between.url(),
            bot.id,
            bot.token,
        );
        Self { home: configured(&config), between, ann, bot, _server: server }
    }

    fn room(&self, name: &str) -> String {
        let invite = [self.bot.id.as_str()];
        let room = self.ann.make_room(&value!({ "name": name, "invite": invite }));
        self.bot.join(&room);
        room
    }

    fn start(&self) -> Daemon {
        let daemon = start_still(&self.home);
        eventually("the account is connected", || {
            let status = json(&self.home, &["status"]);
            (status["accounts"][0]["state"] == "connected").then_some(())
        });
        daemon
    }

    fn texts(&self, room: &str) -> Vec<String> {
        let said = replies(&self.ann.messages(room), &self.bot.id);
        said.into_iter().map(|reply| reply.text).collect()
    }

    /// One life of a daemon, to its end.
    fn kill(&self, dice: &mut Dice) {
        let fate = [None, Some(Fate::Passes), Some(Fate::Unanswered), Some(Fate::Late)];
        let fate = fate[usize::try_from(dice.below(4)).unwrap()];
        let (moment, after) = (dice.moment(ALIVE_MS_MAX), dice.moment(AFTER_MS_MAX));
        // Of the requests of a life, which are first messages and edits, any one.
        let count = 1 + dice.below(3);
        let daemon = start_still(&self.home);
        match fate {
            None => daemon.kill9_after(moment).unwrap(),
            Some(fate) => {
                for _ in 1..count {
                    let before = self.between.next_is(Fate::Passes);
                    self.between.wait(before, Duration::from_millis(ALIVE_MS_MAX / 3));
                }
                let before = self.between.next_is(fate);
                self.between.wait(before, Duration::from_millis(ALIVE_MS_MAX));
                daemon.kill9_after(after).unwrap()
            }
        };
        self.between.let_go();
    }
}

/// Kills so often, and judges what people see in the end.
fn campaign_of(kills: u64, seed: u64) -> Verdict {
    let model = SlowModel::start();
    let place = Place::new(&model);
    // What is said before the account was ever connected is history.
    place.start().kill9().unwrap();
    let mut dice = Dice::new(seed);
    let mut verdict = Verdict::default();
    let mut rooms: Vec<(String, Vec<String>)> = vec![];
    for first in (0..kills).step_by(usize::try_from(KILLS_A_ROUND).unwrap()) {
        let round = (0..ROOMS).map(|at| (place.room(&format!("r{first}-{at}")), vec![]));
        let mut round: Vec<(String, Vec<String>)> = round.collect();
        for number in first..(first + KILLS_A_ROUND).min(kills) {
            // There is always something to answer, and never a heap of it.
            for (at, (room, asked)) in round.iter_mut().enumerate() {
                let texts = place.texts(room);
                let is_answered =
                    |name: &String| texts.iter().any(|text| Shown::answers(text, name));
                if asked.iter().filter(|name| !is_answered(name)).count() < 2 {
                    let name = format!("k{number}-{at}");
                    place.ann.say(room, &format!("<{name}>"));
                    asked.push(name);
                }
            }
            place.kill(&mut dice);
        }
        let last = place.start();
        for (room, asked) in &round {
            place.ann.wait_for(room, |messages| {
                let said = replies(messages, &place.bot.id);
                let is_answered =
                    |name: &String| said.iter().any(|it| Shown::answers(&it.text, name));
                asked.iter().all(is_answered).then_some(())
            });
        }
        eventually("everything was sent", || {
            let open = json(&place.home, &["deliveries", "list", "one"]);
            open.as_array().unwrap().is_empty().then_some(())
        });
        last.kill9().unwrap();
        rooms.append(&mut round);
        println!("{} of {kills} kills", (first + KILLS_A_ROUND).min(kills));
    }
    // Nothing is said again later.
    for (room, asked) in &rooms {
        verdict.add(asked, &place.texts(room));
    }
    let _last = place.start();
    verdict.records = uncertain(&place.home, "one");
    assert_chains_hold(&place.home);
    println!(
        "matrix, {kills} kills with seed {seed}: {verdict}; {} questions to the model",
        model.asked()
    );
    verdict
}

#[test]
fn rule_11_kills_while_replies_stream_to_matrix_leave_one_answer() {
    let verdict = campaign_of(3, 7);
    assert!(verdict.said >= ROOMS, "{verdict}");
    assert_eq!(verdict.marked, 0, "{verdict}");
    verdict.hold();
}

#[test]
#[ignore = "as many kills as INSULA_KILLS says: scripts/stream-campaign"]
fn campaign() {
    let (kills, seed) = asked_for();
    campaign_of(kills, seed).hold();
}
