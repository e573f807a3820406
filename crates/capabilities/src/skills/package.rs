//! The files of skills on their way in: checked before anything is written.

use insula_config::skills::skill_set::name_finding;
use insula_config::skills::{
    DOCUMENT, DOCUMENT_BYTES_MAX, Document, FILE_BYTES_MAX, FILES_MAX, document, is_inner_path,
};
use insula_domain::scan::{Use, reveal, scan};
use std::collections::BTreeMap;

/// Bytes of all files of one installation: it travels in one request.
pub const PACKAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Files of one installation.
pub const PACKAGE_FILES_MAX: usize = 2_000;
/// Skills of one installation.
pub const PACKAGE_SKILLS_MAX: usize = 200;

/// Why files make no skill that can be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageError {
    /// something is wrong with them
    #[error("{0}")]
    Invalid(String),
    /// they hold what must not reach a model
    #[error("skill `{name}` is blocked: `{file}` has {finding}")]
    Blocked {
        /// The skill.
        name: String,
        /// The file.
        file: String,
        /// What was found.
        finding: String,
    },
}

/// One skill's files, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// What its `SKILL.md` says.
    pub document: Document,
    /// Its files by path, `SKILL.md` among them.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Package {
    /// Checks the files of one skill.
    pub fn new(files: BTreeMap<String, Vec<u8>>) -> Result<Self, PackageError> {
        let invalid = |what: String| Err(PackageError::Invalid(what));
        let Some(bytes) = files.get(DOCUMENT) else {
            return invalid(format!("there is no {DOCUMENT}"));
        };
        if bytes.len() as u64 > DOCUMENT_BYTES_MAX {
            return invalid(format!("{DOCUMENT} is larger than {DOCUMENT_BYTES_MAX} bytes"));
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return invalid(format!("{DOCUMENT} is not UTF-8 text"));
        };
        let document = document::parse(text).map_err(|fault| {
            PackageError::Invalid(format!("{DOCUMENT}, line {}: {}", fault.line, fault.message))
        })?;
        if files.len() > FILES_MAX {
            return invalid(format!("skill `{}` has more than {FILES_MAX} files", document.name));
        }
        for (path, bytes) in &files {
            if !is_inner_path(path) || path.split('/').any(|part| part.starts_with('.')) {
                return invalid(format!("`{}` is no path for a file of a skill", shown(path)));
            }
            let folder_of = |other: &String| other.starts_with(&format!("{path}/"));
            if files.range(path.clone()..).skip(1).take(2).any(|(other, _)| folder_of(other)) {
                return invalid(format!("`{}` is both a file and a folder", shown(path)));
            }
            if bytes.len() as u64 > FILE_BYTES_MAX {
                return invalid(format!("`{path}` is larger than {FILE_BYTES_MAX} bytes"));
            }
            let in_name = name_finding(path).map(|finding| format!("a name with {finding}"));
            if let Some(finding) = in_name.or_else(|| blocked(bytes)) {
                let (name, file) = (document.name.to_string(), reveal(path));
                return Err(PackageError::Blocked { name, file, finding });
            }
        }
        Ok(Self { document, files })
    }

    /// Takes the skills out of a tree of files: each folder with a `SKILL.md`, or the tree
    /// itself. What is in none of them is left out.
    pub fn all(tree: BTreeMap<String, Vec<u8>>) -> Result<Vec<Self>, PackageError> {
        let total: usize = tree.values().map(Vec::len).sum();
        if tree.len() > PACKAGE_FILES_MAX || total > PACKAGE_BYTES_MAX {
            return Err(PackageError::Invalid(format!(
                "that is more than {PACKAGE_FILES_MAX} files or {PACKAGE_BYTES_MAX} bytes"
            )));
        }
        let folder = |path: &str| path.strip_suffix(DOCUMENT).map(str::to_owned);
        let is_top = |folder: &String| folder.is_empty() || folder.ends_with('/');
        let mut folders: Vec<String> =
            tree.keys().filter_map(|path| folder(path)).filter(is_top).collect();
        // A `SKILL.md` below another skill is a file of that skill.
        folders.sort();
        let mut tops: Vec<String> = Vec::new();
        for folder in folders {
            if !tops.iter().any(|top| folder.starts_with(top.as_str())) {
                tops.push(folder);
            }
        }
        if tops.is_empty() {
            return Err(PackageError::Invalid(format!("there is no {DOCUMENT} in it")));
        }
        if tops.len() > PACKAGE_SKILLS_MAX {
            let what = format!("that is more than {PACKAGE_SKILLS_MAX} skills");
            return Err(PackageError::Invalid(what));
        }
        let mut packages = Vec::new();
        for top in &tops {
            let hidden = |path: &str| path.split('/').any(|part| part.starts_with('.'));
            let files = tree.iter().filter_map(|(path, bytes)| {
                let inner = path.strip_prefix(top.as_str())?;
                (!hidden(inner)).then(|| (inner.to_owned(), bytes.clone()))
            });
            packages.push(Self::new(files.collect())?);
        }
        packages.sort_by(|one, other| one.document.name.cmp(&other.document.name));
        if let Some(twice) =
            packages.windows(2).find(|it| it[0].document.name == it[1].document.name)
        {
            let name = &twice[0].document.name;
            return Err(PackageError::Invalid(format!("two skills are called `{name}`")));
        }
        Ok(packages)
    }
}

/// What stands against showing a file to a model. Bytes that are no text are never shown.
pub(crate) fn blocked(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    scan(text, Use::Skill).first().map(ToString::to_string)
}

/// A path as an error repeats it.
fn shown(path: &str) -> String {
    path.chars().take(100).flat_map(char::escape_default).collect()
}
