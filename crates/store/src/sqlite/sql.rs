//! An open database file and its errors: every SQLite error leaves here with the file's name
//! and what can be done.

use crate::error::{Result, StoreError};
use crate::files;
use crate::lease::Lease;
use crate::options::Durability;
use insula_domain::Actor;
use insula_domain::id::AgentId;
use rusqlite::config::DbConfig;
use rusqlite::types::{FromSqlError, Type};
use rusqlite::{Connection, ErrorCode, Row, Transaction, TransactionBehavior, ffi};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// An agent id in a column.
pub(crate) fn agent_id(row: &Row<'_>, column: usize) -> rusqlite::Result<AgentId> {
    AgentId::new(&row.get::<_, String>(column)?).map_err(|_| bad_text(column))
}

/// The error of a text that nobody of ours wrote there.
pub(crate) fn bad_text(column: usize) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, FromSqlError::InvalidType.into())
}

/// Why a command could not be applied.
pub(crate) enum CommandFault {
    /// SQLite could not.
    Sql(rusqlite::Error),
    /// It asks for what can't be had.
    Refused(StoreError),
}

impl From<rusqlite::Error> for CommandFault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for CommandFault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl CommandFault {
    /// The error for the caller.
    pub(crate) fn explain(self, file: &Path) -> StoreError {
        match self {
            Self::Sql(error) => explain(file, &error),
            Self::Refused(error) => error,
        }
    }
}

/// A value that no version of ours wrote.
pub(crate) fn bad_value(column: usize) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Null, FromSqlError::InvalidType.into())
}

/// An open database file.
pub(crate) struct Db {
    connection: Connection,
    file: PathBuf,
    /// What commits survive, as SQLite was last told; nothing yet.
    survives: Cell<Option<Durability>>,
}

impl Db {
    pub(crate) fn new(connection: Connection, file: PathBuf) -> Self {
        Self { connection, file, survives: Cell::new(None) }
    }

    /// The connection alone.
    pub(crate) fn into_connection(self) -> Connection {
        self.connection
    }

    /// Says what commits survive from now on, once they return.
    pub(crate) fn survive(&self, durability: Durability) -> rusqlite::Result<()> {
        if self.survives.get() != Some(durability) {
            let synchronous = match durability {
                Durability::Power => "FULL",
                Durability::Process => "NORMAL",
            };
            self.connection.execute_batch(&format!("PRAGMA synchronous = {synchronous}"))?;
            self.survives.set(Some(durability));
        }
        Ok(())
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Runs statements outside a transaction of ours.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        work(&self.connection).map_err(|error| explain(&self.file, &error))
    }

    /// Runs statements in one transaction, kept if all succeed.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.transact(|sql, file| work(sql).map_err(|error| explain(file, &error)))
    }

    /// Runs statements in one transaction, kept if the lease holds and all succeed.
    pub(crate) fn write_leased<T>(
        &mut self,
        lease: &Lease,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.transact(|sql, file| {
            raise(sql, file, lease)?;
            work(sql).map_err(|error| explain(file, &error))
        })
    }

    /// The same for work that says itself what is wrong.
    pub(crate) fn apply<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &Path) -> Result<T>,
    ) -> Result<T> {
        self.transact(work)
    }

    fn transact<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &Path) -> Result<T>,
    ) -> Result<T> {
        let file = &self.file;
        // Immediate, so that the epoch is read under the lock it is then written under.
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| explain(file, &error))?;
        // Dropped on an error, which rolls it back.
        let result = work(&transaction, file)?;
        transaction.commit().map_err(|error| explain(file, &error))?;
        Ok(result)
    }

    /// The connection, for work that manages its own transaction.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Writes the log back and empties it, so that erased bytes are nowhere.
    pub(crate) fn truncate_log(&self) -> Result<()> {
        self.read(|sql| sql.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())))
    }

    /// Closing leaves the log as it is, as a crash does.
    pub(crate) fn leave_log(&self) -> Result<()> {
        self.read(|sql| {
            sql.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop)
        })
    }
}

/// The log beside a database.
pub(crate) fn log_of(file: &Path) -> PathBuf {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// Refuses an epoch lower than one seen before, and remembers a higher one.
pub(crate) fn raise(sql: &Connection, file: &Path, lease: &Lease) -> Result<()> {
    let explained = |error| explain(file, &error);
    let (seen, owner) = sql
        .prepare_cached("SELECT epoch, owner FROM fence")
        .and_then(|mut statement| {
            statement.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
        })
        .map_err(explained)?;
    let (claim, seen) = (&lease.claim, seen.cast_unsigned());
    let ours = claim.epoch;
    if claim.is_released() {
        return Err(StoreError::Released { what: lease.what.clone() });
    }
    if ours < seen || (ours == seen && *owner != *claim.owner) {
        return Err(StoreError::Fenced { what: lease.what.clone(), ours, seen });
    }
    if ours > seen {
        sql.execute("UPDATE fence SET epoch = ?1, owner = ?2", (ours.cast_signed(), &claim.owner))
            .map_err(explained)?;
    }
    Ok(())
}

/// Who is named in a column.
pub(crate) fn actor(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Actor> {
    Ok(row.get_ref(column)?.as_str()?.into())
}

/// An error of SQLite, by what can be done about it.
pub(crate) fn explain(file: &Path, error: &rusqlite::Error) -> StoreError {
    let what = error.to_string();
    let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
    let file = file.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { file },
        Some(ErrorCode::DiskFull) => StoreError::Full { file },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            StoreError::NotAllowed { file, what }
        }
        Some(ErrorCode::CannotOpen) => files::why_not_openable(&file),
        Some(ErrorCode::SystemIoFailure) => match extended {
            ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS | ffi::SQLITE_IOERR_DATA => {
                StoreError::Damaged { file, what }
            }
            _ => StoreError::Io { file, what },
        },
        Some(ErrorCode::OutOfMemory) => StoreError::Io { file, what },
        // A statement of ours that does not fit the file: the file's schema is not ours.
        _ => StoreError::Damaged { file, what },
    }
}
