//! Commands: what they do, for whom, and what they do not tell.

use crate::ingress::support::{again, dm, echo, group, house, process};
use std::sync::atomic::Ordering;

const CONFIG: &str = "agents:\n  a: {name: Alpha, access: {allow: ['telegram:1', 'telegram:2'], admins: ['telegram:2']}, memory: true, group: {respond: all}}\n  b: {name: Beta, description: for builds, access: {allow: ['telegram:1']}, group: {respond: all}}\n  c: {name: Gamma, access: {allow: ['telegram:9']}}\nbindings:\n  - {agent: a, telegram: '*'}\n  - {agent: b, telegram: {chat: '-100', topic: '7'}}\n  - {agent: c, telegram: {chat: '-100', topic: '8'}}\n  - {agent: c, telegram: {chat: '-200'}}\n";

#[tokio::test]
async fn b12_agents_lists_those_this_person_reaches_here_and_no_others() {
    let house = house(CONFIG).await;
    let told = house.ask(&group("-100", "1"), "/agents").await;
    assert_eq!(told, "Alpha (here)\nBeta (in topic 7): for builds");
    assert_eq!(house.ask(&group("-100", "2"), "/agents").await, "Alpha (here)");
    let in_topic = house.ask(&group("-100", "1").topic("7"), "/agents").await;
    assert!(in_topic.starts_with("Beta (here)"), "{in_topic}");
    assert_eq!(house.ask(&dm("1"), "/agents").await, "Alpha (here)");
}

#[tokio::test]
async fn everybody_has_some_and_admins_have_more() {
    let house = house(CONFIG).await;
    let (guest, admin) = (dm("1"), dm("2"));
    assert!(!house.ask(&guest, "/help").await.contains("/reload"));
    assert!(house.ask(&admin, "/help").await.contains("/reload"));
    for command in ["/reload", "/pause", "/pair AAAAAAAA", "/approve", "/deny"] {
        let told = house.ask(&guest, command).await;
        assert!(told.starts_with("only an admin may use /"), "{command}: {told}");
    }
    assert!(house.ask(&admin, "/reload").await.starts_with("read again"));
    assert_eq!(house.ask(&admin, "/approve").await, "nothing waits for approval here");
    assert!(house.ask(&guest, "/nonsense").await.contains("/help lists"));
    assert!(house.ask(&guest, "/status").await.starts_with("Alpha: nothing is running"));
    assert_eq!(house.asked(), 0, "none of it is for a model");
}

#[tokio::test]
async fn the_button_of_an_empty_chat_is_answered_with_a_greeting() {
    let house = house(CONFIG).await;
    let told = house.ask(&dm("1"), "/start").await;
    assert!(told.starts_with("hello, I am Alpha") && told.contains("/help"), "{told}");
    assert!(house.ask(&dm("1"), "/start from-a-link").await.starts_with("hello"));
    assert!(!house.ask(&dm("1"), "/help").await.contains("/start"));
}

#[tokio::test]
async fn new_begins_anew() {
    let house = house(CONFIG).await;
    house.ask(&dm("1"), "one").await;
    assert_eq!(house.ask(&dm("1"), "/new").await, "we begin anew");
    house.ask(&dm("1"), "two").await;
    assert_eq!(house.journal("a", &dm("1")).await.len(), 2);
}

#[tokio::test]
async fn memory_is_shown_and_forgotten_where_one_is() {
    let house = house(CONFIG).await;
    assert_eq!(house.ask(&dm("1"), "/memory").await, "I remember nothing here");
    assert_eq!(house.ask(&dm("1"), "/forget 1").await, "nothing here is like that");
    assert_eq!(house.ask(&dm("1"), "/forget all").await, "there was nothing to forget");
    assert!(house.ask(&dm("1"), "/forget").await.starts_with("say what"));
}

#[tokio::test]
async fn answers_to_commands_keep_their_order() {
    let house = house(CONFIG).await;
    house.platforms.is_away.store(true, Ordering::Relaxed);
    house.say(&dm("1"), "/whoami").await;
    house.say(&dm("1"), "/status").await;
    assert!(house.posted().is_empty());
    house.platforms.is_away.store(false, Ordering::Relaxed);
    house.say(&dm("1"), "/agents").await;
    house.handles.clock.advance(std::time::Duration::from_secs(10)).await;
    let posts = house.posts(3).await;
    for (post, begins) in posts.iter().zip(["you are", "Alpha:", "Alpha (here)"]) {
        assert!(post.2.starts_with(begins), "{posts:?}");
    }
}

#[test]
fn an_answer_to_a_command_survives_a_crash() {
    let files = process().block_on(async {
        let house = house(CONFIG).await;
        house.platforms.is_away.store(true, Ordering::Relaxed);
        house.say(&dm("1"), "/whoami").await;
        assert!(house.posted().is_empty());
        house.into_files()
    });
    process().block_on(async {
        let house = again(files, CONFIG, insula_tools::BUILT_IN, echo).await;
        house.handles.clock.advance(std::time::Duration::from_secs(10)).await;
        assert!(house.posts(1).await[0].2.starts_with("you are telegram:1"));
    });
}

#[tokio::test]
async fn stop_ends_what_one_began_oneself() {
    let house = house(CONFIG).await;
    assert_eq!(house.ask(&dm("1"), "/stop").await, "nothing of yours is running here");
}

#[tokio::test]
async fn a_conversation_starts_afresh_after_a_quiet_time() {
    let config = CONFIG.replace("memory: true", "memory: true, sessions: {reset: {idle: 2h}}");
    let house = house(&config).await;
    house.ask(&dm("1"), "one").await;
    house.handles.clock.advance(std::time::Duration::from_secs(7_100)).await;
    house.ask(&dm("1"), "two").await;
    assert_eq!(house.journal("a", &dm("1")).await.len(), 4);
    house.handles.clock.advance(std::time::Duration::from_secs(7_200)).await;
    house.ask(&dm("1"), "three").await;
    assert_eq!(house.journal("a", &dm("1")).await.len(), 2);
}
