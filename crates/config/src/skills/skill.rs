//! One skill, as its agent has it, and where it stands.

use super::document::Variable;
use super::files::SkillFile;
use insula_domain::Selector;

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
    /// The files beside its `SKILL.md`.
    pub files: Box<[SkillFile]>,
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
