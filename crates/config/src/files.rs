//! Reads the files of a configuration, once, into a value; nothing else here touches a disk.
#![expect(clippy::disallowed_methods, reason = "the one place that reads configuration files")]

pub use crate::file_state::FileState;

use crate::file_state::read_bounded;
use crate::policies::{self, PolicyFiles};
use crate::skills::files::{self as skill_files, SkillFolder, Top};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;

/// Largest configuration file: 100,000 agents fit.
pub const CONFIG_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Largest SOUL.md: it stands in every prompt.
pub const SOUL_BYTES_MAX: u64 = 64 * 1024;

/// Largest AGENTS.md: it stands in every prompt too.
pub const INSTRUCTIONS_BYTES_MAX: u64 = 64 * 1024;

/// Largest `mcp.json`: what the tools of all servers of an agent may be described in.
pub const PINS_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Opening a pipe somebody left in place of a file must not wait for a writer.
const O_NONBLOCK: i32 = 0o4000;

/// The mark of a home whose `config.yaml` said something. Where it stands and the file says
/// nothing, an edit was interrupted: taking that for a choice would hand every agent's
/// messages to the built-in one.
pub const CONFIGURED: &str = "run/configured";

/// All files of a configuration, as they were at one moment.
#[derive(Debug, Clone, Default)]
pub struct FilesSnapshot {
    /// What `config.yaml` is called in messages, when another file stands in for it.
    pub config_name: Option<Arc<str>>,
    /// `config.yaml`.
    pub config: FileState,
    /// The home's `SOUL.md`.
    pub soul: FileState,
    /// The folders below `agents/`, by name.
    pub folders: BTreeMap<String, FolderFiles>,
    /// The bundles of skills below `skills/`, by name.
    pub bundles: BTreeMap<String, Arc<SkillFolder>>,
    /// The policies below `policies/`, by name.
    pub policies: BTreeMap<String, PolicyFiles>,
    /// `policies.lock`.
    pub policies_lock: FileState,
}

/// The files of one agent's folder.
#[derive(Debug, Clone, Default)]
pub struct FolderFiles {
    /// `agent.yaml`.
    pub config: FileState,
    /// `SOUL.md`.
    pub soul: FileState,
    /// `AGENTS.md`.
    pub instructions: FileState,
    /// `BOOT.md`.
    pub boot: FileState,
    /// `skills/`.
    pub skills: Arc<SkillFolder>,
    /// `mcp.json`: what the daemon knows of the tools of the agent's MCP servers.
    pub mcp: FileState,
}

impl FilesSnapshot {
    /// Reads the files below `home`.
    pub fn read(home: &Path) -> io::Result<Self> {
        let mut folders = BTreeMap::new();
        match fs::read_dir(home.join("agents")) {
            Ok(entries) => {
                for entry in entries {
                    let entry = entry?;
                    // A name that is not UTF-8 can't be an agent's.
                    let Ok(name) = entry.file_name().into_string() else { continue };
                    if name.starts_with('.') || !entry.path().is_dir() {
                        continue;
                    }
                    let read = |file, max| read_text(&entry.path().join(file), max);
                    let config = said(read("agent.yaml", CONFIG_BYTES_MAX));
                    let skills = skill_files::read(&entry.path().join("skills"), Top::IsFolder);
                    let folder = FolderFiles {
                        config,
                        soul: read("SOUL.md", SOUL_BYTES_MAX),
                        instructions: read_own(&entry.path(), "AGENTS.md"),
                        boot: read_own(&entry.path(), "BOOT.md"),
                        mcp: read("mcp.json", PINS_BYTES_MAX),
                        skills: Arc::new(skills),
                    };
                    folders.insert(name, folder);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut config = read_text(&home.join("config.yaml"), CONFIG_BYTES_MAX);
        let says_nothing = config == FileState::Absent || config.is_blank();
        if says_nothing && home.join(CONFIGURED).exists() {
            let what = if config == FileState::Absent { "is gone" } else { "says nothing" };
            config = FileState::Unreadable(format!(
                "{what}, as after an interrupted edit, and agents were configured here before; restore it, or write `{{}}` into it to mean the built-in agent alone"
            ));
        }
        Ok(Self {
            config_name: None,
            config,
            soul: read_text(&home.join("SOUL.md"), SOUL_BYTES_MAX),
            folders,
            bundles: read_bundles(&home.join("skills")),
            policies: policies::read_all(home),
            policies_lock: read_text(&home.join(policies::LOCK), PINS_BYTES_MAX),
        })
    }
}

impl FilesSnapshot {
    /// Tells two states of the files apart.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        let mut file = |state: &FileState| {
            let (tag, text): (u8, &str) = match state {
                FileState::Absent => (0, ""),
                FileState::Text(text) => (1, text),
                FileState::Unreadable(why) => (2, why),
            };
            hasher.update(&[tag]);
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        file(&self.config);
        file(&self.soul);
        for (name, folder) in &self.folders {
            file(&FileState::Text(name.as_str().into()));
            file(&folder.config);
            file(&folder.soul);
            file(&folder.instructions);
            file(&folder.boot);
            file(&folder.mcp);
            skills(&mut file, &folder.skills);
        }
        for (name, folder) in &self.bundles {
            file(&FileState::Text(name.as_str().into()));
            skills(&mut file, folder);
        }
        for (name, policy) in &self.policies {
            file(&FileState::Text(format!("{name} {} {:?}", policy.hash(), policy.fault).into()));
        }
        file(&self.policies_lock);
        *hasher.finalize().as_bytes()
    }
}

/// Feeds what tells two folders of skills apart. Files beside a `SKILL.md` are read when they
/// are asked for, so only their names and sizes count.
fn skills(file: &mut impl FnMut(&FileState), folder: &SkillFolder) {
    for skill in &folder.skills {
        file(&FileState::Text((*skill.folder).into()));
        file(&skill.document);
        file(&FileState::Text(format!("{:?}", skill.files).into()));
    }
    file(&FileState::Text(format!("{:?}", folder.faults).into()));
    if !folder.accepted.is_empty() {
        file(&FileState::Text(format!("{:?}", folder.accepted).into()));
    }
}

/// What an `agent.yaml` says. One that says nothing is half an edit.
pub(crate) fn said(config: FileState) -> FileState {
    if !config.is_blank() {
        return config;
    }
    let why = "says nothing, as while it is being written; write `{}` into it to mean an agent without settings of its own";
    FileState::Unreadable(why.to_owned())
}

fn read_bundles(folder: &Path) -> BTreeMap<String, Arc<SkillFolder>> {
    let names = skill_files::bundles(folder).into_iter();
    let read = |name: String| {
        let skills = skill_files::read(&folder.join(&name), Top::MayBeLink);
        (name, Arc::new(skills))
    };
    names.map(read).collect()
}

/// What an operator tells one agent. Never by a link of either kind: that could lead to where
/// agents write, and what they write is no instruction.
pub(crate) fn read_own(folder: &Path, name: &str) -> FileState {
    let path = folder.join(name);
    let is_link = |it: fs::Metadata| it.is_symlink() || it.is_file() && it.nlink() > 1;
    if fs::symlink_metadata(&path).is_ok_and(is_link) {
        let why = "is a link, and could lead to what an agent may write; copy the text itself";
        return FileState::Unreadable(why.to_owned());
    }
    read_text(&path, INSTRUCTIONS_BYTES_MAX)
}

/// Reads one text file, or says why not.
pub fn read_text(path: &Path, bytes_max: u64) -> FileState {
    match open(path, bytes_max) {
        Ok(Some(text)) => FileState::Text(text.into()),
        Ok(None) => FileState::Absent,
        Err(problem) => FileState::Unreadable(problem),
    }
}

fn open(path: &Path, bytes_max: u64) -> Result<Option<String>, String> {
    let file = match OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("can't be opened: {error}")),
    };
    let kind = file.metadata().map_err(|error| format!("can't be read: {error}"))?;
    if !kind.is_file() {
        return Err("is not a regular file".to_owned());
    }
    read_bounded(file, bytes_max).map(Some)
}
