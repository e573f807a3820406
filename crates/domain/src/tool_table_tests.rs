//! Deny wins, narrowing narrows, and every verdict says why.

use super::*;
use crate::arbitrary::{cases, policy, possible, selector, selectors, tools_in};
use proptest::prelude::*;
use std::collections::BTreeSet;

const ALL_ON: Possible = Possible {
    memory: Switch::On,
    boards: Switch::On,
    asking: Switch::On,
    notifying: Switch::On,
    delegation: Switch::On,
    mcp: Switch::On,
    search: Switch::On,
    images: Switch::On,
    sending: Switch::On,
};

fn list(texts: &[&str]) -> Vec<Selector> {
    texts.iter().map(|text| Selector::parse(text).unwrap()).collect()
}

fn of(profile: Profile) -> ToolPolicy {
    ToolPolicy { profile: Some(profile), ..ToolPolicy::default() }
}

fn narrowing() -> impl Strategy<Value = ToolNarrowing> {
    let effects = proptest::sample::subsequence(
        vec![Effect::Send, Effect::RunProgram, Effect::ReadFiles, Effect::Recall, Effect::Network],
        0..3,
    );
    (prop::option::of(selectors(12)), selectors(3), effects).prop_map(
        |(only, without, without_effects)| ToolNarrowing {
            only,
            without,
            without_effects,
            by: "skill `x`".into(),
        },
    )
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn deny_always_wins(mut policy in policy(), possible in possible(), denied in selector()) {
        policy.deny.push(denied.clone());
        let table = ToolTable::build(&policy, &possible);
        for name in tools_in(&table) {
            let covered = match tool::find(name) {
                Some(tool) => denied.covers(tool),
                None => denied.covers_mcp(McpName::parse(name).unwrap()),
            };
            prop_assert!(!covered, "{} in spite of deny: {}", name, denied);
        }
    }

    #[test]
    fn one_more_deny_takes_away_exactly_what_it_names(
        policy in policy(), possible in possible(), denied in selector(),
    ) {
        let before = tools_in(&ToolTable::build(&policy, &possible));
        let mut stricter = policy.clone();
        stricter.deny.push(denied.clone());
        let after = tools_in(&ToolTable::build(&stricter, &possible));
        let narrowing = ToolNarrowing { without: vec![denied], ..ToolNarrowing::by("x") };
        let narrowed = tools_in(&ToolTable::build(&policy, &possible).narrow(&narrowing));
        prop_assert!(after.is_subset(&before));
        prop_assert_eq!(after, narrowed);
    }

    #[test]
    fn narrowing_only_narrows_and_twice_is_the_intersection(
        policy in policy(), possible in possible(), a in narrowing(), b in narrowing(),
    ) {
        let table = ToolTable::build(&policy, &possible);
        let once = table.narrow(&a);
        let twice = once.narrow(&b);
        prop_assert!(tools_in(&once).is_subset(&tools_in(&table)));
        let both: BTreeSet<&str> =
            tools_in(&once).intersection(&tools_in(&table.narrow(&b))).copied().collect();
        prop_assert_eq!(tools_in(&twice), both);
        prop_assert_eq!(tools_in(&twice), tools_in(&table.narrow(&b).narrow(&a)));
        prop_assert!(!once.exceeds(&table) && !twice.exceeds(&table) && !twice.exceeds(&once));
        prop_assert!(!table.exceeds(&table));
    }

    #[test]
    fn a_table_that_does_not_exceed_another_has_nothing_the_other_lacks(
        a in policy(), b in policy(), possible_a in possible(), possible_b in possible(),
    ) {
        let (a, b) = (ToolTable::build(&a, &possible_a), ToolTable::build(&b, &possible_b));
        if !a.exceeds(&b) {
            prop_assert!(tools_in(&a).is_subset(&tools_in(&b)));
        }
    }

    #[test]
    fn allow_keeps_and_never_adds(policy in policy(), possible in possible()) {
        let grants = |it: &str| tool::find(it).is_some_and(|it| it.grant == Grant::ByName);
        let without_allow = ToolPolicy { allow: None, ..policy.clone() };
        let wide = tools_in(&ToolTable::build(&without_allow, &possible));
        for name in tools_in(&ToolTable::build(&policy, &possible)) {
            prop_assert!(wide.contains(name) || grants(name), "{}", name);
        }
    }

    #[test]
    fn whatever_the_policy_what_is_missing_or_impossible_is_not_there(
        policy in policy(), possible in possible(),
    ) {
        let table = ToolTable::build(&policy, &possible);
        for (tool, verdict) in table.entries() {
            prop_assert_eq!(&table.verdict(tool.name), verdict);
            if verdict.is_in() {
                prop_assert_eq!(tool.backend, Backend::BuiltIn);
                prop_assert!(impossible(tool, &possible).is_none());
            }
        }
        let denied = |name| policy.deny.iter().any(|it| it.covers(tool::find(name).unwrap()));
        let on = |name| possible.memory == Switch::On && !denied(name);
        prop_assert_eq!(table.verdict("memory").is_in(), on("memory"));
        if policy.allow.is_none() {
            prop_assert_eq!(table.verdict("memory_search").is_in(), on("memory_search"));
        }
    }
}

#[test]
fn an_exact_list_with_memory_is_exact() {
    let list = ["web_search", "memory", "clarify"].map(|name| Selector::parse(name).unwrap());
    let policy = ToolPolicy { allow: Some(list.to_vec()), ..ToolPolicy::default() };
    let possible = Possible { memory: Switch::On, search: Switch::On, ..Possible::default() };
    let table = ToolTable::build(&policy, &possible);
    assert_eq!(table.exposed().collect::<Vec<_>>(), ["clarify", "memory", "web_search"]);
}

#[test]
fn the_profiles_are_those_of_the_design() {
    let none = Possible { delegation: Switch::On, search: Switch::On, ..Possible::default() };
    let names = |profile| {
        let table = ToolTable::build(&of(profile), &none);
        table.exposed().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(Profile::Minimal), "clarify session_search todo");
    assert_eq!(
        names(Profile::Messaging),
        "clarify session_search skill_view skills_list todo web_extract web_search"
    );
    assert_eq!(
        names(Profile::Coding),
        "clarify delegate_task execute_code patch process read_file search_files session_search \
         skill_manage skill_view skills_list terminal todo web_extract write_file"
    );
    let full = "clarify cronjob delegate_task execute_code patch process read_file search_files \
                session_search skill_manage skill_view skills_list terminal todo web_extract \
                web_search write_file";
    assert_eq!(names(Profile::Full), full);
    let unset = ToolTable::build(&ToolPolicy::default(), &none);
    assert_eq!(unset.exposed().collect::<Vec<_>>().join(" "), full);
}

#[test]
fn every_verdict_says_why() {
    let policy = ToolPolicy {
        also_allow: list(&["cronjob", "group:web", "mcp__github__*", "send_message"]),
        deny: list(&["terminal", "mcp__*__delete_*"]),
        ..of(Profile::Coding)
    };
    let possible = Possible { mcp: Switch::On, sending: Switch::On, ..Possible::default() };
    let table = ToolTable::build(&policy, &possible);
    for (name, exposed, rule) in [
        ("read_file", true, "in profile `coding`"),
        ("cronjob", true, "named in `also_allow`"),
        ("web_extract", true, "in profile `coding`"),
        ("web_search", false, "no search is configured for this agent; `web.search` names one"),
        ("send_message", true, "named in `also_allow`"),
        ("tool_search", true, "in `also_allow: mcp__github__*`"),
        ("mcp__github__list", true, "in `also_allow: mcp__github__*`"),
        ("mcp__github__delete_repo", false, "denied by `deny: mcp__*__delete_*`"),
        ("mcp__gitea__list", false, "not in profile `coding`"),
        ("terminal", false, "denied by `deny: terminal`"),
        ("memory", false, "memory is off"),
        ("kanban_show", false, "no board is granted to this agent"),
        ("message_agent", false, "no link to another agent"),
        ("notify", false, "no link to another agent"),
        ("handoff", false, "needs a grant by name"),
        ("delegate_task", false, "this agent may have no children"),
        (
            "browser_click",
            false,
            "not available: there is no browser backend; `web_extract` reads pages",
        ),
        ("nonsense", false, "no tool has this name"),
    ] {
        let verdict = table.verdict(name);
        assert_eq!((verdict.is_in(), verdict.to_string().as_str()), (exposed, rule), "{name}");
    }
    let exact = ToolPolicy { allow: Some(list(&["todo", "group:web"])), ..ToolPolicy::default() };
    let table = ToolTable::build(&exact, &ALL_ON);
    for (name, rule) in [
        ("todo", "named in `allow`"),
        ("web_search", "in `allow: group:web`"),
        ("clarify", "not in `allow`"),
        ("message_agent", "needs a grant by name"),
        ("memory", "memory is on"),
    ] {
        assert_eq!(table.verdict(name).to_string(), rule, "{name}");
    }
    let skill = ToolNarrowing {
        only: Some(list(&["todo"])),
        without_effects: vec![Effect::Recall],
        ..ToolNarrowing::by("skill `deploy`")
    };
    let narrowed = table.narrow(&skill);
    assert_eq!(narrowed.verdict("web_search").to_string(), "not kept by skill `deploy`");
    assert_eq!(
        narrowed.verdict("memory").to_string(),
        "taken away by skill `deploy`: it can recall"
    );
    assert_eq!(narrowed.verdict("todo").to_string(), "named in `allow`");
}

#[test]
fn an_exact_list_is_exact_and_an_empty_one_is_none() {
    let allow = |texts: &[&str]| ToolPolicy { allow: Some(list(texts)), ..ToolPolicy::default() };
    let possible = Possible { memory: Switch::Off, ..ALL_ON };
    let names = |policy: &ToolPolicy| {
        ToolTable::build(policy, &possible).exposed().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&allow(&[])), "");
    assert_eq!(names(&allow(&["todo", "send_message"])), "send_message todo");
    assert_eq!(
        names(&ToolPolicy { allow: Some(list(&["todo", "terminal"])), ..of(Profile::Minimal) }),
        "todo"
    );
    assert!(!ToolTable::build(&allow(&[]), &ALL_ON).verdict("mcp__a__b").is_in());
}

#[test]
fn a_group_or_a_profile_never_grants_what_must_be_named() {
    for policy in [
        ToolPolicy::default(),
        of(Profile::Full),
        ToolPolicy { also_allow: list(&["group:messaging"]), ..of(Profile::Coding) },
        ToolPolicy { allow: Some(list(&["group:messaging"])), ..ToolPolicy::default() },
    ] {
        let table = ToolTable::build(&policy, &ALL_ON);
        for name in ["send_message", "message_agent", "notify", "handoff"] {
            assert_eq!(table.verdict(name), ToolVerdict::Out(Rule::NeedsGrant));
        }
    }
    let named = ToolPolicy { also_allow: list(&["message_agent"]), ..of(Profile::Minimal) };
    assert!(ToolTable::build(&named, &ALL_ON).verdict("message_agent").is_in());
    // Not in the profile, so there is nothing for `allow` to keep.
    let kept = ToolPolicy { allow: Some(list(&["send_message"])), ..of(Profile::Minimal) };
    assert!(!ToolTable::build(&kept, &ALL_ON).verdict("send_message").is_in());
}

#[test]
fn equal_policies_give_tables_that_can_be_shared() {
    let table = || ToolTable::build(&of(Profile::Coding), &ALL_ON);
    let shared: std::collections::HashSet<ToolTable> = [table(), table()].into_iter().collect();
    assert_eq!(shared.len(), 1);
}

#[test]
fn a_server_counts_as_sending_unless_the_operator_says_otherwise() {
    let table = ToolTable::build(&ToolPolicy::default(), &ALL_ON).with_quiet_servers(["clock"]);
    let without = |effects: Vec<Effect>| ToolNarrowing {
        by: "a child".into(),
        without_effects: effects,
        without: vec![],
        only: None,
    };
    let leaf = table.narrow(&without(vec![Effect::Send]));
    assert!(leaf.verdict("mcp__clock__now").is_in());
    assert!(!leaf.verdict("mcp__mail__send").is_in());
    let offline = table.narrow(&without(vec![Effect::Network]));
    assert!(!offline.verdict("mcp__clock__now").is_in());
    assert!(!leaf.exceeds(&table) && table.exceeds(&leaf));
    assert!(leaf.exceeds(&offline) && !offline.exceeds(&leaf));
}

#[test]
fn a_table_with_an_mcp_tool_more_exceeds_one_without() {
    let without = |text| ToolNarrowing { without: list(&[text]), ..ToolNarrowing::by("x") };
    let table = ToolTable::build(&ToolPolicy::default(), &ALL_ON);
    let less = table.narrow(&without("mcp__github__*"));
    let other = table.narrow(&without("mcp__gitea__*"));
    assert!(table.exceeds(&less) && !less.exceeds(&table));
    assert!(other.exceeds(&less) && less.exceeds(&other));
    let none =
        table.narrow(&ToolNarrowing { only: Some(list(&["todo"])), ..ToolNarrowing::by("x") });
    assert!(!none.exceeds(&less) && less.exceeds(&none));
    let off = ToolTable::build(&ToolPolicy::default(), &Possible { mcp: Switch::Off, ..ALL_ON });
    assert!(!off.exceeds(&table) && table.exceeds(&off));
    // Without servers it makes no difference what would be allowed of them.
    let denying = ToolPolicy { deny: list(&["mcp__github__*"]), ..ToolPolicy::default() };
    let denied = ToolTable::build(&denying, &Possible { mcp: Switch::Off, ..ALL_ON });
    assert!(!off.exceeds(&denied) && !denied.exceeds(&off));
}
