//! Reads the files of a configuration, once, into a value; nothing else here touches a disk.
#![expect(clippy::disallowed_methods, reason = "the one place that reads configuration files")]

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

/// Largest configuration file: 100,000 agents fit.
pub const CONFIG_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Largest SOUL.md: it stands in every prompt.
pub const SOUL_BYTES_MAX: u64 = 64 * 1024;

/// Opening a pipe somebody left in place of a file must not wait for a writer.
const O_NONBLOCK: i32 = 0o4000;

/// All files of a configuration, as they were at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// `config.yaml`.
    pub config: FileState,
    /// The home's `SOUL.md`.
    pub soul: FileState,
    /// The folders below `agents/`, by name.
    pub folders: BTreeMap<String, Folder>,
}

/// The files of one agent's folder.
#[derive(Debug, Clone, Default)]
pub struct Folder {
    /// `agent.yaml`.
    pub config: FileState,
    /// `SOUL.md`.
    pub soul: FileState,
}

/// One file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum FileState {
    /// It does not exist.
    #[default]
    Absent,
    /// Its text.
    Text(Arc<str>),
    /// It exists and can't be used; why.
    Unreadable(String),
}

impl Snapshot {
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
                    let folder = Folder {
                        config: read("agent.yaml", CONFIG_BYTES_MAX),
                        soul: read("SOUL.md", SOUL_BYTES_MAX),
                    };
                    folders.insert(name, folder);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(Self {
            config: read_text(&home.join("config.yaml"), CONFIG_BYTES_MAX),
            soul: read_text(&home.join("SOUL.md"), SOUL_BYTES_MAX),
            folders,
        })
    }
}

impl Snapshot {
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
        }
        *hasher.finalize().as_bytes()
    }
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

fn read_bounded(file: File, bytes_max: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("can't be read: {error}"))?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("is larger than {bytes_max} bytes"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("is not UTF-8 text, as line {line} shows")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}
