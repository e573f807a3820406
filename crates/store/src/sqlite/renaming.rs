//! An agent is called otherwise: what its own database and those of boards have of its name. Its
//! chains keep the one they were begun with (`born.rs`); what was recorded stays as it was.
//!
//! Nobody else may have the files open. Every change may be made again.

use super::open::{self, Absent};
use super::schema;
use super::sql::Db;
use crate::error::Result;
use crate::files;
use crate::options::Durability;
use insula_domain::AgentId;
use rusqlite::Connection;
use std::path::Path;

/// Takes the names of conversations and files in the database of `to`, and what boards say of it,
/// from `from`. Blocks.
pub fn adopt(home: &Path, from: &AgentId, to: &AgentId) -> Result<()> {
    let own = home.join("agents").join(to.as_str()).join("agent.db");
    if let Some(mut db) = open::open(&own, &schema::AGENT, Durability::Power, Absent::Leave)? {
        write(&mut db, |sql| in_agent(sql, from.as_str(), to.as_str()))?;
    }
    let boards = home.join("boards");
    for name in files::names_in(&boards)?.iter().filter(|name| name.ends_with(".db")) {
        let path = boards.join(name);
        let board = open::open(&path, &schema::BOARD, Durability::Power, Absent::Leave)?;
        if let Some(mut db) = board {
            write(&mut db, |sql| on_board(sql, from.as_str(), to.as_str()))?;
        }
    }
    Ok(())
}

fn write(db: &mut Db, change: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<()> {
    db.read(|_| db.survive(Durability::Power))?;
    db.write(|sql| change(sql))?;
    db.truncate_log()
}

/// Texts that begin so begin otherwise.
fn begin_anew(sql: &Connection, update: &str, from: &str, to: &str) -> rusqlite::Result<()> {
    let length = i64::try_from(from.chars().count()).unwrap_or(i64::MAX);
    sql.execute(update, (from, to, length)).map(drop)
}

fn in_agent(sql: &Connection, from: &str, to: &str) -> rusqlite::Result<()> {
    let key = |id: &str| format!("agent:{id}:");
    for update in [
        "UPDATE session SET key = ?2 || substr(key, ?3 + 1) WHERE substr(key, 1, ?3) = ?1",
        "UPDATE inbox SET session = ?2 || substr(session, ?3 + 1)
         WHERE substr(session, 1, ?3) = ?1",
    ] {
        begin_anew(sql, update, &key(from), &key(to))?;
    }
    let folder = |id: &str| format!("agents/{id}/");
    let files = "UPDATE OR REPLACE foreign_file SET path = ?2 || substr(path, ?3 + 1)
         WHERE substr(path, 1, ?3) = ?1";
    begin_anew(sql, files, &folder(from), &folder(to))?;
    // What its jobs spent today counts on.
    let job = |id: &str| format!("job `{id}/");
    let spent = "UPDATE OR REPLACE usage SET name = ?2 || substr(name, ?3 + 1)
         WHERE kind = 4 AND substr(name, 1, ?3) = ?1";
    begin_anew(sql, spent, &job(from), &job(to))
}

fn on_board(sql: &Connection, from: &str, to: &str) -> rusqlite::Result<()> {
    for (table, column) in [
        ("card", "author_agent"),
        ("card", "assignee"),
        ("card", "reviewer"),
        ("comment", "agent"),
        ("file", "agent"),
        ("notice", "agent"),
    ] {
        sql.execute(&format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1"), (from, to))?;
    }
    let worker = |id: &str| format!("agent:{id}");
    for (table, column) in [("card", "worker"), ("card", "result_by"), ("run", "worker")] {
        let update = format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1");
        sql.execute(&update, (worker(from), worker(to)))?;
    }
    Ok(())
}
