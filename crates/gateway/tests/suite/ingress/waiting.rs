//! What is taken away while messages wait: they are judged again before they are answered.

use crate::ingress::support::{Fixture, attachment, dm, echo, group, message, with};
use insula_channel::{AttachmentKind, Happening, Message};
use insula_registry::Actor;
use insula_testkit::upstream::{Seen, Step};
use std::sync::Arc;
use tokio::sync::Notify;

const CONFIG: &str = "agents:\n  a: {default: true, access: {allow: ['telegram:1'], admins: ['telegram:9']}, sessions: {quiet: 0s}, group: {respond: all}}\n";

/// Somebody sends a file that takes its time, and words after it.
async fn with_a_slow_file(fixture: &Fixture, user: &str) {
    fixture.platforms.files.lock().unwrap().insert("slow".to_owned(), "content".into());
    let id = fixture.next();
    let attachments = vec![attachment(AttachmentKind::File, "slow", "text/plain")];
    let said = Message { attachments, ..message(id, "look") };
    fixture.take(fixture.envelope(&dm(user), id, Happening::Said(said))).await;
    fixture.platforms.asked.notified().await;
    fixture.say(&dm(user), "and then this").await;
}

/// Waits until nothing waits any more at an agent.
async fn settled(fixture: &Fixture) {
    while !fixture.agent("a").store.inbox_waiting().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_waits_behind_a_file_is_not_answered_to_somebody_who_was_let_out() {
    let fixture = with(CONFIG, insula_tools::BUILT_IN, echo).await;
    fixture.platforms.slowly();
    with_a_slow_file(&fixture, "1").await;
    fixture.reconfigure(|config| config.replace("telegram:1", "telegram:2")).await;
    fixture.platforms.go_on();
    settled(&fixture).await;
    assert_eq!(fixture.asked(), 0, "no model heard of it");
    // Who is let in is answered as ever.
    assert_eq!(fixture.ask(&dm("2"), "hello").await, "heard: hello");
    assert_eq!(fixture.asked(), 1);
}

#[tokio::test]
async fn what_waits_behind_a_file_is_not_answered_after_a_pairing_was_revoked() {
    let fixture = with(CONFIG, insula_tools::BUILT_IN, echo).await;
    fixture.ask(&dm("5"), "hello?").await;
    let agent = fixture.agent("a");
    fixture
        .daemon
        .access()
        .approve_pairing(&agent, "telegram:5", None, &Actor::CommandLine)
        .await
        .unwrap();
    fixture.posts(2).await;
    fixture.platforms.slowly();
    with_a_slow_file(&fixture, "5").await;
    fixture
        .daemon
        .access()
        .revoke_pairing(&agent, "telegram:5", &Actor::CommandLine)
        .await
        .unwrap();
    fixture.platforms.go_on();
    settled(&fixture).await;
    assert_eq!(fixture.asked(), 0, "no model heard of it");
}

#[tokio::test]
async fn what_waits_in_a_chat_that_was_taken_from_an_agent_is_not_begun_there() {
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let script = move |seen: &Seen, number: usize| {
        let mut answer = echo(seen, number);
        if number == 0 {
            answer.insert(0, Step::Wait(gate.clone()));
        }
        answer
    };
    let config =
        CONFIG.replace("  a: {default: true, ", "  b: {access: {allow: ['telegram:1']}}\n  a: {");
    let config = format!("{config}bindings:\n  - {{agent: a, telegram: '-7'}}\n");
    let fixture = with(&config, insula_tools::BUILT_IN, script).await;
    fixture.say(&group("-7", "1"), "one").await;
    fixture.upstream.requests(1).await;
    fixture.say(&group("-7", "1"), "two").await;
    fixture.say(&group("-7", "1"), "three").await;
    fixture.reconfigure(|config| config.replace("agent: a, telegram", "agent: b, telegram")).await;
    go.notify_one();
    let posts = fixture.posts(3).await;
    assert!(posts.iter().all(|post| post.2.contains("was changed meanwhile")), "{posts:?}");
    assert_eq!(fixture.asked(), 1, "the model was asked once, before");
}

#[tokio::test]
async fn what_waits_is_not_begun_where_its_chat_led_before_hooks_came_there() {
    // An agent that is asked about messages could have sent this one on. It did not.
    let hooked = "  b: {access: {allow: ['telegram:1']}, sessions: {quiet: 0s}, hooks: {pre_gateway_dispatch: [{expr: 'true'}]}}\n  a: {";
    let config = CONFIG.replace("  a: {default: true, ", hooked);
    let config = format!("{config}bindings:\n  - {{agent: a, telegram: '*'}}\n");
    let fixture = with(&config, insula_tools::BUILT_IN, echo).await;
    fixture.platforms.slowly();
    with_a_slow_file(&fixture, "1").await;
    fixture.reconfigure(|config| config.replace("agent: a, telegram", "agent: b, telegram")).await;
    fixture.platforms.go_on();
    settled(&fixture).await;
    assert_eq!(fixture.asked(), 0, "no model heard of it");
    assert_eq!(fixture.ask(&dm("1"), "hello").await, "heard: hello");
}
