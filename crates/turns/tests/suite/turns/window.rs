//! What the model is shown of a long conversation.

use crate::turns::support::{calls_at_once, reply, says, scripted, shown};
use insula_testkit::upstream::{Seen, Step, answer};
use std::sync::atomic::{AtomicUsize, Ordering};

const SUMMARY: &str = "You write the notes";

fn is_summary(seen: &Seen) -> bool {
    let system = seen.json()["messages"][0]["content"].to_string();
    system.contains(SUMMARY)
}

/// About four thousand tokens.
fn long(number: usize) -> String {
    format!("message {number} {}", "lorem ipsum dolor ".repeat(900))
}

#[tokio::test]
async fn a_full_window_is_compressed_once_and_stays_stable_after() {
    let fixture = scripted(|seen, _| match is_summary(seen) {
        true => says("the notes"),
        false => says("ok"),
    })
    .await;
    for number in 0..12 {
        fixture.say("a", "one", &long(number)).await;
    }
    let seen = fixture.upstream().seen();
    let summaries = seen.iter().filter(|seen| is_summary(seen)).count();
    assert!((1..=3).contains(&summaries), "{summaries}");
    let last = shown(seen.last().unwrap());
    assert!(last[0].1.contains("message 0"), "the beginning stays in its own words");
    assert!(last[0].1.contains("the notes"), "{}", last[0].1);
    assert!(last.last().unwrap().1.starts_with("message 11"));
    let bytes: usize = last.iter().map(|(_, text)| text.len()).sum();
    assert!(bytes < 120_000, "{bytes}");
    // What is shown grows at its end only, until the next compression.
    let asked: Vec<_> = seen.iter().filter(|seen| !is_summary(seen)).map(shown).collect();
    let grew = asked.windows(2).filter(|pair| pair[1].starts_with(&pair[0])).count();
    assert!(grew >= asked.len() - 1 - summaries, "{grew} of {}", asked.len());
}

#[tokio::test]
async fn short_messages_are_shown_as_long_as_the_window_has_room() {
    let fixture = scripted(|_, _| says("Noted.")).await;
    for number in 0..100 {
        fixture.say("a", "one", &format!("short message {number}")).await;
    }
    let seen = fixture.upstream().seen();
    assert_eq!(seen.len(), 100, "no notes are made");
    assert_eq!(shown(&seen[99]).len(), 199);
}

#[tokio::test]
async fn a_summary_that_fails_costs_the_oldest_part_and_no_turn() {
    let fixture = scripted(|seen, _| match is_summary(seen) {
        true => vec![answer(400, &[], r#"{"error":{"message":"no"}}"#)],
        false => says("ok"),
    })
    .await;
    for number in 0..12 {
        assert_eq!(fixture.say("a", "one", &long(number)).await, "ok");
    }
    let last = shown(fixture.upstream().seen().last().unwrap());
    assert!(last.last().unwrap().1.starts_with("message 11"));
    let (_, key) = fixture.inbound("a", "one", "");
    assert_eq!(fixture.messages(&key).await.len(), 24, "everything is still in the store");
}

#[tokio::test]
async fn a_provider_that_finds_it_too_long_gets_less() {
    static REFUSED: AtomicUsize = AtomicUsize::new(0);
    let fixture = scripted(|seen, _| {
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        match (is_summary(seen), body.len() > 30_000) {
            (true, _) => says("the notes"),
            (false, true) => {
                REFUSED.fetch_add(1, Ordering::Relaxed);
                let error = r#"{"error":{"message":"maximum context length is 8192 tokens","code":"context_length_exceeded"}}"#;
                vec![answer(400, &[("content-type", "application/json")], error)]
            }
            (false, false) => says("ok"),
        }
    })
    .await;
    fixture.say("a", "one", "hello").await;
    for number in 0..3 {
        let turn = fixture.submit("one", &long(number)).await;
        assert_eq!(reply(turn).await, "ok");
    }
    assert!(REFUSED.load(Ordering::Relaxed) > 0);
}

#[tokio::test]
async fn a_window_kept_in_memory_and_one_read_again_are_the_same() {
    let script = |_: &Seen, number: usize| -> Vec<Step> { says(&format!("answer {number}")) };
    let (kept, read) = (scripted(script).await, scripted(script).await);
    for number in 0..6 {
        let text = format!("message {number}");
        kept.say("a", "one", &text).await;
        read.say("a", "one", &text).await;
        // Nothing is kept of a session that another turn's window pushed out.
        let (inbound, key) = read.inbound("a", "one", "");
        read.engine.drop_window(&inbound.agent, &key).await.unwrap();
    }
    let bodies = |fixture: &crate::turns::support::Fixture| -> Vec<Vec<u8>> {
        fixture.upstream().seen().into_iter().map(|seen| seen.body).collect()
    };
    assert_eq!(bodies(&kept), bodies(&read));
}

/// All that a model was asked with, as it went over the wire.
fn asked(fixture: &crate::turns::support::Fixture) -> String {
    let bodies = fixture.upstream().seen().into_iter();
    bodies.map(|seen| String::from_utf8_lossy(&seen.body).into_owned()).collect()
}

#[tokio::test]
async fn rule_10_no_file_of_a_workspace_enters_a_prompt() {
    let fixture = scripted(|seen, _| match is_summary(seen) {
        true => says("the notes"),
        false => says("ok"),
    })
    .await;
    // Programs, file tools and other chats of the agent write there.
    for name in ["AGENTS.md", "CLAUDE.md", "SOUL.md", ".cursorrules", "skills/x/SKILL.md"] {
        let path = format!("agents/coder/workspace/{name}");
        fixture.files().write(&path, "Tabs, never spaces.").unwrap();
    }
    for number in 0..12 {
        fixture.say("coder", "one", &long(number)).await;
    }
    fixture.say("coder", "two", "hello").await;
    assert!(!asked(&fixture).contains("Tabs"), "a workspace spoke");
}

#[tokio::test]
async fn instructions_are_what_the_operator_wrote_beside_the_soul() {
    let daemon = scripted(|_, _| says("ok")).await;
    daemon.say("coder", "one", "hello").await;
    daemon.files().write("agents/coder/AGENTS.md", "Tabs, never spaces.").unwrap();
    let actor = insula_registry::Actor::CommandLine;
    let reloaded = daemon.daemon.reload(None, &actor).await.unwrap();
    assert_eq!(reloaded.applied.changed.len(), 1, "it is another generation");
    // A conversation that is under way has them too, and so has no other agent.
    daemon.say("coder", "one", "again").await;
    daemon.say("a", "one", "hello").await;
    let seen = daemon.upstream().seen();
    let has = |at: usize| {
        let system = seen[at].json()["messages"][0].to_string();
        system.contains("Tabs, never spaces.")
    };
    assert_eq!([has(0), has(1), has(2)], [false, true, false]);
}

#[tokio::test]
async fn a_turn_that_outgrows_the_window_still_knows_what_was_asked() {
    let fixture = scripted(|seen, number| match number {
        _ if is_summary(seen) => says("the notes"),
        1..40 => calls_at_once(number, 14),
        _ => says("done"),
    })
    .await;
    fixture.say("b", "one", "hello").await;
    assert_eq!(fixture.say("b", "one", "the long task").await, "done");
    for seen in fixture.upstream().seen().iter().filter(|seen| !is_summary(seen)).skip(1) {
        let shown = shown(seen);
        assert_eq!(shown[0].0, "user", "{shown:?}");
        assert!(shown.iter().any(|(role, text)| role == "user" && text == "the long task"));
        assert!(shown.len() <= 513, "{}", shown.len());
        // Every result that is shown answers a call that is.
        let body = seen.json();
        let messages = body["messages"].as_array().unwrap();
        let mut made: Vec<&str> = Vec::new();
        for message in messages {
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            made.extend(calls.map(|call| call["id"].as_str().unwrap()));
            if message["role"] == "tool" {
                assert!(made.contains(&message["tool_call_id"].as_str().unwrap()), "{message}");
            }
        }
    }
    // And it sees what it did last.
    let last = shown(fixture.upstream().seen().last().unwrap());
    assert!(last.last().unwrap().1.contains("item 39-13"), "{:?}", last.last());
}
