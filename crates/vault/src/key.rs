//! The key that secrets are sealed with, and where it is kept. Knows nothing of secrets.

use crate::error::{Result, VaultError};
use crate::files;
use insula_world::Random;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use zeroize::Zeroizing;

/// The bytes of a key.
pub const KEY_BYTES: usize = 32;

/// The bytes of a key's id, which tells keys apart and nothing about them.
pub(crate) const KEY_ID_BYTES: usize = 8;

/// The key of a vault. Never printed; wiped when dropped.
#[derive(Clone)]
pub struct VaultKey(Zeroizing<[u8; KEY_BYTES]>);

impl VaultKey {
    /// A key made of these bytes.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes, for a source to keep.
    pub fn reveal(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Which key this is. Two keys have the same id only if they are the same.
    pub(crate) fn id(&self) -> [u8; KEY_ID_BYTES] {
        let mut id = [0; KEY_ID_BYTES];
        let hash = blake3::derive_key("insula vault 2026 key id v1", &*self.0);
        id.copy_from_slice(&hash[..KEY_ID_BYTES]);
        id
    }
}

impl fmt::Debug for VaultKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VaultKey(…)")
    }
}

/// Whether others on this machine could have read the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyExposure {
    /// Only its owner could.
    Private,
    /// Its file is open to others, by this mode: warn, and tell the operator to `chmod 600` it
    /// and to replace the secrets. Not refused, since that would stop every agent and undo
    /// nothing.
    Exposed {
        /// The permission bits.
        mode: u32,
    },
}

/// Where a vault's key is kept. A file is the only source so far; the system's keyring would
/// be another. Called where blocking is allowed.
pub trait KeySource: Send + Sync {
    /// The key, if there is one. What is there and is no key is an error, never "none".
    fn load(&self) -> Result<Option<(VaultKey, KeyExposure)>>;

    /// Keeps `fresh` as the key, unless there is one already; the one that is kept. Two that
    /// call this at once get the same key.
    fn keep(&self, fresh: VaultKey) -> Result<VaultKey>;

    /// Where it is, for messages.
    fn place(&self) -> PathBuf;
}

/// The key in a file of the vault, for its owner only.
pub(crate) struct KeyFile {
    path: PathBuf,
    scratch: Scratch,
}

impl KeyFile {
    pub(crate) fn new(vault: &Path, scratch: Scratch) -> Self {
        Self { path: vault.join("key"), scratch }
    }
}

impl KeySource for KeyFile {
    fn load(&self) -> Result<Option<(VaultKey, KeyExposure)>> {
        let Some(content) = files::read(&self.path, KEY_BYTES + 1)? else { return Ok(None) };
        let bytes = <[u8; KEY_BYTES]>::try_from(content.bytes.as_slice()).map_err(|_| {
            let found = match content.bytes.len() {
                len if len > KEY_BYTES => "more".to_owned(),
                len => len.to_string(),
            };
            VaultError::KeyDamaged {
                file: self.path.clone(),
                what: format!("a key has {KEY_BYTES} bytes, this has {found}"),
            }
        })?;
        let exposure = match content.mode & 0o077 {
            0 => KeyExposure::Private,
            _ => KeyExposure::Exposed { mode: content.mode },
        };
        Ok(Some((VaultKey::from_bytes(bytes), exposure)))
    }

    fn keep(&self, fresh: VaultKey) -> Result<VaultKey> {
        let folder = self.path.parent().unwrap_or(&self.path);
        files::create_folders([folder, self.scratch.folder()])?;
        if files::create(&self.path, fresh.reveal(), || self.scratch.fresh())? {
            return Ok(fresh);
        }
        let kept = self.load()?.ok_or_else(|| VaultError::KeyMissing { file: self.place() })?;
        Ok(kept.0)
    }

    fn place(&self) -> PathBuf {
        self.path.clone()
    }
}

/// Names for temporary files, each given out once.
pub(crate) struct Scratch {
    folder: PathBuf,
    random: Random,
    given: AtomicU64,
    purpose: &'static str,
}

impl Scratch {
    /// Names below `<vault>/new`. Two with the same purpose and seed give the same names.
    pub(crate) fn new(vault: &Path, random: &Random, purpose: &'static str) -> Self {
        Self {
            folder: vault.join("new"),
            random: random.clone(),
            given: AtomicU64::new(0),
            purpose,
        }
    }

    /// Where temporary files are: on the same file system as what they become.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn fresh(&self) -> PathBuf {
        let count = self.given.fetch_add(1, Ordering::Relaxed).to_string();
        self.folder.join(self.random.stream(&["vault", "new", self.purpose, &count]).id())
    }
}
