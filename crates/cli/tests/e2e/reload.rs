//! How edits come to apply: watched, by signal, by command; all of one, and never half.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;

const TWO: &str = "agents:\n  a: {tools: minimal}\n  b: {tools: minimal}\n";
const TWO_EDITED: &str = "agents:\n  a: {tools: messaging}\n  b: {tools: messaging}\n";

fn of(a: u64, b: u64) -> BTreeMap<String, u64> {
    BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b)])
}

fn comes_to(home: &Home, expected: &BTreeMap<String, u64>) {
    eventually(&format!("generations are {expected:?}"), || {
        (generations(home) == *expected).then_some(())
    });
}

fn actors(home: &Home, id: &str) -> Vec<String> {
    let records = json(home, &["audit", "tail", id]);
    let records = records.as_array().unwrap().iter();
    records.map(|record| record["actor"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_saved_file_applies_by_itself() {
    let home = configured(TWO);
    let _daemon = start(&home);
    home.write("config.yaml", TWO_EDITED).unwrap();
    comes_to(&home, &of(2, 2));
    home.replace("config.yaml", TWO).unwrap();
    comes_to(&home, &of(3, 3));
    assert_eq!(actors(&home, "a"), ["daemon", "daemon:file-watch", "daemon:file-watch"]);
}

#[test]
fn a_hang_up_applies() {
    let home = configured(TWO);
    let daemon = start_still(&home);
    home.write("config.yaml", TWO_EDITED).unwrap();
    daemon.hang_up().unwrap();
    comes_to(&home, &of(2, 2));
    assert_eq!(actors(&home, "a"), ["daemon", "daemon:signal"]);
}

#[test]
fn the_reload_command_applies_and_says_what_it_did() {
    let home = home([("config.yaml", TWO), ("agents/gone/agent.yaml", "{}")]);
    let _daemon = start_still(&home);
    let edited = "agents:\n  a: {tools: messaging}\n  b: {tolls: 1}\n  c: {}\n";
    home.write("config.yaml", edited).unwrap();
    home.remove("agents/gone/agent.yaml").unwrap();
    let done = json(&home, &["reload"]);
    for (what, who) in [("added", "c"), ("changed", "a"), ("removed", "gone"), ("failed", "b")] {
        assert_eq!(done[what], json!([who]), "{done:#}");
    }
    assert_eq!(done["report"]["errors"][0]["agent"], "b");
    let again = json(&home, &["reload"]);
    for what in ["added", "changed", "removed", "failed"] {
        assert_eq!(again[what], json!([]), "{again:#}");
    }
    assert_eq!(actors(&home, "a"), ["daemon", "cli:local"]);
    let text = insula(&home, &["reload"]).ok().stdout;
    assert_text("reload-nothing-changed", &home, &text);
}

#[test]
fn reloading_one_agent_leaves_every_other_edit_for_later() {
    let home = configured(TWO);
    let _daemon = start_still(&home);
    home.write("config.yaml", TWO_EDITED).unwrap();
    let done = json(&home, &["agents", "reload", "a"]);
    assert_eq!((&done["changed"], &done["added"]), (&json!(["a"]), &json!([])));
    assert_eq!(generations(&home), of(2, 1));
    insula(&home, &["reload"]).ok();
    assert_eq!(generations(&home), of(2, 2));
    let nobody = insula(&home, &["agents", "reload", "nobody"]);
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert!(nobody.stderr.contains("no agent `nobody` here"), "{nobody:?}");
}

#[test]
fn without_the_watch_nothing_applies_until_somebody_asks() {
    let still = configured(TWO);
    let watched = configured(TWO);
    let _still_daemon = start_still(&still);
    let _watched_daemon = start(&watched);
    // The other daemon is the clock: when it has noticed, this one would have, too.
    for home in [&still, &watched] {
        home.write("config.yaml", TWO_EDITED).unwrap();
    }
    comes_to(&watched, &of(2, 2));
    assert_eq!(generations(&still), of(1, 1));
    insula(&still, &["reload"]).ok();
    assert_eq!(generations(&still), of(2, 2));
}

#[test]
fn an_emptied_file_is_never_applied() {
    let home = configured(TWO);
    let daemon = start(&home);
    for empty in ["", "\n", "  \n\n"] {
        home.write("config.yaml", empty).unwrap();
        let line = daemon.wait_for_line("configuration not applied").unwrap();
        assert!(line.contains("config.yaml says nothing"), "{line}");
        assert_eq!(generations(&home), of(1, 1));
    }
    for command in [&["reload"][..], &["agents", "reload", "a"], &["agents", "add", "c"]] {
        let refused = insula(&home, command);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains("config.yaml says nothing"), "{refused:?}");
    }
    assert!(!home.has("agents/c"));
    // Who means it says so.
    home.write("config.yaml", "{}\n").unwrap();
    eventually("the agents are gone", || {
        (generations(&home).keys().collect::<Vec<_>>() == ["main"]).then_some(())
    });
}

#[test]
fn a_half_written_file_is_never_applied() {
    let home = configured(TWO);
    let daemon = start(&home);
    let whole = "agents:\n  a: {tools: messaging, memory: true}\n  b: {tools: minimal}\n";
    // Cut anywhere inside the first agent's settings.
    for cut in [14, 20, 27, 40] {
        home.write("config.yaml", &whole[..cut]).unwrap();
        daemon.wait_for_line("configuration not applied").unwrap();
        assert_eq!(generations(&home), of(1, 1), "{:?}", &whole[..cut]);
    }
    home.write("config.yaml", whole).unwrap();
    comes_to(&home, &of(2, 1));
    assert_eq!(kinds(&home, "a"), ["agent.created", "agent.changed"]);
    assert_eq!(kinds(&home, "b"), ["agent.created"]);
}

#[test]
fn a_folder_with_an_agent_file_is_an_agent_while_it_is_there() {
    let home = configured(TWO);
    let _daemon = start(&home);
    // First the folder, and only when that was noticed the file in it.
    fs::create_dir(home.path().join("agents/new")).unwrap();
    home.write("agents/a/SOUL.md", "a clock").unwrap();
    comes_to(&home, &of(2, 1));
    home.write("agents/new/agent.yaml", "memory: true\n").unwrap();
    eventually("it is there", || agents(&home).contains_key("new").then_some(()));
    assert_eq!(
        (state(&home, "new").as_str(), agent(&home, "new")["memory"].clone()),
        ("ready", json!(true))
    );
    home.write("agents/new/agent.yaml", "memory: false\n").unwrap();
    eventually("it changed", || (agent(&home, "new")["generation"] == 2).then_some(()));
    fs::remove_dir_all(home.path().join("agents/new")).unwrap();
    eventually("it is gone", || (!agents(&home).contains_key("new")).then_some(()));
}

#[test]
fn a_folder_that_was_replaced_is_watched_like_the_first() {
    let home = home([("config.yaml", "{}"), ("agents/a/agent.yaml", "{}")]);
    let _daemon = start(&home);
    let folder = home.path().join("agents/a");
    for (round, how) in ["removed", "renamed"].into_iter().enumerate() {
        match how {
            "removed" => fs::remove_dir_all(&folder).unwrap(),
            _ => fs::rename(&folder, home.path().join("aside")).unwrap(),
        }
        home.write("agents/a/agent.yaml", format!("description: {how}\n")).unwrap();
        eventually("the new folder applies", || {
            let rows = agents(&home);
            (rows.get("a")?["description"] == how).then_some(())
        });
        // No event but one from inside the new folder can tell of this.
        home.write("agents/a/SOUL.md", format!("round {round}")).unwrap();
        eventually("an edit inside it applies", || {
            let context = json(&home, &["context", "show", "a"]);
            (context["identity"]["soul"] == format!("round {round}")).then_some(())
        });
    }
}

#[test]
fn the_soul_of_the_home_is_that_of_every_agent_without_one() {
    let home = home([("config.yaml", TWO), ("agents/a/SOUL.md", "my own")]);
    let _daemon = start(&home);
    home.write("SOUL.md", "everybody's").unwrap();
    comes_to(&home, &of(1, 2));
    let soul = |id: &str| json(&home, &["context", "show", id])["identity"]["soul"].clone();
    assert_eq!((soul("a"), soul("b")), (json!("my own"), json!("everybody's")));
}

#[test]
fn an_edit_while_no_daemon_runs_applies_at_the_next_start() {
    let home = home([("config.yaml", TWO), ("agents/gone/agent.yaml", "{}")]);
    start(&home).terminate().unwrap();
    home.write("config.yaml", TWO_EDITED).unwrap();
    home.remove("agents/gone/agent.yaml").unwrap();
    let _daemon = start(&home);
    assert_eq!(generations(&home), of(2, 2));
    // What went meanwhile counts as gone: it is not compared with any more.
    assert_eq!(json(&home, &["check", "--diff"])["changes"], json!([]));
    home.write("agents/gone/agent.yaml", "{}").unwrap();
    eventually("it is back", || (agents(&home).get("gone")?["generation"] == 2).then_some(()));
    assert_eq!(kinds(&home, "gone"), ["agent.created", "agent.removed", "agent.changed"]);
}

#[test]
fn commands_without_a_daemon_write_nothing_down_that_did_not_happen() {
    let home = configured("agents: {main: {}, broken: {tolls: 1}}\n");
    insula(&home, &["reload"]).ok();
    let chains =
        |home: &Home| ["main", "broken"].map(|id| kinds(home, id)).into_iter().collect::<Vec<_>>();
    let before = (chains(&home), json(&home, &["audit", "tail"]));
    assert_eq!(before.0, [["agent.created"], ["agent.failed"]]);
    for _ in 0..3 {
        insula(&home, &["agents", "list"]).ok();
        insula(&home, &["doctor"]);
    }
    assert_eq!((chains(&home), json(&home, &["audit", "tail"])), before);
}

#[test]
fn looking_at_an_edit_does_not_apply_it() {
    let home = configured(TWO);
    start(&home).terminate().unwrap();
    home.write("config.yaml", TWO_EDITED).unwrap();
    let before = json(&home, &["check", "--diff"])["changes"].clone();
    assert_ne!(before, json!([]));
    insula(&home, &["tools", "a"]).ok();
    insula(&home, &["agents", "list"]).ok();
    assert_eq!(json(&home, &["check", "--diff"])["changes"], before);
    assert_eq!(kinds(&home, "a"), ["agent.created"]);
}

#[test]
fn a_file_that_is_still_being_written_is_waited_for() {
    use std::io::Write as _;
    let home = configured(TWO);
    let _daemon = start(&home);
    let mut file = fs::File::create(home.path().join("config.yaml")).unwrap();
    // A whole configuration by itself, and half of what is meant.
    file.write_all(b"agents:\n  a: {}\n").unwrap();
    file.sync_all().unwrap();
    // Another file that is complete does not let the first one through.
    home.write("agents/b/SOUL.md", "a clock").unwrap();
    for _ in 0..20 {
        assert_eq!(generations(&home), of(1, 1));
    }
    file.write_all(b"  b: {tools: minimal}\n").unwrap();
    drop(file);
    eventually("it was applied whole", || (generations(&home) != of(1, 1)).then_some(()));
    assert_eq!(generations(&home).len(), 2);
}

#[test]
fn a_configuration_that_is_gone_is_no_choice() {
    let home = configured(TWO);
    let daemon = start(&home);
    home.remove("config.yaml").unwrap();
    let line = daemon.wait_for_line("configuration not applied").unwrap();
    assert!(line.contains("config.yaml is gone"), "{line}");
    assert_eq!(generations(&home), of(1, 1));
    assert!(json(&home, &["status"])["config_refused"].is_string());
    assert_eq!(insula(&home, &["check"]).code, Some(2));
    assert_eq!(insula(&home, &["doctor"]).code, Some(1));
    daemon.kill9().unwrap();
    // Nor is it one at the next start, which writes no other in its place.
    let refused = insula(&home, &["up"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(!home.has("config.yaml"));
    home.write("config.yaml", TWO).unwrap();
    let _daemon = start(&home);
    assert_eq!(generations(&home), of(1, 1));
}

#[test]
fn what_needs_a_restart_says_so() {
    let home = configured(TWO);
    let _daemon = start_still(&home);
    home.write("config.yaml", format!("logging: {{level: error}}\n{TWO}")).unwrap();
    assert_eq!(json(&home, &["reload"])["restart"], json!(["logging"]));
    assert_eq!(json(&home, &["reload"])["restart"], json!(["logging"]), "until it happens");
}
