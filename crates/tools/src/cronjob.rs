//! `cronjob`: what the agent does by the clock. A job belongs to whoever the turn is for; one that
//! changes anything takes an admin, or an admin's approval, which the gate sees to.

use crate::schedules::JobChange;
use crate::{Cleared, Hands, Output, Risk, SUBJECT_CHARS_MAX, Tool, ToolError, arguments};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Changes what the agent does by the clock.
pub struct CronJob;

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    Create,
    List,
    Pause,
    Resume,
    Remove,
    Run,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    action: Action,
    job_id: Option<String>,
    name: Option<String>,
    schedule: Option<String>,
    prompt: Option<String>,
    repeat: Option<u32>,
    deliver: Option<String>,
    model: Option<String>,
}

#[async_trait]
impl Tool for CronJob {
    fn name(&self) -> &'static str {
        "cronjob"
    }

    fn description(&self) -> &'static str {
        "Do something later or again and again. create takes schedule (`30m` once, `every 2h`, `30 8 * * 1-5`, `every weekday at 8:30`, `2026-12-01T08:30`) and prompt, which must say all that is needed: a job begins without this conversation. Its reply comes here unless deliver says `none`; a reply of [SILENT] is not delivered. pause, resume, remove and run take job_id."
    }

    fn parameters(&self) -> &'static str {
        r#"{"type":"object","properties":{"action":{"type":"string","enum":["create","list","pause","resume","remove","run"]},"job_id":{"type":"string"},"name":{"type":"string"},"schedule":{"type":"string"},"prompt":{"type":"string"},"repeat":{"type":"integer","description":"how often it runs"},"deliver":{"type":"string","description":"origin, none or platform:account:chat[:topic]"},"model":{"type":"string"}},"required":["action"],"additionalProperties":false}"#
    }

    fn subject(&self, arguments: &Value) -> Option<String> {
        let named =
            ["job_id", "name", "schedule"].iter().find_map(|key| arguments.get(key)?.as_str());
        named.map(|text| text.chars().take(SUBJECT_CHARS_MAX).collect())
    }

    fn risk<'a>(&self, arguments: &'a Value) -> Risk<'a> {
        let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("action") {
            "list" => Risk::None,
            "create" => {
                Risk::ChangeSelf(format!("do {}: {}", text("schedule"), text("prompt")).into())
            }
            action => Risk::ChangeSelf(format!("{action} job {}", text("job_id")).into()),
        }
    }

    async fn run(&self, hands: &Hands<'_>, values: &Cleared) -> Result<Output, ToolError> {
        let given: Arguments = arguments(values)?;
        let schedules = hands.schedules()?;
        let missing = |what: &str| ToolError::Arguments(format!("give `{what}`"));
        let change = match given.action {
            Action::List => return schedules.list().await.map(Output::Text),
            Action::Create => {
                let mut settings = Map::new();
                let texts = [
                    ("schedule", given.schedule),
                    ("prompt", given.prompt),
                    ("deliver", given.deliver),
                    ("model", given.model),
                ];
                for (key, value) in texts {
                    if let Some(value) = value.filter(|it| !it.trim().is_empty()) {
                        settings.insert(key.to_owned(), value.into());
                    }
                }
                for key in ["schedule", "prompt"] {
                    if !settings.contains_key(key) {
                        return Err(missing(key));
                    }
                }
                if let Some(repeat) = given.repeat.filter(|repeat| *repeat > 0) {
                    settings.insert("count".to_owned(), json!(repeat));
                }
                let name = given.name.as_deref().or(given.job_id.as_deref());
                let added = schedules.add(name.filter(|it| !it.is_empty()), settings).await;
                return added.map(Output::Text);
            }
            Action::Pause => JobChange::Pause,
            Action::Resume => JobChange::Resume,
            Action::Remove => JobChange::Remove,
            Action::Run => JobChange::Run,
        };
        let job = given.job_id.or(given.name).ok_or_else(|| missing("job_id"))?;
        schedules.change(&job, change).await.map(Output::Text)
    }
}
