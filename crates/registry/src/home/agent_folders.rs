//! The folders of agents: made, renamed and removed whole, and the few files in them that the
//! daemon writes beside their databases.
#![expect(clippy::disallowed_methods, reason = "owns the folders of agents, below the home")]

use super::files::{FileMode, Home, file_error, private_folder, sync_folder, write_whole};
use crate::error::RuntimeError;
use crate::removal::remove_whole;
use insula_domain::AgentId;
use insula_world::Timestamp;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;
use std::{fs, io};

/// The file of an agent that says what is known of the tools of its MCP servers.
const PINS: &str = "mcp.json";

/// Where what programs printed is kept, in an agent's folder, by conversation.
pub(crate) const OUTPUT: &str = "output";

/// How folders of deleted agents are called until they are gone.
const DELETED_PREFIX: &str = ".deleted-";

/// Folders of deleted agents of one name that may be left at once.
const ASIDES_MAX: usize = 1_000;

/// How folders of new agents are called until they are whole.
const NEW_PREFIX: &str = ".new-";

impl Home {
    /// Removes what programs printed in a conversation of an agent.
    pub fn remove_output(&self, id: &AgentId, session: &str) -> Result<(), RuntimeError> {
        let path = self.agent(id).join(OUTPUT).join(session);
        remove_whole(&path).map_err(|error| file_error(&path, "can't be removed", &error))
    }

    /// What is known of the tools of an agent's MCP servers, as it was last written.
    pub fn read_pins(&self, id: &AgentId) -> Result<Option<String>, RuntimeError> {
        let path = self.agent(id).join(PINS);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(file_error(&path, "can't be read", &error)),
        }
    }

    /// Writes what is known of the tools of an agent's MCP servers.
    pub fn write_pins(&self, id: &AgentId, text: &str) -> Result<(), RuntimeError> {
        let path = self.agent(id).join(PINS);
        private_folder(&self.agent(id))
            .and_then(|()| write_whole(&path, text.as_bytes(), FileMode::Private))
            .map_err(|error| file_error(&path, "can't be written", &error))
    }

    /// Whether an agent has a folder, whatever is in it.
    pub fn has_agent_folder(&self, id: &AgentId) -> bool {
        self.agent(id).symlink_metadata().is_ok()
    }

    /// When an agent's database was last written to, about; `None` where it has none yet. It is not
    /// opened: agents at rest are left at rest.
    pub fn last_written(&self, id: &AgentId) -> Option<Timestamp> {
        let of = |name: &str| {
            let changed = self.agent(id).join(name).symlink_metadata().ok()?.modified().ok()?;
            changed.duration_since(UNIX_EPOCH).ok()
        };
        let last = of("agent.db")?.max(of("agent.db-wal").unwrap_or_default());
        Some(Timestamp::from_millis(i64::try_from(last.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Makes the folder of a new agent, with its `agent.yaml`, whole or not at all: half a
    /// folder would be no agent, and keep its id from being used.
    pub fn add_agent(&self, id: &AgentId, agent_yaml: &[u8]) -> Result<(), RuntimeError> {
        let folder = self.agent(id);
        let aside = self.agents().join(format!("{NEW_PREFIX}{id}"));
        remove_whole(&aside).map_err(|error| file_error(&aside, "can't be removed", &error))?;
        self.write_new(&aside.join("agent.yaml"), agent_yaml)?;
        fs::rename(&aside, &folder)
            .and_then(|()| sync_folder(&self.agents()))
            .map_err(|error| file_error(&folder, "can't be created", &error))
    }

    /// Gives the folder of an agent another name, unless that was done before.
    pub fn rename_agent(&self, from: &AgentId, to: &AgentId) -> Result<(), RuntimeError> {
        let (old, new) = (self.agent(from), self.agent(to));
        if !self.has_agent_folder(from) || self.has_agent_folder(to) {
            return Ok(());
        }
        fs::rename(&old, &new)
            .and_then(|()| sync_folder(&self.agents()))
            .map_err(|error| file_error(&old, "can't be renamed", &error))
    }

    /// The agents that have a folder, whether or not anybody names them.
    pub fn agent_folders(&self) -> Vec<AgentId> {
        let entries = fs::read_dir(self.agents()).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| AgentId::new(&name).ok()).collect()
    }

    /// Takes an agent's folder out of sight at once and then removes it, with what earlier
    /// deletions of the same name left. What a crash leaves, [`Home::sweep`] removes.
    pub fn remove_agent(&self, id: &AgentId) -> Result<(), RuntimeError> {
        let folder = self.agent(id);
        let failed = |error: io::Error| file_error(&folder, "can't be removed", &error);
        if self.has_agent_folder(id) {
            let aside =
                self.aside(id).ok_or_else(|| failed(io::ErrorKind::AlreadyExists.into()))?;
            match fs::rename(&folder, &aside) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                renamed => renamed.map_err(failed)?,
            }
            sync_folder(&self.agents()).map_err(failed)?;
        }
        let whole = format!("{DELETED_PREFIX}{id}");
        // No id has a dot in it.
        let more = format!("{whole}.");
        let trouble = self.remove_those(|name| name == whole || name.starts_with(&more))?;
        trouble.into_iter().next().map_or(Ok(()), Err)
    }

    /// A name for a deleted agent's folder that nothing has yet.
    fn aside(&self, id: &AgentId) -> Option<PathBuf> {
        let first = format!("{DELETED_PREFIX}{id}");
        let more = (1..ASIDES_MAX).map(|number| format!("{DELETED_PREFIX}{id}.{number}"));
        let mut paths = std::iter::once(first).chain(more).map(|name| self.agents().join(name));
        paths.find(|path| path.symlink_metadata().is_err())
    }

    /// Removes what interrupted additions and deletions left; what could not be removed, and
    /// why. That keeps nobody from serving.
    pub fn sweep(&self) -> Result<Vec<RuntimeError>, RuntimeError> {
        let is_left = |name: &str| name.starts_with(DELETED_PREFIX) || name.starts_with(NEW_PREFIX);
        self.remove_those(is_left)
    }

    /// Removes what has such a name in the folder of agents: what is left of it, and why.
    fn remove_those(
        &self,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<Vec<RuntimeError>, RuntimeError> {
        let agents = self.agents();
        let entries =
            fs::read_dir(&agents).map_err(|error| file_error(&agents, "can't be read", &error))?;
        let mut trouble = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            if !name.to_str().is_some_and(&is_meant) {
                continue;
            }
            let path = entry.path();
            if let Err(error) = remove_whole(&path) {
                trouble.push(file_error(&path, "can't be removed", &error));
            }
        }
        Ok(trouble)
    }
}
