//! What a file system has left, and what was written below a folder since some moment.
//!
//! Follows no link and looks at nothing but sizes and times, since the folders are those of
//! programs that may not be friendly.
#![expect(
    clippy::disallowed_methods,
    reason = "owns the look at what the folders of confined processes take up"
)]

use insula_domain::disk::Space;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// A folder deeper than this is not looked into: who nests so deep is found by the rest.
const DEPTH_MAX: usize = 256;
/// Entries that one look visits: more is an answer of its own.
const ENTRIES_MAX: u64 = 5_000_000;
/// In what a file's blocks are counted, whatever the file system's own are.
const BLOCK_BYTES: u64 = 512;

/// What the file system of a folder has left.
pub fn space(folder: &Path) -> io::Result<Space> {
    let found = rustix::fs::statvfs(folder)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(Space {
        free_bytes: bytes(found.f_bavail),
        total_bytes: bytes(found.f_blocks),
        free_files: found.f_favail,
        total_files: found.f_files,
    })
}

/// What was made or changed below a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    /// Bytes that its files occupy.
    pub bytes: u64,
    /// How many there are, folders too.
    pub files: u64,
    seen: u64,
}

/// What was made or changed below `folder` since a moment, in milliseconds since 1970: by the
/// time of the last change, which no program can set. A file of several names counts as the
/// part of each. Where children have a user of their own, only what is `owned` by it counts.
pub fn written_since(folder: &Path, since_ms: i64, owned: Option<u32>) -> io::Result<Written> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
    let mut written = Written::default();
    // The kernel's stamps lag behind its clock by up to a tick.
    look(top, (since_ms.div_euclid(1_000) - 1, owned), 0, &mut written);
    Ok(written)
}

type Whose = (i64, Option<u32>);

fn look(folder: OwnedFd, whose: Whose, depth: usize, written: &mut Written) {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // What vanishes or can't be read while we look is not counted.
    let Ok(entries) = Dir::read_from(&folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        written.seen += 1;
        if written.seen > ENTRIES_MAX {
            return;
        }
        let Ok(stat) = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        count(&stat, whose, written);
        if FileType::from_raw_mode(stat.st_mode).is_dir()
            && depth < DEPTH_MAX
            && let Ok(inside) = rustix::fs::openat(&folder, name, flags, Mode::empty())
        {
            look(inside, whose, depth + 1, written);
        }
    }
}

#[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
fn count(stat: &Stat, (since, owned): Whose, written: &mut Written) {
    if (stat.st_ctime as i64) < since || owned.is_some_and(|owner| owner != stat.st_uid) {
        return;
    }
    let names =
        if FileType::from_raw_mode(stat.st_mode).is_dir() { 1 } else { stat.st_nlink as u64 };
    let blocks = u64::try_from(stat.st_blocks).unwrap_or(0);
    written.files += 1;
    written.bytes = written.bytes.saturating_add(blocks * BLOCK_BYTES / names.max(1));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "a test makes the files it looks at")]
    use super::*;
    use std::fs;

    #[test]
    fn what_was_written_is_counted_and_links_are_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("large"), vec![1; 1 << 20]).unwrap();
        fs::create_dir(home.path().join("deep")).unwrap();
        fs::write(home.path().join("deep/one"), vec![1; 100_000]).unwrap();
        std::os::unix::fs::symlink(outside.path(), home.path().join("away")).unwrap();
        let written = written_since(home.path(), 0, None).unwrap();
        assert_eq!(written.files, 3);
        assert!((100_000..500_000).contains(&written.bytes), "{written:?}");
        assert_eq!(written_since(home.path(), i64::MAX, None).unwrap().files, 0);
        // What belongs to somebody else was somebody else's doing.
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(written_since(home.path(), 0, Some(own)).unwrap().files, 3);
        assert_eq!(written_since(home.path(), 0, Some(own + 1)).unwrap().files, 0);
        assert!(space(home.path()).unwrap().total_bytes > 0);
    }
}
