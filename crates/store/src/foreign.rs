//! Files that hold words of others.

use insula_domain::Integrity;
use std::path::Path;

/// Longest path, in bytes.
pub const FOREIGN_PATH_BYTES_MAX: usize = 4 * 1024;
/// Most rows that one read returns. Whoever writes keeps to fewer.
pub const FOREIGN_FILES_MAX: usize = 1_024;

/// A file, or a folder with all below it, and whose words are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignFile {
    /// In the home of the daemon without a slash at its beginning, elsewhere with one.
    pub path: Box<str>,
    pub integrity: Integrity,
}

impl ForeignFile {
    /// How a path is written down: one in the home goes with it wherever it is moved.
    pub fn name(home: &Path, path: &Path) -> Box<str> {
        let name = path.strip_prefix(home).unwrap_or(path).to_string_lossy();
        let end = name.floor_char_boundary(FOREIGN_PATH_BYTES_MAX);
        // What is cut names a folder further up, or a file that is not there: never less.
        match name.len() > end {
            true => name[..end].rsplit_once('/').map_or("", |(above, _)| above).into(),
            false => name.into(),
        }
    }

    /// Whether its words are in what has this name: it is that, or a folder that holds it.
    pub fn holds(&self, name: &str) -> bool {
        is_within(name, &self.path)
    }

    /// Whether its words may be in what has this name or in something below.
    pub fn touches(&self, name: &str) -> bool {
        self.holds(name) || is_within(&self.path, name)
    }
}

/// Whether one path is the other or is below it.
fn is_within(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || folder.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str) -> ForeignFile {
        ForeignFile { path: path.into(), integrity: Integrity::many() }
    }

    #[test]
    fn a_folder_holds_what_is_below_it_and_nothing_that_is_called_alike() {
        let name = |path: &str| ForeignFile::name(Path::new("/home/x"), Path::new(path));
        assert_eq!(&*name("/home/x/agents/a/workspace"), "agents/a/workspace");
        assert_eq!(&*name("/home/xy"), "/home/xy");
        let folder = file("agents/a/workspace");
        assert!(folder.holds("agents/a/workspace") && folder.holds("agents/a/workspace/x/y"));
        assert!(!folder.holds("agents/a/workspaces") && !folder.holds("agents/a"));
        assert!(folder.touches("agents/a") && folder.touches("agents/a/workspace/x"));
        assert!(!folder.touches("agents/b") && !folder.touches("/agents/a"));
        assert!(file("/").holds("/srv/x") && !file("/").holds("agents/a"));
    }

    #[test]
    fn a_path_that_is_too_long_stands_for_a_folder_above_it() {
        let long = format!("/srv/{}/{}", "a".repeat(3_000), "b".repeat(3_000));
        let name = ForeignFile::name(Path::new("/home"), Path::new(&long));
        assert_eq!(&*name, &long[..3_005]);
        assert!(ForeignFile { path: name.clone(), integrity: Integrity::own() }.holds(&name));
    }
}
