//! A `/dev` of a child's own. Device nodes are files like others: two programs that can open
//! the same one see each other's locks on it, and one that watches it sees every use. Only root
//! can make nodes, in a file system in memory that is mounted nowhere until a child has it.

use rustix::fs::{AtFlags, FileType, Mode, makedev};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen,
};
use std::os::fd::OwnedFd;

/// The devices that are no device of this machine, by their numbers.
const DEVICES: [(&str, u32); 5] =
    [("null", 3), ("zero", 5), ("full", 7), ("random", 8), ("urandom", 9)];

/// The number that all of them have in common: devices of memory.
const MEMORY: u32 = 1;

/// Links that programs expect in `/dev`. Shared memory is files in the private `/tmp`, so
/// that one limit counts both.
pub(crate) const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("shm", "/tmp"),
];

pub(crate) fn make() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in [("size", "64k"), ("nr_inodes", "32"), ("mode", "0755")] {
        fsconfig_set_string(&context, key, value)?;
    }
    fsconfig_create(&context)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let folder = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
    let open_to_all = Mode::from(0o666);
    for (name, number) in DEVICES {
        let device = makedev(MEMORY, number);
        rustix::fs::mknodat(&folder, name, FileType::CharacterDevice, open_to_all, device)?;
        // The mask of this process took rights off.
        rustix::fs::chmodat(&folder, name, open_to_all, AtFlags::empty())?;
    }
    for (name, target) in LINKS {
        rustix::fs::symlinkat(target, &folder, name)?;
    }
    Ok(folder)
}
