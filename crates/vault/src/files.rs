//! Files as the vault needs them: private, atomic, never waited for, and explained when they
//! refuse. The one file of this crate that touches the disk; it does not know what it carries.
#![expect(
    clippy::disallowed_methods,
    reason = "this file owns the vault's files; everything else in the crate goes through it"
)]

use crate::error::{Result, VaultError};
use insula_world::Timestamp;
use rustix::fs::OFlags;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use zeroize::Zeroizing;

/// How often a write begins anew when a sweep took its temporary file: a sweep runs once when
/// a vault is opened, so a second time is already unlikely.
const ATTEMPTS_MAX: u32 = 4;

/// What was read of a file.
pub(crate) struct Content {
    /// Its bytes; no more than were asked for.
    pub(crate) bytes: Zeroizing<Vec<u8>>,
    /// Its permission bits.
    pub(crate) mode: u32,
}

/// Creates the folders, outermost first, for their owner only, so that they survive a loss of
/// power. Existing ones stay as they are.
pub(crate) fn create_folders<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Result<()> {
    for path in paths {
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => sync_folder_of(path)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(explain(path, &error)),
        }
    }
    Ok(())
}

/// At most `len_max` bytes of a regular file; `None` if there is no file. Anything else in its
/// place (a link, a pipe, a device, a folder) is refused without waiting for it.
pub(crate) fn read(path: &Path, len_max: usize) -> Result<Option<Content>> {
    let file = match open_without_waiting(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(explain(path, &error)),
    };
    let metadata = file.metadata().map_err(|error| explain(path, &error))?;
    if !metadata.is_file() {
        return Err(VaultError::NotAllowed {
            file: path.to_owned(),
            what: "it is not a regular file".into(),
        });
    }
    // Room for all of it at once: a vector that grows leaves copies behind.
    let room = usize::try_from(metadata.len()).unwrap_or(len_max).min(len_max);
    let mut bytes = Zeroizing::new(Vec::with_capacity(room + 1));
    let limit = u64::try_from(len_max).unwrap_or(u64::MAX);
    (&file).take(limit).read_to_end(&mut bytes).map_err(|error| explain(path, &error))?;
    Ok(Some(Content { bytes, mode: metadata.permissions().mode() & 0o777 }))
}

/// Puts a file in place of whatever is at `path`, so that whenever the power goes there is
/// either the old one or the new one, whole. `fresh` names temporary files, each once.
pub(crate) fn replace(path: &Path, bytes: &[u8], fresh: impl FnMut() -> PathBuf) -> Result<()> {
    install(path, bytes, fresh, |temporary| fs::rename(temporary, path))
        .map_err(|error| explain(path, &error))?;
    sync_folder_of(path)
}

/// Puts a file at `path` unless there is something already; whether it did. Whoever finds the
/// file finds it whole.
pub(crate) fn create(path: &Path, bytes: &[u8], fresh: impl FnMut() -> PathBuf) -> Result<bool> {
    let linked = install(path, bytes, fresh, |temporary| {
        let linked = fs::hard_link(temporary, path);
        let _ = fs::remove_file(temporary);
        linked
    });
    match linked {
        Ok(()) => sync_folder_of(path).map(|()| true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(explain(path, &error)),
    }
}

/// Removes a file; whether there was one. The blocks are not overwritten first: on journalled
/// file systems and flash the old ones stay where they are whatever is written. What makes the
/// remains worthless is that they are sealed.
pub(crate) fn remove(path: &Path) -> Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => sync_folder_of(path).map(|()| true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(explain(path, &error)),
    }
}

/// Removes a folder and what is in it, following no links; nothing there is fine.
pub(crate) fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Ok(()) => sync_folder_of(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(explain(path, &error)),
    }
}

/// Whether there is anything at `path`, without following a link.
pub(crate) fn exists(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(explain(path, &error)),
    }
}

/// The regular files in a folder and when each was last written; opens none of them. No folder
/// has none.
pub(crate) fn list_files(folder: &Path) -> Result<Vec<(String, Timestamp)>> {
    list(folder, |metadata| {
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let since = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        metadata.is_file().then(|| Timestamp::from_millis(ms))
    })
}

/// The folders in a folder.
pub(crate) fn list_folders(folder: &Path) -> Result<Vec<String>> {
    let found = list(folder, |metadata| metadata.is_dir().then_some(()))?;
    Ok(found.into_iter().map(|(name, ())| name).collect())
}

/// Removes what killed writers left in the folder of temporary files. A file that is being
/// written is locked by its writer and stays. Failing here harms nobody: what is left is
/// sealed, and the next sweep tries again.
pub(crate) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if open_without_waiting(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Writes a temporary file and hands it to `place`, which puts it where it belongs.
fn install(
    path: &Path,
    bytes: &[u8],
    mut fresh: impl FnMut() -> PathBuf,
    place: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let mut attempt = 1;
    loop {
        let temporary = fresh();
        let outcome = write_temporary(&temporary, bytes).and_then(|file| {
            // The lock goes with `file`, after the temporary name is gone.
            let placed = place(&temporary);
            drop(file);
            placed
        });
        match outcome {
            // Swept away under our hands, or the name was taken: again, under another name.
            Err(error) if attempt < ATTEMPTS_MAX && is_lost(&error, path) => attempt += 1,
            Err(error) => {
                let _ = fs::remove_file(&temporary);
                return Err(error);
            }
            Ok(()) => return Ok(()),
        }
    }
}

fn is_lost(error: &io::Error, path: &Path) -> bool {
    let taken = error.kind() == ErrorKind::AlreadyExists && fs::symlink_metadata(path).is_err();
    taken || matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WouldBlock)
}

fn write_temporary(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => return Err(ErrorKind::WouldBlock.into()),
        // A file system without locks: a sweep can't lock either, and leaves the file.
        Err(TryLockError::Error(_)) | Ok(()) => {}
    }
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(file)
}

/// Opens for reading; a pipe without a writer opens at once, a link does not open.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

fn list<T>(folder: &Path, pick: impl Fn(&fs::Metadata) -> Option<T>) -> Result<Vec<(String, T)>> {
    let mut found = vec![];
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(explain(folder, &error)),
    };
    for entry in entries {
        let entry = entry.map_err(|error| explain(folder, &error))?;
        // What was removed since, and names that are not text, are not ours to list.
        let (Ok(metadata), Ok(name)) = (entry.metadata(), entry.file_name().into_string()) else {
            continue;
        };
        found.extend(pick(&metadata).map(|picked| (name, picked)));
    }
    Ok(found)
}

fn sync_folder_of(path: &Path) -> Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // The folder itself was removed meanwhile: there is nothing left to keep.
        Err(error) if error.kind() != ErrorKind::NotFound => Err(explain(folder, &error)),
        _ => Ok(()),
    }
}

/// An error of the system, by what can be done about it.
fn explain(path: &Path, error: &io::Error) -> VaultError {
    let file = path.to_owned();
    let what = error.to_string();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            VaultError::Full { file }
        }
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            VaultError::NotAllowed { file, what: "it is a symbolic link".into() }
        }
        ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::IsADirectory
        | ErrorKind::NotADirectory
        | ErrorKind::NotFound
        | ErrorKind::AlreadyExists => VaultError::NotAllowed { file, what },
        _ => VaultError::Io { file, what },
    }
}
