//! What can go wrong with a vault, by what the caller or an operator can do about it. No
//! variant has room for a secret's value.

use crate::name::SecretName;
use crate::owner::SecretOwner;
use std::path::PathBuf;

/// What vault calls return.
pub type Result<T, E = VaultError> = std::result::Result<T, E>;

/// Why a vault call failed. Nothing of a failed `set` or `remove` was done.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// A text refers to a secret that is not there: set it.
    #[error("secret `{name}` of {owner} is not set: set it with `{}`", owner.command_to_set(name))]
    Missing {
        /// The secret.
        name: SecretName,
        /// Whose it would be.
        owner: SecretOwner,
    },
    /// There are secrets and no key: bring the key back.
    #[error(
        "{} is missing and the secrets beside it can't be read without it: restore it from a backup, or remove `agents` and `daemon` beside it and set every secret again",
        file.display()
    )]
    KeyMissing {
        /// Where the key should be.
        file: PathBuf,
    },
    /// The key is not a key: bring the true one back. It was not touched.
    #[error(
        "{} is no key of a vault ({what}): restore it from a backup; a new one would not open what the old one closed",
        file.display()
    )]
    KeyDamaged {
        /// The key's file.
        file: PathBuf,
        /// What was found.
        what: String,
    },
    /// A secret was sealed with another key: bring that key back, or set the secret again.
    #[error(
        "{} was sealed with another key than this vault's: restore that key, or set this secret again",
        file.display()
    )]
    WrongKey {
        /// The secret's file.
        file: PathBuf,
    },
    /// A secret's file is not what was written for this agent and this name: set it again.
    #[error(
        "{} does not open ({what}): restore it from a backup, or set this secret again",
        file.display()
    )]
    Damaged {
        /// The secret's file.
        file: PathBuf,
        /// What was found.
        what: &'static str,
    },
    /// What an account keeps is not what was written for it: bring it or the vault's key back.
    #[error(
        "what account `{account}` keeps sealed does not open ({what}): restore the home from a backup, or connect the account with a new login"
    )]
    KeptDamaged {
        /// The account.
        account: Box<str>,
        /// What was found.
        what: &'static str,
    },
    /// The file belongs to a newer version: run that version. It was not touched.
    #[error(
        "{} has format {found} and this version of insula knows formats up to {known}: run the newer version, or set this secret again",
        file.display()
    )]
    Newer {
        /// The secret's file.
        file: PathBuf,
        /// Its format.
        found: u8,
        /// The newest format known here.
        known: u8,
    },
    /// The file can't be used as it is: fix it.
    #[error("{} can't be used ({what}): check its kind, its owner, its mode and its folder's", file.display())]
    NotAllowed {
        /// The file.
        file: PathBuf,
        /// What was refused.
        what: String,
    },
    /// There is no room: free some, then the same call works again.
    #[error("no space left for {}: free some space, then try again", file.display())]
    Full {
        /// The file.
        file: PathBuf,
    },
    /// The disk or file system failed.
    #[error("{} can't be read or written ({what}): check the disk", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        what: String,
    },
    /// The value can't be kept: an empty one is most often a command that printed nothing.
    #[error("the value for secret `{name}` is empty: give it a value, or remove the secret")]
    Empty {
        /// The secret.
        name: SecretName,
    },
    /// Something exceeds its limit.
    #[error("{what} is {len} bytes long; at most {max} are accepted")]
    TooLong {
        /// What exceeds.
        what: String,
        /// How long it is.
        len: usize,
        /// How long it may be.
        max: usize,
    },
    /// A namespace is full: remove a secret.
    #[error("{owner} has {max} secrets and can have no more: remove one that is not needed")]
    TooMany {
        /// Whose they are.
        owner: SecretOwner,
        /// How many there may be.
        max: usize,
    },
    /// A text has a `${secret:` that names nothing: write it as `${secret:NAME}`.
    #[error(
        "a `${{secret:` at byte {at} of a text names no secret: write `${{secret:NAME}}`, with a name of letters, digits and `_`"
    )]
    Reference {
        /// Where it begins.
        at: usize,
    },
    /// The handle outlived its agent: get a new one if the agent exists again.
    #[error("{owner} was deleted while this was under way")]
    Forgotten {
        /// Whose handle it was.
        owner: SecretOwner,
    },
    /// The work was interrupted: it panicked, or the program is ending.
    #[error(transparent)]
    Stopped(#[from] insula_world::StorageStopped),
}
