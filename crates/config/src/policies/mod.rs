//! Policies: folders with hooks, a scope rule, tool rules and approvals, which are installed
//! whole, locked by the hash of each file, and applied to agents by name.
//!
//! A policy that is not as it was installed is none: the agents that name it do not run.

mod apply;
mod files;
mod lock;
mod summary;

#[cfg(test)]
mod policies_tests;

pub(crate) use apply::{Over, Policies};
pub use files::{FILE_BYTES_MAX, PolicyFiles, read_all, read_folder};
pub use lock::{LockedPolicy, PolicyLock};
pub use summary::{PolicySummary, summary};

use crate::rules;

/// The folder of the home that policies are in.
pub const FOLDER: &str = "policies";

/// What says which policies were installed, in the home.
pub const LOCK: &str = "policies.lock";

/// What a policy says, in its folder.
pub const DOCUMENT: &str = "policy.yaml";

/// Whether a policy may be called so.
pub fn is_name(text: &str) -> bool {
    (rules::NAME.check)(text).is_ok()
}
