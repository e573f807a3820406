//! Many files as one: packed, sealed with a passphrase where somebody gave one, and checked when
//! they are read again.
//!
//! The form is that of ordinary tools, so that a copy can be opened without this program: `tar`,
//! packed by `gzip`, sealed by [age](https://age-encryption.org) under a passphrase. The first
//! entry says what it is ([`Manifest`]), the last how many files there are and what they hash to.
//!
//! Nothing here knows homes, agents or databases: what goes in and what comes of it is the
//! caller's.

mod entry;
mod error;
mod files;
mod read;
mod seal;
mod unpack;
mod write;

pub use entry::{Entry, EntryKind, Manifest, Totals};
pub use error::{ArchiveError, Result};
pub use files::{FolderState, Found, OnlyOne, empty_folder, folder_state, walk};
pub use read::{Visitor, is_sealed, read};
pub use seal::{PASSPHRASE_CHARS_MIN, Passphrase};
pub use unpack::Unpacker;
pub use write::ArchiveWriter;

#[cfg(test)]
mod tests;
