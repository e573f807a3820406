//! Messages that somebody sends in one breath are answered as one, and nothing else is.

use crate::ingress::support::{Fixture, From, again, dm, echo, group, house, process, shown};
use std::time::Duration;

const CONFIG: &str = "agents:\n  a: {default: true, access: {allow: ['telegram:*'], admins: ['telegram:9']}, sessions: {quiet: 300ms}, group: {respond: all}}\n";

/// Lets time pass, once somebody waits for that.
async fn pass(house: &Fixture, millis: u64) {
    while house.handles.clock.sleeper_count() == 0 {
        tokio::task::yield_now().await;
    }
    house.handles.clock.advance(Duration::from_millis(millis)).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// What people said in a conversation so far, as it is journalled.
async fn said(house: &Fixture, from: &From) -> Vec<String> {
    let journal = house.journal("a", from).await;
    let said = journal.iter().filter(|it| it.role == insula_store::Role::User);
    said.map(|it| format!("{:?}", it.parts)).collect()
}

/// What the model was last shown of what people said.
fn heard(house: &Fixture, request: usize) -> Vec<String> {
    let shown = shown(&house.upstream.seen()[request]);
    shown.into_iter().filter(|(role, _)| role == "user").map(|(_, text)| text).collect()
}

#[tokio::test]
async fn what_is_said_in_one_breath_is_answered_as_one() {
    let house = house(CONFIG).await;
    let ann = dm("1");
    house.say(&ann, "hey").await;
    pass(&house, 200).await;
    house.say(&ann, "are you there?").await;
    pass(&house, 200).await;
    house.say(&ann, "what is new?").await;
    assert_eq!(house.asked(), 0);
    assert_eq!(said(&house, &ann).await.len(), 3, "what waits is journalled");
    pass(&house, 299).await;
    assert_eq!(house.asked(), 0, "the wait begins anew with each");
    pass(&house, 1).await;
    house.posts(1).await;
    assert_eq!(house.asked(), 1);
    assert_eq!(heard(&house, 0).join("|"), "hey|are you there?|what is new?");
    // After the answer, another breath.
    house.say(&ann, "and now?").await;
    pass(&house, 300).await;
    assert_eq!(house.posts(2).await[1].2, "heard: and now?");
    assert_eq!((house.asked(), house.posted().len()), (2, 2));
}

#[tokio::test]
async fn who_goes_on_and_on_is_answered_too() {
    let house = house(CONFIG).await;
    for number in 0..16 {
        house.say(&dm("1"), &format!("line {number}")).await;
        pass(&house, 200).await;
    }
    house.posts(1).await;
    assert_eq!(heard(&house, 0).len(), 12, "2.4 seconds, and not a moment longer");
}

#[tokio::test]
async fn nobody_elses_message_is_joined_or_overtaken() {
    let house = house(CONFIG).await;
    let (ann, bob) = (group("-100", "1"), group("-100", "2"));
    house.say(&ann, "first").await;
    house.say(&bob, "second").await;
    house.say(&ann, "third").await;
    house.say(&ann, "fourth").await;
    // What somebody else follows waits for nothing.
    house.posts(1).await;
    pass(&house, 300).await;
    let posts = house.posts(3).await;
    assert_eq!(posts.len(), 3);
    let last = heard(&house, 2);
    assert_eq!(last.len(), 4, "{last:?}");
    for (at, word) in ["first", "second", "third", "fourth"].iter().enumerate() {
        assert!(last[at].ends_with(word), "{last:?}");
    }
}

#[tokio::test]
async fn other_chats_and_topics_are_other_breaths() {
    let house = house(CONFIG).await;
    house.say(&group("-100", "1"), "here").await;
    house.say(&group("-100", "1").topic("7"), "there").await;
    house.say(&dm("1"), "alone").await;
    pass(&house, 300).await;
    assert_eq!(house.posts(3).await.len(), 3);
}

#[tokio::test]
async fn a_command_is_no_part_of_what_is_said_and_ends_the_wait() {
    let house = house(CONFIG).await;
    let ann = dm("1");
    house.say(&ann, "hello").await;
    let told = house.ask(&ann, "/status").await;
    assert!(told.contains("turn is running"), "{told}");
    house.say(&ann, "more").await;
    // The first goes at once, and what came after the command is not in it.
    house.posts(2).await;
    assert_eq!(heard(&house, 0), ["hello"]);
    pass(&house, 300).await;
    house.posts(3).await;
    assert_eq!(house.asked(), 2);
}

#[tokio::test]
async fn stop_and_new_count_for_what_waits() {
    let house = house(CONFIG).await;
    let ann = dm("1");
    house.say(&ann, "never mind").await;
    house.say(&ann, "/stop").await;
    let told: Vec<String> = house.posts(2).await.into_iter().map(|post| post.2).collect();
    assert!(told.contains(&"stopped".to_owned()), "{told:?}");
    house.say(&ann, "this either").await;
    house.say(&ann, "/new").await;
    house.posts(4).await;
    assert_eq!(house.asked(), 0);
}

#[tokio::test]
async fn a_repeated_event_is_joined_once() {
    let house = house(CONFIG).await;
    let ann = dm("1");
    for event in [0, 1, 1, 0] {
        let said = crate::ingress::support::message(event, &format!("word {event}"));
        let what = insula_channel::Happening::Said(said);
        house.take(house.envelope(&ann, event, what)).await;
    }
    pass(&house, 300).await;
    house.posts(1).await;
    assert_eq!(heard(&house, 0).join("|"), "word 0|word 1");
}

#[tokio::test]
async fn a_change_of_the_configuration_begins_another_turn() {
    let house = house(CONFIG).await;
    let ann = dm("1");
    house.say(&ann, "before").await;
    house.reconfigure(|text| text.replace("default: true", "default: true, name: Bee")).await;
    house.say(&ann, "after").await;
    house.posts(1).await;
    pass(&house, 300).await;
    assert_eq!(house.posts(2).await.len(), 2, "a turn has one generation");
}

#[test]
fn a_crash_in_the_middle_of_a_breath_loses_nothing() {
    let first = process();
    let files = first.block_on(async {
        let house = house(CONFIG).await;
        house.say(&dm("1"), "one").await;
        house.say(&dm("1"), "two").await;
        assert_eq!(house.asked(), 0);
        house.into_files()
    });
    drop(first);
    process().block_on(async {
        let house = again(files, CONFIG, insula_tools::BUILT_IN, echo).await;
        house.posts(1).await;
        assert_eq!(heard(&house, 0).join("|"), "one|two");
        // The same events again are nothing new.
        house.say(&dm("1"), "one").await;
        house.say(&dm("1"), "two").await;
        assert_eq!(said(&house, &dm("1")).await.len(), 2);
        assert_eq!((house.asked(), house.posted().len()), (1, 1));
    });
}
