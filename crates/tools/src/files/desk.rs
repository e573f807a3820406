//! A conversation that works in one folder of its own choosing, and what its editor has open there.
//!
//! What an editor has open may differ from what is on disk. It is asked before a call, outside of
//! here; a call finds the answers by the file's real path, and leaves behind what it changed.

use super::{FILE_BYTES_MAX, FileAccess, Files};
use crate::workspace::{FileError, Granted, Loaded, ResolvedPath};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Changes that are noted in one call; a call changes no more files than that.
const CHANGES_MAX: usize = 100;

/// Which folders a conversation works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seat {
    /// In this one first, before all others it has.
    Before(Granted),
    /// In this one instead of the agent's own.
    Instead(Granted),
}

/// What became of one file in a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its real path.
    pub path: PathBuf,
    /// What it said before; `None` where there was none, or what it said is no text.
    pub old: Option<String>,
    /// What it says now; `None` where it is gone.
    pub new: Option<String>,
}

/// What an editor has open, and what a call changed.
#[derive(Debug, Default)]
pub struct Buffers {
    open: Mutex<BTreeMap<PathBuf, String>>,
    changes: Mutex<Vec<FileChange>>,
}

impl Buffers {
    /// Notes what the editor has open under a real path, for the call that follows.
    pub fn put(&self, path: PathBuf, text: String) {
        self.open().insert(path, text);
    }

    /// Takes what a call changed, and forgets what was open for it.
    pub fn take_changes(&self) -> Vec<FileChange> {
        self.open().clear();
        std::mem::take(&mut *self.changes())
    }

    fn open(&self) -> std::sync::MutexGuard<'_, BTreeMap<PathBuf, String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changes(&self) -> std::sync::MutexGuard<'_, Vec<FileChange>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, change: FileChange) {
        let mut changes = self.changes();
        if changes.len() < CHANGES_MAX {
            changes.push(change);
        }
    }
}

impl Files {
    /// The same files for a conversation that works elsewhere. For when they are made.
    #[must_use]
    pub fn seated(mut self, seat: Seat, buffers: Option<Arc<Buffers>>) -> Self {
        if let Some(access) = Arc::get_mut(&mut self.access) {
            (access.own, access.leaves_out_common) = match seat {
                Seat::Before(granted) => (Some(granted), false),
                Seat::Instead(granted) => (Some(granted), true),
            };
            access.buffers = buffers;
        }
        self
    }

    /// What an editor has open of them, where there is one.
    pub fn buffers(&self) -> Option<&Arc<Buffers>> {
        self.access.buffers.as_ref()
    }
}

impl FileAccess {
    /// Reads a file whole: as its editor has it open, where it does. What is not on disk, or not
    /// a text, is no file of an editor's.
    pub(super) fn as_open(&self, resolved: &ResolvedPath) -> Result<Option<Loaded>, FileError> {
        let loaded = resolved.load(FILE_BYTES_MAX)?;
        let Some(buffers) = &self.buffers else { return Ok(loaded) };
        let Some(loaded) = loaded else { return Ok(None) };
        let open = resolved.real_path().and_then(|path| buffers.open().get(&path).cloned());
        Ok(Some(match open {
            Some(text) if text.len() as u64 <= FILE_BYTES_MAX => {
                Loaded { bytes: text.into_bytes(), ..loaded }
            }
            _ => loaded,
        }))
    }

    /// Notes what became of a file, for the editor.
    pub(super) fn note_for_editor(
        &self,
        path: Option<&Path>,
        old: Option<&[u8]>,
        new: Option<&[u8]>,
    ) {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        let (Some(buffers), Some(path)) = (&self.buffers, path) else { return };
        let (old, is_gone) = (old.and_then(text), new.is_none());
        let new = new.and_then(text);
        if new.is_some() || is_gone {
            buffers.note(FileChange { path: path.to_owned(), old, new });
        }
    }

    /// Whether somebody wants to know what a call changes.
    pub(super) fn has_editor(&self) -> bool {
        self.buffers.is_some()
    }
}
