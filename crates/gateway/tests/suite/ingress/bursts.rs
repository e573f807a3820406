//! Messages that are one, and what waits durably meanwhile.

use crate::ingress::support::{Fixture, again, dm, echo, house, message, process, shown};
use insula_channel::{Happening, Message, MessageId};
use std::time::Duration;

const CONFIG: &str = "agents:\n  a: {default: true, access: {allow: ['telegram:*']}}\n";

fn long(word: &str) -> String {
    word.repeat(4_000 / word.len())
}

async fn album(house: &Fixture, name: &str, text: &str) {
    let id = house.next();
    let said = Message { group: Some(name.into()), ..message(id, text) };
    house.take(house.envelope(&dm("1"), id, Happening::Said(said))).await;
}

/// Lets the window of a burst pass.
async fn wait(house: &Fixture) {
    while house.handles.clock.sleeper_count() == 0 {
        tokio::task::yield_now().await;
    }
    house.handles.clock.advance(Duration::from_millis(400)).await;
}

#[tokio::test]
async fn a_text_that_a_client_cut_is_one_message() {
    let house = house(CONFIG).await;
    house.say(&dm("1"), &long("one ")).await;
    house.say(&dm("1"), &long("two ")).await;
    assert_eq!(house.asked(), 0);
    // The short rest ends it; nobody waits any longer.
    house.say(&dm("1"), "the end").await;
    house.posts(1).await;
    let heard = shown(&house.upstream.seen()[0]);
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].1, format!("{}\n{}\nthe end", long("one "), long("two ")));
    assert_eq!(house.journal("a", &dm("1")).await.len(), 2);
    // The next message is one of its own, at once.
    house.ask(&dm("1"), "hello").await;
    assert_eq!(house.asked(), 2);
}

#[tokio::test]
async fn a_long_message_without_a_rest_waits_a_moment() {
    let house = house(CONFIG).await;
    house.say(&dm("1"), &long("one ")).await;
    assert_eq!(house.asked(), 0);
    wait(&house).await;
    house.posts(1).await;
    assert_eq!(house.asked(), 1);
}

#[tokio::test]
async fn an_album_is_one_message() {
    let house = house(CONFIG).await;
    album(&house, "x", "look").await;
    album(&house, "x", "").await;
    album(&house, "x", "there").await;
    wait(&house).await;
    house.posts(1).await;
    assert_eq!(shown(&house.upstream.seen()[0])[0].1, "look\nthere");
}

#[tokio::test]
async fn order_is_kept_behind_what_waits() {
    let house = house(CONFIG).await;
    album(&house, "x", "first").await;
    // Another message: what waited is complete, and goes before it.
    house.say(&dm("1"), "second").await;
    let posts = house.posts(2).await;
    assert_eq!((&*posts[0].2, &*posts[1].2), ("heard: first", "heard: second"));
}

#[tokio::test]
async fn what_waits_can_be_changed_and_taken_back() {
    let house = house(CONFIG).await;
    album(&house, "x", "wrong").await;
    album(&house, "x", "gone").await;
    let edited = message(0, "right");
    house.happens(&dm("1"), Happening::Edited(edited)).await;
    // Nobody else can change it.
    house.happens(&dm("2"), Happening::Edited(message(0, "forged"))).await;
    house.happens(&dm("1"), Happening::Deleted(MessageId("m1".into()))).await;
    wait(&house).await;
    house.posts(1).await;
    assert_eq!(shown(&house.upstream.seen()[0])[0].1, "right");
    // What a turn has taken in stays as it was heard, and begins no other.
    house.happens(&dm("1"), Happening::Edited(message(0, "later"))).await;
    assert_eq!(house.asked(), 1);
}

#[test]
fn what_waited_when_the_process_died_is_answered_by_the_next() {
    let first = process();
    let files = first.block_on(async {
        let house = house(CONFIG).await;
        house.say(&dm("1"), &long("one ")).await;
        house.say(&dm("1"), &long("two ")).await;
        assert_eq!(house.asked(), 0);
        house.into_files()
    });
    drop(first);
    process().block_on(async {
        let house = again(files, CONFIG, insula_tools::BUILT_IN, echo).await;
        house.posts(1).await;
        let heard = shown(&house.upstream.seen()[0]);
        assert_eq!(heard.len(), 1);
        assert!(heard[0].1.contains("one one") && heard[0].1.contains("two two"));
        // The same events again are nothing new.
        house.say(&dm("1"), &long("one ")).await;
        house.say(&dm("1"), &long("two ")).await;
        assert_eq!(house.journal("a", &dm("1")).await.len(), 2);
        assert_eq!(house.asked(), 1);
    });
}
