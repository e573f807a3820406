//! Tests of what an edit grants and takes.

use super::*;
use crate::authority::Level;
use crate::file_state::FileState;
use crate::files::FilesSnapshot;
use crate::load::load;
use proptest::collection::{btree_map, btree_set};
use proptest::prelude::*;

fn applied(yaml: &str) -> Applied {
    let snapshot =
        FilesSnapshot { config: FileState::Text(yaml.into()), ..FilesSnapshot::default() };
    let (report, loaded) = load(&snapshot, &BTreeMap::new());
    let loaded = loaded.unwrap_or_else(|| {
        panic!("{}", crate::render::text(&report, crate::render::Colour::Plain))
    });
    Applied::of(&loaded)
}

fn sentences(before: &str, after: &str) -> Vec<String> {
    let (before, after) = (applied(before), applied(after));
    assert_eq!(Applied::from_json(&before.to_json()), Some(before.clone()));
    diff(&before, &after)
        .iter()
        .map(|change| format!("{}: {change}", change.kind.as_str()))
        .collect()
}

#[test]
fn an_edit_is_told_in_sentences() {
    let before = "
agents:
  main: {default: true}
  coder:
    personality: You write code.
    tools: {profile: coding, deny: [terminal]}
    network: [api.github.com, '*.example.org']
    files: {shared: [{path: ~/src, mode: ro}]}
    env: {A_TOKEN: hunter2}
    mcp_servers: {github: {command: github-mcp, env: {TOKEN: '${secret:A}'}}}
    subagents: {max_children: 2}
    access: {allow: ['telegram:1']}
bindings: [{agent: coder, telegram: '-100123'}]
";
    let after = "
agents:
  main: {}
  family: {tools: minimal}
  coder:
    personality: You write poems.
    tools: {profile: coding, deny: [process]}
    network: ['*.github.com', docs.example.org]
    files: {shared: [{path: ~/src, mode: rw}]}
    env: {A_TOKEN: hunter3}
    mcp_servers: {github: {command: other-mcp, env: {TOKEN: '${secret:B}'}}}
    subagents: {max_children: 5}
    access: {allow: ['telegram:2'], admins: ['telegram:2']}
    memory: {scope: global}
    sandbox: off
    approvals: {mode: off}
bindings: [{agent: main, telegram: '-100123'}]
listen: 0.0.0.0:7717
";
    insta::assert_snapshot!(sentences(before, after).join("\n"));
    assert_eq!(sentences(before, before), Vec::<String>::new());
}

#[test]
fn an_agent_that_breaks_is_not_removed() {
    let good = "agents: {main: {}, coder: {}}";
    let broken = "agents: {main: {}, coder: {tolls: coding}}";
    assert_eq!(sentences(good, broken), ["takes: agent `coder` can no longer start"]);
    assert_eq!(sentences(broken, good), ["grants: agent `coder` can start again"]);
    let gone = "agents: {main: {}, other: {}}";
    assert_eq!(
        sentences(good, gone),
        ["takes: agent `coder` is removed", "grants: agent `other` is added"]
    );
    assert_eq!(sentences(broken, gone)[0], "changes: agent `coder` is removed");
}

#[test]
fn budgets_are_told_in_money() {
    let with = |usd: Option<u64>| Authority {
        limits: usd.map(|it| ("budget usd_per_day".to_owned(), it)).into_iter().collect(),
        ..Authority::default()
    };
    let all = |usd| Applied {
        agents: BTreeMap::from([("coder".to_owned(), with(usd))]),
        ..Applied::default()
    };
    let told = |from, to| diff(&all(from), &all(to))[0].to_string();
    assert_eq!(
        told(Some(1_000_000), Some(5_000_000)),
        "coder: budget usd_per_day raised from 1 to 5"
    );
    assert_eq!(
        told(Some(500_000), None),
        "coder: budget usd_per_day lifted, so there is no limit; it was 0.5"
    );
    assert_eq!(diff(&all(None), &all(Some(1)))[0].kind, ConfigChangeKind::Takes);
}

#[test]
fn a_text_of_another_version_is_read_as_far_as_it_is_known() {
    let text = r#"{"grants":{"tool":["a",1]},"limits":{"x":-1,"y":2},"levels":{"z":[1]},"new":{}}"#;
    let read = Authority::from_json(text).unwrap();
    assert_eq!(read.grants["tool"], BTreeSet::from(["a".to_owned()]));
    assert_eq!(read.limits, BTreeMap::from([("y".to_owned(), 2)]));
    assert!(read.levels.is_empty());
    assert_eq!(Authority::from_json("nonsense"), None);
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]", Just("host".to_owned()), "(\\*\\.)?[ab]\\.[cd]"]
}

prop_compose! {
    fn authority()(
        grants in btree_map(word(), btree_set(word(), 0..4), 0..4),
        guards in btree_map(word(), btree_set(word(), 1..4), 0..3),
        limits in btree_map(word(), 0_u64..4, 0..4),
        levels in btree_map(word(), (0_u64..3, word()), 0..4),
        settings in btree_map(word(), word(), 0..4),
    ) -> Authority {
        let levels = levels.into_iter().map(|(k, (rank, name))| (k, Level { rank, name })).collect();
        Authority { grants, guards, limits, levels, settings }
    }
}

prop_compose! {
    fn any_applied()(
        agents in btree_map("[a-d]", authority(), 0..4),
        failed in btree_set("[c-f]", 0..3),
        routes in btree_map("[a-f]", btree_set(word(), 0..3), 0..3),
        daemon in btree_map(word(), word(), 0..3),
    ) -> Applied {
        let failed = failed.into_iter().filter(|id: &String| !agents.contains_key(id)).collect();
        Applied { agents, failed, routes, daemon }
    }
}

fn of_kind(
    changes: &[ConfigChange],
    kind: ConfigChangeKind,
) -> BTreeSet<(Option<String>, String, String)> {
    let of_kind = changes.iter().filter(|change| change.kind == kind);
    of_kind.map(|it| (it.agent.clone(), it.axis.clone(), it.item.clone())).collect()
}

proptest! {
    #[test]
    fn nothing_differs_from_itself(it in any_applied()) {
        prop_assert_eq!(diff(&it, &it), vec![]);
    }

    #[test]
    fn what_an_edit_grants_its_undoing_takes(a in any_applied(), b in any_applied()) {
        let (there, back) = (diff(&a, &b), diff(&b, &a));
        for kind in [ConfigChangeKind::Grants, ConfigChangeKind::Takes, ConfigChangeKind::Changes] {
            prop_assert_eq!(of_kind(&there, kind), of_kind(&back, kind.reversed()));
        }
    }

    #[test]
    fn the_text_round_trips(it in any_applied()) {
        prop_assert_eq!(Applied::from_json(&it.to_json()), Some(it.clone()));
        for authority in it.agents.values() {
            prop_assert_eq!(Authority::from_json(&authority.to_json()), Some(authority.clone()));
        }
    }
}
