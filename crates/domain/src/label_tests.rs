//! Labels only grow, and what was refused stays refused.

use super::*;
use crate::arbitrary::{cases, hostile_address, letter, small_address};
use proptest::prelude::*;

fn audience() -> impl Strategy<Value = Audience> {
    prop_oneof![3 => small_address(), 1 => hostile_address()].prop_map(|at| Audience::of(&at))
}

fn label() -> impl Strategy<Value = Label> {
    prop::collection::vec(audience(), 0..4).prop_map(|all| {
        all.into_iter().fold(Label::anyone(), |label, one| label.join(&Label::of(one)))
    })
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn join_is_a_union(a in label(), b in label(), c in label()) {
        prop_assert_eq!(a.join(&b), b.join(&a));
        prop_assert_eq!(a.join(&b).join(&c), a.join(&b.join(&c)));
        prop_assert_eq!(a.join(&a), a.clone());
        prop_assert_eq!(a.join(&Label::anyone()), a);
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
    for bad in [
        "",
        "anyone,telegram:bot:1",
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
