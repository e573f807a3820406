//! `insula init` and `insula channels`: from nothing to an agent that answers, by flags alone, and
//! nothing written before it is agreed to.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::provider::*;
use crate::support::*;
use insula_testkit::{Home, Output, run_bare};
use std::fs;

const KEY: &str = "sk-9fKq2LmX7vRt4WnB8sYd";

/// A folder that is no home yet, below one that goes away.
fn nowhere() -> (Home, String) {
    let folder = Home::empty().unwrap();
    let path = folder.path().join("home").display().to_string();
    (folder, path)
}

fn init(home: &str, variables: &[(&str, &str)], args: &[&str]) -> Output {
    run_bare(INSULA, variables, &[&["init", "--home", home], args].concat())
}

#[test]
fn a_newcomer_has_an_agent_that_answers_with_one_command() {
    let home = Home::empty().unwrap();
    let path = home.path().display().to_string();
    let made = init(&path, &[], &["--yes", "--template", "assistant", "--name", "Ada"]).ok();
    for line in ["agents/assistant/SOUL.md", "+ default: true", "+ name: \"Ada\""] {
        assert!(made.stdout.contains(line), "{line} is not in {}", made.stdout);
    }
    assert!(made.stdout.contains(&format!("insula --home {path} up")), "{}", made.stdout);
    let check = insula(&home, &["check"]);
    assert_eq!(check.code, Some(0), "{}{}", check.stdout, check.stderr);
    let daemon = start(&home);
    let listed = agents(&home);
    assert_eq!(listed.keys().collect::<Vec<_>>(), ["assistant"], "nothing but what was asked for");
    let reply = insula(&home, &["chat", "--agent", "assistant", "-m", "hello"]).ok();
    assert!(!reply.stdout.trim().is_empty());
    // A second one, while the daemon runs: it serves at once, and the first stays the default.
    insula(&home, &["agents", "add", "smith", "--template", "coder"]).ok();
    assert_eq!(agents(&home)["smith"]["state"], "ready");
    let settings = fs::read_to_string(home.path().join("agents/smith/agent.yaml")).unwrap();
    assert!(!settings.contains("default"), "{settings}");
    drop(daemon);
}

#[test]
fn a_key_is_tried_once_kept_sealed_and_stands_in_no_file() {
    let provider = Provider::start(|_| vec![says("A terminal is where one types.")]);
    let home = Home::empty().unwrap();
    let path = home.path().display().to_string();
    let args = ["--yes", "--model", "far/one", "--base-url", &provider.url, "--key-env", "K"];
    let made = init(&path, &[("K", KEY)], &[&args[..], &["--json"]].concat()).ok().json();
    assert_eq!((&made["written"], &made["secrets"][0]), (&true.into(), &"FAR_API_KEY".into()));
    assert_eq!(made["tried"]["answer"], "A terminal is where one types.");
    assert_eq!(provider.seen.lock().unwrap().len(), 1);
    let config = fs::read_to_string(home.path().join("config.yaml")).unwrap();
    assert!(config.contains("api_key: \"${secret:FAR_API_KEY}\"") && !config.contains(KEY));
    let _daemon = start(&home);
    let reply = insula(&home, &["chat", "--agent", "assistant", "-m", "hello"]).ok();
    assert!(reply.stdout.contains("A terminal is where one types."), "{}", reply.stdout);
}

#[test]
fn a_provider_that_is_written_already_needs_no_address_again() {
    let provider = Provider::start(|_| vec![says("A terminal is where one types.")]);
    let written = format!("providers: {{far: {{kind: openai, base_url: \"{}\"}}}}\n", provider.url);
    let home = configured(&written);
    let path = home.path().display().to_string();
    init(&path, &[], &["--yes", "--template", "assistant", "--model", "far/one"]).ok();
    let config = fs::read_to_string(home.path().join("config.yaml")).unwrap();
    assert!(config.contains(&written) && config.contains("model: far/one"), "{config}");
    let _daemon = start(&home);
    let reply = insula(&home, &["chat", "--agent", "assistant", "-m", "hello"]).ok();
    assert!(reply.stdout.contains("A terminal is where one types."), "{}", reply.stdout);
}

#[test]
fn what_does_not_work_or_is_only_looked_at_writes_nothing() {
    let provider = Provider::start(|_| vec![whole("401 Unauthorized", "", "{}")]);
    let (_folder, path) = nowhere();
    let model = ["--model", "far/one", "--base-url", &provider.url, "--key-env", "K"];
    let refused = init(&path, &[("K", KEY)], &[&["--yes"], &model[..]].concat());
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("far/one does not answer"), "{}", refused.stderr);
    for (args, code, why) in [
        (&["--yes", "--template", "wizard"][..], 2, "there are assistant, coder"),
        (&["--yes", "--model", "one"], 2, "write provider/name"),
        (&["--yes", "--model", "far/one"], 2, "--base-url"),
        (&["--yes", "--model", "openai/x", "--key-env", "NONE"], 2, "no `NONE`"),
        (&["--yes", "--agent", "A B"], 2, "A B"),
        (&["--yes", "--channel", "pigeon"], 2, "telegram"),
        (&["--yes", "--channel", "matrix"], 2, "homeserver"),
        (&["--template", "coder"], 0, "`--yes` does it"),
        (&["--template", "coder", "--dry-run"], 0, ""),
    ] {
        let ended = init(&path, &[], args);
        assert_eq!(ended.code, Some(code), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(why), "{args:?}: {ended:?}");
        assert!(!ended.stderr.contains(KEY) && !ended.stdout.contains(KEY));
        assert!(!std::path::Path::new(&path).exists(), "{args:?} wrote something");
    }
}

#[test]
fn a_home_keeps_what_it_has_and_gets_one_more() {
    let before = "# mine\nagents:\n  a: {default: true} # stays\n";
    let home = configured(before);
    let path = home.path().display().to_string();
    let taken = init(&path, &[], &["--yes", "--template", "coder", "--agent", "a"]);
    assert!(taken.code == Some(2) && taken.stderr.contains("already"), "{taken:?}");
    assert_eq!(fs::read_to_string(home.path().join("config.yaml")).unwrap(), before);
    let args = ["--yes", "--template", "family", "--channel", "telegram", "--token-env", "T"];
    let more = ["--allow", "telegram:7", "--no-test", "--json"];
    let made = init(&path, &[("T", "1:abc")], &[&args[..], &more].concat()).ok().json();
    assert_eq!(made["secrets"][0], "TELEGRAM_MAIN");
    let config = fs::read_to_string(home.path().join("config.yaml")).unwrap();
    assert!(config.starts_with(before), "{config}");
    assert!(config.contains("      main: {token: \"${secret:TELEGRAM_MAIN}\"}\n"), "{config}");
    assert!(config.contains("  - {agent: family, telegram: {account: main}}\n"), "{config}");
    let route = json(
        &home,
        &[
            "route",
            "explain",
            "--platform",
            "telegram",
            "--account",
            "main",
            "--chat",
            "7",
            "--user",
            "7",
        ],
    );
    assert_eq!(route["agent"], "family", "{route:#}");
    let listed = json(&home, &["channels", "list"]);
    assert_eq!(listed["accounts"][0]["platform"], "telegram");
    // A second account of the same name is not written over the first.
    let again = ["channels", "add", "telegram", "--token-env", "T", "--yes", "--no-test"];
    let again = run_bare(INSULA, &[("T", "1:x")], &[&again[..], &["--home", &path]].concat());
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("config.yaml is as it was"), "{}", again.stderr);
}

#[test]
fn an_account_is_added_and_its_platform_is_asked() {
    let home = configured("agents:\n  a: {default: true}\n");
    // Nobody listens there.
    let args = [
        "channels",
        "add",
        "telegram",
        "--set",
        "base_url=http://127.0.0.1:9",
        "--yes",
        "--token-env",
        "T",
    ];
    let path = home.path().display().to_string();
    let added = run_bare(INSULA, &[("T", "1:abc")], &[&args[..], &["--home", &path]].concat());
    assert_eq!(added.code, Some(1), "{added:?}");
    assert!(added.stdout.contains("account telegram.main:"), "{}", added.stdout);
    let tested = insula(&home, &["channels", "test", "telegram"]);
    assert_eq!(tested.code, Some(1), "{tested:?}");
    assert!(tested.stdout.contains("telegram.main"), "{}", tested.stdout);
    assert_eq!(insula(&home, &["channels", "test", "pigeon"]).code, Some(2));
    assert_eq!(json(&home, &["channels", "test", "matrix"]), serde_json::json!([]));
}
