//! Memory in SQLite: fragments, the chain of their provenance, marks of mirrors, the index.

pub(crate) mod affected;
pub(crate) mod buried;
pub(crate) mod chain;
pub(crate) mod find;
pub(crate) mod read;
pub(crate) mod verify;
pub(crate) mod write;
