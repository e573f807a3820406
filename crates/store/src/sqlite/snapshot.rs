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
use super::examine;
use super::open;
use super::schema;
use super::sql::{explain, log_of};
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
    home: PathBuf,
    held: Vec<Held>,
    /// Those that can't be held at any moment.
    damaged: Vec<DamagedCopy>,
    anchor: Option<Vec<u8>>,
}

/// A database that is damaged, and was copied as it is.
#[derive(Debug)]
pub struct DamagedCopy {
    /// Where it is in the home.
    pub name: PathBuf,
    pub why: StoreError,
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
    /// What was found to be wrong with it.
    damage: Option<StoreError>,
}

impl HomeSnapshot {
    /// Takes one. Databases that a newer version made are refused. The damaged one of an agent or a
    /// board keeps nobody else's from being copied.
    ///
    /// Blocks; a daemon that runs in the home waits for the locks, a few milliseconds.
    pub fn take(home: &Path, elapsed: &dyn Fn() -> Duration) -> Result<Self> {
        let (mut ready, mut damaged) = (Vec::new(), Vec::new());
        let mut open = |name: PathBuf, format| -> Result<()> {
            match Ready::open(home, name.clone(), format) {
                Err(why) if is_bearable(&name, &why) => damaged.push(DamagedCopy { name, why }),
                opened => ready.extend(opened?),
            }
            Ok(())
        };
        for agent in files::names_in(&home.join("agents"))? {
            // What is no agent's folder is one that is being made or deleted.
            if AgentId::new(&agent).is_ok() {
                let name = Path::new("agents").join(&agent).join("agent.db");
                open(name, &schema::AGENT)?;
            }
        }
        for board in files::names_in(&home.join(boards::FOLDER))? {
            if board_of(&board).is_some() {
                let name = Path::new(boards::FOLDER).join(&board);
                open(name, &schema::BOARD)?;
            }
        }
        // Last, so that whoever wrote to an agent's can still write what follows from it.
        open(DAEMON_DB.into(), &schema::DAEMON)?;
        let start = elapsed();
        let seen = ready.iter_mut().try_for_each(|it| {
            it.bear(it.lock())?;
            if elapsed() - start > HELD_MAX {
                return Err(StoreError::Busy { file: it.file.clone() });
            }
            Ok(())
        });
        let anchor = seen.and_then(|()| {
            ready.iter_mut().try_for_each(|it| it.bear(it.look()))?;
            Ok(files::read_small(&home.join(ANCHOR))?.map(|(bytes, _)| bytes))
        });
        // Also where something failed: nobody waits any longer than they must.
        let mut held = Vec::new();
        for it in ready {
            let name = it.name.clone();
            match it.let_go() {
                Err(why) if is_bearable(&name, &why) => damaged.push(DamagedCopy { name, why }),
                let_go => held.push(let_go?),
            }
        }
        Ok(Self { home: home.to_owned(), held, damaged, anchor: anchor? })
    }

    /// How many databases there are, and how many bytes all of them have.
    pub fn size(&self) -> (usize, u64) {
        (self.held.len() + self.damaged.len(), self.held.iter().map(|it| it.bytes).sum())
    }

    /// Copies all of it into a folder, by the names they have in the home, and tells how many
    /// bytes were copied each time some were. Those that are damaged are copied as they are; what
    /// is wrong with each. Blocks.
    pub fn copy_into(self, folder: &Path, mut copied: impl FnMut(u64)) -> Result<Vec<DamagedCopy>> {
        let mut damaged = self.damaged;
        for DamagedCopy { name, .. } in &damaged {
            copy_as_it_is(&self.home, name, folder)?;
        }
        if let Some(anchor) = &self.anchor {
            files::write_atomically(&folder.join(ANCHOR), anchor)?;
        }
        for held in self.held {
            let target = folder.join(&held.name);
            if let Some(parent) = target.parent() {
                files::create_folder(parent)?;
            }
            files::create_file(&target)?;
            let whole = examine::quick(&held.sql, &held.file);
            let is_copied = match copy(&held, &target, &mut copied) {
                Err(why) if is_bearable(&held.name, &why) => {
                    copy_as_it_is(&self.home, &held.name, folder)?;
                    Err(why)
                }
                copied => Ok(copied?),
            };
            match whole.and(is_copied) {
                Err(why) if is_bearable(&held.name, &why) => {
                    damaged.push(DamagedCopy { name: held.name, why });
                }
                whole => whole?,
            }
        }
        Ok(damaged)
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
        Ok(Some(Self { name, file, writer, reader, damage: None }))
    }

    /// Goes on where one database alone is damaged.
    fn bear(&mut self, done: Result<()>) -> Result<()> {
        match done {
            Err(why) if is_bearable(&self.name, &why) => self.damage = Some(why),
            done => done?,
        }
        Ok(())
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
        let Self { name, file, writer, reader, damage } = self;
        drop(writer);
        if let Some(why) = damage {
            return Err(why);
        }
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

/// Whether what is wrong is the trouble of one agent or one board alone.
fn is_bearable(name: &Path, why: &StoreError) -> bool {
    matches!(why, StoreError::Damaged { .. }) && name != Path::new(DAEMON_DB)
}

/// Copies the file of a database and its log, whatever is in them.
fn copy_as_it_is(home: &Path, name: &Path, folder: &Path) -> Result<()> {
    let (file, target) = (home.join(name), folder.join(name));
    if let Some(parent) = target.parent() {
        files::create_folder(parent)?;
    }
    files::copy(&file, &target)?;
    files::copy(&log_of(&file), &log_of(&target))?;
    Ok(())
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
