//! The files of a run: a home in memory, what is written into it by hand, and what is left in it
//! of the agent that is watched, row by row and byte by byte.
#![expect(
    clippy::disallowed_methods,
    reason = "this file owns the homes of noninterference runs, in folders of their own"
)]

use super::cast::{self, WATCHED};
use super::observe::Observed;
use anyhow::{Context as _, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Files in memory.
const MEMORY: &str = "/dev/shm";

/// A folder for one home after the other, always at the same path: a daemon knows where it is,
/// and says so.
pub struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    /// A folder in memory where there is one.
    pub fn new() -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("insula-ni-");
        let memory = Path::new(MEMORY);
        let folder = match memory.is_dir().then(|| builder.tempdir_in(memory)) {
            Some(Ok(folder)) => folder,
            _ => builder.tempdir()?,
        };
        Ok(Self { folder })
    }

    /// The same, at a path that only depends on this number: a tool may tell the path to a model,
    /// and then its words are in rows and indices. Another one where somebody has that now.
    pub fn numbered(number: u64) -> Result<Self> {
        let name = format!("insula-ni-{number:06}");
        let named = tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir_in(MEMORY);
        named.map_or_else(|_| Self::new(), |folder| Ok(Self { folder }))
    }

    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// An empty home.
    pub fn clear(&self) -> Result<()> {
        let home = self.home();
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        Ok(fs::create_dir(&home)?)
    }

    /// Writes a file beside the old one and renames it, making its folders.
    pub fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.home().join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let beside = path.with_extension("by-hand");
        fs::write(&beside, text)?;
        Ok(fs::rename(beside, path)?)
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, path: &str) {
        let _ = fs::remove_file(self.home().join(path));
    }

    /// Adds a line to one of the files of an agent's memory, if it has any.
    pub fn add_to_memory(&self, agent: &str, number: usize, line: &str) {
        let mut folders = vec![self.home().join("agents").join(agent).join("memories")];
        let mut found = Vec::new();
        while let Some(next) = folders.pop() {
            let Ok(entries) = fs::read_dir(&next) else { continue };
            for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|it| it == "md") {
                    found.push(path);
                }
            }
        }
        found.sort();
        let Some(path) = found.get(number % found.len().max(1)) else { return };
        if let Ok(text) = fs::read_to_string(path) {
            let beside = path.with_extension("by-hand");
            let changed = fs::write(&beside, format!("{}\n§\n{line}\n", text.trim_end()));
            let _ = changed.and_then(|()| fs::rename(beside, path));
        }
    }

    /// Notes all that is left of the agent that is watched.
    pub fn read(&self, observed: &Observed) -> Result<()> {
        let home = self.home();
        let mut folders = vec![home.clone()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(&next)? {
                let path = entry?.path();
                let name = path.strip_prefix(&home)?.to_string_lossy().into_owned();
                if fs::symlink_metadata(&path)?.is_dir() {
                    folders.push(path);
                } else if is_of_watched(&name) {
                    let content = fs::read(&path).unwrap_or_default();
                    let shown = match String::from_utf8(content) {
                        Ok(text) => text,
                        Err(sealed) => shown(ValueRef::Blob(sealed.as_bytes())),
                    };
                    observed.note(&format!("file:{name}"), shown);
                }
            }
        }
        let own = home.join("agents").join(WATCHED).join("agent.db");
        if own.exists() {
            rows(&own, "b", observed, |_| true).context("the database of the agent")?;
        }
        let board = home.join("boards").join(format!("{}.db", cast::board(WATCHED)));
        if board.exists() {
            rows(&board, "board", observed, |_| true).context("the board of the agent")?;
        }
        let daemon = home.join("insula.db");
        rows(&daemon, "daemon", observed, |row| {
            row.iter().any(|value| value == &format!("'{WATCHED}'"))
        })
        .context("the database of the daemon")
    }
}

/// Whether a file of the home belongs to the agent that is watched. Its database is read by rows:
/// where its pages lie depends on when it was written back.
fn is_of_watched(name: &str) -> bool {
    let is_database = name.ends_with(".db") || name.contains(".db-");
    !is_database && name.split('/').any(|part| part == WATCHED)
}

/// Notes every row of every table that `keep` wants.
fn rows(
    file: &Path,
    label: &str,
    observed: &Observed,
    keep: impl Fn(&[String]) -> bool,
) -> Result<()> {
    let sql = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut tables = sql.prepare(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
    )?;
    let names: Vec<String> =
        tables.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for table in names {
        let mut all = sql.prepare(&format!("SELECT * FROM \"{table}\""))?;
        let columns: Vec<String> = all.column_names().map(str::to_owned).collect();
        let mut found = all.query([])?;
        while let Some(row) = found.next()? {
            let mut values = Vec::with_capacity(columns.len());
            for number in 0..columns.len() {
                values.push(shown(row.get_ref(number)?));
            }
            if keep(&values) {
                let mut text = String::new();
                for (column, value) in columns.iter().zip(&values) {
                    let _ = write!(text, "{column}={value} ");
                }
                observed.note(&format!("rows:{label}/{table}"), text);
            }
        }
    }
    Ok(())
}

fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => format!("'{}'", String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => bytes.iter().fold("x".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
    }
}
