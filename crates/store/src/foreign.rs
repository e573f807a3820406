//! Files that hold words of others.

use insula_domain::Integrity;
use std::path::Path;

/// Longest path, in bytes.
pub const FOREIGN_PATH_BYTES_MAX: usize = 4 * 1024;
/// Most rows that one read returns, and most below one place that are told apart.
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

    /// What stands for more rows below a place than are told apart: anybody's words.
    pub(crate) fn too_many(place: &str) -> Self {
        Self { path: place.into(), integrity: Integrity::many() }
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

/// All names that hold what has this one, itself among them.
pub(crate) fn above(name: &str) -> impl Iterator<Item = &str> {
    let slashes = name.match_indices('/').map(|(at, _)| at);
    // The top of the home, and that of the machine where it is elsewhere.
    let tops = ["", "/"].into_iter().filter(|top| name.starts_with(top));
    let folders = slashes.filter(|at| *at > 0).map(|at| &name[..at]);
    tops.chain(folders).chain([name]).filter(move |it| it.len() < name.len() || *it == name)
}

/// The names that are below this one lie from the first of these on, before the second; `None`
/// where all do.
pub(crate) fn below(name: &str) -> Option<(String, String)> {
    let folder = name.trim_end_matches('/');
    // The character that follows the slash.
    (!name.is_empty()).then(|| (format!("{folder}/"), format!("{folder}0")))
}

/// Whether one path is the other or is below it.
fn is_within(path: &str, folder: &str) -> bool {
    let below = || path.strip_prefix(folder.trim_end_matches('/'));
    folder.is_empty() || path == folder || below().is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn above_and_below_find_whatever_touches(
            one in "/?[ab/0.]{0,6}[ab]|/|",
            other in "/?[ab/0.]{0,6}[ab]|/|",
        ) {
            let file = file(&one);
            let is_below = below(&other).is_none_or(|(first, end)| *first <= *one && *one < *end);
            prop_assert_eq!(file.holds(&other), above(&other).any(|it| it == one), "{} {}", one, other);
            prop_assert_eq!(file.touches(&other), file.holds(&other) || is_below, "{} {}", one, other);
        }
    }

    #[test]
    fn a_path_that_is_too_long_stands_for_a_folder_above_it() {
        let long = format!("/srv/{}/{}", "a".repeat(3_000), "b".repeat(3_000));
        let name = ForeignFile::name(Path::new("/home"), Path::new(&long));
        assert_eq!(&*name, &long[..3_005]);
        assert!(ForeignFile { path: name.clone(), integrity: Integrity::own() }.holds(&name));
    }
}
