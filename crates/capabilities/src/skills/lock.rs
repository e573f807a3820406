//! `skills.lock`: what was installed, from where, with the hash of every file. Pure.

use super::package::Package;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

pub use insula_config::skills::LOCK;

/// Everything that was installed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// The format.
    pub version: u32,
    /// The skills, by name.
    pub skills: BTreeMap<String, Locked>,
}

/// One skill that was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locked {
    /// Where it came from, in the words of whoever installed it.
    pub source: String,
    /// Its folder, below the folder of skills.
    pub folder: String,
    /// The hash of each file, by path.
    pub files: BTreeMap<String, String>,
    /// What was found in it and accepted, by the hash of the finding. With another content a
    /// finding has another hash, so what is written here holds for nothing else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accepted: BTreeMap<String, Accepted>,
}

/// A finding that an operator accepted, for whoever reads this later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The file it is in.
    pub file: String,
    /// The line it is on.
    pub line: u32,
    /// What it is.
    pub reason: String,
}

/// How the files of a skill differ from what was installed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// Other content.
    pub changed: Vec<String>,
    /// Not there any more.
    pub missing: Vec<String>,
    /// There, and not installed.
    pub added: Vec<String>,
}

impl Difference {
    /// Whether nothing differs.
    pub fn is_none(&self) -> bool {
        self == &Self::default()
    }
}

impl Lock {
    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lock: Self = serde_json::from_str(text)
            .map_err(|error| format!("{LOCK} can't be read: {error}; restore or remove it"))?;
        match lock.version {
            1 => Ok(lock),
            other => Err(format!("{LOCK} has format {other}, and this version knows format 1")),
        }
    }

    /// All findings that were accepted in some skill, by their hashes.
    pub fn accepted(&self) -> BTreeSet<Box<str>> {
        let hashes = self.skills.values().flat_map(|locked| locked.accepted.keys());
        hashes.map(|hash| hash.as_str().into()).collect()
    }

    /// As it is written.
    pub fn to_text(&self) -> String {
        let written = Self { version: 1, skills: self.skills.clone() };
        // A map of texts always has a form.
        let text = serde_json::to_string_pretty(&written).unwrap_or_default();
        format!("{text}\n")
    }
}

impl Locked {
    /// What was installed.
    pub fn new(source: &str, folder: &str, package: &Package) -> Self {
        let files = package.contents.files.iter();
        let accepted = package.accepted.iter().map(|finding| {
            let (file, reason) = (finding.file.to_string(), finding.reason.to_string());
            (finding.hash.to_string(), Accepted { file, line: finding.line, reason })
        });
        Self {
            source: source.to_owned(),
            folder: folder.to_owned(),
            files: files.map(|(path, bytes)| (path.clone(), hash(bytes))).collect(),
            accepted: accepted.collect(),
        }
    }

    pub fn differs(&self, now: &BTreeMap<String, Vec<u8>>) -> Difference {
        let mut difference = Difference::default();
        for (path, hashed) in &self.files {
            match now.get(path) {
                None => difference.missing.push(path.clone()),
                Some(bytes) if hash(bytes) != *hashed => difference.changed.push(path.clone()),
                Some(_) => {}
            }
        }
        let added = now.keys().filter(|path| !self.files.contains_key(*path));
        difference.added = added.cloned().collect();
        difference
    }
}

/// The hash of a file, as the lock has it.
pub fn hash(bytes: &[u8]) -> String {
    format!("blake3:{}", blake3::hash(bytes).to_hex())
}
