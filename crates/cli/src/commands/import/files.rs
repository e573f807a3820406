//! Writes the files of imported agents, and what they share into `config.yaml`. What stands there
//! already is the operator's and stays.

use super::Done;
use super::brought::Brought;
use super::identity::Whereto;
use super::left_out;
use crate::failure::Failure;
use crate::setting::Setting;
use insula_config::extend::{add_entry, add_item, has_item};
use insula_domain::Platform;
use insula_import::{AgentPlan, BoardPlan, Place, Plan, flow, yaml};
use insula_registry::home::FileMode;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Writes them.
pub(super) fn write(
    setting: &Setting,
    plan: &Plan,
    (whereto, brought): (&Whereto, &Brought),
    done: &mut Done,
) -> Result<(), Failure> {
    for agent in &plan.agents {
        let folder = setting.home.agent(&agent.id);
        // Before it: an import that is cut off in between has to know its own agent again.
        if let Some((mark, text)) = whereto.marks.get(&agent.id) {
            put(setting, mark, text.as_bytes())?;
        }
        // What it says may stand in `config.yaml` by now.
        let is_known = brought.has(&left_out::file(&agent.origin, "agent.yaml"));
        let text = agent_yaml(plan, agent);
        let is_new = !is_known && put(setting, &folder.join("agent.yaml"), text.as_bytes())?;
        done.agents.note(is_new);
        if let Some(soul) = &agent.soul {
            done.files.note(put(setting, &folder.join("SOUL.md"), soul.as_bytes())?);
        }
        for (name, bytes) in &agent.files {
            done.files.note(put(setting, &folder.join("workspace").join(name), bytes)?);
        }
        for (name, bytes) in &agent.hooks {
            done.files.note(put(setting, &folder.join("hooks").join(name), bytes)?);
        }
    }
    shared(setting, plan, done)
}

/// Writes a file that is not there; whether it did.
fn put(setting: &Setting, path: &Path, bytes: &[u8]) -> Result<bool, Failure> {
    if setting.home.is_file(path) {
        return Ok(false);
    }
    setting.home.write_new(path, bytes)?;
    Ok(true)
}

fn agent_yaml(plan: &Plan, agent: &AgentPlan) -> String {
    let (source, origin) = (plan.source.as_str(), agent.origin.escape_default());
    format!(
        "# Imported from {source}, where it was called {origin}. It is yours to edit.\n{}",
        yaml(&agent.settings)
    )
}

/// Accounts, bindings and boards.
fn shared(setting: &Setting, plan: &Plan, done: &mut Done) -> Result<(), Failure> {
    let path = setting.home.config();
    let before = setting.home.read(&path)?;
    let mut text = before.clone().unwrap_or_else(|| {
        "# Insula. All keys are in docs/config.md; `insula check` says what is wrong.\n".to_owned()
    });
    for account in &plan.accounts {
        let Ok(platform) = Platform::new(&account.platform) else { continue };
        let at = ["channels", platform.as_str(), "accounts"];
        let value = flow(&Value::Object(account.settings.clone()));
        let what = format!("{platform} account");
        let more = add_entry(&text, (&at, &account.name), &value);
        let by_hand =
            format!("channels: {{{platform}: {{accounts: {{{}: {value}}}}}}}", account.name);
        text = added(&mut done.accounts, text, more).unwrap_or_else(|(text, why)| {
            let note = format!("config.yaml: {why}; write it there yourself: {by_hand}");
            done.trouble(None, &what, &account.from, note);
            text
        });
    }
    for binding in &plan.bindings {
        let value = left_out::rule(&binding.agent, &binding.fields);
        if has_item(&text, "bindings", &value) {
            done.bindings.note(false);
            continue;
        }
        let more = add_item(&text, "bindings", &value);
        text = added(&mut done.bindings, text, more).unwrap_or_else(|(text, why)| {
            let note = format!("config.yaml: {why}; write it there yourself: {value}");
            done.trouble(Some(&binding.agent), "binding", &binding.from, note);
            text
        });
    }
    for board in &plan.boards {
        let value = flow(&board_settings(board));
        let more = add_entry(&text, (&["boards"], board.name.as_str()), &value);
        text = added(&mut done.boards, text, more).unwrap_or_else(|(text, why)| {
            let by_hand = format!("boards: {{{}: {value}}}", board.name);
            let note = format!("config.yaml: {why}; write it there yourself: {by_hand}");
            done.trouble(None, "board", &board.from, note);
            text
        });
    }
    match before {
        Some(before) if before == text => Ok(()),
        Some(_) => Ok(setting.home.write(&path, text.as_bytes(), FileMode::Private)?),
        None => Ok(setting.home.write_new(&path, text.as_bytes())?),
    }
}

/// A board on which those work that had cards there, once somebody says so.
fn board_settings(board: &BoardPlan) -> Value {
    let agents: Map<String, Value> =
        board.agents.iter().map(|it| (it.to_string(), json!("work"))).collect();
    let mut settings = Map::new();
    if let Some(description) = &board.description {
        settings.insert("description".to_owned(), json!(description));
    }
    if !agents.is_empty() {
        settings.insert("agents".to_owned(), agents.into());
    }
    settings.insert("max_running".to_owned(), json!(0));
    settings.into()
}

fn added<E>(
    tally: &mut super::Tally,
    text: String,
    more: Result<String, E>,
) -> Result<String, (String, E)> {
    match more {
        Ok(more) => {
            tally.note(more != text);
            Ok(more)
        }
        Err(why) => Err((text, why)),
    }
}

/// A place for what has none in their files.
pub(super) fn nowhere() -> Place {
    Place::default()
}
