//! The files that people write a configuration in, by their names below the home.

use crate::file_state::FileState;
use crate::files::{self, CONFIG_BYTES_MAX, FilesSnapshot, INSTRUCTIONS_BYTES_MAX, SOUL_BYTES_MAX};
use insula_domain::AgentId;
use std::fmt;
use std::path::Path;

/// A file that a person writes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigFile {
    /// The home's `SOUL.md`.
    Soul,
    /// A file of one agent's folder.
    Agent(AgentId, AgentPart),
    /// `config.yaml`. The last one: what it names is written before it.
    Config,
}

/// Which file of an agent's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentPart {
    /// `SOUL.md`.
    Soul,
    /// `AGENTS.md`.
    Instructions,
    /// `BOOT.md`.
    Boot,
    /// `agent.yaml`. The last one: with it there is an agent.
    Settings,
}

impl AgentPart {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Soul, Self::Instructions, Self::Boot, Self::Settings];

    /// What it is called in its folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Soul => "SOUL.md",
            Self::Instructions => "AGENTS.md",
            Self::Boot => "BOOT.md",
            Self::Settings => "agent.yaml",
        }
    }
}

impl ConfigFile {
    /// The file of a name such as `agents/coder/SOUL.md`; no other path is one.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "config.yaml" => return Some(Self::Config),
            "SOUL.md" => return Some(Self::Soul),
            _ => {}
        }
        let (id, file) = name.strip_prefix("agents/")?.split_once('/')?;
        let part = AgentPart::ALL.into_iter().find(|it| it.name() == file)?;
        Some(Self::Agent(AgentId::new(id).ok()?, part))
    }

    /// What it is called in its folder.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Config => "config.yaml",
            Self::Soul => "SOUL.md",
            Self::Agent(_, part) => part.name(),
        }
    }

    /// The most that is read of it.
    pub fn bytes_max(&self) -> u64 {
        match self {
            Self::Config | Self::Agent(_, AgentPart::Settings) => CONFIG_BYTES_MAX,
            Self::Soul | Self::Agent(_, AgentPart::Soul) => SOUL_BYTES_MAX,
            Self::Agent(_, AgentPart::Instructions | AgentPart::Boot) => INSTRUCTIONS_BYTES_MAX,
        }
    }

    /// What it says as it stands, whatever that means.
    pub fn read(&self, home: &Path) -> FileState {
        match self {
            Self::Agent(id, AgentPart::Instructions | AgentPart::Boot) => {
                files::read_own(&home.join("agents").join(id.as_str()), self.name())
            }
            _ => files::read_text(&home.join(self.to_string()), self.bytes_max()),
        }
    }

    /// The files as if this one said something else. What is too long, or says nothing where
    /// something has to be said, is as unusable as it would be on the disk.
    pub fn put(&self, files: &mut FilesSnapshot, text: Option<&str>) {
        let most = self.bytes_max();
        let state = match text {
            None => FileState::Absent,
            Some(text) if text.len() as u64 > most => {
                FileState::Unreadable(format!("is larger than {most} bytes"))
            }
            Some(text) => FileState::Text(text.into()),
        };
        let Self::Agent(id, part) = self else {
            match self {
                Self::Soul => files.soul = state,
                _ if state.is_blank() || state == FileState::Absent => {
                    let why = "says nothing; write `{}` into it to mean the built-in agent alone";
                    files.config = FileState::Unreadable(why.to_owned());
                }
                _ => files.config = state,
            }
            return;
        };
        let folder = files.folders.entry(id.to_string()).or_default();
        match part {
            AgentPart::Soul => folder.soul = state,
            AgentPart::Instructions => folder.instructions = state,
            AgentPart::Boot => folder.boot = state,
            AgentPart::Settings => folder.config = files::said(state),
        }
    }
}

impl fmt::Display for ConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(id, part) => write!(f, "agents/{id}/{}", part.name()),
            _ => f.write_str(self.name()),
        }
    }
}

/// A mark by which one text is told from another; none for a file that is not there.
pub fn mark(text: Option<&str>) -> Option<String> {
    text.map(|text| blake3::hash(text.as_bytes()).to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_files_of_a_configuration_have_names() {
        for name in ["config.yaml", "SOUL.md", "agents/a/agent.yaml", "agents/a/SOUL.md"] {
            assert_eq!(ConfigFile::parse(name).unwrap().to_string(), name);
        }
        for name in [
            "",
            "insula.db",
            "vault/key",
            "run/admin.token",
            "agents/a/agent.db",
            "agents/a/mcp.json",
            "agents/../config.yaml",
            "agents/a/../b/SOUL.md",
            "agents/A/SOUL.md",
            "agents/a/workspace/SOUL.md",
            "/etc/passwd",
            "agents//SOUL.md",
        ] {
            assert_eq!(ConfigFile::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_file_that_says_nothing_is_no_choice() {
        let mut files = FilesSnapshot::default();
        for name in ["config.yaml", "agents/a/agent.yaml"] {
            ConfigFile::parse(name).unwrap().put(&mut files, Some("# nothing\n"));
        }
        assert!(matches!(files.config, FileState::Unreadable(_)));
        assert!(matches!(files.folders["a"].config, FileState::Unreadable(_)));
        let long = "x".repeat(SOUL_BYTES_MAX as usize + 1);
        ConfigFile::Soul.put(&mut files, Some(&long));
        assert!(matches!(files.soul, FileState::Unreadable(_)));
    }
}
