//! Who is refused by a budget is told so, in one line, and not for every message of a flood.

use crate::ingress::support::{dm, group, open_fixture};
use std::time::Duration;

fn config(budget: &str) -> String {
    format!(
        "agents:\n  a: {{default: true, budget: {{{budget}}}, access: {{allow: ['telegram:*']}}, group: {{respond: all}}}}\n"
    )
}

#[tokio::test]
async fn a_flood_beyond_the_budget_of_a_minute_is_answered_with_one_line() {
    let fixture = open_fixture(&config("turns_per_minute: 1")).await;
    assert_eq!(fixture.ask(&dm("1"), "one").await, "heard: one");
    let told = fixture.ask(&dm("1"), "two").await;
    assert_eq!(told, "That is more in a minute than my budget allows; ask again in 61 s.");
    for _ in 0..50 {
        fixture.say(&dm("1"), "more").await;
    }
    assert_eq!(fixture.posted().len(), 2);
    // Somebody else is told too, and so is the same person in another chat.
    fixture.ask(&dm("2"), "three").await;
    fixture.ask(&group("-100", "1"), "four").await;
    assert_eq!(fixture.asked(), 1);
    fixture.handles.clock.advance(Duration::from_secs(62)).await;
    assert_eq!(fixture.ask(&dm("1"), "five").await, "heard: five");
    fixture.ask(&dm("1"), "six").await;
    assert_eq!(fixture.asked(), 2);
}

#[tokio::test]
async fn a_turn_that_a_budget_ends_says_so_and_names_no_amount() {
    let fixture = open_fixture(&config("tokens_per_day: 10")).await;
    let told = fixture.ask(&dm("1"), "one").await;
    assert_eq!(
        told,
        "I could not finish this: my budget is used up for today; I can go on after midnight UTC."
    );
    assert_eq!(fixture.asked(), 0);
}

#[tokio::test]
async fn what_a_budget_refused_is_dealt_with() {
    let fixture = open_fixture(&config("turns_per_minute: 1")).await;
    fixture.ask(&dm("1"), "one").await;
    let refused = crate::ingress::support::message(77, "two");
    let envelope = || {
        let what = insula_channel::Happening::Said(refused.clone());
        fixture.envelope(&dm("1"), 77, what)
    };
    fixture.take(envelope()).await;
    fixture.posts(2).await;
    fixture.handles.clock.advance(Duration::from_secs(62)).await;
    // Delivered again it is nothing new: whoever was refused has heard so.
    fixture.take(envelope()).await;
    assert_eq!(fixture.asked(), 1);
}
