//! `insula agents set`: writes one setting into an agent's own file, after making sure that the
//! agent works with it. What stands elsewhere is not touched.

use crate::arguments::SetKey;
use crate::failure::Failure;
use crate::names::files::agent_called;
use crate::output;
use crate::setting::{Answer, Setting};
use insula_config::authority::{Applied, ConfigChange, diff};
use insula_config::files::{FileState, FilesSnapshot};
use insula_config::yaml::Layer;
use insula_config::{AgentOutcome, Diagnostic, FindingOwner, LoadReport, Loaded, load};
use insula_domain::AgentId;
use insula_registry::home::FileMode;
use serde_json::json;
use std::collections::BTreeMap;

/// Runs it.
pub fn run(setting: &Setting, wish: &SetKey) -> Result<u8, Failure> {
    let home = &setting.home;
    let line = line(wish)?;
    if !home.exists() {
        let path = home.root().display();
        return Err(Failure::Failed(format!(
            "there is no home at {path}; `insula up` creates one"
        )));
    }
    let id = agent_called(setting, &wish.agent)?;
    let mut snapshot = FilesSnapshot::read(home.root())?;
    let variables = &setting.environment.variables;
    let before = loaded(&snapshot, variables)?;
    if !before.agents.contains_key(&id) {
        return Err(Failure::Failed(format!("there is no agent `{id}`")));
    }
    if before.implicit.as_ref() == Some(&id) {
        return Err(Failure::Failed(format!(
            "agent `{id}` is built in; write it into config.yaml, with `{}`",
            line.trim_end()
        )));
    }
    if let Some(place) = standing(&before, &id, &wish.key) {
        return Err(Failure::WrongUse(format!(
            "`{}` of {id} is set already, at {place}; change it there",
            wish.key
        )));
    }
    let folder = snapshot.folders.entry(id.to_string()).or_default();
    let (text, is_new) = match &folder.config {
        FileState::Absent => (line, true),
        FileState::Text(text) if text.is_empty() || text.ends_with('\n') => {
            (format!("{text}{line}"), false)
        }
        FileState::Text(text) => (format!("{text}\n{line}"), false),
        FileState::Unreadable(why) => {
            return Err(Failure::Failed(format!("agents/{id}/agent.yaml {why}")));
        }
    };
    folder.config = FileState::Text(text.as_str().into());
    let (report, after) = load(&snapshot, variables);
    let Some(after) = after.filter(|it| matches!(it.agents.get(&id), Some(AgentOutcome::Ready(_))))
    else {
        return Err(Failure::WrongUse(refusal(&report, &id, &wish.key)));
    };
    let path = home.agent(&id).join("agent.yaml");
    match is_new {
        true => home.write_new(&path, text.as_bytes())?,
        false => home.write(&path, text.as_bytes(), FileMode::Private)?,
    }
    let changes = diff(&Applied::of(&before), &Applied::of(&after));
    tell(setting, &id, wish, &changes);
    Ok(0)
}

/// Where an agent's own part sets a key.
fn standing(loaded: &Loaded, id: &AgentId, key: &str) -> Option<String> {
    let AgentOutcome::Ready(config) = loaded.agents.get(id)? else { return None };
    let is_it = |path: &str| {
        path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let own = config.settings.iter().filter(|it| it.origin.layer == Layer::Own);
    own.into_iter().find(|it| is_it(&it.path)).map(|it| it.origin.to_string())
}

/// The line of the file. A key is a word and a value one line, so that one setting is written and
/// nothing else.
fn line(wish: &SetKey) -> Result<String, Failure> {
    let is_word = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    if !is_word(&wish.key) {
        return Err(Failure::WrongUse(format!(
            "`{}` is no key of an agent; docs/config.md has them",
            output::clean(&wish.key)
        )));
    }
    if wish.value.trim().is_empty() || wish.value.contains(char::is_control) {
        return Err(Failure::WrongUse("write the value on one line, as YAML".to_owned()));
    }
    Ok(format!("{}: {}\n", wish.key, wish.value.trim()))
}

fn loaded(
    snapshot: &FilesSnapshot,
    variables: &BTreeMap<String, String>,
) -> Result<Loaded, Failure> {
    load(snapshot, variables).1.ok_or_else(|| {
        Failure::WrongUse("the configuration has an error; `insula check` shows it".to_owned())
    })
}

/// Why the agent would not work with it.
fn refusal(report: &LoadReport, id: &AgentId, key: &str) -> String {
    let own = FindingOwner::Agent(id.as_str().into());
    let errors = || report.errors();
    let found = errors().find(|found| found.owner == own).or_else(|| errors().next());
    let said = |found: &Diagnostic| match &found.help {
        Some(help) => format!("{}; {help}", found.message),
        None => found.message.clone(),
    };
    let why = found.map_or_else(|| "it is no setting of this agent".to_owned(), said);
    format!("`{key}` was not written: {why}")
}

fn tell(setting: &Setting, id: &AgentId, wish: &SetKey, changes: &[ConfigChange]) {
    let file = format!("agents/{id}/agent.yaml");
    let answer = json!({
        "agent": id.as_str(),
        "key": wish.key,
        "file": file,
        "changes": changes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    match setting.answer {
        Answer::Json => output::json(&answer),
        Answer::Text => {
            output::line(&format!("wrote `{}` of {id} into {file}", wish.key));
            for change in changes {
                output::line(&format!("{:<8} {change}", change.kind.as_str()));
            }
        }
    }
}
