//! `policies.lock`: which policies were installed, with the hash of every file. Pure.

use super::{LOCK, PolicyFiles};
use crate::file_state::FileState;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Every policy that was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyLock {
    /// The format.
    version: u32,
    /// The policies, by name.
    pub policies: BTreeMap<String, LockedPolicy>,
}

/// One policy that was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedPolicy {
    /// When, in words.
    pub installed: String,
    /// The hash of each file, by path.
    pub files: BTreeMap<String, String>,
}

impl Default for PolicyLock {
    fn default() -> Self {
        Self { version: 1, policies: BTreeMap::new() }
    }
}

impl PolicyLock {
    /// Reads one. Where there is none, nothing was installed.
    pub fn parse(state: &FileState) -> Result<Self, String> {
        let text = match state {
            FileState::Absent => return Ok(Self::default()),
            FileState::Text(text) => text,
            FileState::Unreadable(why) => return Err(format!("{LOCK} {why}")),
        };
        let lock: Self = serde_json::from_str(text)
            .map_err(|error| format!("{LOCK} can't be read: {error}; restore or remove it"))?;
        match lock.version {
            1 => Ok(lock),
            other => Err(format!("{LOCK} has format {other}, and this version knows format 1")),
        }
    }

    /// As it is written.
    pub fn to_text(&self) -> String {
        // A map of texts always has a text.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// How a policy differs from what was installed, in words; nothing where it does not.
    pub fn differences(&self, name: &str, found: Option<&PolicyFiles>) -> Vec<String> {
        let Some(found) = found else { return vec!["its folder is gone".to_owned()] };
        if let Some(fault) = &found.fault {
            return vec![fault.clone()];
        }
        let Some(locked) = self.policies.get(name) else {
            return vec!["it was not installed".to_owned()];
        };
        let hashes = found.hashes();
        let of_locked = locked.files.iter().filter_map(|(path, hash)| match hashes.get(path) {
            None => Some(format!("`{path}` is gone")),
            Some(now) if now != hash => Some(format!("`{path}` was changed")),
            Some(_) => None,
        });
        let added = hashes.keys().filter(|path| !locked.files.contains_key(*path));
        of_locked.chain(added.map(|path| format!("`{path}` was added"))).collect()
    }
}
