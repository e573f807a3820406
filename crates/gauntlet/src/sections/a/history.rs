//! A1: another agent's history, by word and by id.

use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::puppet::Script;
use crate::{control, hold};
use serde_json::json;

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[Attempt {
    row: "A1",
    variant: "by a word that only the other's message holds",
    run: by_word,
}];

fn by_word(ground: &Ground) -> Outcome {
    let canary = ground.canary("b's message");
    ground.turn_saying("b", "private", &canary.text, Script::say("noted"))?;
    let query = json!({ "query": canary.text });
    let own = ground.call("b", "private", "session_search", query.clone())?;
    control!(own.contains("private") || own.contains("noted"), "b does not find its own: {own}");
    let told = ground.call("a", "any", "session_search", query)?;
    hold!(!told.contains("noted"), "a was told: {told}");
    Ok(Verdict::Held)
}
