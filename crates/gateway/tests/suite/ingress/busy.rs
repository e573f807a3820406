//! What somebody says while a turn of theirs runs: waits, joins it, or takes its place.

use crate::ingress::support::{Fixture, dm, echo, group, message, shown, with};
use insula_channel::{Happening, MessageId};
use insula_testkit::upstream::{Seen, Step};
use std::sync::Arc;
use tokio::sync::Notify;

/// A house whose first answer waits for the word.
async fn house(busy: &str) -> (Fixture, Arc<Notify>) {
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

fn users(house: &Fixture, request: usize) -> Vec<String> {
    let shown = shown(&house.upstream.seen()[request]);
    shown.into_iter().filter(|(role, _)| role == "user").map(|(_, text)| text).collect()
}

#[tokio::test]
async fn queue_answers_each_in_its_turn() {
    let (house, go) = house("queue").await;
    house.say(&dm("1"), "one").await;
    house.upstream.requests(1).await;
    house.say(&dm("1"), "two").await;
    go.notify_one();
    let posts = house.posts(2).await;
    assert_eq!((&*posts[0].2, &*posts[1].2), ("heard: one", "heard: two"));
}

#[tokio::test]
async fn an_edit_of_what_waits_is_read_by_the_turn_that_answers() {
    let (house, go) = house("queue").await;
    house.say(&dm("1"), "one").await;
    house.upstream.requests(1).await;
    house.say(&dm("1"), "wrong").await;
    // What runs stays as it was heard, and nobody else can change what waits.
    house.happens(&dm("1"), Happening::Edited(message(0, "late"))).await;
    house.happens(&dm("2"), Happening::Edited(message(1, "forged"))).await;
    // Nor is it an edit where nothing changed.
    house.happens(&dm("1"), Happening::Edited(message(1, "wrong"))).await;
    house.happens(&dm("1"), Happening::Edited(message(1, "right"))).await;
    house.happens(&dm("1"), Happening::Edited(message(1, "right"))).await;
    go.notify_one();
    let posts = house.posts(2).await;
    assert_eq!(posts[0].2, "heard: one");
    assert!(posts[1].2.ends_with("\nright"), "{posts:?}");
    let users = users(&house, 1);
    assert_eq!(users.len(), 3, "{users:?}");
    assert_eq!((&*users[0], &*users[1]), ("one", "wrong"));
    assert_eq!(
        users[2],
        "⟦edited by its sender: this takes the place of what it said before⟧\nright"
    );
    // It began no turn, and begins none once it was answered.
    house.happens(&dm("1"), Happening::Edited(message(1, "later"))).await;
    assert_eq!(house.ask(&dm("1"), "three").await, "heard: three");
    assert_eq!(house.asked(), 3);
}

#[tokio::test]
async fn what_was_taken_back_while_it_waited_is_not_answered() {
    let (house, go) = house("queue").await;
    house.say(&dm("1"), "one").await;
    house.upstream.requests(1).await;
    house.say(&dm("1"), "never mind").await;
    house.say(&dm("1"), "three").await;
    for gone in [0, 1] {
        let gone = Happening::Deleted(MessageId(format!("m{gone}").into()));
        house.happens(&dm("1"), gone).await;
    }
    go.notify_one();
    let told: Vec<String> = house.posts(3).await.into_iter().map(|post| post.2).collect();
    assert_eq!(told, ["heard: one", "Stopped before I had an answer.", "heard: three"]);
    assert_eq!(house.asked(), 2);
}

#[tokio::test]
async fn steer_joins_the_turn_of_the_same_person_and_of_nobody_else() {
    let (house, go) = house("steer").await;
    let (ann, bob) = (group("-100", "1"), group("-100", "2"));
    house.say(&ann, "one").await;
    house.upstream.requests(1).await;
    house.say(&bob, "from bob").await;
    house.say(&ann, "two").await;
    go.notify_one();
    let posts = house.posts(2).await;
    assert!(posts[0].2.ends_with("two"), "{posts:?}");
    assert!(posts[1].2.ends_with("from bob"), "{posts:?}");
    assert_eq!(users(&house, 1).len(), 2);
    // The first answer did not know all that was asked, and was said to nobody.
    assert_eq!(house.posted().len(), 2);
}

#[tokio::test]
async fn interrupt_stops_the_turn_and_gets_the_next() {
    let (house, _go) = house("interrupt").await;
    house.say(&dm("1"), "one").await;
    house.upstream.requests(1).await;
    house.say(&dm("1"), "two").await;
    let posts = house.posts(2).await;
    assert_eq!(posts[0].2, "Stopped before I had an answer.");
    assert_eq!(posts[1].2, "heard: two");
}

#[tokio::test]
async fn stop_ends_a_turn_that_runs_and_those_that_wait_behind_it() {
    let (house, _go) = house("queue").await;
    house.say(&dm("1"), "one").await;
    house.upstream.requests(1).await;
    house.say(&dm("1"), "two").await;
    house.say(&dm("1"), "/stop").await;
    let told: Vec<String> = house.posts(3).await.into_iter().map(|post| post.2).collect();
    assert!(told.contains(&"stopped".to_owned()), "{told:?}");
    let stopped = told.iter().filter(|it| it.starts_with("Stopped before")).count();
    assert_eq!((stopped, house.asked()), (2, 1));
    assert_eq!(house.ask(&dm("1"), "/status").await, "a: nothing is running; I don't remember");
}

#[tokio::test]
async fn somebody_else_stops_nothing_unless_they_are_an_admin() {
    let (house, _go) = house("queue").await;
    house.say(&group("-100", "1"), "one").await;
    house.upstream.requests(1).await;
    let told = house.ask(&group("-100", "2"), "/stop").await;
    assert_eq!(told, "nothing of yours is running here");
    house.say(&group("-100", "9"), "/stop").await;
    let told: Vec<String> = house.posts(3).await.into_iter().map(|post| post.2).collect();
    assert!(told.contains(&"stopped".to_owned()), "{told:?}");
}
