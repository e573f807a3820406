//! Their databases: copied into a folder of ours and read there, since opening one where it is
//! would write beside it.
#![expect(clippy::disallowed_methods, reason = "opens copies of databases that are not ours")]

use crate::source_home::{Scratch, SourceHome};
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeSet;
use std::path::Path;

/// A copy of a database.
pub(crate) struct Copy {
    pub(crate) sql: Connection,
    /// Its folder, which ends with it.
    _scratch: Scratch,
}

impl Copy {
    /// Copies a database of theirs, to read these tables; `None` where there is none.
    pub(crate) fn of(
        home: &SourceHome,
        relative: &str,
        (scratch, name): (&Path, &str),
        tables: &[&str],
    ) -> Result<Option<Self>, String> {
        let scratch = Scratch::new(scratch, name)?;
        let Some(path) = home.copy_database(relative, scratch.path())? else { return Ok(None) };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sql = Connection::open_with_flags(path, flags).map_err(|error| error.to_string())?;
        // Only what is read has to be whole: an index for searching may well be out of step.
        for table in tables {
            let known: bool = sql
                .query_row("SELECT count(*) FROM sqlite_master WHERE name = ?1", [table], |row| {
                    row.get(0)
                })
                .map_err(|error| format!("it can't be read: {error}"))?;
            if !known {
                continue;
            }
            let found: String = sql
                .query_row(&format!("PRAGMA quick_check({table})"), [], |row| row.get(0))
                .map_err(|error| format!("it can't be read: {error}"))?;
            if found != "ok" {
                return Err(format!(
                    "it is damaged, or was written while it was copied ({found}); stop the program that uses it and try again"
                ));
            }
        }
        Ok(Some(Self { sql, _scratch: scratch }))
    }

    /// The columns of a table; none where there is no such table.
    pub(crate) fn columns(&self, table: &str) -> BTreeSet<String> {
        let rows = self.sql.prepare("SELECT name FROM pragma_table_info(?1)").and_then(|mut it| {
            it.query_map([table], |row| row.get::<_, String>(0))?.collect::<Result<_, _>>()
        });
        rows.unwrap_or_default()
    }
}
