//! The tools for skills, and the hand they work over. They know neither where a skill stands
//! nor whose it is.

mod list;
mod manage;
mod view;

pub use list::SkillsList;
pub use manage::SkillManage;
pub use view::SkillView;

use crate::output::ToolError;
use async_trait::async_trait;

/// A skill, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brief {
    pub name: String,
    pub description: String,
    /// What it is listed under.
    pub category: Option<String>,
}

/// A change of one of the agent's own skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillChange {
    /// A new skill, by its `SKILL.md`.
    Create {
        /// The whole text.
        content: String,
        /// The folder to put it under.
        category: Option<String>,
    },
    /// A new text for its `SKILL.md`.
    Edit {
        /// The whole text.
        content: String,
    },
    /// One passage for another, in one file.
    Patch {
        /// The file; `None` for `SKILL.md`.
        file: Option<String>,
        /// What stands there once.
        old: String,
        /// What takes its place.
        new: String,
    },
    /// The end of it.
    Delete,
    /// A file beside its `SKILL.md`.
    WriteFile {
        /// Its path in the skill.
        file: String,
        /// The whole text.
        content: String,
    },
    /// The end of such a file.
    RemoveFile {
        /// Its path in the skill.
        file: String,
    },
}

/// The skills of one agent, in one session. Another agent's do not exist here.
#[async_trait]
pub trait Skills: Send + Sync {
    /// What there is, by name.
    fn list(&self) -> Vec<Brief>;

    /// The text of a skill, or of a file of it, from a byte of it on.
    async fn view(&self, name: &str, file: Option<&str>, from: u64) -> Result<String, ToolError>;

    /// Whether a skill reads as it did when the operator installed or wrote it.
    async fn is_pinned(&self, name: &str) -> Result<bool, ToolError>;

    /// Changes one of the agent's own; what was done, in words.
    async fn change(&self, name: &str, change: SkillChange) -> Result<String, ToolError>;
}
