//! Looking at what really happened: files, rows, prompts, the audit.

use super::Ground;
use crate::canary::{self, Canary};
use crate::machine;
use crate::puppet::Script;
use anyhow::Result;
use serde_json::Value;
use std::sync::Arc;

/// A place and its bytes.
pub type Sight = (String, Vec<u8>);

impl Ground {
    /// The text of a file of the home; empty where there is none.
    pub fn text(&self, path: &str) -> String {
        self.home().read(path).unwrap_or_default()
    }

    /// Whether a path of the home is there.
    pub fn has(&self, path: &str) -> bool {
        machine::is_there(&self.home().path().join(path))
    }

    /// Every request to the model of an agent, as bytes.
    pub fn prompts_of(&self, agent: &str) -> Vec<Arc<Vec<u8>>> {
        self.puppets.prompts_of(agent)
    }

    /// The audit records of an agent, oldest first.
    pub fn audit(&self, agent: &str) -> Result<Vec<Value>> {
        let path = format!("/api/agents/{agent}/audit?limit=1000");
        let answer = self.admin("GET", &path, &Value::Null)?.json();
        let records = answer.as_array().or_else(|| answer["records"].as_array());
        Ok(records.cloned().unwrap_or_default())
    }

    /// How many audit records of a kind an agent has, whose text holds these words.
    pub fn audited(&self, agent: &str, kind: &str, words: &str) -> Result<usize> {
        let records = self.audit(agent)?;
        let is_it = |it: &&Value| it["kind"] == kind && it.to_string().contains(words);
        Ok(records.iter().filter(is_it).count())
    }

    /// Every row of an agent's database, by table.
    pub fn rows(&self, agent: &str) -> Result<Vec<(String, Vec<String>)>> {
        machine::rows(&self.path(&format!("agents/{agent}/agent.db"))?)
    }

    /// The rows of one table of an agent's database.
    pub fn table(&self, agent: &str, table: &str) -> Result<Vec<String>> {
        let all = self.rows(agent)?;
        Ok(all
            .into_iter()
            .find(|(name, _)| name == table)
            .map(|(_, rows)| rows)
            .unwrap_or_default())
    }

    /// Whether a tool is shown to an agent's model, by the request that its model is sent.
    pub fn exposes(&self, agent: &str, tool: &str) -> Result<bool> {
        let turn = self.turn(agent, "tools", Script::say("x"))?;
        let tools = turn.requests.first().map(|request| request["tools"].clone());
        let tools = tools.and_then(|tools| tools.as_array().cloned()).unwrap_or_default();
        Ok(tools.iter().any(|it| it["function"]["name"] == tool))
    }

    /// Everything that belongs to an agent or that it could have seen: its prompts, the files of
    /// its folder (its database, its log, its workspace among them), and the rows.
    pub fn all_of(&self, agent: &str) -> Result<Vec<Sight>> {
        let mut seen: Vec<Sight> = self
            .prompts_of(agent)
            .into_iter()
            .map(|body| (format!("a prompt of {agent}"), body.to_vec()))
            .collect();
        let folder = self.path(&format!("agents/{agent}"))?;
        for path in machine::files_below(&folder) {
            let name = path.strip_prefix(&folder).unwrap_or(&path).display().to_string();
            // What goes while it is looked at is not there.
            if let Ok(bytes) = machine::read(&path) {
                seen.push((format!("{name} of {agent}"), bytes));
            }
        }
        Ok(seen)
    }

    /// What belongs to nobody alone: the daemon's log, its database, metrics for strangers.
    pub fn common(&self) -> Result<Vec<Sight>> {
        let mut seen = vec![("the daemon's log".to_owned(), self.log().into_bytes())];
        let home = self.path("")?;
        for name in machine::names(&home).iter().filter(|name| name.starts_with("insula.db")) {
            seen.push((name.clone(), machine::read(&home.join(name)).unwrap_or_default()));
        }
        let metrics = machine::request(self.listen()?, "GET", "/metrics", &[], "")?;
        seen.push(("the metrics".to_owned(), metrics.body.into_bytes()));
        Ok(seen)
    }

    /// Where a canary is that an agent must not have, if anywhere: in all that is the agent's
    /// and in what is common.
    pub fn leaked_to(&self, agent: &str, canaries: &[Canary]) -> Result<Option<String>> {
        let mut seen = self.all_of(agent)?;
        seen.extend(self.common()?);
        Ok(leak_in(canaries, &seen))
    }
}

/// Where any of these canaries is.
pub fn leak_in(canaries: &[Canary], seen: &[Sight]) -> Option<String> {
    canary::leak(canaries, seen.iter().map(|(place, bytes)| (place.as_str(), bytes.as_slice())))
}
