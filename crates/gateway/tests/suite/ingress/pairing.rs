//! Pairing: codes that can't be guessed, replayed, used late or elsewhere.

use crate::ingress::support::{Fixture, dm, group, house};
use insula_channel::Happening;
use insula_domain::Platform;
use insula_registry::Actor;
use insula_registry::access::{PairError, Visit};
use std::time::Duration;

const CONFIG: &str =
    "agents:\n  a: {default: true, access: {admins: ['telegram:1', 'matrix:@root:x']}}\n";

fn code_in(told: &str) -> String {
    let (_, rest) = told.split_once("Your code is ").unwrap();
    rest.chars().take_while(|it| *it != '.').collect()
}

async fn code(house: &Fixture, user: &str) -> String {
    code_in(&house.ask(&dm(user), "hello?").await)
}

#[tokio::test]
async fn somebody_unknown_is_let_in_by_an_admin_with_their_code() {
    let house = house(CONFIG).await;
    let code = code(&house, "5").await;
    assert_eq!(code.len(), 8);
    assert_eq!(house.asked(), 0, "no model heard of it");
    assert!(house.journal("a", &dm("5")).await.is_empty(), "and no journal");
    let requests = house.agent("a").store.pairing_requests().await.unwrap();
    assert!(!format!("{requests:?}").contains(&code), "it is kept as a hash");
    // Who asked can't let themselves in.
    house.say(&dm("5"), &format!("/pair {code}")).await;
    assert_eq!(house.posted().len(), 1);
    house.say(&dm("1"), &format!("/pair {}", code.to_lowercase())).await;
    let posts = house.posts(3).await;
    let told = |chat: &str| posts[1..].iter().find(|post| post.1 == chat).unwrap().2.clone();
    assert_eq!(told("5"), "you may talk to me now", "who was let in hears it too");
    assert_eq!(told("1"), "Name5 may talk to me now");
    assert_eq!(house.ask(&dm("5"), "hello").await, "heard: hello");
    // Judged now: what is taken back is gone.
    house.house.revoke_pairing(&house.agent("a"), "telegram:5", &Actor::CommandLine).await.unwrap();
    house.say(&dm("5"), "hello").await;
    assert_eq!(house.asked(), 1);
}

#[tokio::test]
async fn c9_a_code_is_good_once_for_an_hour_and_on_its_platform() {
    let house = house(CONFIG).await;
    let first = code(&house, "5").await;
    let elsewhere = dm("@root:x").on("matrix");
    assert!(house.ask(&elsewhere, &format!("/pair {first}")).await.contains("no request"));
    house.ask(&dm("1"), &format!("/pair {first}")).await;
    house.posts(4).await;
    assert!(
        house.ask(&dm("1"), &format!("/pair {first}")).await.contains("no request"),
        "replayed"
    );
    let late = code(&house, "6").await;
    house.handles.clock.advance(Duration::from_secs(3_601)).await;
    assert!(house.ask(&dm("1"), &format!("/pair {late}")).await.contains("no request"), "expired");
}

#[tokio::test]
async fn c9_guesses_are_counted_and_locked_out() {
    let house = house(CONFIG).await;
    let right = code(&house, "5").await;
    for guess in ["AAAAAAAA", "BBBBBBBB", "nonsense", "CCCCCCCC"] {
        assert!(house.ask(&dm("1"), &format!("/pair {guess}")).await.contains("no request"));
        // Who forgets the code has not guessed.
        assert!(house.ask(&dm("1"), "/pair").await.contains("say the code too"));
    }
    assert!(house.ask(&dm("1"), "/pair DDDDDDDD").await.contains("no request"));
    let told = house.ask(&dm("1"), &format!("/pair {right}")).await;
    assert!(told.contains("too many codes were wrong"), "{told}");
    // Another admin, the same lock; the local command line has a count of its own.
    let agent = house.agent("a");
    let telegram = Some(Platform::new("telegram").unwrap());
    let locked = house.house.approve_pairing(&agent, &right, telegram, &Actor::CommandLine).await;
    assert!(matches!(locked, Err(PairError::Locked(_))));
    let before = house.posted().len();
    house.house.approve_pairing(&agent, &right, None, &Actor::CommandLine).await.unwrap();
    assert_eq!(house.posts(before + 1).await[before].2, "you may talk to me now");
    assert_eq!(house.ask(&dm("5"), "hello").await, "heard: hello");
}

#[tokio::test]
async fn an_operator_lets_somebody_in_by_who_they_are_and_they_hear_of_it() {
    let house = house(CONFIG).await;
    code(&house, "5").await;
    let agent = house.agent("a");
    let approve =
        async |who| house.house.approve_pairing(&agent, who, None, &Actor::CommandLine).await;
    for _ in 0..5 {
        approve("AAAAAAAA").await.unwrap_err();
    }
    assert!(matches!(approve("telegram:6").await, Err(PairError::NotAsking(_))));
    // Wrong codes are no reason not to see who asks.
    assert_eq!(approve("telegram:5").await.unwrap().name, "Name5");
    assert_eq!(house.posts(2).await[1].2, "you may talk to me now");
    assert_eq!(house.ask(&dm("5"), "hello").await, "heard: hello");
    // In a chat nobody sees who asks: there it takes the code.
    code(&house, "6").await;
    assert!(house.ask(&dm("1"), "/pair telegram:6").await.contains("no request has this code"));
}

#[tokio::test]
async fn whoever_invites_the_bot_to_talk_alone_gets_a_code_there() {
    let house = house(&format!(
        "{CONFIG}  b: {{access: {{unknown: ignore}}}}\nbindings:\n  - {{agent: b, matrix: '@ignored:x'}}\n"
    ))
    .await;
    let (ann, ignored) = (dm("@ann:x").on("matrix"), dm("@ignored:x").on("matrix"));
    house.happens(&ann, Happening::Added).await;
    code_in(&house.posts(1).await[0].2);
    assert_eq!(*house.platforms.joined.lock().unwrap(), ["@ann:x"]);
    // Neither a group nor where nobody is to be told anything.
    house.happens(&group("!room:x", "@ann:x").on("matrix"), Happening::Added).await;
    house.happens(&ignored, Happening::Added).await;
    assert_eq!(house.platforms.joined.lock().unwrap().len(), 1);
    assert_eq!((house.posted().len(), house.asked()), (1, 0));
}

#[tokio::test]
async fn asking_is_limited_by_person_and_in_all() {
    let house = house(CONFIG).await;
    let one = code(&house, "5").await;
    house.say(&dm("5"), "hello?").await;
    assert_eq!(house.posted().len(), 1, "once in ten minutes");
    code(&house, "6").await;
    code(&house, "7").await;
    let told = house.ask(&dm("8"), "hello?").await;
    assert_eq!(told, "Too many people wait to be let in here. Please come back later.");
    assert_eq!(house.house.visits.of(Visit::Code), 3, "three wait, and no more");
    // Whoever insists hears nothing more, and others hear it as well.
    house.say(&dm("8"), "hello?").await;
    assert!(house.ask(&dm("9"), "hello?").await.starts_with("Too many"));
    assert_eq!(house.posted().len(), 5);
    assert_eq!(house.house.visits.of(Visit::Stranger), 7);
    house.handles.clock.advance(Duration::from_secs(601)).await;
    let other = code(&house, "5").await;
    assert_ne!(one, other);
    assert!(house.ask(&dm("1"), &format!("/pair {one}")).await.contains("no request"), "replaced");
}

#[tokio::test]
async fn nothing_is_said_in_groups_nor_where_the_operator_does_not_want_it() {
    let house = house(&format!(
        "{CONFIG}  b: {{access: {{unknown: ignore}}}}\nbindings:\n  - {{agent: b, telegram: '9'}}\n"
    ))
    .await;
    house.mention(&group("-100", "5"), "hello").await;
    house.say(&dm("9"), "hello").await;
    assert!(house.posted().is_empty());
    assert_eq!(house.house.visits.of(Visit::Stranger), 2);
}
