//! Events that come again: recognised, whatever changed meanwhile.

use crate::ingress::support::{dm, message, open_fixture};
use insula_channel::Happening;
use insula_domain::AgentId;
use insula_registry::access::InboundOutcome;

const CONFIG: &str = "agents:\n  a: {access: {allow: ['telegram:*']}}\n  b: {access: {allow: ['telegram:*']}}\nbindings:\n  - {agent: a, telegram: '*'}\n";

#[tokio::test]
async fn what_is_answered_is_marked_as_read_and_what_is_not_is_not() {
    let fixture = open_fixture(
        "agents:\n  a: {default: true, access: {allow: ['telegram:1'], unknown: ignore}}\n",
    )
    .await;
    fixture.ask(&dm("1"), "hello").await;
    fixture.say(&dm("2"), "a stranger's words").await;
    fixture.ask(&dm("1"), "/status").await;
    assert_eq!(*fixture.platforms.read.lock().unwrap(), ["m0"]);
}

#[tokio::test]
async fn an_event_that_comes_again_is_answered_once_also_after_the_routes_changed() {
    let fixture = open_fixture(CONFIG).await;
    let event = fixture.next();
    let envelope = fixture.envelope(&dm("1"), event, Happening::Said(message(event, "hello")));
    fixture.take(envelope.clone()).await;
    fixture.posts(1).await;
    fixture.take(envelope.clone()).await;
    fixture.reconfigure(|text| text.replace("agent: a,", "agent: b,")).await;
    fixture.take(envelope.clone()).await;
    fixture
        .reconfigure(|text| text.replace("agent: b, telegram: '*'", "agent: b, telegram: '5'"))
        .await;
    fixture.take(envelope).await;
    assert_eq!((fixture.asked(), fixture.posted().len()), (1, 1));
    assert_eq!(fixture.daemon.inbound().of(InboundOutcome::Repeated), 3);
    assert!(fixture.journal("b", &dm("1")).await.is_empty());
}

#[tokio::test]
async fn what_was_reserved_and_never_journalled_is_journalled_by_that_agent() {
    let fixture = open_fixture(CONFIG).await;
    let event = fixture.next();
    // A crash between the two: only the ledger knows of it.
    let name = format!("e{event}");
    let b = AgentId::new("b").unwrap();
    fixture.main().reserve(&name, &b).await.unwrap();
    let envelope = fixture.envelope(&dm("1"), event, Happening::Said(message(event, "hello")));
    fixture.take(envelope.clone()).await;
    fixture.posts(1).await;
    fixture.take(envelope).await;
    assert_eq!(fixture.journal("b", &dm("1")).await.len(), 2);
    assert!(fixture.journal("a", &dm("1")).await.is_empty());
    assert_eq!(fixture.asked(), 1);
}

#[tokio::test]
async fn whether_an_event_was_taken_can_be_known_before_it_is_taken_again() {
    let fixture = open_fixture(CONFIG).await;
    let next = || {
        let event = fixture.next();
        fixture.envelope(&dm("1"), event, Happening::Said(message(event, "hello")))
    };
    let (taken, reserved, new) = (next(), next(), next());
    fixture.take(taken.clone()).await;
    fixture.posts(1).await;
    let name = reserved.event.0.clone();
    let a = AgentId::new("a").unwrap();
    fixture.main().reserve(&name, &a).await.unwrap();
    for (envelope, expected) in [(&taken, true), (&reserved, false), (&new, false)] {
        let known = fixture.way.has_taken(envelope).await.unwrap();
        assert_eq!(known, expected, "{:?}", envelope.event);
    }
}

#[tokio::test]
async fn a_command_that_comes_again_is_carried_out_once() {
    let fixture = open_fixture(CONFIG).await;
    let event = fixture.next();
    let envelope = fixture.envelope(&dm("1"), event, Happening::Said(message(event, "/new")));
    fixture.take(envelope.clone()).await;
    fixture.take(envelope).await;
    assert_eq!(fixture.posted().len(), 1);
}

#[tokio::test]
async fn many_at_once_keep_their_order() {
    let fixture = open_fixture(CONFIG).await;
    let envelopes: Vec<_> = (0..20)
        .map(|_| {
            let event = fixture.next();
            fixture.envelope(&dm("1"), event, Happening::Said(message(event, &format!("{event}"))))
        })
        .collect();
    let taken = envelopes.into_iter().map(|it| fixture.way.take(it));
    for taken in futures_util::future::join_all(taken).await {
        taken.unwrap();
    }
    let posts = fixture.posts(20).await;
    let heard: Vec<String> = posts.into_iter().map(|post| post.2).collect();
    let expected: Vec<String> = (0..20).map(|at| format!("heard: {at}")).collect();
    assert_eq!(heard, expected);
}
