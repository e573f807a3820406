//! What is about to be written: shown as a diff, checked as a whole, and written only then.

use super::super::check::{check_accounts, refused_account};
use crate::failure::Failure;
use crate::output;
use crate::process::real;
use crate::reach::{Reach, part};
use crate::setting::Setting;
use insula_config::append::{entry_lines, with_entry, with_item};
use insula_config::authority::{Applied, diff};
use insula_config::choose::{ModelChoice, Unwritten, choose};
use insula_config::files::{FileState, FilesSnapshot};
use insula_config::{Account, AccountValue, AgentOutcome, Diagnostic, LoadReport, Loaded, load};
use insula_domain::AgentId;
use insula_registry::daemon::Purpose;
use insula_registry::home::{FileMode, Home};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

/// How a new configuration begins.
const HEADER: &str = "# Insula: one daemon, many agents, each on its own.\n#\n# Change this file while the daemon runs: what you save is checked and applied.\n# `insula check` shows every mistake, `insula check --diff` what an edit would grant or take.\n# All keys are in docs/config.md. Agents stand in agents/<id>/agent.yaml and SOUL.md.\n";

/// What is about to be written.
pub struct Draft {
    before: String,
    config: String,
    agents: Vec<NewAgent>,
    /// Secrets of the daemon, by name.
    secrets: Vec<(String, String)>,
}

struct NewAgent {
    id: AgentId,
    config: String,
    soul: &'static str,
}

impl Draft {
    /// Nothing yet, on top of what there is.
    pub fn begin(setting: &Setting) -> Result<Self, Failure> {
        let before = setting.home.read(&setting.home.config())?.unwrap_or_default();
        let config = if before.trim().is_empty() { HEADER.to_owned() } else { before.clone() };
        Ok(Self { before, config, agents: Vec::new(), secrets: Vec::new() })
    }

    pub fn model(&mut self, choice: &ModelChoice) -> Result<(), Failure> {
        let wrote = choose(&self.config, choice);
        self.wrote(wrote, &choice.lines())
    }

    /// One more entry of a map of the configuration.
    pub fn entry(&mut self, path: &[&'static str], key: &str, value: &str) -> Result<(), Failure> {
        let wrote = with_entry(&self.config, path, key, value);
        self.wrote(wrote, &entry_lines(path, key, value))
    }

    /// One more item of a list of the configuration.
    pub fn item(&mut self, list: &'static str, item: &str) -> Result<(), Failure> {
        let wrote = with_item(&self.config, list, item);
        self.wrote(wrote, &format!("{list}: [{item}]"))
    }

    fn wrote(&mut self, wrote: Result<String, Unwritten>, lines: &str) -> Result<(), Failure> {
        self.config = wrote.map_err(|why| match why {
            why @ Unwritten::There(..) => Failure::Failed(format!(
                "config.yaml is as it was: {why}; change that one there, or give another name"
            )),
            why => {
                let lines = lines.trim_end();
                Failure::Failed(format!(
                    "config.yaml is as it was: {why}; to have it, write into it:\n{lines}"
                ))
            }
        })?;
        Ok(())
    }

    pub fn agent(&mut self, id: AgentId, config: String, soul: &'static str) {
        self.agents.push(NewAgent { id, config, soul });
    }

    pub fn secret(&mut self, name: &str, value: String) {
        self.secrets.push((name.to_owned(), value));
    }

    /// What it would grant and take, or why it can't be.
    pub fn check(&self, setting: &Setting) -> Result<Vec<String>, Failure> {
        let home = &setting.home;
        let mut snapshot = match home.exists() {
            true => FilesSnapshot::read(home.root())?,
            false => FilesSnapshot::default(),
        };
        let variables = &setting.environment.variables;
        let mut before = load(&snapshot, variables);
        if let (report, Some(loaded)) = &mut before {
            check_accounts(setting, loaded, report);
        }
        let had = before.0.errors().count();
        snapshot.config = FileState::Text(self.config.as_str().into());
        for agent in &self.agents {
            let folder = snapshot.folders.entry(agent.id.to_string()).or_default();
            let is_there = !matches!(folder.config, FileState::Absent)
                || !matches!(folder.soul, FileState::Absent)
                || known(before.1.as_ref(), &agent.id);
            if is_there {
                let told = format!("there is an agent `{}` already; give another id", agent.id);
                return Err(Failure::WrongUse(told));
            }
            folder.config = FileState::Text(agent.config.as_str().into());
            folder.soul = FileState::Text(agent.soul.into());
        }
        let (mut report, after) = load(&snapshot, variables);
        if let Some(after) = &after {
            check_accounts(setting, after, &mut report);
        }
        let ready = |id: &AgentId| {
            let outcome = after.as_ref().and_then(|it| it.agents.get(id));
            matches!(outcome, Some(AgentOutcome::Ready(_)))
        };
        if report.errors().count() > had || !self.agents.iter().all(|it| ready(&it.id)) {
            return Err(Failure::WrongUse(format!(
                "nothing was written: {}",
                first(&before.0, &report)
            )));
        }
        if let Some(why) = after.as_ref().and_then(|it| self.refused_secret(setting, it)) {
            return Err(Failure::WrongUse(format!("nothing was written: {why}")));
        }
        // Nobody misses the agent that is there because nobody wrote any.
        let before = before.1.as_ref().filter(|it| it.implicit.is_none());
        let changes = before.zip(after.as_ref()).map(|(before, after)| {
            let changes = diff(&Applied::of(before), &Applied::of(after));
            changes.iter().map(|it| format!("{:<8} {it}", it.kind.as_str())).collect()
        });
        Ok(changes.unwrap_or_default())
    }

    /// Why an account would be refused for a secret that is about to be kept. `check` can't know
    /// it: it reads none.
    fn refused_secret(&self, setting: &Setting, after: &Loaded) -> Option<String> {
        let filled = after.daemon.accounts.iter().filter_map(|account| self.filled(account));
        refused_account(setting, &filled.collect::<Vec<_>>())
    }

    /// An account with the secrets that are new, if it has any of them.
    fn filled(&self, account: &Account) -> Option<Account> {
        let mut filled = account.clone();
        for value in filled.values.values_mut() {
            let AccountValue::Text(text) = value else { continue };
            let known =
                self.secrets.iter().find(|(name, _)| **text == *format!("${{secret:{name}}}"));
            if let Some((_, secret)) = known {
                *text = secret.as_str().into();
            }
        }
        (filled != *account).then_some(filled)
    }

    /// The files, as they are to be, by their paths below the home.
    fn files(&self) -> Vec<(String, &str)> {
        let mut files = Vec::new();
        if self.config != self.before {
            files.push(("config.yaml".to_owned(), &*self.config));
        }
        for agent in &self.agents {
            files.push((format!("agents/{}/agent.yaml", agent.id), &*agent.config));
            files.push((format!("agents/{}/SOUL.md", agent.id), agent.soul));
        }
        files
    }

    pub fn json(&self, changes: &[String]) -> Value {
        json!({
            "files": self.files().iter().map(|(path, _)| path).collect::<Vec<_>>(),
            "secrets": self.secrets.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "changes": changes,
        })
    }

    /// Shows all of it, secrets by name alone.
    pub fn show(&self, changes: &[String]) {
        for (path, text) in self.files() {
            let before = if path == "config.yaml" { &*self.before } else { "" };
            output::line(&path);
            let diff = TextDiff::from_lines(before, text);
            let mut is_gap = false;
            for change in diff.iter_all_changes() {
                let sign = match change.tag() {
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                    ChangeTag::Equal => {
                        is_gap = true;
                        continue;
                    }
                };
                if std::mem::take(&mut is_gap) {
                    output::line("  …");
                }
                output::line(&format!("  {sign} {}", change.value().trim_end()));
            }
        }
        for (name, _) in &self.secrets {
            output::line(&format!("secret {name} of the daemon"));
        }
        if !changes.is_empty() {
            output::line("what that changes:");
            changes.iter().for_each(|change| output::line(&format!("  {change}")));
        }
    }

    /// Writes it. Secrets come first: what refers to them works from the beginning.
    pub async fn write(&self, setting: &Setting) -> Result<(), Failure> {
        let home = &setting.home;
        home.prepare()?;
        if !self.secrets.is_empty() {
            let reach = Reach::open(setting, Purpose::Change).await?;
            for (name, value) in &self.secrets {
                let path = format!("/api/daemon/secrets/{}", part(name));
                let set = reach.put(&path, json!({ "value": value })).await;
                if let Err(error) = set {
                    reach.close().await;
                    return Err(error);
                }
            }
            reach.close().await;
        }
        let new = self.agents.iter().filter(|it| !home.has_agent_folder(&it.id));
        let new: Vec<&AgentId> = new.map(|it| &it.id).collect();
        if let Err(error) = self.write_files(home) {
            // Half a folder would be no agent, and keep its id from being used.
            new.into_iter().for_each(|id| drop(home.remove_agent(id)));
            return Err(error);
        }
        let reach = Reach::open(setting, Purpose::Change).await?;
        let applied = match reach.is_daemon() {
            true => reach.post("/api/reload", None).await.map(drop),
            false => Ok(()),
        };
        reach.close().await;
        applied
    }

    fn write_files(&self, home: &Home) -> Result<(), Failure> {
        // Agents before what names them.
        for (path, text) in self.files().into_iter().rev() {
            let place = home.root().join(&path);
            match path == "config.yaml" {
                true => home.write(&real(&place), text.as_bytes(), FileMode::Private)?,
                false => home.write_new(&place, text.as_bytes())?,
            }
        }
        Ok(())
    }
}

fn known(loaded: Option<&Loaded>, id: &AgentId) -> bool {
    loaded.is_some_and(|it| it.agents.contains_key(id) && it.implicit.as_ref() != Some(id))
}

/// The first error that was not there before, and what to do about it.
fn first(before: &LoadReport, report: &LoadReport) -> String {
    let said = |found: &Diagnostic| match &found.help {
        Some(help) => format!("{}; {help}", found.message),
        None => found.message.clone(),
    };
    let is_new = |found: &&Diagnostic| before.errors().all(|it| it.message != found.message);
    let found = report.errors().find(is_new).or_else(|| report.errors().next());
    found.map_or_else(|| "the agent would not start".to_owned(), said)
}
