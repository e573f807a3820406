//! A person's first conversation, with the real daemon and the practice model.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use crate::terminal::Person;
use insula_testkit::Home;
use serde_json::json;

#[test]
fn a_first_run_answers_without_anything_configured() {
    let home = Home::empty().unwrap();
    let _daemon = start_still(&home);
    let mut person = Person::runs(&home, &[], &["chat"]);
    person.waits_for_prompt("main");
    assert!(person.sees().contains("built-in practice model"), "{}", person.sees());
    person.types("todo water the plants\r");
    person.waits_for_text("⚙ todo · done");
    person.waits_for_prompt("main");
    person.types("say a **bold** word\r");
    person.waits_for_text("a bold word");
    person.waits_for_prompt("main");
    person.types("/retry\r");
    person.waits_for("the reply again", |seen| seen.matches("\na bold word").count() == 2);
    person.waits_for_prompt("main");
    person.types("/sessions\r");
    person.waits_for_text("CONVERSATION");
    person.waits_for_prompt("main");
    person.types("/new\r");
    person.waits_for_text("a new conversation begins");
    person.waits_for_prompt("main");
    person.types("\x0c");
    person.waits_for("a clear screen", |seen| seen.trim() == "main ›");
    person.types("call todo {}\r");
    person.waits_for_text("⚙ todo · done");
    person.waits_for_prompt("main");
    person.types("/agent coder\r");
    person.waits_for_prompt("coder");
    person.types("\x04");
    assert_eq!(person.leaves().0, Some(0));
}

#[test]
fn conversations_can_be_read_searched_and_forgotten() {
    let home = configured("agents: {a: {default: true}, b: {}}\n");
    let daemon = start_still(&home);
    insula(&home, &["chat", "-m", "say the word is quokka"]).ok();
    insula(&home, &["chat", "--session", "other", "-m", "say something else"]).ok();
    let list = json(&home, &["sessions", "list", "a"]);
    assert_eq!(list.as_array().unwrap().len(), 2, "{list:#}");
    assert_eq!(json(&home, &["sessions", "list", "b"]), json!([]));
    let found = json(&home, &["sessions", "search", "a", "quokka"]);
    let id = found[0]["session"].to_string();
    let shown = insula(&home, &["sessions", "show", "a", &id]).ok().stdout;
    assert!(shown.contains("cli:local") && shown.contains("the word is quokka"), "{shown}");
    assert_eq!(json(&home, &["sessions", "search", "b", "quokka"]), json!([]));
    insula(&home, &["sessions", "forget", "a", &id, "--yes"]).ok();
    assert_eq!(json(&home, &["sessions", "search", "a", "quokka"]), json!([]));
    // What was said is gone, and the rest can be read without a daemon too.
    drop(daemon);
    for session in list.as_array().unwrap() {
        let id = session["id"].to_string();
        assert!(!insula(&home, &["sessions", "show", "a", &id]).stdout.contains("quokka"));
    }
    assert_eq!(json(&home, &["sessions", "search", "a", "something"])[0]["role"], "assistant");
}
