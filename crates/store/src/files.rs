//! Files as the store needs them: private, atomic, and explained when they refuse. The one
//! file of this crate that touches the file system itself; databases go through SQLite.
#![expect(
    clippy::disallowed_methods,
    reason = "this file owns the store's direct file access; everything else goes through it"
)]

use crate::error::{Result, StoreError};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Most bytes read of a small file: enough for a key or an anchor, and for seeing that
/// something else is neither.
const SMALL_FILE_BYTES_MAX: u64 = 4_096;

/// Creates a folder, and those above it, for its owner only. Existing ones stay as they are.
pub(crate) fn create_folder(path: &Path) -> Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| explain(path, &error))
}

/// Creates an empty file for its owner only, unless there is one.
pub(crate) fn create_file(path: &Path) -> Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(file) => {
            file.sync_all().map_err(|error| explain(path, &error))?;
            sync_folder_of(path)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(explain(path, &error)),
    }
}

/// Whether there is a file at `path`. What can't be told is an error, never "no"; so is a link,
/// which could lead to somebody else's file.
pub(crate) fn exists(path: &Path) -> Result<bool> {
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => Err(StoreError::NotAllowed {
            file: path.to_owned(),
            what: "it is a link, and must be a file of its own".into(),
        }),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(explain(path, &error)),
    }
}

/// The names of what is in a folder, in order; none where there is no folder. Names that are no
/// text are nobody's here.
pub(crate) fn names_in(folder: &Path) -> Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(explain(folder, &error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| explain(folder, &error))?.file_name();
        names.extend(name.into_string());
    }
    names.sort_unstable();
    Ok(names)
}

/// A small file's bytes and permission bits; `None` if there is no file.
pub(crate) fn read_small(path: &Path) -> Result<Option<(Vec<u8>, u32)>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(explain(path, &error)),
    };
    let read = || -> io::Result<_> {
        let mode = file.metadata()?.permissions().mode() & 0o777;
        let mut bytes = Vec::new();
        (&file).take(SMALL_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok((bytes, mode))
    };
    read().map(Some).map_err(|error| explain(path, &error))
}

/// Writes a file for its owner only so that, whenever the power goes, there is either the
/// old one or the new one, whole.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let temporary = PathBuf::from(name);
    let write = || -> io::Result<()> {
        // What an interrupted write left has unknown rights: begin anew.
        match std::fs::remove_file(&temporary) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    };
    write().map_err(|error| explain(path, &error))?;
    sync_folder_of(path)
}

/// Copies a file as it is, for its owner only; `false` where there is none.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<bool> {
    match std::fs::copy(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(explain(from, &error)),
        Ok(_) => {
            let private = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(to, private).map_err(|error| explain(to, &error))?;
            Ok(true)
        }
    }
}

fn sync_folder_of(path: &Path) -> Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        None => Ok(()),
        Some(folder) => File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| explain(folder, &error)),
    }
}

/// Puts a file of this many bytes on the disk, unless there is one: bytes that no file system
/// stores as fewer. What could not be written whole is taken away again.
pub(crate) fn occupy(path: &Path, bytes: usize) -> Result<()> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = match made {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(explain(path, &error)),
    };
    let mut content = vec![0; bytes];
    blake3::Hasher::new().finalize_xof().fill(&mut content);
    let written = file.write_all(&content).and_then(|()| file.sync_all());
    written.map_err(|error| {
        drop(std::fs::remove_file(path));
        explain(path, &error)
    })
}

/// Brings a file to the disk, with its name.
pub(crate) fn flush(path: &Path) -> Result<()> {
    let flushed = File::open(path).and_then(|file| file.sync_all());
    flushed.map_err(|error| explain(path, &error))?;
    sync_folder_of(path)
}

/// How long a file is; 0 where there is none to be seen.
pub(crate) fn len(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |it| it.len())
}

/// Removes a file; whether there was one.
pub(crate) fn remove(path: &Path) -> bool {
    std::fs::remove_file(path).is_ok()
}

/// Why a database that SQLite could not open can't be opened.
pub(crate) fn why_not_openable(path: &Path) -> StoreError {
    let not_allowed = |what: &str| StoreError::NotAllowed { file: path.into(), what: what.into() };
    match OpenOptions::new().read(true).write(true).open(path) {
        Err(error) => explain(path, &error),
        Ok(file) if file.metadata().is_ok_and(|metadata| metadata.is_dir()) => {
            not_allowed("it is a folder")
        }
        Ok(_) => not_allowed("its companion files `-wal` and `-shm` can't be opened"),
    }
}

/// An error of the system, by what can be done about it.
fn explain(path: &Path, error: &io::Error) -> StoreError {
    let file = path.to_owned();
    let what = error.to_string();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            StoreError::Full { file }
        }
        ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::IsADirectory
        | ErrorKind::NotADirectory
        | ErrorKind::NotFound
        | ErrorKind::AlreadyExists => StoreError::NotAllowed { file, what },
        _ => StoreError::Io { file, what },
    }
}
