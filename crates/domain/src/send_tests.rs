//! What may be sent where: as a table, and that grants only open what they name.

use super::*;
use crate::arbitrary::{cases, hostile_address, small_address};
use proptest::prelude::*;

fn grants(to: &[&str], flows: &[(&str, &str)]) -> SendGrants {
    let flow = |(from, to): &(&str, &str)| FlowGrant {
        from: from.parse().unwrap(),
        to: to.parse().unwrap(),
    };
    SendGrants {
        to: to.iter().map(|to| to.parse().unwrap()).collect(),
        flows: flows.iter().map(flow).collect(),
    }
}

fn decided(grants: &SendGrants, label: &str, to: &str) -> String {
    let label: Label = label.parse().unwrap();
    match grants.decide(&label, &to.parse().unwrap()) {
        Sending::Wider { source } => format!("wider than {source}"),
        other => other.as_str().to_owned(),
    }
}

const PRIVATE: &str = "telegram:main:7";
const GROUP: &str = "telegram:main:-100";
const TOPIC: &str = "telegram:main:-100:5";

#[test]
fn nothing_is_sent_unless_granted() {
    let none = SendGrants::default();
    assert_eq!(decided(&none, "anyone", GROUP), "no such target");
    assert_eq!(decided(&none, GROUP, GROUP), "no such target");
}

#[test]
fn words_stay_with_those_who_could_read_them() {
    let open = grants(&[GROUP, "matrix:home:*"], &[]);
    let both = format!("{GROUP},{PRIVATE}");
    let matrix = "matrix:home:%21room%3Ax";
    for (label, to, expected) in [
        ("anyone", GROUP, "allowed"),
        (GROUP, GROUP, "allowed"),
        (GROUP, TOPIC, "allowed"),
        (TOPIC, GROUP, "wider than telegram:main:-100:5"),
        (PRIVATE, GROUP, "wider than telegram:main:7"),
        (&both, GROUP, "wider than telegram:main:7"),
        ("nobody", GROUP, "unknown audience"),
        ("anyone", PRIVATE, "no such target"),
        ("anyone", "telegram:other:-100", "no such target"),
        ("anyone", matrix, "allowed"),
        (matrix, "matrix:home:%21other%3Ax", "wider than matrix:home:%21room%3Ax"),
    ] {
        assert_eq!(decided(&open, label, to), expected, "{label} to {to}");
    }
    let topic_only = grants(&[TOPIC], &[]);
    assert_eq!(decided(&topic_only, "anyone", TOPIC), "allowed");
    assert_eq!(decided(&topic_only, "anyone", GROUP), "no such target");
}

#[test]
fn a_granted_flow_opens_that_flow() {
    let both = format!("{GROUP},{PRIVATE}");
    let granted = grants(&[GROUP, PRIVATE], &[(PRIVATE, GROUP)]);
    assert_eq!(decided(&granted, PRIVATE, GROUP), "granted");
    assert_eq!(decided(&granted, &both, GROUP), "granted");
    assert_eq!(decided(&granted, GROUP, PRIVATE), "wider than telegram:main:-100");
    assert_eq!(decided(&granted, "nobody", GROUP), "unknown audience");
    // A flow alone is no place to send to.
    let nowhere = grants(&[], &[("*", GROUP)]);
    assert_eq!(decided(&nowhere, PRIVATE, GROUP), "no such target");
    let all = grants(&[GROUP], &[("*", GROUP)]);
    assert_eq!(decided(&all, "nobody", GROUP), "granted");
}

#[test]
fn places_have_one_text() {
    for text in ["telegram:main:*", "telegram:main:-1", "telegram:main:-1:7", "matrix:a:%21x%3Ay"] {
        assert_eq!(text.parse::<ChatSelector>().unwrap().to_string(), text);
    }
    assert_eq!("*".parse::<FlowSource>().unwrap().to_string(), "*");
    for bad in ["*", "telegram:*", "telegram:*:*", "telegram:main:*:7", "nowhere:main:*", "", ":"] {
        assert!(bad.parse::<ChatSelector>().is_err(), "{bad}");
    }
}

fn audience() -> impl Strategy<Value = Audience> {
    prop_oneof![3 => small_address(), 1 => hostile_address()].prop_map(|at| Audience::of(&at))
}

fn places() -> impl Strategy<Value = ChatSelector> {
    (audience(), any::<bool>()).prop_map(|(place, all)| {
        match all {
            true => format!("{}:{}:*", place.platform, Encoded(place.account.as_str())),
            false => place.to_string(),
        }
        .parse()
        .unwrap()
    })
}

fn some_grants() -> impl Strategy<Value = SendGrants> {
    let from = prop_oneof![
        4 => places().prop_map(FlowSource::Places),
        1 => Just(FlowSource::Anywhere),
    ];
    let flow = (from, places()).prop_map(|(from, to)| FlowGrant { from, to });
    (prop::collection::vec(places(), 0..4), prop::collection::vec(flow, 0..4))
        .prop_map(|(to, flows)| SendGrants { to, flows })
}

fn label() -> impl Strategy<Value = Label> {
    let known = prop::collection::vec(audience(), 0..4).prop_map(|all| {
        all.into_iter().fold(Label::anyone(), |label, one| label.join(&Label::of(one)))
    });
    prop_oneof![9 => known, 1 => Just(Label::nobody())]
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn to_have_seen_more_never_allows_more(
        grants in some_grants(), a in label(), b in label(), to in audience()
    ) {
        let allows = |label: &Label| grants.decide(label, &to).is_allowed();
        prop_assert_eq!(allows(&a.join(&b)), allows(&a) && allows(&b));
    }

    #[test]
    fn fewer_grants_never_allow_more(
        grants in some_grants(), keep_to in 0usize..4, keep_flows in 0usize..4, a in label(), to in audience()
    ) {
        let mut less = grants.clone();
        less.to.truncate(keep_to);
        less.flows.truncate(keep_flows);
        prop_assert!(!less.exceeds(&grants));
        prop_assert!(!less.decide(&a, &to).is_allowed() || grants.decide(&a, &to).is_allowed());
        prop_assert!(!SendGrants::default().decide(&a, &to).is_allowed());
    }

    #[test]
    fn without_flows_only_readers_of_every_source_are_sent_to(
        to_places in prop::collection::vec(places(), 0..4), a in label(), to in audience()
    ) {
        let grants = SendGrants { to: to_places, flows: Vec::new() };
        if grants.decide(&a, &to).is_allowed() {
            prop_assert!(a.audiences().all(|source| source.includes(&to)));
            prop_assert!(a != Label::nobody());
        }
    }
}

#[test]
fn what_is_asked_for_is_shown_to_those_who_could_read_it_or_were_granted_it() {
    let shows = |grants: &SendGrants, label: &str, here: &str| {
        grants.shows(&label.parse().unwrap(), &here.parse().unwrap())
    };
    let none = SendGrants::default();
    assert!(shows(&none, "anyone", GROUP) && shows(&none, GROUP, TOPIC));
    assert!(!shows(&none, PRIVATE, GROUP) && !shows(&none, "nobody", GROUP));
    let granted = grants(&[], &[(PRIVATE, GROUP)]);
    assert!(shows(&granted, PRIVATE, GROUP) && !shows(&granted, GROUP, PRIVATE));
    assert!(shows(&grants(&[], &[("*", GROUP)]), "nobody", GROUP));
}

#[test]
fn grants_exceed_others_by_a_place_or_a_flow() {
    let base = grants(&[GROUP], &[(PRIVATE, GROUP)]);
    for (more, is_more) in [
        (grants(&[GROUP], &[(PRIVATE, GROUP)]), false),
        (grants(&[], &[]), false),
        (grants(&[GROUP, PRIVATE], &[]), true),
        (grants(&[], &[(PRIVATE, GROUP), (TOPIC, GROUP)]), true),
        // Not every chat, though every one that is named is among them.
        (grants(&["telegram:main:*"], &[]), true),
    ] {
        assert_eq!(more.exceeds(&base), is_more, "{more:?}");
    }
}

#[test]
fn only_what_was_allowed_or_granted_goes() {
    let to: Audience = GROUP.parse().unwrap();
    let goes = |grants: &SendGrants, label: &str| {
        let label: Label = label.parse().unwrap();
        grants.decide(&label, &to).is_allowed()
    };
    let open = grants(&[GROUP], &[(PRIVATE, GROUP)]);
    assert!(goes(&open, GROUP) && goes(&open, PRIVATE));
    assert!(!goes(&open, "telegram:main:8") && !goes(&open, "nobody"));
    assert!(!goes(&SendGrants::default(), GROUP));
}
