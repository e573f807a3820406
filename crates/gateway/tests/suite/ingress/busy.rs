//! What somebody says while a turn of theirs runs: waits, joins it, or takes its place.

use crate::ingress::support::{Fixture, dm, echo, group, message, shown, with};
use insula_channel::{Happening, MessageId};
use insula_testkit::upstream::{Seen, Step};
use std::sync::Arc;
use tokio::sync::Notify;

/// A daemon whose first answer waits for the word.
async fn open_fixture(busy: &str) -> (Fixture, Arc<Notify>) {
    let go = Arc::new(Notify::new());
    let gate = go.clone();
    let script = move |seen: &Seen, number: usize| {
        let mut answer = echo(seen, number);
        if number == 0 {
            answer.insert(0, Step::Wait(gate.clone()));
        }
        answer
    };
    let config = format!(
        "agents:\n  a: {{default: true, access: {{allow: ['telegram:*'], admins: ['telegram:9']}}, sessions: {{busy: {busy}, quiet: 0s}}, group: {{respond: all}}}}\n"
    );
    (with(&config, insula_tools::BUILT_IN, script).await, go)
}

fn users(fixture: &Fixture, request: usize) -> Vec<String> {
    let shown = shown(&fixture.upstream.seen()[request]);
    shown.into_iter().filter(|(role, _)| role == "user").map(|(_, text)| text).collect()
}

#[tokio::test]
async fn queue_answers_each_in_its_turn() {
    let (fixture, go) = open_fixture("queue").await;
    fixture.say(&dm("1"), "one").await;
    fixture.upstream.requests(1).await;
    fixture.say(&dm("1"), "two").await;
    go.notify_one();
    let posts = fixture.posts(2).await;
    assert_eq!((&*posts[0].2, &*posts[1].2), ("heard: one", "heard: two"));
}

#[tokio::test]
async fn an_edit_of_what_waits_is_read_by_the_turn_that_answers() {
    let (fixture, go) = open_fixture("queue").await;
    fixture.say(&dm("1"), "one").await;
    fixture.upstream.requests(1).await;
    fixture.say(&dm("1"), "wrong").await;
    // What runs stays as it was heard, and nobody else can change what waits.
    fixture.happens(&dm("1"), Happening::Edited(message(0, "late"))).await;
    fixture.happens(&dm("2"), Happening::Edited(message(1, "forged"))).await;
    // Nor is it an edit where nothing changed.
    fixture.happens(&dm("1"), Happening::Edited(message(1, "wrong"))).await;
    fixture.happens(&dm("1"), Happening::Edited(message(1, "right"))).await;
    fixture.happens(&dm("1"), Happening::Edited(message(1, "right"))).await;
    go.notify_one();
    let posts = fixture.posts(2).await;
    assert_eq!(posts[0].2, "heard: one");
    assert!(posts[1].2.ends_with("\nright"), "{posts:?}");
    let users = users(&fixture, 1);
    assert_eq!(users.len(), 3, "{users:?}");
    assert_eq!((&*users[0], &*users[1]), ("one", "wrong"));
    assert_eq!(
        users[2],
        "⟦edited by its sender: this takes the place of what it said before⟧\nright"
    );
    // It began no turn, and begins none once it was answered.
    fixture.happens(&dm("1"), Happening::Edited(message(1, "later"))).await;
    assert_eq!(fixture.ask(&dm("1"), "three").await, "heard: three");
    assert_eq!(fixture.asked(), 3);
}

#[tokio::test]
async fn what_was_taken_back_while_it_waited_is_not_answered() {
    let (fixture, go) = open_fixture("queue").await;
    fixture.say(&dm("1"), "one").await;
    fixture.upstream.requests(1).await;
    fixture.say(&dm("1"), "never mind").await;
    fixture.say(&dm("1"), "three").await;
    for gone in [0, 1] {
        let gone = Happening::Deleted(MessageId(format!("m{gone}").into()));
        fixture.happens(&dm("1"), gone).await;
    }
    go.notify_one();
    let told: Vec<String> = fixture.posts(3).await.into_iter().map(|post| post.2).collect();
    assert_eq!(told, ["heard: one", "Stopped before I had an answer.", "heard: three"]);
    assert_eq!(fixture.asked(), 2);
}

#[tokio::test]
async fn steer_joins_the_turn_of_the_same_person_and_of_nobody_else() {
    let (fixture, go) = open_fixture("steer").await;
    let (ann, bob) = (group("-100", "1"), group("-100", "2"));
    fixture.say(&ann, "one").await;
    fixture.upstream.requests(1).await;
    fixture.say(&bob, "from bob").await;
    fixture.say(&ann, "two").await;
    go.notify_one();
    let posts = fixture.posts(2).await;
    assert!(posts[0].2.ends_with("two"), "{posts:?}");
    assert!(posts[1].2.ends_with("from bob"), "{posts:?}");
    assert_eq!(users(&fixture, 1).len(), 2);
    // The first answer did not know all that was asked, and was said to nobody.
    assert_eq!(fixture.posted().len(), 2);
}

#[tokio::test]
async fn interrupt_stops_the_turn_and_gets_the_next() {
    let (fixture, _go) = open_fixture("interrupt").await;
    fixture.say(&dm("1"), "one").await;
    fixture.upstream.requests(1).await;
    fixture.say(&dm("1"), "two").await;
    let posts = fixture.posts(2).await;
    assert_eq!(posts[0].2, "Stopped before I had an answer.");
    assert_eq!(posts[1].2, "heard: two");
}

#[tokio::test]
async fn stop_ends_a_turn_that_runs_and_those_that_wait_behind_it() {
    let (fixture, _go) = open_fixture("queue").await;
    fixture.say(&dm("1"), "one").await;
    fixture.upstream.requests(1).await;
    fixture.say(&dm("1"), "two").await;
    fixture.say(&dm("1"), "/stop").await;
    let told: Vec<String> = fixture.posts(2).await.into_iter().map(|post| post.2).collect();
    assert_eq!((told, fixture.asked()), (vec!["Stopped before I had an answer.".to_owned(); 2], 1));
    // Each turn says so once, and the command nothing besides.
    assert_eq!(fixture.ask(&dm("1"), "/status").await, "a: nothing is running; I don't remember");
    assert_eq!(fixture.posted().len(), 3);
}

#[tokio::test]
async fn somebody_else_stops_nothing_unless_they_are_an_admin() {
    let (fixture, _go) = open_fixture("queue").await;
    fixture.say(&group("-100", "1"), "one").await;
    fixture.upstream.requests(1).await;
    let told = fixture.ask(&group("-100", "2"), "/stop").await;
    assert_eq!(told, "nothing of yours is running here");
    fixture.say(&group("-100", "9"), "/stop").await;
    let told: Vec<String> = fixture.posts(2).await.into_iter().map(|post| post.2).collect();
    assert_eq!(told[1], "Stopped before I had an answer.");
}
