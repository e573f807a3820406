//! Gives a folder to the user its children run as.

use crate::spec::HostUser;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// A tree deeper than this is not walked: each level holds a descriptor.
const DEPTH_MAX: usize = 256;

/// Gives `path` and all below it to `owner`. Follows no link, on the way or below, and leaves
/// alone what already belongs to it. Only root can do this, and only root needs it: an
/// ordinary user's children run as that user.
pub fn give_to(path: &Path, owner: HostUser) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    take(&folder, c"", AtFlags::EMPTY_PATH, owner)?;
    descend(folder, owner, 0)
}

fn descend(folder: OwnedFd, owner: HostUser, depth: usize) -> io::Result<()> {
    if depth > DEPTH_MAX {
        return Err(io::Error::other("the folder is nested too deep"));
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        match take(&folder, name, AtFlags::SYMLINK_NOFOLLOW, owner) {
            Ok(FileType::Directory) => {
                match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
                    Ok(inside) => descend(inside, owner, depth + 1)?,
                    // It vanished, or became something else, while we looked.
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Changes the owner of one entry, unless another name of it could be somewhere else: a file
/// with several names may be one that was linked in from outside.
fn take(
    folder: &OwnedFd,
    name: &std::ffi::CStr,
    flags: AtFlags,
    owner: HostUser,
) -> rustix::io::Result<FileType> {
    let stat = rustix::fs::statat(folder, name, flags)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let several_names = kind.is_file() && stat.st_nlink > 1;
    if (stat.st_uid, stat.st_gid) != (owner.uid, owner.gid) && !several_names {
        let (uid, gid) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
        rustix::fs::chownat(folder, name, Some(uid), Some(gid), flags)?;
    }
    Ok(kind)
}
