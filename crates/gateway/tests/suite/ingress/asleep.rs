//! What waits for an agent that does not serve is brought to its turn when it serves again.

use crate::ingress::support::{Fixture, again, dm, echo, message, open_fixture, process, shown};
use insula_channel::{Happening, Message};
use insula_domain::AgentId;
use insula_registry::Actor;
use std::time::Duration;

const CONFIG: &str =
    "agents:\n  a: {default: true, access: {allow: ['telegram:*'], admins: ['telegram:9']}}\n";
const BROKEN: &str = "agents:\n  a: {default: true, isolation: container, access: {allow: ['telegram:*'], admins: ['telegram:9']}}\n";

async fn album(fixture: &Fixture, text: &str) {
    let id = fixture.next();
    let said = Message { group: Some("x".into()), ..message(id, text) };
    fixture.take(fixture.envelope(&dm("1"), id, Happening::Said(said))).await;
}

fn a() -> AgentId {
    AgentId::new("a").unwrap()
}

/// A home in which a message waits for its turn, left by a process that died.
fn left(is_paused: bool) -> insula_testkit::Home {
    let first = process();
    let files = first.block_on(async {
        let fixture = open_fixture(CONFIG).await;
        album(&fixture, "first").await;
        assert_eq!(fixture.asked(), 0);
        if is_paused {
            fixture.engine.capabilities().pause(&a(), &Actor::CommandLine).await.unwrap();
        }
        fixture.into_files()
    });
    drop(first);
    files
}

/// The next event of somebody who said as much before.
async fn says(fixture: &Fixture, text: &str) {
    let id = 100 + fixture.next();
    fixture.take(fixture.envelope(&dm("1"), id, Happening::Said(message(id, text)))).await;
}

async fn is_answered_first(fixture: &Fixture) {
    says(fixture, "second").await;
    let posts = fixture.posts(2).await;
    assert_eq!((&*posts[0].2, &*posts[1].2), ("heard: first", "heard: second"));
    assert_eq!(shown(&fixture.upstream.seen()[0]).len(), 1);
    assert_eq!(fixture.asked(), 2);
}

#[test]
fn an_agent_that_was_paused_at_the_start_goes_on_when_it_is_resumed() {
    let files = left(true);
    process().block_on(async {
        let fixture = again(files, CONFIG, insula_tools::BUILT_IN, echo).await;
        fixture.engine.capabilities().resume(&a(), &Actor::CommandLine).await.unwrap();
        is_answered_first(&fixture).await;
    });
}

#[test]
fn it_goes_on_without_anybody_writing() {
    let files = left(true);
    process().block_on(async {
        let fixture = again(files, CONFIG, insula_tools::BUILT_IN, echo).await;
        fixture.owner.ingress().wake().await;
        assert_eq!(fixture.asked(), 0, "it does not serve yet");
        fixture.engine.capabilities().resume(&a(), &Actor::CommandLine).await.unwrap();
        fixture.owner.ingress().wake().await;
        assert_eq!(fixture.posts(1).await[0].2, "heard: first");
        fixture.owner.ingress().wake().await;
        says(&fixture, "second").await;
        assert_eq!(fixture.posts(2).await[1].2, "heard: second");
        assert_eq!(fixture.asked(), 2);
    });
}

#[test]
fn an_agent_that_had_failed_at_the_start_goes_on_when_it_is_mended() {
    let files = left(false);
    process().block_on(async {
        let fixture = again(files, BROKEN, insula_tools::BUILT_IN, echo).await;
        fixture.reconfigure(|text| text.replace("isolation: container, ", "")).await;
        is_answered_first(&fixture).await;
    });
}

#[test]
fn a_turn_that_a_crash_cut_off_goes_on_when_its_agent_is_resumed() {
    let first = process();
    let files = first.block_on(async {
        let config = CONFIG.replace("admins", "unknown: ignore, admins");
        let hang =
            |_: &insula_testkit::upstream::Seen, _| vec![insula_testkit::upstream::Step::Hang];
        let fixture = crate::ingress::support::with(&config, insula_tools::BUILT_IN, hang).await;
        fixture.say(&dm("1"), "first").await;
        fixture.upstream.requests(1).await;
        fixture.engine.capabilities().pause(&a(), &Actor::CommandLine).await.unwrap();
        fixture.into_files()
    });
    drop(first);
    process().block_on(async {
        let fixture = again(files, CONFIG, insula_tools::BUILT_IN, echo).await;
        fixture.engine.capabilities().resume(&a(), &Actor::CommandLine).await.unwrap();
        is_answered_first(&fixture).await;
    });
}

#[tokio::test]
async fn what_waits_while_its_agent_is_paused_waits_on() {
    let fixture = open_fixture(CONFIG).await;
    album(&fixture, "first").await;
    assert!(fixture.ask(&dm("9"), "/pause").await.starts_with("paused"));
    while fixture.handles.clock.sleeper_count() == 0 {
        tokio::task::yield_now().await;
    }
    fixture.handles.clock.advance(Duration::from_secs(1)).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(fixture.asked(), 0, "an agent that is paused serves nobody");
    assert_eq!(fixture.ask(&dm("9"), "/resume").await, "going on");
    assert_eq!(fixture.posts(3).await[2].2, "heard: first");
}
