//! What was seen of a home's configuration since the last look.

use rustix::fs::inotify::ReadFlags;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What was seen since the last look.
#[derive(Default)]
pub(super) struct Marks {
    /// What came, went or was renamed: a folder that went took its watch along, and one of
    /// the same name that came after it has none.
    lost: BTreeSet<PathBuf>,
    /// Files that were written to and not closed yet: half an edit.
    writing: BTreeSet<PathBuf>,
    /// More happened than the system kept: anything may have.
    overrun: bool,
    /// Something else happened than that a folder of an agent came.
    edited: bool,
}

impl Marks {
    /// Notes what happened to a path.
    pub(super) fn note(&mut self, what: ReadFlags, path: PathBuf) {
        let renamed = ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO;
        if what.intersects(ReadFlags::CREATE | ReadFlags::DELETE | renamed) {
            self.writing.remove(&path);
            self.lost.insert(path);
        } else if what.contains(ReadFlags::CLOSE_WRITE) {
            self.writing.remove(&path);
        } else if what.contains(ReadFlags::MODIFY) {
            self.writing.insert(path);
        }
    }

    /// Notes that something happened nobody can say any more.
    pub(super) fn overrun(&mut self) {
        self.overrun = true;
    }

    /// Notes that something else happened than that a folder of an agent came.
    pub(super) fn edit(&mut self) {
        self.edited = true;
    }

    pub(super) fn is_edited(&self) -> bool {
        self.edited || self.overrun
    }

    pub(super) fn is_writing(&self) -> bool {
        !self.writing.is_empty()
    }

    /// Begins anew with what is written and edited.
    pub(super) fn forget_writers(&mut self) {
        self.writing.clear();
        self.edited = false;
    }

    /// The paths whose watches may be gone, out of those that are watched.
    pub(super) fn take_lost(&mut self, watched: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let lost = std::mem::take(&mut self.lost);
        if std::mem::take(&mut self.overrun) { watched.clone() } else { lost }
    }
}

/// Whether a name in a folder is of a file we read, or of a folder that may hold one.
pub(super) fn concerns(root: &Path, folder: &Path, name: &[u8]) -> bool {
    // What is hidden in a folder of skills is on its way in or out.
    let of_skills = name == b"skills" || is_of_skills(root, folder) && !name.starts_with(b".");
    let of_policies = name == b"policies" || folder.starts_with(root.join("policies"));
    let of_either = of_skills || of_policies;
    FILES.contains(&name) || name == b"agents" || folder.ends_with("agents") || of_either
}

/// Whether what is in this folder are those of agents, as each agent gets one with its first turn.
pub(super) fn is_of_agent(root: &Path, folder: &Path) -> bool {
    folder.strip_prefix(root).is_ok_and(|below| below == Path::new("agents"))
}

/// Whether a folder is one of skills, or in one.
pub(super) fn is_of_skills(root: &Path, folder: &Path) -> bool {
    let Ok(below) = folder.strip_prefix(root) else { return false };
    let mut parts = below.iter();
    match parts.next().map(|part| part == "agents") {
        Some(true) => parts.nth(1).is_some_and(|part| part == "skills"),
        Some(false) => below.starts_with("skills"),
        None => false,
    }
}

/// The files of a configuration, in whichever folder.
pub(super) const FILES: [&[u8]; 6] =
    [b"config.yaml", b"agent.yaml", b"SOUL.md", b"AGENTS.md", b"policies.lock", b"policy.yaml"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_an_agent_gets_with_its_first_turn_is_no_edit() {
        let root = Path::new("/h");
        assert!(is_of_agent(root, Path::new("/h/agents")));
        for edited in ["/h", "/h/agents/a", "/h/agents/a/skills", "/h/skills", "/h/skills/agents"] {
            assert!(!is_of_agent(root, Path::new(edited)), "{edited}");
        }
        let mut marks = Marks::default();
        assert!(!marks.is_edited());
        marks.edit();
        assert!(marks.is_edited());
        marks.forget_writers();
        assert!(!marks.is_edited());
        // Anything may have happened then.
        marks.overrun();
        assert!(marks.is_edited());
    }
}
