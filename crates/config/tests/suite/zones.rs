//! Time zones: inherited, of people, and mistyped; and how much is logged of what.

use crate::common::load_text;
use insula_config::agent::AgentConfig;
use insula_config::load::{AgentOutcome, Loaded};

fn load(text: &str) -> Loaded {
    let (report, loaded) = load_text(text);
    assert_eq!(report.errors().count(), 0, "{:?}", report.diagnostics);
    loaded.expect("it is in order")
}

fn agent<'l>(loaded: &'l Loaded, id: &str) -> &'l AgentConfig {
    match &loaded.agents[&insula_domain::AgentId::new(id).unwrap()] {
        AgentOutcome::Ready(config) => config,
        other => panic!("{id}: {other:?}"),
    }
}

/// All that is wrong with a configuration, and what to do about it.
fn check(text: &str) -> String {
    let (report, _) = load_text(text);
    let told = report
        .errors()
        .map(|it| format!("{} {}", it.message, it.help.as_deref().unwrap_or_default()));
    told.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_zone_is_inherited_and_people_may_be_elsewhere() {
    let loaded = load(
        "timezone: Europe/Berlin
agents:
  a: {}
  b: {timezone: Asia/Tokyo}
  c:
    timezone: {people: {\"telegram:1\": UTC, bob: America/New_York}}
    access: {people: {bob: [\"telegram:2\", \"discord:3\"]}}
",
    );
    let own = |id: &str| agent(&loaded, id).zones.own.to_string();
    assert_eq!([own("a"), own("b"), own("c")], ["Europe/Berlin", "Asia/Tokyo", "Europe/Berlin"]);
    let of = |who: &str| agent(&loaded, "c").zones.of(&who.into()).to_string();
    let whose = ["telegram:1", "telegram:2", "discord:3", "telegram:9"].map(of);
    assert_eq!(whose, ["UTC", "America/New_York", "America/New_York", "Europe/Berlin"]);
}

#[test]
fn a_zone_that_is_none_is_told_with_what_was_meant() {
    for (config, said) in [
        ("timezone: berlin\n", "did you mean `Europe/Berlin`?"),
        ("agents: {a: {timezone: Europe/Berln}}\n", "did you mean `Europe/Berlin`?"),
        (
            "agents: {a: {timezone: {people: {\"telegram:*\": UTC}}}}\n",
            "`telegram:*` is not one person",
        ),
        ("agents: {a: {timezone: {people: {bob: UTC}}}}\n", "`bob` has a time zone and is nobody"),
    ] {
        let told = check(config);
        assert!(told.contains(said), "{config}: {told}");
    }
}

#[test]
fn how_much_is_logged_may_differ_by_part() {
    let level = |config: &str| load(config).daemon.logging.level.clone();
    assert_eq!(&*level("logging: {level: warn}\n"), "warn");
    assert_eq!(&*level(""), "info");
    assert_eq!(
        &*level("logging: {level: {default: warn, turns: debug, mcp: off}}\n"),
        "warn,insula_turns=debug,insula_mcp=off,insula::turn=debug"
    );
    let told = check("logging: {level: {turn: debug}}\n");
    assert!(told.contains("did you mean `turns`?"), "{told}");
}
