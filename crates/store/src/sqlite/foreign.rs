//! Files that hold words of others, in SQLite.

use crate::foreign::{FOREIGN_FILES_MAX, ForeignFile, above, below};
use insula_domain::Integrity;
use rusqlite::{Connection, OptionalExtension as _, Row};
use std::collections::{BTreeMap, BTreeSet};

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

/// Those that may have to do with what has one of these names: the same, folders that hold it, and
/// what is below it.
pub(crate) fn about(sql: &Connection, names: &[Box<str>]) -> rusqlite::Result<Vec<ForeignFile>> {
    let mut found: BTreeMap<Box<str>, ForeignFile> = BTreeMap::new();
    let holders: BTreeSet<&str> = names.iter().flat_map(|name| above(name)).collect();
    let mut one = sql.prepare_cached("SELECT path, integrity FROM foreign_file WHERE path = ?1")?;
    for holder in holders {
        let file = one.query_row([holder], read).optional()?;
        found.extend(file.map(|file| (file.path.clone(), file)));
    }
    for name in names {
        let mut rows = rows_below(sql, name)?;
        // What is left out may be anybody's.
        if rows.len() > FOREIGN_FILES_MAX {
            rows.pop();
            rows.push(ForeignFile::too_many(name));
        }
        found.extend(rows.into_iter().map(|file| (file.path.clone(), file)));
    }
    Ok(found.into_values().collect())
}

fn rows_below(sql: &Connection, name: &str) -> rusqlite::Result<Vec<ForeignFile>> {
    let limit = FOREIGN_FILES_MAX as i64 + 1;
    let Some((first, end)) = below(name) else {
        return sql
            .prepare_cached("SELECT path, integrity FROM foreign_file LIMIT ?1")?
            .query_map([limit], read)?
            .collect();
    };
    sql.prepare_cached(
        "SELECT path, integrity FROM foreign_file WHERE path >= ?1 AND path < ?2 LIMIT ?3",
    )?
    .query_map((first, end, limit), read)?
    .collect()
}

/// What can't be understood came from anywhere.
fn read(row: &Row<'_>) -> rusqlite::Result<ForeignFile> {
    let (path, integrity): (String, String) = (row.get(0)?, row.get(1)?);
    let integrity = integrity.parse().unwrap_or_else(|_| Integrity::many());
    Ok(ForeignFile { path: path.into(), integrity })
}
