//! What somebody beside the daemon sees and does on the same machine: processes, rights, limits,
//! time that passes, threads that wait. Nothing here knows what is right.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program that attacks from outside: /proc, rights of files, threads and its clock"
)]

use crate::machine::{self, PATIENCE};
use anyhow::{Context as _, Result};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A connection that [`machine::connect`] made, by a name for those who only pass it on.
pub type Stream = TcpStream;

/// How soon something is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Sets who may do what with a file.
pub fn set_mode(path: &Path, mode: u32) -> Result<()> {
    let set = fs::set_permissions(path, fs::Permissions::from_mode(mode));
    set.with_context(|| path.display().to_string())
}

/// Who owns a file.
pub fn owner(path: &Path) -> Option<u32> {
    fs::symlink_metadata(path).ok().map(|it| it.uid())
}

/// How long a file is; 0 where there is none.
pub fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |it| it.len())
}

/// Makes a named pipe that everybody may use.
pub fn make_pipe(path: &Path) -> Result<()> {
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o666));
    rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0)?;
    set_mode(path, 0o666)
}

/// Another name for a file, or a copy of it where that can't be had.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to).with_context(|| from.display().to_string())?;
    }
    Ok(())
}

/// Gives a file or folder another name.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    Ok(fs::rename(from, to)?)
}

/// The process with exactly this command line.
pub fn process(words: &str) -> Option<u32> {
    let numbers = machine::names(Path::new("/proc")).into_iter();
    numbers.filter_map(|name| name.parse::<u32>().ok()).find(|number| {
        let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").trim() == words
    })
}

/// What a process holds in memory of its own, in kilobytes.
pub fn memory_kb(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Raises how many files this process may have open, as far as it may; how many that is.
pub fn open_files_max() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Seconds since the epoch.
pub fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Looks for so long whether `look` sees something.
pub fn within<T>(patience: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + patience;
    loop {
        if let Some(seen) = look() {
            return Some(seen);
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Opens so many connections that say nothing, or as many as it gets.
pub fn silent(to: SocketAddr, count: usize) -> Vec<TcpStream> {
    let one = |_| TcpStream::connect_timeout(&to, Duration::from_secs(2)).ok();
    (0..count).map_while(one).collect()
}

/// Changes rows of a database that may be in use; how many.
pub fn alter(database: &Path, statement: &str) -> Result<usize> {
    let connection = rusqlite::Connection::open(database)?;
    connection.busy_timeout(PATIENCE)?;
    Ok(connection.execute(statement, [])?)
}

/// A request whose answer is read as it comes.
pub struct Reading(BufReader<TcpStream>);

impl Reading {
    /// Sends it, with a token.
    pub fn open(to: SocketAddr, token: &str, method: &str, path: &str, body: &str) -> Result<Self> {
        let mut stream = machine::connect(to)?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Reads until a line has this; all that was read.
    pub fn until(&mut self, text: &str) -> Result<String> {
        let mut read = String::new();
        let begun = Instant::now();
        while !read.contains(text) {
            let mut line = String::new();
            let count = self.0.read_line(&mut line).with_context(|| read.clone())?;
            anyhow::ensure!(count > 0, "it ended before `{text}`: {read}");
            // A stream that only says that it lives would be read for ever.
            anyhow::ensure!(begun.elapsed() < PATIENCE, "`{text}` does not come: {read}");
            read += &line;
        }
        Ok(read)
    }

    /// The next event of a stream and its data; `None` at the end.
    pub fn event(&mut self) -> Result<Option<(String, serde_json::Value)>> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            if let Some(it) = line.strip_prefix("event: ") {
                it.trim_end().clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Ok(Some((name, serde_json::from_str(data).unwrap_or_default())));
            }
        }
    }

    /// All to its end, or `None` where it stays open for longer than it may.
    pub fn rest(mut self, patience: Duration) -> Option<String> {
        self.0.get_ref().set_read_timeout(Some(patience.min(PATIENCE))).ok()?;
        let mut read = Vec::new();
        self.0.read_to_end(&mut read).ok()?;
        Some(String::from_utf8_lossy(&read).into_owned())
    }
}

/// A user that owns nothing.
const NOBODY: &str = "65534";

/// Runs a program of the host's own in a folder, as this user or as one with no rights; what it
/// said.
pub fn host_program(folder: &Path, words: &[&str], as_nobody: bool) -> Result<String> {
    let become_nobody =
        ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps=-all"];
    let all: Vec<&str> = match as_nobody {
        true => become_nobody.iter().chain(words).copied().collect(),
        false => words.to_vec(),
    };
    let (program, rest) = all.split_first().context("no program")?;
    let output = std::process::Command::new(program)
        .args(rest)
        .current_dir(folder)
        .stdin(std::process::Stdio::null())
        .output()
        .with_context(|| format!("{program} can't be started"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(text(&output.stdout) + &text(&output.stderr))
}

/// Whether a folder is there.
pub fn is_folder(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.is_dir())
}

/// Removes a file or a folder with all that is in it; nothing where there is none.
pub fn remove_all(path: &Path) -> Result<()> {
    let done = match is_folder(path) {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    match done {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
