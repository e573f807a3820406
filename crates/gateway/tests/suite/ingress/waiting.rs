//! What is taken away while messages wait: they are judged again before they are answered.

use crate::ingress::support::{Fixture, attachment, dm, echo, group, message, with};
use insula_channel::{AttachmentKind, Happening, Message};
use insula_registry::Actor;
use insula_testkit::upstream::{Seen, Step};
use std::sync::Arc;
use tokio::sync::Notify;

const CONFIG: &str = "agents:\n  a: {default: true, access: {allow: ['telegram:1'], admins: ['telegram:9']}, sessions: {quiet: 0s}, group: {respond: all}}\n";

/// Somebody sends a file that takes its time, and words after it.
async fn with_a_slow_file(house: &Fixture, user: &str) {
    house.platforms.files.lock().unwrap().insert("slow".to_owned(), "content".into());
    let id = house.next();
    let attachments = vec![attachment(AttachmentKind::File, "slow", "text/plain")];
    let said = Message { attachments, ..message(id, "look") };
    house.take(house.envelope(&dm(user), id, Happening::Said(said))).await;
    house.platforms.asked.notified().await;
    house.say(&dm(user), "and then this").await;
}

/// Waits until nothing waits any more at an agent.
async fn settled(house: &Fixture) {
    while !house.agent("a").store.inbox_waiting().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_waits_behind_a_file_is_not_answered_to_somebody_who_was_let_out() {
    let house = with(CONFIG, insula_tools::BUILT_IN, echo).await;
    house.platforms.slowly();
    with_a_slow_file(&house, "1").await;
    house.reconfigure(|config| config.replace("telegram:1", "telegram:2")).await;
    house.platforms.go_on();
    settled(&house).await;
    assert_eq!(house.asked(), 0, "no model heard of it");
    // Who is let in is answered as ever.
    assert_eq!(house.ask(&dm("2"), "hello").await, "heard: hello");
    assert_eq!(house.asked(), 1);
}

#[tokio::test]
async fn what_waits_behind_a_file_is_not_answered_after_a_pairing_was_revoked() {
    let house = with(CONFIG, insula_tools::BUILT_IN, echo).await;
    house.ask(&dm("5"), "hello?").await;
    let agent = house.agent("a");
    house.house.approve_pairing(&agent, "telegram:5", None, &Actor::CommandLine).await.unwrap();
    house.posts(2).await;
    house.platforms.slowly();
    with_a_slow_file(&house, "5").await;
    house.house.revoke_pairing(&agent, "telegram:5", &Actor::CommandLine).await.unwrap();
    house.platforms.go_on();
    settled(&house).await;
    assert_eq!(house.asked(), 0, "no model heard of it");
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
    let house = with(&config, insula_tools::BUILT_IN, script).await;
    house.say(&group("-7", "1"), "one").await;
    house.upstream.requests(1).await;
    house.say(&group("-7", "1"), "two").await;
    house.say(&group("-7", "1"), "three").await;
    house.reconfigure(|config| config.replace("agent: a, telegram", "agent: b, telegram")).await;
    go.notify_one();
    let posts = house.posts(3).await;
    assert!(posts.iter().all(|post| post.2.contains("was changed meanwhile")), "{posts:?}");
    assert_eq!(house.asked(), 1, "the model was asked once, before");
}

#[tokio::test]
async fn what_waits_is_not_begun_where_its_chat_led_before_hooks_came_there() {
    // An agent that is asked about messages could have sent this one on. It did not.
    let hooked = "  b: {access: {allow: ['telegram:1']}, sessions: {quiet: 0s}, hooks: {pre_gateway_dispatch: [{expr: 'true'}]}}\n  a: {";
    let config = CONFIG.replace("  a: {default: true, ", hooked);
    let config = format!("{config}bindings:\n  - {{agent: a, telegram: '*'}}\n");
    let house = with(&config, insula_tools::BUILT_IN, echo).await;
    house.platforms.slowly();
    with_a_slow_file(&house, "1").await;
    house.reconfigure(|config| config.replace("agent: a, telegram", "agent: b, telegram")).await;
    house.platforms.go_on();
    settled(&house).await;
    assert_eq!(house.asked(), 0, "no model heard of it");
    assert_eq!(house.ask(&dm("1"), "hello").await, "heard: hello");
}
