//! Secrets: encrypted at rest, one namespace an agent, and kept out of every text.
//!
//! A [`Vault`] hands out handles: an [`AgentSecrets`] is bound to one agent from birth and no
//! method on it names another; a [`DaemonSecrets`] has the secrets of the daemon's channels
//! and shared providers. `${secret:NAME}` in a text is replaced by [`resolve()`], from the
//! namespace of the handle it is given and no other. A [`Redactor`] takes the values it was
//! made from out of texts; [`strength`] says which of them nobody could guess.
//!
//! On disk, below `<home>/vault`:
//!
//! ```text
//! key                  32 random bytes, for the owner only
//! agents/<id>/<NAME>   one sealed secret of an agent
//! daemon/<NAME>        one sealed secret of the daemon
//! new/                 files being written; what a killed writer left is swept on opening
//! ```
//!
//! What an account of ours keeps elsewhere is sealed by an [`AccountSeal`], under a key derived
//! from the vault's.
//!
//! The key lies beside what it opens. That keeps secrets out of backups of single files, of
//! logs and of other users' reach, and ties every file to its agent and name; it does not
//! protect against someone who can read the whole home. [`KeySource`] is the seam for keeping
//! the key elsewhere, such as in the system's keyring; the file is the only source so far.
//!
//! This crate does not know which agent is granted which secret: that is the boundary's.

mod account;
#[cfg(test)]
mod account_tests;
mod bind;
mod contents;
pub mod error;
mod files;
mod handle;
pub mod key;
pub mod name;
mod namespace;
mod owner;
pub mod redact;
mod resolve;
mod seal;
pub mod secret;
pub mod strength;
mod vault;

pub use account::{AccountSeal, Plain};
pub use contents::{Contents, Redaction, StoredSecret};
pub use error::{Result, VaultError};
pub use handle::{AgentSecrets, DaemonSecrets, OfAgent, OfDaemon, Secrets};
pub use key::{KeyExposure, KeySource, VaultKey};
pub use name::{SecretEntry, SecretName, SecretNameError};
pub use namespace::SECRETS_MAX;
pub use owner::SecretOwner;
pub use redact::{ByteStreamRedactor, Redactor, StreamRedactor};
pub use resolve::{RESOLVED_BYTES_MAX, resolve};
pub use secret::{SECRET_BYTES_MAX, Secret};
pub use vault::Vault;
