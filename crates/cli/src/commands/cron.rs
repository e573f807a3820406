//! `insula cron …`

use super::text;
use crate::arguments::{Cron, CronAdd, OneJob};
use crate::failure::Failure;
use crate::output;
use crate::reach::{Reach, part};
use crate::setting::Answer;
use serde_json::{Map, Value, json};

/// Runs it.
pub async fn run(reach: &Reach, answer: Answer, command: Cron) -> Result<u8, Failure> {
    match command {
        Cron::List { agent } => {
            let path = match agent {
                Some(agent) => format!("/api/agents/{}/jobs", part(&agent)),
                None => "/api/jobs".to_owned(),
            };
            let all = reach.get(&path).await?;
            reach.give(answer, &all, table).await;
        }
        Cron::Add(new) => {
            let path = format!("/api/agents/{}/jobs", part(&new.agent));
            let added = reach.post(&path, Some(body(&new))).await?;
            answer.give(&added, |job| {
                output::line(&format!("job {} of {} is added", text(job, "name"), new.agent));
                ahead(job);
            });
        }
        Cron::Show(job) => {
            let shown = reach.get(&path(&job, "")).await?;
            reach.give_of(&job.agent, answer, &shown, show).await;
        }
        Cron::Run(job) => {
            let run = reach.post(&path(&job, "/run"), None).await?;
            answer.give(&run, |_| {
                output::line(&format!("job {} of {} is to run now", job.job, job.agent));
                output::line(&format!("see: insula cron history {} {}", job.agent, job.job));
            });
        }
        Cron::Pause(job) => {
            let done = reach.post(&path(&job, "/pause"), None).await?;
            answer.give(&done, |_| {
                output::line(&format!("job {} of {} is paused", job.job, job.agent));
            });
        }
        Cron::Resume(job) => {
            let done = reach.post(&path(&job, "/resume"), None).await?;
            answer.give(&done, |done| {
                output::line(&format!("job {} of {} goes on", job.job, job.agent));
                ahead(done);
            });
        }
        Cron::Remove(job) => {
            reach.delete(&path(&job, "")).await?;
            let done = json!({ "agent": job.agent, "job": job.job, "removed": true });
            answer.give(&done, |_| {
                output::line(&format!("job {} of {} is removed", job.job, job.agent));
            });
        }
        Cron::History(job) => {
            let runs = reach.get(&path(&job, "/runs")).await?;
            reach.give_of(&job.agent, answer, &runs, history).await;
        }
    }
    Ok(0)
}

fn path(OneJob { agent, job }: &OneJob, rest: &str) -> String {
    format!("/api/agents/{}/jobs/{}{rest}", part(agent), part(job))
}

fn body(new: &CronAdd) -> Value {
    let mut body = Map::new();
    let texts = [
        ("name", &new.name),
        ("script", &new.script),
        ("timezone", &new.timezone),
        ("deliver", &new.deliver),
        ("scope", &new.scope),
        ("timeout", &new.timeout),
        ("missed", &new.missed),
        ("overlap", &new.overlap),
        ("jitter", &new.jitter),
        ("until", &new.until),
    ];
    body.insert("schedule".to_owned(), new.schedule.clone().into());
    if !new.prompt.is_empty() {
        body.insert("prompt".to_owned(), new.prompt.clone().into());
    }
    for (key, value) in texts {
        if let Some(value) = value {
            body.insert(key.to_owned(), value.clone().into());
        }
    }
    if !new.tools.is_empty() {
        body.insert("tools".to_owned(), json!(new.tools));
    }
    if new.deny_approvals {
        body.insert("approvals".to_owned(), "deny".into());
    }
    if let Some(count) = new.count {
        body.insert("count".to_owned(), count.into());
    }
    let mut budget = Map::new();
    if let Some(usd) = new.usd_per_day {
        budget.insert("usd_per_day".to_owned(), json!(usd));
    }
    if let Some(tokens) = new.tokens_per_day {
        budget.insert("tokens_per_day".to_owned(), json!(tokens));
    }
    if !budget.is_empty() {
        body.insert("budget".to_owned(), budget.into());
    }
    body.into()
}

fn ahead(job: &Value) {
    let next = job["next"].as_array().map_or(&[][..], Vec::as_slice);
    if next.is_empty() {
        return output::line("it does not run again");
    }
    output::line("next:");
    for moment in next {
        output::line(&format!("  {}", moment.as_str().unwrap_or_default()));
    }
}

fn show(job: &Value) {
    let keys = [
        "agent", "name", "origin", "state", "why", "schedule", "timezone", "prompt", "script",
        "deliver", "scope", "owner", "made_at", "runs", "failures", "missed", "overlap",
    ];
    for key in keys {
        let value = text(job, key);
        if !value.is_empty() && value != "-" {
            // One that somebody asked for counts nowhere.
            let label = if key == "runs" { "runs when due" } else { key };
            output::line(&format!("{label:<13} {value}"));
        }
    }
    for (key, value) in job["settings"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        output::line(&format!("{key:<13} {value}"));
    }
    ahead(job);
}

fn table(all: &Value) {
    let all = all.as_array().map_or(&[][..], Vec::as_slice);
    if all.is_empty() {
        return output::line(
            "there are no jobs; add one: insula cron add AGENT \"every day at 9:00\" \"…\"",
        );
    }
    let rows = all.iter().map(|it| {
        let next = it["next"][0].as_str().unwrap_or("-").to_owned();
        vec![
            text(it, "agent"),
            text(it, "name"),
            text(it, "state"),
            text(it, "schedule"),
            next,
            text(it, "deliver"),
            text(it, "owner"),
        ]
    });
    output::table(&["agent", "job", "state", "schedule", "next", "deliver", "owner"], rows);
}

fn history(all: &Value) {
    let all = all.as_array().map_or(&[][..], Vec::as_slice);
    if all.is_empty() {
        return output::line("it has not run yet");
    }
    let rows = all.iter().map(|it| {
        let under_way = if it["waits"] == true { "waits" } else { "runs" };
        let outcome = it["outcome"].as_str().unwrap_or(under_way).to_owned();
        vec![
            text(it, "scheduled_at"),
            outcome,
            text(it, "late_ms"),
            text(it, "turn"),
            text(it, "why"),
        ]
    });
    output::table(&["for", "outcome", "late ms", "turn", "why"], rows);
}
