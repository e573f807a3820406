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
