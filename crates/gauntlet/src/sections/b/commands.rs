//! B12: commands, lists and errors show what is here.

use super::scene::{ADA, GARDEN, KITCHEN, ann, ben, remember};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::canary::Canary;
use crate::ground::Ground;
use crate::puppet::{Act, Script};
use crate::{control, hold};
use anyhow::Result;
use insula_testkit::telegram::Where;
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "B12", variant: "/memory and /forget in another chat", run: memory },
    Attempt { row: "B12", variant: "/agents names those that are reached here", run: agents },
    Attempt {
        row: "B12",
        variant: "/status, /whoami, /sessions, /help and words that are no command",
        run: others,
    },
    Attempt { row: "B12", variant: "what a token is told is remembered here", run: over_api },
    Attempt {
        row: "B12",
        variant: "a person's own commands over the API of another token",
        run: foreign_token,
    },
];

fn planted(ground: &Ground, owner: &str) -> Result<Canary> {
    let canary = ground.canary(owner);
    let fact = format!("the password of {owner} is {}", canary.text);
    ground.tell(
        Where::Dm(ADA),
        &ann(),
        &fact,
        Script::steps(vec![Act::Call(vec![remember(&fact)])]),
    )?;
    Ok(canary)
}

fn memory(ground: &Ground) -> Outcome {
    let canary = planted(ground, "her diary")?;
    let own = ground.command(Where::Dm(ADA), &ann(), "/memory")?;
    control!(own.contains(&canary.text), "she does not see her own: {own}");
    for (place, who) in
        [(Where::Chat(KITCHEN), ann()), (Where::Chat(KITCHEN), ben()), (Where::Dm(ADA), ben())]
    {
        let told = ground.command(place, &who, "/memory")?;
        hold!(canary.found_in(told.as_bytes()).is_none(), "{} is told: {told}", who.name);
        let told = ground.command(place, &who, &format!("/forget {}", &canary.text[..20]))?;
        hold!(canary.found_in(told.as_bytes()).is_none(), "{} is told: {told}", who.name);
    }
    let own = ground.command(Where::Dm(ADA), &ann(), "/memory")?;
    hold!(own.contains(&canary.text), "somebody else forgot it for her: {own}");
    Ok(Verdict::Held)
}

fn agents(ground: &Ground) -> Outcome {
    let told = ground.command(Where::Chat(GARDEN), &ben(), "/agents")?;
    control!(told.contains('m'), "nobody is named: {told}");
    let words: Vec<&str> = told.split(|c: char| !c.is_alphanumeric()).collect();
    hold!(
        !words.contains(&"flows") && !words.contains(&"u"),
        "agents that are not reached here: {told}"
    );
    Ok(Verdict::Held)
}

fn others(ground: &Ground) -> Outcome {
    let canary = planted(ground, "her purse")?;
    for text in [
        "/status",
        "/whoami",
        "/help",
        "/sessions",
        "/sessions 1",
        "/sessions 2",
        "/model",
        "/model 1",
        "/compress",
        "/history",
        "/memory all",
        "/agents all",
        "/nonsense",
        "/start",
        "/forget 1 2 3",
        "/memory global",
    ] {
        let told = ground.command(Where::Chat(GARDEN), &ben(), text)?;
        hold!(canary.found_in(told.as_bytes()).is_none(), "{text}: {told}");
        hold!(
            !told.contains("agent:m:telegram:ada:dm:42"),
            "{text} names her conversation: {told}"
        );
    }
    Ok(Verdict::Held)
}

fn over_api(ground: &Ground) -> Outcome {
    let canary = planted(ground, "her locker")?;
    let token = ground.mint("m", &["chat"])?;
    for session in
        ["dm", "42", "telegram:ada:42", "agent:m:telegram:ada:dm:42:user:42", "../42", "global"]
    {
        let body = json!({ "session": session });
        let told = ground.api(&token.text, "POST", "/api/agents/m/remembered", &body)?;
        hold!(canary.found_in(told.body.as_bytes()).is_none(), "{session}: {told:?}");
    }
    // What is everybody's is the operator's.
    for path in ["memory", "memory/export", "sessions", "audit"] {
        let told =
            ground.api(&token.text, "GET", &format!("/api/agents/m/{path}"), &Value::Null)?;
        hold!(told.status == 403, "{path}: {told:?}");
    }
    Ok(Verdict::Held)
}

fn foreign_token(ground: &Ground) -> Outcome {
    let canary = ground.canary("one token's memory");
    let (one, other) = (ground.mint("m", &["chat"])?, ground.mint("m", &["chat"])?);
    let script = Script::steps(vec![Act::Call(vec![remember(&canary.text)])]);
    ground.turn_with(&one.text, "m", "mine", "keep it", script)?;
    let here = |token: &str| {
        ground.api(token, "POST", "/api/agents/m/remembered", &json!({ "session": "mine" }))
    };
    let own = here(&one.text)?;
    control!(own.body.contains(&canary.text), "its own is not shown: {own:?}");
    let told = here(&other.text)?;
    hold!(canary.found_in(told.body.as_bytes()).is_none(), "another token is told: {told:?}");
    let body = json!({ "session": "mine", "what": "all" });
    ground.api(&other.text, "POST", "/api/agents/m/forget", &body)?;
    let own = here(&one.text)?;
    hold!(own.body.contains(&canary.text), "another token forgot it: {own:?}");
    Ok(Verdict::Held)
}
