//! The home folder: where things are in it, and the few ways its files change.

mod agent_folders;
mod configuration_folders;
mod files;

pub(crate) use agent_folders::OUTPUT;
pub use files::{AUDIT_KEY, FORMAT, FileMode, Home, HomeLock};
