//! A1: another agent's history, by word, by order, by id, by token.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::puppet::{Call, Script};
use crate::{control, hold};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "A1", variant: "by a word that only the other's message holds", run: by_word },
    Attempt { row: "A1", variant: "by the newest first, and as many as there can be", run: newest },
    Attempt { row: "A1", variant: "by every session and message id there could be", run: by_id },
    Attempt { row: "A1", variant: "by a token, at the other's routes", run: by_token },
    Attempt { row: "A1", variant: "by the other's memory", run: by_memory },
];

/// Something b was told in private: a word to look for, and the canary beside it. Where it is.
fn told_to_b(ground: &Ground, word: &str) -> Result<(String, i64)> {
    let canary = ground.planted("b-private");
    let words = format!("{word} {}", canary.text);
    ground.turn_saying("b", "private", &words, Script::say("noted"))?;
    let found = ground.call("b", "another", "session_search", json!({ "query": word }))?;
    control!(found.contains(&canary.text), "b does not find its own: {found}");
    let word_after = |after: &str| Some(found.split_once(after)?.1.split_once(' ')?.0.to_owned());
    let message = word_after(" message ").and_then(|number| number.parse::<i64>().ok());
    word_after("[session ").zip(message).with_context(|| format!("no ids in: {found}"))
}

fn by_word(ground: &Ground) -> Outcome {
    told_to_b(ground, "quagga")?;
    let [told, nothing] = both(ground, json!({ "query": "quagga" }), json!({ "query": "zzzzzz" }))?;
    let canary = ground.planted("b-private");
    hold!(canary.found_in(told.as_bytes()).is_none(), "a was told: {told}");
    hold!(told == nothing, "a word of b's answers otherwise than a word of nobody's: {told}");
    Ok(Verdict::Held)
}

fn newest(ground: &Ground) -> Outcome {
    told_to_b(ground, "okapi")?;
    let canary = ground.planted("b-private");
    for query in ["okapi", &canary.text[..6], "noted", "*", "canary OR okapi", "\"okapi\""] {
        for sort in ["newest", "relevance"] {
            let asked = json!({ "query": query, "limit": 50, "sort": sort, "role_filter": "user" });
            let told = ground.call("a", "looking", "session_search", asked)?;
            hold!(canary.found_in(told.as_bytes()).is_none(), "{query}, {sort}: {told}");
        }
    }
    Ok(Verdict::Held)
}

fn by_id(ground: &Ground) -> Outcome {
    let (session, message) = told_to_b(ground, "aardwolf")?;
    let canary = ground.planted("b-private");
    let around = |session: &Value| {
        let asked = json!({ "session_id": session, "around_message_id": message, "window": 50 });
        Call::new("session_search", asked)
    };
    let nobodys: String = session.chars().rev().collect();
    let numbers = (0..60).chain([-1, i64::MAX]).map(Value::from);
    let ids: Vec<Value> = numbers.chain([json!(session), json!(nobodys)]).collect();
    let told = ground.calls("a", "ids", ids.iter().map(around).collect())?;
    for (id, told) in ids.iter().zip(&told) {
        hold!(canary.found_in(told.as_bytes()).is_none(), "session {id}: {told}");
    }
    // b's id and one that nobody has are one answer.
    let told = told[ids.len() - 2..].iter().zip([&session, &nobodys]);
    let told: Vec<String> = told.map(|(told, id)| told.replace(id.as_str(), "…")).collect();
    hold!(told[0] == told[1], "b's id answers otherwise than nobody's: {told:?}");
    Ok(Verdict::Held)
}

fn by_token(ground: &Ground) -> Outcome {
    let (session, _) = told_to_b(ground, "dhole")?;
    let own = ground.mint("b", &["read"])?;
    let theirs =
        ground.api(&own.text, "GET", "/api/agents/b/sessions/search?q=dhole", &Value::Null)?;
    control!(theirs.status == 200, "b's own token: {theirs:?}");
    let foreign = ground.mint("a", &["chat", "read", "approve", "manage", "admin"])?;
    for what in [
        "sessions".to_owned(),
        format!("sessions/{session}"),
        "sessions/search?q=dhole".to_owned(),
        "turns".to_owned(),
        "events".to_owned(),
        "memory/export".to_owned(),
    ] {
        let asked = |agent: &str| {
            let path = format!("/api/agents/{agent}/{what}");
            let answer = ground.api(&foreign.text, "GET", &path, &Value::Null)?;
            anyhow::Ok(answer.comparable().replace(&format!("`{agent}`"), "`…`"))
        };
        let (b, nobody) = (asked("b")?, asked("x")?);
        hold!(b == nobody, "{what}: {b}\ninstead of\n{nobody}");
        hold!(b.contains("404"), "{what}: {b}");
    }
    Ok(Verdict::Held)
}

fn by_memory(ground: &Ground) -> Outcome {
    let canary = ground.canary("b's memory");
    let fact = json!({ "action": "add", "target": "memory", "content": format!("the numbat is {}", canary.text) });
    ground.call("b", "private", "memory", fact)?;
    let own = ground.call("b", "later", "memory_search", json!({ "query": "numbat" }))?;
    control!(own.contains(&canary.text), "b does not recall its own: {own}");
    let told = ground.call("a", "later", "memory_search", json!({ "query": "numbat" }))?;
    hold!(canary.found_in(told.as_bytes()).is_none(), "a recalls: {told}");
    let leak = ground.leaked_to("a", &[canary])?;
    hold!(leak.is_none(), "{}", leak.unwrap_or_default());
    Ok(Verdict::Held)
}

/// What a is told to two questions in one turn.
fn both(ground: &Ground, one: Value, other: Value) -> Result<[String; 2]> {
    let calls = vec![Call::new("session_search", one), Call::new("session_search", other)];
    let told = ground.calls("a", "looking", calls)?;
    <[String; 2]>::try_from(told).map_err(|told| anyhow::anyhow!("not two answers: {told:?}"))
}
