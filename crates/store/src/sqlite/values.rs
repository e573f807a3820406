//! Named values: small facts of the daemon's, one row each.

use rusqlite::{Connection, OptionalExtension as _};

pub(crate) fn put(sql: &Connection, key: &str, value: &str) -> rusqlite::Result<()> {
    sql.prepare_cached(
        "INSERT INTO value VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    )?
    .execute((key, value))
    .map(drop)
}

pub(crate) fn remove(sql: &Connection, key: &str) -> rusqlite::Result<()> {
    sql.prepare_cached("DELETE FROM value WHERE key = ?1")?.execute([key]).map(drop)
}

pub(crate) fn get(sql: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    sql.prepare_cached("SELECT value FROM value WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()
}

/// The values whose names begin with `prefix`, by name.
pub(crate) fn under(sql: &Connection, prefix: &str) -> rusqlite::Result<Vec<(String, String)>> {
    // Names are compared by their bytes, and none has the last character there is.
    let end = format!("{prefix}{}", char::MAX);
    sql.prepare_cached("SELECT key, value FROM value WHERE key >= ?1 AND key < ?2 ORDER BY key")?
        .query_map((prefix, end), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}
