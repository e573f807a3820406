//! Files that hold words of others, in SQLite.

use crate::foreign::{FOREIGN_FILES_MAX, ForeignFile};
use insula_domain::Integrity;
use rusqlite::{Connection, OptionalExtension as _, Row};

/// Adds to whose words are in a file.
pub(crate) fn note(sql: &Connection, path: &str, more: &Integrity) -> rusqlite::Result<()> {
    let before = sql
        .prepare_cached("SELECT path, integrity FROM foreign_file WHERE path = ?1")?
        .query_row([path], read)
        .optional()?;
    let all = before.map_or_else(|| more.clone(), |it| it.integrity.join(more));
    sql.prepare_cached("INSERT OR REPLACE INTO foreign_file VALUES (?1, ?2)")?
        .execute((path, all.to_string()))
        .map(drop)
}

/// Nobody else's words are in a file any more.
pub(crate) fn forget(sql: &Connection, path: &str) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM foreign_file WHERE path = ?1")?.execute([path]).map(drop)
}

pub(crate) fn all(sql: &Connection) -> rusqlite::Result<Vec<ForeignFile>> {
    sql.prepare_cached("SELECT path, integrity FROM foreign_file ORDER BY path LIMIT ?1")?
        .query_map([FOREIGN_FILES_MAX as i64], read)?
        .collect()
}

/// What can't be understood came from anywhere.
fn read(row: &Row<'_>) -> rusqlite::Result<ForeignFile> {
    let (path, integrity): (String, String) = (row.get(0)?, row.get(1)?);
    let integrity = integrity.parse().unwrap_or_else(|_| Integrity::many());
    Ok(ForeignFile { path: path.into(), integrity })
}
