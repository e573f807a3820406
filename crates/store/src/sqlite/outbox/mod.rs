//! The outbox in SQLite.

pub(crate) mod read;
pub(crate) mod write;
