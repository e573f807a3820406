//! A thousand agents in one daemon: an edit reaches its agent, and no other notices.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Daemon, Home};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const AGENTS: usize = 1_000;
/// The agent that is edited: in the middle, with a folder of its own.
const EDITED: &str = "a0500";
/// Its line in `config.yaml`, counted from 1.
const ITS_LINE: usize = 502;

/// A thousand agents in `config.yaml`, with `its` settings for the one that is edited.
fn config(its: &str) -> String {
    let mut text = String::from("agents:\n");
    for number in 0..AGENTS {
        let id = format!("a{number:04}");
        let settings = if id == EDITED { its } else { "{tools: minimal}" };
        text += &format!("  {id}: {settings}\n");
    }
    text
}

fn served() -> (Home, Daemon) {
    let config = config("{tools: minimal}");
    let home = home([
        ("config.yaml", config.as_str()),
        ("agents/a0007/SOUL.md", "I am seven."),
        ("agents/a0500/SOUL.md", "I am five hundred."),
        ("agents/a0999/agent.yaml", "memory: true\n"),
    ]);
    let daemon = start(&home);
    assert_eq!(json(&home, &["status"])["agents"]["ready"], AGENTS);
    (home, daemon)
}

/// Waits until the edited agent has a later generation, and checks that it alone has.
fn assert_only_it_changed(home: &Home, before: &BTreeMap<String, u64>) {
    let mut expected = before.clone();
    *expected.get_mut(EDITED).unwrap() += 1;
    eventually("the edit applies", || {
        (agent(home, EDITED)["generation"] == expected[EDITED]).then_some(())
    });
    assert_eq!(generations(home), expected);
}

/// Waits until the edited agent fails, and checks that it alone does and says where: the file in
/// its reason, which tokens of the agent see too, and the line in `check`.
fn assert_only_it_failed(home: &Home, place: (&str, usize, usize), message: &str) {
    let (file, line, column) = place;
    let reason = format!("{file}: {message}");
    eventually("the agent fails", || (state(home, EDITED) == "failed").then_some(()));
    let mut agents = agents(home);
    let failed = agents.remove(EDITED).unwrap();
    assert_eq!(failed["reason"], reason, "{failed:#}");
    assert_eq!((agents.len(), failed["generation"].clone()), (999, json!(1)));
    assert!(agents.values().all(|row| row["state"] == "ready" && row["generation"] == 1));
    let check = insula(home, &["check", "--json"]);
    assert_eq!(check.code, Some(2));
    let check = check.json();
    let errors = check["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 1, "{check:#}");
    let found = (&errors[0]["file"], &errors[0]["line"], &errors[0]["column"]);
    assert_eq!(found, (&json!(file), &json!(line), &json!(column)), "{check:#}");
    assert_eq!((&errors[0]["agent"], &errors[0]["message"]), (&json!(EDITED), &json!(message)));
}

#[test]
fn editing_one_soul_renews_that_agent_alone() {
    let (home, _daemon) = served();
    let before = generations(&home);
    home.write("agents/a0500/SOUL.md", "I am five hundred and one.").unwrap();
    assert_only_it_changed(&home, &before);
    let context = json(&home, &["context", "show", EDITED]);
    assert_eq!(context["identity"]["soul"], "I am five hundred and one.");
}

#[test]
fn editing_one_agents_tools_renews_that_agent_alone() {
    let (home, _daemon) = served();
    let before = generations(&home);
    home.replace("config.yaml", config("{tools: coding}")).unwrap();
    assert_only_it_changed(&home, &before);
    let tools = json(&home, &["context", "show", EDITED])["tools"].clone();
    assert!(tools.as_array().unwrap().contains(&json!("terminal")), "{tools}");
}

#[test]
fn an_unknown_key_of_one_agent_leaves_999_serving_and_fixing_it_heals() {
    let (home, _daemon) = served();
    home.write("config.yaml", config("{tolls: minimal}")).unwrap();
    let place = ("config.yaml", ITS_LINE, 11);
    assert_only_it_failed(&home, place, "unknown key `tolls` in agent `a0500`");
    home.write("config.yaml", config("{tools: minimal}")).unwrap();
    eventually("the agent is back", || (state(&home, EDITED) == "ready").then_some(()));
    // As it was before: no new generation, since nothing about it changed.
    assert!(generations(&home).values().all(|generation| *generation == 1));
    assert_eq!(kinds(&home, EDITED), ["agent.created", "agent.failed", "agent.recovered"]);
}

#[test]
fn a_syntax_error_in_one_agents_own_file_leaves_999_serving() {
    let (home, _daemon) = served();
    home.write("agents/a0500/agent.yaml", "memory: true\nname: [half\n").unwrap();
    eventually("the agent fails", || (state(&home, EDITED) == "failed").then_some(()));
    let mut agents = agents(&home);
    let failed = agents.remove(EDITED).unwrap();
    let check = insula(&home, &["check", "--json"]);
    assert_eq!(check.code, Some(2));
    let errors = check.json()["errors"].as_array().unwrap().clone();
    assert_eq!(errors.len(), 1, "{errors:#?}");
    let at = |key: &str| errors[0][key].clone();
    assert_eq!((at("file"), at("agent")), (json!("agents/a0500/agent.yaml"), json!(EDITED)));
    assert!(at("line").as_u64().is_some_and(|line| (2..=3).contains(&line)), "{errors:#?}");
    let reason = format!(
        "agents/a0500/agent.yaml:{}:{}: {}",
        at("line"),
        at("column"),
        at("message").as_str().unwrap()
    );
    assert_eq!(failed["reason"], reason);
    assert!(agents.values().all(|row| row["state"] == "ready" && row["generation"] == 1));
    home.remove("agents/a0500/agent.yaml").unwrap();
    eventually("the agent is back", || (state(&home, EDITED) == "ready").then_some(()));
}

#[test]
fn a_syntax_error_in_the_shared_file_keeps_all_thousand_as_they_were() {
    let (home, daemon) = served();
    let before = agents(&home);
    home.write("config.yaml", config("{tools: [coding")).unwrap();
    let line = daemon.wait_for_line("configuration not applied").unwrap();
    assert!(line.contains("config.yaml:50"), "{line}");
    assert_eq!(agents(&home), before);
    let check = insula(&home, &["check", "--json"]);
    assert_eq!((check.code, &check.json()["ok"]), (Some(2), &Value::Bool(false)));
    // What stands there when it is mended is applied, whatever was there in between.
    home.write("config.yaml", config("{tools: coding}")).unwrap();
    let before = before.iter().map(|(id, row)| (id.clone(), row["generation"].as_u64().unwrap()));
    assert_only_it_changed(&home, &before.collect());
}

#[test]
fn adding_and_removing_one_of_a_thousand_touches_no_other() {
    let (home, _daemon) = served();
    let before = agents(&home);
    home.write("agents/extra/agent.yaml", "tools: minimal\n").unwrap();
    eventually("the agent is there", || agents(&home).contains_key("extra").then_some(()));
    let mut now = agents(&home);
    assert_eq!(now.remove("extra").unwrap()["generation"], 1);
    assert_eq!(now, before);
    home.remove("agents/extra/agent.yaml").unwrap();
    eventually("the agent is gone", || (!agents(&home).contains_key("extra")).then_some(()));
    assert_eq!(agents(&home), before);
}
