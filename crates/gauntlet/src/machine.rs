//! What the gauntlet does to the machine itself: files of the homes it made, connections to the
//! daemon it attacks, threads for scenes, time. Nothing else here touches any of that.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program that attacks from outside: its files, sockets, threads and clock"
)]

use anyhow::{Context as _, Result};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The longest that anything may take that has to happen. Only ever reached by a run that has
/// already gone wrong.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How soon something is looked at again that can only be looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// An answer over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status; 0 where the connection closed without an answer.
    pub status: u16,
    /// Status line and headers.
    pub head: String,
    /// The body, chunks put together.
    pub body: String,
}

impl Answer {
    /// The body as JSON; null when it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// All of it but the date, which is nobody's.
    pub fn comparable(&self) -> String {
        let lines = self.head.lines().filter(|line| !line.to_lowercase().starts_with("date:"));
        format!("{}\n\n{}", lines.collect::<Vec<_>>().join("\n"), self.body)
    }
}

/// Sends one request, header lines as they are given, and reads the whole answer.
pub fn request(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> Result<Answer> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|line| line.to_ascii_lowercase().starts_with("host:")) {
        text += &format!("Host: {to}\r\n");
    }
    for line in headers {
        text += &format!("{line}\r\n");
    }
    text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    raw_request(to, text.as_bytes())
}

/// Sends these bytes and reads until the other side closes.
pub fn raw_request(to: SocketAddr, bytes: &[u8]) -> Result<Answer> {
    let mut stream = connect(to)?;
    stream.write_all(bytes)?;
    let mut answer = Vec::new();
    // A reset after the answer is no loss: what came is what counts.
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunked(body) } else { body.to_owned() };
    Ok(Answer { status, head: head.to_owned(), body })
}

/// A request whose answer has begun and is not read to its end.
pub struct Begun {
    pub status: u16,
    /// Open until this is dropped.
    _stream: TcpStream,
}

/// Sends one request and reads only the beginning of the answer.
pub fn begin(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> Result<Begun> {
    let mut stream = connect(to)?;
    let lines: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {to}\r\n{lines}Content-Length: {length}\r\n\r\n{body}"
    )?;
    let mut first = [0; 12];
    stream.read_exact(&mut first)?;
    let status = String::from_utf8_lossy(&first[9..]).parse().unwrap_or(0);
    Ok(Begun { status, _stream: stream })
}

/// A connection that gives up after [`PATIENCE`].
pub fn connect(to: SocketAddr) -> Result<TcpStream> {
    let stream =
        TcpStream::connect_timeout(&to, PATIENCE).context("the daemon takes no connection")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap_or(0);
        let Some(chunk) = rest.get(..length) else {
            whole.push_str(rest);
            break;
        };
        if length == 0 {
            break;
        }
        whole.push_str(chunk);
        body = rest.get(length + 2..).unwrap_or_default();
    }
    whole
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("{} can't be read", path.display()))
}

/// Writes a file, and makes its folders.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, content).with_context(|| format!("{} can't be written", path.display()))
}

/// A folder below another, gone with its handle, that everybody may enter.
pub fn scratch(below: &Path) -> Result<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("insula-").tempdir_in(below)?;
    crate::beside::set_mode(folder.path(), 0o755)?;
    Ok(folder)
}

/// Makes a folder and those above it.
pub fn make_folder(path: &Path) -> Result<()> {
    Ok(fs::create_dir_all(path)?)
}

/// Whether anything of this path is there, a link that leads nowhere included.
pub fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Makes a link at `path`.
pub fn link(target: &Path, path: &Path) -> Result<()> {
    Ok(std::os::unix::fs::symlink(target, path)?)
}

/// Removes a file.
pub fn remove(path: &Path) -> Result<()> {
    Ok(fs::remove_file(path)?)
}

/// A folder without any link in its path.
pub fn real(path: &Path) -> Result<PathBuf> {
    Ok(fs::canonicalize(path)?)
}

/// The names in a folder; none where there is no such folder.
pub fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Every file below a path, links not followed.
pub fn files_below(path: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (vec![], vec![path.to_owned()]);
    while let Some(folder) = folders.pop() {
        // What goes while it is listed, such as a log of SQLite's, is not there.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

/// Every row of every table of a database, as text, by table. The database may be in use.
pub fn rows(database: &Path) -> Result<Vec<(String, Vec<String>)>> {
    use rusqlite::types::ValueRef;
    use rusqlite::{Connection, OpenFlags};
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    connection.busy_timeout(PATIENCE)?;
    let mut tables =
        connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut all = vec![];
    for table in tables {
        let mut rows = connection.prepare(&format!("SELECT * FROM \"{table}\""))?;
        let width = rows.column_count();
        let mut found = rows.query([])?;
        let mut texts = vec![];
        while let Some(row) = found.next()? {
            let mut text = String::new();
            for column in 0..width {
                match row.get_ref(column)? {
                    ValueRef::Null => text.push_str("null"),
                    ValueRef::Integer(number) => text.push_str(&number.to_string()),
                    ValueRef::Real(number) => text.push_str(&number.to_string()),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                        text.push_str(&String::from_utf8_lossy(bytes));
                    }
                }
                text.push('|');
            }
            texts.push(text);
        }
        all.push((table, texts));
    }
    Ok(all)
}

/// Changes a database that nobody uses at that moment.
pub fn change(database: &Path, sql: &str) -> Result<()> {
    let connection = rusqlite::Connection::open(database)?;
    connection.execute_batch(&format!("BEGIN; {sql} COMMIT;"))?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Names and contents of every file below a path, to see later whether anything changed.
pub fn snapshot(path: &Path) -> Vec<(String, Vec<u8>)> {
    let files = files_below(path).into_iter();
    files.map(|file| (file.display().to_string(), fs::read(&file).unwrap_or_default())).collect()
}

/// Processes of this machine with these words among their arguments.
pub fn processes_with(words: &str) -> Vec<u32> {
    let entries = names(Path::new("/proc")).into_iter();
    let numbers = entries.filter_map(|name| name.parse::<u32>().ok());
    numbers
        .filter(|number| {
            let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").contains(words)
        })
        .collect()
}

/// Looks until `look` sees something.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look()? {
            return Ok(seen);
        }
        anyhow::ensure!(Instant::now() < until, "it never came to pass that {what}");
        thread::sleep(LOOK_AGAIN);
    }
}

/// How long something takes.
pub fn timed<T>(act: impl FnOnce() -> T) -> (T, Duration) {
    let started = Instant::now();
    let done = act();
    (done, started.elapsed())
}

/// Does the same on so many threads until it says that there is no more.
pub fn on_threads(count: usize, work: impl Fn() -> bool + Sync) {
    thread::scope(|scope| {
        for _ in 0..count.max(1) {
            scope.spawn(|| while work() {});
        }
    });
}

/// Does two things at the same time.
pub fn both<T: Send, U>(
    one: impl FnOnce() -> T + Send,
    other: impl FnOnce() -> U,
) -> Result<(T, U)> {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        let one = one.join().map_err(|_| anyhow::anyhow!("a thread of the attempt panicked"))?;
        Ok((one, other))
    })
}

/// Whether this process is root.
pub fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    line.and_then(|line| line.split_whitespace().next()).is_some_and(|uid| uid == "0")
}
