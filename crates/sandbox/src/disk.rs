//! What a file system has left, and what was written below a folder since some moment.
//!
//! Follows no link and looks at nothing but sizes and times, since the folders are those of
//! programs that may not be friendly.
#![expect(
    clippy::disallowed_methods,
    reason = "owns the look at what the folders of confined processes take up"
)]

use insula_domain::disk::Space;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;
use rustix::path::Arg;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::Path;

/// Folders that are open at once. What is nested deeper is looked at all the same, with one
/// folder open, and the way back up is checked.
pub const OPEN_MAX: usize = 64;
/// Entries that one look visits: more is an answer of its own.
const ENTRIES_MAX: u64 = 5_000_000;
/// What the names of deep folders that are still to be looked into may take of memory.
const NAMES_BYTES_MAX: usize = 64_000_000;
/// What keeping a name takes besides its letters.
const NAME_BYTES: usize = 32;
/// In what a file's blocks are counted, whatever the file system's own are.
const BLOCK_BYTES: u64 = 512;
/// What its owner needs to look into a folder, and to go on using it.
const OWNER_ALL: RawMode = 0o700;
/// The right to reach what is in a folder.
const OWNER_SEARCH: RawMode = 0o100;
/// How a folder is opened: no link in its place.
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

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
    /// Bytes that its files occupy, and its folders themselves.
    pub bytes: u64,
    /// How many there are, folders too.
    pub files: u64,
    /// Why not all could be looked at, where that is the doing of whoever writes there now.
    pub unseen: Option<Unseen>,
    seen: u64,
}

/// What keeps a folder from being looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unseen {
    /// It was closed, and can't be opened again.
    Closed,
    /// It lies deeper than `OPEN_MAX`, and was moved meanwhile or is one of too many.
    Deep,
}

/// What was made or changed below `folder` since a moment, in milliseconds since 1970: by the
/// time of the last change, which no program can set. A file of several names counts as the
/// part of each. Where children have a user of their own, only what is `owned` by it counts.
///
/// A folder whose mode keeps its owner out gets its owner's rights back: whoever closed it could
/// open it again too, and write there meanwhile through what is open.
pub fn written_since(folder: &Path, since_ms: i64, owned: Option<u32>) -> io::Result<Written> {
    let own = owned.unwrap_or_else(|| rustix::process::geteuid().as_raw());
    // The kernel's stamps lag behind its clock by up to a tick.
    let since = since_ms.div_euclid(1_000) - 1;
    let mut look = Look { since, owned, own, names_bytes: 0, written: Written::default() };
    match look.enter(CWD, folder, false) {
        Some(top) => look.walk(top),
        None if look.written.unseen.is_some() => {}
        None => return Err(io::ErrorKind::NotFound.into()),
    }
    Ok(look.written)
}

/// A folder that is being looked at.
struct Entered {
    folder: OwnedFd,
    /// What it was when it was found.
    stat: Stat,
}

/// The same, where it stays open until all below was looked at.
struct Open {
    entries: Dir,
    is_own: bool,
}

/// The same, where it does not.
struct Deep {
    /// The folders in it that are still to be looked into.
    names: Vec<CString>,
    is_own: bool,
    place: (u64, u64),
}

struct Look {
    since: i64,
    owned: Option<u32>,
    /// Whose the folders are that a program makes.
    own: u32,
    /// What the names take that wait.
    names_bytes: usize,
    written: Written,
}

impl Look {
    /// Goes through a folder and all below, down to where too many would be open.
    fn walk(&mut self, top: Entered) {
        // It was there before, but it grows with what is put in.
        self.count_bytes(&top.stat);
        let mut open: Vec<Open> = self.opened(top).into_iter().collect();
        while let Some(folder) = open.last_mut() {
            match self.next_folder(folder) {
                Some(inside) if open.len() < OPEN_MAX => open.extend(self.opened(inside)),
                Some(inside) => self.walk_deep(inside),
                None => drop(open.pop()),
            }
        }
    }

    fn opened(&self, Entered { folder, stat }: Entered) -> Option<Open> {
        let is_own = self.is_own(&stat);
        Dir::new(folder).ok().map(|entries| Open { entries, is_own })
    }

    /// Counts what comes next in a folder, up to a folder that could be entered.
    fn next_folder(&mut self, open: &mut Open) -> Option<Entered> {
        loop {
            let entry = self.next_entry(&mut open.entries)?;
            let folder = open.entries.fd().ok()?;
            if self.count_entry(folder, &entry, open.is_own)
                && let Some(inside) = self.enter(folder, entry.as_c_str(), open.is_own)
            {
                return Some(inside);
            }
        }
    }

    /// Goes through a folder with no other open than the one it is in: no nesting is too deep.
    fn walk_deep(&mut self, top: Entered) {
        let mut above = vec![self.list(&top)];
        let mut here = top.folder;
        while let Some(level) = above.last_mut() {
            let is_own = level.is_own;
            if let Some(name) = level.names.pop() {
                self.names_bytes -= name.count_bytes() + NAME_BYTES;
                if !self.is_enough()
                    && let Some(inside) = self.enter(&here, name.as_c_str(), is_own)
                {
                    above.push(self.list(&inside));
                    here = inside.folder;
                }
                continue;
            }
            above.pop();
            let Some(upper) = above.last() else { return };
            here = match up(&here, upper.place) {
                Ok(upper) => upper,
                Err(unseen) => {
                    // What waits is not looked at. Those who move folders so deep while they
                    // are counted would never be counted.
                    self.names_bytes = 0;
                    self.written.unseen = self.written.unseen.or(unseen);
                    return;
                }
            };
        }
    }

    /// Counts what is in a folder, and keeps the names of its folders.
    fn list(&mut self, Entered { folder, stat }: &Entered) -> Deep {
        let is_own = self.is_own(stat);
        let mut level = Deep { names: Vec::new(), is_own, place: place(stat) };
        // What vanishes while we look is not counted.
        let Ok(mut entries) = Dir::read_from(folder) else { return level };
        while let Some(name) = self.next_entry(&mut entries) {
            if !self.count_entry(folder, &name, is_own) {
                continue;
            }
            let bytes = name.count_bytes() + NAME_BYTES;
            if self.names_bytes + bytes <= NAMES_BYTES_MAX {
                self.names_bytes += bytes;
                level.names.push(name);
            } else if self.is_new(stat) {
                self.written.unseen.get_or_insert(Unseen::Deep);
            }
        }
        level
    }

    fn is_enough(&self) -> bool {
        self.written.seen > ENTRIES_MAX
    }

    fn next_entry(&mut self, entries: &mut Dir) -> Option<CString> {
        while !self.is_enough() {
            // What can't be read does not get better by asking again.
            let entry = entries.read()?.ok()?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                self.written.seen += 1;
                return Some(name.to_owned());
            }
        }
        None
    }

    /// Counts one entry. Whether it is a folder.
    fn count_entry(&mut self, folder: impl AsFd, name: &CString, is_own: bool) -> bool {
        match rustix::fs::statat(folder, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                self.count(&stat);
                is_folder(&stat)
            }
            Err(error) => {
                self.note_closed(error, is_own);
                false
            }
        }
    }

    /// Opens a folder, whatever its mode says. `is_own` says whether the one it is in is a
    /// program's.
    fn enter(&mut self, parent: impl AsFd, name: impl Arg + Copy, is_own: bool) -> Option<Entered> {
        match rustix::fs::openat(&parent, name, FOLDER, Mode::empty()) {
            Ok(folder) => {
                let stat = rustix::fs::fstat(&folder).ok()?;
                // A folder that can be read but not searched tells names and nothing of them.
                let is_shut = stat.st_mode & OWNER_SEARCH == 0
                    && rustix::fs::statat(&folder, c".", AtFlags::empty()).is_err();
                if !is_shut {
                    return Some(Entered { folder, stat });
                }
            }
            Err(Errno::ACCESS) => {}
            // It vanished, or it is a folder no more.
            Err(_) => return None,
        }
        let seen = match rustix::fs::openat(&parent, name, FOLDER | OFlags::PATH, Mode::empty()) {
            Ok(seen) => seen,
            Err(error) => {
                self.note_closed(error, is_own);
                return None;
            }
        };
        let stat = rustix::fs::fstat(&seen).ok()?;
        if !self.is_own(&stat) {
            return None;
        }
        // By its descriptor: a name could lead elsewhere by now.
        let path = format!("/proc/self/fd/{}", seen.as_raw_fd());
        let mode = Mode::from_raw_mode(stat.st_mode & 0o7777 | OWNER_ALL);
        let opened = rustix::fs::chmodat(CWD, path, mode, AtFlags::empty())
            .and_then(|()| rustix::fs::openat(&seen, c".", FOLDER, Mode::empty()));
        match opened {
            Ok(folder) => Some(Entered { folder, stat }),
            Err(error) => {
                let refused = matches!(error, Errno::ACCESS | Errno::PERM | Errno::ROFS);
                // What was closed before is not the doing of whoever runs now.
                if refused && self.is_new(&stat) {
                    self.written.unseen.get_or_insert(Unseen::Closed);
                }
                None
            }
        }
    }

    /// A program's folder that was open a moment ago was closed by it.
    fn note_closed(&mut self, error: Errno, is_own: bool) {
        if error == Errno::ACCESS && is_own {
            self.written.unseen.get_or_insert(Unseen::Closed);
        }
    }

    fn is_own(&self, stat: &Stat) -> bool {
        stat.st_uid == self.own
    }

    #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    fn is_new(&self, stat: &Stat) -> bool {
        (stat.st_ctime as i64) >= self.since && self.owned.is_none_or(|owner| owner == stat.st_uid)
    }

    fn count(&mut self, stat: &Stat) {
        if self.is_new(stat) {
            self.written.files += 1;
            self.count_bytes(stat);
        }
    }

    #[allow(clippy::unnecessary_cast, reason = "the types differ between architectures")]
    fn count_bytes(&mut self, stat: &Stat) {
        if !self.is_new(stat) {
            return;
        }
        let blocks = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(BLOCK_BYTES);
        let bytes = if is_folder(stat) {
            // Some file systems say how long a folder is and not what it occupies.
            blocks.max(u64::try_from(stat.st_size).unwrap_or(0))
        } else {
            blocks / (stat.st_nlink as u64).max(1)
        };
        self.written.bytes = self.written.bytes.saturating_add(bytes);
    }
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_dir()
}

fn place(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Opens the folder that a folder is in, if it is still the one it was entered from.
fn up(folder: &OwnedFd, expected: (u64, u64)) -> Result<OwnedFd, Option<Unseen>> {
    let upper = rustix::fs::openat(folder, c"..", FOLDER, Mode::empty());
    let upper = upper.map_err(|error| match error {
        Errno::ACCESS => Some(Unseen::Closed),
        // It was moved out of all that can be reached.
        Errno::NOENT => Some(Unseen::Deep),
        // The daemon's own trouble.
        _ => None,
    })?;
    let stat = rustix::fs::fstat(&upper).map_err(|_| None)?;
    if place(&stat) == expected { Ok(upper) } else { Err(Some(Unseen::Deep)) }
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod disk_tests;
