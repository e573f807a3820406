//! What an archive says of itself and of each file. No files are touched here.

use serde::{Deserialize, Serialize};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// The form this version writes, and the newest it reads.
pub(crate) const FORM: u32 = 1;

/// The first entry, and the last.
pub(crate) const FIRST: &str = "insula.json";
pub(crate) const LAST: &str = "insula-end.json";

/// What the first entry says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The form of the archive.
    pub form: u32,
    /// What it is, such as `backup`.
    pub kind: String,
    /// The version of the program that made it.
    pub program: String,
    /// When, in words of RFC 3339.
    pub made: String,
    /// What else there is to say, by kind.
    pub about: serde_json::Value,
}

impl Manifest {
    /// One of this form.
    pub fn new(kind: &str, program: &str, made: String, about: serde_json::Value) -> Self {
        Self { form: FORM, kind: kind.to_owned(), program: program.to_owned(), made, about }
    }
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A file of so many bytes.
    File(u64),
    Folder,
    /// A link to there.
    Link(PathBuf),
}

/// One file, folder or link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is, below the folder that was packed.
    pub name: PathBuf,
    pub kind: EntryKind,
    /// Its permission bits.
    pub mode: u32,
    /// The user and the group it belongs to.
    pub owner: (u32, u32),
    /// When it was changed, in seconds since 1970.
    pub changed: u64,
}

impl Entry {
    /// A file of ours that nobody else may read.
    pub fn private(name: impl Into<PathBuf>, bytes: u64, owner: (u32, u32), changed: u64) -> Self {
        Self { name: name.into(), kind: EntryKind::File(bytes), mode: 0o600, owner, changed }
    }
}

/// Whether a name stays below the folder it is unpacked in, whatever it says.
pub(crate) fn stays_below(name: &Path) -> bool {
    let mut parts = name.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// How many files there are, their bytes, and what all of it hashes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    pub files: u64,
    pub bytes: u64,
    pub digest: String,
}

/// Adds up entries as they pass.
#[derive(Default)]
pub(crate) struct Tally {
    files: u64,
    bytes: u64,
    hasher: blake3::Hasher,
}

impl Tally {
    /// Takes in an entry, and the hash of its content where it is a file.
    pub(crate) fn add(&mut self, entry: &Entry, content: Option<blake3::Hash>) {
        let (sign, rest): (&[u8], &[u8]) = match &entry.kind {
            EntryKind::File(bytes) => {
                self.files += 1;
                self.bytes += bytes;
                (b"file", content.as_ref().map_or(&[], |hash| hash.as_bytes()))
            }
            EntryKind::Folder => (b"folder", b""),
            EntryKind::Link(to) => (b"link", to.as_os_str().as_bytes()),
        };
        for part in [sign, entry.name.as_os_str().as_bytes(), rest] {
            self.hasher.update(&(part.len() as u64).to_le_bytes());
            self.hasher.update(part);
        }
        self.hasher.update(&entry.mode.to_le_bytes());
    }

    pub(crate) fn totals(&self) -> Totals {
        let digest = self.hasher.finalize().to_hex().to_string();
        Totals { files: self.files, bytes: self.bytes, digest }
    }
}
