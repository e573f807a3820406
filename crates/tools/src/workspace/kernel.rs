//! The system calls behind a workspace. Every one is relative to an open folder, and the
//! kernel refuses whatever would leave it; no text of a path decides anything here.
#![expect(
    clippy::disallowed_methods,
    reason = "opens the folders that operators granted, once, and everything else beneath them"
)]

use insula_domain::disk::Space;
use rustix::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Stat, Uid, chownat,
    fchmod, fchown, fdatasync, fstat, fstatvfs, linkat, mkdirat, open, openat, openat2, readlinkat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// How often a walk is tried again that the kernel gave up because folders moved meanwhile.
/// A child that moves folders all the time gets its own agent a refusal, nothing more.
const MOVED_RETRIES_MAX: usize = 64;
/// A folder deeper than this below its root is not looked for.
const DEPTH_MAX: usize = 256;
/// Rights of new folders that hold a workspace: their owner's alone.
const PRIVATE_FOLDER: Mode = Mode::RWXU;

/// Which file or folder this is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    pub(crate) fn of(folder: impl AsFd) -> Result<Self, Errno> {
        fstat(folder).map(|stat| Self::from_stat(&stat))
    }

    #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    pub(crate) fn from_stat(stat: &Stat) -> Self {
        Self { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
    }
}

/// Tells whether a file was replaced or written to between two looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    identity: FileIdentity,
    size: i64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Fingerprint {
    #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            identity: FileIdentity::from_stat(stat),
            size: stat.st_size as i64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) kind: FileType,
}

/// Opens the home of the daemon, wherever the operator's links lead.
pub(crate) fn open_anchor(path: &Path) -> Result<OwnedFd, Errno> {
    open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a granted folder. A link on the way is refused: whoever can write where it stands
/// could turn it, and with it the grant, to somewhere else.
pub(crate) fn open_granted(path: &Path) -> Result<OwnedFd, Errno> {
    again(|| {
        openat2(
            rustix::fs::CWD,
            path,
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        )
    })
}

/// Opens a folder below `base` without following any link, making what is missing.
pub(crate) fn open_own(base: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd, Errno> {
    // Nearly always it is there, and one walk is enough.
    match subfolder(base, path.as_os_str()) {
        Err(Errno::NOENT) => {}
        other => return other,
    }
    let mut folder: Option<OwnedFd> = None;
    for part in path {
        let at = folder.as_ref().map_or(base, AsFd::as_fd);
        match mkdirat(at, part, PRIVATE_FOLDER) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        folder = Some(subfolder(at, part)?);
    }
    folder.ok_or(Errno::INVAL)
}

/// The folder `name` in `folder`, unless that is a link.
pub(crate) fn subfolder(folder: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(folder, name, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

/// Makes a folder for its owner alone, whose parent exists.
pub(crate) fn make_granted(path: &Path) -> Result<(), Errno> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::INVAL);
    };
    mkdirat(open_granted(parent)?, name, PRIVATE_FOLDER)
}

/// The folder at `path` below `root`, by links that stay below it.
pub(crate) fn folder_beneath(root: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    beneath(root, path, OFlags::PATH | OFlags::DIRECTORY)
}

fn beneath(root: impl AsFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    again(|| openat2(root.as_fd(), path, flags | OFlags::CLOEXEC, Mode::empty(), resolve))
}

/// The kernel gives up a walk beneath a folder when something on the way was moved.
fn again<T>(mut walk: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    for _ in 0..MOVED_RETRIES_MAX {
        match walk() {
            Err(Errno::AGAIN | Errno::INTR) => continue,
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// The folders from `folder` up to `top`, both included; an error when `top` is not above it.
pub(crate) fn up_to(folder: impl AsFd, top: FileIdentity) -> Result<Vec<FileIdentity>, Errno> {
    let mut seen = vec![FileIdentity::of(&folder)?];
    let mut at: Option<OwnedFd> = None;
    while seen.last() != Some(&top) {
        if seen.len() > DEPTH_MAX {
            return Err(Errno::XDEV);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let here = at.as_ref().map_or(folder.as_fd(), AsFd::as_fd);
        let above = openat(here, "..", flags, Mode::empty())?;
        let identity = FileIdentity::of(&above)?;
        // The top of everything is its own parent.
        if seen.last() == Some(&identity) {
            return Err(Errno::XDEV);
        }
        seen.push(identity);
        at = Some(above);
    }
    Ok(seen)
}

/// What stands under `name`, not following a link; `None` when nothing does.
pub(crate) fn look(folder: impl AsFd, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What kind of thing a look showed.
pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Where a link leads.
pub(crate) fn link_target(folder: impl AsFd, name: &OsStr) -> Result<PathBuf, Errno> {
    let target = readlinkat(folder, name, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// Opens what a look showed to be a regular file. Never waits: for the other end of a pipe,
/// or for a lease that another process holds.
pub(crate) fn open_file(folder: impl AsFd, name: &OsStr) -> Result<(File, Stat), Errno> {
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let file = openat2(folder, name, flags, Mode::empty(), resolve)?;
    let stat = fstat(&file)?;
    // It may have become something else since it was looked at.
    if kind(&stat) != FileType::RegularFile {
        return Err(Errno::AGAIN);
    }
    Ok((File::from(file), stat))
}

/// Reads at most `limit` bytes and one more, by which a longer file shows.
pub(crate) fn read(file: File, stat: &Stat, limit: u64) -> Result<Vec<u8>, Errno> {
    let expected = u64::try_from(stat.st_size).unwrap_or(0).min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(errno)?;
    Ok(bytes)
}

/// The names in a folder, at most `limit` of them, sorted; and whether there are more.
pub(crate) fn list(
    root: impl AsFd,
    path: &Path,
    limit: usize,
) -> Result<(Vec<Entry>, bool), Errno> {
    let folder = beneath(root, path, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut entries = Vec::new();
    for entry in Dir::new(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if entries.len() == limit {
            entries.sort_by(|a: &Entry, b| a.name.cmp(&b.name));
            return Ok((entries, true));
        }
        entries.push(Entry { name: name.to_owned(), kind: entry.file_type() });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((entries, false))
}

/// Makes a folder as any program would, for whoever owns the one it is in: a daemon that is
/// root works in folders of users that are not.
pub(crate) fn make_folder(folder: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => {
            let own = subfolder(&folder, name)?;
            let above = fstat(&folder)?;
            if fstat(&own)?.st_uid != above.st_uid {
                let owner = (Uid::from_raw(above.st_uid), Gid::from_raw(above.st_gid));
                let _ = chownat(&own, "", Some(owner.0), Some(owner.1), AtFlags::EMPTY_PATH);
            }
            Ok(())
        }
        Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Writes a new file, with rights and owner of the one it will replace; one that replaces
/// none belongs to whoever owns its folder.
pub(crate) fn write_new(
    folder: impl AsFd,
    name: &OsStr,
    bytes: &[u8],
    like: Option<&Stat>,
) -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = if like.is_some() { Mode::RUSR | Mode::WUSR } else { Mode::from_raw_mode(0o666) };
    let mut file = File::from(openat(&folder, name, flags, mode)?);
    let filled = (|| {
        file.write_all(bytes).map_err(errno)?;
        let own = fstat(&file)?;
        let owned_like = match like {
            Some(like) => *like,
            None => fstat(&folder)?,
        };
        let differs = match like {
            Some(like) => (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid),
            None => own.st_uid != owned_like.st_uid,
        };
        if differs {
            // An ordinary user can't give files away; then the file is ours, as it is after
            // any editor that saves this way.
            let owner = (Uid::from_raw(owned_like.st_uid), Gid::from_raw(owned_like.st_gid));
            let _ = fchown(&file, Some(owner.0), Some(owner.1));
        }
        if let Some(like) = like {
            // Not the bits that lend the owner's rights: the content is new.
            fchmod(&file, Mode::from_raw_mode(like.st_mode & 0o777))?;
        }
        fdatasync(&file)
    })();
    if filled.is_err() {
        let _ = unlinkat(&folder, name, AtFlags::empty());
    }
    filled
}

/// Puts a new file in the place of another.
pub(crate) fn replace(folder: impl AsFd, new: &OsStr, name: &OsStr) -> Result<(), Errno> {
    renameat(&folder, new, &folder, name)
}

/// Puts a new file where there is none; an error when there is one by now.
pub(crate) fn place(folder: impl AsFd, new: &OsStr, name: &OsStr) -> Result<(), Errno> {
    match renameat_with(&folder, new, &folder, name, RenameFlags::NOREPLACE) {
        // Not every file system knows how; all that matter here know links.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            linkat(&folder, new, &folder, name, AtFlags::empty())?;
            unlinkat(&folder, new, AtFlags::empty())
        }
        other => other,
    }
}

/// What the file system of a folder has left.
pub(crate) fn space(folder: impl AsFd) -> Result<Space, Errno> {
    let found = fstatvfs(folder)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(Space {
        free_bytes: bytes(found.f_bavail),
        total_bytes: bytes(found.f_blocks),
        free_files: found.f_favail,
        total_files: found.f_files,
    })
}

/// Removes a file or a link, never a folder.
pub(crate) fn remove(folder: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    unlinkat(folder, name, AtFlags::empty())
}

/// Where an open folder is now, without any link on the way.
pub(crate) fn real_path(folder: impl AsFd) -> Result<PathBuf, Errno> {
    let link = format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd());
    let path = readlinkat(rustix::fs::CWD, link, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
