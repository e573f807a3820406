//! A way in never gives an agent anything.

use super::*;
use crate::arbitrary::{argument_rules, cases, selectors, tools_in};
use crate::child::child_tests::boundary;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn narrowing() -> impl Strategy<Value = Arc<Narrowing>> {
    let models = option::of(select(vec!["a/m", "m", "b/x", "x"]));
    let tools = option::of((option::of(selectors(4)), selectors(3)));
    (tools, argument_rules(), models).prop_map(|(tools, rules, model)| {
        let tools = tools.map(|(only, without)| ToolNarrowing {
            only,
            without,
            ..ToolNarrowing::by("binding 1")
        });
        Arc::new(Narrowing { tools, rules, model: model.map(Into::into), ..Narrowing::by("b") })
    })
}

fn respond() -> impl Strategy<Value = Respond> {
    select(vec![Respond::Never, Respond::Mention, Respond::All])
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn rule_5_ways_in_only_take_away(
        boundary in boundary(),
        ways in prop::collection::vec(narrowing(), 0..4),
    ) {
        let left = boundary.through(&ways);
        prop_assert_eq!(left.exceeds(&boundary), None);
        prop_assert!(tools_in(&left.tools).is_subset(&tools_in(&boundary.tools)));
        prop_assert!(left.spawn.models.is_subset(&boundary.spawn.models));
        for rule in boundary.rules.iter() {
            prop_assert!(left.rules.iter().any(|it| it == rule));
        }
        // Each takes its own away, whatever the others say.
        for way in &ways {
            let alone = boundary.through(std::slice::from_ref(way));
            prop_assert!(tools_in(&left.tools).is_subset(&tools_in(&alone.tools)));
            for rule in way.rules.iter() {
                prop_assert!(left.rules.iter().any(|it| it == rule));
            }
        }
    }

    #[test]
    fn a_group_is_never_answered_more_than_the_agent_answers(
        own in respond(),
        most in option::of(respond()),
        observe in any::<(bool, Option<bool>)>(),
        invites in any::<(bool, Option<bool>)>(),
        threads in any::<(bool, Option<bool>)>(),
    ) {
        let rule = GroupRule {
            respond: own,
            observe: observe.0,
            invites: invites.0,
            threads: threads.0,
        };
        let by = GroupNarrowing {
            respond: most,
            observe: observe.1,
            invites: invites.1,
            threads: threads.1,
        };
        let left = rule.narrowed(by);
        prop_assert!(left.respond <= own && most.is_none_or(|most| left.respond <= most));
        prop_assert_eq!(left.observe, observe.0 && observe.1 != Some(false));
        prop_assert_eq!(left.invites, invites.0 && invites.1 != Some(false));
        prop_assert_eq!(left.threads, threads.0 && threads.1 != Some(false));
        prop_assert_eq!(rule.narrowed(GroupNarrowing::default()), rule);
    }
}

#[test]
fn what_is_taken_away_is_told_in_words_of_the_configuration() {
    let selector = |text: &str| Selector::parse(text).unwrap();
    let way = Narrowing {
        tools: Some(ToolNarrowing {
            only: Some(vec![selector("clarify"), selector("group:files")]),
            without: vec![selector("write_file")],
            ..ToolNarrowing::by("b")
        }),
        budget: BudgetLimits {
            usd_micros_per_day: Some(1_500_000),
            tokens_per_day: Some(7),
            turns_per_minute: Some(2),
        },
        model: Some("a/m".into()),
        group: GroupNarrowing { respond: Some(Respond::Never), ..Default::default() },
        ..Narrowing::by("b")
    };
    let told: Vec<String> = way.told().into_iter().map(|(a, b)| format!("{a}: {b}")).collect();
    assert_eq!(
        told,
        [
            "tools: only clarify, group:files",
            "tools: without write_file",
            "budget: usd_per_day 1.5",
            "budget: tokens_per_day 7",
            "budget: turns_per_minute 2",
            "model: a/m",
            "group: respond never",
        ]
    );
    let none = ToolNarrowing { only: Some(Vec::new()), ..ToolNarrowing::by("b") };
    let none = Narrowing { tools: Some(none), ..Narrowing::by("b") };
    assert_eq!(none.told(), [("tools", "only none".to_owned())]);
}

#[test]
fn a_model_is_left_by_its_whole_name_or_the_part_behind_the_provider() {
    let way = |model: Option<&str>| Narrowing {
        model: model.map(Into::into),
        ..Narrowing::by("token t")
    };
    assert!(way(None).leaves_model("a/m", "m") && way(None).is_empty());
    assert!(way(Some("a/m")).leaves_model("a/m", "m"));
    assert!(way(Some("m")).leaves_model("a/m", "m") && !way(Some("m")).is_empty());
    assert!(!way(Some("b/m")).leaves_model("a/m", "m"));
}
