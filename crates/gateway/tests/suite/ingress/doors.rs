//! Who may talk: judged at every message, from what holds then.

use crate::ingress::support::{dm, group, house};
use insula_channel::Happening;
use insula_domain::ChatType;
use insula_registry::Actor;
use insula_registry::access::{PairError, Visit};

const TWO: &str = "agents:\n  a: {access: {allow: ['telegram:*']}}\n  b: {access: {unknown: ignore}}\nbindings:\n  - {agent: a, telegram: {chat: '1'}}\n  - {agent: b, telegram: {chat: '2'}}\n";

#[tokio::test]
async fn c12_an_agent_without_a_list_denies_whatever_others_allow() {
    let house = house(TWO).await;
    house.say(&dm("2"), "let me in").await;
    assert_eq!(house.asked(), 0);
    assert_eq!(house.house.visits.of(Visit::Stranger), 1);
    let sessions = house.agent("b").store.sessions(None, 9).await.unwrap();
    assert!(sessions.is_empty(), "nothing of it is in the agent's store");
    assert!(house.agent("b").store.pairing_requests().await.unwrap().is_empty());
    assert_eq!(house.ask(&dm("1"), "hello").await, "heard: hello");
}

#[tokio::test]
async fn b8_a_role_that_was_lost_allows_nothing() {
    let house = house(
        "agents:\n  a: {default: true, access: {allow: ['discord:role:staff'], unknown: ignore}, group: {respond: all}}\n",
    )
    .await;
    let staff = group("g", "1").on("discord").role("staff");
    assert!(house.ask(&staff, "hello").await.contains("hello"));
    house.say(&group("g", "1").on("discord"), "and now?").await;
    assert_eq!(house.asked(), 1);
    // The same conversation goes on for who has it.
    assert!(house.ask(&group("g", "2").on("discord").role("staff"), "me").await.contains("me"));
}

#[tokio::test]
async fn b8_who_left_a_group_is_nobody_elsewhere() {
    let house = house(
        "agents:\n  a: {default: true, access: {allow: ['telegram:chat:-100'], unknown: ignore}, group: {respond: all}}\n",
    )
    .await;
    let member = group("-100", "5");
    house.ask(&member, "hello").await;
    house.happens(&member, Happening::Left).await;
    house.say(&dm("5"), "what was said there?").await;
    assert_eq!(house.asked(), 1);
}

#[tokio::test]
async fn an_edit_of_the_configuration_counts_at_the_next_message() {
    let house =
        house("agents:\n  a: {default: true, access: {allow: ['telegram:1'], unknown: ignore}}\n")
            .await;
    house.ask(&dm("1"), "hello").await;
    house.reconfigure(|text| text.replace("telegram:1", "telegram:2")).await;
    house.say(&dm("1"), "hello?").await;
    assert_eq!(house.asked(), 1);
    house.ask(&dm("2"), "hello").await;
}

#[tokio::test]
async fn several_identities_are_one_person() {
    let house = house(
        "agents:\n  a: {default: true, access: {allow: ['signal:+49'], admins: ['matrix:@ann:x'], people: {ann: ['matrix:@ann:x', 'telegram:7']}, unknown: ignore}}\n",
    )
    .await;
    let by_uuid = dm("uuid").on("signal").also("+49");
    assert!(house.ask(&by_uuid, "/whoami").await.starts_with("you are signal:+49"));
    let linked = house.ask(&dm("7"), "/whoami").await;
    assert!(linked.contains("known as ann") && linked.contains("admin"), "{linked}");
    house.say(&dm("uuid").on("signal"), "/whoami").await;
    assert_eq!(house.posted().len(), 2);
}

const INVITES: &str = "agents:\n  a: {default: true, access: {allow: ['telegram:1', 'telegram:chat:-5'], unknown: ignore}, group: {respond: all}}\n";

#[tokio::test]
async fn a_group_that_an_allowed_person_adds_the_bot_to_is_allowed() {
    let house = house(INVITES).await;
    let (ann, bob) = (group("-100", "1"), group("-100", "2"));
    house.say(&bob, "hello").await;
    assert_eq!(house.asked(), 0);
    house.happens(&ann, Happening::Added).await;
    assert_eq!(*house.platforms.joined.lock().unwrap(), ["-100"]);
    assert!(house.ask(&bob, "hello").await.contains("hello"));
    // It is this chat of this account, and nowhere else.
    house.say(&dm("2"), "hello").await;
    house.say(&bob.clone().by("second"), "hello").await;
    assert_eq!(house.asked(), 1);
    house.happens(&ann, Happening::Removed).await;
    house.say(&bob, "hello").await;
    assert_eq!(house.asked(), 1);
}

#[tokio::test]
async fn who_is_let_in_by_a_place_or_not_at_all_brings_the_bot_nowhere() {
    let house = house(INVITES).await;
    house.happens(&group("-100", "9"), Happening::Added).await;
    // Somebody of the allowed chat, elsewhere.
    house.ask(&group("-5", "9"), "hello").await;
    house.happens(&group("-100", "9"), Happening::Added).await;
    house.say(&group("-100", "9"), "hello").await;
    assert_eq!(house.asked(), 1);
    assert!(house.platforms.joined.lock().unwrap().is_empty());
}

#[tokio::test]
async fn invitations_can_be_off() {
    let house = house(&INVITES.replace("respond: all", "respond: all, invites: false")).await;
    house.happens(&group("-100", "1"), Happening::Added).await;
    house.say(&group("-100", "2"), "hello").await;
    assert_eq!(house.asked(), 0);
    assert!(house.platforms.joined.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_group_is_open_only_while_whoever_added_the_bot_may_talk() {
    let house = house(INVITES).await;
    let (ann, bob) = (group("-100", "1"), group("-100", "2"));
    house.happens(&ann, Happening::Added).await;
    house.ask(&bob, "hello").await;
    house.reconfigure(|text| text.replace("telegram:1'", "telegram:3'")).await;
    house.say(&bob, "hello").await;
    assert_eq!(house.asked(), 1, "whoever added it is off the list");
    house.reconfigure(|text| text.replace("telegram:3'", "telegram:1'")).await;
    house.ask(&bob, "hello").await;
    house.reconfigure(|text| text.replace("respond: all", "respond: all, invites: false")).await;
    house.say(&bob, "hello").await;
    assert_eq!(house.asked(), 2, "invitations are off");
}

#[tokio::test]
async fn a_group_that_the_bot_was_added_to_is_listed_and_can_be_closed() {
    let house = house(INVITES).await;
    let (ann, bob) = (group("-100", "1"), group("-100", "2"));
    house.happens(&ann, Happening::Added).await;
    house.ask(&bob, "hello").await;
    let agent = house.agent("a");
    let listed = house.house.joined_list(&agent).await.unwrap();
    let listed: Vec<_> =
        listed.iter().map(|(it, open)| (&*it.chat, it.by.as_str(), *open)).collect();
    assert_eq!(listed, [("-100", "telegram:1", true)]);
    let revoke = async |who| house.house.revoke_pairing(&agent, who, &Actor::CommandLine).await;
    revoke("telegram:chat:-100").await.unwrap();
    house.say(&bob, "hello").await;
    assert_eq!(house.asked(), 1);
    assert!(house.house.joined_list(&agent).await.unwrap().is_empty());
    assert!(matches!(revoke("telegram:chat:-100").await, Err(PairError::NotPaired(_))));
    // Whoever may talk for who they are still may.
    house.ask(&ann, "hello").await;
}

#[tokio::test]
async fn a_chat_that_moved_is_allowed_under_its_new_id() {
    let house = house(INVITES).await;
    let (ann, bob) = (group("-100", "1"), group("-200", "2"));
    house.happens(&ann, Happening::Added).await;
    house.happens(&ann, Happening::Moved(bob.address.chat.clone())).await;
    assert!(house.ask(&bob, "hello").await.contains("hello"));
    house.say(&group("-100", "2"), "hello").await;
    assert_eq!(house.asked(), 1);
}

#[tokio::test]
async fn what_nobody_signed_is_said_by_its_chat() {
    let house = house(INVITES).await;
    let mut post = group("-5", "1");
    post.address.user = None;
    post.address.chat_type = ChatType::Channel;
    assert!(house.ask(&post, "news").await.contains("telegram:chat:-5"));
    let mut stranger = post.clone();
    stranger.address.chat = group("-6", "1").address.chat;
    house.say(&stranger, "news").await;
    assert_eq!(house.asked(), 1);
}
