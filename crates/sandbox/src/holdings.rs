//! What a child and all it started hold that stands in no folder: content of files without a
//! name, and watches of `epoll`, which the kernel counts for the whole user.
//!
//! Looked at from outside, so that a process can't hide by closing itself to its like. What
//! can't be measured (mapped and closed, or on its way through a socket) is told as that.
#![expect(
    clippy::disallowed_methods,
    reason = "owns the look at what confined processes hold open, which is below /proc"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The outer and the inner helper, which the others descend from.
const HELPERS: usize = 2;
/// Processes of one tree that are looked at: more than any may have.
const PROCESSES_MAX: usize = 16_384;
/// In what a file's blocks are counted, whatever the file system's own are.
const BLOCK_BYTES: u64 = 512;
/// What a descriptor of `epoll` is called.
const EPOLL: &str = "anon_inode:[eventpoll]";
/// How a mapping of a file without a name ends.
const DELETED: &str = " (deleted)";

/// What a tree of processes holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holdings {
    /// By the device of their file system: files without a name.
    pub nameless: BTreeMap<u64, Nameless>,
    /// Watches of `epoll`, those of shared descriptors counted for each holder.
    pub watches: u64,
    /// Devices with content without a name whose size can't be seen.
    pub hidden: BTreeSet<u64>,
    /// Whether descriptors are on their way through a socket, of whatever.
    pub in_flight: bool,
    /// Whether there is a process that can't be looked at: one that executes what it may not
    /// read, where the daemon is not root.
    pub unseen: bool,
}

/// Files without a name on one file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Nameless {
    /// Bytes that they occupy.
    pub bytes: u64,
    /// How many there are.
    pub files: u64,
}

/// The file system that a folder is on.
pub fn device(folder: &Path) -> Option<u64> {
    fs::symlink_metadata(folder).ok().map(|it| it.dev())
}

/// What a process and all it started hold. What ends while this looks holds nothing.
pub fn holdings(first: u32) -> Holdings {
    let mut held = Holdings::default();
    let mut measured = BTreeSet::new();
    let mut mapped: BTreeMap<(u64, u64), PathBuf> = BTreeMap::new();
    // The helpers are closed to everybody, and hold nothing of their child's.
    for process in tree(first).into_iter().skip(HELPERS) {
        let folder = PathBuf::from(format!("/proc/{process}"));
        descriptors(&folder, &mut held, &mut measured);
        mappings(&folder, &mut mapped);
    }
    for ((device, file), range) in mapped {
        if measured.contains(&(device, file)) {
            continue;
        }
        // Only a daemon that is root may look through a mapping.
        match fs::metadata(range) {
            Ok(found) => add(&mut held, device, found.blocks()),
            Err(_) => {
                held.hidden.insert(device);
            }
        }
    }
    held
}

fn add(held: &mut Holdings, device: u64, blocks: u64) {
    let nameless = held.nameless.entry(device).or_default();
    nameless.files += 1;
    nameless.bytes = nameless.bytes.saturating_add(blocks.saturating_mul(BLOCK_BYTES));
}

/// A process and all its descendants. Whoever is orphaned becomes a child of the first process
/// inside, so nobody leaves the tree.
fn tree(first: u32) -> Vec<u32> {
    let mut all = vec![first];
    let mut next = 0;
    while let Some(&process) = all.get(next) {
        next += 1;
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { continue };
        for thread in threads.flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|it| it.parse::<u32>().ok()));
        }
        if all.len() > PROCESSES_MAX {
            break;
        }
    }
    all
}

fn descriptors(process: &Path, held: &mut Holdings, measured: &mut BTreeSet<(u64, u64)>) {
    let open = match fs::read_dir(process.join("fd")) {
        Ok(open) => open,
        Err(error) => {
            held.unseen |= error.kind() == io::ErrorKind::PermissionDenied;
            return;
        }
    };
    for entry in open.flatten() {
        let path = entry.path();
        let Ok(found) = fs::metadata(&path) else { continue };
        let kind = found.file_type();
        let about = || {
            let number = entry.file_name();
            fs::read_to_string(process.join("fdinfo").join(number)).unwrap_or_default()
        };
        if kind.is_socket() {
            held.in_flight |= about()
                .lines()
                .any(|line| line.strip_prefix("scm_fds:").is_some_and(|count| count.trim() != "0"));
        } else if kind.is_file() && found.nlink() == 0 {
            if measured.insert((found.dev(), found.ino())) {
                add(held, found.dev(), found.blocks());
            }
        } else if !(kind.is_file() || kind.is_dir() || kind.is_fifo() || kind.is_char_device())
            && fs::read_link(&path).is_ok_and(|name| name == Path::new(EPOLL))
        {
            let watches = about().lines().filter(|line| line.starts_with("tfd:")).count();
            held.watches = held.watches.saturating_add(watches as u64);
        }
    }
}

/// Files without a name that a process has in its memory, and where each can be looked at.
fn mappings(process: &Path, found: &mut BTreeMap<(u64, u64), PathBuf>) {
    let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
    for line in maps.lines().filter(|line| line.ends_with(DELETED)) {
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(device), Some(file)) = (fields.next(), fields.nth(2), fields.next())
        else {
            continue;
        };
        if let (Some(device), Ok(file)) = (number(device), file.parse()) {
            found.entry((device, file)).or_insert_with(|| process.join("map_files").join(range));
        }
    }
}

/// The number of a device, as files have it, from how mappings write it.
fn number(text: &str) -> Option<u64> {
    let (major, minor) = text.split_once(':')?;
    let part = |text| u32::from_str_radix(text, 16).ok();
    Some(rustix::fs::makedev(part(major)?, part(minor)?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "a test holds the files that are looked at")]
    use super::*;
    use std::io::Write as _;

    /// What this process holds.
    fn measured_here() -> Holdings {
        let (mut held, mut measured) = (Holdings::default(), BTreeSet::new());
        descriptors(Path::new("/proc/self"), &mut held, &mut measured);
        held
    }

    #[test]
    fn content_without_a_name_is_counted_once_and_named_content_is_not() {
        // Not below `/tmp` where that is in memory: blocks are counted all the same.
        let folder = tempfile::tempdir().unwrap();
        let own = device(folder.path()).unwrap();
        let before = measured_here().nameless.get(&own).copied().unwrap_or_default();
        let (named, gone) = (folder.path().join("named"), folder.path().join("gone"));
        fs::write(named, vec![1; 3 << 20]).unwrap();
        let mut nameless = fs::File::create(&gone).unwrap();
        nameless.write_all(&vec![1; 5 << 20]).unwrap();
        nameless.sync_all().unwrap();
        let twice = nameless.try_clone().unwrap();
        fs::remove_file(&gone).unwrap();
        let after = measured_here().nameless.get(&own).copied().unwrap_or_default();
        let grown = after.bytes.saturating_sub(before.bytes);
        // Other tests of this process may hold files of their own meanwhile.
        assert!((5 << 20..6 << 20).contains(&grown), "{grown}");
        drop((nameless, twice));
    }
}
