//! Skills that come together: each is taken or left out for itself, and those that are left out
//! are named. Pure.

use super::archive::Tree;
use super::package::{Contents, Package, PackageError};
use insula_config::skills::{DOCUMENT, SKILLS_MAX, SkillFinding};
use std::collections::{BTreeMap, BTreeSet};

/// A folder that looks like a skill, and its files, or why they can't be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its folder in what it came from; empty for the top of it.
    pub folder: String,
    pub contents: Result<Contents, String>,
}

/// A skill that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name, or its folder where it has none.
    pub name: String,
    /// Why, on one line.
    pub reason: String,
    /// What was found in it and could be accepted.
    pub findings: Vec<SkillFinding>,
    /// What was found in it besides and is accepted, which was not enough.
    pub accepted: Vec<SkillFinding>,
}

/// What becomes of skills that come together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judged {
    /// Those that can be installed, by name.
    pub packages: Vec<Package>,
    /// Those that can't.
    pub skipped: Vec<Skipped>,
}

/// Takes the skills out of a tree of files: each folder with a `SKILL.md`, or the tree itself.
/// What is in none of them is left out.
pub fn candidates(tree: &Tree) -> Result<Vec<Candidate>, String> {
    let Tree { contents, strange } = tree;
    let mut folders: Vec<&str> =
        contents.files.keys().filter_map(|path| folder_of_document(path)).collect();
    // A `SKILL.md` below another skill is a file of that skill.
    folders.sort_unstable();
    let mut tops: Vec<&str> = Vec::new();
    for folder in folders {
        if !tops.iter().any(|top| folder.starts_with(top)) {
            tops.push(folder);
        }
    }
    if tops.is_empty() {
        // A link where it should be is worth a better word.
        return Err(match strange.first() {
            Some(path) => not_taken(path),
            None => format!("there is no {DOCUMENT} in it"),
        });
    }
    if tops.len() > SKILLS_MAX {
        return Err(format!("that is more than {SKILLS_MAX} skills"));
    }
    let is_hidden = |path: &str| path.split('/').any(|part| part.starts_with('.'));
    let candidate = |top: &str| {
        let inner = |path: &str| {
            path.strip_prefix(top).filter(|inner| !is_hidden(inner)).map(str::to_owned)
        };
        let odd = strange.iter().find(|path| inner(path).is_some());
        let files = contents.files.iter();
        let found = Contents {
            files: files.filter_map(|(path, it)| Some((inner(path)?, it.clone()))).collect(),
            executable: contents.executable.iter().filter_map(|path| inner(path)).collect(),
        };
        let folder = top.trim_end_matches('/').to_owned();
        Candidate { folder, contents: odd.map_or(Ok(found), |path| Err(not_taken(path))) }
    };
    Ok(tops.into_iter().filter(|top| !is_hidden(top)).map(candidate).collect())
}

/// The folder that a path is the `SKILL.md` of, with the slash at its end.
fn folder_of_document(path: &str) -> Option<&str> {
    let at = path.rfind('/').map_or(0, |at| at + 1);
    let (folder, name) = path.split_at(at);
    name.eq_ignore_ascii_case(DOCUMENT).then_some(folder)
}

fn not_taken(path: &str) -> String {
    let shown: String = path.chars().take(100).flat_map(char::escape_default).collect();
    format!("`{shown}` is no file; links and devices are not taken")
}

/// Says of each skill whether it can be installed. Neither of two that have one name can: which
/// is meant nobody said.
pub fn judge(candidates: Vec<Candidate>, accepted: &BTreeSet<Box<str>>) -> Judged {
    let mut judged = Judged::default();
    let mut by_name: BTreeMap<Box<str>, Vec<(String, Package)>> = BTreeMap::new();
    for Candidate { folder, contents } in candidates {
        let package = contents
            .map_err(PackageError::Invalid)
            .and_then(|contents| Package::accepting(contents, accepted));
        match package {
            Ok(package) => {
                by_name.entry(package.document.name.clone()).or_default().push((folder, package));
            }
            Err(error) => judged.skipped.push(Skipped::because(&folder, error)),
        }
    }
    for (name, mut named) in by_name {
        if named.len() == 1 {
            judged.packages.extend(named.pop().map(|(_, package)| package));
            continue;
        }
        let folders: Vec<String> = named.iter().map(|(folder, _)| format!("`{folder}`")).collect();
        judged.skipped.push(Skipped {
            reason: format!(
                "two skills are called `{name}`, in {}; install one by its folder",
                folders.join(" and ")
            ),
            name: name.into(),
            findings: Vec::new(),
            accepted: Vec::new(),
        });
    }
    judged
}

impl Skipped {
    fn because(folder: &str, error: PackageError) -> Self {
        let reason = error.to_string();
        let place = if folder.is_empty() { "." } else { folder };
        match error {
            PackageError::Blocked { name, findings, accepted } => {
                Self { name, reason, findings, accepted }
            }
            PackageError::Invalid(_) => {
                Self { name: place.to_owned(), reason, findings: Vec::new(), accepted: Vec::new() }
            }
        }
    }
}
