//! Making files of an archive's entries, in a folder that was empty: aside until all of it is
//! known to be whole, then in its place.

use crate::entry::{Entry, EntryKind, stays_below};
use crate::error::{ArchiveError, Result};
use crate::files::{self, FolderState, folder_state};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Where files are until all are there.
const ASIDE: &str = ".unpacking";

/// Files on their way into a folder. Dropped before they are there, they are gone.
pub struct Unpacker {
    folder: PathBuf,
    aside: PathBuf,
    was: FolderState,
    /// Done after all files: a link could lead a later name elsewhere, and a folder may be one
    /// that nothing can be put into.
    later: Vec<Entry>,
    is_placed: bool,
}

impl Unpacker {
    /// Begins, in a folder that is empty or not there. What a killed program left is removed.
    pub fn begin(folder: &Path) -> Result<Self> {
        let aside = folder.join(ASIDE);
        let failed = |error: io::Error| ArchiveError::file(&aside, "can't be removed", &error);
        match files::remove_folder(&aside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let was = folder_state(folder)?;
        if was == FolderState::Used {
            return Err(ArchiveError::File {
                file: folder.to_owned(),
                what: "is not empty; nothing was written. Give a folder that is empty or not there yet".to_owned(),
            });
        }
        files::make_folder(&aside)
            .map_err(|error| ArchiveError::file(folder, "can't be made", &error))?;
        Ok(Self { folder: folder.into(), aside, was, later: Vec::new(), is_placed: false })
    }

    /// Where the files are until they are in their place.
    pub fn aside(&self) -> &Path {
        &self.aside
    }

    /// Takes one entry.
    pub fn put(&mut self, entry: &Entry, content: &mut dyn Read) -> Result<()> {
        let path = self.aside.join(&entry.name);
        if !stays_below(&entry.name) {
            return Err(ArchiveError::damaged(&path, "it is no place in the archive"));
        }
        match &entry.kind {
            EntryKind::File(_) => {
                files::write_new(&path, entry, content).map_err(|error| failed(&path, &error))?;
            }
            EntryKind::Folder => {
                files::make_folder(&path).map_err(|error| failed(&path, &error))?;
                self.later.push(entry.clone());
            }
            EntryKind::Link(_) => self.later.push(entry.clone()),
        }
        Ok(())
    }

    /// Puts all of it into its place, `last` after everything else.
    pub fn place(mut self, last: &[&str]) -> Result<()> {
        // The innermost first: those above may not let anybody in afterwards.
        for entry in std::mem::take(&mut self.later).iter().rev() {
            let path = self.aside.join(&entry.name);
            let done = match &entry.kind {
                EntryKind::Link(to) => files::write_link(&path, to, entry),
                _ => files::settle_folder(&path, entry),
            };
            done.map_err(|error| failed(&path, &error))?;
        }
        let failed = |error: io::Error| ArchiveError::file(&self.folder, "can't be filled", &error);
        // Once for all of them, before any has its place.
        files::flush_all(&self.aside).map_err(failed)?;
        files::lift(&self.aside, &self.folder, last).map_err(failed)?;
        files::remove_empty(&self.aside).map_err(failed)?;
        self.is_placed = true;
        Ok(())
    }
}

fn failed(path: &Path, error: &io::Error) -> ArchiveError {
    ArchiveError::file(path, "can't be written", error)
}

impl Drop for Unpacker {
    fn drop(&mut self) {
        if self.is_placed {
            return;
        }
        drop(files::remove_folder(&self.aside));
        if self.was == FolderState::Absent {
            drop(files::remove_empty(&self.folder));
        }
    }
}
