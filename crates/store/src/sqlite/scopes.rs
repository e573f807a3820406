//! Scopes by number, so that rows and keys are short.

use rusqlite::{Connection, OptionalExtension as _};
use std::sync::Arc;

/// A scope whose number is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) id: i64,
    pub(crate) name: Arc<str>,
}

impl Scope {
    /// The number of a scope, which most often is this one.
    pub(crate) fn or_intern(&self, sql: &Connection, name: &str) -> rusqlite::Result<i64> {
        if *self.name == *name { Ok(self.id) } else { intern(sql, name) }
    }
}

/// The number of a scope, given now if it has none.
pub(crate) fn intern(sql: &Connection, name: &str) -> rusqlite::Result<i64> {
    if let Some(id) = find(sql, name)? {
        return Ok(id);
    }
    let id = sql
        .prepare_cached("INSERT INTO scope (name, documents, terms) VALUES (?1, 0, 0)")?
        .insert([name])?;
    Ok(id)
}

/// The number of a scope, if it has one.
pub(crate) fn find(sql: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    sql.prepare_cached("SELECT id FROM scope WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()
}

/// The name of a scope that has this number.
pub(crate) fn name(sql: &Connection, id: i64) -> rusqlite::Result<Arc<str>> {
    sql.prepare_cached("SELECT name FROM scope WHERE id = ?1")?.query_row([id], |row| row.get(0))
}
