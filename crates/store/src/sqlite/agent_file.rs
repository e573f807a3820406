//! One agent's open database, and what is known of it while it is open. Who has it open: `pool`.

use super::audit;
use super::index::Backlog;
use super::sql::{Db, log_of};
use crate::chain::{Chain, Head, Link};
use crate::error::{Result, StoreError};
use crate::files;
use crate::options::Durability;

/// Longest log that may stay beside a closed database, in bytes: whoever opens it reads it.
const LOG_LEFT_MAX: u64 = 512 * 1024;

/// An agent's open database.
pub(crate) struct AgentFile {
    pub(crate) db: Db,
    /// What its commits survive.
    pub(crate) durability: Durability,
    pub(crate) chain: Chain,
    /// How the chain stood to its anchor when the file was opened, and stands since.
    pub(crate) link: Link,
    /// Whether all that was committed is on the disk.
    pub(crate) is_on_disk: bool,
    /// Whether erased content may stand in the log.
    pub(crate) keeps_erased: bool,
    /// Commits with audit records since the last that was flushed.
    pub(crate) unflushed: u32,
    /// How much waits to be indexed.
    pub(crate) backlog: Backlog,
}

impl AgentFile {
    /// Writes all of it to the disk where commits did not; the head that is there then. Who makes
    /// room for others is opened again soon, and leaves its log: writing that back waits for the
    /// disk four times.
    pub(crate) fn flush_for_good(&self, makes_room: bool) -> Option<Head> {
        let is_left = makes_room && self.leave_log();
        if self.unflushed == 0 || self.link != Link::Whole {
            return None;
        }
        let flushed = if is_left { Ok(()) } else { self.db.truncate_log() };
        flushed.and_then(|()| self.db.read(audit::head)).inspect_err(|error| self.warn(error)).ok()
    }

    /// Whether the log stays when the file is closed.
    fn leave_log(&self) -> bool {
        let log = log_of(self.db.file());
        if self.keeps_erased || files::len(&log) > LOG_LEFT_MAX {
            return false;
        }
        let flush = || -> Result<()> {
            if !self.is_on_disk && files::exists(&log)? {
                files::flush(&log)?;
            }
            self.db.leave_log()
        };
        flush().inspect_err(|error| self.warn(error)).is_ok()
    }

    fn warn(&self, error: &StoreError) {
        let file = self.db.file().display();
        tracing::warn!(%file, %error, "a database could not be flushed on closing");
    }
}
