//! A reply is shown while it is written: by Slack's own means where there are some.

use crate::slack::support::{Bench, bench, body, post};
use insula_channel::{Adapter, Body, GOES_ON, MessageId, PostTarget};
use insula_testkit::slack::Trouble;
use serde_json::json;
use std::sync::Arc;

fn so_far(text: &str) -> Body {
    Body { goes_on: true, ..body(&format!("{text}{GOES_ON}")) }
}

async fn thread(bench: &Bench) -> PostTarget {
    let root = bench.platform.say(&bench.direct, &bench.ann, "hello");
    bench.direct(Some(&root))
}

fn asked(bench: &Bench) -> Vec<String> {
    let requests = bench.platform.requests().into_iter();
    requests.map(|it| it.0).filter(|it| it.starts_with("chat.")).collect()
}

async fn begun(adapter: &Arc<dyn Adapter>, target: &PostTarget) -> MessageId {
    adapter.post(&post(target.clone(), "k", so_far("One **two**"))).await.unwrap().message
}

#[tokio::test(start_paused = true)]
async fn in_a_thread_with_an_assistant_it_grows() {
    let bench = bench().await;
    let (adapter, target) = (bench.adapter(), thread(&bench).await);
    let message = begun(&adapter, &target).await;
    assert_eq!(bench.said(), ["One **two**"]);
    for text in ["One **two** three", "One **two** three", "One **two** three four"] {
        adapter.edit(&target, &message, &so_far(text)).await.unwrap();
        assert_eq!(bench.said(), [text]);
    }
    adapter.edit(&target, &message, &body("One **two** three four five.")).await.unwrap();
    assert_eq!(bench.said(), ["One **two** three four five."]);
    assert_eq!(
        asked(&bench),
        ["chat.startStream", "chat.appendStream", "chat.appendStream", "chat.stopStream"]
    );
    // It is a message like any other then.
    adapter.edit(&target, &message, &body("**over**")).await.unwrap();
    assert_eq!(bench.said(), ["*over*"]);
}

#[tokio::test(start_paused = true)]
async fn what_reads_otherwise_at_last_takes_its_place() {
    let bench = bench().await;
    let (adapter, target) = (bench.adapter(), thread(&bench).await);
    let message = begun(&adapter, &target).await;
    adapter.edit(&target, &message, &body("Something *else*")).await.unwrap();
    assert_eq!(bench.said(), ["Something _else_"]);
    assert_eq!(asked(&bench), ["chat.startStream", "chat.stopStream", "chat.update"]);
}

#[tokio::test(start_paused = true)]
async fn words_of_which_it_is_not_known_whether_they_are_there_are_not_there_twice() {
    let bench = bench().await;
    let (adapter, target) = (bench.adapter(), thread(&bench).await);
    let message = begun(&adapter, &target).await;
    bench.platform.trouble("chat.appendStream", Trouble::CutAt(10));
    adapter.edit(&target, &message, &so_far("One **two** three")).await.unwrap();
    adapter.edit(&target, &message, &so_far("One **two** three four")).await.unwrap();
    adapter.edit(&target, &message, &body("One **two** three four.")).await.unwrap();
    assert_eq!(bench.said(), ["One *two* three four."]);
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_run_began_is_ended_before_it_is_changed() {
    let bench = bench().await;
    let target = thread(&bench).await;
    let message = begun(&bench.adapter(), &target).await;
    bench.adapter().edit(&target, &message, &body("One **two** three.")).await.unwrap();
    assert_eq!(bench.said(), ["One *two* three."]);
}

#[tokio::test(start_paused = true)]
async fn elsewhere_and_where_the_workspace_has_none_a_message_is_changed() {
    let bench = bench().await;
    let (adapter, target) = (bench.adapter(), thread(&bench).await);
    let root = bench.say("root");
    for target in [bench.direct(None), bench.town(None), bench.town(Some(&root))] {
        let message = begun(&adapter, &target).await;
        adapter.edit(&target, &message, &body("One **two** three.")).await.unwrap();
    }
    bench.platform.take_streams();
    for _ in 0..2 {
        let message = begun(&adapter, &target).await;
        adapter.edit(&target, &message, &so_far("One **two** three")).await.unwrap();
    }
    let streams = asked(&bench).into_iter().filter(|it| it.ends_with("Stream"));
    assert_eq!(streams.count(), 1, "it is asked once");
    assert_eq!(bench.said().len(), 5);
    assert!(bench.platform.said().iter().all(|it| it["is_streaming"] != json!(true)));
}
