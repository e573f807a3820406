//! Session keys tell every two conversations apart, whatever their ids are.

use super::*;
use crate::arbitrary::{cases, hostile_address};
use proptest::prelude::*;

fn agent() -> impl Strategy<Value = AgentId> {
    proptest::sample::select(vec!["main", "a", "agent", "topic", "user", "0"])
        .prop_map(|id| AgentId::new(id).unwrap())
}

fn rule() -> impl Strategy<Value = SessionRule> {
    let dm = prop_oneof![Just(DmSessions::PerUser), Just(DmSessions::Shared)];
    let group = prop_oneof![Just(GroupSessions::PerChat), Just(GroupSessions::PerUser)];
    (dm, group).prop_map(|(dm, group)| SessionRule { dm, group })
}

fn key() -> impl Strategy<Value = SessionKey> {
    (agent(), hostile_address(), rule())
        .prop_map(|(agent, at, rule)| SessionKey::of(&agent, &at, rule))
}

/// The same text cut at other places: what a sloppy encoding would confuse.
fn recut(key: &SessionKey) -> Option<SessionKey> {
    let moved = SessionKey {
        chat: ChatId::new(format!("{}:topic:{}", key.chat, key.topic.as_ref()?)).ok()?,
        topic: None,
        ..key.clone()
    };
    Some(moved)
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn rule_08_session_keys_are_injective(a in key(), b in key()) {
        let (left, right) = (a.to_string(), b.to_string());
        prop_assert_eq!(a == b, left == right);
        prop_assert_eq!(left.parse::<SessionKey>().unwrap(), a.clone());
        if let Some(moved) = recut(&a) {
            prop_assert_ne!(moved.to_string(), left);
        }
    }

    #[test]
    fn every_field_of_a_key_tells_conversations_apart(a in key(), other in key()) {
        let text = a.to_string();
        for changed in [
            SessionKey { agent: other.agent.clone(), ..a.clone() },
            SessionKey { platform: other.platform, ..a.clone() },
            SessionKey { account: other.account.clone(), ..a.clone() },
            SessionKey { kind: other.kind, ..a.clone() },
            SessionKey { chat: other.chat.clone(), ..a.clone() },
            SessionKey { topic: other.topic.clone(), ..a.clone() },
            SessionKey { user: other.user.clone(), ..a.clone() },
        ] {
            prop_assert_eq!(changed == a, changed.to_string() == text);
        }
    }

    #[test]
    fn what_parses_is_canonical(text in "agent:[a-b]:(cli|telegram):[a:%0-9A-F]{1,6}:(dm|group):[a:%3A2f]{1,6}(:topic:[a%]{0,3})?(:user:[a%]{0,3})?") {
        if let Ok(key) = text.parse::<SessionKey>() {
            prop_assert_eq!(key.to_string(), text);
        }
    }
}

#[test]
fn a_text_that_is_not_canonical_is_no_key() {
    let good = "agent:main:telegram:bot:group:-100123:topic:7";
    assert_eq!(good.parse::<SessionKey>().unwrap().to_string(), good);
    for bad in [
        "",
        "main:telegram:bot:group:-100123",
        "Agent:main:telegram:bot:group:1",
        "agent:Main:telegram:bot:group:1",
        "agent:main:telgram:bot:group:1",
        "agent:main:telegram::group:1",
        "agent:main:telegram:bot:group:",
        "agent:main:telegram:bot:room:1",
        "agent:main:telegram:bot:group:%31",
        "agent:main:telegram:bot:group:%3a",
        "agent:main:telegram:bot:group:%FF",
        "agent:main:telegram:bot:group:é",
        "agent:main:telegram:bot:group:1:topic",
        "agent:main:telegram:bot:group:1:topic:",
        "agent:main:telegram:bot:group:1:user:u:topic:7",
        "agent:main:telegram:bot:group:1:topic:7:user:u:x:y",
        "agent:main:telegram:bot:group:1 ",
    ] {
        assert!(bad.parse::<SessionKey>().is_err(), "{bad}");
    }
}

#[test]
fn direct_chats_that_share_a_session_share_its_scope_at_one_account_and_no_group_does() {
    let agent = AgentId::new("main").unwrap();
    let shared = SessionRule { dm: DmSessions::Shared, group: GroupSessions::PerChat };
    let at = |platform: &str, account: &str, chat: &str, chat_type| Address {
        platform: Platform::new(platform).unwrap(),
        account: AccountId::new(account).unwrap(),
        chat: ChatId::new(chat).unwrap(),
        chat_type,
        topic: None,
        parent: None,
        community: None,
        user: Some(UserId::new(chat).unwrap()),
        roles: Vec::new(),
    };
    let of = |address: &Address| {
        let key = SessionKey::of(&agent, address, shared);
        let scope = crate::MemoryScope::Auto.resolve(&key.place(address), None);
        (key.to_string(), scope.to_string(), key.is_of_every_chat())
    };
    let dm = ChatType::Dm;
    let one = of(&at("telegram", "bot", "1", dm));
    assert_eq!(
        one,
        ("agent:main:telegram:bot:dm:%2A".into(), "chat:telegram:bot:%2A".into(), true)
    );
    assert_eq!(of(&at("telegram", "bot", "2", dm)), one);
    for apart in [
        at("telegram", "other", "1", dm),
        at("matrix", "bot", "1", dm),
        at("telegram", "bot", "1", ChatType::Group),
        at("api", "bot", "1", dm),
        at("cli", "bot", "1", dm),
        at("web", "bot", "1", dm),
    ] {
        let (key, scope, _) = of(&apart);
        assert!(key != one.0 && scope != one.1, "{key} {scope}");
    }
    // Names of sessions stay apart from each other.
    assert_ne!(of(&at("api", "t", "a", dm)), of(&at("api", "t", "b", dm)));
    // Where each person has their own, a chat of that name is a chat.
    let odd = SessionKey::of(&agent, &at("telegram", "bot", "*", dm), SessionRule::default());
    assert!(!odd.is_of_every_chat());
}

#[test]
fn settings_of_sessions_are_shown_by_name() {
    assert_eq!(
        [DmSessions::PerUser, DmSessions::Shared].map(DmSessions::as_str),
        ["per_user", "shared"]
    );
    let group = [GroupSessions::PerChat, GroupSessions::PerUser];
    assert_eq!(group.map(GroupSessions::as_str), ["per_chat", "per_user"]);
}

#[test]
fn a_direct_message_is_per_user_and_a_group_per_chat_unless_told_otherwise() {
    let agent = AgentId::new("main").unwrap();
    let mut at = Address {
        platform: Platform::new("telegram").unwrap(),
        account: AccountId::new("bot").unwrap(),
        chat: ChatId::new("-100123").unwrap(),
        chat_type: ChatType::Dm,
        topic: Some(TopicId::new("7").unwrap()),
        parent: None,
        community: None,
        user: Some(UserId::new("u:1").unwrap()),
        roles: Vec::new(),
    };
    let key = |at: &Address, rule| SessionKey::of(&agent, at, rule).to_string();
    let usual = SessionRule::default();
    let other = SessionRule { dm: DmSessions::Shared, group: GroupSessions::PerUser };
    assert_eq!(key(&at, usual), "agent:main:telegram:bot:dm:-100123:topic:7:user:u%3A1");
    assert_eq!(key(&at, other), "agent:main:telegram:bot:dm:%2A");
    at.chat_type = ChatType::Group;
    assert_eq!(key(&at, usual), "agent:main:telegram:bot:group:-100123:topic:7");
    assert_eq!(key(&at, other), "agent:main:telegram:bot:group:-100123:topic:7:user:u%3A1");
    at.user = None;
    assert_eq!(key(&at, other), "agent:main:telegram:bot:group:-100123:topic:7");
}
