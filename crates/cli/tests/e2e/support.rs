//! What the themes share: homes, the daemon under test, patience, a plain HTTP client, and
//! snapshots. Nothing here knows what is right.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests touch files and sockets, and fail by panicking"
)]

use insula_testkit::{Daemon, Home, Output, run};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

/// The binary under test.
pub const INSULA: &str = env!("CARGO_BIN_EXE_insula");

/// The binary that is started and asked: the one under test, or the one that a campaign was told
/// to kill, by `INSULA_BINARY`.
fn binary() -> PathBuf {
    std::env::var_os("INSULA_BINARY").map_or_else(|| INSULA.into(), PathBuf::from)
}

/// Looks before a condition counts as one that never comes. A look is at least one run of the
/// command line, so this many take far longer than anything a daemon does.
const TRIES_MAX: usize = 3_000;

/// A home with these files.
pub fn home<const N: usize>(files: [(&str, &str); N]) -> Home {
    Home::with(files).unwrap()
}

/// A home with this `config.yaml`.
pub fn configured(config: &str) -> Home {
    home([("config.yaml", config)])
}

/// The daemon, ready, following edits.
pub fn start(home: &Home) -> Daemon {
    Daemon::start(binary(), home.path()).unwrap()
}

/// The daemon, ready, applying edits only when asked.
pub fn start_still(home: &Home) -> Daemon {
    Daemon::start_with(binary(), home.path(), &["--no-watch"]).unwrap()
}

/// Runs a command in a home, whether or not a daemon runs there.
pub fn insula(home: &Home, args: &[&str]) -> Output {
    run(binary(), home.path(), args)
}

/// The answer of a command that has to succeed.
pub fn json(home: &Home, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    insula(home, &args).ok().json()
}

/// The whole of `agents list`, by id.
pub fn agents(home: &Home) -> BTreeMap<String, Value> {
    let rows = json(home, &["agents", "list"]);
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| (row["id"].as_str().unwrap().to_owned(), row.clone())).collect()
}

/// One agent's row.
pub fn agent(home: &Home, id: &str) -> Value {
    json(home, &["agents", "show", id])
}

/// One agent's state.
pub fn state(home: &Home, id: &str) -> String {
    agent(home, id)["state"].as_str().unwrap().to_owned()
}

/// Every agent's generation.
pub fn generations(home: &Home) -> BTreeMap<String, u64> {
    let rows = agents(home).into_iter();
    rows.map(|(id, row)| (id, row["generation"].as_u64().unwrap())).collect()
}

/// The kinds of an agent's audit records, oldest first.
pub fn kinds(home: &Home, id: &str) -> Vec<String> {
    let records = json(home, &["audit", "tail", id, "-n", "1000"]);
    let records = records.as_array().unwrap().iter();
    records.map(|record| record["kind"].as_str().unwrap().to_owned()).collect()
}

/// Checks that every chain of a home is intact.
pub fn assert_chains_hold(home: &Home) {
    let report = json(home, &["audit", "verify"]);
    assert_eq!((&report["ok"], &report["broken_at"]), (&true.into(), &Value::Null), "{report:#}");
}

/// Looks until `look` sees something.
///
/// # Panics
/// When it never does.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..TRIES_MAX {
        if let Some(seen) = look() {
            return seen;
        }
    }
    panic!("it never came to pass that {what}");
}

/// How many records an agent's audit trail has of deliveries that may be repetitions.
pub fn uncertain(home: &Home, agent: &str) -> usize {
    let records = json(home, &["audit", "tail", agent, "-n", "100000"]);
    records.to_string().matches("\"delivery.uncertain\"").count()
}

/// The admin token of the daemon that runs in a home.
pub fn token(home: &Home) -> String {
    home.read("run/admin.token").unwrap()
}

/// An answer over HTTP.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Sends one request, header lines as they are given, and reads the whole answer.
pub fn send(to: SocketAddr, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
    let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|line| line.to_ascii_lowercase().starts_with("host:")) {
        request += &format!("Host: {to}\r\n");
    }
    for line in headers {
        request += &format!("{line}\r\n");
    }
    request += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    send_bytes(to, request.as_bytes())
}

/// Sends these bytes and reads the whole answer.
pub fn send_bytes(to: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no answer: {answer:?}"));
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

/// Reads a path as anybody.
pub fn get(daemon: &Daemon, path: &str) -> Answer {
    send(daemon.listen(), "GET", path, &[], "")
}

/// Calls a path as the admin.
pub fn call(daemon: &Daemon, home: &Home, method: &str, path: &str, body: &str) -> Answer {
    let token = format!("Authorization: Bearer {}", token(home));
    send(daemon.listen(), method, path, &[&token, "Content-Type: application/json"], body)
}

/// Every file and folder below a path, and the path itself.
pub fn everything_below(path: &Path) -> Vec<PathBuf> {
    let mut found = vec![path.to_owned()];
    let mut next = 0;
    while next < found.len() {
        let path = found[next].clone();
        next += 1;
        if path.is_dir() {
            // What goes while it is listed, such as a log of SQLite's, is not there.
            found.extend(fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()));
        }
    }
    found
}

/// The files of a home that hold these bytes.
pub fn holders(home: &Home, needle: &str) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        let bytes = fs::read(path).unwrap_or_default();
        bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
    };
    everything_below(home.path()).into_iter().filter(|p| p.is_file()).filter(holds).collect()
}

/// Compares a text for people with the one on record, the home by name and not by path.
pub fn assert_text(name: &str, home: &Home, text: &str) {
    let text = text.replace(home.path().to_str().unwrap(), "HOME");
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}
