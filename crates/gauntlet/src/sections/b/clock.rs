//! B11 and B12: jobs and boards of one chat, by people of another, and after they were shut out.

use super::scene::{ADA, KITCHEN, ann, ben, chief};
use crate::attempt::{Attempt, Outcome, Verdict};
use crate::ground::Ground;
use crate::machine;
use crate::puppet::{Act, Call, Script};
use crate::{control, hold};
use anyhow::{Context as _, Result};
use insula_testkit::telegram::Where;
use serde_json::{Value, json};

/// All of this file.
pub const ATTEMPTS: &[Attempt] = &[
    Attempt { row: "B11", variant: "a guest's job, after the guest was shut out", run: shut_out },
    Attempt { row: "B11", variant: "a guest's job, where nobody agreed to it", run: not_agreed },
    Attempt { row: "B11", variant: "another's job by /cron", run: anothers_job },
    Attempt { row: "B12", variant: "another's job in /cron", run: listed_jobs },
    Attempt { row: "B12", variant: "cards in /board, without a right to the board", run: no_right },
    Attempt { row: "B12", variant: "a board that is there in /board", run: exists },
    Attempt { row: "B12", variant: "cards in a group, by /board of an admin", run: in_group },
];

fn wish(name: &str, prompt: &str) -> Script {
    let arguments =
        json!({ "action": "create", "schedule": "every 2h", "prompt": prompt, "name": name });
    Script::steps(vec![Act::Call(vec![Call::new("cronjob", arguments)])])
}

/// Whether the agent has a job of this name.
fn has_job(ground: &Ground, name: &str) -> Result<bool> {
    let jobs = ground.admin("GET", "/api/agents/m/jobs", &Value::Null)?.json();
    Ok(jobs.as_array().into_iter().flatten().any(|job| job["name"] == name))
}

/// A guest has a job made, and an admin agrees.
fn agreed(ground: &Ground, name: &str, prompt: &str) -> Result<String> {
    let (turn, answered) = machine::both(
        || ground.tell(Where::Dm(ADA), &ben(), "do it again and again", wish(name, prompt)),
        || {
            let id = machine::eventually("it waits", || {
                let all = ground.admin("GET", "/api/agents/m/approvals", &Value::Null)?.json();
                Ok(all[0]["id"].as_str().map(str::to_owned))
            })?;
            let path = format!("/api/agents/m/approvals/{id}");
            ground.admin("POST", &path, &json!({ "decision": "approve" }))
        },
    )?;
    answered?;
    Ok(turn?.told())
}

fn shut_out(ground: &Ground) -> Outcome {
    let tag = ground.learn(Script::say("as asked"));
    let told = agreed(ground, "bens", &tag)?;
    control!(has_job(ground, "bens")?, "there is no job: {told}");
    let before = ground.run_job("m", "bens", &tag)?;
    control!(before.outcome == "done", "{} {}", before.outcome, before.why);
    let config = ground.text("config.yaml");
    let less = config.replacen("allow: ['telegram:*']", "allow: ['telegram:42']", 1);
    control!(less != config, "nobody can be shut out: {config}");
    ground.home().replace("config.yaml", &less)?;
    ground.admin("POST", "/api/reload", &Value::Null)?;
    let after = ground.run_job("m", "bens", &tag);
    ground.home().replace("config.yaml", &config)?;
    ground.admin("POST", "/api/reload", &Value::Null)?;
    let after = after?;
    hold!(after.outcome == "denied", "it ran for whom nobody lets in: {}", after.outcome);
    hold!(after.turn.requests.len() == before.turn.requests.len(), "the model was asked");
    // Who is let in again has to say so: it stays paused.
    let jobs = ground.admin("GET", "/api/agents/m/jobs/bens", &Value::Null)?.json();
    hold!(jobs["state"] == "paused", "it goes on by itself: {jobs}");
    ground.admin("DELETE", "/api/agents/m/jobs/bens", &Value::Null)?;
    Ok(Verdict::Held)
}

fn not_agreed(ground: &Ground) -> Outcome {
    let turn = ground.tell(Where::Dm(ADA), &ben(), "do it again", wish("unasked", "x"))?;
    control!(turn.results.len() == 1, "nothing was asked: {turn:?}");
    hold!(!has_job(ground, "unasked")?, "a guest's job is there: {}", turn.told());
    Ok(Verdict::Held)
}

/// A job of the admin's, made in a chat of theirs, with a word that only it has.
fn admins_job(ground: &Ground) -> Result<(String, String)> {
    let canary = ground.canary("what an admin has done by the clock").text;
    let added =
        ground.command(Where::Dm(ADA), &chief(), &format!("/cron add every 2h | {canary}"))?;
    let name = added.split_whitespace().nth(1).map(str::to_owned);
    let name = name.filter(|_| added.contains("is added"));
    Ok((name.with_context(|| format!("no job is added: {added}"))?, canary))
}

fn anothers_job(ground: &Ground) -> Outcome {
    let (name, _) = admins_job(ground)?;
    for verb in ["run", "pause", "resume", "remove"] {
        let there = ground.command(Where::Dm(ADA), &ben(), &format!("/cron {verb} {name}"))?;
        let absent = ground.command(Where::Dm(ADA), &ben(), &format!("/cron {verb} absent"))?;
        hold!(there.replace(&name, "absent") == absent, "{verb}: {there} / {absent}");
    }
    hold!(has_job(ground, &name)?, "it is gone");
    let runs = ground.admin("GET", &format!("/api/agents/m/jobs/{name}/runs"), &Value::Null)?;
    hold!(runs.json() == json!([]), "it ran: {runs:?}");
    Ok(Verdict::Held)
}

fn listed_jobs(ground: &Ground) -> Outcome {
    let (name, canary) = admins_job(ground)?;
    let own = ground.command(Where::Dm(ADA), &chief(), "/cron")?;
    control!(own.contains(&name), "who made it does not see it: {own}");
    for (place, who) in [(Where::Dm(ADA), ben()), (Where::Chat(KITCHEN), ann())] {
        let told = ground.command(place, &who, "/cron")?;
        hold!(!told.contains(&name) && !told.contains(&canary), "{told}");
    }
    Ok(Verdict::Held)
}

/// A card on the board that the agent works on, with a word that only it has; its number.
fn card(ground: &Ground) -> Result<(i64, String)> {
    let canary = ground.canary("a card of the operator's").text;
    let wish = json!({ "title": canary, "body": canary });
    let made = ground.admin("POST", "/api/boards/shared/cards", &wish)?;
    let id = made.json()["id"].as_i64();
    Ok((id.with_context(|| format!("no card: {made:?}"))?, canary))
}

fn no_right(ground: &Ground) -> Outcome {
    let (card, canary) = card(ground)?;
    let own = ground.command(Where::Dm(ADA), &chief(), &format!("/board shared show {card}"))?;
    control!(own.contains(&canary), "an admin does not see it: {own}");
    for wish in [
        String::new(),
        " list".to_owned(),
        format!(" show {card}"),
        " shared".to_owned(),
        format!(" shared show {card}"),
        format!(" shared claim {card}"),
        format!(" shared comment {card} mine"),
        format!(" shared done {card} mine"),
        " shared add mine".to_owned(),
    ] {
        let told = ground.command(Where::Dm(ADA), &ben(), &format!("/board{wish}"))?;
        hold!(!told.contains(&canary), "/board{wish}: {told}");
        let says_no = told.starts_with("there are no boards") || told.starts_with("there is no");
        hold!(says_no, "/board{wish} did something: {told}");
    }
    let path = format!("/api/boards/shared/cards/{card}");
    let now = ground.admin("GET", &path, &Value::Null)?.json();
    hold!(now["worker"].is_null() && now["comments"] == json!([]), "it was changed: {now}");
    Ok(Verdict::Held)
}

fn exists(ground: &Ground) -> Outcome {
    let there = ground.command(Where::Dm(ADA), &ben(), "/board shared list")?;
    let absent = ground.command(Where::Dm(ADA), &ben(), "/board shaped list")?;
    hold!(there.replace("shared", "…") == absent.replace("shaped", "…"), "{there} / {absent}");
    Ok(Verdict::Held)
}

fn in_group(ground: &Ground) -> Outcome {
    let (card, canary) = card(ground)?;
    for wish in [String::new(), " shared".to_owned(), format!(" shared show {card}")] {
        let told = ground.command(Where::Chat(KITCHEN), &chief(), &format!("/board{wish}"))?;
        hold!(!told.contains(&canary) && !told.contains("shared"), "/board{wish}: {told}");
    }
    Ok(Verdict::Held)
}
