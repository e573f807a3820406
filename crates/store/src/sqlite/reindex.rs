//! An index that an older version made of the same words is made anew when its file is opened.
//!
//! First, in one transaction, the old index goes, and every message is on the list of those that
//! wait; from then on search is right, and slow. Then they are indexed, some at a time, each time
//! in a transaction. Whatever ends this in between, the next opening goes on from there.

use super::index::{self, Backlog};
use super::memory;
use super::sql::Db;
use crate::error::Result;
use rusqlite::{Connection, OptionalExtension as _};

/// Which version of terms and postings this program makes. It grows when `terms`, `fold` or what
/// a posting says changes.
const FORMAT: i64 = 2;

/// Messages that are indexed in one transaction: some megabytes of log.
const TOGETHER: usize = 2_000;

/// Brings the index to the present format. What waits to be indexed after that.
pub(crate) fn bring_up_to_date(db: &mut Db) -> Result<Backlog> {
    if db.read(format)? < FORMAT {
        tracing::info!(file = %db.file().display(), "the search index is made anew");
        db.write(|sql| {
            // Another opener may have done it while we waited for the lock.
            if format(sql)? < FORMAT { begin(sql) } else { Ok(()) }
        })?;
    }
    let mut backlog = db.read(Backlog::read)?;
    while backlog.is_overdue() {
        if let Err(error) = db.write(|sql| index::merge(sql, TOGETHER)) {
            // Search reads what is not indexed too.
            let file = db.file().display();
            tracing::warn!(%file, %error, "messages could not be indexed yet");
            break;
        }
        backlog = db.read(Backlog::read)?;
    }
    Ok(backlog)
}

fn format(sql: &Connection) -> rusqlite::Result<i64> {
    let format = sql.query_row("SELECT format FROM search_index", [], |row| row.get(0));
    format.optional().map(Option::unwrap_or_default)
}

fn begin(sql: &Connection) -> rusqlite::Result<()> {
    // What children say to themselves is no part of what was said in a scope.
    sql.execute_batch(
        "DELETE FROM posting; DELETE FROM unindexed;
         UPDATE scope SET documents = 0, terms = 0;
         INSERT INTO unindexed SELECT message.id, message.scope, length(message.parts)
             FROM message JOIN session ON session.id = message.id >> 32
             WHERE session.parent IS NULL;",
    )?;
    memory::find::rebuild(sql)?;
    sql.execute("UPDATE search_index SET format = ?1", [FORMAT]).map(drop)
}

#[cfg(test)]
#[path = "reindex_tests.rs"]
mod tests;
