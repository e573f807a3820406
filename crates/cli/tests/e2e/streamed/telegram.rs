//! On Telegram, which knows no idempotency: a message whose name was lost with the daemon stays,
//! and what follows it says so.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch sockets and threads, and fail by panicking"
)]

use super::model::SlowModel;
use super::verdict::{Shown, Verdict};
use super::{Dice, asked_for};
use crate::gateway::telegram::{ADA, Platform};
use crate::support::*;
use insula_testkit::Home;
use insula_testkit::telegram::{Draft, Trouble, User, Where};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// People who talk, each in a chat of their own.
const PEOPLE: i64 = 6;
/// The most that one says before they wait for the answers.
const AT_ONCE_MAX: usize = 2;
/// What one person says before another takes their place: a long conversation would be shortened.
const SAID_MAX: usize = 20;
/// The longest that a daemon is left alone, in milliseconds.
const ALIVE_MS_MAX: u64 = 7_000;
/// The longest that a kill comes after what it waits for, in milliseconds: what is written down
/// of a request takes less.
const AFTER_MS_MAX: u64 = 25;

/// What a kill waits for.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Nothing: a moment.
    Moment,
    /// A request that the platform does, and that is never answered.
    Unanswered(&'static str),
    /// A request that the platform does after the daemon is gone.
    Late(&'static str),
    /// A request that is being answered.
    Answered(&'static str),
}

const STEPS: [Step; 8] = [
    Step::Moment,
    Step::Moment,
    Step::Unanswered("sendMessage"),
    Step::Unanswered("editMessageText"),
    Step::Late("sendMessage"),
    Step::Late("editMessageText"),
    Step::Answered("sendMessage"),
    Step::Answered("editMessageText"),
];

/// One life of a daemon, to its end.
fn kill(platform: &Platform, home: &Home, dice: &mut Dice) {
    let step = STEPS[usize::try_from(dice.below(STEPS.len() as u64)).unwrap()];
    let (moment, after) = (dice.moment(ALIVE_MS_MAX), dice.moment(AFTER_MS_MAX));
    let telegram = &platform.telegram;
    let late = Arc::new(Notify::new());
    match step {
        Step::Unanswered(method) => telegram.trouble(ADA, method, Trouble::Silence),
        Step::Late(method) => telegram.trouble(ADA, method, Trouble::Wait(late.clone())),
        Step::Moment | Step::Answered(_) => {}
    }
    let daemon = start_still(home);
    match step {
        Step::Moment => daemon.kill9_after(moment).unwrap(),
        Step::Unanswered(method) | Step::Late(method) | Step::Answered(method) => {
            let before = telegram.asked_for(method).len();
            platform.until_or(Duration::from_millis(ALIVE_MS_MAX), |platform| {
                (platform.asked_for(method).len() > before).then_some(())
            });
            daemon.kill9_after(after).unwrap()
        }
    };
    late.notify_one();
    telegram.calm(ADA);
}

/// Kills so often, and judges what people see in the end.
fn campaign_of(kills: u64, seed: u64) -> Verdict {
    let (platform, model) = (Platform::start(), SlowModel::start());
    let home = platform.home_with(
        &format!(
            "model: slow/slow\nproviders: {{slow: {{kind: openai, base_url: \"{}\"}}}}\n",
            model.url()
        ),
        "  main: {default: true, tools: [todo], sessions: {quiet: 0s}, access: {allow: ['telegram:*']}}\n",
        "  - {agent: main, telegram: \"*\"}\n",
    );
    let stop = AtomicBool::new(false);
    let said = std::thread::scope(|scope| {
        let talk = |person: i64| {
            let (platform, stop) = (&platform, &stop);
            move || {
                let mut said: Vec<(i64, String)> = vec![];
                let mut counts = (1..=AT_ONCE_MAX).cycle();
                while !stop.load(Ordering::SeqCst) {
                    let sitting = i64::try_from(said.len() / SAID_MAX).unwrap();
                    let user = User::new(100 + person + PEOPLE * sitting, "P");
                    let first = said.len();
                    for _ in 0..counts.next().unwrap_or(1) {
                        let name = format!("p{person}-{}", said.len());
                        let draft = Draft::new(&user, &format!("<{name}>"));
                        platform.telegram.say(Where::Dm(ADA), &draft);
                        said.push((user.id, name));
                    }
                    for (_, name) in &said[first..] {
                        platform.until(|sent| Shown::answers(&sent.text, name));
                    }
                }
                said
            }
        };
        let people: Vec<_> = (0..PEOPLE).map(|person| scope.spawn(talk(person))).collect();
        let mut dice = Dice::new(seed);
        for number in 1..=kills {
            kill(&platform, &home, &mut dice);
            if number % 20 == 0 {
                println!("{number} of {kills} kills, {} questions to the model", model.asked());
            }
        }
        let _last = start_still(&home);
        stop.store(true, Ordering::SeqCst);
        let said: Vec<_> = people.into_iter().flat_map(|one| one.join().unwrap()).collect();
        // What was in doubt is there twice by now.
        eventually("everything was sent", || {
            let open = json(&home, &["deliveries", "list", "main"]);
            open.as_array().unwrap().is_empty().then_some(())
        });
        said
    });
    assert_chains_hold(&home);
    let mut chats: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for (user, name) in said {
        chats.entry(user).or_default().push(name);
    }
    let mut verdict = Verdict { records: uncertain(&home, "main"), ..Verdict::default() };
    for (user, asked) in &chats {
        let sent = platform.telegram.sent_to(*user, None).into_iter();
        verdict.add(asked, &sent.map(|sent| sent.text).collect::<Vec<_>>());
    }
    let count = |method: &str| platform.telegram.asked_for(method).len();
    println!(
        "telegram, {kills} kills with seed {seed}: {verdict}; {} questions to the model, {} sends, {} edits",
        model.asked(),
        count("sendMessage"),
        count("editMessageText"),
    );
    verdict
}

#[test]
fn rule_11_kills_while_replies_stream_to_telegram_leave_one_answer_or_say_so() {
    let verdict = campaign_of(5, 3);
    assert!(verdict.said >= 6, "{verdict}");
    verdict.hold();
}

#[test]
#[ignore = "as many kills as INSULA_KILLS says: scripts/stream-campaign"]
fn campaign() {
    let (kills, seed) = asked_for();
    campaign_of(kills, seed).hold();
}
