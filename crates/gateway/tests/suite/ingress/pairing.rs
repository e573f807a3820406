//! Pairing: codes that can't be guessed, replayed, used late or elsewhere.

use crate::ingress::support::{Fixture, dm, group, open_fixture};
use insula_channel::Happening;
use insula_domain::Platform;
use insula_registry::Actor;
use insula_registry::access::{InboundOutcome, PairError};
use std::time::Duration;

const CONFIG: &str =
    "agents:\n  a: {default: true, access: {admins: ['telegram:1', 'matrix:@root:x']}}\n";

fn code_in(told: &str) -> String {
    let (_, rest) = told.split_once("Your code is ").unwrap();
    rest.chars().take_while(|it| *it != '.').collect()
}

async fn code(fixture: &Fixture, user: &str) -> String {
    code_in(&fixture.ask(&dm(user), "hello?").await)
}

#[tokio::test]
async fn somebody_unknown_is_let_in_by_an_admin_with_their_code() {
    let fixture = open_fixture(CONFIG).await;
    let code = code(&fixture, "5").await;
    assert_eq!(code.len(), 8);
    assert_eq!(fixture.asked(), 0, "no model heard of it");
    assert!(fixture.journal("a", &dm("5")).await.is_empty(), "and no journal");
    let requests = fixture.agent("a").store.pairing_requests().await.unwrap();
    assert!(!format!("{requests:?}").contains(&code), "it is kept as a hash");
    // Who asked can't let themselves in.
    fixture.say(&dm("5"), &format!("/pair {code}")).await;
    assert_eq!(fixture.posted().len(), 1);
    fixture.say(&dm("1"), &format!("/pair {}", code.to_lowercase())).await;
    let posts = fixture.posts(3).await;
    let told = |chat: &str| posts[1..].iter().find(|post| post.1 == chat).unwrap().2.clone();
    assert_eq!(told("5"), "you may talk to me now", "who was let in hears it too");
    assert_eq!(told("1"), "Name5 may talk to me now");
    assert_eq!(fixture.ask(&dm("5"), "hello").await, "heard: hello");
    // Judged now: what is taken back is gone.
    fixture
        .daemon
        .access()
        .revoke_pairing(&fixture.agent("a"), "telegram:5", &Actor::CommandLine)
        .await
        .unwrap();
    fixture.say(&dm("5"), "hello").await;
    assert_eq!(fixture.asked(), 1);
}

#[tokio::test]
async fn c9_a_code_is_good_once_for_an_hour_and_on_its_platform() {
    let fixture = open_fixture(CONFIG).await;
    let first = code(&fixture, "5").await;
    let elsewhere = dm("@root:x").on("matrix");
    assert!(fixture.ask(&elsewhere, &format!("/pair {first}")).await.contains("no request"));
    fixture.ask(&dm("1"), &format!("/pair {first}")).await;
    fixture.posts(4).await;
    assert!(
        fixture.ask(&dm("1"), &format!("/pair {first}")).await.contains("no request"),
        "replayed"
    );
    let late = code(&fixture, "6").await;
    fixture.handles.clock.advance(Duration::from_secs(3_601)).await;
    assert!(
        fixture.ask(&dm("1"), &format!("/pair {late}")).await.contains("no request"),
        "expired"
    );
}

#[tokio::test]
async fn c9_guesses_are_counted_and_locked_out() {
    let daemon = open_fixture(CONFIG).await;
    let right = code(&daemon, "5").await;
    for guess in ["AAAAAAAA", "BBBBBBBB", "nonsense", "CCCCCCCC"] {
        assert!(daemon.ask(&dm("1"), &format!("/pair {guess}")).await.contains("no request"));
        // Who forgets the code has not guessed.
        assert!(daemon.ask(&dm("1"), "/pair").await.contains("say the code too"));
    }
    assert!(daemon.ask(&dm("1"), "/pair DDDDDDDD").await.contains("no request"));
    let told = daemon.ask(&dm("1"), &format!("/pair {right}")).await;
    assert!(told.contains("too many codes were wrong"), "{told}");
    // Another admin, the same lock; the local command line has a count of its own.
    let agent = daemon.agent("a");
    let telegram = Some(Platform::new("telegram").unwrap());
    let locked =
        daemon.daemon.access().approve_pairing(&agent, &right, telegram, &Actor::CommandLine).await;
    assert!(matches!(locked, Err(PairError::Locked(_))));
    let before = daemon.posted().len();
    daemon
        .daemon
        .access()
        .approve_pairing(&agent, &right, None, &Actor::CommandLine)
        .await
        .unwrap();
    assert_eq!(daemon.posts(before + 1).await[before].2, "you may talk to me now");
    assert_eq!(daemon.ask(&dm("5"), "hello").await, "heard: hello");
}

#[tokio::test]
async fn an_operator_lets_somebody_in_by_who_they_are_and_they_hear_of_it() {
    let daemon = open_fixture(CONFIG).await;
    code(&daemon, "5").await;
    let agent = daemon.agent("a");
    let approve = async |who| {
        daemon.daemon.access().approve_pairing(&agent, who, None, &Actor::CommandLine).await
    };
    for _ in 0..5 {
        approve("AAAAAAAA").await.unwrap_err();
    }
    assert!(matches!(approve("telegram:6").await, Err(PairError::NotAsking(_))));
    // Wrong codes are no reason not to see who asks.
    assert_eq!(approve("telegram:5").await.unwrap().name, "Name5");
    assert_eq!(daemon.posts(2).await[1].2, "you may talk to me now");
    assert_eq!(daemon.ask(&dm("5"), "hello").await, "heard: hello");
    // In a chat nobody sees who asks: there it takes the code.
    code(&daemon, "6").await;
    assert!(daemon.ask(&dm("1"), "/pair telegram:6").await.contains("no request has this code"));
}

#[tokio::test]
async fn whoever_invites_the_bot_to_talk_alone_gets_a_code_there() {
    let fixture = open_fixture(&format!(
        "{CONFIG}  b: {{access: {{unknown: ignore}}}}\nbindings:\n  - {{agent: b, matrix: '@ignored:x'}}\n"
    ))
    .await;
    let (ann, ignored) = (dm("@ann:x").on("matrix"), dm("@ignored:x").on("matrix"));
    fixture.happens(&ann, Happening::Added).await;
    code_in(&fixture.posts(1).await[0].2);
    assert_eq!(*fixture.platforms.joined.lock().unwrap(), ["@ann:x"]);
    // Neither a group nor where nobody is to be told anything.
    fixture.happens(&group("!room:x", "@ann:x").on("matrix"), Happening::Added).await;
    fixture.happens(&ignored, Happening::Added).await;
    assert_eq!(fixture.platforms.joined.lock().unwrap().len(), 1);
    assert_eq!((fixture.posted().len(), fixture.asked()), (1, 0));
}

#[tokio::test]
async fn asking_is_limited_by_person_and_in_all() {
    let fixture = open_fixture(CONFIG).await;
    let one = code(&fixture, "5").await;
    fixture.say(&dm("5"), "hello?").await;
    assert_eq!(fixture.posted().len(), 1, "once in ten minutes");
    code(&fixture, "6").await;
    code(&fixture, "7").await;
    let told = fixture.ask(&dm("8"), "hello?").await;
    assert_eq!(told, "Too many people wait to be let in here. Please come back later.");
    assert_eq!(fixture.daemon.inbound().of(InboundOutcome::Code), 3, "three wait, and no more");
    // Whoever insists hears nothing more, and others hear it as well.
    fixture.say(&dm("8"), "hello?").await;
    assert!(fixture.ask(&dm("9"), "hello?").await.starts_with("Too many"));
    assert_eq!(fixture.posted().len(), 5);
    assert_eq!(fixture.daemon.inbound().of(InboundOutcome::Stranger), 7);
    fixture.handles.clock.advance(Duration::from_secs(601)).await;
    let other = code(&fixture, "5").await;
    assert_ne!(one, other);
    assert!(
        fixture.ask(&dm("1"), &format!("/pair {one}")).await.contains("no request"),
        "replaced"
    );
}

#[tokio::test]
async fn nothing_is_said_in_groups_nor_where_the_operator_does_not_want_it() {
    let fixture = open_fixture(&format!(
        "{CONFIG}  b: {{access: {{unknown: ignore}}}}\nbindings:\n  - {{agent: b, telegram: '9'}}\n"
    ))
    .await;
    fixture.mention(&group("-100", "5"), "hello").await;
    fixture.say(&dm("9"), "hello").await;
    assert!(fixture.posted().is_empty());
    assert_eq!(fixture.daemon.inbound().of(InboundOutcome::Stranger), 2);
}
