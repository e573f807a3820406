//! Which folders of the home hold configuration, for who watches them.
#![expect(clippy::disallowed_methods, reason = "lists the folders of the home")]

use super::files::Home;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that are watched, all together: an end to any tree, far below what systems allow.
const FOLDERS_MAX: usize = 100_000;

impl Home {
    /// The folders whose files are configuration: the home, `agents/`, and each agent's own.
    pub fn configuration_folders(&self) -> BTreeSet<PathBuf> {
        let mut folders = BTreeSet::from([self.root().to_path_buf(), self.agents()]);
        for entry in fs::read_dir(self.agents()).into_iter().flatten().flatten() {
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if !hidden && entry.path().is_dir() {
                skill_folders(&entry.path().join("skills"), 0, &mut folders);
                folders.insert(entry.path());
            }
        }
        skill_folders(&self.root().join("skills"), 0, &mut folders);
        policy_folders(&self.root().join(insula_config::policies::FOLDER), 0, &mut folders);
        folders
    }
}

/// A folder of skills with the folders down to its skills, not what is inside of those.
fn skill_folders(folder: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) {
    use insula_config::skills::{DEPTH_MAX, DOCUMENT, files};
    if !folder.is_dir() || found.len() > FOLDERS_MAX {
        return;
    }
    found.insert(folder.to_owned());
    // One more than below an agent: a bundle is a folder itself.
    if depth <= DEPTH_MAX && folder.join(DOCUMENT).symlink_metadata().is_err() {
        let names = if depth == 0 { files::bundles(folder) } else { files::subfolders(folder) };
        names.iter().for_each(|name| skill_folders(&folder.join(name), depth + 1, found));
    }
}

/// A folder of policies with all folders in it.
fn policy_folders(folder: &Path, depth: usize, found: &mut BTreeSet<PathBuf>) {
    const DEPTH_MAX: usize = 6;
    let is_folder = folder.symlink_metadata().is_ok_and(|it| it.is_dir());
    if !is_folder || depth > DEPTH_MAX || found.len() > FOLDERS_MAX {
        return;
    }
    found.insert(folder.to_owned());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        policy_folders(&entry.path(), depth + 1, found);
    }
}
