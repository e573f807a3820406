//! The files of archives: what is packed, where it goes, and what is made of it again. The one
//! file of this crate that touches the file system.
#![expect(
    clippy::disallowed_methods,
    reason = "packs files that an operator names, and unpacks them where an operator says"
)]

use crate::entry::{Entry, EntryKind};
use crate::error::{ArchiveError, Result};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// A file that takes its name only when it is whole. Dropped before that, it is gone.
pub(crate) struct Part {
    file: File,
    part: PathBuf,
    target: PathBuf,
    is_kept: bool,
}

impl Part {
    /// Begins one beside where it will be, which must be free.
    pub(crate) fn create(target: &Path) -> Result<Self> {
        let failed = |doing: &str, error: &io::Error| ArchiveError::file(target, doing, error);
        if target.symlink_metadata().is_ok() {
            return Err(ArchiveError::File {
                file: target.to_owned(),
                what: "exists already; choose another name, or move it away".to_owned(),
            });
        }
        let name = target.file_name().ok_or_else(|| {
            failed("can't be written", &io::Error::new(ErrorKind::InvalidInput, "it has no name"))
        })?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(".part");
        let part = target.with_file_name(hidden);
        // What a killed program left is taken over; what another one is writing is not.
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(NO_FOLLOW)
            .open(&part)
            .map_err(|error| failed("can't be written", &error))?;
        if file.try_lock().is_err() {
            return Err(ArchiveError::File {
                file: target.to_owned(),
                what: "is being written by another command".to_owned(),
            });
        }
        file.set_len(0).map_err(|error| failed("can't be written", &error))?;
        let made = Self { file, part, target: target.to_owned(), is_kept: false };
        Ok(made)
    }

    pub(crate) fn writer(&self) -> Result<File> {
        self.file
            .try_clone()
            .map_err(|error| ArchiveError::file(&self.target, "can't be written", &error))
    }

    /// Gives it its name; it survives a loss of power from then on.
    pub(crate) fn keep(mut self) -> Result<u64> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        let keep = || -> io::Result<u64> {
            self.file.sync_all()?;
            let bytes = self.file.metadata()?.len();
            match renameat_with(CWD, &self.part, CWD, &self.target, RenameFlags::NOREPLACE) {
                // Some file systems can't promise that; nobody was there a moment ago.
                Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                    fs::rename(&self.part, &self.target)?;
                }
                renamed => renamed?,
            }
            if let Some(folder) = self.target.parent().filter(|it| !it.as_os_str().is_empty()) {
                File::open(folder)?.sync_all()?;
            }
            Ok(bytes)
        };
        let kept = keep();
        let bytes =
            kept.map_err(|error| ArchiveError::file(&self.target, "can't be written", &error))?;
        self.is_kept = true;
        Ok(bytes)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_kept {
            drop(fs::remove_file(&self.part));
        }
    }
}

/// Opening a link in place of a file is refused.
const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();

/// Opens an archive for reading.
pub(crate) fn open(file: &Path) -> Result<File> {
    let opened =
        File::open(file).map_err(|error| ArchiveError::file(file, "can't be read", &error))?;
    if opened.metadata().is_ok_and(|about| about.is_dir()) {
        return Err(ArchiveError::Foreign { file: file.to_owned(), what: "it is a folder".into() });
    }
    Ok(opened)
}

/// What a walk found.
pub enum Found<'a> {
    /// A file, open, or a folder or link.
    Entry(&'a Entry, Option<&'a mut File>),
    /// Something that can't be packed, as a socket.
    Left(&'a Path),
}

/// Visits all that is in a folder, by names below it, in order. What `skips` names is left out,
/// with all that is in it; what goes away while it is looked at is gone. No link is followed.
pub fn walk<E: From<ArchiveError>>(
    root: &Path,
    skips: &dyn Fn(&Path) -> bool,
    visit: &mut dyn FnMut(Found<'_>) -> Result<(), E>,
) -> Result<(), E> {
    walk_below(root, Path::new(""), skips, visit)
}

fn walk_below<E: From<ArchiveError>>(
    root: &Path,
    below: &Path,
    skips: &dyn Fn(&Path) -> bool,
    visit: &mut dyn FnMut(Found<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let folder = root.join(below);
    let failed = |path: &Path, error: &io::Error| ArchiveError::file(path, "can't be read", error);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(&folder, &error).into()),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry.map_err(|error| failed(&folder, &error))?.file_name());
    }
    names.sort_unstable();
    for name in names {
        let name = below.join(name);
        if skips(&name) {
            continue;
        }
        let path = root.join(&name);
        let about = match path.symlink_metadata() {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(&path, &error).into()),
        };
        if about.is_dir() {
            visit(Found::Entry(&entry(&name, &about, EntryKind::Folder), None))?;
            walk_below(root, &name, skips, visit)?;
        } else if about.is_symlink() {
            match fs::read_link(&path) {
                Ok(to) => visit(Found::Entry(&entry(&name, &about, EntryKind::Link(to)), None))?,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(failed(&path, &error).into()),
            }
        } else if about.is_file() {
            let opened = OpenOptions::new().read(true).custom_flags(NO_FOLLOW).open(&path);
            let mut file = match opened {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(&path, &error).into()),
            };
            let about = file.metadata().map_err(|error| failed(&path, &error))?;
            let entry = entry(&name, &about, EntryKind::File(about.len()));
            visit(Found::Entry(&entry, Some(&mut file)))?;
        } else {
            visit(Found::Left(&name))?;
        }
    }
    Ok(())
}

fn entry(name: &Path, about: &Metadata, kind: EntryKind) -> Entry {
    Entry {
        name: name.to_owned(),
        kind,
        mode: about.mode() & 0o777,
        owner: (about.uid(), about.gid()),
        changed: u64::try_from(about.mtime()).unwrap_or(0),
    }
}

/// What stands where a folder is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderState {
    Absent,
    Empty,
    /// There is something in it.
    Used,
}

/// Looks what there is.
pub fn folder_state(path: &Path) -> Result<FolderState> {
    match fs::read_dir(path) {
        Ok(mut entries) => Ok(match entries.next() {
            None => FolderState::Empty,
            Some(_) => FolderState::Used,
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(FolderState::Absent),
        Err(error) => Err(ArchiveError::file(path, "can't be used as a folder", &error)),
    }
}

/// Makes a folder for its owner alone, empty: what was in it is removed.
pub fn empty_folder(path: &Path) -> Result<()> {
    let failed = |error: &io::Error| ArchiveError::file(path, "can't be made", error);
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(&error)),
        _ => {}
    }
    make_folder(path).map_err(|error| failed(&error))
}

pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(crate) fn remove_folder(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path)
}

pub(crate) fn remove_empty(path: &Path) -> io::Result<()> {
    fs::remove_dir(path)
}

/// Writes a file that is not there yet.
pub(crate) fn write_new(path: &Path, entry: &Entry, content: &mut dyn Read) -> io::Result<u64> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let bytes = io::copy(content, &mut file)?;
    file.flush()?;
    file.set_permissions(Permissions::from_mode(entry.mode & 0o777))?;
    own(path, entry)?;
    file.set_modified(UNIX_EPOCH + Duration::from_secs(entry.changed))?;
    Ok(bytes)
}

/// Brings to the disk all that was written where a folder is.
pub(crate) fn flush_all(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

/// Gives a folder its mode, and its owner where we may.
pub(crate) fn settle_folder(path: &Path, entry: &Entry) -> io::Result<()> {
    make_folder(path)?;
    own(path, entry)?;
    fs::set_permissions(path, Permissions::from_mode(entry.mode & 0o777))
}

pub(crate) fn write_link(path: &Path, to: &Path, entry: &Entry) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    std::os::unix::fs::symlink(to, path)?;
    own(path, entry)
}

/// Only root can give files away; to everybody else they are their own.
fn own(path: &Path, entry: &Entry) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    std::os::unix::fs::lchown(path, Some(entry.owner.0), Some(entry.owner.1))
}

/// Moves all that is in a folder into the one above it, `last` after everything else.
pub(crate) fn lift(folder: &Path, into: &Path, last: &[&str]) -> io::Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name());
    }
    let rank =
        |name: &std::ffi::OsString| last.iter().position(|it| name == it).map_or(0, |at| at + 1);
    names.sort_by_key(rank);
    for name in names {
        fs::rename(folder.join(&name), into.join(&name))?;
    }
    File::open(into)?.sync_all()
}

/// Proof that nobody else does the same, as long as it is held.
#[derive(Debug)]
pub struct OnlyOne(#[expect(dead_code, reason = "held, not used")] File);

impl OnlyOne {
    /// Takes it, by a file; `None` while another process has it.
    pub fn take(path: &Path) -> Result<Option<Self>> {
        let opened =
            OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(path);
        let file = opened.map_err(|error| ArchiveError::file(path, "can't be opened", &error))?;
        Ok(file.try_lock().is_ok().then_some(Self(file)))
    }
}

/// Reads a file into memory where it is small, into a file of its own where not: it may change
/// while it is packed, and its length is told before its content.
pub(crate) fn steady(file: &mut File, bytes: u64, small: u64) -> io::Result<Steady> {
    if bytes <= small {
        let mut content = Vec::new();
        file.take(small + 1).read_to_end(&mut content)?;
        if content.len() as u64 <= small {
            return Ok(Steady::Bytes(content));
        }
        io::Seek::rewind(file)?;
    }
    Ok(Steady::Growing)
}

/// A file that does not change any more.
pub(crate) enum Steady {
    Bytes(Vec<u8>),
    /// It is too large to be held: it is copied first.
    Growing,
}

/// A copy of a file that has no name and goes away with its handle.
pub(crate) fn nameless_copy(file: &mut File, folder: &Path) -> io::Result<(File, u64)> {
    let path = folder.join(".copy");
    drop(fs::remove_file(&path));
    let mut copy =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    let bytes = io::copy(file, &mut copy)?;
    io::Seek::rewind(&mut copy)?;
    Ok((copy, bytes))
}
