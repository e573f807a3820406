//! What an agent remembers: lists of short entries, one pair a scope, each with its provenance,
//! scanned on the way in and on the way out, and mirrored in Markdown files people may edit.
//!
//! A [`Memory`] belongs to one agent from birth. Whoever reads or writes during a turn gets a
//! [`Scoped`] from it, bound to the scopes it may read and the one it writes to; nothing on it
//! names another. How a scope is decided is not known here, and neither are platforms.

mod admin;
mod audience;
mod block;
mod collision;
mod encode;
mod entries;
mod erase;
mod error;
mod files;
mod list;
mod memory;
mod merge;
mod mirror;
mod objections;
mod scoped;
mod take_in;
mod text;
mod view;

pub use admin::{Exported, Share};
pub use audience::audience;
pub use block::is_marked;
pub use encode::{by_hand, folder_of, scope_of};
pub use entries::{EntryChange, ListLimits, Operation};
pub use erase::{Erased, Remains};
pub use error::{FileFault, MemoryError};
pub use insula_store::MemoryList;
pub use list::file_of;
pub use memory::Memory;
pub use scoped::{AsFound, Changed, ListView, MemoryHit, Ranking, Scoped, ShownMemory};
pub use take_in::TakenIn;
pub use text::{parse, render};
pub use view::Seen;
