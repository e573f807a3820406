//! The names of settings, and that a boundary counts for wider by every field of it.

use super::*;
use crate::argument::{ArgumentRule, Demand};
use crate::policy::{Possible, ToolPolicy};
use crate::selector::Selector;
use crate::tainted::IntegrityRule;

fn both_ways<T: Copy + PartialEq + fmt::Debug>(
    all: &[(T, &str)],
    as_str: impl Fn(T) -> &'static str,
    parse: impl Fn(&str) -> Option<T>,
) {
    for (value, name) in all {
        assert_eq!(as_str(*value), *name);
        assert_eq!(parse(name), Some(*value), "{name}");
    }
    for other in ["", "xyzzy", "Context", " rw"] {
        assert_eq!(parse(other), None, "{other}");
    }
}

#[test]
fn a_setting_is_read_by_the_name_it_is_shown_by() {
    use ApprovalMode::{Manual, Off, Smart};
    both_ways(
        &[
            (Isolation::Context, "context"),
            (Isolation::Process, "process"),
            (Isolation::Container, "container"),
        ],
        Isolation::as_str,
        Isolation::parse,
    );
    both_ways(
        &[
            (WorkspaceScope::Agent, "agent"),
            (WorkspaceScope::Chat, "chat"),
            (WorkspaceScope::Topic, "topic"),
        ],
        WorkspaceScope::as_str,
        WorkspaceScope::parse,
    );
    both_ways(
        &[(AccessMode::Ro, "ro"), (AccessMode::Rw, "rw")],
        AccessMode::as_str,
        AccessMode::parse,
    );
    both_ways(
        &[(StaleWrites::Refuse, "refuse"), (StaleWrites::Warn, "warn")],
        StaleWrites::as_str,
        StaleWrites::parse,
    );
    both_ways(
        &[(Manual, "manual"), (Smart, "smart"), (Off, "off")],
        ApprovalMode::as_str,
        ApprovalMode::parse,
    );
    both_ways(
        &[(OpaqueRule::Deny, "deny"), (OpaqueRule::Ask, "ask"), (OpaqueRule::Allow, "allow")],
        OpaqueRule::as_str,
        OpaqueRule::parse,
    );
}

#[test]
fn nobody_can_write_down_that_approvals_are_denied() {
    assert_eq!(ApprovalMode::Deny.as_str(), "deny");
    assert_eq!(ApprovalMode::parse("deny"), None);
}

fn bounded() -> Boundary {
    let rule = ArgumentRule {
        tools: Selector::parse("terminal").unwrap(),
        name: "terminal.max_calls".into(),
        demand: Demand::Calls { max: 1 },
    };
    Boundary {
        isolation: Isolation::Context,
        tools: Arc::new(ToolTable::build(&ToolPolicy::default(), &Possible::default())),
        rules: ArgumentRules::new([rule]),
        files: FileGrants::default(),
        network: NetworkGrants::none(),
        secrets: BTreeSet::new(),
        budget: Budget::default(),
        approvals: ApprovalRule::default(),
        integrity: IntegrityRule::default(),
        spawn: SpawnLimits::default(),
        links: Links::default(),
        messages: SendGrants { to: vec!["telegram:a:1".parse().unwrap()], flows: Vec::new() },
    }
}

#[test]
fn fewer_rules_and_more_places_to_send_to_are_more() {
    let base = bounded();
    assert_eq!(base.exceeds(&base), None);
    let unruled = Boundary { rules: ArgumentRules::default(), ..bounded() };
    assert_eq!(unruled.exceeds(&base), Some(Axis::Tools));
    assert_eq!(base.exceeds(&unruled), None);
    let mut further = bounded();
    further.messages.to.push("telegram:a:2".parse().unwrap());
    assert_eq!(further.exceeds(&base), Some(Axis::Send));
    assert_eq!(base.exceeds(&further), None);
    let mut looser = bounded();
    looser.messages.flows.push(crate::send::FlowGrant {
        from: "*".parse().unwrap(),
        to: "telegram:a:1".parse().unwrap(),
    });
    assert_eq!(looser.exceeds(&base), Some(Axis::Send));
    assert_eq!(base.exceeds(&looser), None);
}

#[test]
fn an_axis_has_a_word() {
    for (axis, word) in [
        (Axis::Isolation, "isolation"),
        (Axis::Tools, "tools"),
        (Axis::Files, "files"),
        (Axis::Network, "network"),
        (Axis::Secrets, "secrets"),
        (Axis::Budget, "budget"),
        (Axis::Approvals, "approvals"),
        (Axis::Spawn, "spawn"),
        (Axis::Send, "send"),
    ] {
        assert_eq!(axis.to_string(), word);
    }
}
