//! Cards of another runtime are words of others here: whoever works on one is steered by who wrote
//! it there.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::support::*;
use insula_testkit::Home;
use serde_json::{Value, json};

const HERMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/hermes");

#[test]
fn who_works_on_an_imported_card_has_read_words_of_others() {
    let home = Home::empty().unwrap();
    json(&home, &["import", "hermes", HERMES]);
    let settings = home.read("config.yaml").unwrap();
    assert!(settings.contains("max_running: 0"), "{settings}");
    home.write("config.yaml", settings.replace("max_running: 0", "max_running: 1")).unwrap();
    let settings = home.read("agents/coder/agent.yaml").unwrap();
    let lines = settings.lines().map(|it| match it.starts_with("model:") {
        true => "model: rehearsal/rehearsal",
        false => it,
    });
    home.write("agents/coder/agent.yaml", lines.collect::<Vec<_>>().join("\n")).unwrap();
    let own = json(&home, &["board", "add", "hermes", "Ours", "--assignee", "coder"]);
    let _daemon = start(&home);
    let whose_words = |card: &str| {
        eventually("somebody worked on the card", || {
            let turns = json(&home, &["turns", "list", "coder"]);
            let is_it = |turn: &&Value| turn["began"]["card"] == card && !turn["ended"].is_null();
            turns.as_array().unwrap().iter().find(is_it).map(|turn| turn["integrity"].clone())
        })
    };
    let id = |title: &str| json(&home, &["board", "show", "hermes", title])["id"].to_string();
    assert_eq!(whose_words(&id("Mend the tap"))["many"], true);
    let ours = json!({ "own": true, "sources": [], "many": false });
    assert_eq!(whose_words(&own["id"].to_string()), ours);
}
