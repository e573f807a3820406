//! Why something can't be done with a file, in words a model can act on.

use crate::output::{HandError, ToolError};
use rustix::io::Errno;

/// Why something was not done with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// the agent may not, or not now
    #[error("refused: {0}")]
    Refused(String),
    /// there is no such file or folder
    #[error("{0}")]
    Missing(String),
    /// it is a folder
    #[error("{0}")]
    Folder(String),
    /// it can't be done with what is there
    #[error("{0}")]
    Unfit(String),
}

impl FileError {
    /// What the kernel said about `path`.
    pub(crate) fn of(path: &str, error: Errno) -> Self {
        match error {
            Errno::XDEV => Self::Refused(format!(
                "`{path}` leads out of the folder it begins in, by `..` or by a symbolic link; use the path of the file itself, in a folder you were given"
            )),
            Errno::LOOP => Self::Refused(format!(
                "`{path}` goes through a symbolic link that is not followed; use the path of the file itself"
            )),
            Errno::NOENT => Self::Missing(format!("`{path}` does not exist")),
            Errno::NOTDIR => Self::Missing(format!(
                "`{path}` does not exist: a part of it is a file, not a folder"
            )),
            Errno::ISDIR => Self::Folder(format!("`{path}` is a folder")),
            Errno::NAMETOOLONG => Self::Unfit(format!("`{}…` is too long a path", head(path))),
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::Refused(format!(
                "the system does not permit it for `{path}`; somebody with access to the machine has to change its rights"
            )),
            Errno::NOSPC | Errno::DQUOT => Self::Unfit(format!(
                "there is no space left for `{path}`; nothing was changed in it"
            )),
            Errno::AGAIN => Self::Unfit(format!(
                "`{path}` is being changed or held by another program right now; try again"
            )),
            Errno::MFILE | Errno::NFILE => {
                Self::Unfit(format!("too many files are open to open `{path}`; try again later"))
            }
            other => Self::Unfit(format!("`{path}`: {}", plain(other))),
        }
    }
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Refused(what) => Self::Refused(what),
            FileError::Missing(what) | FileError::Folder(what) | FileError::Unfit(what) => {
                Self::Hand(HandError(what))
            }
        }
    }
}

/// The start of a text that is too long to repeat.
pub(crate) fn head(text: &str) -> &str {
    let end = text.char_indices().nth(80).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// The system's words for an error, without its number.
fn plain(error: Errno) -> String {
    let text = std::io::Error::from(error).to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
