//! What becomes of an act in a tainted turn, and that a child does no more than its parent.

use super::*;
use crate::arbitrary::{MCP_NAMES, cases};
use proptest::collection::{btree_map, btree_set};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

fn tainted(kind: SourceKind, name: &str) -> Integrity {
    Integrity::of(Source::new(kind, name))
}

fn balanced() -> IntegrityRule {
    IntegrityRule { profile: IntegrityProfile::Balanced, ..IntegrityRule::default() }
}

fn trusting(texts: &[&str]) -> IntegrityRule {
    let trusted = texts.iter().map(|text| TrustedSource::parse(text).unwrap()).collect();
    IntegrityRule { trusted, ..balanced() }
}

#[test]
fn an_operator_trusts_what_they_name_and_nothing_beside_it() {
    let rule = trusting(&[
        "web:docs.rs",
        "web:*.example.com",
        "mcp:bank",
        "mcp:mail/get_unread",
        "folder:/srv/handbook",
        "person:telegram:7",
    ]);
    for (kind, name) in [
        (SourceKind::Web, "docs.rs"),
        (SourceKind::Web, "a.example.com"),
        (SourceKind::Mcp, "bank/get_balance"),
        (SourceKind::Description, "bank/send_money"),
        (SourceKind::Mcp, "mail/get_unread"),
        (SourceKind::File, "/srv/handbook/a.md"),
        (SourceKind::Quoted, "telegram:7"),
    ] {
        assert!(rule.untrusted(&tainted(kind, name)).is_own(), "{name}");
    }
    for (kind, name) in [
        (SourceKind::Web, "evil-docs.rs"),
        (SourceKind::Web, "example.com"),
        (SourceKind::Web, "a.example.com.evil.net"),
        (SourceKind::Mcp, "banker/get_balance"),
        (SourceKind::Mcp, "mail/get_unread_all"),
        (SourceKind::Mcp, "mail/read"),
        (SourceKind::File, "/srv/handbooks/a.md"),
        (SourceKind::Quoted, "telegram:77"),
        (SourceKind::Web, "telegram:7"),
    ] {
        assert!(!rule.untrusted(&tainted(kind, name)).is_own(), "{name}");
    }
    assert!(!rule.untrusted(&Integrity::many()).is_own(), "what is not known is not trusted");
}

/// Whether an operator who writes `own` means what is called `name`, whole.
fn means(kind: SourceKind, own: &str, name: &str) -> bool {
    match (kind, own.strip_prefix("*.")) {
        (SourceKind::Web, Some(above)) => name.ends_with(&format!(".{above}")),
        (SourceKind::Web, None) => name.eq_ignore_ascii_case(own),
        (SourceKind::Mcp | SourceKind::File, _) => {
            name == own || name.starts_with(&format!("{own}/"))
        }
        _ => name == own,
    }
}

#[test]
fn a_name_that_was_cut_is_not_the_one_that_is_trusted() {
    let long = |end: &str| format!("{}{end}", "a".repeat(53));
    let path = format!("/srv/{}", "b".repeat(59));
    let person = format!("telegram:{}", "7".repeat(55));
    let rule = trusting(&[
        "web:*.example.com",
        &format!("folder:{path}"),
        &format!("person:{person}"),
        "folder:/srv/handbook",
    ]);
    let is_trusted = |kind, name: &str| rule.untrusted(&tainted(kind, name)).is_own();
    assert!(!is_trusted(SourceKind::Web, &long(".example.com.evil.net")));
    assert!(!is_trusted(SourceKind::File, &format!("{path}ooks/a.md")));
    assert!(!is_trusted(SourceKind::Quoted, &format!("{person}8")));
    assert!(!is_trusted(SourceKind::File, "/srv/handbook\n/a.md"), "another folder");
    // What is left of these names says whose they are.
    assert!(is_trusted(SourceKind::Web, &format!("{}.example.com", "a".repeat(63))));
    assert!(is_trusted(SourceKind::File, &format!("/srv/handbook/{}", "b".repeat(200))));
    assert!(is_trusted(SourceKind::File, &path) && is_trusted(SourceKind::Quoted, &person));
}

#[test]
fn what_is_no_source_is_not_trusted() {
    for text in ["", "web", "web:", "folder:srv", "person:7", "host:a.com", "web:a b"] {
        assert_eq!(TrustedSource::parse(text), None, "{text}");
    }
    let text = "web:*.example.com";
    assert_eq!(TrustedSource::parse(text).unwrap().to_string(), text);
}

#[test]
fn the_strictest_act_decides_and_a_tool_before_all() {
    let mut rule = balanced();
    assert_eq!(rule.rule("x", []), TaintedRule::Allow);
    assert_eq!(rule.rule("x", [Act::Network]), TaintedRule::Allow);
    assert_eq!(rule.rule("x", [Act::Network, Act::Send]), TaintedRule::Ask);
    rule.acts.insert(Act::Send, TaintedRule::Deny);
    assert_eq!(rule.rule("x", [Act::Network, Act::Send]), TaintedRule::Deny);
    rule.set(RuledTools::One("x".into()), TaintedRule::Allow);
    assert_eq!(rule.rule("x", [Act::Send]), TaintedRule::Allow);
    rule.profile = IntegrityProfile::Off;
    assert_eq!(rule.rule("y", [Act::ChangeSelf]), TaintedRule::Allow);
    assert_eq!(rule.rule("y", [Act::Send]), TaintedRule::Deny, "what is written holds");
}

#[test]
fn a_child_trusts_and_does_no_more_than_its_parent() {
    let parent = trusting(&["web:docs.rs"]);
    assert!(!parent.exceeds(&parent));
    assert!(!trusting(&[]).exceeds(&parent));
    assert!(trusting(&["web:docs.rs", "mcp:bank"]).exceeds(&parent));
    let with = |act, rule| IntegrityRule { acts: [(act, rule)].into(), ..parent.clone() };
    assert!(with(Act::Send, TaintedRule::Allow).exceeds(&parent));
    assert!(!with(Act::Send, TaintedRule::Deny).exceeds(&parent));
    let mut tool = parent.clone();
    tool.set(RuledTools::parse("send_message").unwrap(), TaintedRule::Allow);
    assert!(tool.exceeds(&parent));
    assert!(!parent.exceeds(&tool));
}

fn ruling(rules: &[(&str, TaintedRule)]) -> IntegrityRule {
    let mut rule = balanced();
    for (tools, becomes) in rules {
        rule.set(RuledTools::parse(tools).unwrap(), *becomes);
    }
    rule
}

#[test]
fn of_several_patterns_the_closest_counts_and_of_two_as_close_the_stricter() {
    use TaintedRule::{Allow, Ask, Deny};
    let rules = [
        ("mcp__*", Deny),
        ("mcp__mail__*", Ask),
        ("mcp__mail__get_*", Allow),
        ("mcp__mail__get_all", Deny),
        ("mcp__*__list_a*", Allow),
        ("mcp__*__list_*z", Ask),
    ];
    let backwards: Vec<_> = rules.into_iter().rev().collect();
    for rule in [ruling(&rules), ruling(&backwards)] {
        let of = |tool: &str| rule.rule(tool, [Act::Call]);
        assert_eq!(of("mcp__bank__pay"), Deny);
        assert_eq!(of("mcp__mail__send"), Ask);
        assert_eq!(of("mcp__mail__get_unread"), Allow);
        assert_eq!(of("mcp__mail__get_all"), Deny, "its name counts before every pattern");
        assert_eq!(of("mcp__bank__list_ab"), Allow);
        assert_eq!(of("mcp__bank__list_az"), Ask, "both fix as much of it");
        assert_eq!(rule.rule("mcp_mail_get_all", [Act::Network]), Allow, "it is of no server");
    }
    let twice = ruling(&[("mcp__*__*", Deny), ("mcp__*", Allow)]);
    assert_eq!((twice.tools.len(), twice.rule("mcp__a__b", [])), (1, Deny));
}

#[test]
fn what_names_no_tool_is_no_rule() {
    for text in ["send_message", "mcp__mail__get_*", "mcp__*", "mcp__mail__get_all"] {
        assert_eq!(RuledTools::parse(text).unwrap().to_string(), text);
    }
    for text in ["", "*", "get_*", "group:files", "mcp__mail", "mcp__mail__get all", "mcp__a__"] {
        assert!(RuledTools::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_child_may_have_stricter_patterns_and_no_laxer_ones() {
    use TaintedRule::{Allow, Ask, Deny};
    let parent = ruling(&[("mcp__mail__*", Ask), ("mcp__mail__get_*", Allow)]);
    let exceeds = |rules: &[(&str, TaintedRule)]| ruling(rules).exceeds(&parent);
    let both = ("mcp__mail__*", Ask);
    assert!(!exceeds(&[both, ("mcp__mail__get_*", Allow)]));
    assert!(!exceeds(&[both]), "nothing is laxer than what is left out");
    assert!(!exceeds(&[("mcp__mail__*", Deny), ("mcp__mail__get_*", Ask)]));
    assert!(!exceeds(&[both, ("mcp__mail__send", Ask), ("mcp__*", Deny)]));
    assert!(exceeds(&[]), "what asks is gone");
    assert!(exceeds(&[both, ("mcp__mail__send_*", Allow)]), "it stands before what asks");
    assert!(exceeds(&[both, ("mcp__mail__send", Allow)]));
    let mut refusing = parent.clone();
    refusing.acts.insert(Act::Call, Deny);
    let mut child = refusing.clone();
    child.set(RuledTools::parse("mcp__bank__pay").unwrap(), Ask);
    assert!(child.exceeds(&refusing), "it would be asked about what is refused");
}

/// Names that the patterns of [`rules`] cover, and one that none does.
fn tools() -> impl Iterator<Item = &'static str> {
    MCP_NAMES.into_iter().chain(["terminal", "send_message", "mcp__b__c"])
}

fn rules() -> impl Strategy<Value = IntegrityRule> {
    let becomes = || select(&TaintedRule::ALL[..]);
    let names = select(vec![
        "terminal",
        "mcp__github__list",
        "mcp__a__b",
        "mcp__*",
        "mcp__github__*",
        "mcp__git*__list",
        "mcp__g*__list",
        "mcp__*__*list",
        "mcp__*__*_issue",
    ]);
    let tools = btree_map(names.prop_map(|it| RuledTools::parse(it).unwrap()), becomes(), 0..5);
    let acts = btree_map(select(&Act::ALL[..]), becomes(), 0..3);
    let trusted = btree_set(select(vec!["web:docs.rs", "mcp:a"]), 0..2).prop_map(|texts| {
        texts.into_iter().map(|text| TrustedSource::parse(text).unwrap()).collect()
    });
    let profile = select(&IntegrityProfile::ALL[..]);
    (profile, trusted, acts, tools).prop_map(|(profile, trusted, acts, tools)| IntegrityRule {
        profile,
        trusted,
        acts,
        tools,
    })
}

/// A rule, and another that differs from it in little, so that it often exceeds it in nothing.
fn parent_and_child() -> impl Strategy<Value = (IntegrityRule, IntegrityRule)> {
    let near = (rules(), rules(), any::<[bool; 4]>()).prop_map(|(parent, other, keeps)| {
        let mut child = parent.clone();
        let [profile, acts, adds, takes] = keeps;
        if !profile {
            child.profile = other.profile;
        }
        if !acts {
            child.acts.extend(other.acts);
        }
        if !takes {
            child.tools.retain(|tools, _| !other.tools.contains_key(tools));
        }
        if !adds {
            child.tools.extend(other.tools);
        }
        (parent, child)
    });
    prop_oneof![3 => near, 1 => (rules(), rules())]
}

/// Names that begin and end alike, some of them longer than is kept.
fn name() -> impl Strategy<Value = String> {
    let pieces = [
        "a",
        ".example.com",
        ".evil.net",
        "/srv",
        "/handbook",
        "telegram:7",
        "…",
        "\n",
        "\u{fffd}",
        "long-long-long-long-long-long-long",
    ];
    proptest::collection::vec(select(pieces.to_vec()), 1..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn only_what_the_operator_means_is_trusted_however_long_its_name_is(
        kind in select(vec![
            ("web", SourceKind::Web),
            ("mcp", SourceKind::Mcp),
            ("folder", SourceKind::File),
            ("person", SourceKind::Quoted),
        ]),
        star in select(vec!["", "*."]),
        (own, other) in (name(), name()),
        more in select(vec!["", "/x", "x", ".evil.net"]),
    ) {
        let own = if kind.0 == "web" { format!("{star}{own}") } else { own };
        let Some(trusted) = TrustedSource::parse(&format!("{}:{own}", kind.0)) else { return Ok(()) };
        let rule = IntegrityRule { trusted: [trusted].into(), ..balanced() };
        let below = own.strip_prefix("*.").map_or(own.clone(), |above| format!("a.{above}"));
        for name in [format!("{other}{own}"), format!("{below}{more}"), other, below] {
            let is_trusted = rule.untrusted(&tainted(kind.1, &name)).is_own();
            prop_assert!(!is_trusted || means(kind.1, &own, &name), "{own} {name}");
            if name.len() <= 64 && !name.contains(['…', '\n', '\u{fffd}']) {
                prop_assert_eq!(is_trusted, means(kind.1, &own, &name), "{} {}", own, name);
            }
        }
    }

    #[test]
    fn rule_05_what_does_not_exceed_is_nowhere_laxer(
        (parent, child) in parent_and_child(),
        acts in subsequence(Act::ALL.to_vec(), 0..=Act::ALL.len()),
    ) {
        prop_assert!(!parent.exceeds(&parent));
        if !child.exceeds(&parent) {
            for tool in tools() {
                let (own, above) = (child.rule(tool, acts.clone()), parent.rule(tool, acts.clone()));
                prop_assert!(own <= above, "{tool}: {own:?} is laxer than {above:?}");
            }
        }
    }
}
