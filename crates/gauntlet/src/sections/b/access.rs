//! B8: who may talk is judged now, not when it was granted.

use super::scene::{ADA, ann, ben, chief};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::{Ground, Plan};
use crate::machine;
use crate::puppet::{Script, obey};
use crate::stage::Stage;
use crate::{control, hold};
use anyhow::Result;
use insula_testkit::telegram::{User, Where};
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "B8", variant: "somebody is taken off the list", run: off_the_list },
    Attempt {
        row: "B8",
        variant: "somebody is no admin any more, and answers a question",
        run: no_admin,
    },
    Attempt { row: "B8", variant: "a chat is taken off the list", run: chat_off },
    Attempt { row: "B8", variant: "a token is revoked", run: revoked },
    Attempt { row: "B8", variant: "a pairing is taken back", run: unpaired },
];

const CLUB: i64 = -201;

/// An agent whose list changes.
pub fn listed(stage: &Stage) -> Result<Ground> {
    let access = format!(
        "access: {{allow: ['telegram:42', 'telegram:chat:{CLUB}'], admins: ['telegram:1', 'telegram:43']}}"
    );
    let settings = format!(
        "default: true, memory: true, tools: coding, {access}, group: {{respond: all}}, approvals: {{timeout: 5m}}, sessions: {{burst: 0s}}"
    );
    let plan = Plan::new().agent("m", &settings).bot(ADA, "ada").binding("agent: m, telegram: '*'");
    let ground = Ground::raise(stage, plan)?;
    ground.telegram()?.group(CLUB, "Club", &[ADA]);
    Ok(ground)
}

/// Says something that must not reach the model, and then something of somebody who may: when
/// that is answered, the first was looked at.
fn unheard(ground: &Ground, place: Where<'_>, who: &User) -> Result<bool> {
    let tag = ground.puppets.learn(Script::say("heard"));
    ground.say(place, who, &format!("do you hear me {tag}"))?;
    ground.tell(Where::Dm(ADA), &chief(), "are you there", Script::say("present"))?;
    machine::eventually("everything was fetched", || {
        Ok((ground.telegram()?.pending(ADA) == 0).then_some(()))
    })?;
    Ok(ground.so_far(&tag).requests.is_empty())
}

fn edited(ground: &Ground, from: &str, to: &str) -> Result<String> {
    let before = ground.text("config.yaml");
    anyhow::ensure!(before.contains(from), "the configuration does not say {from}");
    ground.home().replace("config.yaml", before.replace(from, to))?;
    let answer = ground.admin("POST", "/api/reload", &Value::Null)?;
    anyhow::ensure!(answer.status < 300, "no reload: {answer:?}");
    Ok(before)
}

fn restored(ground: &Ground, before: &str) -> Result<()> {
    ground.home().replace("config.yaml", before)?;
    ground.admin("POST", "/api/reload", &Value::Null)?;
    Ok(())
}

fn off_the_list(ground: &Ground) -> Outcome {
    let own = ground.tell(Where::Dm(ADA), &ann(), "hello", Script::say("hello"))?;
    control!(!own.requests.is_empty(), "she was never heard");
    let before = edited(ground, "'telegram:42', ", "")?;
    let unheard = unheard(ground, Where::Dm(ADA), &ann())?;
    restored(ground, &before)?;
    hold!(unheard, "she is heard though she may not talk");
    Ok(Verdict::Held)
}

fn no_admin(ground: &Ground) -> Outcome {
    ground.shell("m", "prepares", "mkdir -p kept && echo x > kept/file")?;
    control!(ground.has("agents/m/workspace/kept/file"), "nothing can be made");
    let token = ground.token("m")?.text.clone();
    let run = || {
        ground.turn_with(
            &token,
            "m",
            "asks",
            "x",
            obey::one("terminal", json!({ "command": "rm -r kept" })),
        )
    };
    let before = ground.text("config.yaml");
    let (turn, tried) = machine::both(run, || {
        let id = machine::eventually("it waits", || {
            let all = ground.admin("GET", "/api/agents/m/approvals", &Value::Null)?.json();
            Ok(all[0]["id"].as_str().map(str::to_owned))
        })?;
        edited(ground, ", 'telegram:43'", "")?;
        // He was an admin when it was asked.
        for text in [format!("/approve {id}"), "/approve".to_owned(), "yes".to_owned()] {
            ground.say(Where::Dm(ADA), &ben(), &text)?;
        }
        ground.tell(Where::Dm(ADA), &chief(), "are you there", Script::say("present"))?;
        let waits =
            ground.admin("GET", "/api/agents/m/approvals", &Value::Null)?.body.contains(&id);
        let there = ground.has("agents/m/workspace/kept/file");
        ground.admin(
            "POST",
            &format!("/api/agents/m/approvals/{id}"),
            &json!({ "decision": "deny" }),
        )?;
        anyhow::Ok(waits && there)
    })?;
    restored(ground, &before)?;
    let (turn, held) = (turn?, tried?);
    hold!(held, "somebody who is no admin any more allowed it: {}", turn.told());
    Ok(Verdict::Held)
}

fn chat_off(ground: &Ground) -> Outcome {
    let guest = User::new(99, "Guest");
    let own = ground.tell(Where::Chat(CLUB), &guest, "hello", Script::say("welcome"))?;
    control!(!own.requests.is_empty(), "a guest of the club was never heard");
    let before = edited(ground, &format!(", 'telegram:chat:{CLUB}'"), "")?;
    let unheard = unheard(ground, Where::Chat(CLUB), &guest)?;
    restored(ground, &before)?;
    hold!(unheard, "a guest is heard though the club is off the list");
    Ok(Verdict::Held)
}

fn revoked(ground: &Ground) -> Outcome {
    let token = ground.mint("m", &["chat"])?;
    let own = ground.turn_with(&token.text, "m", "revoked", "hello", Script::say("hello"))?;
    control!(own.answer.status == 200, "it was never good: {:?}", own.answer);
    ground.admin("DELETE", &format!("/api/tokens/{}", token.id), &Value::Null)?;
    let turn = ground.turn_with(&token.text, "m", "revoked", "again", Script::say("hello"))?;
    hold!(turn.answer.status == 401 && turn.requests.is_empty(), "{:?}", turn.answer);
    Ok(Verdict::Held)
}

fn unpaired(ground: &Ground) -> Outcome {
    let eve = User::new(77, "Eve");
    let told = ground.command(Where::Dm(ADA), &eve, "let me in")?;
    let waiting = ground.admin("GET", "/api/agents/m/pairing", &Value::Null)?;
    let code = told.split_once("code is ").map(|(_, rest)| rest);
    let code = code.and_then(|rest| rest.split([' ', '.']).next()).map(str::to_owned);
    control!(code.is_some(), "no code was given: {told}; {waiting:?}");
    let body = json!({ "code": code });
    let approved = ground.admin("POST", "/api/agents/m/pairing", &body)?;
    control!(approved.status < 300, "the code was not taken: {approved:?}; {told}");
    let own = ground.tell(Where::Dm(ADA), &eve, "hello", Script::say("hello Eve"))?;
    control!(!own.requests.is_empty(), "she was never heard");
    let removed = ground.admin("DELETE", "/api/agents/m/pairing/telegram:77", &Value::Null)?;
    control!(
        removed.status < 300,
        "the pairing stays: {removed:?}; {:?}",
        ground.admin("GET", "/api/agents/m/pairing", &Value::Null)?
    );
    hold!(unheard(ground, Where::Dm(ADA), &eve)?, "she is heard though she may not talk");
    Ok(Verdict::Held)
}
