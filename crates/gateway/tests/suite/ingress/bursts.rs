//! Messages that are one, and what waits durably meanwhile.

use crate::ingress::support::{Fixture, again, dm, echo, message, open_fixture, process, shown};
use insula_channel::{Happening, Message, MessageId};
use std::time::Duration;

const CONFIG: &str = "agents:\n  a: {default: true, access: {allow: ['telegram:*']}}\n";

fn long(word: &str) -> String {
    word.repeat(4_000 / word.len())
}

async fn album(fixture: &Fixture, name: &str, text: &str) {
    let id = fixture.next();
    let said = Message { group: Some(name.into()), ..message(id, text) };
    fixture.take(fixture.envelope(&dm("1"), id, Happening::Said(said))).await;
}

/// Lets the window of a burst pass.
async fn wait(fixture: &Fixture) {
    while fixture.handles.clock.sleeper_count() == 0 {
        tokio::task::yield_now().await;
    }
    fixture.handles.clock.advance(Duration::from_millis(400)).await;
}

#[tokio::test]
async fn a_text_that_a_client_cut_is_one_message() {
    let fixture = open_fixture(CONFIG).await;
    fixture.say(&dm("1"), &long("one ")).await;
    fixture.say(&dm("1"), &long("two ")).await;
    assert_eq!(fixture.asked(), 0);
    // The short rest ends it; nobody waits any longer.
    fixture.say(&dm("1"), "the end").await;
    fixture.posts(1).await;
    let heard = shown(&fixture.upstream.seen()[0]);
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].1, format!("{}\n{}\nthe end", long("one "), long("two ")));
    assert_eq!(fixture.journal("a", &dm("1")).await.len(), 2);
    // The next message is one of its own, at once.
    fixture.ask(&dm("1"), "hello").await;
    assert_eq!(fixture.asked(), 2);
}

#[tokio::test]
async fn a_long_message_without_a_rest_waits_a_moment() {
    let fixture = open_fixture(CONFIG).await;
    fixture.say(&dm("1"), &long("one ")).await;
    assert_eq!(fixture.asked(), 0);
    wait(&fixture).await;
    fixture.posts(1).await;
    assert_eq!(fixture.asked(), 1);
}

#[tokio::test]
async fn an_album_is_one_message() {
    let fixture = open_fixture(CONFIG).await;
    album(&fixture, "x", "look").await;
    album(&fixture, "x", "").await;
    album(&fixture, "x", "there").await;
    wait(&fixture).await;
    fixture.posts(1).await;
    assert_eq!(shown(&fixture.upstream.seen()[0])[0].1, "look\nthere");
}

#[tokio::test]
async fn order_is_kept_behind_what_waits() {
    let fixture = open_fixture(CONFIG).await;
    album(&fixture, "x", "first").await;
    // Another message: what waited is complete, and goes before it.
    fixture.say(&dm("1"), "second").await;
    let posts = fixture.posts(2).await;
    assert_eq!((&*posts[0].2, &*posts[1].2), ("heard: first", "heard: second"));
}

#[tokio::test]
async fn what_waits_can_be_changed_and_taken_back() {
    let fixture = open_fixture(CONFIG).await;
    album(&fixture, "x", "wrong").await;
    album(&fixture, "x", "gone").await;
    let edited = message(0, "right");
    fixture.happens(&dm("1"), Happening::Edited(edited)).await;
    // Nobody else can change it.
    fixture.happens(&dm("2"), Happening::Edited(message(0, "forged"))).await;
    fixture.happens(&dm("1"), Happening::Deleted(MessageId("m1".into()))).await;
    wait(&fixture).await;
    fixture.posts(1).await;
    assert_eq!(shown(&fixture.upstream.seen()[0])[0].1, "right");
    // What a turn has taken in stays as it was heard, and begins no other.
    fixture.happens(&dm("1"), Happening::Edited(message(0, "later"))).await;
    assert_eq!(fixture.asked(), 1);
}

#[test]
fn what_waited_when_the_process_died_is_answered_by_the_next() {
    let first = process();
    let files = first.block_on(async {
        let fixture = open_fixture(CONFIG).await;
        fixture.say(&dm("1"), &long("one ")).await;
        fixture.say(&dm("1"), &long("two ")).await;
        assert_eq!(fixture.asked(), 0);
        fixture.into_files()
    });
    drop(first);
    process().block_on(async {
        let fixture = again(files, CONFIG, insula_tools::BUILT_IN, echo).await;
        fixture.posts(1).await;
        let heard = shown(&fixture.upstream.seen()[0]);
        assert_eq!(heard.len(), 1);
        assert!(heard[0].1.contains("one one") && heard[0].1.contains("two two"));
        // The same events again are nothing new.
        fixture.say(&dm("1"), &long("one ")).await;
        fixture.say(&dm("1"), &long("two ")).await;
        assert_eq!(fixture.journal("a", &dm("1")).await.len(), 2);
        assert_eq!(fixture.asked(), 1);
    });
}
