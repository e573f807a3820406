//! A fake platform on which people talk while the daemon is killed again and again: the same for
//! each. Between the two stands what tells when a message is on its way, so that a kill can come
//! at any step of it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use super::Dice;
use super::between::{Between, Fate};
use super::model::SlowModel;
use super::verdict::{Shown, Verdict};
use crate::places::Place;
use crate::support::*;
use insula_testkit::{Daemon, Home};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// People who talk, each in a chat of their own.
const PEOPLE: usize = 5;
/// The most that one says before they wait for the answers.
const AT_ONCE_MAX: usize = 2;
/// What one person says before another takes their place: a long conversation would be shortened.
const SAID_MAX: usize = 20;
/// The longest that a daemon is left alone, in milliseconds.
const ALIVE_MS_MAX: u64 = 7_000;
/// The longest that a kill comes after what it waits for, in milliseconds.
const AFTER_MS_MAX: u64 = 25;
/// Between two looks of somebody who waits for an answer.
const LOOKS: Duration = Duration::from_millis(50);
/// How long an answer may take before it counts as one that never comes.
const NEVER: Duration = Duration::from_secs(240);

struct Campaign<'c> {
    place: &'c dyn Place,
    between: Between,
    home: Home,
    stop: AtomicBool,
}

impl<'c> Campaign<'c> {
    fn new(place: &'c dyn Place, model: &SlowModel) -> Self {
        let url = place.url();
        let to = url.split('/').nth(2).unwrap();
        let between = Between::start(to.parse().unwrap(), place.kinds());
        let account = place.account(&url.replace(to, &between.address().to_string()));
        let (name, model) = (place.name(), model.url());
        let home = configured(&format!(
            "model: slow/slow\nproviders: {{slow: {{kind: openai, base_url: '{model}'}}}}\n\
             agents:\n  main: {{default: true, tools: [todo], sessions: {{quiet: 0s}}, access: {{allow: ['{name}:*']}}}}\n\
             bindings:\n  - {{agent: main, {name}: '*'}}\n\
             channels:\n  {name}:\n    accounts:\n      main: {account}\n"
        ));
        Self { place, between, home, stop: AtomicBool::new(false) }
    }

    fn start(&self) -> Daemon {
        let daemon = start_still(&self.home);
        self.place.daemon_is_at(Some(daemon.listen()));
        daemon
    }

    fn connected(&self) -> Daemon {
        let daemon = self.start();
        eventually("the account is connected", || {
            let status = json(&self.home, &["status"]);
            (status["accounts"][0]["state"] == "connected").then_some(())
        });
        daemon
    }

    /// Somebody who talks until told to stop: each chat with what was asked there.
    fn talk(&self, person: usize) -> Vec<(String, String)> {
        let mut said: Vec<(String, String)> = vec![];
        let mut chat = String::new();
        let mut counts = (1..=AT_ONCE_MAX).cycle();
        while !self.stop.load(Ordering::SeqCst) {
            if chat.is_empty() || said.iter().filter(|it| it.0 == chat).count() >= SAID_MAX {
                chat = self.place.chat();
            }
            let first = said.len();
            for _ in 0..counts.next().unwrap_or(1) {
                let name = format!("p{person}-{}", said.len());
                self.place.say(&chat, &format!("<{name}>"));
                said.push((chat.clone(), name));
            }
            let end = Instant::now() + NEVER;
            for (_, name) in &said[first..] {
                let is_it = |text: &String| Shown::answers(text, name);
                while !self.place.texts(&chat).iter().any(is_it) && Instant::now() < end {
                    thread::sleep(LOOKS);
                }
            }
        }
        said
    }

    /// One life of a daemon, to its end.
    fn kill(&self, dice: &mut Dice) {
        let fates = [None, Some(Fate::Passes), Some(Fate::Unanswered), Some(Fate::Late)];
        let fate = fates[usize::try_from(dice.below(4)).unwrap()];
        let (moment, after) = (dice.moment(ALIVE_MS_MAX), dice.moment(AFTER_MS_MAX));
        // Of the requests of a life any one.
        let count = 1 + dice.below(3);
        let daemon = self.start();
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
        self.place.daemon_is_at(None);
        self.between.let_go();
    }
}

/// Kills so often, and judges what people see in the end.
pub fn campaign_of(place: &dyn Place, kills: u64, seed: u64) -> Verdict {
    let model = SlowModel::start();
    let campaign = Campaign::new(place, &model);
    // What is said before the account was ever connected is history.
    campaign.connected().kill9().unwrap();
    let mut dice = Dice::new(seed);
    let said = thread::scope(|scope| {
        let campaign = &campaign;
        let people: Vec<_> =
            (0..PEOPLE).map(|person| scope.spawn(move || campaign.talk(person))).collect();
        for number in 1..=kills {
            campaign.kill(&mut dice);
            if number % 20 == 0 {
                println!("{number} of {kills} kills, {} questions to the model", model.asked());
            }
        }
        let _last = campaign.start();
        campaign.stop.store(true, Ordering::SeqCst);
        let said: Vec<_> = people.into_iter().flat_map(|one| one.join().unwrap()).collect();
        // What was in doubt is there twice by now.
        eventually("everything was sent", || {
            let open = json(&campaign.home, &["deliveries", "list", "main"]);
            open.as_array().unwrap().is_empty().then_some(())
        });
        said
    });
    assert_chains_hold(&campaign.home);
    let mut chats: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (chat, name) in said {
        chats.entry(chat).or_default().push(name);
    }
    let mut verdict = Verdict { records: uncertain(&campaign.home, "main"), ..Verdict::default() };
    for (chat, asked) in &chats {
        verdict.add(asked, &place.texts(chat));
    }
    println!(
        "{}, {kills} kills with seed {seed}: {verdict}; {} questions to the model",
        place.name(),
        model.asked(),
    );
    verdict
}
