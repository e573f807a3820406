//! The tests, for any platform.

use crate::conformance::harness::{Harness, Listening, Tray, Trouble};
use insula_channel::{Body, ConnectFault, FetchError, Post, PostError};
use serde_json::json;
use std::collections::BTreeSet;

/// Makes every test of the suite a test for one harness.
#[macro_export]
macro_rules! conformance {
    ($harness:ty) => {
        $crate::conformance!(@ $harness:
            what_is_said_is_heard_in_order
            an_event_that_comes_again_has_the_same_id
            nothing_is_acknowledged_before_it_is_taken
            listening_goes_on_where_it_stopped
            listening_stops_when_told
            nonsense_is_left_out_and_holds_nothing_up
            refused_credentials_are_told_as_such
            a_text_as_long_as_allowed_arrives_whole
            any_markdown_arrives
            every_failure_is_told_by_what_can_be_done
            a_message_can_be_changed_and_changed_to_the_same
            a_file_is_fetched_within_the_limit_and_not_beyond
            the_same_key_is_one_message_where_the_platform_knows_keys
        );
    };
    (@ $harness:ty: $($name:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $crate::conformance::suite::$name::<$harness>().await;
            }
        )*
    };
}

fn body(markdown: &str) -> Body {
    Body { markdown: markdown.to_owned(), ..Body::default() }
}

fn post<H: Harness>(harness: &H, key: &str, markdown: &str) -> Post {
    Post { target: harness.target(), reply_to: None, idempotency: key.into(), body: body(markdown) }
}

pub async fn what_is_said_is_heard_in_order<H: Harness>() {
    let harness = H::start().await;
    let tray = Tray::new(harness.cursor());
    harness.say("one").await;
    let listening = Listening::start(&harness.adapter(), &tray);
    harness.say("two").await;
    harness.say("three").await;
    assert_eq!(tray.until_said(3).await, ["one", "two", "three"]);
    assert!(tray.was_alive());
    let ids: BTreeSet<_> = tray.envelopes().iter().map(|one| one.event.0.clone()).collect();
    assert_eq!(ids.len(), tray.envelopes().len(), "every event has an id of its own");
    let target = harness.target();
    for envelope in tray.envelopes() {
        assert_eq!(envelope.address.chat, target.chat);
        assert_eq!(envelope.address.chat_type, target.chat_type);
        assert!(envelope.address.user.is_some());
    }
    listening.stop().await.unwrap();
}

pub async fn an_event_that_comes_again_has_the_same_id<H: Harness>() {
    let harness = H::start().await;
    let first = Tray::new(harness.cursor());
    harness.say("one").await;
    harness.say("two").await;
    let listening = Listening::start(&harness.adapter(), &first);
    first.until_said(2).await;
    listening.stop().await.unwrap();
    harness.redeliver().await;
    // A tray that has heard nothing: everything comes.
    let second = Tray::new(harness.cursor());
    let listening = Listening::start(&harness.adapter(), &second);
    second.until_said(2).await;
    listening.stop().await.unwrap();
    assert_eq!(second.envelopes(), first.envelopes());
}

pub async fn nothing_is_acknowledged_before_it_is_taken<H: Harness>() {
    let harness = H::start().await;
    let tray = Tray::new(harness.cursor());
    harness.say("one").await;
    tray.refuse(true);
    let fault = Listening::start(&harness.adapter(), &tray).failed().await;
    assert!(matches!(fault, ConnectFault::Broken { .. }), "{fault:?}");
    assert!(tray.envelopes().is_empty());
    tray.refuse(false);
    harness.say("two").await;
    let listening = Listening::start(&harness.adapter(), &tray);
    assert_eq!(tray.until_said(2).await, ["one", "two"]);
    listening.stop().await.unwrap();
}

pub async fn listening_goes_on_where_it_stopped<H: Harness>() {
    let harness = H::start().await;
    let tray = Tray::new(harness.cursor());
    for (number, text) in ["one", "two", "three"].into_iter().enumerate() {
        harness.say(text).await;
        let listening = Listening::start(&harness.adapter(), &tray);
        tray.until_said(number + 1).await;
        listening.stop().await.unwrap();
    }
    assert_eq!(tray.texts(), ["one", "two", "three"]);
}

pub async fn listening_stops_when_told<H: Harness>() {
    let harness = H::start().await;
    let tray = Tray::new(harness.cursor());
    let listening = Listening::start(&harness.adapter(), &tray);
    assert_eq!(listening.stop().await, Ok(()));
}

pub async fn nonsense_is_left_out_and_holds_nothing_up<H: Harness>() {
    let harness = H::start().await;
    let tray = Tray::new(harness.cursor());
    let listening = Listening::start(&harness.adapter(), &tray);
    for nonsense in [
        json!({}),
        json!(null),
        json!([1, "two", {"three": []}]),
        json!("text"),
        json!({"message": 5}),
        json!({"message": {"message_id": "x", "chat": []}}),
        json!({"type": 5, "content": null, "event_id": {}}),
        json!({"type": "m.room.message", "content": {"msgtype": [], "body": {}}}),
    ] {
        if !harness.garble(nonsense).await {
            break;
        }
    }
    harness.say("still there").await;
    assert_eq!(tray.until_said(1).await, ["still there"]);
    listening.stop().await.unwrap();
}

pub async fn refused_credentials_are_told_as_such<H: Harness>() {
    let harness = H::start().await;
    if !harness.has_credentials() {
        return;
    }
    let tray = Tray::new(harness.cursor());
    harness.revoke().await;
    let fault = Listening::start(&harness.adapter(), &tray).failed().await;
    assert!(matches!(fault, ConnectFault::Refused(_)), "{fault:?}");
    assert!(matches!(harness.adapter().identify().await, Err(ConnectFault::Refused(_))));
    let error = harness.adapter().post(&post(&harness, "k", "hello")).await.unwrap_err();
    assert!(matches!(error, PostError::Account { .. }), "{error:?}");
}

pub async fn a_text_as_long_as_allowed_arrives_whole<H: Harness>() {
    let harness = H::start().await;
    let adapter = harness.adapter();
    // Characters of one unit that no formatting touches, and none that any platform trims.
    let text = "a".repeat(adapter.features().text.most());
    adapter.post(&post(&harness, "k", &text)).await.unwrap();
    assert_eq!(harness.seen().await, [text]);
}

pub async fn any_markdown_arrives<H: Harness>() {
    let harness = H::start().await;
    let adapter = harness.adapter();
    let texts = [
        "**bold** _it_ `code`",
        "**never closed",
        "<b>tags</b> & \"quotes\"",
        "```rust\nfn main() {}\n```",
        "[x](javascript:alert(1)) [y](http://e.org/)",
        "* a\n* b\n\n> q\n\n# H",
        "\\",
    ];
    for (number, text) in texts.into_iter().enumerate() {
        adapter.post(&post(&harness, &format!("k{number}"), text)).await.unwrap();
    }
    assert_eq!(harness.seen().await.len(), texts.len());
}

pub async fn every_failure_is_told_by_what_can_be_done<H: Harness>() {
    let harness = H::start().await;
    let is_idempotent = harness.adapter().features().idempotency.knows_keys();
    let troubles = [
        (Trouble::TooFast(7), "later"),
        (Trouble::Broken, "later"),
        (Trouble::AnswerLost, "unknown"),
        (Trouble::RequestLost, "unknown"),
        (Trouble::Garbage, "unknown"),
        (Trouble::Refused, "never"),
    ];
    for (trouble, expected) in troubles {
        if !harness.trouble(trouble).await {
            continue;
        }
        let key = format!("{trouble:?}");
        // One that was asked to wait may remember that.
        let adapter = harness.adapter();
        let error = adapter.post(&post(&harness, &key, "hello")).await.unwrap_err();
        let got = match &error {
            PostError::Later { wait, .. } => {
                if let Trouble::TooFast(seconds) = trouble {
                    let wanted = std::time::Duration::from_secs(seconds);
                    assert!(wait.is_some_and(|wait| wait >= wanted), "{error:?}");
                }
                "later"
            }
            PostError::Uncertain { .. } => "unknown",
            PostError::Never { .. } => "never",
            PostError::Account { .. } => "account",
        };
        // With a key the platform knows, sending again is safe.
        let is_right =
            got == expected || (is_idempotent && (got, expected) == ("later", "unknown"));
        assert!(is_right, "{trouble:?} is {got}: {error:?}");
    }
    harness.adapter().post(&post(&harness, "last", "after all that")).await.unwrap();
    assert_eq!(harness.seen().await.last().unwrap(), "after all that");
}

pub async fn a_message_can_be_changed_and_changed_to_the_same<H: Harness>() {
    let harness = H::start().await;
    let adapter = harness.adapter();
    if adapter.features().can_edit.is_none() {
        return;
    }
    let posted = adapter.post(&post(&harness, "k", "first")).await.unwrap();
    for text in ["second", "second", "third"] {
        adapter.edit(&harness.target(), &posted.message, &body(text)).await.unwrap();
    }
    assert_eq!(harness.seen().await, ["third"]);
}

pub async fn a_file_is_fetched_within_the_limit_and_not_beyond<H: Harness>() {
    let harness = H::start().await;
    if !harness.has_files() {
        return;
    }
    let tray = Tray::new(harness.cursor());
    let adapter = harness.adapter();
    let listening = Listening::start(&adapter, &tray);
    let content = b"twelve bytes".as_slice();
    harness.say_file(content).await;
    tray.until(1).await;
    let attachment = tray.messages()[0].attachments[0].clone();
    assert_eq!(adapter.fetch(&attachment, 12).await.unwrap(), content);
    for lying in [attachment.size, None, Some(1)] {
        let mut attachment = attachment.clone();
        attachment.size = lying;
        assert_eq!(adapter.fetch(&attachment, 11).await, Err(FetchError::TooLarge));
    }
    listening.stop().await.unwrap();
}

pub async fn the_same_key_is_one_message_where_the_platform_knows_keys<H: Harness>() {
    let harness = H::start().await;
    let adapter = harness.adapter();
    if !adapter.features().idempotency.knows_keys() {
        return;
    }
    let first = adapter.post(&post(&harness, "k", "once")).await.unwrap();
    let again = adapter.post(&post(&harness, "k", "once")).await.unwrap();
    assert_eq!(first, again);
    assert_eq!(harness.seen().await, ["once"]);
}
