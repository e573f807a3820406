//! `insula explain`, and links through the real daemon: what is said is what holds.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::support::*;
use insula_testkit::Home;
use serde_json::{Value, json};

const CONFIG: &str = "
channels: {telegram: {accounts: {main: {token: '${secret:BOT}', base_url: 'http://127.0.0.1:9'}}}}
agents:
  a: {default: true, access: {allow: ['telegram:5']}, tools: {also_allow: [message_agent, send_message]}, links: [{to: b}, {to: heard}], send: {to: ['telegram:main:-100']}}
  b: {memory: true, tools: {deny: [terminal]}, files: {shared: [{path: /srv/manual, mode: ro}]}}
  heard: {access: {allow: ['telegram:*']}}
  alone: {}
bindings: [{agent: heard, telegram: '-100'}]
boards:
  ab:
    agents: {b: [see, claim], heard: work}
    people: {'telegram:5': see}
  vault: {agents: {heard: manage}}
";

fn explain(home: &Home, words: &str) -> Value {
    // One word of it may have a space in it.
    let words: Vec<String> = words.split(' ').map(|word| word.replace('|', " ")).collect();
    let words = ["explain"].into_iter().chain(words.iter().map(|word| &**word));
    crate::support::json(home, &words.collect::<Vec<_>>())
}

/// The questions of the documentation, with their answers.
fn questions(home: &Home) {
    for (question, allowed, rule, change) in [
        ("b call terminal", "no", "denied by `deny: terminal`", "out of `tools.deny`"),
        ("b call read_file", "yes", "in profile `full`", ""),
        ("b read notes.md", "yes", "in its workspace", ""),
        ("b read a/workspace/notes.md", "no", "neither in its workspace", "outside of the home"),
        ("b read ../../a/workspace/notes.md", "no", "neither in its workspace", ""),
        ("b read /srv/manual/one.md", "yes", "`/srv/manual` is shared", ""),
        ("b write /srv/manual/one.md", "no", "to be read only", "mode: rw"),
        ("b read /etc/shadow", "no", "neither in its workspace", "files: {shared"),
        ("b send telegram:main:-100", "no", "needs a grant by name", "also_allow: [send_message]"),
        ("a send telegram:main:-100", "yes", "`send.to` has it", ""),
        ("a send telegram:main:-100 --as telegram:5", "no", "not everyone there", "flows"),
        ("a send telegram:main:-7", "no", "`send.to` does not have it", "telegram:main:-7"),
        ("a ask b", "yes", "a link leads to `b` to ask", ""),
        ("b ask a", "no", "no link of it leads to `a`", "links: [{to: a, as: ask}]"),
        ("a notify b", "no", "no link of it leads to `b`", "as: notify"),
        ("a ask heard --as telegram:5", "no", "others hear `heard`", "carry"),
        ("b remember", "yes", "memory is on", ""),
        ("a remember", "no", "memory is off", "memory: true"),
        ("b connect example.org", "no", "`network.allow` does not have it", "network"),
        ("b see a", "yes", "what `a` says to it, by a link of `a` to ask", ""),
        ("alone see b", "no", "nothing leads from `b` to it", ""),
        (
            "b see heard",
            "yes",
            "only the cards of board `ab`, where it may `see, claim` and `heard` may `see, add, claim`",
            "",
        ),
        ("heard see b", "yes", "where it may `see, add, claim`", ""),
        ("b read ab", "yes", "`ab` is a board, where it may `see, claim`", ""),
        ("b read board|ab", "yes", "`ab` is a board", ""),
        ("b read ab/7", "yes", "a card 7 would be on board `ab`", ""),
        ("b read card|ab/7", "yes", "a card 7 would be on board `ab`", ""),
        ("b read card|7", "yes", "a card 7 would be on board `ab`", ""),
        ("b read ./ab", "yes", "in its workspace", ""),
        ("b write card|7", "no", "and that takes `add`", "{ab: {agents: {b: add}}}"),
        ("b read vault", "no", "to which it has no right", "{vault: {agents: {b: see}}}"),
        ("a read card|ab/7", "no", "to it there is no such board", "agents: {a: see}"),
        (
            "a call kanban_create",
            "no",
            "no board is granted",
            "boards: {NAME: {agents: {a: work}}}",
        ),
        ("heard read ab --as telegram:5", "yes", "`ab` is a board", ""),
        (
            "heard read ab --as telegram:6",
            "no",
            "cards that were asked for there",
            "boards.ab.people",
        ),
        ("a talk --as telegram:5", "yes", "lets them in", ""),
        ("a talk --as telegram:6", "no", "may not talk to it", "telegram:6"),
        ("a call todo --as telegram:6", "no", "may not talk to it", "telegram:6"),
        ("a schedule", "asks", "needs the word of one", ""),
    ] {
        let found = explain(home, question);
        assert_eq!(found["allowed"], allowed, "{question}: {found}");
        assert!(found["rule"].as_str().unwrap().contains(rule), "{question}: {found}");
        let told = found["change"].as_str().unwrap_or_default();
        assert!(told.contains(change), "{question}: {found}");
    }
    let place = explain(home, "a ask b")["places"].to_string();
    assert!(place.contains("config.yaml:"), "{place}");
    let places = explain(home, "b see heard")["places"].to_string();
    for right in ["boards.ab.agents.b (config.yaml:11:", "boards.ab.agents.heard (config.yaml:11:"]
    {
        assert!(places.contains(right), "{places}");
    }
    let places = explain(home, "b read card|7")["places"].to_string();
    assert!(places.contains("boards.ab.agents.b (config.yaml:11:"), "{places}");
}

#[test]
fn what_an_agent_can_is_explained_by_the_daemon_and_without_one() {
    let home = configured(CONFIG);
    questions(&home);
    let _daemon = start_still(&home);
    questions(&home);
    let shown = insula(&home, &["explain", "b", "call", "terminal"]).ok().stdout;
    assert!(
        shown.contains("denied by `deny: terminal`") && shown.contains("config.yaml:"),
        "{shown}"
    );
    for wrong in [
        &["explain", "b", "fly"][..],
        &["explain", "b", "read"],
        &["explain", "zz", "remember"],
        &["explain", "a", "talk", "--as", "x"],
        &["explain", "a", "read", "board nowhere"],
        &["explain", "a", "read", "card 7"],
        &["explain", "b", "read", "card seven"],
    ] {
        let output = insula(&home, wrong);
        assert_ne!(output.code, Some(0), "{wrong:?}");
    }
}

#[test]
fn a_link_that_is_explained_goes_and_shows_who_asked() {
    let home = configured(CONFIG);
    let _daemon = start_still(&home);
    let call = json!({ "agent": "b", "message": "what is new?" });
    let said =
        insula(&home, &["chat", "--agent", "a", "-m", &format!("call message_agent {call}")]);
    let said = said.ok().stdout;
    assert!(said.contains("agent b"), "{said}");
    let turns = crate::support::json(&home, &["turns", "list", "b"]);
    assert!(turns.to_string().contains("agent:a"), "{turns}");
    let shown = insula(&home, &["agents", "show", "a"]).ok().stdout;
    assert!(shown.contains("b (ask), heard (ask)"), "{shown}");
    let taken = crate::support::json(&home, &["audit", "tail", "b", "-n", "100"]).to_string();
    assert!(taken.contains("link.taken"), "{taken}");
    let call = json!({ "agent": "heard", "message": "what is new?" });
    let said =
        insula(&home, &["chat", "--agent", "a", "-m", &format!("call message_agent {call}")]);
    assert!(said.ok().stdout.contains("others hear"));
}
