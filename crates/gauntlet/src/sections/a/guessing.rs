//! A19: another agent's secret, found by saying words and looking which are taken out.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::{Call, Script, obey};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A19", variant: "a list of words in a reply", run: reply },
    Attempt { row: "A19", variant: "the same words encoded", run: encoded },
    Attempt { row: "A19", variant: "a list of words in a stream", run: stream },
    Attempt { row: "A19", variant: "what a token reads of them afterwards", run: afterwards },
    Attempt { row: "A19", variant: "what tools and records make of them", run: tools },
    Attempt { row: "A19", variant: "a password of the daemon's", run: of_the_daemon },
];

/// What b keeps: a password, a number, and something that no list has.
const OF_B: [(&str, &str); 3] = [
    ("PASSWORD", "correct-horse-battery"),
    ("NUMBER", "4711471147"),
    ("KEY", "Zq8vN2rT6wXk4LmB9cJ7hYd3"),
];
/// What the daemon keeps, chosen by a person.
const OF_DAEMON: &str = "open-sesame-2026";
/// What a keeps itself.
const OF_A: &str = "own-swordfish-77";

/// An agent that may say what it likes, beside one that has passwords.
pub fn guesses(stage: &Stage) -> Result<Ground> {
    let open = "memory: {enabled: true}, approvals: {mode: 'off'}";
    let mut plan = Plan::new().agent("a", &format!("{open}, secrets: [OWN]"));
    plan = plan.agent("b", &format!("{open}, secrets: [PASSWORD, NUMBER, KEY]"));
    plan = plan.secret("a", "OWN", OF_A).daemon_secret("HOOK", OF_DAEMON);
    for (name, value) in OF_B {
        plan = plan.secret("b", name, value);
    }
    Ground::raise(stage, plan)
}

/// Guesses, most of them wrong.
fn words() -> Vec<String> {
    let wrong = ["hunter2-hunter2", "battery-staple-horse", "1234567890"].map(str::to_owned);
    let right = OF_B.map(|(_, value)| value.to_owned());
    wrong.into_iter().chain(right).collect()
}

/// One guess a line.
fn listed(words: &[String]) -> String {
    words.join("\n")
}

/// Which of the words are not in a text any more.
fn missing(text: &str, words: &[String]) -> Vec<String> {
    words.iter().filter(|word| !text.contains(&***word)).cloned().collect()
}

fn reply(ground: &Ground) -> Outcome {
    let text = listed(&words());
    let turn = ground.turn("a", "guess", Script::say(&text))?;
    hold!(turn.reply == text, "a was told which are secrets: {}", turn.reply);
    let own = ground.turn("a", "guess", Script::say(&format!("it is {OF_A}")))?;
    control!(own.reply == "it is [secret]", "its own is not taken out: {}", own.reply);
    let of_b = ground.turn("b", "guess", Script::say(&text))?;
    control!(missing(&of_b.reply, &words()).len() == 3, "b's are not set: {}", of_b.reply);
    Ok(Verdict::Held)
}

fn encoded(ground: &Ground) -> Outcome {
    let hexadecimal =
        |word: &String| -> String { word.bytes().map(|byte| format!("{byte:02x}")).collect() };
    let percent =
        |word: &String| -> String { word.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    let words: Vec<String> =
        words().iter().flat_map(|word| [hexadecimal(word), percent(word)]).collect();
    let turn = ground.turn("a", "encoded", Script::say(&listed(&words)))?;
    let gone = missing(&turn.reply, &words);
    hold!(gone.is_empty(), "a was told which are secrets: {gone:?}");
    Ok(Verdict::Held)
}

fn stream(ground: &Ground) -> Outcome {
    let text = listed(&words());
    let tag = ground.puppets.learn(Script::say(&text));
    let message = json!({ "role": "user", "content": tag });
    let body = json!({ "model": "a", "stream": true, "messages": [message] });
    let token = ground.token("a")?.text.clone();
    let answer = ground.api(&token, "POST", "/v1/chat/completions", &body)?;
    let chunks = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    let chunks = chunks.filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
    let said: String = chunks
        .filter_map(|chunk| Some(chunk["choices"][0]["delta"]["content"].as_str()?.to_owned()))
        .collect();
    control!(said.contains("hunter2-hunter2"), "nothing was streamed: {}", answer.body);
    hold!(said == text, "a was told which are secrets: {said}");
    Ok(Verdict::Held)
}

fn afterwards(ground: &Ground) -> Outcome {
    let words = words();
    ground.turn_saying("a", "asked", &listed(&words), Script::say(&listed(&words)))?;
    let token = ground.mint("a", &["chat", "read"])?.text;
    let get = |path: &str| ground.api(&token, "GET", path, &Value::Null);
    let sessions = get("/api/agents/a/sessions")?.json();
    let sessions = sessions.as_array().cloned().unwrap_or_default();
    let mut shown = String::new();
    for session in &sessions {
        let id = session["id"].to_string();
        shown += &get(&format!("/api/agents/a/sessions/{}", id.trim_matches('"')))?.body;
    }
    control!(shown.contains("hunter2-hunter2"), "nothing is shown: {sessions:?}");
    let gone = missing(&shown, &words);
    hold!(gone.is_empty(), "the transcript tells which are secrets: {gone:?}");
    Ok(Verdict::Held)
}

fn tools(ground: &Ground) -> Outcome {
    let words = words();
    let text = listed(&words);
    let mut calls =
        vec![Call::new("terminal", json!({ "command": format!("printf '%s' '{text}'") }))];
    calls.extend(words.iter().map(|word| {
        Call::new(
            "memory",
            json!({ "action": "add", "target": "memory", "content": format!("a word: {word}") }),
        )
    }));
    calls.extend(
        words.iter().map(|word| Call::new("read_file", json!({ "path": format!("{word}.txt") }))),
    );
    let turn = ground.turn("a", "tools", obey::at_once(calls))?;
    control!(turn.results.len() == 1 + 2 * words.len(), "not all was tried: {}", turn.told());
    let gone = missing(&turn.told(), &words);
    hold!(gone.is_empty(), "results tell which are secrets: {gone:?}");
    let token = ground.mint("a", &["chat", "read", "manage"])?.text;
    let memory = ground.api(&token, "GET", "/api/agents/a/memory", &Value::Null)?;
    // What looks like a key by itself is not remembered; that is judged without knowing any.
    let kept: Vec<String> = words.iter().filter(|it| **it != OF_B[2].1).cloned().collect();
    let gone = missing(&memory.body, &kept);
    hold!(gone.is_empty(), "memory tells which are secrets: {gone:?} of {}", memory.body);
    let audit = ground.api(&token, "GET", "/api/agents/a/audit?limit=1000", &Value::Null)?.body;
    let told = audit.matches("[secret]").count();
    hold!(told == 0, "{told} records have something taken out: {audit}");
    let files = machine::files_below(&ground.path("agents/a")?);
    files.iter().find(|path| path.ends_with("agent.db")).context("a has no database")?;
    Ok(Verdict::Held)
}

fn of_the_daemon(ground: &Ground) -> Outcome {
    let turn = ground.turn("a", "daemon", Script::say(&format!("is it {OF_DAEMON}?")))?;
    let asked = format!("is it {OF_DAEMON}?");
    hold!(turn.reply == asked, "a was told that it is the daemon's: {}", turn.reply);
    let log = ground.log();
    control!(!log.contains(OF_DAEMON), "the log has it");
    Ok(Verdict::Held)
}
