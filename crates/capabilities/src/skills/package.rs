//! The files of a skill on their way in: checked before anything is written.

use insula_config::skills::judge::{findings, hash_of_all};
use insula_config::skills::skill_set::name_finding;
use insula_config::skills::{
    DOCUMENT, DOCUMENT_BYTES_MAX, Document, FILE_BYTES_MAX, FILES_MAX, SkillFinding, document,
    is_inner_path,
};
use insula_domain::scan::reveal;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of one installation: it travels in one request, written in more characters.
pub const PACKAGE_BYTES_MAX: usize = 11 * 1024 * 1024;
/// Files of one installation.
pub const PACKAGE_FILES_MAX: usize = 2_000;
/// Findings that are told of one skill. What is so full of them is read as a whole.
const FINDINGS_MAX: usize = 10;

/// Why files make no skill that can be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageError {
    /// something is wrong with them
    #[error("{0}")]
    Invalid(String),
    /// they hold what must not reach a model
    #[error("skill `{name}` is blocked: {}", listed(findings))]
    Blocked {
        /// The skill.
        name: String,
        /// What was found, by file and place.
        findings: Vec<SkillFinding>,
        /// What was found besides, and is accepted.
        accepted: Vec<SkillFinding>,
    },
}

/// Files of a skill, by path, and which of them can be run as programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    pub files: BTreeMap<String, Vec<u8>>,
    pub executable: BTreeSet<String>,
}

/// One skill's files, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// What its `SKILL.md` says.
    pub document: Document,
    /// Its files, `SKILL.md` among them.
    pub contents: Contents,
    /// What was found in them and is accepted.
    pub accepted: Vec<SkillFinding>,
}

impl Package {
    /// Checks the files of one skill, of which nothing was accepted.
    pub fn new(files: BTreeMap<String, Vec<u8>>) -> Result<Self, PackageError> {
        let contents = Contents { files, ..Contents::default() };
        Self::accepting(contents, &BTreeSet::new())
    }

    /// Checks the files of one skill but for the findings that were accepted, by their hashes.
    pub fn accepting(
        mut contents: Contents,
        accepted: &BTreeSet<Box<str>>,
    ) -> Result<Self, PackageError> {
        let invalid = |what: String| Err(PackageError::Invalid(what));
        contents.call_document_so();
        let files = &contents.files;
        let Some(bytes) = files.get(DOCUMENT) else {
            return invalid(format!("there is no {DOCUMENT}"));
        };
        if bytes.len() as u64 > DOCUMENT_BYTES_MAX {
            return invalid(format!("{DOCUMENT} is larger than {DOCUMENT_BYTES_MAX} bytes"));
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return invalid(format!("{DOCUMENT} is not UTF-8 text"));
        };
        // Editors of Windows begin a text with it.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let document = document::parse(text).map_err(|fault| {
            PackageError::Invalid(format!("{DOCUMENT}, line {}: {}", fault.line, fault.message))
        })?;
        let total: usize = files.values().map(Vec::len).sum();
        if files.len() > FILES_MAX || total > PACKAGE_BYTES_MAX {
            return invalid(format!(
                "skill `{}` has more than {FILES_MAX} files or {PACKAGE_BYTES_MAX} bytes",
                document.name
            ));
        }
        let (mut against, mut taken) = (Vec::new(), Vec::new());
        for (path, bytes) in files {
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
            if let Some(finding) = name_finding(path) {
                let (name, path) = (&document.name, reveal(path));
                return invalid(format!(
                    "skill `{name}` is blocked: `{path}` has a name with {finding}; rename it"
                ));
            }
            let found = findings(path, bytes, &BTreeSet::new()).into_iter();
            let (yes, no): (Vec<_>, Vec<_>) = found.partition(|it| accepted.contains(&it.hash));
            taken.extend(yes);
            against.extend(no);
        }
        // Whoever names all that is left names what they were told of.
        if accepted.contains(&hash_of_all(&against)) {
            taken.append(&mut against);
        }
        if !against.is_empty() {
            let name = document.name.to_string();
            return Err(PackageError::Blocked { name, findings: against, accepted: taken });
        }
        contents.executable.retain(|path| contents.files.contains_key(path));
        Ok(Self { document, contents, accepted: taken })
    }
}

impl Contents {
    /// Calls its `SKILL.md` so, where it is written in another case.
    fn call_document_so(&mut self) {
        if self.files.contains_key(DOCUMENT) {
            return;
        }
        let mut names = self.files.keys();
        let alike = names.find(|path| path.eq_ignore_ascii_case(DOCUMENT)).cloned();
        if let Some(bytes) = alike.and_then(|name| self.files.remove(&name)) {
            self.files.insert(DOCUMENT.to_owned(), bytes);
        }
    }
}

/// Findings on one line.
fn listed(findings: &[SkillFinding]) -> String {
    let told: Vec<String> = findings.iter().take(FINDINGS_MAX).map(ToString::to_string).collect();
    let more = match findings.len().saturating_sub(FINDINGS_MAX) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    match findings {
        [_, _, ..] => {
            let all = hash_of_all(findings);
            format!("{}{more} (accept all of it with `--accept {all}`)", told.join("; "))
        }
        _ => told.join("; "),
    }
}

/// A path as an error repeats it.
fn shown(path: &str) -> String {
    path.chars().take(100).flat_map(char::escape_default).collect()
}
