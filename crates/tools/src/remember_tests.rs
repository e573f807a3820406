//! What the tools make of a model's arguments.
#![allow(clippy::unwrap_used, reason = "a test may say what it knows")]

use super::*;
use serde_json::json;

fn read(value: &Value) -> Result<(MemoryReach, Vec<EntryChange>), String> {
    understood(value, None).map_err(|error| error.to_string())
}

#[test]
fn one_action_or_many_operations() {
    let add = |target, content: &str| EntryChange {
        target,
        operation: Operation::Add { content: content.to_owned() },
    };
    let one = json!({"action": "add", "target": "user", "content": "Ann"});
    assert_eq!(read(&one).unwrap(), (MemoryReach::Here, vec![add(MemoryList::User, "Ann")]));
    let remove = |old_text: &str| EntryChange {
        target: MemoryList::Memory,
        operation: Operation::Remove { old_text: old_text.to_owned() },
    };
    // Which entry is meant may stand in either field, and an operation beside a list before it.
    for one in [
        json!({"action": "remove", "target": "memory", "content": "tea"}),
        json!({"action": "remove", "target": "memory", "old_text": "tea", "content": ""}),
        json!({"action": "remove", "target": "memory", "old_text": "tea", "content": "tea"}),
    ] {
        assert_eq!(read(&one).unwrap().1, [remove("tea")], "{one}");
    }
    let beside = json!({"action": "remove", "target": "memory", "content": "tea", "operations": [
        {"action": "add", "content": "Ann"},
    ]});
    assert_eq!(read(&beside).unwrap().1, [remove("tea"), add(MemoryList::Memory, "Ann")]);
    let many = json!({"target": "memory", "scope": "global", "operations": [
        {"action": "remove", "old_text": "tea"},
        {"action": "replace", "old_text": "a", "content": "b"},
        {"action": "add", "target": "user", "content": "Ann"},
    ]});
    let (place, changes) = read(&many).unwrap();
    assert_eq!(place, MemoryReach::Everywhere);
    assert_eq!(changes.len(), 3);
    assert_eq!(changes[2], add(MemoryList::User, "Ann"));
    assert!(Remember.reaches_everywhere(&many));
    assert!(!Remember.reaches_everywhere(&one));
}

#[test]
fn nobody_is_asked_about_what_the_tool_refuses() {
    for scope in [json!("chat:api:t:victim"), json!("Global"), json!(" global"), json!(["global"])]
    {
        let forged = json!({"action": "add", "target": "memory", "content": "a", "scope": scope});
        assert!(read(&forged).is_err(), "{forged}");
        assert!(!Remember.reaches_everywhere(&forged), "{forged}");
    }
    let wrong = json!({"action": "add", "target": "memory", "scope": "global"});
    assert!(!Remember.reaches_everywhere(&wrong));
    let right = json!({"action": "add", "target": "memory", "content": "a", "scope": "global"});
    assert!(Remember.reaches_everywhere(&right));
}

#[test]
fn what_is_wrong_is_said() {
    for (value, what) in [
        (json!({"target": "memory"}), "give `action`, or `operations`"),
        (json!({"action": "add", "content": "a"}), "`target`"),
        (json!({"action": "add", "target": "memory"}), "`add` takes"),
        (
            json!({"action": "remove", "target": "memory", "old_text": "a", "content": "b"}),
            "`remove` takes",
        ),
        (json!({"action": "remove", "target": "memory"}), "`remove` takes"),
        (json!({"action": "replace", "target": "memory", "content": "a"}), "`replace` takes"),
        (
            json!({"action": "add", "target": "memory", "content": "a", "scope": "chat:x"}),
            "`scope`",
        ),
        (json!({"action": "add", "target": "memory", "content": "a", "agent": "b"}), "agent"),
        (json!({"action": "forget", "target": "memory"}), "forget"),
    ] {
        let error = read(&value).unwrap_err();
        assert!(error.contains(what), "{value}: {error}");
    }
}
