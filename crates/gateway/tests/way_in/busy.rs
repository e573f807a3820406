//! What somebody says while a turn of theirs runs: waits, joins it, or takes its place.

use crate::support::{Fixture, dm, echo, group, shown, with};
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
