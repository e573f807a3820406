//! A conversation at the terminal, key by key, with a stand-in for the daemon; and the same
//! command in a pipe.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and fail by panicking"
)]

use crate::standin::{Asked, Reply, StandIn};
use crate::support::*;
use crate::terminal::Person;
use serde_json::{Value, json};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const UP: &str = "\x1b[A";

fn is_message(asked: &Asked) -> bool {
    asked.line.ends_with("/messages")
}

/// A daemon that says back what it is told.
fn echo() -> StandIn {
    StandIn::start(|asked, reply| match is_message(asked) {
        true => reply.says(&format!("you said: {}", asked.body["text"].as_str().unwrap())),
        false => reply.json(404, &json!({ "error": { "code": "not_found", "message": "no" } })),
    })
}

fn at_prompt(daemon: &StandIn) -> Person {
    let mut person = Person::runs(&daemon.home, &[], &["chat"]);
    person.waits_for_prompt("coder");
    person
}

/// Runs `insula chat …` with this on standard input.
fn piped(daemon: &StandIn, args: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(INSULA)
        .arg("--home")
        .arg(daemon.home.path())
        .arg("chat")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_conversation_begins_says_who_answers_and_ends_with_ctrl_d() {
    let daemon = echo();
    let mut person = at_prompt(&daemon);
    let seen = person.sees();
    assert!(seen.contains("coder · rehearsal/rehearsal · conversation `terminal`"), "{seen}");
    assert!(seen.contains("built-in practice model"), "{seen}");
    person.types("hello\r");
    person.waits_for_text("you said: hello");
    let asked = daemon.asked("/messages");
    assert_eq!(asked.line, "POST /api/agents/coder/messages");
    assert_eq!(asked.body, json!({ "session": "terminal", "text": "hello", "mode": "queue" }));
    person.waits_for_prompt("coder");
    person.types(CTRL_D);
    assert_eq!(person.leaves().0, Some(0));
}

#[test]
fn a_reply_is_shown_while_it_comes() {
    let daemon = StandIn::start(|_, mut reply| {
        reply.stream();
        reply.event("reasoning.delta", json!({ "text": "hm" }));
        reply.wait();
        reply.event("tool.call", json!({ "name": "session_search" }));
        reply.wait();
        reply.event("tool.done", json!({ "name": "session_search", "is_error": true }));
        reply.event("text.delta", json!({ "text": "# Found\n\nsome **things** and" }));
        reply.wait();
        reply.event("text.delta", json!({ "text": " more" }));
        reply.event(
            "turn.ended",
            json!({ "status": "replied", "text": "x",
            "usage": { "input": 1200, "output": 30 } }),
        );
    });
    let mut person = at_prompt(&daemon);
    person.types("find\r");
    person.waits_for_text("thinking");
    daemon.go();
    person.waits_for_text("session_search");
    assert!(person.sees().contains("✻ thought for"), "{}", person.sees());
    daemon.go();
    person.waits_for_text("some things");
    daemon.go();
    person.waits_for_prompt("coder");
    let seen = person.sees();
    let reply =
        "⚙ session_search · failed\n\nFound\n\nsome things and more\n\n1,200 tokens in · 30 out";
    assert!(seen.contains(reply), "{seen}");
    assert!(!seen.contains("thinking"), "{seen}");
    assert!(person.raw.contains("\x1b[1mthings\x1b[0m"));
}

#[test]
fn ctrl_c_stops_the_turn_and_not_the_program() {
    let daemon = StandIn::start(|asked, mut reply: Reply| match asked.line.as_str() {
        "POST /api/agents/coder/stop" => reply.json(200, &json!({ "stopped": 1 })),
        _ if asked.body["text"] == "again" => reply.says("still here"),
        _ => {
            reply.stream();
            reply.event("text.delta", json!({ "text": "on and on " }));
            reply.wait();
            reply.event("turn.ended", json!({ "status": "stopped" }));
        }
    });
    let mut person = at_prompt(&daemon);
    person.types("talk\r");
    person.waits_for_text("on and on");
    person.types(CTRL_C);
    assert_eq!(daemon.asked("/stop").body, json!({ "session": "terminal" }));
    person.waits_for_text("stopping");
    daemon.go();
    person.waits_for_text("■ stopped");
    person.waits_for_prompt("coder");
    person.types("again\r");
    person.waits_for_text("still here");
}

#[test]
fn ctrl_c_twice_leaves_a_turn_that_does_not_stop() {
    let daemon = StandIn::start(|asked, mut reply: Reply| match asked.line.as_str() {
        // Neither the stop nor the turn is ever answered.
        "POST /api/agents/coder/stop" => reply.wait(),
        _ => {
            reply.stream();
            reply.event("text.delta", json!({ "text": "on and on " }));
            reply.wait();
        }
    });
    let mut person = at_prompt(&daemon);
    person.types("talk\r");
    person.waits_for_text("on and on");
    person.types(CTRL_C);
    person.waits_for_text("stopping");
    person.types(CTRL_C);
    person.waits_for_prompt("coder");
}

#[test]
fn ctrl_c_at_the_prompt_drops_the_line_or_says_how_to_leave() {
    let daemon = echo();
    let mut person = at_prompt(&daemon);
    person.types("never mind");
    person.waits_for_text("never mind");
    person.types(CTRL_C);
    person.waits_for_prompt("coder");
    assert!(!person.sees().contains("leaves"), "{}", person.sees());
    person.types(CTRL_C);
    person.waits_for_text("Ctrl-D or /quit leaves");
    person.waits_for_prompt("coder");
    person.types("/quit\r");
    assert_eq!(person.leaves().0, Some(0));
}

#[test]
fn a_message_may_have_several_lines() {
    let daemon = echo();
    let mut person = at_prompt(&daemon);
    for (keys, text) in [
        ("one\\\rtwo\r", "one\ntwo"),
        ("three\x1b\rfour\r", "three\nfour"),
        ("\x1b[200~five\rsix\n/seven\x1b[201~\r", "five\nsix\n/seven"),
    ] {
        person.types(keys);
        assert_eq!(daemon.asked("/messages").body["text"], text);
        person.waits_for_prompt("coder");
    }
}

#[test]
fn what_is_typed_during_a_turn_is_not_shown_and_not_lost() {
    let daemon = StandIn::start(|asked, mut reply: Reply| match asked.body["text"].as_str() {
        Some("first") => {
            reply.stream();
            reply.event("text.delta", json!({ "text": "working on it " }));
            reply.wait();
            reply.event("turn.ended", json!({ "status": "replied", "text": "" }));
        }
        _ => reply.says("and done"),
    });
    let mut person = at_prompt(&daemon);
    person.types("first\r");
    person.waits_for_text("working on it");
    person.types("second\rthird\r");
    daemon.go();
    assert_eq!(daemon.asked("/messages").body["text"], "first");
    assert_eq!(daemon.asked("/messages").body["text"], "second");
    assert_eq!(daemon.asked("/messages").body["text"], "third");
    person.waits_for("both", |seen| seen.matches("and done").count() == 2);
    let seen = person.sees();
    assert!(seen.contains("working on it\n"), "typed keys are in the reply:\n{seen}");
    assert_eq!(seen.matches("second").count(), 1, "{seen}");
}

#[test]
fn history_is_kept_for_its_owner_alone() {
    let daemon = echo();
    let mut person = at_prompt(&daemon);
    for line in ["an earlier thing\r", " a private thing\r"] {
        person.types(line);
        daemon.asked("/messages");
        person.waits_for_prompt("coder");
    }
    person.types(CTRL_D);
    person.leaves();
    let file = daemon.home.path().join("run/chat.history");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "\"an earlier thing\"\n");
    let mut person = at_prompt(&daemon);
    person.types(UP);
    person.waits_for_text("an earlier thing");
    person.types("\r");
    assert_eq!(daemon.asked("/messages").body["text"], "an earlier thing");
}

#[test]
fn commands_are_done_and_not_said() {
    let daemon = StandIn::start(|asked, reply| match asked.line.as_str() {
        "POST /api/agents/coder/new" => reply.json(204, &Value::Null),
        "POST /api/agents/coder/stop" => reply.json(200, &json!({ "stopped": 0 })),
        "POST /api/agents/coder/retry" => reply.says("once more"),
        "GET /api/agents/coder/usage?days=1" => {
            let error = json!({ "error": { "code": "not_found", "message": "no such path" } });
            reply.json(404, &error);
        }
        "GET /api/agents/family/usage?days=1" => reply.json(
            200,
            &json!({ "since": "2026-11-15", "agent": "family", "turns": 3, "input_tokens": 4200,
                "cached_tokens": 0, "output_tokens": 17, "reasoning_tokens": 0, "usd": 0.0123,
                "budget": { "usd_per_day": 5.0, "usd_left": 4.98, "tokens_per_day": null } }),
        ),
        "GET /api/agents/coder/conversations" => reply.json(
            200,
            &json!([{
                "id": 3, "session": "terminal", "title": "a \u{1b}[31mred title",
                "used": "2026-11-15T02:12:27.004Z", "ended": false,
            }]),
        ),
        "GET /api/agents/cdoer" => {
            let error =
                json!({ "error": { "code": "no_such_agent", "message": "no agent `cdoer` here" } });
            reply.json(404, &error);
        }
        _ => reply.says("said"),
    });
    let mut person = at_prompt(&daemon);
    for (keys, seen) in [
        ("/help\r", "talk to another agent"),
        ("/agents\r", "family  ready"),
        ("/agent cdoer\r", "did you mean `coder`?"),
        ("/new\r", "a new conversation begins"),
        ("/stop\r", "nothing runs"),
        ("/retry\r", "once more"),
        ("/sessions\r", "a [31mred title"),
        ("/usage\r", "does not count usage yet"),
        ("/agnets\r", "there is no `/agnets`; did you mean `/agents`?"),
        ("/se\t\r", "2026-11-15 02:12"),
    ] {
        person.types(keys);
        person.waits_for_text(seen);
        person.waits_for_prompt("coder");
        person.types("\x0c");
        person.waits_for("a clear screen", |seen| seen.trim() == "coder ›");
    }
    assert!(!person.raw.contains("\x1b[31mred"));
    person.types("/agent fam\t\r");
    person.waits_for_prompt("family");
    person.types("/usage\r");
    person.waits_for_text("3 turns, 4,200 tokens in, 17 out, $0.01");
    person.waits_for_text("$4.98 of $5.00");
    person.types("hello\r");
    assert_eq!(daemon.asked("/messages").line, "POST /api/agents/family/messages");
}

#[test]
fn a_turn_that_fails_leaves_a_clean_next_one() {
    let daemon = StandIn::start(|asked, mut reply: Reply| match asked.body["text"].as_str() {
        Some("refuse") => {
            let error = json!({ "error": { "code": "busy", "message": "the queue is full" } });
            reply.json(429, &error);
        }
        Some("break") => {
            reply.stream();
            reply.event("text.delta", json!({ "text": "half a " }));
        }
        Some("fail") => {
            reply.stream();
            reply.event("turn.ended", json!({ "status": "failed", "error": "no key" }));
        }
        _ => reply.says("fine"),
    });
    let mut person = at_prompt(&daemon);
    for (keys, seen) in [
        ("refuse\r", "error: the queue is full"),
        ("break\r", "error: the daemon broke off"),
        ("fail\r", "error: no key"),
        ("go on\r", "fine"),
    ] {
        person.types(keys);
        person.waits_for_text(seen);
        person.waits_for_prompt("coder");
    }
}

#[test]
fn one_message_is_said_and_the_exit_code_tells() {
    let daemon = StandIn::start(|asked, mut reply: Reply| match asked.body["text"].as_str() {
        Some("fail") => {
            reply.stream();
            reply.event("turn.ended", json!({ "status": "failed", "error": "no key" }));
        }
        Some("anew") => {
            reply.stream();
            reply.event("text.delta", json!({ "text": "void" }));
            reply.event("text.reset", json!({}));
            reply.event("text.delta", json!({ "text": "**good**" }));
            reply.event("turn.ended", json!({ "status": "replied", "text": "**good**" }));
        }
        Some(text) => reply.says(&format!("<{text}>")),
        None => reply.json(200, &json!({ "stopped": 1 })),
    });
    // A pipe gets the text as it was written, and nothing that did not hold.
    let done = |out: &str| (Some(0), out.to_owned(), String::new());
    assert_eq!(piped(&daemon, &["-m", "hi"], ""), done("<hi>\n"));
    assert_eq!(piped(&daemon, &["-m", "anew"], ""), done("**good**\n"));
    assert_eq!(piped(&daemon, &[], "one\ntwo\n"), done("<one\ntwo>\n"));
    assert_eq!(piped(&daemon, &["-m", "hi"], "and this"), done("<hi\n\nand this>\n"));
    let (code, out, error) = piped(&daemon, &["-m", "fail"], "");
    assert_eq!((code, out.as_str(), error.as_str()), (Some(1), "", "error: no key\n"));
    assert_eq!(piped(&daemon, &[], " \n").0, Some(2));
    let (code, out, _) = piped(&daemon, &["-m", "hi", "--session", "s", "--json"], "");
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, Some(0));
    assert_eq!(
        told,
        json!({ "agent": "coder", "session": "s", "turn": 7, "status": "replied",
            "text": "<hi>", "cut": null, "error": null, "tools": [], "usage": null })
    );
    let (code, out, _) = piped(&daemon, &["-m", "fail", "--json"], "");
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &told["status"], &told["error"]),
        (Some(1), &json!("failed"), &json!({ "message": "no key" }))
    );
}

#[test]
fn one_message_at_a_terminal_can_be_stopped() {
    let daemon = StandIn::start(|asked, mut reply: Reply| match asked.line.ends_with("/stop") {
        true => reply.json(200, &json!({ "stopped": 1 })),
        false => {
            reply.stream();
            reply.event("text.delta", json!({ "text": "on and on " }));
            reply.wait();
            reply.event("turn.ended", json!({ "status": "stopped" }));
        }
    });
    let mut person = Person::runs(&daemon.home, &[], &["chat", "-m", "talk"]);
    person.waits_for_text("on and on");
    person.types(CTRL_C);
    daemon.asked("/stop");
    daemon.go();
    let (code, seen) = person.leaves();
    assert_eq!(code, Some(130), "{seen}");
    assert!(seen.contains("on and on\n\n■ stopped"), "{seen}");
}

#[test]
fn a_stranger_s_sequences_do_not_reach_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J**bold** \u{9b}31m\rover";
    let daemon = StandIn::start(move |_, mut reply| {
        reply.stream();
        reply.event("tool.call", json!({ "name": evil }));
        reply.event("tool.done", json!({ "name": evil }));
        reply.event("text.delta", json!({ "text": evil }));
        reply.event("turn.ended", json!({ "status": "failed", "error": evil }));
    });
    for variables in [&[][..], &[("NO_COLOR", "1")]] {
        let mut person = Person::runs(&daemon.home, variables, &["chat", "-m", "x"]);
        person.waits_for_text("error: ]0;owned");
        for sequence in ["\x1b]", "\x1b[2J", "\u{9b}", "\x07", "\rover"] {
            assert!(!person.raw.contains(sequence), "{sequence:?} in {:?}", person.raw);
        }
        assert_eq!(person.raw.contains("\x1b[1mbold"), variables.is_empty(), "{:?}", person.raw);
    }
    let (_, out, error) = piped(&daemon, &["-m", "x"], "");
    assert!(!(out + &error).contains('\u{1b}'));
}
