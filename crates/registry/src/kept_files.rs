//! How much agents have on the disk, and what came with messages that is kept no longer.
//!
//! Nothing but the folders of an agent in this home is looked at, no link is followed, and what
//! was looked at is bounded: a workspace may hold anything.
#![expect(
    clippy::disallowed_methods,
    reason = "owns looking at what agents have on the disk, and removing old attachments"
)]

use crate::home::OUTPUT;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Files and folders of one agent that are looked at. Who has more has at least so much.
const ENTRIES_MAX: usize = 200_000;
/// Conversations whose attachments are looked at in one go.
const FOLDERS_MAX: usize = 100_000;

/// What an agent has on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskUse {
    /// Its databases.
    pub database: u64,
    /// All the rest: workspaces, attachments, logs, skills.
    pub files: u64,
    /// Whether there is more than was looked at.
    pub is_cut: bool,
}

impl DiskUse {
    pub fn total(self) -> u64 {
        self.database + self.files
    }
}

/// What a folder of an agent takes up, in bytes of the disk.
pub fn measure(folder: &Path) -> DiskUse {
    let mut found = DiskUse::default();
    let (mut open, mut seen) = (vec![folder.to_owned()], 0);
    while let Some(next) = open.pop() {
        for (path, about) in entries(&next) {
            seen += 1;
            if seen > ENTRIES_MAX {
                found.is_cut = true;
                return found;
            }
            if about.is_dir() {
                open.push(path);
                continue;
            }
            // Blocks are of 512 bytes, whatever the file system's are.
            let bytes = about.blocks() * 512;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            match next == folder && name.starts_with("agent.db") {
                true => found.database += bytes,
                false => found.files += bytes,
            }
        }
    }
    found
}

/// What is in a folder and is no link; nothing where it can't be read.
fn entries(folder: &Path) -> Vec<(PathBuf, Metadata)> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    let known =
        all.filter_map(|entry| Some((entry.path(), fs::symlink_metadata(entry.path()).ok()?)));
    known.filter(|(_, about)| !about.is_symlink()).collect()
}

/// One file that came with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Attached {
    path: PathBuf,
    bytes: u64,
    /// When it came.
    at_ms: i64,
}

/// Removes what came with messages of an agent: what came before a moment, and of the rest the
/// oldest until no more than so many bytes are left. How many files, and how many bytes.
pub fn forget_attachments(
    agent: &Path,
    before_ms: Option<i64>,
    bytes_max: Option<u64>,
) -> (usize, u64) {
    let mut all = attachments(agent);
    all.sort_by_key(|it| it.at_ms);
    let (mut count, mut freed) = (0, 0);
    let mut left: u64 = all.iter().map(|it| it.bytes).sum();
    for attached in all {
        let is_old = before_ms.is_some_and(|before| attached.at_ms < before);
        let is_too_much = bytes_max.is_some_and(|max| left > max);
        if !is_old && !is_too_much {
            break;
        }
        left = left.saturating_sub(attached.bytes);
        if fs::remove_file(&attached.path).is_ok() {
            count += 1;
            freed += attached.bytes;
        }
    }
    (count, freed)
}

fn attachments(agent: &Path) -> Vec<Attached> {
    let output = agent.join(OUTPUT);
    if !fs::symlink_metadata(&output).is_ok_and(|about| about.is_dir()) {
        return Vec::new();
    }
    let folders = entries(&output).into_iter().filter(|(_, about)| about.is_dir());
    let files = folders.take(FOLDERS_MAX).flat_map(|(folder, _)| entries(&folder));
    let attached = files.filter(|(path, about)| about.is_file() && is_attachment(path));
    attached
        .map(|(path, about)| {
            let at_ms = about.mtime().saturating_mul(1_000);
            Attached { path, bytes: about.len(), at_ms }
        })
        .collect()
}

/// Whether a name is one that we give to what came with a message: the beginning of its hash, and
/// its kind. What programs printed is called otherwise.
fn is_attachment(path: &Path) -> bool {
    let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
    let Some((hash, kind)) = name.split_once('.') else { return false };
    let is_hex = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
    hash.len() == 24
        && hash.bytes().all(is_hex)
        && kind.bytes().all(|it| it.is_ascii_alphanumeric())
}

#[cfg(test)]
#[path = "kept_files_tests.rs"]
mod tests;
