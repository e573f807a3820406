//! How to open a store: where it is, how much of it is open, and what its commits survive.

use crate::key::AuditKey;
use std::path::PathBuf;

/// Open agent databases when nothing else is said. Three descriptors each, far below the
/// limit a daemon raises at start.
pub const OPEN_MAX_DEFAULT: usize = 256;

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A loss of power: every commit is flushed to the disk (`synchronous=FULL`).
    #[default]
    Power,
    /// A crash of the process, not of the machine (`synchronous=NORMAL`).
    Process,
}

/// How to open a store.
#[derive(Clone)]
pub struct StoreOptions {
    /// The home directory: `insula.db` and `agents/<id>/agent.db` live below it.
    pub home: PathBuf,
    /// What a commit survives.
    pub durability: Durability,
    /// Most agent databases open at once; at least one is always allowed.
    pub open_max: usize,
    /// The key of the audit chains of this home.
    pub audit_key: AuditKey,
}

impl StoreOptions {
    /// The usual options for a home.
    pub fn new(home: impl Into<PathBuf>, audit_key: AuditKey) -> Self {
        Self {
            home: home.into(),
            durability: Durability::default(),
            open_max: OPEN_MAX_DEFAULT,
            audit_key,
        }
    }
}
