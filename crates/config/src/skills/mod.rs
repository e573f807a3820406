//! Skills: `SKILL.md` and the files beside it, as configuration of an agent.
//!
//! [`files`] reads the folders, [`document`] parses one `SKILL.md`, [`shelf`] says which
//! skills an agent has, [`judge`] what stands against one, and [`index`] what a prompt says
//! about them. A skill with a fault does not exist for the agent; its operator is told why.

pub mod document;
pub mod files;
pub mod index;
pub mod judge;
mod likeness;
mod skill;
pub mod skill_set;

#[cfg(test)]
mod files_tests;
#[cfg(test)]
mod skills_tests;

pub use document::{Document, Requires, SkillFault, Variable};
pub use files::{SkillFile, SkillFolder};
pub use judge::SkillFinding;
pub use skill::{Skill, SkillLocation};
pub use skill_set::{SkillSet, Unusable};

/// The name of the file that makes a folder a skill.
pub const DOCUMENT: &str = "SKILL.md";
/// The file in an agent's folder of skills that says what was installed, and accepted.
pub const LOCK: &str = "skills.lock";
/// Largest `SKILL.md`, in bytes. A view shows a part of what is longer than a tool's output.
pub const DOCUMENT_BYTES_MAX: u64 = 256 * 1024;
/// Largest file beside it, in bytes.
pub const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Files of one skill.
pub const FILES_MAX: usize = 1_000;
/// Bytes of one skill that programs are shown, all its files together.
pub const SKILL_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Skills below one folder.
pub const SKILLS_MAX: usize = 1_000;
/// Folders between the top and a skill: `<category>/<skill>` here, and in collections that
/// others keep `<kind>/<package>/skills/<category>/<skill>`.
pub const DEPTH_MAX: usize = 6;
/// Folders inside of a skill, one in the other.
pub const INNER_DEPTH_MAX: usize = 8;
/// Longest name, in characters.
pub const NAME_CHARS_MAX: usize = 64;
/// Longest description, in characters. Makers are told 1,024, and some need a few more.
pub const DESCRIPTION_CHARS_MAX: usize = 2_048;

/// Whether a text can be a skill's name: it stands in prompts, paths and commands.
pub fn is_name(text: &str) -> bool {
    let body = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    text.len() <= NAME_CHARS_MAX
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(body)
}

/// Whether a text can be a path inside a skill: relative, plain names, not too deep.
pub fn is_inner_path(text: &str) -> bool {
    let good = |name: &str| {
        let odd = |c: char| c.is_control() || c == '\\';
        !matches!(name, "" | "." | "..") && name.len() <= 200 && !name.contains(odd)
    };
    text.len() <= 1_000 && text.split('/').count() <= INNER_DEPTH_MAX && text.split('/').all(good)
}
