//! An agent is called otherwise: its folder, its secrets, its conversations, what tokens, boards,
//! bindings, links and the ledgers say of it. Nothing is reached by the old name any more, and an
//! agent that is given it later is another.
//!
//! It is done while a home is opened, before anything in it is read: nothing of the agent is in
//! memory then, and nothing of it runs. What is to be done stands in a file until all of it is, and
//! each step may be made again, so that a crash in the middle is followed by the rest.

use crate::error::RuntimeError;
use crate::home::{FileMode, Home};
use crate::secrets::SecretBook;
use crate::trail::Trail;
use crate::{handoffs, home_chats, jobs, tokens};
use insula_config::files::{FileState, FilesSnapshot};
use insula_config::renamed::{ConfigText, renamed};
use insula_config::source::Sources;
use insula_config::{AgentOutcome, Loaded, load, yaml};
use insula_domain::{Actor, AgentId};
use insula_store::{DaemonCommand, Store, StoreOptions, adopt};
use insula_vault::Vault;
use insula_world::World;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Where the users of programs are kept; whose they are is the agents'.
const USERS: &str = "children.users";

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renaming {
    pub from: AgentId,
    pub to: AgentId,
}

impl Renaming {
    fn file(home: &Home) -> PathBuf {
        home.run().join("rename.json")
    }

    /// Whether a home is to rename an agent when it is opened next.
    pub fn is_pending(home: &Home) -> bool {
        home.is_file(&Self::file(home))
    }

    /// What a home is to do then.
    pub fn pending(home: &Home) -> Result<Option<Self>, RuntimeError> {
        let Some(text) = home.read(&Self::file(home))? else { return Ok(None) };
        let kept: Value = serde_json::from_str(&text).unwrap_or_default();
        let id = |key: &str| AgentId::new(kept[key].as_str().unwrap_or_default()).ok();
        Ok(id("from").zip(id("to")).map(|(from, to)| Self { from, to }))
    }

    /// Says what is to be done at the next opening, after making sure that it can be.
    pub fn wish(
        &self,
        home: &Home,
        files: &FilesSnapshot,
        variables: &BTreeMap<String, String>,
    ) -> Result<(), RuntimeError> {
        self.rehearse(home, files, variables)?;
        let text = json!({ "from": self.from.as_str(), "to": self.to.as_str() }).to_string();
        home.write(&Self::file(home), text.as_bytes(), FileMode::Private)
    }

    /// Takes a wish back.
    pub fn withdraw(home: &Home) -> Result<(), RuntimeError> {
        home.remove(&Self::file(home))
    }

    /// Whether every agent would be what it is, but for one name.
    fn rehearse(
        &self,
        home: &Home,
        files: &FilesSnapshot,
        variables: &BTreeMap<String, String>,
    ) -> Result<(), RuntimeError> {
        let Self { from, to } = self;
        let invalid = |what: String| Err(RuntimeError::Invalid(what));
        let Some(before) = load(files, variables).1 else {
            return invalid("the configuration has an error; `insula check` shows it".to_owned());
        };
        match before.agents.get(from) {
            None => return Err(RuntimeError::NoSuchAgent(from.as_str().into())),
            Some(AgentOutcome::Failed(why)) => {
                return invalid(format!("agent `{from}` does not work as it is configured: {why}"));
            }
            Some(AgentOutcome::Ready(_)) => {}
        }
        if before.agents.contains_key(to) || home.has_agent_folder(to) {
            return invalid(format!("there is an agent `{to}` already; choose another name"));
        }
        let mut after = files.clone();
        for (name, folder) in &mut after.folders {
            if let FileState::Text(text) = &folder.config {
                let place = format!("agents/{name}/agent.yaml");
                folder.config = FileState::Text(self.text(&place, text, ConfigText::Agent)?.into());
            }
        }
        if let FileState::Text(text) = &after.config {
            after.config = FileState::Text(self.text("config.yaml", text, ConfigText::Top)?.into());
        }
        let folder = after.folders.remove(from.as_str());
        if let Some(mut folder) = folder {
            if before.implicit.as_ref() == Some(from) {
                folder.config = FileState::Text(IMPLICIT.into());
            }
            after.folders.insert(to.to_string(), folder);
        } else if before.implicit.as_ref() == Some(from) {
            let config = FileState::Text(IMPLICIT.into());
            let folder = insula_config::files::FolderFiles { config, ..Default::default() };
            after.folders.insert(to.to_string(), folder);
        }
        let Some(after) = load(&after, variables).1 else {
            return invalid(format!("the configuration would have an error with `{to}` in it"));
        };
        if self.states(&before) == states_of(&after) {
            return Ok(());
        }
        invalid(format!(
            "the configuration would not mean the same with `{from}` called `{to}`; write it there by hand where it is in no plain place, such as behind an anchor"
        ))
    }

    fn text(&self, place: &str, text: &str, which: ConfigText) -> Result<String, RuntimeError> {
        renamed(text, which, (&self.from, &self.to))
            .map_err(|error| RuntimeError::Invalid(format!("{place}: {error}")))
    }

    /// Which agents there are and whether each works, with the new name.
    fn states(&self, loaded: &Loaded) -> BTreeMap<String, bool> {
        let mut states = states_of(loaded);
        if let Some(state) = states.remove(self.from.as_str()) {
            states.insert(self.to.to_string(), state);
        }
        states
    }
}

/// What is written for the built-in agent, which nobody wrote.
const IMPLICIT: &str = "default: true\nmemory: true\n";

fn states_of(loaded: &Loaded) -> BTreeMap<String, bool> {
    let works = |it: &AgentOutcome| matches!(it, AgentOutcome::Ready(_));
    loaded.agents.iter().map(|(id, outcome)| (id.to_string(), works(outcome))).collect()
}

/// Does what is to be done in a home, and all that a crash left of it. What goes wrong is said and
/// tried again at the next opening; the home is opened all the same.
pub(crate) async fn carry_out(home: &Home, world: &World, options: StoreOptions) {
    let pending = match Renaming::pending(home) {
        Ok(None) => return,
        Ok(Some(pending)) => pending,
        Err(error) => {
            tracing::error!(error = error.reason(), "what is to be renamed can't be read");
            return;
        }
    };
    let Renaming { from, to } = &pending;
    match all(home, (world, options), &pending).await {
        Ok(()) => tracing::info!(%from, %to, "agent renamed"),
        Err(error) => {
            tracing::error!(%from, %to, error = error.reason(), "an agent is not renamed whole yet; it is tried again at the next start");
        }
    }
}

async fn all(
    home: &Home,
    (world, options): (&World, StoreOptions),
    what: &Renaming,
) -> Result<(), RuntimeError> {
    let Renaming { from, to } = what;
    let was_there = home.has_agent_folder(from);
    if was_there && home.has_agent_folder(to) {
        // Somebody made one of that name meanwhile: nothing was done yet, and nothing is.
        Renaming::withdraw(home)?;
        return Err(RuntimeError::Invalid(format!("there is an agent `{to}` by now")));
    }
    secrets(home, world, what).await?;
    let (place, moved) = (home.clone(), what.clone());
    let files = move || -> Result<(), RuntimeError> {
        files(&place, &moved)?;
        adopt(place.root(), &moved.from, &moved.to).map_err(RuntimeError::from)
    };
    world.storage.run(files).await.map_err(insula_store::StoreError::from)??;
    ledgers(home, (world, options), what).await?;
    Renaming::withdraw(home)
}

/// Its secrets, sealed for the new name.
async fn secrets(home: &Home, world: &World, what: &Renaming) -> Result<(), RuntimeError> {
    let vault = Vault::at(home.root(), world);
    let (old, new) = (vault.agent(&what.from), vault.agent(&what.to));
    let names = old.names().await?;
    if names.is_empty() {
        return Ok(());
    }
    for entry in names {
        if let Some(secret) = old.get(&entry.name).await? {
            new.set(&entry.name, secret).await?;
        }
    }
    Ok(vault.forget(&what.from).await?)
}

/// Its folder, and every file that names it.
fn files(home: &Home, what: &Renaming) -> Result<(), RuntimeError> {
    home.rename_agent(&what.from, &what.to)?;
    let own = home.agent(&what.to).join("agent.yaml");
    let config = home.read(&home.config())?;
    let is_written = [&what.from, &what.to]
        .into_iter()
        .any(|id| config.as_deref().is_some_and(|text| has_agent(text, id)));
    if !home.is_file(&own) && !is_written {
        // The built-in agent stands in no file.
        home.write(&own, IMPLICIT.as_bytes(), FileMode::Private)?;
    }
    for id in home.agent_folders() {
        let path = home.agent(&id).join("agent.yaml");
        rewrite(home, &path, what, ConfigText::Agent)?;
    }
    rewrite(home, &home.config(), what, ConfigText::Top)
}

/// Whether an agent stands in a `config.yaml`.
fn has_agent(text: &str, id: &AgentId) -> bool {
    let source = Sources::default().add("config.yaml", text);
    let root = yaml::parse(source, text).ok();
    root.as_ref().and_then(|root| root.get("agents")?.get(id.as_str())).is_some()
}

fn rewrite(
    home: &Home,
    path: &std::path::Path,
    what: &Renaming,
    which: ConfigText,
) -> Result<(), RuntimeError> {
    let Some(before) = home.read(path)? else { return Ok(()) };
    let after = what.text(&path.display().to_string(), &before, which)?;
    match after == before {
        true => Ok(()),
        false => home.write(path, after.as_bytes(), FileMode::Private),
    }
}

/// What the daemon's database knows of it, in one change, with the record that says so.
async fn ledgers(
    home: &Home,
    (world, options): (&World, StoreOptions),
    what: &Renaming,
) -> Result<(), RuntimeError> {
    let Renaming { from, to } = what;
    let store = Store::open(options, world.clone()).await?;
    let owner = store.claim(&world.random.stream(&["renaming"]).id()).await?;
    let done = async {
        let rows = store.daemon().agents().await?;
        if !rows.iter().any(|row| row.id == *from) {
            return Ok(());
        }
        let secrets = Arc::new(SecretBook::new(home, world));
        let trail = Trail::new(world, &secrets);
        let content = json!({ "from": from.as_str(), "to": to.as_str() });
        let mut batch = vec![DaemonCommand::RenameAgent { from: from.clone(), to: to.clone() }];
        for key in [tokens::KEPT, home_chats::KEPT, handoffs::KEPT, USERS] {
            let Some(value) = store.daemon().value(key).await? else { continue };
            let Some(value) = kept_anew(key, &value, what) else { continue };
            batch.push(DaemonCommand::PutValue { key: key.into(), value });
        }
        let (job, new) = (jobs::key(from), jobs::key(to));
        if let Some(value) = store.daemon().value(&job).await? {
            batch.push(DaemonCommand::PutValue { key: new, value });
            batch.push(DaemonCommand::DropValue { key: job });
        }
        let record = trail.entry_of(to, &Actor::CommandLine, "agent.renamed", 0, content.clone());
        batch.push(DaemonCommand::QueueAudit(to.clone(), record));
        let entry = trail.entry(&Actor::CommandLine, "agent.renamed", 0, content);
        batch.push(DaemonCommand::Audit(entry));
        owner.daemon().commit(batch).await.map(drop).map_err(RuntimeError::from)
    };
    let done = done.await;
    store.shutdown().await;
    done
}

/// A value of the daemon's database with the new name; `None` where it does not have the old one.
fn kept_anew(key: &str, text: &str, what: &Renaming) -> Option<String> {
    let before: Value = serde_json::from_str(text).ok()?;
    let (from, to) = (what.from.as_str(), what.to.as_str());
    let name = |text: &str| if text == from { to.to_owned() } else { text.to_owned() };
    let mut after = before.clone();
    let all = after.as_object_mut()?;
    if key == tokens::KEPT {
        for token in all.values_mut() {
            for agent in token["agents"].as_array_mut().into_iter().flatten() {
                *agent = json!(name(agent.as_str().unwrap_or_default()));
            }
        }
    } else if key == home_chats::KEPT {
        *all = with_keys(all, name);
    } else if key == USERS {
        if let Some(Value::Object(users)) = all.get_mut("agents") {
            *users = with_keys(users, name);
        }
    } else {
        // Conversations, and who answers in each.
        let start = format!("agent:{from}:");
        let session = |text: &str| match text.strip_prefix(&start) {
            Some(rest) => format!("agent:{to}:{rest}"),
            None => text.to_owned(),
        };
        *all = with_keys(all, session);
        for answers in all.values_mut() {
            *answers = json!(name(answers.as_str().unwrap_or_default()));
        }
    }
    (after != before).then(|| after.to_string())
}

fn with_keys(map: &Map<String, Value>, name: impl Fn(&str) -> String) -> Map<String, Value> {
    map.iter().map(|(key, value)| (name(key), value.clone())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_an_agent_is_kept_under_its_new_name() {
        let id = |text: &str| AgentId::new(text).unwrap();
        let what = Renaming { from: id("a"), to: id("b") };
        for (key, before, after) in [
            (
                tokens::KEPT,
                json!({ "t": { "agents": ["a", "ab"], "note": "a" }, "u": { "agents": ["c"] } }),
                json!({ "t": { "agents": ["b", "ab"], "note": "a" }, "u": { "agents": ["c"] } }),
            ),
            (home_chats::KEPT, json!({ "a": { "by": "a" } }), json!({ "b": { "by": "a" } })),
            (
                USERS,
                json!({ "given": [7], "agents": { "a": 7, "ab": 8 } }),
                json!({ "given": [7], "agents": { "b": 7, "ab": 8 } }),
            ),
            (
                handoffs::KEPT,
                json!({ "agent:a:telegram:m:dm:1": "c", "agent:c:telegram:m:dm:1": "a" }),
                json!({ "agent:b:telegram:m:dm:1": "c", "agent:c:telegram:m:dm:1": "b" }),
            ),
        ] {
            let kept = kept_anew(key, &before.to_string(), &what).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), after, "{key}");
            assert_eq!(kept_anew(key, &kept, &what), None, "{key}: a second time");
        }
    }
}
