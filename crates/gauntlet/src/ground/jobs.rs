//! Jobs of agents: one that is added, run at once, and looked at when its run is over.

use super::{Ground, Turn};
use crate::machine::{self, Answer};
use crate::puppet::Script;
use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// What became of a run.
pub struct Ran {
    /// How it ended, such as `done` or `denied`.
    pub outcome: String,
    /// Why, where it says so.
    pub why: String,
    pub turn: Turn,
}

impl Ground {
    /// Adds a job as whoever has this token; its turns play a script.
    pub fn add_job(
        &self,
        token: &str,
        agent: &str,
        mut settings: Value,
        script: Script,
    ) -> Result<(Answer, String)> {
        let tag = self.puppets.learn(script);
        settings["prompt"] = json!(format!("do it {tag}"));
        if settings["schedule"].is_null() {
            settings["schedule"] = json!("every 1h");
        }
        let added = self.api(token, "POST", &format!("/api/agents/{agent}/jobs"), &settings)?;
        Ok((added, tag))
    }

    /// Has a job run now, and waits for its end.
    pub fn run_job(&self, agent: &str, name: &str, tag: &str) -> Result<Ran> {
        let path = format!("/api/agents/{agent}/jobs/{name}");
        let begun = self.admin("POST", &format!("{path}/run"), &Value::Null)?;
        let moment = begun.json()["scheduled_at"].clone();
        anyhow::ensure!(begun.status == 202, "the job does not run: {begun:?}");
        let run = machine::eventually("the run is over", || {
            let runs = self.admin("GET", &format!("{path}/runs"), &Value::Null)?.json();
            let mut runs = runs.as_array().cloned().unwrap_or_default().into_iter();
            let run = runs.find(|run| run["scheduled_at"] == moment);
            Ok(run.filter(|run| !run["outcome"].is_null()))
        })?;
        let text = |key: &str| run[key].as_str().unwrap_or_default().to_owned();
        Ok(Ran { outcome: text("outcome"), why: text("why"), turn: self.so_far(tag) })
    }

    /// Adds a job as the admin of all, and runs it.
    pub fn job(&self, agent: &str, settings: Value, script: Script) -> Result<Ran> {
        let admin = self.home.read("run/admin.token")?;
        let (added, tag) = self.add_job(&admin, agent, settings, script)?;
        let name = added.json()["name"].as_str().map(str::to_owned);
        let name = name.with_context(|| format!("the job can't be added: {added:?}"))?;
        self.run_job(agent, &name, &tag)
    }
}
