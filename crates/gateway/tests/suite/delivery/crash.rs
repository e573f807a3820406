//! A daemon that is gone in the middle: at every single thing that happens between it and the
//! platform, once and twice, it is killed and begins anew over the same store.

use crate::delivery::platform::{Fake, Seen, forgetful, mindful};
use crate::delivery::support::{Life, home, in_a_life, long_reply, repetition, reply};
use insula_channel::{Features, TextLimit};
use insula_owner::split;
use insula_store::TurnStatus;
use insula_turns::SubmitError;
use proptest::prelude::*;
use std::sync::Arc;

/// What is asked, by chat: one after the other, a long reply, one that is shown as it comes.
const SAID: [(&str, &str); 5] = [
    ("c1", "say one"),
    ("c1", "long two"),
    ("c1", "say three"),
    ("c2", "slowly four is a longer story that takes a while"),
    ("c2", "say five"),
];

/// What people should read, message by message.
fn expected(chat: &str, limit: usize) -> Vec<String> {
    let said = SAID.iter().filter(|(at, _)| *at == chat);
    let replies = said.map(|(_, text)| {
        let (what, rest) = text.split_once(' ').unwrap();
        if what == "long" { long_reply(rest) } else { reply(rest) }
    });
    replies.flat_map(|text| parts(&text, limit)).collect()
}

fn parts(text: &str, limit: usize) -> Vec<String> {
    let (mut all, mut from) = (Vec::new(), 0);
    while let Some(piece) = split::next(text, from, TextLimit::Utf16(limit)) {
        from = piece.upto;
        all.push(piece.text);
        if piece.is_last {
            break;
        }
    }
    all
}

/// Whether the account is there when a life begins, as one that connects at once, or only after
/// the way out has looked for it.
#[derive(Clone, Copy, PartialEq)]
enum Account {
    Ready,
    Late,
}

/// One life: says what was not taken yet, and goes on until all is delivered or it is gone.
fn live(files: &insula_testkit::Home, fake: &Arc<Fake>, account: Account) -> bool {
    in_a_life(async {
        if account == Account::Late {
            fake.send_away("main");
        }
        let life = Life::begin(files, fake).await;
        let work = async {
            if account == Account::Late {
                // Every life begins at the same hour, and what was put off in the last one has to
                // be due in this.
                life.sleep(3_600).await;
                fake.call_back("main");
            }
            for (chat, text) in SAID {
                match life.submit("main", "a", chat, text).await {
                    Ok(handle) => {
                        let place = crate::delivery::support::place("main", chat);
                        life.out.follow(life.agent("a"), place, None, handle);
                    }
                    // The platform delivers what was not acknowledged again.
                    Err(SubmitError::Known { status, .. }) => {
                        assert!(matches!(status, TurnStatus::Accepted | TurnStatus::Replied));
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            let store = life.agent("a").store.clone();
            loop {
                let origins = store.origins(insula_store::TurnId(0), 1).await.unwrap();
                if origins.is_empty() && store.next_delivery().await.unwrap().is_none() {
                    return;
                }
                life.daemon.world().clock.sleep(std::time::Duration::from_millis(200)).await;
            }
        };
        tokio::select! {
            biased;
            () = fake.crash() => false,
            () = work => true,
        }
    })
}

/// All lives: killed at each of `points`, then left alone. How the account is found counts from
/// the second on.
fn lives(features: Features, points: &[usize], account: Account) -> (Arc<Fake>, usize) {
    let (files, fake) = (home(), Fake::new(features));
    let mut first = Account::Ready;
    for point in points {
        fake.crash_at(Some(*point));
        if live(&files, &fake, std::mem::replace(&mut first, account)) {
            break;
        }
    }
    fake.crash_at(None);
    assert!(live(&files, &fake, account), "it never came to an end");
    let events = fake.events();
    (fake, events)
}

fn is_beginning(seen: &Seen) -> bool {
    seen.text.ends_with("\n…")
}

/// On a platform that recognises repetitions everything is there once and in order.
fn check_mindful(fake: &Fake, points: &[usize]) {
    for chat in ["c1", "c2"] {
        assert_eq!(fake.texts(chat), expected(chat, 280), "{chat}, killed at {points:?}");
    }
}

/// On one that does not, everything is there in order, and what is there twice says so.
fn check_forgetful(fake: &Fake, points: &[usize]) {
    for chat in ["c1", "c2"] {
        let seen: Vec<Seen> = fake.seen().into_iter().filter(|it| it.chat == chat).collect();
        let mark = repetition("");
        let plain = |seen: &Seen| match seen.text.strip_prefix(&mark) {
            Some(rest) => (rest.to_owned(), true),
            None => (seen.text.clone(), false),
        };
        // A beginning whose name was lost with the daemon stays as it was, and what follows it
        // says so.
        for pair in seen.windows(2).filter(|pair| is_beginning(&pair[0])) {
            let says_so = pair[1].text.starts_with(&mark);
            assert!(says_so, "{pair:#?} at {points:?}");
        }
        assert!(!seen.last().is_some_and(is_beginning), "{seen:#?} at {points:?}");
        let told: Vec<_> = seen.iter().filter(|it| !is_beginning(it)).map(plain).collect();
        let beginnings = seen.iter().filter(|it| is_beginning(it)).count();
        assert!(beginnings <= points.len(), "{seen:#?}");
        // There is room for the word that it is a repetition.
        let limit = TextLimit::Utf16(280).beside(&mark).most();
        let mut expected = expected(chat, limit).into_iter().peekable();
        let mut last: Option<String> = None;
        for (text, is_repeated) in told {
            if expected.peek() == Some(&text) {
                last = expected.next();
                continue;
            }
            assert!(is_repeated, "{text:?} is there again and does not say so, at {points:?}");
            assert_eq!(Some(&text), last.as_ref(), "out of order, at {points:?}");
        }
        assert_eq!(expected.next(), None, "lost in {chat}, killed at {points:?}: {seen:#?}");
    }
}

#[test]
fn killed_at_every_moment_nothing_is_lost_or_said_twice_where_the_platform_helps() {
    let (fake, events) = lives(mindful(), &[], Account::Ready);
    check_mindful(&fake, &[]);
    assert!(events > 20, "{events}");
    for point in 1..=events {
        let (fake, _) = lives(mindful(), &[point], Account::Ready);
        check_mindful(&fake, &[point]);
    }
}

fn killed_at_moments_of_the_forgetful(account: Account, every: usize) {
    let (fake, events) = lives(forgetful(), &[], account);
    check_forgetful(&fake, &[]);
    for point in (1..=events).step_by(every) {
        let (fake, _) = lives(forgetful(), &[point], account);
        check_forgetful(&fake, &[point]);
    }
}

#[test]
fn killed_at_every_moment_what_is_said_twice_says_so_where_it_does_not() {
    killed_at_moments_of_the_forgetful(Account::Ready, 1);
}

#[test]
fn what_was_being_sent_is_in_doubt_also_when_its_account_connects_later_than_it_is_looked_at() {
    // Each life waits for its account; every moment is looked at above.
    killed_at_moments_of_the_forgetful(Account::Late, 3);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn killed_again_and_again(points in prop::collection::vec(1_usize..40, 1..6)) {
        let (fake, _) = lives(mindful(), &points, Account::Ready);
        check_mindful(&fake, &points);
        let (fake, _) = lives(forgetful(), &points, Account::Late);
        check_forgetful(&fake, &points);
    }
}
