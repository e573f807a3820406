//! The files of agents' logs: `agents/<id>/logs/2026-11-18.jsonl`, for the daemon's user alone.
//!
//! A folder of an agent is never made here: a line that comes late would bring back one that was
//! deleted. No program of an agent is shown `logs`, and no link is followed there.
#![expect(
    clippy::disallowed_methods,
    reason = "owns the logs of agents: appends, reads and removes their files"
)]

use rustix::fs::OFlags;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// What the folder is called in an agent's.
pub const FOLDER: &str = "logs";
/// How files end.
const ENDING: &str = ".jsonl";
/// Largest file of one day, in bytes. What comes then is in the daemon's own log.
const DAY_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Said once in a file that is full.
const FULL: &str = "{\"level\":\"WARN\",\"message\":\"this day's file is full; what comes is in the daemon's own log\"}\n";
/// Most that one look reads of a file, in bytes.
const READ_BYTES_MAX: u64 = 8 * 1024 * 1024;

fn path(agent: &Path, day: &str) -> PathBuf {
    agent.join(FOLDER).join(format!("{day}{ENDING}"))
}

/// Whether there is a folder, and no link in its place.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}

/// Appends whole lines to the file of a day, while the agent has a folder.
pub(super) fn append(agent: &Path, day: &str, lines: &[u8]) -> io::Result<()> {
    let folder = agent.join(FOLDER);
    match DirBuilder::new().mode(0o700).create(&folder) {
        // An agent without a folder has nowhere to log to yet, or any more.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if !is_folder(&folder) {
        return Err(io::Error::other("`logs` is no folder"));
    }
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(path(agent, day))?;
    let length = file.metadata()?.len();
    if length + lines.len() as u64 <= DAY_BYTES_MAX {
        return file.write_all(lines);
    }
    let mut end = Vec::new();
    file.seek(SeekFrom::Start(length.saturating_sub(FULL.len() as u64)))?;
    file.read_to_end(&mut end)?;
    match end == FULL.as_bytes() {
        true => Ok(()),
        false => file.write_all(FULL.as_bytes()),
    }
}

/// The days there are files of, the oldest first.
pub fn days(agent: &Path) -> Vec<String> {
    let folder = agent.join(FOLDER);
    if !is_folder(&folder) {
        return Vec::new();
    }
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    // Whatever else lies there is nobody's log, and is not read for one.
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut days: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(ENDING)?.to_owned())).collect();
    days.retain(|day| is_day(day));
    days.sort();
    days
}

/// Whether a text is a day as files are called.
pub fn is_day(text: &str) -> bool {
    let shape: String = text.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }).collect();
    shape == "0000-00-00"
}

/// What stands in the file of a day from a place on, up to its last whole line, and where that
/// ends.
pub fn read(agent: &Path, day: &str, from: u64) -> io::Result<(String, u64)> {
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = OpenOptions::new().read(true).custom_flags(flags).open(path(agent, day))?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(READ_BYTES_MAX).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    bytes.truncate(whole);
    Ok((String::from_utf8_lossy(&bytes).into_owned(), from + whole as u64))
}

/// Removes the file of a day.
pub(super) fn remove(agent: &Path, day: &str) -> io::Result<()> {
    fs::remove_file(path(agent, day))
}
