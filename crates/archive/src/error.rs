//! What can go wrong with an archive, by what can be done about it.

use std::path::{Path, PathBuf};

/// What calls return.
pub type Result<T, E = ArchiveError> = std::result::Result<T, E>;

/// Why an archive could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file is something else.
    #[error("{} is no file that insula packed ({what}): is it the right one?", file.display())]
    Foreign { file: PathBuf, what: String },
    /// It is sealed, and no passphrase was given.
    #[error("{} is sealed with a passphrase, and none was given", file.display())]
    Sealed { file: PathBuf },
    /// The passphrase is another.
    #[error("the passphrase does not open {}: is it the one it was sealed with?", file.display())]
    Passphrase { file: PathBuf },
    /// What was given as a passphrase can't be one.
    #[error("{0}")]
    NoPassphrase(String),
    /// Bytes are missing or others than were written.
    #[error("{} is damaged or cut off ({what}): get another copy of it", file.display())]
    Damaged { file: PathBuf, what: String },
    /// A newer version made it.
    #[error("{} was packed by a newer insula (form {found}, this version reads up to {known}): use that version", file.display())]
    Newer { file: PathBuf, found: u32, known: u32 },
    /// A file or folder can't be read or written.
    #[error("{} {what}", file.display())]
    File { file: PathBuf, what: String },
}

impl ArchiveError {
    pub(crate) fn damaged(file: &Path, what: impl ToString) -> Self {
        Self::Damaged { file: file.to_owned(), what: what.to_string() }
    }

    /// What the system refused.
    pub(crate) fn file(file: &Path, doing: &str, error: &std::io::Error) -> Self {
        Self::File { file: file.to_owned(), what: format!("{doing}: {error}") }
    }
}
