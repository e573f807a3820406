//! What is added to a configuration, and what stays.
#![allow(clippy::unwrap_used, reason = "a test may say what it knows")]
use super::*;
use proptest::prelude::*;

const ACCOUNTS: &[&str] = &["channels", "telegram", "accounts"];

#[test]
fn what_is_not_there_is_made_at_the_end() {
    let text = add_entry("# mine\nmodel: a/b # why\n", (ACCOUNTS, "main"), "{token: x}").unwrap();
    assert_eq!(
        text,
        "# mine\nmodel: a/b # why\nchannels:\n  telegram:\n    accounts:\n      main: {token: x}\n"
    );
    let text = add_item(&text, "bindings", "{agent: a, telegram: \"1\"}").unwrap();
    assert!(text.ends_with("bindings:\n  - {agent: a, telegram: \"1\"}\n"));
    assert!(has_item(&text, "bindings", "{agent: a, telegram: '1'}"));
    assert!(!has_item(&text, "bindings", "{agent: a, telegram: '2'}"));
    assert_eq!(
        add_entry("", (ACCOUNTS, "7"), "{}").unwrap().lines().last(),
        Some("      \"7\": {}")
    );
}

#[test]
fn what_is_there_keeps_its_place_and_its_comments() {
    let text = "channels:\n   telegram:\n      accounts:\n         a: {token: x} # first\n\n# then\nagents:\n  m: {}\nbindings:\n- {agent: m, matrix: \"*\"}\n# end\n";
    let done = add_entry(text, (ACCOUNTS, "b"), "{token: y}").unwrap();
    let done = add_entry(&done, (&["channels", "matrix", "accounts"], "c"), "{token: z}").unwrap();
    let done = add_item(&done, "bindings", "{agent: m}").unwrap();
    assert_eq!(
        done,
        "channels:\n   telegram:\n      accounts:\n         a: {token: x} # first\n         b: {token: y}\n   matrix:\n     accounts:\n       c: {token: z}\n\n# then\nagents:\n  m: {}\nbindings:\n- {agent: m, matrix: \"*\"}\n- {agent: m}\n# end\n"
    );
    // What is there is not there twice.
    assert_eq!(add_entry(&done, (ACCOUNTS, "b"), "{token: other}").unwrap(), done);
}

#[test]
fn what_is_written_in_brackets_is_left_to_the_person() {
    for text in [
        "{channels: {}}",
        "channels: {telegram: {accounts: {a: {}}}}",
        "channels:\n",
        "channels: 1",
    ] {
        let refused = add_entry(text, (ACCOUNTS, "b"), "{}");
        assert_eq!(refused, Err(Unwritten::Unusual("channels")), "{text}");
    }
    for text in ["bindings: [{agent: a}]", "bindings:\n", "bindings: {a: b}"] {
        assert_eq!(
            add_item(text, "bindings", "{agent: b}"),
            Err(Unwritten::Unusual("bindings")),
            "{text}"
        );
    }
    assert!(matches!(add_item("a: [", "bindings", "{}"), Err(Unwritten::Unreadable(_))));
}

proptest! {
    #[test]
    fn whatever_is_added_nothing_else_changes(
        names in prop::collection::vec("[a-z0-9]{1,5}", 1..6),
        start in prop::sample::select(vec!["", "# only\n", "model: a/b", "agents:\n  a: {x: 1}\n\n\n# last"]),
    ) {
        let mut text = start.to_owned();
        for name in &names {
            text = add_entry(&text, (ACCOUNTS, name), "{token: t}").unwrap();
            text = add_item(&text, "bindings", &format!("{{agent: \"{name}\"}}")).unwrap();
        }
        let root = read(&text).unwrap();
        let accounts = root.get("channels").and_then(|it| it.get("telegram")?.get("accounts"));
        let mut known = names.clone();
        known.sort();
        known.dedup();
        prop_assert_eq!(accounts.unwrap().entries().len(), known.len());
        prop_assert_eq!(root.get("bindings").unwrap().items().len(), names.len());
        prop_assert!(text.contains(start.trim_end()));
    }
}
