//! Removes a folder with all it holds, whatever the programs of an agent made of it: modes that
//! let nobody in, nestings longer than any path, names that are no text.
//!
//! Everything is done beneath a folder that is open. No link is followed and no other file system
//! is entered. What can't be removed is left, and the rest goes all the same.

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, RenameFlags, ResolveFlags, Stat,
};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Folders that are open at once. What is nested deeper is moved up to the top first.
const DEPTH_MAX: usize = 64;
/// How often one folder is gone through: an end to whoever goes on filling it.
const PASSES_MAX: usize = 10_000;
/// Names that are tried for a folder that is moved up, before it is left where it is.
const NAMES_MAX: usize = 10_000;
/// What its owner needs to empty a folder.
const OWNER_ALL: RawMode = 0o700;

/// Removes a file, a link or a folder with all it holds. Nothing there is nothing to do.
pub fn remove_whole(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let name = CString::new(name.as_bytes())?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = match rustix::fs::openat(CWD, parent, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        opened => opened?,
    };
    let stat = match rustix::fs::statat(&parent, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(()),
        stat => stat?,
    };
    if !is_folder(&stat) {
        return Ok(rustix::fs::unlinkat(&parent, &name, AtFlags::empty())?);
    }
    let top = enter(parent.as_fd(), &name, stat.st_dev)?;
    Emptying { top: &top, device: stat.st_dev, moved: 0 }.empty(top.as_fd(), 0)?;
    Ok(rustix::fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR)?)
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// Opens a folder in a folder for emptying, whatever its mode says.
fn enter(folder: BorrowedFd<'_>, name: &CStr, device: u64) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match open(folder, name, flags) {
        Err(Errno::ACCESS) => {
            let seen = open(folder, name, OFlags::PATH | flags)?;
            // By its descriptor: a name could lead elsewhere by now.
            let own = format!("/proc/self/fd/{}", seen.as_raw_fd());
            let all = Mode::from_raw_mode(OWNER_ALL);
            rustix::fs::chmodat(CWD, own, all, AtFlags::empty())?;
            open(folder, name, flags)
        }
        opened => opened,
    };
    let opened = opened.map_err(|error| match error {
        Errno::XDEV => elsewhere(),
        error => error.into(),
    })?;
    let stat = rustix::fs::fstat(&opened)?;
    if stat.st_dev != device {
        return Err(elsewhere());
    }
    if stat.st_mode & OWNER_ALL != OWNER_ALL {
        rustix::fs::fchmod(&opened, Mode::from_raw_mode(OWNER_ALL))?;
    }
    Ok(opened)
}

/// Opens what is in a folder, and in no other file system that is mounted there.
fn open(folder: BorrowedFd<'_>, name: &CStr, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    match rustix::fs::openat2(folder, name, flags, Mode::empty(), resolve) {
        // Some containers know no such call; whoever opened it compares the devices.
        Err(Errno::NOSYS | Errno::PERM) => rustix::fs::openat(folder, name, flags, Mode::empty()),
        opened => opened,
    }
}

fn elsewhere() -> io::Error {
    io::Error::other("another file system is mounted in it; unmount that first")
}

struct Emptying<'t> {
    top: &'t OwnedFd,
    device: u64,
    /// Folders that were moved up so far.
    moved: usize,
}

impl Emptying<'_> {
    /// Removes what a folder holds: all that can be, and the first reason where something can't.
    fn empty(&mut self, folder: BorrowedFd<'_>, depth: usize) -> io::Result<()> {
        for _ in 0..PASSES_MAX {
            let (mut removed, mut trouble) = (0_usize, None);
            for entry in Dir::read_from(folder)? {
                let entry = entry?;
                let name = entry.file_name();
                if name == c"." || name == c".." {
                    continue;
                }
                match self.remove(folder, name, depth) {
                    Ok(()) => removed += 1,
                    Err(error) => {
                        let shown = name.to_string_lossy().escape_debug().to_string();
                        let what = || io::Error::new(error.kind(), format!("`{shown}`: {error}"));
                        trouble.get_or_insert_with(what);
                    }
                }
            }
            match (removed, trouble) {
                (0, None) => return Ok(()),
                (0, Some(error)) => return Err(error),
                // What was removed or moved while it was read may have hidden something.
                _ => {}
            }
        }
        Err(io::Error::other("it is filled while it is emptied"))
    }

    fn remove(&mut self, folder: BorrowedFd<'_>, name: &CStr, depth: usize) -> io::Result<()> {
        match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            // What a folder answers, on Linux and elsewhere.
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if !is_folder(&stat) {
            return Err(Errno::PERM.into());
        }
        if rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR).is_ok() {
            return Ok(());
        }
        let inside = enter(folder, name, self.device)?;
        if depth >= DEPTH_MAX {
            return self.move_up(folder, name);
        }
        self.empty(inside.as_fd(), depth + 1)?;
        drop(inside);
        Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
    }

    /// Moves a folder to the top, where it is found again.
    fn move_up(&mut self, folder: BorrowedFd<'_>, name: &CStr) -> io::Result<()> {
        for _ in 0..NAMES_MAX {
            self.moved += 1;
            let fresh = format!(".deep-{}", self.moved);
            let no_replace = RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(folder, name, self.top, fresh, no_replace) {
                Err(Errno::EXIST) => {}
                moved => return Ok(moved?),
            }
        }
        Err(io::Error::other("it is nested too deep"))
    }
}

#[cfg(test)]
#[path = "removal_tests.rs"]
mod removal_tests;
