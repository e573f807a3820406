//! One skill, as its agent has it, and where it stands.

use super::document::{Requires, Variable};
use super::files::SkillFile;
use insula_domain::Selector;
use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: Box<str>,
    pub description: Box<str>,
    /// What it is listed under: what it says, or the folder it stands in.
    pub category: Option<Box<str>>,
    /// Its version, as its maker counts.
    pub version: Option<Box<str>>,
    /// Where it stands.
    pub place: SkillLocation,
    /// Its folder, below that.
    pub folder: Box<str>,
    /// The hash of its `SKILL.md`.
    pub hash: [u8; 32],
    /// The tools that stay while it is in use; `None` for all.
    pub allowed_tools: Option<Box<[Selector]>>,
    /// What of `allowed-tools` names no tool here.
    pub unknown_tools: Box<[Box<str>]>,
    /// The secrets its programs need.
    pub variables: Box<[Variable]>,
    /// What has to be on the machine for its programs.
    pub requires: Requires,
    /// What `requires` says that means nothing here, and what may have been meant.
    pub unread: Box<[Box<str>]>,
    /// The files beside its `SKILL.md`.
    pub files: Box<[SkillFile]>,
    /// The findings in its files that an operator accepted, by their hashes.
    pub accepted: BTreeSet<Box<str>>,
}

impl Skill {
    /// The file beside its `SKILL.md` that a path means: the one that is called so, else the
    /// only one that is when case is not looked at. Those it could be, where there are several.
    pub fn file(&self, path: &str) -> Result<Option<&SkillFile>, Vec<&str>> {
        if let Some(exact) = self.files.iter().find(|file| *file.path == *path) {
            return Ok(Some(exact));
        }
        let wanted = path.to_lowercase();
        let alike: Vec<&SkillFile> =
            self.files.iter().filter(|file| file.path.to_lowercase() == wanted).collect();
        match alike[..] {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            _ => Err(alike.into_iter().map(|file| &*file.path).collect()),
        }
    }
}

/// Where a skill stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkillLocation {
    /// In the agent's own folder.
    Own,
    /// In a bundle of the home.
    Bundle(Box<str>),
}

impl SkillLocation {
    /// The folder of skills it is in, below the home.
    pub fn folder(&self, agent: &str) -> String {
        match self {
            Self::Own => format!("agents/{agent}/skills"),
            Self::Bundle(name) => format!("skills/{name}"),
        }
    }
}
