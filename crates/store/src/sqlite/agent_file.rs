//! One agent's open database, and what is known of it while it is open. Who has it open: `pool`.

use super::audit;
use super::index::Backlog;
use super::sql::Db;
use crate::chain::{Chain, Head, Link};
use crate::options::Durability;

/// An agent's open database.
pub(crate) struct AgentFile {
    pub(crate) db: Db,
    /// What its commits survive.
    pub(crate) durability: Durability,
    pub(crate) chain: Chain,
    /// How the chain stood to its anchor when the file was opened, and stands since.
    pub(crate) link: Link,
    /// Commits with audit records since the last that was flushed.
    pub(crate) unflushed: u32,
    /// How much waits to be indexed.
    pub(crate) backlog: Backlog,
}

impl AgentFile {
    /// Writes all of it to the disk where commits did not; the head that is there then.
    pub(crate) fn flush_for_good(&self) -> Option<Head> {
        if self.unflushed == 0 || self.link != Link::Whole {
            return None;
        }
        let flushed = self.db.truncate_log().and_then(|()| self.db.read(audit::head));
        flushed
            .inspect_err(|error| {
                let file = self.db.file().display();
                tracing::warn!(%file, %error, "a database could not be flushed on closing");
            })
            .ok()
    }
}
