//! Whether copies of a home's databases are whole: their pages, their formats, their audit chains,
//! and whether they fit each other.

use super::open::{self, Format};
use super::schema;
use super::sql::{Db, explain};
use super::{anchors, audit, born, directory};
use crate::audit::AuditReport;
use crate::chain::{Anchor, Chain};
use crate::daemon::{AgentRow, Lifecycle};
use crate::error::{Result, StoreError};
use crate::files;
use crate::key::AuditKey;
use insula_domain::id::AgentId;
use rusqlite::Connection;
use std::path::Path;

/// Where a copy is.
pub enum CopyOf<'a> {
    /// In a file of its own, which nobody else uses.
    File(&'a Path),
    /// In memory, under this name.
    Bytes(&'a Path, Vec<u8>),
}

/// Examines copies of agents' databases by that of their daemon.
pub struct Examiner {
    key: AuditKey,
    daemon: Db,
}

impl Examiner {
    /// Examines the daemon's database, by the key and the anchor that came with it.
    pub fn open(
        key: &AuditKey,
        daemon: CopyOf<'_>,
        anchor: Option<&[u8]>,
    ) -> Result<(Self, AuditReport)> {
        let db = opened(daemon, &schema::DAEMON)?;
        let chain = Chain::of_daemon(key);
        let anchor = anchors::read_text(anchor, &chain);
        let report = examine(&db, &chain, anchor)?;
        Ok((Self { key: key.clone(), daemon: db }, report))
    }

    /// The agents that the daemon knows and that are not deleted, with a database or without one.
    pub fn agents(&self) -> Result<Vec<AgentId>> {
        let rows = self.daemon.read(directory::all)?;
        let is_there =
            |row: &AgentRow| !matches!(row.state, Lifecycle::Deleting | Lifecycle::Deleted);
        Ok(rows.into_iter().filter(is_there).map(|row| row.id).collect())
    }

    /// Examines the database of an agent.
    pub fn agent(&self, agent: &AgentId, copy: CopyOf<'_>) -> Result<AuditReport> {
        let db = opened(copy, &schema::AGENT)?;
        let born = self.daemon.read(|sql| born::of(sql, agent))?;
        let chain = Chain::of_agent(&self.key, &born);
        let anchor = self.daemon.read(|sql| anchors::of(sql, &chain, agent))?;
        examine(&db, &chain, anchor)
    }
}

/// Examines the database of a board: its pages, its format, and whether its rows fit each other.
pub fn examine_board(copy: CopyOf<'_>) -> Result<()> {
    whole(&opened(copy, &schema::BOARD)?)
}

/// Whether the database of an agent of this home is whole, page by page; fine where there is none.
/// Others may work with it meanwhile. Blocks.
pub fn inspect(home: &Path, agent: &AgentId) -> Result<()> {
    let file = home.join("agents").join(agent.as_str()).join("agent.db");
    if !files::exists(&file)? {
        return Ok(());
    }
    quick(&open::connect_to_look(&file, &schema::AGENT)?, &file)
}

/// Looks at all pages of a database, and not at whether rows fit each other.
pub(super) fn quick(sql: &Connection, file: &Path) -> Result<()> {
    let said = sql.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match said.map_err(|error| explain(file, &error))? {
        said if said == "ok" => Ok(()),
        // One line, and no dots behind it: it stands in a sentence.
        said => {
            let what = said.lines().map(|line| line.trim_matches(['*', ' '])).collect::<Vec<_>>();
            Err(StoreError::Damaged { file: file.to_owned(), what: what.join(", ") })
        }
    }
}

/// Opens a copy and brings it to the latest version, as a daemon would.
fn opened(copy: CopyOf<'_>, format: &Format) -> Result<Db> {
    match copy {
        CopyOf::File(path) => open::open_copy(path, format),
        CopyOf::Bytes(name, bytes) => open::open_bytes(name, bytes, format),
    }
}

fn whole(db: &Db) -> Result<()> {
    let said = db.read(|sql| {
        sql.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0))
    })?;
    if said != "ok" {
        return Err(StoreError::Damaged { file: db.file().to_owned(), what: said });
    }
    let broken = db.read(first_broken_reference)?;
    if let Some(what) = broken {
        return Err(StoreError::Damaged { file: db.file().to_owned(), what });
    }
    Ok(())
}

fn examine(db: &Db, chain: &Chain, anchor: Anchor) -> Result<AuditReport> {
    whole(db)?;
    let (report, _) = db.read(|sql| audit::verify(sql, chain, anchor))?;
    Ok(report)
}

/// A row that names another that is not there.
fn first_broken_reference(sql: &Connection) -> rusqlite::Result<Option<String>> {
    let mut statement = sql.prepare("PRAGMA foreign_key_check")?;
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
    Ok(Some(format!("a row of `{table}` names one of `{parent}` that is not there")))
}
