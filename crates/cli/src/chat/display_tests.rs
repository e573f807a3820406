//! How a turn looks: what stays on the screen after all that was written over.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::display::{Around, Display, money, thousands};
use super::event::Event;
use super::frames::Frame;
use super::markdown::Paint;
use super::terminal::Screen;
use serde_json::{Value, json};
use std::time::Duration;

const SCREEN: Screen = Screen { paint: Paint::Colour, columns: 60, live: true };

fn event(name: &str, data: Value) -> Event {
    Event::read(&Frame { event: name.to_owned(), data: data.to_string() }).unwrap()
}

/// What is on the screen after these events, a second apart, with ticks between them.
fn after(screen: Screen, around: Around, events: &[(&str, Value)]) -> String {
    let mut terminal = vt100::Parser::new(40, 60, 0);
    let mut display = Display::new(screen, around, Duration::ZERO);
    let mut write = |text: String| terminal.process(text.replace('\n', "\r\n").as_bytes());
    for (second, (name, data)) in events.iter().enumerate() {
        let now = Duration::from_secs(second as u64 + 1);
        write(display.tick(now));
        write(display.event(&event(name, data.clone()), now));
    }
    terminal.screen().contents()
}

#[test]
fn thoughts_collapse_and_tools_leave_a_line() {
    let seen = after(
        SCREEN,
        Around::Conversation,
        &[
            ("turn.accepted", json!({ "turn": 1 })),
            ("reasoning.delta", json!({ "text": "let me see" })),
            ("reasoning.delta", json!({ "text": "hm" })),
            ("tool.call", json!({ "name": "todo" })),
            ("tool.call", json!({ "name": "clarify" })),
            ("tool.done", json!({ "name": "todo", "is_error": false })),
            ("tool.done", json!({ "name": "clarify", "is_error": true })),
            ("text.delta", json!({ "text": "All **do" })),
            ("text.delta", json!({ "text": "ne**." })),
            (
                "turn.ended",
                json!({ "status": "replied", "text": "All **done**.",
                "usage": { "input": 1204, "output": 80, "cached": 1000, "reasoning": 0, "cost_micros": 1500 } }),
            ),
        ],
    );
    assert_eq!(
        seen,
        "✻ thought for 2.0 s\n⚙ todo · done\n⚙ clarify · failed\n\nAll done.\n\n1,204 tokens in (1,000 cached) · 80 out · $0.0015 · 10 s"
    );
}

#[test]
fn what_is_in_flight_is_seen_and_goes() {
    let events = [("tool.call", json!({ "name": "session_search" }))];
    let seen = after(SCREEN, Around::OneShot, &events);
    assert!(seen.ends_with("session_search"), "{seen:?}");
    let ended = json!({ "status": "stopped" });
    let seen = after(SCREEN, Around::OneShot, &[events[0].clone(), ("turn.ended", ended)]);
    assert_eq!(seen, "⚙ session_search · not finished\n■ stopped");
}

#[test]
fn a_reply_that_begins_anew_says_so() {
    let seen = after(
        SCREEN,
        Around::OneShot,
        &[
            ("text.delta", json!({ "text": "Half a" })),
            ("text.reset", json!({})),
            ("text.delta", json!({ "text": "A whole one" })),
            ("turn.ended", json!({ "status": "replied", "text": "A whole one" })),
        ],
    );
    assert_eq!(seen, "Half a\n\n↻ that was cut off; the reply begins anew\n\nA whole one");
}

#[test]
fn a_reply_that_did_not_stream_is_shown_once() {
    let ended = json!({ "status": "replied", "text": "At once" });
    assert_eq!(after(SCREEN, Around::OneShot, &[("turn.ended", ended)]), "At once");
}

#[test]
fn a_terminal_that_can_do_nothing_gets_lines_only() {
    let dumb = Screen { paint: Paint::Plain, live: false, ..SCREEN };
    let mut display = Display::new(dumb, Around::Conversation, Duration::ZERO);
    let mut out = display.tick(Duration::from_secs(9));
    for (name, data) in [
        ("tool.call", json!({ "name": "to\x1b[31mdo" })),
        ("tool.done", json!({ "name": "to\x1b[31mdo" })),
        ("text.delta", json!({ "text": "hi" })),
        ("turn.ended", json!({ "status": "replied" })),
    ] {
        out += &display.event(&event(name, data), Duration::from_secs(10));
    }
    assert_eq!(out, "⚙ to[31mdo · done\n\nhi\n");
}

#[test]
fn numbers_are_for_people() {
    assert_eq!([7, 1_000, 1_234_567].map(thousands), ["7", "1,000", "1,234,567"]);
    assert_eq!(
        [1, 1_500, 10_000, 12_345_678].map(money),
        ["$0.0000", "$0.0015", "$0.01", "$12.35"]
    );
}

#[test]
fn children_show_below_their_turn_further_in_the_deeper_they_are() {
    let seen = after(
        SCREEN,
        Around::Conversation,
        &[
            ("tool.call", json!({ "name": "delegate_task" })),
            ("child.started", json!({ "child": "1", "role": "leaf", "goal": "read a\nand b" })),
            ("child.started", json!({ "child": "1.2", "role": "leaf", "goal": "x".repeat(80) })),
            ("child.tool.done", json!({ "child": "1.2", "name": "todo", "is_error": true })),
            ("child.ended", json!({ "child": "1.2", "outcome": "timed_out" })),
            ("child.ended", json!({ "child": "1", "outcome": "finished" })),
            ("tool.done", json!({ "name": "delegate_task", "is_error": false })),
            ("turn.ended", json!({ "status": "stopped" })),
        ],
    );
    assert!(seen.starts_with("  ↳ 1 read a\n    ↳ 1.2 xxx"), "{seen}");
    assert!(
        seen.contains("      1.2 ⚙ todo · failed\n    ↲ 1.2 timed out\n  ↲ 1 finished\n"),
        "{seen}"
    );
}

#[test]
fn a_question_after_other_words_is_shown() {
    let seen = after(
        SCREEN,
        Around::Conversation,
        &[
            ("text.delta", json!({ "text": "Let me ask first." })),
            ("tool.call", json!({ "name": "clarify", "about": "" })),
            ("tool.done", json!({ "name": "clarify", "is_error": false })),
            ("turn.ended", json!({ "status": "replied", "text": "Red or blue?" })),
        ],
    );
    assert_eq!(seen, "Let me ask first.\n\n⚙ clarify · done\n\nRed or blue?");
}

#[test]
fn a_tool_says_what_it_runs_in_one_line() {
    let about = "cargo test --workspace --all-features -- --nocapture and on and on";
    let call = ("tool.call", json!({ "name": "terminal", "about": about }));
    let seen = after(SCREEN, Around::Conversation, std::slice::from_ref(&call));
    assert!(seen.contains("terminal · cargo test"), "{seen}");
    let done = ("tool.done", json!({ "name": "terminal", "is_error": true }));
    let seen = after(SCREEN, Around::Conversation, &[call, done]);
    let line = seen.lines().next().unwrap();
    assert!(line.starts_with("⚙ terminal · failed · cargo test"), "{seen}");
    assert!(line.ends_with('…') && line.chars().count() <= 60, "{line}");
}

#[test]
fn an_approval_stands_out_and_counts_down() {
    let asked = json!({ "id": "abc", "tool": "terminal", "what": "command:\n| rm -r build",
        "rule": "delete", "wait_s": 300 });
    let seen = after(
        SCREEN,
        Around::Conversation,
        &[("approval.asked", asked.clone()), ("turn.accepted", json!({ "turn": 1 }))],
    );
    assert!(seen.starts_with("? terminal needs approval (delete):\n    command:\n"), "{seen}");
    assert!(seen.ends_with("waits for an answer; a no in 4 min 59 s"), "{seen}");
    let mut display = Display::new(SCREEN, Around::Conversation, Duration::ZERO);
    let raw = display.event(&event("approval.asked", asked.clone()), Duration::ZERO);
    assert!(raw.contains("\x1b[1;33m? terminal needs"), "{raw:?}");
    assert!(!raw.contains("\x1b[2m    command"), "{raw:?}");
    // Where no line can be written over, it is said once.
    let dumb = Screen { paint: Paint::Plain, live: false, ..SCREEN };
    let mut display = Display::new(dumb, Around::Conversation, Duration::ZERO);
    let raw = display.event(&event("approval.asked", asked), Duration::ZERO);
    assert!(raw.ends_with("no answer within 5 min 0 s is a no\n"), "{raw}");
    let done = event("approval.done", json!({ "outcome": "timed_out" }));
    assert_eq!(display.event(&done, Duration::from_secs(300)), "? timed out\n");
}

#[test]
fn no_word_is_broken_at_the_edge_of_a_narrow_terminal() {
    let narrow = Screen { paint: Paint::Plain, columns: 40, live: false };
    let mut display = Display::new(narrow, Around::Conversation, Duration::ZERO);
    let asked = json!({ "id": "abc", "tool": "terminal", "what": "x", "rule": "delete" });
    let mut out = display.event(&event("approval.asked", asked), Duration::ZERO);
    out += &display.event(&event("text.reset", json!({})), Duration::ZERO);
    let ended = json!({ "status": "replied", "text": "done", "cut": "length" });
    out += &display.event(&event("turn.ended", ended), Duration::ZERO);
    assert!(out.lines().all(|line| line.chars().count() <= 40), "{out}");
    assert!(
        out.contains("y allows it once · s in this session ·\n    a always · n refuses it"),
        "{out}"
    );
}
