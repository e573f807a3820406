//! The steps a root is built from: folders in memory, places in the new root, mounts at them.

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags};
use std::ffi::{CString, OsStr};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};

/// Where the new root is put together. It hides the host's folder of that name, from which
/// whatever was granted has been picked up by then.
pub(super) const BASE: &str = "/tmp";

/// Only to be looked at by its descriptor.
const HOLD: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Something to mount, picked up but not mounted yet.
pub(super) struct Tree {
    pub(super) descriptor: OwnedFd,
    pub(super) path: PathBuf,
    pub(super) folder: bool,
    pub(super) flags: MountFlags,
}

impl Tree {
    /// Takes a copy of the mounts at a descriptor, for the same path in the new root.
    pub(super) fn copy(
        found: &OwnedFd,
        path: &Path,
        flags: MountFlags,
    ) -> rustix::io::Result<Self> {
        let how = OpenTreeFlags::AT_EMPTY_PATH
            | OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE;
        let descriptor = rustix::mount::open_tree(found, "", how)?;
        Ok(Self { descriptor, path: path.to_owned(), folder: kind(found)?.is_dir(), flags })
    }

    /// Mounts it at its own path below `base`.
    pub(super) fn attach(&self, base: &OwnedFd) -> rustix::io::Result<()> {
        attach(&self.descriptor, &place(base, &self.path, self.folder)?)
    }

    /// Takes rights from the mount, by its descriptor: its path may be the child's to change.
    pub(super) fn restrict(&self) -> rustix::io::Result<()> {
        remount(&self.descriptor, self.flags)
    }
}

/// Mounts what is mounted nowhere yet.
pub(super) fn attach(detached: &OwnedFd, target: &OwnedFd) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(detached, "", target, "", flags)
}

/// Takes hold of what is at a path of the host, followed through no link.
pub(super) fn hold(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)
}

/// What kind of file a descriptor is of.
pub(super) fn kind(of: &OwnedFd) -> rustix::io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(of)?.st_mode))
}

/// The way to a descriptor, for calls that take a path.
pub(super) fn way(to: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", to.as_raw_fd())
}

/// A restriction that a mount came with can't be lifted, and has to be said again.
pub(super) fn remount(mount: &OwnedFd, flags: MountFlags) -> rustix::io::Result<()> {
    use rustix::fs::StatVfsMountFlags as Has;
    let has = rustix::fs::fstatvfs(mount)?.f_flag;
    let mut flags = flags;
    for (bit, flag) in [
        (Has::RDONLY, MountFlags::RDONLY),
        (Has::NOSUID, MountFlags::NOSUID),
        (Has::NODEV, MountFlags::NODEV),
        (Has::NOEXEC, MountFlags::NOEXEC),
    ] {
        flags |= if has.contains(bit) { flag } else { MountFlags::empty() };
    }
    rustix::mount::mount_remount(way(mount), flags | MountFlags::BIND, "")
}

/// What is at a path below `base`, if there is something. No link is followed.
pub(super) fn find(base: &OwnedFd, path: &Path) -> rustix::io::Result<Option<OwnedFd>> {
    let mut current = rustix::fs::openat(base, ".", HOLD, Mode::empty())?;
    for name in names(path) {
        current = match rustix::fs::openat(&current, name, HOLD, Mode::empty()) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            opened => opened?,
        };
    }
    Ok(Some(current))
}

/// The place for a mount below `base`, made if it is not there. No link is followed: parts of
/// the way may be in folders the child has written to before.
pub(super) fn place(base: &OwnedFd, path: &Path, folder: bool) -> rustix::io::Result<OwnedFd> {
    let names: Vec<&OsStr> = names(path).collect();
    let mut current = rustix::fs::openat(base, ".", HOLD, Mode::empty())?;
    for (index, name) in names.iter().enumerate() {
        let last = index + 1 == names.len();
        let next = match rustix::fs::openat(&current, *name, HOLD, Mode::empty()) {
            Err(Errno::NOENT) => {
                if last && !folder {
                    write(&current, name, b"")?;
                } else {
                    rustix::fs::mkdirat(&current, *name, Mode::from(0o755))?;
                }
                rustix::fs::openat(&current, *name, HOLD, Mode::empty())?
            }
            opened => opened?,
        };
        if kind(&next)?.is_symlink() {
            return Err(Errno::LOOP);
        }
        current = next;
    }
    Ok(current)
}

fn names(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components()
        .filter_map(|part| if let Component::Normal(name) = part { Some(name) } else { None })
}

/// Makes a link at a path below `base`.
pub(super) fn link(base: &OwnedFd, path: &Path, target: &CString) -> rustix::io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let folder = place(base, parent, true)?;
    rustix::fs::symlinkat(target.as_c_str(), &folder, path.file_name().unwrap_or_default())
}

/// Writes a new file.
pub(super) fn write(folder: &OwnedFd, name: &OsStr, content: &[u8]) -> rustix::io::Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::from(0o644))?;
    let mut rest = content;
    while !rest.is_empty() {
        let written = rustix::io::write(&file, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// Mounts a folder in memory.
pub(super) fn memory(path: &str, flags: MountFlags, options: &str) -> rustix::io::Result<()> {
    let options = CString::new(options).map_err(|_| Errno::INVAL)?;
    rustix::mount::mount("tmpfs", path, "tmpfs", flags, options.as_c_str())
}
