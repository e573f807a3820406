//! A child has less than its parent, whatever is asked for.

use super::*;
use crate::arbitrary::{
    MCP_NAMES, argument_rules, cases, policy, possible, selectors, switch, tools_in,
};
use crate::boundary::{ApprovalRule, Axis, Budget, StaleWrites, WorkspaceScope};
use crate::id::AgentId;
use crate::link::{Link, LinkKind};
use crate::network::NetworkGrants;
use crate::opaque::OpaqueRule;
use crate::policy::{Possible, ToolPolicy};
use crate::tainted::{IntegrityProfile, IntegrityRule, TrustedSource};
use crate::tool;
use crate::tool_table::ToolTable;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

const HOSTS: [&str; 6] = ["a.org", "b.org", "x.a.org", "*.a.org", "*.x.a.org", "*.org"];

fn hosts() -> impl Strategy<Value = Vec<HostPattern>> {
    subsequence(HOSTS.to_vec(), 0..4)
        .prop_map(|all| all.into_iter().map(|it| HostPattern::parse(it).unwrap()).collect())
}

fn texts(all: &[&'static str]) -> impl Strategy<Value = BTreeSet<Box<str>>> {
    subsequence(all.to_vec(), 0..=all.len())
        .prop_map(|some| some.into_iter().map(Box::from).collect())
}

fn files() -> impl Strategy<Value = FileGrants> {
    let mode = || select(vec![AccessMode::Ro, AccessMode::Rw]);
    let shared = (texts(&["/a", "/b", "/c"]), mode()).prop_map(|(paths, mode)| {
        paths.into_iter().map(|path| SharedPath { path, mode }).collect()
    });
    let stale = select(vec![StaleWrites::Refuse, StaleWrites::Warn]);
    (select(&WorkspaceScope::ALL[..]), mode(), shared, stale).prop_map(
        |(workspace, workspace_mode, shared, stale_writes)| FileGrants {
            workspace,
            workspace_mode,
            shared,
            stale_writes,
        },
    )
}

fn budget() -> impl Strategy<Value = Budget> {
    (limits(), limits(), limits()).prop_map(|(own, per_user, per_context)| Budget {
        own,
        per_user,
        per_context,
    })
}

fn limits() -> impl Strategy<Value = BudgetLimits> {
    let limit = || prop::option::of(0..4_u64);
    (limit(), limit(), prop::option::of(0..4_u32)).prop_map(|(usd, tokens, turns)| BudgetLimits {
        usd_micros_per_day: usd,
        tokens_per_day: tokens,
        turns_per_minute: turns,
    })
}

fn approvals() -> impl Strategy<Value = ApprovalRule> {
    let mode = select(vec![ApprovalMode::Manual, ApprovalMode::Smart, ApprovalMode::Off]);
    let in_children = select(vec![ChildApprovals::Deny, ChildApprovals::Inherit]);
    let opaque = select(vec![OpaqueRule::Deny, OpaqueRule::Ask, OpaqueRule::ByTurn]);
    (mode, 0..3_u64, switch(), in_children, opaque).prop_map(
        |(mode, timeout_ms, separation, in_children, opaque)| ApprovalRule {
            mode,
            timeout_ms,
            separation,
            in_children,
            opaque,
        },
    )
}

fn spawn() -> impl Strategy<Value = SpawnLimits> {
    (0..4_u32, 0..4_u32, 0..4_u32, 0..9_u32, 0..9_u64, texts(&["m/1", "m/2"])).prop_map(
        |(max_depth, max_children, max_total, max_iterations, wall_clock_ms, models)| SpawnLimits {
            max_depth,
            max_children,
            max_total,
            max_iterations,
            wall_clock_ms,
            models,
        },
    )
}

fn link(to: &str) -> Link {
    Link {
        to: AgentId::new(to).unwrap(),
        kind: LinkKind::Ask,
        timeout_ms: 1,
        max_depth: 1,
        budget: BudgetLimits::default(),
        carry: Vec::new(),
    }
}

pub(crate) fn boundary() -> impl Strategy<Value = Boundary> {
    let tools =
        (policy(), possible()).prop_map(|(policy, possible)| ToolTable::build(&policy, &possible));
    let network = prop::option::of(hosts()).prop_map(|list| match list {
        Some(list) => NetworkGrants::allow(list),
        None => NetworkGrants::none(),
    });
    let outside = (network, texts(&["S1", "S2"]), texts(&["ann", "bob"]));
    let tools = (tools, argument_rules());
    (select(&Isolation::ALL[..]), tools, files(), outside, budget(), approvals(), spawn()).prop_map(
        |(isolation, tools, files, (network, secrets, send), budget, approvals, spawn)| Boundary {
            isolation,
            tools: Arc::new(tools.0),
            rules: tools.1,
            files,
            network,
            secrets,
            budget,
            approvals,
            integrity: IntegrityRule {
                profile: IntegrityProfile::Balanced,
                ..IntegrityRule::default()
            },
            spawn,
            messages: SendGrants {
                to: send.iter().map(|id| format!("cli:{id}:x").parse().unwrap()).collect(),
                flows: Vec::new(),
            },
            links: Links::new(send.iter().map(|id| link(id))),
        },
    )
}

fn caps() -> impl Strategy<Value = SpawnCaps> {
    let cap = || prop::option::of(0..6_u32);
    (cap(), cap(), cap(), cap(), prop::option::of(0..12_u64)).prop_map(
        |(max_depth, max_children, max_total, max_iterations, wall_clock_ms)| SpawnCaps {
            max_depth,
            max_children,
            max_total,
            max_iterations,
            wall_clock_ms,
        },
    )
}

fn request() -> impl Strategy<Value = ChildRequest> {
    let tools = (prop::option::weighted(0.3, selectors(12)), selectors(3));
    let files = (switch(), texts(&["/a", "/b", "/d"]), argument_rules());
    let outside = (
        prop::option::of(hosts()),
        prop::option::of(texts(&["S1", "S2", "S3"])),
        prop::option::of(select(&Isolation::ALL[..])),
    );
    let rest = (
        select(vec![Role::Leaf, Role::Orchestrator]),
        limits(),
        prop::option::of(caps()),
        prop::option::weighted(0.2, select(vec!["m/1", "m/2", "m/3"])),
    );
    (tools, files, outside, rest).prop_map(
        |((only_tools, without_tools), (read_only_files, drop, rules), outside, rest)| {
            let (only_hosts, only_secrets, isolation_at_least) = outside;
            let (role, budget_at_most, spawn_at_most, model) = rest;
            ChildRequest {
                role,
                only_tools,
                without_tools,
                rules,
                read_only_files,
                drop_shared: drop.into_iter().collect(),
                only_hosts,
                only_secrets,
                budget_at_most,
                isolation_at_least,
                spawn_at_most,
                model: model.map(Box::from),
            }
        },
    )
}

fn hosts_in(network: &NetworkGrants) -> Vec<&'static str> {
    ["a.org", "b.org", "x.a.org", "y.a.org", "y.x.a.org", "org", "c.net"]
        .into_iter()
        .filter(|host| network.allows(host))
        .collect()
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn rule_05_a_child_never_exceeds_its_parent(
        parent in boundary(), first in request(), second in request(),
    ) {
        prop_assert_eq!(parent.exceeds(&parent), None);
        let Ok(child) = parent.child(&first) else { return Ok(()) };
        prop_assert_eq!(child.exceeds(&parent), None);
        prop_assert!(parent.rules.iter().all(|rule| child.rules.iter().any(|it| it == rule)));
        prop_assert!(first.rules.iter().all(|rule| child.rules.iter().any(|it| it == rule)));
        // And by asking, not only by comparing the two descriptions.
        prop_assert!(tools_in(&child.tools).is_subset(&tools_in(&parent.tools)));
        prop_assert!(hosts_in(&child.network).iter().all(|it| parent.network.allows(it)));
        prop_assert!(child.links.is_empty());
        prop_assert!(child.spawn.max_depth < parent.spawn.max_depth);
        let Ok(grandchild) = child.child(&second) else { return Ok(()) };
        prop_assert_eq!(grandchild.exceeds(&child), None);
        prop_assert_eq!(grandchild.exceeds(&parent), None);
    }

    #[test]
    fn a_leaf_never_has_a_blocked_effect(parent in boundary(), mut request in request()) {
        let Ok(child) = parent.child(&request) else { return Ok(()) };
        for name in tools_in(&child.tools) {
            let spec = tool::find(name).expect("no MCP tool is in a child");
            prop_assert_eq!(spec.first_of(&BLOCKED_IN_CHILDREN), None, "{}", name);
            let may_delegate = request.role == Role::Orchestrator && child.spawn.max_depth > 0;
            prop_assert!(spec.first_of(&[Effect::Delegate]).is_none() || may_delegate);
        }
        request.role = Role::Leaf;
        let leaf = parent.child(&request).unwrap();
        prop_assert!(!leaf.tools.verdict("delegate_task").is_in());
    }

    #[test]
    fn a_child_is_refused_for_depth_width_or_model_and_nothing_else(
        parent in boundary(), request in request(),
    ) {
        let spawn = &parent.spawn;
        match parent.child(&request) {
            Err(ChildRefused::Depth) => prop_assert_eq!(spawn.max_depth, 0),
            Err(ChildRefused::Width) => prop_assert!(spawn.max_children.min(spawn.max_total) == 0),
            Err(ChildRefused::Model { model, allowed }) => prop_assert!(!allowed.contains(&model)),
            Ok(_) => {
                prop_assert!(spawn.max_depth > 0 && spawn.max_children > 0 && spawn.max_total > 0);
                prop_assert!(request.model.is_none_or(|model| spawn.models.contains(&model)));
            }
        }
    }

    #[test]
    fn what_exceeds_is_seen_on_its_axis(a in boundary(), b in boundary()) {
        if a.exceeds(&b).is_none() {
            prop_assert!(a.isolation >= b.isolation);
            prop_assert!(tools_in(&a.tools).is_subset(&tools_in(&b.tools)));
            prop_assert!(hosts_in(&a.network).iter().all(|it| b.network.allows(it)));
        }
        for (axis, mixed) in [
            (Axis::Files, Boundary { files: b.files.clone(), ..a.clone() }),
            (Axis::Network, Boundary { network: b.network.clone(), ..a.clone() }),
            (Axis::Secrets, Boundary { secrets: b.secrets.clone(), ..a.clone() }),
            (Axis::Budget, Boundary { budget: b.budget, ..a.clone() }),
            (Axis::Approvals, Boundary { approvals: b.approvals, ..a.clone() }),
            (Axis::Spawn, Boundary { spawn: b.spawn.clone(), ..a.clone() }),
            (Axis::Send, Boundary { links: b.links.clone(), ..a.clone() }),
            (Axis::Send, Boundary { messages: b.messages.clone(), ..a.clone() }),
        ] {
            prop_assert!(mixed.exceeds(&a).is_none_or(|it| it == axis));
        }
    }
}

fn full() -> Boundary {
    let on = Switch::On;
    let possible = Possible {
        memory: on,
        boards: on,
        asking: on,
        notifying: on,
        delegation: on,
        mcp: on,
        search: on,
        images: on,
        sending: on,
    };
    let named = ["send_message", "message_agent", "notify", "handoff"];
    let policy = ToolPolicy {
        also_allow: named.iter().map(|it| Selector::parse(it).unwrap()).collect(),
        ..ToolPolicy::default()
    };
    Boundary {
        isolation: Isolation::Process,
        tools: Arc::new(ToolTable::build(&policy, &possible)),
        rules: ArgumentRules::default(),
        files: FileGrants {
            shared: vec![SharedPath { path: "/src".into(), mode: AccessMode::Rw }],
            ..FileGrants::default()
        },
        network: NetworkGrants::allow([HostPattern::parse("*.a.org").unwrap()]),
        secrets: BTreeSet::from(["TOKEN".into()]),
        budget: Budget::default()
            .at_most(&BudgetLimits { tokens_per_day: Some(100), ..BudgetLimits::default() }),
        approvals: ApprovalRule::default(),
        integrity: IntegrityRule {
            profile: IntegrityProfile::Balanced,
            ..IntegrityRule::default()
        },
        spawn: SpawnLimits {
            max_depth: 2,
            models: BTreeSet::from(["m/1".into()]),
            ..SpawnLimits::default()
        },
        links: Links::new([link("ann")]),
        messages: SendGrants { to: vec!["telegram:a:*".parse().unwrap()], flows: Vec::new() },
    }
}

#[test]
fn exactly_the_tools_of_the_design_fall_out_of_a_child() {
    let parent = full();
    let gone = |role| {
        let child = parent.child(&ChildRequest { role, ..ChildRequest::default() }).unwrap();
        let kept = tools_in(&child.tools);
        let gone: Vec<&str> = tools_in(&parent.tools).difference(&kept).copied().collect();
        gone.into_iter().filter(|it| !MCP_NAMES.contains(it)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        gone(Role::Leaf),
        "clarify cronjob delegate_task execute_code handoff kanban_attach kanban_block \
         kanban_comment kanban_complete kanban_create kanban_heartbeat kanban_link \
         kanban_unblock memory memory_search message_agent notify send_message session_search \
         skill_manage"
    );
    assert_eq!(
        gone(Role::Orchestrator),
        "clarify cronjob execute_code handoff kanban_attach kanban_block kanban_comment \
         kanban_complete kanban_create kanban_heartbeat kanban_link kanban_unblock memory \
         memory_search message_agent notify send_message session_search skill_manage"
    );
    let leaf = parent.child(&ChildRequest::default()).unwrap();
    assert!(MCP_NAMES.iter().all(|it| parent.tools.verdict(it).is_in()));
    assert!(MCP_NAMES.iter().all(|it| !leaf.tools.verdict(it).is_in()));
    let why = leaf.tools.verdict("memory").to_string();
    assert_eq!(why, "taken away by role `leaf`: it can remember");
}

#[test]
fn an_orchestrator_delegates_while_depth_allows() {
    let request = ChildRequest { role: Role::Orchestrator, ..ChildRequest::default() };
    let child = full().child(&request).unwrap();
    assert!(child.tools.verdict("delegate_task").is_in());
    let grandchild = child.child(&request).unwrap();
    assert!(!grandchild.tools.verdict("delegate_task").is_in());
    assert_eq!(grandchild.child(&request), Err(ChildRefused::Depth));
}

#[test]
fn nobody_answers_approvals_of_a_child_unless_the_boundary_says_so() {
    let mut parent = full();
    let mode = |parent: &Boundary| parent.child(&ChildRequest::default()).unwrap().approvals.mode;
    assert_eq!(mode(&parent), ApprovalMode::Deny);
    parent.approvals.in_children = ChildApprovals::Inherit;
    assert_eq!(mode(&parent), ApprovalMode::Manual);
}

#[test]
fn a_request_takes_away_what_it_says() {
    let request = ChildRequest {
        read_only_files: Switch::On,
        only_hosts: Some(vec![HostPattern::parse("x.a.org").unwrap()]),
        only_secrets: Some(BTreeSet::from(["OTHER".into()])),
        budget_at_most: BudgetLimits {
            tokens_per_day: Some(1000),
            turns_per_minute: Some(1),
            ..BudgetLimits::default()
        },
        isolation_at_least: Some(Isolation::Context),
        ..ChildRequest::default()
    };
    let child = full().child(&request).unwrap();
    assert_eq!(child.files.workspace_mode, AccessMode::Ro);
    assert_eq!(child.files.shared[0].mode, AccessMode::Ro);
    assert!(child.network.allows("x.a.org") && !child.network.allows("y.a.org"));
    assert!(child.secrets.is_empty());
    let budget = BudgetLimits {
        usd_micros_per_day: None,
        tokens_per_day: Some(100),
        turns_per_minute: Some(1),
    };
    assert_eq!(child.budget, Budget { own: budget, ..Budget::default() });
    assert_eq!(child.isolation, Isolation::Process);
    let dropped = ChildRequest { drop_shared: vec!["/src".into()], ..ChildRequest::default() };
    assert!(full().child(&dropped).unwrap().files.shared.is_empty());
}

#[test]
fn a_model_that_children_may_not_run_on_is_refused_with_those_they_may() {
    let request =
        |model: &str| ChildRequest { model: Some(model.into()), ..ChildRequest::default() };
    assert!(full().child(&request("m/1")).is_ok());
    let refused = full().child(&request("m/9")).unwrap_err();
    assert_eq!(refused.to_string(), "model `m/9` is not allowed for children; allowed: m/1");
}

type Change = Box<dyn Fn(&mut Boundary)>;

#[test]
fn every_field_of_every_axis_is_compared() {
    let mut base = full();
    base.files = FileGrants {
        workspace: WorkspaceScope::Topic,
        workspace_mode: AccessMode::Ro,
        shared: vec![SharedPath { path: "/src".into(), mode: AccessMode::Ro }],
        stale_writes: StaleWrites::Refuse,
    };
    base.approvals.separation = Switch::On;
    let one = BudgetLimits {
        usd_micros_per_day: Some(1),
        tokens_per_day: Some(1),
        turns_per_minute: Some(1),
    };
    base.budget = Budget { own: one, per_user: one, per_context: one };
    let etc = || SharedPath { path: "/etc".into(), mode: AccessMode::Ro };
    let changes: Vec<(Axis, Change)> = vec![
        (Axis::Isolation, Box::new(|it| it.isolation = Isolation::Context)),
        (Axis::Files, Box::new(|it| it.files.workspace = WorkspaceScope::Chat)),
        (Axis::Files, Box::new(|it| it.files.workspace_mode = AccessMode::Rw)),
        (Axis::Files, Box::new(|it| it.files.shared[0].mode = AccessMode::Rw)),
        (Axis::Files, Box::new(move |it| it.files.shared.push(etc()))),
        (Axis::Files, Box::new(|it| it.files.stale_writes = StaleWrites::Warn)),
        (
            Axis::Network,
            Box::new(|it| it.network = NetworkGrants::allow(HostPattern::parse("b.org"))),
        ),
        (Axis::Secrets, Box::new(|it| it.secrets.extend(["OTHER".into()]))),
        (Axis::Budget, Box::new(|it| it.budget.own.usd_micros_per_day = None)),
        (Axis::Budget, Box::new(|it| it.budget.own.tokens_per_day = Some(2))),
        (Axis::Budget, Box::new(|it| it.budget.own.turns_per_minute = Some(2))),
        (Axis::Budget, Box::new(|it| it.budget.per_user.usd_micros_per_day = None)),
        (Axis::Budget, Box::new(|it| it.budget.per_context.tokens_per_day = Some(2))),
        (Axis::Approvals, Box::new(|it| it.approvals.mode = ApprovalMode::Off)),
        (Axis::Approvals, Box::new(|it| it.approvals.timeout_ms += 1)),
        (Axis::Approvals, Box::new(|it| it.approvals.separation = Switch::Off)),
        (Axis::Approvals, Box::new(|it| it.approvals.in_children = ChildApprovals::Inherit)),
        (Axis::Approvals, Box::new(|it| it.approvals.opaque = OpaqueRule::Allow)),
        (Axis::Approvals, Box::new(|it| it.integrity.profile = IntegrityProfile::Off)),
        (
            Axis::Approvals,
            Box::new(|it| it.integrity.trusted.extend(TrustedSource::parse("mcp:x"))),
        ),
        (Axis::Spawn, Box::new(|it| it.spawn.max_depth += 1)),
        (Axis::Spawn, Box::new(|it| it.spawn.max_children += 1)),
        (Axis::Spawn, Box::new(|it| it.spawn.max_total += 1)),
        (Axis::Spawn, Box::new(|it| it.spawn.max_iterations += 1)),
        (Axis::Spawn, Box::new(|it| it.spawn.wall_clock_ms += 1)),
        (Axis::Spawn, Box::new(|it| it.spawn.models.extend(["m/2".into()]))),
        (Axis::Send, Box::new(|it| it.links = Links::new([link("ann"), link("eve")]))),
    ];
    for (place, (axis, change)) in changes.into_iter().enumerate() {
        let mut wider = base.clone();
        change(&mut wider);
        assert_eq!(wider.exceeds(&base), Some(axis), "change {place}");
    }
    let child = full().child(&ChildRequest::default()).unwrap();
    assert_eq!(full().exceeds(&child), Some(Axis::Tools));
}

#[test]
fn a_role_is_read_by_the_name_models_use() {
    for (role, name) in [(Role::Leaf, "leaf"), (Role::Orchestrator, "orchestrator")] {
        assert_eq!((role.as_str(), Role::parse(name)), (name, Some(role)));
    }
    assert_eq!(Role::parse("Leaf"), None);
}
