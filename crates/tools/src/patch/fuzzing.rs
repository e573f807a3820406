//! What fuzz targets call: patches of any shape over texts of any shape. Built only for them.

use super::apply::{self, Occurrences};
use super::parse::{self, FilePatch};

/// What each file of a patch would become, were this its text.
pub fn patched(patch: &str, text: &str) -> Vec<Result<String, String>> {
    let Ok(files) = parse::patch(patch) else { return Vec::new() };
    let applied = files.into_iter().map(|file| match file {
        FilePatch::Add { text, .. } => Ok(text),
        FilePatch::Delete { .. } => Ok(String::new()),
        FilePatch::Update { hunks, .. } => apply::hunks(text, &hunks).map(|edited| edited.text),
    });
    applied.collect()
}

/// A text with a piece of it replaced.
pub fn replaced(text: &str, old: &str, new: &str) -> Result<String, String> {
    apply::replace(text, old, new, Occurrences::One).map(|edited| edited.text)
}
