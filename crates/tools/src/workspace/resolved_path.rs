//! A place that a path led to, and what is done there: a file is read whole, new content is
//! staged beside it and put in its place, or it is removed.

use super::kernel::{self, Fingerprint};
use super::{FileError, FileKey, too_large, writable};
use insula_domain::AccessMode;
use insula_domain::disk::{Floor, Scarce};
use rustix::fd::OwnedFd;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names tried for a file on its way to its place. Taken ones are left from a crash.
const STAGING_TRIES_MAX: usize = 1_000;

/// A place a path led to: an open folder and a name in it, which is not a link.
#[derive(Debug)]
pub(crate) struct ResolvedPath {
    pub(super) folder: OwnedFd,
    pub(super) name: OsString,
    /// The path as people and models read it.
    pub(crate) shown: String,
    pub(crate) key: FileKey,
    pub(super) mode: AccessMode,
    /// What stood there when it was looked at.
    pub(crate) found: Option<Stat>,
    /// Whether the file has somebody else's words.
    pub(crate) is_foreign: bool,
}

/// A regular file that was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) stat: Stat,
}

impl ResolvedPath {
    /// Refuses unless the file may be changed.
    pub(crate) fn check_writable(&self) -> Result<(), FileError> {
        writable(self.mode, &self.shown)
    }

    /// Where it is on the disk, without a link on the way.
    pub(crate) fn real_path(&self) -> Option<std::path::PathBuf> {
        Some(kernel::real_path(&self.folder).ok()?.join(&self.name))
    }

    /// Refuses unless so many bytes leave the disk with what is kept free.
    pub(crate) fn check_room(&self, floor: Floor, bytes: usize) -> Result<(), FileError> {
        let space = kernel::space(&self.folder).map_err(|it| FileError::of(&self.shown, it))?;
        let left = match floor.breached(&space, bytes as u64) {
            None => return Ok(()),
            Some(Scarce::Bytes) => format!("{} MB", floor.bytes(&space) / 1_000_000),
            Some(Scarce::Files) => format!("places for {} files", floor.files(&space)),
        };
        Err(FileError::Refused(format!(
            "the disk of `{}` is nearly full: {left} are kept free (`sandbox.free_space`); remove what is not needed, then repeat it",
            self.shown
        )))
    }

    /// Looks again at what stands there.
    pub(crate) fn look_again(&mut self) -> Result<(), FileError> {
        self.found =
            kernel::look(&self.folder, &self.name).map_err(|it| FileError::of(&self.shown, it))?;
        Ok(())
    }

    /// Reads the file whole; `None` when there is none.
    pub(crate) fn load(&self, limit: u64) -> Result<Option<Loaded>, FileError> {
        let shown = &self.shown;
        let Some(found) = &self.found else { return Ok(None) };
        match kernel::kind(found) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(FileError::of(shown, Errno::ISDIR)),
            FileType::Symlink => return Err(FileError::of(shown, Errno::AGAIN)),
            kind => {
                let kind = special(kind);
                return Err(FileError::Unfit(format!(
                    "`{shown}` is {kind}, which is not read or written"
                )));
            }
        }
        if too_large(found, limit) {
            return Err(self.larger(limit));
        }
        let (file, stat) = match kernel::open_file(&self.folder, &self.name) {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened.map_err(|error| FileError::of(shown, error))?,
        };
        let bytes =
            kernel::read(file, &stat, limit).map_err(|error| FileError::of(shown, error))?;
        if bytes.len() as u64 > limit {
            return Err(self.larger(limit));
        }
        Ok(Some(Loaded { bytes, stat }))
    }

    fn larger(&self, limit: u64) -> FileError {
        let size = self.found.as_ref().map_or(0, |stat| stat.st_size);
        FileError::Unfit(format!(
            "`{}` has {size} bytes, more than the {limit} that are handled at once; take the part you need with a program such as `head`, `sed` or `split`",
            self.shown
        ))
    }

    /// Writes the new content beside the file, with the rights of one like it. It is seen
    /// only once it is put in place.
    pub(crate) fn stage(
        self,
        bytes: &[u8],
        like: Option<&Stat>,
        counter: &AtomicU64,
    ) -> Result<Staged, FileError> {
        for _ in 0..STAGING_TRIES_MAX {
            let number = counter.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".insula-{number}.new"));
            match kernel::write_new(&self.folder, &name, bytes, like) {
                Ok(()) => {
                    return Ok(Staged { resolved: self, name, before: None, placed: false });
                }
                Err(Errno::EXIST) => continue,
                Err(error) => return Err(FileError::of(&self.shown, error)),
            }
        }
        Err(FileError::of(&self.shown, Errno::EXIST))
    }

    /// Removes the file, if it is still the one that was read.
    pub(crate) fn remove(&self, before: &Loaded) -> Result<(), FileError> {
        let failed = |error| FileError::of(&self.shown, error);
        unchanged(self, &Fingerprint::of(&before.stat))?;
        kernel::remove(&self.folder, &self.name).map_err(failed)
    }
}

/// Another program may have written since the file was read. What is left after this look is
/// the moment until the rename, in which nothing but a lock of the whole system would help.
fn unchanged(resolved: &ResolvedPath, before: &Fingerprint) -> Result<(), FileError> {
    let now = kernel::look(&resolved.folder, &resolved.name)
        .map_err(|it| FileError::of(&resolved.shown, it))?;
    if now.as_ref().map(Fingerprint::of).as_ref() == Some(before) {
        return Ok(());
    }
    Err(FileError::Refused(format!(
        "another program changed `{}` at this moment; read it again and repeat the change",
        resolved.shown
    )))
}

/// New content that waits beside its file.
pub(crate) struct Staged {
    pub(crate) resolved: ResolvedPath,
    name: OsString,
    before: Option<Fingerprint>,
    placed: bool,
}

impl Staged {
    /// Lets it replace the file that was read, and no other.
    pub(crate) fn replacing(mut self, before: &Loaded) -> Self {
        self.before = Some(Fingerprint::of(&before.stat));
        self
    }

    /// Puts it in place, whole.
    pub(crate) fn put(mut self) -> Result<(), FileError> {
        let ResolvedPath { folder, name, shown, .. } = &self.resolved;
        let placed = match &self.before {
            Some(before) => {
                unchanged(&self.resolved, before)?;
                kernel::replace(folder, &self.name, name)
            }
            None => kernel::place(folder, &self.name, name),
        };
        match placed {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                return Err(FileError::Refused(format!(
                    "`{shown}` was made by somebody else at this moment; read it and repeat the change"
                )));
            }
            Err(error) => return Err(FileError::of(shown, error)),
        }
        self.placed = true;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.placed {
            // Nobody is waiting for an answer here; what is left over is only untidy.
            let _ = kernel::remove(&self.resolved.folder, &self.name);
        }
    }
}

/// What a thing is that is neither a file nor a folder.
fn special(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "no ordinary file",
    }
}
