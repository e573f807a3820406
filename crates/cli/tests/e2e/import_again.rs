//! A second import brings what is new there, and undoes nothing of what somebody did here.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use serde_json::{Value, json};
use std::path::Path;

const HERMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/hermes");
const OPENCLAW: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/fixtures/openclaw");

/// How much of one kind an import brought.
fn new(answer: &Value, what: &str) -> u64 {
    answer["done"][what]["new"].as_u64().unwrap()
}

fn all_new(answer: &Value) -> u64 {
    let done = answer["done"].as_object().unwrap();
    done.values().map(|it| it["new"].as_u64().unwrap()).sum()
}

/// What is said of everything with one fate.
fn told(answer: &Value, fate: &str) -> Vec<String> {
    let rows = answer["rows"].as_array().unwrap().iter().filter(|it| it["fate"] == fate);
    rows.map(|it| it["what"].as_str().unwrap().to_owned()).collect()
}

fn secrets(home: &Home, owner: &str) -> Vec<String> {
    let all = json(home, &["secret", "list", owner]);
    all.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
}

fn config(home: &Home) -> String {
    home.read("config.yaml").unwrap()
}

/// Without the lines that say this.
fn without(text: &str, words: &str) -> String {
    text.lines().filter(|it| !it.contains(words)).map(|it| format!("{it}\n")).collect()
}

#[test]
fn a_renamed_agent_is_the_one_it_was_made_of() {
    for (kind, source) in [("hermes", HERMES), ("openclaw", OPENCLAW)] {
        let theirs = tempfile::tempdir().unwrap();
        copy(Path::new(source), theirs.path());
        let path = theirs.path().to_str().unwrap().to_owned();
        let home = Home::empty().unwrap();
        json(&home, &["import", kind, &path]);
        json(&home, &["agents", "rename", "main", "bob"]);
        let before = (config(&home), secrets(&home, "bob"));
        // The same folder, as a shell completes it.
        let again = json(&home, &["import", kind, &format!("{path}/")]);
        assert_eq!(all_new(&again), 0, "{kind}: {:#}", again["done"]);
        assert!(!home.has("agents/main"), "{kind}");
        assert_eq!((config(&home), secrets(&home, "bob")), before, "{kind}");
        let ids: Vec<&Value> =
            again["agents"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
        assert!(ids.contains(&&json!("bob")) && !ids.contains(&&json!("main")), "{ids:?}");
        // What is said there from now on is his.
        if kind == "hermes" {
            let sql = rusqlite::Connection::open(theirs.path().join("state.db")).unwrap();
            let add = "INSERT INTO messages (session_id, role, content, timestamp) SELECT session_id, 'user', 'And a marzipan hedgehog.', timestamp + 9 FROM messages LIMIT 1";
            sql.execute(add, []).unwrap();
            drop(sql);
            let more = json(&home, &["import", kind, &path]);
            assert_eq!((new(&more, "messages"), all_new(&more)), (1, 1), "{:#}", more["done"]);
            let found = json(&home, &["sessions", "search", "bob", "marzipan"]);
            assert_eq!(found.as_array().unwrap().len(), 1, "{found:#}");
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn a_rule_that_was_changed_here_is_not_written_back() {
    let home = Home::empty().unwrap();
    json(&home, &["import", "hermes", HERMES]);
    let written = config(&home);
    let rule = "{agent: main, telegram: {account: main}}";
    assert!(written.contains(rule), "{written}");
    for changed in [
        written.replace(rule, "{agent: coder, telegram: {account: main}}"),
        written.replace(rule, "{agent: main, telegram: {account: main, chat: \"-100123\"}}"),
        without(&written, rule),
    ] {
        home.replace("config.yaml", &changed).unwrap();
        let tried = json(&home, &["import", "hermes", HERMES, "--dry-run"]);
        assert_eq!(told(&tried, "left out"), [format!("binding {rule}")], "{changed}");
        let again = json(&home, &["import", "hermes", HERMES]);
        assert_eq!((all_new(&again), config(&home)), (0, changed), "{:#}", again["done"]);
    }
    let shown = insula(&home, &["import", "hermes", HERMES]).ok().stdout;
    assert!(shown.contains("was brought before, and is no longer here: left out"), "{shown}");
    assert!(shown.contains("--again"), "{shown}");
    json(&home, &["import", "hermes", HERMES, "--again"]);
    assert!(config(&home).contains(rule), "{}", config(&home));
}

#[test]
fn what_was_removed_here_stays_away_until_it_is_asked_for() {
    let home = Home::empty().unwrap();
    json(&home, &["import", "hermes", HERMES]);
    let whole = config(&home);
    insula(&home, &["secret", "remove", "main", "GITHUB_TOKEN"]).ok();
    insula(&home, &["secret", "remove", "--daemon", "TELEGRAM_MAIN"]).ok();
    insula(&home, &["skills", "remove", "main", "boiler-care"]).ok();
    insula(&home, &["cron", "remove", "main", "morning"]).ok();
    home.remove("agents/main/SOUL.md").unwrap();
    home.replace(
        "config.yaml",
        without(&whole, "agent: coder").replace("coder: work, ", "").replace("coder: work", ""),
    )
    .unwrap();
    insula(&home, &["agents", "delete", "coder", "--yes"]).ok();
    let before = config(&home);

    let tried = json(&home, &["import", "hermes", HERMES, "--dry-run"]);
    let mut left = told(&tried, "left out");
    left.sort();
    let expected =
        ["agent coder", "file SOUL.md", "secret GITHUB_TOKEN", "secret TELEGRAM_MAIN", "skill"];
    assert_eq!(left, expected, "{tried:#}");
    let comes = told(&tried, "comes");
    assert!(!comes.contains(&"GITHUB_TOKEN".to_owned()), "{comes:?}");
    assert!(!tried["rows"].as_array().unwrap().iter().any(|it| it["agent"] == "coder"));
    let again = json(&home, &["import", "hermes", HERMES]);
    assert_eq!(all_new(&again), 0, "{:#}", again["done"]);
    assert_eq!(again["troubles"], json!([]));
    assert!(!home.has("agents/coder") && !home.has("agents/main/SOUL.md"));
    assert_eq!(secrets(&home, "main"), ["ANTHROPIC_API_KEY", "NOTES_NOTES_TOKEN"]);
    assert!(secrets(&home, "--daemon").is_empty());
    assert_eq!(json(&home, &["skills", "list", "main"]), json!([]));
    assert_eq!(config(&home), before);

    let asked = json(&home, &["import", "hermes", HERMES, "--again"]);
    assert_eq!((new(&asked, "agents"), new(&asked, "secrets")), (1, 2), "{:#}", asked["done"]);
    assert!(home.has("agents/coder/SOUL.md") && home.has("agents/main/SOUL.md"));
    assert!(told(&asked, "left out").is_empty());
    assert!(config(&home).contains("agent: coder"), "{}", config(&home));
}

#[test]
fn what_a_deleted_agent_shared_with_others_is_still_theirs() {
    let home = Home::empty().unwrap();
    json(&home, &["import", "openclaw", OPENCLAW]);
    json(&home, &["import", "hermes", HERMES]);
    home.replace("config.yaml", without(&config(&home), "agent: scribe")).unwrap();
    insula(&home, &["agents", "delete", "scribe", "--yes"]).ok();
    insula(&home, &["secret", "remove", "--daemon", "TELEGRAM_DEFAULT"]).ok();
    let again = json(&home, &["import", "openclaw", OPENCLAW]);
    assert_eq!(all_new(&again), 0, "{:#}", again["done"]);
    // Another rule leads its messages to another agent.
    assert_eq!(told(&again, "left out"), ["agent scribe", "secret TELEGRAM_DEFAULT"]);
    assert_eq!(again["done"]["accounts"]["known"], 2);
    // What one source brought is noted beside what another did.
    let noted: Value = serde_json::from_str(&home.read("imported.json").unwrap()).unwrap();
    let sources: Vec<&Value> = noted.as_array().unwrap().iter().map(|it| &it["source"]).collect();
    assert_eq!(sources, ["openclaw", "hermes"]);
}

#[test]
fn an_account_that_led_to_a_deleted_agent_alone_leads_to_nobody_else() {
    let theirs = tempfile::tempdir().unwrap();
    copy(Path::new(HERMES), theirs.path());
    let path = theirs.path().to_str().unwrap().to_owned();
    let home = Home::empty().unwrap();
    json(&home, &["import", "hermes", &path]);
    let now = without(&config(&home), "agent: coder")
        .replace("coder: work, ", "")
        .replace("coder: work", "");
    home.replace("config.yaml", &now).unwrap();
    insula(&home, &["agents", "delete", "coder", "--yes"]).ok();
    // It got a bot of its own there meanwhile.
    let variables = theirs.path().join("profiles/coder/.env");
    let bot = "TELEGRAM_BOT_TOKEN=654321:another-token-for-tests\n";
    std::fs::write(variables, bot).unwrap();
    let again = json(&home, &["import", "hermes", &path]);
    assert_eq!(all_new(&again), 0, "{:#}", again["done"]);
    assert_eq!((config(&home), secrets(&home, "--daemon")), (now, vec!["TELEGRAM_MAIN".into()]));
}

#[test]
fn a_home_of_an_earlier_version_is_taken_as_it_is() {
    let home = Home::empty().unwrap();
    json(&home, &["import", "hermes", HERMES]);
    home.remove("imported.json").unwrap();
    insula(&home, &["secret", "remove", "main", "GITHUB_TOKEN"]).ok();
    let given = config(&home).replace("agent: main, telegram", "agent: coder, telegram");
    home.replace("config.yaml", &given).unwrap();
    let again = json(&home, &["import", "hermes", HERMES]);
    assert_eq!((all_new(&again), new(&again, "secrets")), (1, 1), "{:#}", again["done"]);
    // A rule beside one for the same messages would serve nobody.
    assert_eq!(config(&home), given);
    let rules: Vec<String> =
        told(&again, "changes").into_iter().filter(|it| it.starts_with("binding ")).collect();
    assert_eq!(rules, ["binding {agent: main, telegram: {account: main}}"]);
    // From now on it is known.
    insula(&home, &["secret", "remove", "main", "GITHUB_TOKEN"]).ok();
    let third = json(&home, &["import", "hermes", HERMES]);
    assert_eq!(all_new(&third), 0, "{:#}", third["done"]);
    assert_eq!(told(&third, "left out"), ["secret GITHUB_TOKEN"]);
    // What says so is never guessed at.
    home.replace("imported.json", "[{").unwrap();
    let refused = insula(&home, &["import", "hermes", HERMES]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("imported.json"), "{refused:?}");
}

#[test]
fn cards_are_for_the_agent_that_is_made_of_whom_they_were_for() {
    let mine = "agents:\n  main: {default: true, memory: true}\n";
    let home = home([("config.yaml", mine)]);
    json(&home, &["import", "hermes", HERMES]);
    assert!(config(&home).contains("main-hermes: work"), "{}", config(&home));
    let card = json(&home, &["board", "show", "hermes", "Buy a washer of 15 mm"]);
    assert_eq!(card["assignee"], "main-hermes", "{card:#}");
}
