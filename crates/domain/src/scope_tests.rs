//! Scopes are told apart by their texts, and every message has one.

use super::*;
use crate::address::ChatType;
use crate::arbitrary::{cases, hostile_address, hostile_text};
use proptest::prelude::*;

fn named_scope() -> impl Strategy<Value = MemoryScope> {
    proptest::sample::select(&MemoryScope::ALL[..])
}

fn scope() -> impl Strategy<Value = Scope> {
    let person = prop::option::of(hostile_text().prop_map(|it| PersonId::new(it).unwrap()));
    let derived = (named_scope(), hostile_address(), person)
        .prop_map(|(scope, at, person)| scope.resolve(&at, person.as_ref()));
    let custom = hostile_text()
        .prop_map(|text| Scope::Context(ContextId::Custom(CustomId::new(&text).unwrap())));
    prop_oneof![3 => derived, 1 => custom]
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn scopes_are_injective_and_parse_back(a in scope(), b in scope()) {
        prop_assert_eq!(a == b, a.to_string() == b.to_string());
        prop_assert_eq!(a.to_string().parse::<Scope>().unwrap(), a);
    }

    #[test]
    fn what_parses_as_a_scope_is_canonical(text in "(global|user|chat|topic|custom)(:@?[acli%3A:]{0,8}){0,4}") {
        if let Ok(scope) = text.parse::<Scope>() {
            prop_assert_eq!(scope.to_string(), text);
        }
    }

    #[test]
    fn an_answer_never_names_a_derived_context(text in hostile_text(), other in scope()) {
        let answer = Scope::Context(ContextId::Custom(CustomId::new(&text).unwrap()));
        prop_assert!(answer.to_string().starts_with("custom:"));
        if let Scope::Context(ContextId::Custom(_)) = other { return Ok(()); }
        prop_assert_ne!(answer.to_string(), other.to_string());
    }

    /// Whatever is missing from a message, it gets a scope, and only the operator's own
    /// word makes that the global one.
    #[test]
    fn rule_03_scope_is_never_optional(at in hostile_address(), scope in named_scope()) {
        let resolve: fn(MemoryScope, &Address, Option<&PersonId>) -> Scope = MemoryScope::resolve;
        let resolved = resolve(scope, &at, None);
        prop_assert_eq!(resolved == Scope::Global, scope == MemoryScope::Global);
    }
}

#[test]
fn a_scope_is_read_by_the_name_it_is_shown_by() {
    let names = ["auto", "topic", "chat", "user", "global"];
    assert_eq!(MemoryScope::ALL.map(MemoryScope::as_str), names);
    assert_eq!(names.map(MemoryScope::parse), MemoryScope::ALL.map(Some));
    assert_eq!(MemoryScope::parse("everywhere"), None);
    for text in ["user:telegram:bot:u", "user:@ann", "chat:cli:a:b", "topic:cli:a:b:c", "custom:x"]
    {
        assert_eq!(text.parse::<ContextId>().unwrap().to_string(), text);
    }
}

#[test]
fn no_text_stands_for_an_absent_scope() {
    for text in ["", "*", "all", "none", "null", "Global", "global:", "context", "user", "chat:"] {
        assert!(text.parse::<Scope>().is_err(), "{text}");
    }
    for text in [
        "user:telegram:bot",
        "user:@",
        "user:ann",
        "user:nowhere:bot:1",
        "chat:telegram:bot:%31",
        "chat:telegram:bot:1:2",
        "topic:telegram:bot:1",
        "custom:",
        "custom:a:b",
        "topic:telegram:bot:1:2:3",
    ] {
        assert!(text.parse::<ContextId>().is_err(), "{text}");
    }
    assert_eq!(CustomId::new(""), None);
    assert_eq!(CustomId::new(&"x".repeat(CUSTOM_ID_BYTES_MAX + 1)), None);
}

#[test]
fn named_scopes_fall_to_what_a_message_has_and_never_to_global() {
    let address = |topic: Option<&str>, user: Option<&str>| Address {
        platform: Platform::new("telegram").unwrap(),
        account: AccountId::new("bot").unwrap(),
        chat: ChatId::new("-100").unwrap(),
        chat_type: ChatType::Group,
        topic: topic.map(|it| TopicId::new(it).unwrap()),
        parent: None,
        community: None,
        user: user.map(|it| UserId::new(it).unwrap()),
        roles: Vec::new(),
    };
    let (chat, topic) = ("chat:telegram:bot:-100", "topic:telegram:bot:-100:7");
    let user = "user:telegram:bot:u";
    for (scope, has_topic, has_user, expected) in [
        (MemoryScope::Auto, Some("7"), Some("u"), topic),
        (MemoryScope::Auto, None, Some("u"), chat),
        (MemoryScope::Auto, None, None, chat),
        (MemoryScope::Topic, Some("7"), None, topic),
        (MemoryScope::Topic, None, Some("u"), chat),
        (MemoryScope::Chat, Some("7"), Some("u"), chat),
        (MemoryScope::User, Some("7"), Some("u"), user),
        (MemoryScope::User, Some("7"), None, topic),
        (MemoryScope::User, None, None, chat),
        (MemoryScope::Global, Some("7"), Some("u"), "global"),
        (MemoryScope::Global, None, None, "global"),
    ] {
        let resolved = scope.resolve(&address(has_topic, has_user), None);
        assert_eq!(resolved.to_string(), expected, "{scope:?} {has_topic:?} {has_user:?}");
    }
    let ann = PersonId::new("ann").unwrap();
    let at = address(Some("7"), Some("u"));
    assert_eq!(MemoryScope::User.resolve(&at, Some(&ann)).to_string(), "user:@ann");
    assert_eq!(MemoryScope::Chat.resolve(&at, Some(&ann)).to_string(), chat);
}
