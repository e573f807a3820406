//! Commands: what they do, for whom, and what they do not tell.

use crate::ingress::support::{again, dm, echo, group, open_fixture, process};
use std::sync::atomic::Ordering;

const CONFIG: &str = "agents:\n  a: {name: Alpha, access: {allow: ['telegram:1', 'telegram:2'], admins: ['telegram:2']}, memory: true, group: {respond: all}}\n  b: {name: Beta, description: for builds, access: {allow: ['telegram:1']}, group: {respond: all}}\n  c: {name: Gamma, access: {allow: ['telegram:9']}}\nbindings:\n  - {agent: a, telegram: '*'}\n  - {agent: b, telegram: {chat: '-100', topic: '7'}}\n  - {agent: c, telegram: {chat: '-100', topic: '8'}}\n  - {agent: c, telegram: {chat: '-200'}}\n";

#[tokio::test]
async fn b12_agents_lists_those_this_person_reaches_here_and_no_others() {
    let fixture = open_fixture(CONFIG).await;
    let told = fixture.ask(&group("-100", "1"), "/agents").await;
    assert_eq!(told, "Alpha (here)\nBeta (in topic 7): for builds");
    assert_eq!(fixture.ask(&group("-100", "2"), "/agents").await, "Alpha (here)");
    let in_topic = fixture.ask(&group("-100", "1").topic("7"), "/agents").await;
    assert!(in_topic.starts_with("Beta (here)"), "{in_topic}");
    assert_eq!(fixture.ask(&dm("1"), "/agents").await, "Alpha (here)");
}

#[tokio::test]
async fn everybody_has_some_and_admins_have_more() {
    let fixture = open_fixture(CONFIG).await;
    let (guest, admin) = (dm("1"), dm("2"));
    assert!(!fixture.ask(&guest, "/help").await.contains("/reload"));
    assert!(fixture.ask(&admin, "/help").await.contains("/reload"));
    for command in ["/reload", "/pause", "/pair AAAAAAAA", "/approve", "/deny"] {
        let told = fixture.ask(&guest, command).await;
        assert!(told.starts_with("only an admin may use /"), "{command}: {told}");
    }
    assert!(fixture.ask(&admin, "/reload").await.starts_with("read again"));
    assert_eq!(fixture.ask(&admin, "/approve").await, "nothing waits for approval here");
    assert!(fixture.ask(&guest, "/nonsense").await.contains("/help lists"));
    assert!(fixture.ask(&guest, "/status").await.starts_with("Alpha: nothing is running"));
    assert_eq!(fixture.asked(), 0, "none of it is for a model");
}

#[tokio::test]
async fn the_button_of_an_empty_chat_is_answered_with_a_greeting() {
    let fixture = open_fixture(CONFIG).await;
    let told = fixture.ask(&dm("1"), "/start").await;
    assert!(told.starts_with("hello, I am Alpha") && told.contains("/help"), "{told}");
    assert!(fixture.ask(&dm("1"), "/start from-a-link").await.starts_with("hello"));
    assert!(!fixture.ask(&dm("1"), "/help").await.contains("/start"));
}

#[tokio::test]
async fn new_begins_anew() {
    let fixture = open_fixture(CONFIG).await;
    fixture.ask(&dm("1"), "one").await;
    assert_eq!(fixture.ask(&dm("1"), "/new").await, "we begin anew");
    fixture.ask(&dm("1"), "two").await;
    assert_eq!(fixture.journal("a", &dm("1")).await.len(), 2);
}

#[tokio::test]
async fn memory_is_shown_and_forgotten_where_one_is() {
    let fixture = open_fixture(CONFIG).await;
    assert_eq!(fixture.ask(&dm("1"), "/memory").await, "I remember nothing here");
    assert_eq!(fixture.ask(&dm("1"), "/forget 1").await, "nothing here is like that");
    assert_eq!(fixture.ask(&dm("1"), "/forget all").await, "there was nothing to forget");
    assert!(fixture.ask(&dm("1"), "/forget").await.starts_with("say what"));
}

#[tokio::test]
async fn answers_to_commands_keep_their_order() {
    let fixture = open_fixture(CONFIG).await;
    fixture.platforms.is_away.store(true, Ordering::Relaxed);
    fixture.say(&dm("1"), "/whoami").await;
    fixture.say(&dm("1"), "/status").await;
    assert!(fixture.posted().is_empty());
    fixture.platforms.is_away.store(false, Ordering::Relaxed);
    fixture.say(&dm("1"), "/agents").await;
    fixture.handles.clock.advance(std::time::Duration::from_secs(10)).await;
    let posts = fixture.posts(3).await;
    for (post, begins) in posts.iter().zip(["you are", "Alpha:", "Alpha (here)"]) {
        assert!(post.2.starts_with(begins), "{posts:?}");
    }
}

#[test]
fn an_answer_to_a_command_survives_a_crash() {
    let files = process().block_on(async {
        let fixture = open_fixture(CONFIG).await;
        fixture.platforms.is_away.store(true, Ordering::Relaxed);
        fixture.say(&dm("1"), "/whoami").await;
        assert!(fixture.posted().is_empty());
        fixture.into_files()
    });
    process().block_on(async {
        let fixture = again(files, CONFIG, insula_tools::BUILT_IN, echo).await;
        fixture.handles.clock.advance(std::time::Duration::from_secs(10)).await;
        assert!(fixture.posts(1).await[0].2.starts_with("you are telegram:1"));
    });
}

#[tokio::test]
async fn stop_ends_what_one_began_oneself() {
    let fixture = open_fixture(CONFIG).await;
    assert_eq!(fixture.ask(&dm("1"), "/stop").await, "nothing of yours is running here");
}

#[tokio::test]
async fn a_conversation_starts_afresh_after_a_quiet_time() {
    let config = CONFIG.replace("memory: true", "memory: true, sessions: {reset: {idle: 2h}}");
    let fixture = open_fixture(&config).await;
    fixture.ask(&dm("1"), "one").await;
    fixture.handles.clock.advance(std::time::Duration::from_secs(7_100)).await;
    fixture.ask(&dm("1"), "two").await;
    assert_eq!(fixture.journal("a", &dm("1")).await.len(), 4);
    fixture.handles.clock.advance(std::time::Duration::from_secs(7_200)).await;
    fixture.ask(&dm("1"), "three").await;
    assert_eq!(fixture.journal("a", &dm("1")).await.len(), 2);
}

#[tokio::test]
async fn what_can_be_used_and_who_speaks_is_told_here_alone() {
    let fixture = open_fixture(CONFIG).await;
    let (guest, admin) = (dm("1"), dm("2"));
    let tools = fixture.ask(&guest, "/tools").await;
    assert!(tools.starts_with("I can use here: ") && tools.contains("clarify"), "{tools}");
    assert!(fixture.ask(&guest, "/model").await.contains("answers here"));
    assert_eq!(fixture.ask(&guest, "/sessions").await, "nothing was said here yet");
    fixture.ask(&guest, "one").await;
    let sessions = fixture.ask(&guest, "/sessions").await;
    assert!(sessions.ends_with("(this one)") && sessions.lines().count() == 1, "{sessions}");
    // Another chat has none of it.
    assert_eq!(fixture.ask(&admin, "/sessions").await, "nothing was said here yet");
    let who = fixture.ask(&guest, "/who").await;
    assert_eq!(who, "Alpha answers; in this conversation speak telegram:1");
    let used = fixture.ask(&guest, "/usage").await;
    assert!(used.starts_with("you today: 1 turn, ") && used.lines().count() == 1, "{used}");
    let used = fixture.ask(&admin, "/usage").await;
    assert!(
        used.contains("you today: 0 turns") && used.contains("everybody today: 1 turn"),
        "{used}"
    );
}

#[tokio::test]
async fn the_last_message_is_answered_again_or_taken_back_by_whoever_said_it() {
    let fixture = open_fixture(CONFIG).await;
    let (ann, bob) = (group("-100", "1"), group("-100", "2"));
    assert_eq!(fixture.ask(&ann, "/retry").await, "there is nothing of yours to answer again");
    assert_eq!(fixture.ask(&ann, "/undo").await, "there is nothing of yours to take back");
    fixture.ask(&ann, "a wombat").await;
    let asked = fixture.asked();
    fixture.ask(&ann, "/retry").await;
    assert_eq!(fixture.asked(), asked + 1);
    // Two people in one conversation: each takes back their own.
    assert_eq!(fixture.ask(&bob, "/undo").await, "there is nothing of yours to take back");
    let told = fixture.ask(&ann, "/undo").await;
    assert!(told.starts_with("taken back"), "{told}");
    fixture.ask(&ann, "two").await;
    let last = fixture.upstream.seen().pop().unwrap();
    let body = String::from_utf8_lossy(&last.body).into_owned();
    assert!(body.contains("two") && !body.contains("wombat"), "what was taken back is shown");
}

#[tokio::test]
async fn the_log_is_for_admins_where_nobody_reads_along() {
    let fixture = open_fixture(CONFIG).await;
    assert_eq!(fixture.ask(&dm("1"), "/logs").await, "only an admin may use /logs");
    let told = fixture.ask(&group("-100", "2"), "/logs").await;
    assert!(told.contains("in a direct chat"), "{told}");
    let told = fixture.ask(&dm("2"), "/logs").await;
    assert!(told == "my log is empty" || told.starts_with("```"), "{told}");
}
