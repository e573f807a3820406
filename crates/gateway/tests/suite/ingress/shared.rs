//! Direct chats that share one conversation because their operator said so, and those that do not.

use crate::ingress::support::{dm, group, open_fixture, shown};

fn config(more: &str) -> String {
    format!(
        "agents:\n  a: {{default: true, memory: true, access: {{allow: ['telegram:*']}}{more}}}\n"
    )
}

#[tokio::test]
async fn direct_chats_share_one_conversation_and_each_is_answered_where_they_asked() {
    let fixture = open_fixture(&config(", dm_scope: main")).await;
    let (ann, bob) = (dm("1"), dm("2"));
    fixture.ask(&ann, "the code word is heliotrope").await;
    fixture.ask(&bob, "what is the word").await;
    assert_eq!(fixture.key("a", &ann), fixture.key("a", &bob));
    assert_eq!(fixture.journal("a", &bob).await.len(), 4);
    let seen = fixture.upstream.seen();
    let to_bob = format!("{:?}", shown(seen.last().unwrap()));
    assert!(to_bob.contains("heliotrope"), "{to_bob}");
    let chats: Vec<String> = fixture.posted().iter().map(|post| post.1.clone()).collect();
    assert_eq!(chats, ["1", "2"]);
    // A group is another conversation.
    fixture.ask_in_group(&group("-100", "1"), "and here").await;
    let seen = fixture.upstream.seen();
    assert!(!format!("{:?}", shown(seen.last().unwrap())).contains("heliotrope"));
    // Whoever begins anew does so for all of them.
    fixture.ask(&ann, "/new").await;
    fixture.ask(&bob, "and now").await;
    assert_eq!(fixture.journal("a", &ann).await.len(), 2);
}

#[tokio::test]
async fn direct_chats_are_apart_unless_somebody_said_otherwise() {
    let fixture = open_fixture(&config("")).await;
    fixture.ask(&dm("1"), "the code word is heliotrope").await;
    fixture.ask(&dm("2"), "what is the word").await;
    let seen = fixture.upstream.seen();
    assert!(!format!("{:?}", shown(seen.last().unwrap())).contains("heliotrope"));
    assert_eq!(fixture.journal("a", &dm("2")).await.len(), 2);
}

#[tokio::test]
async fn where_memory_is_each_persons_own_a_shared_conversation_begins_anew_with_the_speaker() {
    let fixture =
        open_fixture(&config(", dm_scope: main").replace("memory: true", "memory: {scope: user}"))
            .await;
    fixture.ask(&dm("1"), "the code word is heliotrope").await;
    fixture.ask(&dm("2"), "what is the word").await;
    let seen = fixture.upstream.seen();
    assert!(!format!("{:?}", shown(seen.last().unwrap())).contains("heliotrope"));
}
