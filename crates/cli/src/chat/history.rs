//! What was typed before, kept in the home for its owner alone: one line of JSON each.

use insula_registry::Home;
use insula_registry::home::FileMode;
use std::path::PathBuf;

/// How many are kept.
pub const ENTRIES_MAX: usize = 1_000;
/// Longer ones are not kept: nobody looks for a pasted file in a history.
const ENTRY_BYTES_MAX: usize = 16 * 1024;

/// What was typed before.
pub struct History<'a> {
    home: &'a Home,
}

impl<'a> History<'a> {
    /// The history of a home.
    pub fn of(home: &'a Home) -> Self {
        Self { home }
    }

    /// All of it, oldest first. What can't be read is not there.
    pub fn entries(&self) -> Vec<String> {
        let text = self.home.read(&self.file()).ok().flatten().unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Adds one. Read again each time, because other terminals add theirs. A history that
    /// can't be written is no reason to stop talking.
    pub fn add(&self, entry: &str) {
        if entry.len() > ENTRY_BYTES_MAX {
            return;
        }
        let mut entries = self.entries();
        if entries.last().is_some_and(|last| last == entry) {
            return;
        }
        entries.push(entry.to_owned());
        let kept = &entries[entries.len().saturating_sub(ENTRIES_MAX)..];
        let lines: Vec<String> =
            kept.iter().map(|entry| serde_json::Value::from(entry.as_str()).to_string()).collect();
        let _ =
            self.home.write(&self.file(), (lines.join("\n") + "\n").as_bytes(), FileMode::Private);
    }

    fn file(&self) -> PathBuf {
        self.home.root().join("run").join("chat.history")
    }
}
