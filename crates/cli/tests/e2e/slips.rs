//! What somebody types who does not know yet: each command says what is wrong with it and what to
//! do, and none says something that is not so.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::{Home, run_bare};
use std::fs;

#[test]
fn to_be_shown_nothing_at_all_is_refused_and_no_answer() {
    let home = configured("agents: {a: {default: true, tools: minimal}}\n");
    let _daemon = start_still(&home);
    insula(&home, &["chat", "--agent", "a", "-m", "hello"]).ok();
    for args in [
        &["turns", "list", "a"][..],
        &["sessions", "list", "a"],
        &["sessions", "show", "a", "1"],
        &["sessions", "search", "a", "hello"],
        &["memory", "search", "a", "hello"],
        &["logs", "a"],
        &["logs"],
    ] {
        let none = insula(&home, &[args, &["-n", "0"]].concat());
        assert_eq!((none.code, &*none.stdout), (Some(2), ""), "{args:?}: {none:?}");
        assert!(none.stderr.contains('0'), "{args:?}: {none:?}");
    }
    let one = insula(&home, &["turns", "list", "a", "-n", "1"]).ok().stdout;
    assert!(!one.contains("no turns"), "{one}");
}

#[test]
fn whoever_mistypes_an_agent_whose_log_they_want_is_told_which() {
    let home = configured("agents: {main: {name: Annabel}}\n");
    let slip = insula(&home, &["logs", "mian"]);
    assert_eq!(slip.code, Some(1));
    assert!(slip.stderr.contains("did you mean `main`?"), "{slip:?}");
    let slip = insula(&home, &["logs", "Anabel"]);
    assert!(slip.stderr.contains("did you mean `Annabel`?"), "{slip:?}");
}

#[test]
fn next_steps_name_the_home_wherever_another_would_be_meant() {
    let (home, other) = (Home::empty().unwrap(), Home::empty().unwrap());
    let at = |home: &Home| home.path().display().to_string();
    let variables = [("INSULA_HOME", &*at(&other)), ("HOME", &*at(&other))];
    let init = ["init", "--yes", "--no-test", "--template", "assistant"];
    let made = run_bare(INSULA, &variables, &[&init[..], &["--home", &at(&home)]].concat()).ok();
    for step in ["up", "chat --agent assistant"] {
        let step = format!("insula --home {} {step}", at(&home));
        assert!(made.stdout.contains(&step), "{step} is not in {}", made.stdout);
    }
    // The one that a bare command works in needs no naming.
    let made = run_bare(INSULA, &variables, &init).ok();
    assert!(made.stdout.contains("`insula up`"), "{}", made.stdout);
}

#[test]
fn what_is_no_folder_is_no_policy_by_its_name() {
    let home = configured("agents: {a: {}}\n");
    let file = home.path().join("passwd");
    fs::write(&file, "root:x:0:0\n").unwrap();
    for path in [file.display().to_string(), format!("{}/missing", home.path().display())] {
        let refused = insula(&home, &["policies", "install", &path, "--yes"]);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(&path), "{refused:?}");
        assert!(refused.stderr.contains("a policy is a folder"), "{refused:?}");
    }
}

#[test]
fn a_conversation_is_forgotten_where_no_daemon_runs_too() {
    let home = configured("agents: {a: {default: true, tools: minimal}}\n");
    let daemon = start_still(&home);
    insula(&home, &["chat", "--agent", "a", "-m", "the word is sesame-51ab"]).ok();
    daemon.terminate().unwrap();
    insula(&home, &["sessions", "forget", "a", "1", "--yes"]).ok();
    assert_eq!(json(&home, &["sessions", "list", "a"]), serde_json::json!([]));
    assert!(kinds(&home, "a").contains(&"session.forgotten".to_owned()));
    assert!(holders(&home, "sesame-51ab").is_empty());
    assert_chains_hold(&home);
}
