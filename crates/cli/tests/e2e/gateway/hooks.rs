//! Programs that are asked about messages before anybody is let in: in whose sandbox they run,
//! what their failure is, and how many of them a flood starts.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use super::telegram::{ADA, Platform};
use crate::support::*;
use insula_testkit::telegram::{Draft, User, Where};
use serde_json::Value;

/// The workspace that a program is told of.
const WORKSPACE: &str = "W=$(printf %s \"$IN\" | sed 's/.*\"cwd\":\"\\([^\"]*\\)\".*/\\1/')";

fn script(body: &str) -> String {
    format!("#!/bin/sh\nIN=$(cat)\n{WORKSPACE}\n{body}\n")
}

/// What the hooks of an agent answered, newest last: verdict and reason.
fn answers(home: &insula_testkit::Home, agent: &str) -> Vec<(String, String)> {
    let records = json(home, &["audit", "tail", agent, "-n", "1000"]);
    let records = records.as_array().unwrap().iter().filter(|record| record["kind"] == "hook");
    let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    records
        .flat_map(|record| record["content"]["answers"].as_array().unwrap().clone())
        .map(|answer| (said(&answer["verdict"]), said(&answer["why"])))
        .collect()
}

#[test]
fn a_program_of_an_agent_decides_about_its_messages_in_its_sandbox() {
    let platform = Platform::start();
    let agents = "  main:\n    default: true\n    access: {allow: ['telegram:42']}\n    hooks:\n      pre_gateway_dispatch: [{command: 'sh ./judge.sh', timeout: 60s}]\n  other: {access: {allow: ['telegram:42']}}\n";
    let home = platform.home(agents, "  - {agent: main, telegram: \"*\"}\n");
    let judge = script(
        "touch \"$W/asked\"\ntouch ./made 2>/dev/null\n[ -r ../../../config.yaml ] && echo 'it sees the home'\ncase $IN in\n*spam*) echo '{\"action\": \"skip\"}';;\n*rough*) echo '{\"action\": \"rewrite\", \"text\": \"say polished\"}';;\n*crash*) echo oh dear >&2; exit 3;;\n*nonsense*) echo sure;;\nesac",
    );
    home.write("agents/main/hooks/judge.sh", judge).unwrap();
    let _daemon = start(&home);
    for text in ["say spam", "say crash", "say nonsense", "say rough"] {
        platform.say(Where::Dm(ADA), text);
    }
    platform.until(|sent| sent.text == "polished");
    platform.say(Where::Dm(ADA), "say plain");
    platform.until(|sent| sent.text == "plain");
    let texts: Vec<String> = platform.telegram.sent().into_iter().map(|it| it.text).collect();
    assert_eq!(texts, ["polished", "plain"], "what was refused got no reply");
    assert!(home.has("agents/main/workspace/asked"), "its workspace is the agent's");
    assert!(!home.has("agents/main/hooks/made"), "what guards it can't be changed");
    assert!(!home.has("agents/other/workspace/asked"));
    // Failures are on record, and the operator is told.
    let answers = answers(&home, "main");
    let failed: Vec<&str> = answers
        .iter()
        .filter(|(verdict, _)| verdict == "failed, denied")
        .map(|(_, why)| &**why)
        .collect();
    assert!(failed[0].contains("ended with 3: oh dear"), "{failed:?}");
    assert_eq!(failed.len(), 2, "{answers:?}");
    assert_eq!(json(&home, &["context", "show", "main"])["hooks"]["failures"], 2);
    let doctor = insula(&home, &["doctor", "--json"]).stdout;
    assert!(doctor.contains("main: failed 2 times"), "{doctor}");
}

#[test]
fn a_program_that_hangs_is_a_no_and_delays_no_other_agent() {
    let platform = Platform::start();
    platform.telegram.group(-777, "Stuck", &[ADA]);
    let agents = "  main: {default: true, access: {allow: ['telegram:42']}}\n  stuck: {access: {allow: ['telegram:42']}, group: {respond: all}, hooks: {'route:select': [{command: 'sleep 600', timeout: 500ms}]}}\n";
    let bindings = "  - {agent: main, telegram: \"*\"}\n  - {agent: stuck, telegram: \"-777\"}\n";
    let home = platform.home(agents, bindings);
    let _daemon = start(&home);
    platform.say(Where::Chat(-777), "say never");
    platform.say(Where::Dm(ADA), "say hello");
    platform.until(|sent| sent.text == "hello");
    eventually("the failure is told", || {
        let context = json(&home, &["context", "show", "stuck"]);
        let last = context["hooks"]["last_failure"].as_str()?.to_owned();
        last.contains("no answer within 500 ms").then_some(())
    });
    assert!(platform.telegram.sent().iter().all(|sent| sent.text != "never"));
}

#[test]
fn a_program_of_the_top_chooses_a_route_in_the_sandbox_of_the_agent_that_was_found() {
    let platform = Platform::start();
    let top = "hooks:\n  route:select: [{command: 'sh ./route.sh', timeout: 60s}]\n";
    let agents = "  main: {default: true, access: {allow: ['telegram:42']}}\n  other: {access: {allow: ['telegram:42']}}\n";
    let bindings =
        "  - {agent: main, telegram: {chat: \"42\"}}\n  - {agent: other, telegram: \"*\"}\n";
    let home = platform.home_with(top, agents, bindings);
    let route = script(
        "touch \"$W/asked\"\ncase $IN in\n*elsewhere*) echo '{\"action\": \"route\", \"agent\": \"other\"}';;\nesac",
    );
    home.write("hooks/route.sh", route).unwrap();
    let _daemon = start(&home);
    platform.say(Where::Dm(ADA), "say elsewhere");
    platform.until(|sent| sent.text == "elsewhere");
    assert_eq!(json(&home, &["sessions", "list", "other"]).as_array().unwrap().len(), 1);
    assert_eq!(json(&home, &["sessions", "list", "main"]).as_array().unwrap().len(), 0);
    assert!(home.has("agents/main/workspace/asked"));
    assert!(!home.has("agents/other/workspace/asked"));
}

#[test]
fn a_flood_of_strangers_starts_a_few_programs_at_once() {
    let platform = Platform::start();
    let agents = "  main: {default: true, access: {allow: ['telegram:42'], unknown: ignore}, hooks: {pre_gateway_dispatch: [{command: 'sh ./count.sh', timeout: 60s}]}}\n";
    let home = platform.home(agents, "  - {agent: main, telegram: \"*\"}\n");
    // Each says how many there are as it begins, and stays until it may end.
    let count = script(
        "M=$(mktemp \"$W/run.XXXXXX\")\nls \"$W\" | grep -c '^run' >> \"$W/counts\"\nwhile [ ! -e \"$W/open\" ]; do sleep 0.05; done\nrm \"$M\"",
    );
    home.write("agents/main/hooks/count.sh", count).unwrap();
    let _daemon = start(&home);
    const STRANGERS: i64 = 12;
    for number in 0..STRANGERS {
        let stranger = User::new(600 + number, "Mallory");
        platform.telegram.say(Where::Dm(ADA), &Draft::new(&stranger, "say let me in"));
    }
    let counts = || {
        let text = home.read("agents/main/workspace/counts").unwrap_or_default();
        text.lines().map(|line| line.trim().parse::<usize>().unwrap()).collect::<Vec<_>>()
    };
    eventually("some of them run", || {
        json(&home, &["status"]);
        (counts().len() >= 4).then_some(())
    });
    home.write("agents/main/workspace/open", "").unwrap();
    platform.say(Where::Dm(ADA), "say hello");
    platform.until(|sent| sent.text == "hello");
    assert_eq!(counts().len() as i64, STRANGERS + 1, "each was asked about");
    assert!(counts().iter().all(|count| *count <= 4), "{:?}", counts());
}

#[test]
fn a_stranger_who_is_asked_about_has_no_folder() {
    let platform = Platform::start();
    let agents = "  main: {default: true, workspace: {scope: chat}, access: {allow: ['telegram:42'], unknown: ignore}, hooks: {pre_gateway_dispatch: [{command: 'true', timeout: 60s}]}}\n";
    let home = platform.home(agents, "  - {agent: main, telegram: \"*\"}\n");
    let _daemon = start(&home);
    let mallory = User::new(666, "Mallory");
    platform.telegram.say(Where::Dm(ADA), &Draft::new(&mallory, "say let me in"));
    platform.say(Where::Dm(ADA), "say hello");
    let asked = eventually("both are asked about", || {
        Some(answers(&home, "main")).filter(|answers| answers.len() == 2)
    });
    assert!(asked.iter().all(|(verdict, _)| verdict == "allow"), "{asked:?}");
    platform.until(|sent| sent.text == "hello");
    let below = everything_below(&home.path().join("agents/main"));
    let named: Vec<_> = below.iter().filter(|it| it.to_string_lossy().contains("666")).collect();
    assert!(named.is_empty(), "{named:?}");
}
