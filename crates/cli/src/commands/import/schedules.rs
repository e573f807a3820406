//! Scheduled tasks of an imported agent: each becomes a job that is paused, and all that it said
//! there stays beside it in `imported/schedules.yaml`.
//!
//! The file is written when its jobs are there, so that an import that was cut off adds the rest. A
//! task that stands in it is known, also where somebody removed its job since.

use super::Done;
use crate::failure::Failure;
use crate::setting::Setting;
use insula_capabilities::Opened;
use insula_domain::Actor;
use insula_import::{AgentPlan, SchedulePlan, yaml};
use insula_registry::AgentContext;
use insula_registry::home::FileMode;
use insula_registry::jobs::{JobView, NewJob};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Longest name of a job, in characters.
const NAME_CHARS_MAX: usize = 48;
/// Names that are tried for one that is taken.
const NAMES_MAX: usize = 100;

/// What such a job is paused for.
const PAUSED: &str = "imported; `insula cron resume` lets it run";

/// Adds what is not known yet.
pub(super) async fn all(
    setting: &Setting,
    agent: &AgentPlan,
    (opened, context): (&Opened, &Arc<AgentContext>),
    done: &mut Done,
) -> Result<(), Failure> {
    if agent.schedules.is_empty() {
        return Ok(());
    }
    let path = setting.home.agent(&agent.id).join("imported/schedules.yaml");
    let before = setting.home.read(&path)?.unwrap_or_default();
    let mut text = before.clone();
    if text.is_empty() {
        text.push_str(
            "# Scheduled tasks of the agent this one was made of, as they were there. What runs here are its jobs: `insula cron list`.\n",
        );
    }
    for task in &agent.schedules {
        let key = json!(task.source_id).to_string();
        let is_new = !before.lines().any(|line| line == format!("{key}:"));
        done.schedules.note(is_new);
        if !is_new {
            continue;
        }
        let mut fields = task.fields.clone();
        match add(opened, context, task).await {
            Ok(name) => fields.insert("job".to_owned(), json!(name)),
            Err(why) => fields.insert("no_job".to_owned(), json!(why)),
        };
        text.push_str(&format!("{key}:\n"));
        for line in yaml(&fields).lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    if text == before {
        return Ok(());
    }
    match before.is_empty() {
        true => Ok(setting.home.write_new(&path, text.as_bytes())?),
        false => Ok(setting.home.write(&path, text.as_bytes(), FileMode::Private)?),
    }
}

/// Makes a job of a task; its name, or why there is none.
async fn add(
    opened: &Opened,
    context: &Arc<AgentContext>,
    task: &SchedulePlan,
) -> Result<String, String> {
    let jobs = &opened.parts.jobs;
    let known = jobs.seen_by(context, &Actor::CommandLine).await;
    let known = known.map_err(|error| error.to_string())?;
    let settings = settings(task)?;
    // From an import that was cut off before it could note it.
    let is_it = |view: &&JobView| {
        view.row.why.as_deref() == Some(PAUSED) && settings["prompt"] == *view.job.prompt
    };
    if let Some(view) = known.iter().find(is_it) {
        return Ok(view.job.name.to_string());
    }
    let start = name(task.fields["name"].as_str().unwrap_or_default());
    let numbered = (2..NAMES_MAX).map(|number| format!("{start}-{number}"));
    let is_free = |name: &String| known.iter().all(|view| *view.job.name != **name);
    let name = std::iter::once(start.clone()).chain(numbered).find(is_free);
    let name = name.ok_or_else(|| "too many jobs are called so".to_owned())?;
    let by = Actor::CommandLine;
    let new = NewJob { name: Some(&name), settings, by: &by, place: None, paused: Some(PAUSED) };
    jobs.add(context, new).await.map_err(|error| error.to_string())?;
    Ok(name)
}

/// What a job of ours can say of it. Where its reply went means nothing here: whoever lets it run
/// says where it goes.
fn settings(task: &SchedulePlan) -> Result<Map<String, Value>, String> {
    let text = |key: &str| task.fields.get(key).and_then(Value::as_str);
    let prompt = text("prompt").filter(|it| !it.trim().is_empty());
    let prompt = prompt.ok_or_else(|| match task.fields.contains_key("script") {
        true => "it runs a script, which does not run here".to_owned(),
        false => "it says nothing".to_owned(),
    })?;
    let mut settings = Map::new();
    settings.insert("prompt".to_owned(), json!(prompt));
    settings.insert("deliver".to_owned(), json!("none"));
    for key in ["schedule", "timezone"] {
        if let Some(value) = text(key) {
            settings.insert(key.to_owned(), json!(value));
        }
    }
    let times = task.fields.get("repeat").and_then(|it| it.get("times").unwrap_or(it).as_u64());
    if let Some(times) = times.filter(|it| *it > 0) {
        settings.insert("count".to_owned(), json!(times));
    }
    Ok(settings)
}

/// A name that a job can have, near to the one it had.
fn name(theirs: &str) -> String {
    let letters = theirs.to_lowercase();
    let mut name = String::new();
    for letter in letters.chars().take(NAME_CHARS_MAX) {
        match letter {
            'a'..='z' | '0'..='9' => name.push(letter),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() { "imported".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use insula_import::Place;

    fn task(fields: Value) -> SchedulePlan {
        let Value::Object(fields) = fields else { unreachable!() };
        SchedulePlan { source_id: "1".to_owned(), fields, from: Place::default() }
    }

    #[test]
    fn a_task_becomes_what_a_job_can_say_and_a_script_does_not() {
        let kept = settings(&task(json!({ "name": "x", "prompt": "look", "schedule": "0 7 * * *",
            "timezone": "Europe/Berlin", "deliver": "telegram:-100", "repeat": { "times": 3 } })));
        assert_eq!(
            Value::Object(kept.unwrap()),
            json!({ "prompt": "look", "deliver": "none", "schedule": "0 7 * * *",
                "timezone": "Europe/Berlin", "count": 3 })
        );
        assert!(settings(&task(json!({ "script": "x.py" }))).unwrap_err().contains("script"));
        assert!(settings(&task(json!({ "prompt": " " }))).is_err());
    }

    #[test]
    fn a_name_is_one_that_a_job_can_have() {
        for (theirs, ours) in [
            ("Morning news", "morning-news"),
            ("  ", "imported"),
            ("Zürich: Wetter!", "z-rich-wetter"),
            ("a--b", "a-b"),
        ] {
            assert_eq!(name(theirs), ours);
        }
        assert!(name(&"x".repeat(500)).len() <= NAME_CHARS_MAX);
    }
}
