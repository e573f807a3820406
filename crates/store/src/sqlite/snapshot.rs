//! All databases of a home as they were at one moment, copied while a daemon works with them.
//!
//! The moment: every database is locked for writing, agents' first and the daemon's last, then
//! looked at, then let go. Nothing was under way while all were locked, so the copies fit each
//! other, and whatever was acknowledged before is in them. An agent's anchor is written after the
//! record it names, in another database: in the copies too it is never ahead of its chain.
//!
//! What is slow, as opening, is done before the locks; what is slower, as copying, after them. So
//! writers wait for some system calls a database, and for nothing else. A copy is begun and ended
//! for one database after another, since an erasure waits for whoever still looks.

use super::boards;
use super::open;
use super::schema;
use super::sql::explain;
use crate::error::{Result, StoreError};
use crate::files;
use insula_domain::BoardName;
use insula_domain::id::AgentId;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long one lock is waited for. A daemon's commit takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(4);

/// How long a daemon may be kept waiting: less than it waits before it gives up.
const HELD_MAX: Duration = Duration::from_secs(3);

/// Pages copied at once, between two looks at how far it is.
const PAGES: i32 = 4_096;

/// The daemon's database, and the anchor of its chain, in a home.
pub(crate) const DAEMON_DB: &str = "insula.db";
pub(crate) const ANCHOR: &str = "audit.anchor";

/// The databases of a home, held at one moment until they are copied.
pub struct HomeSnapshot {
    held: Vec<Held>,
    anchor: Option<Vec<u8>>,
}

/// One database at that moment.
struct Held {
    /// Where it is in the home.
    name: PathBuf,
    file: PathBuf,
    sql: Connection,
    bytes: u64,
}

/// A database that is open and not locked yet.
struct Ready {
    name: PathBuf,
    file: PathBuf,
    /// Takes the lock.
    writer: Connection,
    /// Sees the moment, and keeps seeing it.
    reader: Connection,
}

impl HomeSnapshot {
    /// Takes one. Databases that a newer version made are refused.
    ///
    /// Blocks; a daemon that runs in the home waits for the locks, a few milliseconds.
    pub fn take(home: &Path, elapsed: &dyn Fn() -> Duration) -> Result<Self> {
        let mut ready = Vec::new();
        for agent in files::names_in(&home.join("agents"))? {
            // What is no agent's folder is one that is being made or deleted.
            if AgentId::new(&agent).is_ok() {
                let name = Path::new("agents").join(&agent).join("agent.db");
                ready.extend(Ready::open(home, name, &schema::AGENT)?);
            }
        }
        for board in files::names_in(&home.join(boards::FOLDER))? {
            if board_of(&board).is_some() {
                let name = Path::new(boards::FOLDER).join(&board);
                ready.extend(Ready::open(home, name, &schema::BOARD)?);
            }
        }
        // Last, so that whoever wrote to an agent's can still write what follows from it.
        ready.extend(Ready::open(home, DAEMON_DB.into(), &schema::DAEMON)?);
        let start = elapsed();
        let seen = ready.iter().try_for_each(|it| {
            it.lock()?;
            if elapsed() - start > HELD_MAX {
                return Err(StoreError::Busy { file: it.file.clone() });
            }
            Ok(())
        });
        let anchor = seen.and_then(|()| {
            ready.iter().try_for_each(Ready::look)?;
            Ok(files::read_small(&home.join(ANCHOR))?.map(|(bytes, _)| bytes))
        });
        // Also where something failed: nobody waits any longer than they must.
        let mut held = Vec::new();
        for it in ready {
            held.push(it.let_go()?);
        }
        Ok(Self { held, anchor: anchor? })
    }

    /// How many databases there are, and how many bytes all of them have.
    pub fn size(&self) -> (usize, u64) {
        (self.held.len(), self.held.iter().map(|it| it.bytes).sum())
    }

    /// Copies all of it into a folder, by the names they have in the home, and tells how many
    /// bytes were copied each time some were. Blocks.
    pub fn copy_into(self, folder: &Path, mut copied: impl FnMut(u64)) -> Result<()> {
        if let Some(anchor) = &self.anchor {
            files::write_atomically(&folder.join(ANCHOR), anchor)?;
        }
        for held in self.held {
            let target = folder.join(&held.name);
            if let Some(parent) = target.parent() {
                files::create_folder(parent)?;
            }
            files::create_file(&target)?;
            copy(&held, &target, &mut copied)?;
        }
        Ok(())
    }
}

impl Ready {
    /// Opens a database without changing it; `None` if there is none.
    fn open(home: &Path, name: PathBuf, format: &open::Format) -> Result<Option<Self>> {
        let file = home.join(&name);
        if !files::exists(&file)? {
            return Ok(None);
        }
        let connect = || open::connect_to_look(&file, format);
        let (writer, reader) = (connect()?, connect()?);
        writer.busy_timeout(LOCK_TIMEOUT).map_err(|error| explain(&file, &error))?;
        Ok(Some(Self { name, file, writer, reader }))
    }

    fn lock(&self) -> Result<()> {
        self.run(&self.writer, "BEGIN IMMEDIATE")
    }

    /// From here on the reader sees what is there now.
    fn look(&self) -> Result<()> {
        self.run(&self.reader, "BEGIN")?;
        let read = |sql: &Connection| {
            sql.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        };
        read(&self.reader).map(drop).map_err(|error| explain(&self.file, &error))
    }

    fn let_go(self) -> Result<Held> {
        if !self.writer.is_autocommit() {
            self.run(&self.writer, "ROLLBACK")?;
        }
        let Self { name, file, writer, reader } = self;
        drop(writer);
        let number = |pragma: &str| {
            reader.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0))
        };
        let bytes = number("page_count").and_then(|pages| Ok(pages * number("page_size")?));
        let bytes = bytes.map_err(|error| explain(&file, &error))?.cast_unsigned();
        Ok(Held { name, file, sql: reader, bytes })
    }

    fn run(&self, sql: &Connection, statement: &str) -> Result<()> {
        sql.execute_batch(statement).map_err(|error| explain(&self.file, &error))
    }
}

/// The board whose database a file is, by its name.
pub fn board_of(file: &str) -> Option<BoardName> {
    BoardName::new(file.strip_suffix(".db")?).ok()
}

fn copy(held: &Held, target: &Path, copied: &mut impl FnMut(u64)) -> Result<()> {
    let mut made = open::connect_to_copy(target)?;
    let source = |error: rusqlite::Error| explain(&held.file, &error);
    let backup = Backup::new(&held.sql, &mut made).map_err(source)?;
    let mut before = 0;
    loop {
        let step = backup.step(PAGES).map_err(source)?;
        let progress = backup.progress();
        let pages = u64::try_from(progress.pagecount - progress.remaining).unwrap_or(0);
        let total = u64::try_from(progress.pagecount).unwrap_or(0).max(1);
        let now = held.bytes * pages / total;
        copied(now - before);
        before = now;
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            // The copy is ours alone, and the source is only looked at.
            _ => return Err(StoreError::Busy { file: held.file.clone() }),
        }
    }
}
