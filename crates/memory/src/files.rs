//! The files of a mirror. Every step is relative to an open folder and follows no link; what is
//! no plain file of ours is left as it is.
#![expect(
    clippy::disallowed_methods,
    reason = "reads and writes an agent's own memory files, below its own folder"
)]

use crate::encode::other_name;
use crate::error::FileFault;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, ResolveFlags, fdatasync, fstat,
    mkdirat, open, openat, openat2, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use std::borrow::Cow;
use std::fs::{DirBuilder, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Largest mirror that is read, in bytes.
pub(crate) const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Earlier versions that are kept of one file.
const KEPT_MAX: usize = 8;
/// How often a swap is tried that others get in the way of.
const SWAPS_MAX: usize = 16;

type Result<T, E = FileFault> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListFile {
    /// The agent's folder.
    pub(crate) root: PathBuf,
    /// The folder below it.
    pub(crate) folder: PathBuf,
    pub(crate) name: Cow<'static, str>,
}

impl ListFile {
    /// The path below the agent's folder, for people. Where that folder is on this machine is
    /// nobody's business who does not run it.
    pub(crate) fn relative(&self) -> PathBuf {
        self.folder.join(&*self.name)
    }

    fn staged(&self) -> String {
        format!(".{}.new", self.name)
    }
}

fn fault(error: Errno) -> FileFault {
    match error {
        Errno::LOOP => FileFault::Link,
        Errno::NOTDIR | Errno::ISDIR => FileFault::NotAFile,
        other => FileFault::System(other.to_string()),
    }
}

fn system(error: &std::io::Error) -> FileFault {
    FileFault::System(error.to_string())
}

/// The folder of a place, made if it is not there.
fn made(place: &ListFile) -> Result<OwnedFd> {
    let gone = || FileFault::System("its folder was taken away meanwhile".to_owned());
    folder(place, true)?.ok_or_else(gone)
}

/// The folder of a place; `None` where it is not there and is not to be made.
fn folder(place: &ListFile, is_made: bool) -> Result<Option<OwnedFd>> {
    if is_made {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&place.root);
        made.map_err(|error| system(&error))?;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = match open(&place.root, flags, Mode::empty()) {
        Ok(root) => root,
        Err(Errno::NOENT) if !is_made => return Ok(None),
        Err(error) => return Err(fault(error)),
    };
    for part in &place.folder {
        let other = part.to_str().and_then(other_name);
        if is_made {
            if let Some(other) = &other {
                match renameat_with(&at, other, &at, part, RenameFlags::NOREPLACE) {
                    Ok(()) | Err(Errno::NOENT | Errno::EXIST) => {}
                    Err(error) => return Err(fault(error)),
                }
            }
            match mkdirat(&at, part, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(fault(error)),
            }
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let mut next = openat2(&at, part, flags, Mode::empty(), resolve);
        if let (Err(Errno::NOENT), Some(other)) = (&next, other) {
            next = openat2(&at, other, flags, Mode::empty(), resolve);
        }
        at = match next {
            Ok(next) => next,
            Err(Errno::NOENT) if !is_made => return Ok(None),
            Err(error) => return Err(fault(error)),
        };
    }
    Ok(Some(at))
}

/// What a file holds, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) bytes: Vec<u8>,
    pub(crate) saved: SystemTime,
}

/// What a plain file holds; `None` if there is nothing of that name.
fn content(folder: impl AsFd, name: &str) -> Result<Option<Content>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(folder, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        // A socket can't be opened at all.
        Err(Errno::NXIO) => return Err(FileFault::NotAFile),
        Err(error) => return Err(fault(error)),
    };
    let stat = fstat(&file).map_err(fault)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(FileFault::NotAFile);
    }
    // Under its other name it may be somebody else's.
    if stat.st_nlink > 1 {
        return Err(FileFault::HardLink);
    }
    let file = File::from(file);
    let saved = saved(&file)?;
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| system(&error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(FileFault::TooLarge(FILE_BYTES_MAX));
    }
    Ok(Some(Content { bytes, saved }))
}

fn saved(file: &File) -> Result<SystemTime> {
    file.metadata().and_then(|it| it.modified()).map_err(|error| system(&error))
}

/// Writes a file that is not there yet: when that was.
fn put(folder: impl AsFd, name: &str, bytes: &[u8]) -> Result<SystemTime> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::RUSR | Mode::WUSR).map_err(fault)?;
    let mut file = File::from(file);
    file.write_all(bytes).map_err(|error| system(&error))?;
    // Before it takes the place of another: a loss of power must not leave an empty one.
    fdatasync(&file).map_err(fault)?;
    saved(&file)
}

fn remove(folder: impl AsFd, name: &str) -> Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(fault(error)),
    }
}

/// What is at a place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct OnDisk {
    pub(crate) file: Option<Content>,
    /// What was about to take its place.
    pub(crate) staged: Option<Vec<u8>>,
}

/// Reads what is at a place.
pub(crate) fn read(place: &ListFile) -> Result<OnDisk> {
    let Some(folder) = folder(place, false)? else { return Ok(OnDisk::default()) };
    let file = content(&folder, &place.name)?;
    // Only we make one; what is no file there was put by somebody, and is in the way.
    let staged = content(&folder, &place.staged())?.map(|staged| staged.bytes);
    Ok(OnDisk { file, staged })
}

/// Writes what is about to take the file's place: when that was.
pub(crate) fn stage(place: &ListFile, bytes: &[u8]) -> Result<SystemTime> {
    let folder = made(place)?;
    remove(&folder, &place.staged())?;
    put(&folder, &place.staged(), bytes)
}

/// Drops what was about to take the file's place.
pub(crate) fn unstage(place: &ListFile) -> Result<()> {
    match folder(place, false)? {
        Some(folder) => remove(&folder, &place.staged()),
        None => Ok(()),
    }
}

/// Puts the staged file in place, in one step with taking the old one out: what that was.
pub(crate) fn swap(place: &ListFile) -> Result<Option<Vec<u8>>> {
    let Some(folder) = folder(place, false)? else { return Ok(None) };
    let staged = place.staged();
    for _ in 0..SWAPS_MAX {
        match renameat_with(&folder, &staged, &folder, &*place.name, RenameFlags::EXCHANGE) {
            Ok(()) => {
                let old = match content(&folder, &staged) {
                    Ok(old) => old.map(|old| old.bytes),
                    Err(fault) => {
                        // Not ours to take away: back with it.
                        let _ = renameat_with(
                            &folder,
                            &staged,
                            &folder,
                            &*place.name,
                            RenameFlags::EXCHANGE,
                        );
                        let _ = remove(&folder, &staged);
                        return Err(fault);
                    }
                };
                remove(&folder, &staged)?;
                return Ok(old);
            }
            Err(Errno::NOENT) => {
                let flags = RenameFlags::NOREPLACE;
                match renameat_with(&folder, &staged, &folder, &*place.name, flags) {
                    Ok(()) => return Ok(None),
                    Err(Errno::EXIST) => continue,
                    Err(error) => return Err(fault(error)),
                }
            }
            // A file system that can't swap: the old one is read as late as possible.
            Err(Errno::INVAL | Errno::NOSYS) => {
                let old = content(&folder, &place.name)?.map(|old| old.bytes);
                renameat(&folder, &staged, &folder, &*place.name).map_err(fault)?;
                return Ok(old);
            }
            Err(error) => return Err(fault(error)),
        }
    }
    Err(FileFault::System("somebody else replaces it all the time".to_owned()))
}

fn kept_prefix(place: &ListFile) -> String {
    format!("{}.before-", place.name)
}

/// The names of the earlier versions, oldest first.
fn kept_names(folder: &OwnedFd, place: &ListFile) -> Result<Vec<String>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable = openat(folder, ".", flags, Mode::empty()).map_err(fault)?;
    let mut names = Vec::new();
    for entry in Dir::read_from(readable).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(&kept_prefix(place)) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Keeps an earlier version beside the file, by when it was replaced.
pub(crate) fn keep(place: &ListFile, millis: i64, bytes: &[u8]) -> Result<()> {
    let folder = made(place)?;
    let names = kept_names(&folder, place)?;
    let mut stamp = millis;
    let name = loop {
        let name = format!("{}{stamp:015}", kept_prefix(place));
        if !names.contains(&name) {
            break name;
        }
        stamp += 1;
    };
    for old in names.iter().take((names.len() + 1).saturating_sub(KEPT_MAX)) {
        remove(&folder, old)?;
    }
    put(&folder, &name, bytes).map(drop)
}

/// Changes the earlier versions: `change` says what becomes of the bytes of each, `None` for
/// a version that goes. Answers those that could not be changed, and why.
pub(crate) fn change_kept(
    place: &ListFile,
    change: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Result<Vec<(String, FileFault)>> {
    let Some(folder) = folder(place, false)? else { return Ok(Vec::new()) };
    let mut left = Vec::new();
    for name in kept_names(&folder, place)? {
        if let Err(fault) = change_one(&folder, &name, &change) {
            left.push((name, fault));
        }
    }
    Ok(left)
}

fn change_one(
    folder: &OwnedFd,
    name: &str,
    change: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> Result<()> {
    let new = match content(folder, name) {
        Ok(None) => return Ok(()),
        Ok(Some(Content { bytes, .. })) => match change(&bytes) {
            Some(new) if new == bytes => return Ok(()),
            new => new,
        },
        // Not ours: a version of ours is a file of its own when it is kept.
        Err(FileFault::Link | FileFault::NotAFile) => return Ok(()),
        Err(FileFault::HardLink) => {
            remove(folder, name)?;
            return Err(FileFault::HardLink);
        }
        // What can't be read through can't be cleaned either.
        Err(_) => None,
    };
    remove(folder, name)?;
    match new {
        Some(new) => put(folder, name, &new).map(drop),
        None => Ok(()),
    }
}

/// Whether an agent has a folder for memory, or something in its place.
pub(crate) fn is_there(root: &Path) -> bool {
    root.symlink_metadata().is_ok()
}

/// The names of the files in the folder of a place.
pub(crate) fn names(place: &ListFile) -> Result<Vec<String>> {
    let Some(folder) = folder(place, false)? else { return Ok(Vec::new()) };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(&folder, ".", flags, Mode::empty()).map_err(fault)?;
    let entries = Dir::read_from(folder).map_err(fault)?.flatten();
    let files = entries.filter(|entry| entry.file_type() != FileType::Directory);
    Ok(files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// The folders of contexts there are, relative to the agent's folder for memory.
pub(crate) fn contexts(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = vec![PathBuf::from("contexts")];
    while let Some(relative) = open.pop() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(folder) = openat(CWD, root.join(&relative), flags, Mode::empty()) else { continue };
        let Ok(entries) = Dir::read_from(folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || entry.file_type() != FileType::Directory {
                continue;
            }
            let path = relative.join(&name);
            if name.ends_with('+') { open.push(path) } else { found.push(path) }
        }
    }
    found
}
