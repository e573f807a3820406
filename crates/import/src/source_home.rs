//! Reads the files of somebody else's home, and writes none of them: bounded, beneath the folder
//! that was named, and never through a link that leads out of it.
#![expect(clippy::disallowed_methods, reason = "reads what an operator names on the command line")]

use crate::error::ImportError;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Largest text that is read whole: far above any soul, memory or configuration.
const TEXT_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Largest file of lines, which hold a whole conversation.
const LINES_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// Most names that are looked at in one folder.
const NAMES_MAX: usize = 20_000;

/// Largest database that is copied.
const DATABASE_BYTES_MAX: u64 = 16 * 1024 * 1024 * 1024;

/// A folder of theirs.
#[derive(Debug, Clone)]
pub(crate) struct SourceHome {
    root: PathBuf,
}

/// What stands in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) is_folder: bool,
}

impl SourceHome {
    /// Opens a folder.
    pub(crate) fn open(path: &Path) -> Result<Self, ImportError> {
        let failed =
            |why: String| ImportError::Unreadable { path: path.display().to_string(), why };
        let root = fs::canonicalize(path).map_err(|error| failed(error.to_string()))?;
        if !root.is_dir() {
            return Err(failed("it is no folder".to_owned()));
        }
        Ok(Self { root })
    }

    /// Where it is.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where something in it is really, if it is there and in it.
    fn real(&self, relative: &str) -> Result<Option<PathBuf>, String> {
        let path = self.root.join(relative);
        let real = match fs::canonicalize(&path) {
            Ok(real) => real,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                // A link that leads nowhere is there all the same.
                return match fs::symlink_metadata(&path) {
                    Ok(_) => Err("it is a link that leads nowhere".to_owned()),
                    Err(_) => Ok(None),
                };
            }
            Err(error) => return Err(error.to_string()),
        };
        match real.starts_with(&self.root) {
            true => Ok(Some(real)),
            false => {
                Err("it is a link that leads out of the folder, and is not followed".to_owned())
            }
        }
    }

    /// The bytes of a file; `None` where there is none.
    pub(crate) fn bytes(&self, relative: &str) -> Result<Option<Vec<u8>>, String> {
        let Some(real) = self.real(relative)? else { return Ok(None) };
        read(&real, TEXT_BYTES_MAX).map(Some)
    }

    /// The text of a file; `None` where there is none.
    pub(crate) fn text(&self, relative: &str) -> Result<Option<String>, String> {
        let Some(bytes) = self.bytes(relative)? else { return Ok(None) };
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
        Ok(Some(text))
    }

    /// Whether there is a folder of this name.
    pub(crate) fn has_folder(&self, relative: &str) -> bool {
        self.real(relative).is_ok_and(|real| real.is_some_and(|real| real.is_dir()))
    }

    /// What stands in a folder, by name; nothing where there is none. Links that lead out are left
    /// out and named.
    pub(crate) fn list(&self, relative: &str) -> Result<(Vec<Found>, Vec<String>), String> {
        let Some(real) = self.real(relative)? else { return Ok((Vec::new(), Vec::new())) };
        if !real.is_dir() {
            return Err("it is no folder".to_owned());
        }
        let (mut found, mut left) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&real).map_err(|error| error.to_string())? {
            let entry = entry.map_err(|error| error.to_string())?;
            let Ok(name) = entry.file_name().into_string() else {
                left.push(entry.file_name().to_string_lossy().into_owned());
                continue;
            };
            let inner =
                if relative.is_empty() { name.clone() } else { format!("{relative}/{name}") };
            match self.real(&inner) {
                Ok(Some(real)) => found.push(Found { is_folder: real.is_dir(), name }),
                Ok(None) => {}
                Err(_) => left.push(name),
            }
            if found.len() + left.len() > NAMES_MAX {
                return Err(format!("it holds more than {NAMES_MAX} files"));
            }
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        left.sort();
        Ok((found, left))
    }

    /// Copies a database with its log of changes, as they are now, into a folder of ours. `None`
    /// where there is none.
    pub(crate) fn copy_database(
        &self,
        relative: &str,
        to: &Path,
    ) -> Result<Option<PathBuf>, String> {
        let Some(real) = self.real(relative)? else { return Ok(None) };
        let copy = to.join("copy.db");
        for suffix in ["", "-wal"] {
            let from = PathBuf::from(format!("{}{suffix}", real.display()));
            let Ok(known) = fs::metadata(&from) else { continue };
            if !known.is_file() || known.len() > DATABASE_BYTES_MAX {
                return Err("it is no file, or too large to be copied".to_owned());
            }
            let into = PathBuf::from(format!("{}{suffix}", copy.display()));
            fs::copy(&from, &into).map_err(|error| error.to_string())?;
        }
        Ok(Some(copy))
    }
}

/// A folder for copies, of which nobody else can read anything. It ends with this value.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes one below `parent`.
    pub(crate) fn new(parent: &Path, name: &str) -> Result<Self, String> {
        let path = parent.join(name);
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| format!("no copy can be made in {}: {error}", parent.display()))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing can be done about what stays, and it is in a folder for what does not.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file of lines, whole.
pub(crate) fn lines_of(path: &Path) -> Result<String, String> {
    let bytes = read(path, LINES_BYTES_MAX)?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    // A pipe would never end, so that it is asked before it is opened.
    let known = fs::metadata(path).map_err(|error| error.to_string())?;
    if !known.is_file() {
        return Err("it is no ordinary file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    match bytes.len() as u64 > most {
        true => Err(format!("it is larger than {} MB", most / 1024 / 1024)),
        false => Ok(bytes),
    }
}
