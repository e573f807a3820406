//! The one place where a database file is opened: its settings, its format, its version. A
//! keyed codec would go here and nowhere else.

use super::kept;
use super::sql::{Db, log_of};
use crate::error::{Result, StoreError};
use crate::files;
use crate::options::Durability;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

/// How long a writer waits for another program that holds the file, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Where the header says how the file is written: 2 with a log beside it, 1 without one.
const WRITTEN: std::ops::Range<usize> = 18..20;

/// What a kind of database looks like. The number of migrations is its version.
pub(crate) struct Format {
    /// What marks the file as this kind, in its header.
    pub(crate) application_id: i32,
    /// Most page cache of an open file, in KiB: small where many files are open at once.
    pub(crate) cache_kib: u32,
    /// Statements kept prepared per open file: about as many as are in steady use.
    pub(crate) statements: usize,
    /// What takes an empty file to the latest version, in steps. Append only.
    pub(crate) migrations: &'static [&'static str],
}

/// What to do about a file that is not there, or is older.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// Make one, and its folder.
    Create,
    /// Leave it absent.
    Leave,
    /// Leave it absent, and keep no copy of an older format: it is one itself.
    LeaveAndKeepNone,
}

/// Opens a database and brings it to the latest version. `None` if it is absent and stays so.
pub(crate) fn open(
    file: &Path,
    format: &Format,
    durability: Durability,
    absent: Absent,
) -> Result<Option<Db>> {
    if !files::exists(file)? {
        if absent != Absent::Create {
            return Ok(None);
        }
        if let Some(folder) = file.parent() {
            files::create_folder(folder)?;
        }
        // SQLite gives `-wal` and `-shm` the mode of the main file.
        files::create_file(file)?;
    }
    let connection = connect(file, format).map_err(|error| super::sql::explain(file, &error))?;
    let mut db = Db::new(connection, file.to_owned());
    if db.read(|sql| sql.is_readonly("main"))? {
        return Err(StoreError::NotAllowed { file: file.into(), what: "it is read-only".into() });
    }
    let found = found_version(&db, format)?;
    if found > 0 && found < known_version(format) && absent != Absent::LeaveAndKeepNone {
        kept::keep(&db, found, connect_to_copy)?;
    }
    accept(&mut db, format)?;
    db.read(settle)?;
    db.read(|_| db.survive(durability))?;
    Ok(Some(db))
}

/// An empty database of the latest version, as the bytes of its file, once one was needed.
#[derive(Default)]
pub(crate) struct Blank(OnceLock<Box<[u8]>>);

fn blank(format: &Format) -> Result<Box<[u8]>> {
    let name = Path::new(":memory:");
    let explained = |error: rusqlite::Error| super::sql::explain(name, &error);
    let sql = Connection::open_in_memory().map_err(explained)?;
    let mut db = Db::new(sql, name.to_owned());
    accept(&mut db, format)?;
    let mut sql = db.into_connection();
    let mut bytes = sql.serialize("main").map_err(explained)?.to_vec();
    let short = || StoreError::Damaged { file: name.to_owned(), what: "it is too short".into() };
    bytes.get_mut(WRITTEN).ok_or_else(short)?.fill(2);
    Ok(bytes.into())
}

/// Begins a file that is not there yet with all its tables: making them one by one takes as long
/// as a hundred commits, and is done once for all files of a format.
pub(crate) fn begin(file: &Path, format: &Format, kept: &Blank) -> Result<()> {
    // What stands in a log that was left behind would be written into the new file; SQLite throws
    // it away where the file is empty.
    if files::exists(file)? || files::exists(&log_of(file))? {
        return Ok(());
    }
    let bytes = match kept.0.get() {
        Some(bytes) => bytes,
        None => {
            let made = blank(format)?;
            kept.0.get_or_init(|| made)
        }
    };
    files::write_atomically(file, bytes)
}

/// Opens the file without changing it: not even its log is written back on closing.
#[expect(clippy::disallowed_methods, reason = "this function is the one that opens databases")]
fn connect(file: &Path, format: &Format) -> rusqlite::Result<Connection> {
    // No URI names: a path is a path. One owner at a time: no mutex.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let sql = Connection::open_with_flags(file, flags)?;
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
    // Plans that don't look at bound values: a statement stays prepared whatever is bound.
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    sql.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    sql.busy_timeout(BUSY_TIMEOUT)?;
    sql.execute_batch(&format!("PRAGMA cache_size = -{}", format.cache_kib))?;
    sql.set_prepared_statement_cache_capacity(format.statements);
    Ok(sql)
}

/// Opens a database that others work with, to look at it: nothing of it is changed, and a version
/// that is newer is refused. An older one stays as it is.
pub(crate) fn connect_to_look(file: &Path, format: &Format) -> Result<Connection> {
    let explained = |error: rusqlite::Error| super::sql::explain(file, &error);
    let sql = connect(file, format).map_err(explained)?;
    let db = Db::new(sql, file.to_owned());
    found_version(&db, format)?;
    let sql = db.into_connection();
    // Whoever closes it last leaves it as it was found.
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(explained)?;
    Ok(sql)
}

/// Opens an empty file that a database is copied into. Who copies begins anew after a crash.
#[expect(clippy::disallowed_methods, reason = "beside the function that opens databases")]
pub(crate) fn connect_to_copy(file: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(file, flags)
        .and_then(|sql| {
            sql.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
            Ok(sql)
        })
        .map_err(|error| super::sql::explain(file, &error))
}

/// Opens a copy that nobody else uses and brings it to the latest version.
pub(crate) fn open_copy(file: &Path, format: &Format) -> Result<Db> {
    let missing =
        || StoreError::Damaged { file: file.to_owned(), what: "it is not there".to_owned() };
    open(file, format, Durability::Power, Absent::LeaveAndKeepNone)?.ok_or_else(missing)
}

/// Opens a copy that is in memory and brings it to the latest version, there alone.
pub(crate) fn open_bytes(name: &Path, mut bytes: Vec<u8>, format: &Format) -> Result<Db> {
    let short = || StoreError::Damaged { file: name.to_owned(), what: "it is too short".into() };
    // In memory there can't be a log.
    bytes.get_mut(WRITTEN).ok_or_else(short)?.fill(1);
    let explained = |error: rusqlite::Error| super::sql::explain(name, &error);
    let mut sql = Connection::open_in_memory().map_err(explained)?;
    let len = bytes.len();
    sql.deserialize_read_exact("main", bytes.as_slice(), len, false).map_err(explained)?;
    drop(bytes);
    let mut db = Db::new(sql, name.to_owned());
    accept(&mut db, format)?;
    Ok(db)
}

/// The rest of the settings, once the file is known to be ours. An early write-back keeps
/// the log short; erased bytes are overwritten.
fn settle(sql: &Connection) -> rusqlite::Result<()> {
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    sql.execute_batch(
        "PRAGMA secure_delete = ON; PRAGMA wal_autocheckpoint = 256;
         PRAGMA journal_size_limit = 1048576; PRAGMA temp_store = MEMORY;",
    )
}

/// A number in the header of a database.
fn header(sql: &Connection, field: &str) -> rusqlite::Result<i64> {
    sql.query_row(&format!("PRAGMA {field}"), [], |row| row.get(0))
}

/// The newest version of a format.
fn known_version(format: &Format) -> i64 {
    i64::try_from(format.migrations.len()).unwrap_or(i64::MAX)
}

/// Checks whose the file is; its version, 0 where it is empty.
fn found_version(db: &Db, format: &Format) -> Result<i64> {
    let known = known_version(format);
    let found = db.read(|sql| header(sql, "user_version"))?;
    let owner = db.read(|sql| header(sql, "application_id"))?;
    let tables = match found {
        0 => db.read(|sql| {
            sql.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))
        })?,
        _ => 0,
    };
    let damaged = |what: String| Err(StoreError::Damaged { file: db.file().to_owned(), what });
    if found == 0 && tables == 0 && owner == 0 {
        // New, or left empty by a crash while it was made.
    } else if owner != i64::from(format.application_id) {
        return damaged("its header is another program's".to_owned());
    } else if found > known {
        return Err(StoreError::Newer { file: db.file().to_owned(), found, known });
    } else if found < 1 {
        return damaged(format!("its format is {found}"));
    }
    Ok(found)
}

/// Checks whose the file is and of which version, and migrates it if it is older. The usual
/// case, a file of the latest version, reads two header fields and does nothing.
fn accept(db: &mut Db, format: &Format) -> Result<()> {
    let (found, known) = (found_version(db, format)?, known_version(format));
    if found == known {
        return Ok(());
    }
    if found == 0 {
        db.read(|sql| sql.execute_batch("PRAGMA journal_mode = WAL"))?;
    }
    db.write(|sql| {
        // Another opener may have done it while we waited for the lock.
        let now = header(sql, "user_version")?;
        for step in format.migrations.iter().skip(usize::try_from(now).unwrap_or(0)) {
            sql.execute_batch(step)?;
        }
        sql.execute_batch(&format!(
            "PRAGMA application_id = {}; PRAGMA user_version = {known};",
            format.application_id
        ))
    })
}
