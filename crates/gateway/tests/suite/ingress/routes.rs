//! Where messages go, and that they go nowhere else.

use crate::ingress::support::{dm, group, open_fixture, with_hook};
use insula_domain::ChatId;
use insula_registry::access::InboundOutcome;
use insula_testkit::upstream::{Seen, Step, answer};

#[tokio::test]
async fn c1_a_chat_is_the_same_as_a_number_and_as_a_text() {
    for written in ["-100123", "\"-100123\""] {
        let fixture = open_fixture(&format!(
            "agents:\n  a: {{default: true, access: {{allow: ['telegram:*']}}}}\n  b: {{name: Bee, access: {{allow: ['telegram:*']}}, group: {{respond: all}}}}\nbindings:\n  - {{agent: b, telegram: {written}}}\n"
        ))
        .await;
        let told = fixture.ask(&group("-100123", "1"), "/whoami").await;
        assert!(told.contains("talking to Bee"), "{told}");
    }
}

#[tokio::test]
async fn c2_nobody_stands_in_for_an_agent_that_does_not_serve() {
    let fixture = open_fixture(
        "agents:\n  a: {default: true, access: {allow: ['telegram:*']}}\n  broken: {isolation: container, access: {allow: ['telegram:*']}}\nbindings:\n  - {agent: ghost, telegram: '7'}\n  - {agent: broken, telegram: '8'}\n",
    )
    .await;
    fixture.say(&dm("7"), "hello").await;
    fixture.say(&dm("8"), "hello").await;
    assert_eq!((fixture.asked(), fixture.posted()), (0, vec![]));
    assert_eq!(fixture.daemon.inbound().of(InboundOutcome::Unrouted), 2);
    // Elsewhere the default agent answers.
    assert_eq!(fixture.ask(&dm("9"), "hello").await, "heard: hello");
}

#[tokio::test]
async fn a_paused_agent_says_so_to_those_who_may_talk_and_goes_on_for_its_admins() {
    let daemon = open_fixture(
        "agents:\n  a: {default: true, access: {allow: ['telegram:1'], admins: ['telegram:2'], unknown: ignore}}\n",
    )
    .await;
    assert_eq!(daemon.ask(&dm("1"), "/pause").await, "only an admin may use /pause");
    assert!(daemon.ask(&dm("2"), "/pause").await.starts_with("paused"));
    assert_eq!(daemon.ask(&dm("1"), "hello").await, "I am paused at the moment");
    assert_eq!(daemon.ask(&dm("1"), "/resume").await, "I am paused at the moment");
    daemon.say(&dm("3"), "hello").await;
    let counted = || {
        [InboundOutcome::Unrouted, InboundOutcome::Command].map(|it| daemon.daemon.inbound().of(it))
    };
    let [unrouted, commands] = counted();
    assert_eq!(unrouted, 3, "each of them was refused");
    assert_eq!(daemon.ask(&dm("2"), "/resume").await, "going on");
    assert_eq!(counted(), [3, commands + 1], "and this was not");
    assert_eq!(daemon.ask(&dm("1"), "hello").await, "heard: hello");
    assert_eq!(daemon.posted().len(), 6, "a stranger hears nothing of it");
}

#[tokio::test]
async fn c4_hostile_ids_make_conversations_of_their_own_or_none() {
    let fixture = open_fixture(
        "agents:\n  a: {default: true, access: {allow: ['telegram:*']}, group: {respond: all}}\n",
    )
    .await;
    let chats = ["x:topic:1", "x%3Atopic%3A1", "x/../y", "é", "e\u{301}", ":"];
    for chat in chats {
        let from = group(chat, "1");
        fixture.ask(&from, "hello").await;
        assert_eq!(fixture.journal("a", &from).await.len(), 2, "{chat}");
    }
    // Longer than a conversation's name can be: refused, and acknowledged all the same.
    let mut long = group("x", "1");
    long.address.chat = ChatId::new(":".repeat(512)).unwrap();
    fixture.say(&long, "hello").await;
    assert_eq!(fixture.posted().len(), chats.len());
}

#[tokio::test]
async fn c5_two_bots_of_one_platform_have_two_conversations_and_each_answers_by_itself() {
    let fixture =
        open_fixture("agents:\n  a: {default: true, access: {allow: ['telegram:1']}}\n").await;
    let (one, two) = (dm("1"), dm("1").by("second"));
    fixture.ask(&one, "one").await;
    fixture.ask(&two, "two").await;
    assert_eq!(fixture.journal("a", &one).await.len(), 2);
    assert_eq!(fixture.journal("a", &two).await.len(), 2);
    let accounts: Vec<String> = fixture.posted().into_iter().map(|post| post.0).collect();
    assert_eq!(accounts, ["main", "second"]);
}

#[tokio::test]
async fn hooks_leave_messages_out_and_a_failure_is_a_no() {
    let fixture = open_fixture(
        "hooks:\n  pre_gateway_dispatch: [{expr: \"text != 'secret word'\"}]\nagents:\n  a: {default: true, access: {allow: ['telegram:*']}}\n  b: {access: {allow: ['telegram:*']}, hooks: {'route:select': [{expr: \"metadata.nothing == 'x'\"}]}}\nbindings:\n  - {agent: b, telegram: '7'}\n",
    )
    .await;
    fixture.say(&dm("1"), "secret word").await;
    fixture.say(&dm("7"), "hello").await;
    assert_eq!(fixture.asked(), 0);
    assert_eq!(fixture.daemon.inbound().of(InboundOutcome::Stopped), 2);
    assert_eq!(fixture.ask(&dm("1"), "hello").await, "heard: hello");
}

/// What a server that is asked about messages answers, by what they say.
fn judge(seen: &Seen, _: usize) -> Vec<Step> {
    let asked = seen.json();
    let said = match asked["text"].as_str().unwrap_or_default() {
        "for b" => r#"{"action":"route","agent":"b"}"#,
        "for c" => r#"{"action":"route","agent":"c"}"#,
        "rough" => r#"{"action":"rewrite","text":"polished"}"#,
        "odd" => r#"{"action":"rewrite"}"#,
        "spam" => r#"{"action":"skip"}"#,
        _ => r#"{"action":"allow"}"#,
    };
    vec![answer(200, &[("content-type", "application/json")], said)]
}

#[tokio::test]
async fn a_hook_rewrites_and_routes_within_what_the_rules_could_reach() {
    let config = "hooks:\n  pre_gateway_dispatch: [{http: 'HOOK'}]\nagents:\n  a: {access: {allow: ['telegram:*']}}\n  b: {access: {allow: ['telegram:*']}}\n  c: {access: {allow: ['telegram:*']}}\nbindings:\n  - {agent: a, telegram: {chat: '1'}}\n  - {agent: b, telegram: '*'}\n  - {agent: c, telegram: {chat: '2'}}\n";
    let fixture = with_hook(config, judge).await;
    assert_eq!(fixture.ask(&dm("1"), "rough").await, "heard: polished");
    fixture.ask(&dm("1"), "for b").await;
    assert_eq!(fixture.journal("b", &dm("1")).await.len(), 2, "a less specific rule leads there");
    for refused in ["for c", "odd", "spam"] {
        fixture.say(&dm("1"), refused).await;
    }
    assert_eq!(fixture.asked(), 2);
    assert_eq!(fixture.daemon.inbound().of(InboundOutcome::Stopped), 3);
    assert_eq!(fixture.journal("a", &dm("1")).await.len(), 2);
}
