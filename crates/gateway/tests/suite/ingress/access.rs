//! Who may talk: judged at every message, from what holds then.

use crate::ingress::support::{dm, group, open_fixture};
use insula_channel::Happening;
use insula_domain::ChatType;
use insula_registry::Actor;
use insula_registry::access::{InboundOutcome, PairError};

const TWO: &str = "agents:\n  a: {access: {allow: ['telegram:*']}}\n  b: {access: {unknown: ignore}}\nbindings:\n  - {agent: a, telegram: {chat: '1'}}\n  - {agent: b, telegram: {chat: '2'}}\n";

#[tokio::test]
async fn c12_an_agent_without_a_list_denies_whatever_others_allow() {
    let fixture = open_fixture(TWO).await;
    fixture.say(&dm("2"), "let me in").await;
    assert_eq!(fixture.asked(), 0);
    assert_eq!(fixture.daemon.inbound().of(InboundOutcome::Stranger), 1);
    let sessions = fixture.agent("b").store.sessions(None, 9).await.unwrap();
    assert!(sessions.is_empty(), "nothing of it is in the agent's store");
    assert!(fixture.agent("b").store.pairing_requests().await.unwrap().is_empty());
    assert_eq!(fixture.ask(&dm("1"), "hello").await, "heard: hello");
}

#[tokio::test]
async fn b8_a_role_that_was_lost_allows_nothing() {
    let fixture = open_fixture(
        "agents:\n  a: {default: true, access: {allow: ['discord:role:staff'], unknown: ignore}, group: {respond: all}}\n",
    )
    .await;
    let staff = group("g", "1").on("discord").role("staff");
    assert!(fixture.ask(&staff, "hello").await.contains("hello"));
    fixture.say(&group("g", "1").on("discord"), "and now?").await;
    assert_eq!(fixture.asked(), 1);
    // The same conversation goes on for who has it.
    assert!(fixture.ask(&group("g", "2").on("discord").role("staff"), "me").await.contains("me"));
}

#[tokio::test]
async fn b8_who_left_a_group_is_nobody_elsewhere() {
    let fixture = open_fixture(
        "agents:\n  a: {default: true, access: {allow: ['telegram:chat:-100'], unknown: ignore}, group: {respond: all}}\n",
    )
    .await;
    let member = group("-100", "5");
    fixture.ask(&member, "hello").await;
    fixture.happens(&member, Happening::Left).await;
    fixture.say(&dm("5"), "what was said there?").await;
    assert_eq!(fixture.asked(), 1);
}

#[tokio::test]
async fn an_edit_of_the_configuration_counts_at_the_next_message() {
    let fixture = open_fixture(
        "agents:\n  a: {default: true, access: {allow: ['telegram:1'], unknown: ignore}}\n",
    )
    .await;
    fixture.ask(&dm("1"), "hello").await;
    fixture.reconfigure(|text| text.replace("telegram:1", "telegram:2")).await;
    fixture.say(&dm("1"), "hello?").await;
    assert_eq!(fixture.asked(), 1);
    fixture.ask(&dm("2"), "hello").await;
}

#[tokio::test]
async fn several_identities_are_one_person() {
    let fixture = open_fixture(
        "agents:\n  a: {default: true, access: {allow: ['signal:+49'], admins: ['matrix:@ann:x'], people: {ann: ['matrix:@ann:x', 'telegram:7']}, unknown: ignore}}\n",
    )
    .await;
    let by_uuid = dm("uuid").on("signal").also("+49");
    assert!(fixture.ask(&by_uuid, "/whoami").await.starts_with("you are signal:+49"));
    let linked = fixture.ask(&dm("7"), "/whoami").await;
    assert!(linked.contains("known as ann") && linked.contains("admin"), "{linked}");
    fixture.say(&dm("uuid").on("signal"), "/whoami").await;
    assert_eq!(fixture.posted().len(), 2);
}

const INVITES: &str = "agents:\n  a: {default: true, access: {allow: ['telegram:1', 'telegram:chat:-5'], unknown: ignore}, group: {respond: all}}\n";

#[tokio::test]
async fn a_group_that_an_allowed_person_adds_the_bot_to_is_allowed() {
    let fixture = open_fixture(INVITES).await;
    let (ann, bob) = (group("-100", "1"), group("-100", "2"));
    fixture.say(&bob, "hello").await;
    assert_eq!(fixture.asked(), 0);
    fixture.happens(&ann, Happening::Added).await;
    assert_eq!(*fixture.platforms.joined.lock().unwrap(), ["-100"]);
    assert!(fixture.ask(&bob, "hello").await.contains("hello"));
    // It is this chat of this account, and nowhere else.
    fixture.say(&dm("2"), "hello").await;
    fixture.say(&bob.clone().by("second"), "hello").await;
    assert_eq!(fixture.asked(), 1);
    fixture.happens(&ann, Happening::Removed).await;
    fixture.say(&bob, "hello").await;
    assert_eq!(fixture.asked(), 1);
}

#[tokio::test]
async fn who_is_let_in_by_a_place_or_not_at_all_brings_the_bot_nowhere() {
    let fixture = open_fixture(INVITES).await;
    fixture.happens(&group("-100", "9"), Happening::Added).await;
    // Somebody of the allowed chat, elsewhere.
    fixture.ask(&group("-5", "9"), "hello").await;
    fixture.happens(&group("-100", "9"), Happening::Added).await;
    fixture.say(&group("-100", "9"), "hello").await;
    assert_eq!(fixture.asked(), 1);
    assert!(fixture.platforms.joined.lock().unwrap().is_empty());
}

#[tokio::test]
async fn invitations_can_be_off() {
    let fixture =
        open_fixture(&INVITES.replace("respond: all", "respond: all, invites: false")).await;
    fixture.happens(&group("-100", "1"), Happening::Added).await;
    fixture.say(&group("-100", "2"), "hello").await;
    assert_eq!(fixture.asked(), 0);
    assert!(fixture.platforms.joined.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_group_is_open_only_while_whoever_added_the_bot_may_talk() {
    let fixture = open_fixture(INVITES).await;
    let (ann, bob) = (group("-100", "1"), group("-100", "2"));
    fixture.happens(&ann, Happening::Added).await;
    fixture.ask(&bob, "hello").await;
    fixture.reconfigure(|text| text.replace("telegram:1'", "telegram:3'")).await;
    fixture.say(&bob, "hello").await;
    assert_eq!(fixture.asked(), 1, "whoever added it is off the list");
    fixture.reconfigure(|text| text.replace("telegram:3'", "telegram:1'")).await;
    fixture.ask(&bob, "hello").await;
    fixture.reconfigure(|text| text.replace("respond: all", "respond: all, invites: false")).await;
    fixture.say(&bob, "hello").await;
    assert_eq!(fixture.asked(), 2, "invitations are off");
}

#[tokio::test]
async fn a_group_that_the_bot_was_added_to_is_listed_and_can_be_closed() {
    let daemon = open_fixture(INVITES).await;
    let (ann, bob) = (group("-100", "1"), group("-100", "2"));
    daemon.happens(&ann, Happening::Added).await;
    daemon.ask(&bob, "hello").await;
    let agent = daemon.agent("a");
    let listed = daemon.daemon.access().joined_list(&agent).await.unwrap();
    let listed: Vec<_> =
        listed.iter().map(|(it, open)| (&*it.chat, it.by.as_str(), *open)).collect();
    assert_eq!(listed, [("-100", "telegram:1", true)]);
    let revoke =
        async |who| daemon.daemon.access().revoke_pairing(&agent, who, &Actor::CommandLine).await;
    revoke("telegram:chat:-100").await.unwrap();
    daemon.say(&bob, "hello").await;
    assert_eq!(daemon.asked(), 1);
    assert!(daemon.daemon.access().joined_list(&agent).await.unwrap().is_empty());
    assert!(matches!(revoke("telegram:chat:-100").await, Err(PairError::NotPaired(_))));
    // Whoever may talk for who they are still may.
    daemon.ask(&ann, "hello").await;
}

#[tokio::test]
async fn a_chat_that_moved_is_allowed_under_its_new_id() {
    let fixture = open_fixture(INVITES).await;
    let (ann, bob) = (group("-100", "1"), group("-200", "2"));
    fixture.happens(&ann, Happening::Added).await;
    fixture.happens(&ann, Happening::Moved(bob.address.chat.clone())).await;
    assert!(fixture.ask(&bob, "hello").await.contains("hello"));
    fixture.say(&group("-100", "2"), "hello").await;
    assert_eq!(fixture.asked(), 1);
}

#[tokio::test]
async fn what_nobody_signed_is_said_by_its_chat() {
    let fixture = open_fixture(INVITES).await;
    let mut post = group("-5", "1");
    post.address.user = None;
    post.address.chat_type = ChatType::Channel;
    assert!(fixture.ask(&post, "news").await.contains("telegram:chat:-5"));
    let mut stranger = post.clone();
    stranger.address.chat = group("-6", "1").address.chat;
    fixture.say(&stranger, "news").await;
    assert_eq!(fixture.asked(), 1);
}
