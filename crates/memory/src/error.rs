//! What can go wrong, by what a model or an operator can do about it.

use insula_store::{MemoryList, StoreError};
use std::path::PathBuf;

/// Why something was not remembered, found or forgotten.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// the call itself is wrong
    #[error("{0}")]
    Wrong(String),
    /// no entry has these words
    #[error(
        "no entry of `{}` contains {:?}; nothing was changed. {now}",
        target.as_str(), clip(needle)
    )]
    NoMatch {
        /// The list.
        target: MemoryList,
        /// What was looked for.
        needle: String,
        /// The entries there are.
        now: String,
    },
    /// several entries have these words
    #[error(
        "{count} entries of `{}` contain {:?}; nothing was changed. Give more of the one you mean:{matches}",
        target.as_str(), clip(needle)
    )]
    Ambiguous {
        /// The list.
        target: MemoryList,
        /// What was looked for.
        needle: String,
        /// How many entries have it.
        count: usize,
        /// Some of them, one a line.
        matches: String,
    },
    /// the list would be too long
    #[error(
        "`{}` would have {would} characters and may have {limit}; nothing was changed. Make room in the same call: send `operations` that replace or remove entries and add this one. {now}",
        target.as_str()
    )]
    Full {
        /// The list.
        target: MemoryList,
        /// How long it would be.
        would: usize,
        /// How long it may be.
        limit: usize,
        /// The entries there are.
        now: String,
    },
    /// blocked entries fill the list
    #[error(
        "`{}` has too many blocked entries; nothing was changed. An operator has to look at them: `insula memory list`",
        target.as_str()
    )]
    TooManyBlocked {
        /// The list.
        target: MemoryList,
    },
    /// the list can't be read from here
    #[error(
        "what is remembered from here goes where you can't read it, so that only `add` works; nothing was changed"
    )]
    Unseen,
    /// the list can't be read from here, and is full
    #[error(
        "there is no room where this would be remembered, and you can't read what is there; nothing was changed"
    )]
    NoRoom,
    /// there is no such fragment
    #[error("there is no fragment {0}; `insula memory list` shows those there are")]
    NoFragment(i64),
    /// a mirror can't be used
    #[error("{} {fault}; nothing was changed", file.display())]
    File {
        /// The file, below the agent's folder.
        file: PathBuf,
        /// What is wrong with it.
        fault: FileFault,
    },
    /// others change the same list all the time
    #[error("what is remembered here is being changed by somebody else; try again")]
    Busy,
    /// the store could not
    #[error(transparent)]
    Store(#[from] StoreError),
    /// the work was interrupted
    #[error(transparent)]
    Stopped(#[from] insula_world::StorageStopped),
}

impl MemoryError {
    /// Whether it is the operator's to know: something on the machine is wrong. The others are
    /// about words, and repeat some.
    pub fn is_for_operator(&self) -> bool {
        match self {
            Self::File { .. } | Self::Store(_) | Self::Stopped(_) => true,
            Self::TooManyBlocked { .. } | Self::Busy => true,
            Self::Wrong(_)
            | Self::NoMatch { .. }
            | Self::Ambiguous { .. }
            | Self::Full { .. }
            | Self::Unseen
            | Self::NoRoom
            | Self::NoFragment(_) => false,
        }
    }

    /// What a model is told: nothing of the machine, nor of scopes by name.
    pub fn for_model(&self) -> String {
        match self {
            Self::File { file, fault } => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                format!(
                    "the file `{name}` of this list {fault}; an operator has to do that. Nothing was changed"
                )
            }
            Self::Store(
                StoreError::Buried { .. }
                | StoreError::MemoryChanged
                | StoreError::TooLong { .. }
                | StoreError::Overloaded { .. },
            ) => self.to_string(),
            Self::Store(_) | Self::Stopped(_) => {
                "what is remembered can't be reached now; go on without it".to_owned()
            }
            other => other.to_string(),
        }
    }
}

/// Longest part of somebody's words that a message repeats, in characters.
const CLIP_CHARS_MAX: usize = 120;

/// As much of somebody's words as a message needs.
fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(CLIP_CHARS_MAX).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

/// Why a mirror can't be used. It is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// it is a link
    #[error("is a link or lies behind one, and must be a file of its own: replace it by a file")]
    Link,
    /// it has another name
    #[error(
        "has another name elsewhere (a hard link), and must be a file of its own: replace it by a copy"
    )]
    HardLink,
    /// it is no file
    #[error("is not a file: move it away")]
    NotAFile,
    /// it is too large
    #[error("is larger than {0} bytes: shorten it")]
    TooLarge(u64),
    /// it is not text
    #[error("is not UTF-8 text: save it as UTF-8")]
    NotText,
    /// it has entries that are too long or too many
    #[error("has {0}: shorten it")]
    Entries(String),
    /// the system refused
    #[error("can't be used ({0})")]
    System(String),
}
