//! Messages that somebody sends in one breath are answered as one, and nothing else is.

use crate::ingress::support::{
    Fixture, From, again, dm, echo, group, open_fixture, process, shown,
};
use std::time::Duration;

const CONFIG: &str = "agents:\n  a: {default: true, access: {allow: ['telegram:*'], admins: ['telegram:9']}, sessions: {quiet: 300ms}, group: {respond: all}}\n";

/// Lets time pass, once somebody waits for that.
async fn pass(fixture: &Fixture, millis: u64) {
    while fixture.handles.clock.sleeper_count() == 0 {
        tokio::task::yield_now().await;
    }
    fixture.handles.clock.advance(Duration::from_millis(millis)).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// What people said in a conversation so far, as it is journalled.
async fn said(fixture: &Fixture, from: &From) -> Vec<String> {
    let journal = fixture.journal("a", from).await;
    let said = journal.iter().filter(|it| it.role == insula_store::Role::User);
    said.map(|it| format!("{:?}", it.parts)).collect()
}

/// What the model was last shown of what people said.
fn heard(fixture: &Fixture, request: usize) -> Vec<String> {
    let shown = shown(&fixture.upstream.seen()[request]);
    shown.into_iter().filter(|(role, _)| role == "user").map(|(_, text)| text).collect()
}

#[tokio::test]
async fn what_is_said_in_one_breath_is_answered_as_one() {
    let fixture = open_fixture(CONFIG).await;
    let ann = dm("1");
    fixture.say(&ann, "hey").await;
    pass(&fixture, 200).await;
    fixture.say(&ann, "are you there?").await;
    pass(&fixture, 200).await;
    fixture.say(&ann, "what is new?").await;
    assert_eq!(fixture.asked(), 0);
    assert_eq!(said(&fixture, &ann).await.len(), 3, "what waits is journalled");
    pass(&fixture, 299).await;
    assert_eq!(fixture.asked(), 0, "the wait begins anew with each");
    pass(&fixture, 1).await;
    fixture.posts(1).await;
    assert_eq!(fixture.asked(), 1);
    assert_eq!(heard(&fixture, 0).join("|"), "hey|are you there?|what is new?");
    // After the answer, another breath.
    fixture.say(&ann, "and now?").await;
    pass(&fixture, 300).await;
    assert_eq!(fixture.posts(2).await[1].2, "heard: and now?");
    assert_eq!((fixture.asked(), fixture.posted().len()), (2, 2));
}

#[tokio::test]
async fn who_goes_on_and_on_is_answered_too() {
    let fixture = open_fixture(CONFIG).await;
    for number in 0..16 {
        fixture.say(&dm("1"), &format!("line {number}")).await;
        pass(&fixture, 200).await;
    }
    fixture.posts(1).await;
    assert_eq!(heard(&fixture, 0).len(), 12, "2.4 seconds, and not a moment longer");
}

#[tokio::test]
async fn nobody_elses_message_is_joined_or_overtaken() {
    let fixture = open_fixture(CONFIG).await;
    let (ann, bob) = (group("-100", "1"), group("-100", "2"));
    fixture.say(&ann, "first").await;
    fixture.say(&bob, "second").await;
    fixture.say(&ann, "third").await;
    fixture.say(&ann, "fourth").await;
    // What somebody else follows waits for nothing.
    fixture.posts(1).await;
    pass(&fixture, 300).await;
    let posts = fixture.posts(3).await;
    assert_eq!(posts.len(), 3);
    let last = heard(&fixture, 2);
    assert_eq!(last.len(), 4, "{last:?}");
    for (at, word) in ["first", "second", "third", "fourth"].iter().enumerate() {
        assert!(last[at].ends_with(word), "{last:?}");
    }
}

#[tokio::test]
async fn other_chats_and_topics_are_other_breaths() {
    let fixture = open_fixture(CONFIG).await;
    fixture.say(&group("-100", "1"), "here").await;
    fixture.say(&group("-100", "1").topic("7"), "there").await;
    fixture.say(&dm("1"), "alone").await;
    pass(&fixture, 300).await;
    assert_eq!(fixture.posts(3).await.len(), 3);
}

#[tokio::test]
async fn a_command_is_no_part_of_what_is_said_and_ends_the_wait() {
    let fixture = open_fixture(CONFIG).await;
    let ann = dm("1");
    fixture.say(&ann, "hello").await;
    let told = fixture.ask(&ann, "/status").await;
    assert!(told.contains("turn is running"), "{told}");
    fixture.say(&ann, "more").await;
    // The first goes at once, and what came after the command is not in it.
    fixture.posts(2).await;
    assert_eq!(heard(&fixture, 0), ["hello"]);
    pass(&fixture, 300).await;
    fixture.posts(3).await;
    assert_eq!(fixture.asked(), 2);
}

#[tokio::test]
async fn stop_and_new_count_for_what_waits() {
    let fixture = open_fixture(CONFIG).await;
    let ann = dm("1");
    fixture.say(&ann, "never mind").await;
    fixture.say(&ann, "/stop").await;
    let told: Vec<String> = fixture.posts(1).await.into_iter().map(|post| post.2).collect();
    assert_eq!(told, ["Stopped before I had an answer."]);
    fixture.say(&ann, "this either").await;
    fixture.say(&ann, "/new").await;
    fixture.posts(3).await;
    assert_eq!(fixture.asked(), 0);
}

#[tokio::test]
async fn a_repeated_event_is_joined_once() {
    let fixture = open_fixture(CONFIG).await;
    let ann = dm("1");
    for event in [0, 1, 1, 0] {
        let said = crate::ingress::support::message(event, &format!("word {event}"));
        let what = insula_channel::Happening::Said(said);
        fixture.take(fixture.envelope(&ann, event, what)).await;
    }
    pass(&fixture, 300).await;
    fixture.posts(1).await;
    assert_eq!(heard(&fixture, 0).join("|"), "word 0|word 1");
}

#[tokio::test]
async fn a_change_of_the_configuration_begins_another_turn() {
    let fixture = open_fixture(CONFIG).await;
    let ann = dm("1");
    fixture.say(&ann, "before").await;
    fixture.reconfigure(|text| text.replace("default: true", "default: true, name: Bee")).await;
    fixture.say(&ann, "after").await;
    fixture.posts(1).await;
    pass(&fixture, 300).await;
    assert_eq!(fixture.posts(2).await.len(), 2, "a turn has one generation");
}

#[test]
fn a_crash_in_the_middle_of_a_breath_loses_nothing() {
    let first = process();
    let files = first.block_on(async {
        let fixture = open_fixture(CONFIG).await;
        fixture.say(&dm("1"), "one").await;
        fixture.say(&dm("1"), "two").await;
        assert_eq!(fixture.asked(), 0);
        fixture.into_files()
    });
    drop(first);
    process().block_on(async {
        let fixture = again(files, CONFIG, insula_tools::BUILT_IN, echo).await;
        fixture.posts(1).await;
        assert_eq!(heard(&fixture, 0).join("|"), "one|two");
        // The same events again are nothing new.
        fixture.say(&dm("1"), "one").await;
        fixture.say(&dm("1"), "two").await;
        assert_eq!(said(&fixture, &dm("1")).await.len(), 2);
        assert_eq!((fixture.asked(), fixture.posted().len()), (1, 1));
    });
}
