//! Which agents an agent may reach, out of its settings.

use crate::common::load_text;
use insula_config::load::AgentOutcome;
use insula_domain::link::{LINK_DEPTH, LINK_TIMEOUT_MS};
use insula_domain::{AgentId, Link, LinkKind};

fn links(text: &str, agent: &str) -> Vec<Link> {
    let (report, loaded) = load_text(text);
    assert_eq!(report.errors().count(), 0, "{:?}", report.diagnostics);
    match &loaded.unwrap().agents[&AgentId::new(agent).unwrap()] {
        AgentOutcome::Ready(config) => config.boundary.links.iter().cloned().collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_link_leads_one_way_and_has_its_bounds() {
    let text = "agents:
  b: {}
  a:
    tools: {also_allow: [message_agent, notify]}
    links:
      - {to: b, timeout: 30s, max_depth: 1, budget: {tokens_per_day: 1000}, carry: ['telegram:main:*', '*']}
      - {to: b, as: notify}
";
    let [ask, notify] = &links(text, "a")[..] else { panic!() };
    assert_eq!((ask.kind, ask.timeout_ms, ask.max_depth), (LinkKind::Ask, 30_000, 1));
    assert_eq!(ask.budget.tokens_per_day, Some(1_000));
    let carried: Vec<String> = ask.carry.iter().map(ToString::to_string).collect();
    assert_eq!(carried, ["telegram:main:*", "*"]);
    let bounds = (notify.kind, notify.timeout_ms, notify.max_depth, notify.carry.len());
    assert_eq!(bounds, (LinkKind::Notify, LINK_TIMEOUT_MS, LINK_DEPTH, 0));
    assert_eq!(links(text, "b"), []);
    assert_eq!(links("agents: {a: {}, b: {}}\n", "a"), []);
}

#[test]
fn a_link_to_nobody_to_itself_or_twice_is_an_error_with_its_place() {
    for (links, message) in [
        ("[{to: c}]", "agent `a` is linked to `c`, which does not exist"),
        ("[{to: a}]", "agent `a` is linked to itself"),
        ("[{to: b}, {to: b, as: ask}]", "agent `a` is linked to `b` twice, both times to ask"),
        (
            "[{to: b, as: handoff, timeout: 5m}]",
            "`timeout` has no meaning for a link `as: handoff`",
        ),
        ("[{to: b, as: notify, timeout: 5m}]", "`timeout` has no meaning for a link `as: notify`"),
        ("[{to: b, as: handoff, max_depth: 2}]", "`max_depth` has no meaning for a link"),
    ] {
        let (report, loaded) = load_text(&format!("agents:\n  b: {{}}\n  a: {{links: {links}}}\n"));
        let errors: Vec<_> = report.errors().collect();
        assert_eq!(errors.len(), 1, "{links}: {errors:?}");
        assert!(errors[0].message.contains(message), "{links}: {}", errors[0].message);
        let agents = loaded.unwrap().agents;
        assert!(!matches!(agents[&AgentId::new("a").unwrap()], AgentOutcome::Ready(_)), "{links}");
        assert!(matches!(agents[&AgentId::new("b").unwrap()], AgentOutcome::Ready(_)), "{links}");
    }
    for wrong in
        ["[{to: b, as: tell}]", "[{to: b, max_depth: 9}]", "[{as: ask}]", "[{to: b, carry: [x]}]"]
    {
        let (report, _) = load_text(&format!("agents:\n  b: {{}}\n  a: {{links: {wrong}}}\n"));
        assert_eq!(report.errors().count(), 1, "{wrong}: {:?}", report.diagnostics);
    }
}
