//! Scopes by number, so that rows and keys are short.

use super::sql::bad_value;
use insula_domain::ScopeName;
use rusqlite::{Connection, OptionalExtension as _, Row};

/// A scope whose number is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) id: i64,
    pub(crate) name: ScopeName,
}

impl Scope {
    /// The number of a scope, which most often is this one.
    pub(crate) fn or_intern(&self, sql: &Connection, name: &ScopeName) -> rusqlite::Result<i64> {
        if self.name == *name { Ok(self.id) } else { intern(sql, name.as_str()) }
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
pub(crate) fn name(sql: &Connection, id: i64) -> rusqlite::Result<ScopeName> {
    sql.prepare_cached("SELECT name FROM scope WHERE id = ?1")?.query_row([id], |row| read(row, 0))
}

/// The scope in a column. What is none was not written by us.
pub(crate) fn read(row: &Row<'_>, column: usize) -> rusqlite::Result<ScopeName> {
    let text = row.get_ref(column)?.as_str().map_err(|_| bad_value(column))?;
    text.parse().map_err(|_| bad_value(column))
}
