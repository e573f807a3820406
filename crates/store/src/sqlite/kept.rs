//! A copy of a database as it was before it was brought to a newer format, beside it: whoever has
//! to go back to the older program puts it in its place.
//!
//! There is one a database, that of the last change. It is removed as soon as something is erased
//! from the database: a copy that still had it would make the erasure untrue.

use super::sql::{Db, explain};
use crate::error::{Result, StoreError};
use crate::files;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use std::path::{Path, PathBuf};

/// What stands between the name of a database and the format of its copy.
const MARK: &str = ".format-";

/// Keeps a copy of a database that has this format. `connect` opens an empty file to copy into.
pub(crate) fn keep(
    db: &Db,
    format: i64,
    connect: impl FnOnce(&Path) -> Result<Connection>,
) -> Result<()> {
    let file = db.file();
    let mut name = file.as_os_str().to_owned();
    name.push(format!("{MARK}{format}"));
    let target = PathBuf::from(name);
    // Also what a crash left half-way.
    forget(file);
    files::create_file(&target)?;
    let copied = (|| {
        let mut copy = connect(&target)?;
        let source = |error: rusqlite::Error| explain(&target, &error);
        let step = Backup::new(db.connection(), &mut copy).and_then(|backup| backup.step(-1));
        match step.map_err(source)? {
            StepResult::Done => files::flush(&target),
            _ => Err(StoreError::Busy { file: file.to_owned() }),
        }
    })();
    if copied.is_err() {
        files::remove(&target);
    }
    copied
}

/// Removes the copies of a database.
pub(crate) fn forget(file: &Path) {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name().and_then(|it| it.to_str()))
    else {
        return;
    };
    let prefix = format!("{name}{MARK}");
    for copy in files::names_in(folder).unwrap_or_default() {
        if copy.starts_with(&prefix) && !files::remove(&folder.join(&copy)) {
            tracing::warn!(
                file = copy,
                "a copy of an older format can't be removed, and may hold what was erased"
            );
        }
    }
}
