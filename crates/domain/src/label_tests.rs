//! Labels only grow, and what was refused stays refused.

use super::*;
use crate::arbitrary::{cases, hostile_address, letter, small_address};
use proptest::prelude::*;

fn audience() -> impl Strategy<Value = Audience> {
    prop_oneof![3 => small_address(), 1 => hostile_address()].prop_map(|at| Audience::of(&at))
}

fn label() -> impl Strategy<Value = Label> {
    let known = prop::collection::vec(audience(), 0..4).prop_map(|all| {
        all.into_iter().fold(Label::anyone(), |label, one| label.join(&Label::of(one)))
    });
    prop_oneof![9 => known, 1 => Just(Label::nobody())]
}

fn flows(label: &Label, to: &Audience) -> bool {
    label.may_flow_to(to) == Flow::Allowed
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn join_is_a_union(a in label(), b in label(), c in label()) {
        prop_assert_eq!(a.join(&b), b.join(&a));
        prop_assert_eq!(a.join(&b).join(&c), a.join(&b.join(&c)));
        prop_assert_eq!(a.join(&a), a.clone());
        prop_assert_eq!(a.join(&Label::anyone()), a.clone());
        prop_assert_eq!(a.join(&Label::nobody()), Label::nobody());
    }

    #[test]
    fn the_readers_of_a_join_are_the_readers_of_both(
        a in label(), b in label(), readers in prop::collection::vec(audience(), 1..8)
    ) {
        let joined = a.join(&b);
        for to in &readers {
            prop_assert_eq!(flows(&joined, to), flows(&a, to) && flows(&b, to));
            // So it never has a reader that one of them has not.
            prop_assert!(!flows(&joined, to) || flows(&a, to));
        }
    }

    #[test]
    fn a_grant_opens_what_it_names_and_nothing_else(a in label(), named in audience(), to in audience()) {
        let granted = |source: Option<&Audience>| source == Some(&named);
        let with = a.may_flow_with(&to, granted) == Flow::Allowed;
        prop_assert!(with || !flows(&a, &to));
        let others = a.audiences().all(|source| *source == named || source.includes(&to));
        prop_assert_eq!(with, others && a != Label::nobody());
        let nobody = Label::nobody();
        prop_assert_eq!(nobody.may_flow_with(&to, |_| true), Flow::Allowed);
    }

    #[test]
    fn what_was_refused_stays_refused_after_a_join(a in label(), b in label(), to in audience()) {
        let joined = a.join(&b);
        let both = a.may_flow_to(&to) == Flow::Allowed && b.may_flow_to(&to) == Flow::Allowed;
        prop_assert_eq!(joined.may_flow_to(&to) == Flow::Allowed, both);
        if let Flow::Refused { source } = joined.may_flow_to(&to) {
            prop_assert!(!source.includes(&to));
        }
    }

    #[test]
    fn labels_are_injective_and_parse_back(a in label(), b in label()) {
        prop_assert_eq!(a == b, a.to_string() == b.to_string());
        prop_assert_eq!(a.to_string().parse::<Label>().unwrap(), a);
    }

    #[test]
    fn what_flows_back_to_its_source_is_allowed(at in small_address(), chat in letter()) {
        let label = Label::of(Audience::of(&at));
        prop_assert_eq!(label.may_flow_to(&Audience::of(&at)), Flow::Allowed);
        let elsewhere = Audience { chat: ChatId::new(format!("{chat}2")).unwrap(), ..Audience::of(&at) };
        prop_assert!(label.may_flow_to(&elsewhere) != Flow::Allowed);
    }
}

#[test]
fn a_chat_s_words_may_enter_its_topics_and_not_the_other_way_round() {
    let chat: Audience = "telegram:bot:-100".parse().unwrap();
    let topic: Audience = "telegram:bot:-100:7".parse().unwrap();
    let other: Audience = "telegram:bot:-100:8".parse().unwrap();
    let flows =
        |from: &Audience, to: &Audience| Label::of(from.clone()).may_flow_to(to) == Flow::Allowed;
    assert!(flows(&chat, &topic) && flows(&topic, &topic));
    assert!(!flows(&topic, &chat) && !flows(&topic, &other));
    assert_eq!(Label::anyone().may_flow_to(&chat), Flow::Allowed);
}

#[test]
fn a_label_has_one_text() {
    let text = "telegram:bot:-100:7,telegram:bot:-200";
    assert_eq!(text.parse::<Label>().unwrap().to_string(), text);
    assert_eq!(Label::anyone().to_string(), "anyone");
    assert_eq!(Label::nobody().to_string(), "nobody");
    for bad in [
        "",
        "anyone,telegram:bot:1",
        "nobody,telegram:bot:1",
        "telegram:bot:-200,telegram:bot:-100:7",
        "telegram:bot:1,telegram:bot:1",
        "telegram:bot",
        "telegram:bot:",
        "telegram:bot:1:",
        "telegram:bot:1:2:3",
        "telegram:bot:%31",
        "nowhere:bot:1",
        "telegram:bot:1,",
    ] {
        assert!(bad.parse::<Label>().is_err(), "{bad}");
    }
}

#[test]
fn a_scope_has_the_readers_that_its_name_tells() {
    for (scope, label) in [
        ("global", "anyone"),
        ("chat:telegram:bot:-100", "telegram:bot:-100"),
        ("topic:telegram:bot:-100:7", "telegram:bot:-100:7"),
        ("user:telegram:bot:1", "nobody"),
        ("user:@ann", "nobody"),
        ("custom:org", "nobody"),
    ] {
        assert_eq!(Label::of_scope(&scope.parse().unwrap()).to_string(), label);
    }
}

#[test]
fn a_place_is_another_one_by_every_part_of_its_name() {
    let here: Audience = "telegram:bot:-100:7".parse().unwrap();
    for other in ["matrix:bot:-100:7", "telegram:other:-100:7", "telegram:bot:-200:7"] {
        let other: Audience = other.parse().unwrap();
        assert!(!here.includes(&other) && !other.includes(&here), "{other}");
        assert!(!flows(&Label::of(here.clone()), &other), "{other}");
    }
}
