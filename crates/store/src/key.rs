//! The key of a home's audit chains.

use crate::error::{Result, StoreError};
use crate::files;
use insula_world::Random;
use std::fmt;
use std::path::Path;

/// The bytes of a key.
const KEY_BYTES: usize = 32;

/// The key that audit chains are made with. Whoever has a database but not this can't forge a
/// record in it. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct AuditKey([u8; KEY_BYTES]);

/// Whether others on this machine could have read a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyExposure {
    /// Only its owner could.
    Private,
    /// Its file is open to others, by this mode: warn, and tell the operator to `chmod 600`
    /// it. Not refused, since a chain with a doubtful key still shows more than none.
    Exposed {
        /// The permission bits.
        mode: u32,
    },
}

impl AuditKey {
    /// A key made of these bytes.
    pub const fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Reads the key at `path`, or makes one there that survives a loss of power and only
    /// its owner can read. A file of the wrong length is refused, never replaced: the chains
    /// made with the true key could not be verified any more.
    ///
    /// Blocks: call it at start, before the event loop serves anyone.
    pub fn load_or_create(path: &Path, random: &Random) -> Result<(Self, KeyExposure)> {
        if let Some((bytes, mode)) = files::read_small(path)? {
            let key =
                <[u8; KEY_BYTES]>::try_from(bytes.as_slice()).map_err(|_| StoreError::BadKey {
                    file: path.to_owned(),
                    what: format!("a key has {KEY_BYTES} bytes, this has {}", bytes.len()),
                })?;
            let exposure = match mode & 0o077 {
                0 => KeyExposure::Private,
                _ => KeyExposure::Exposed { mode },
            };
            return Ok((Self(key), exposure));
        }
        let key = random.stream(&["store", "audit", "key"]).bytes::<KEY_BYTES>();
        files::write_atomically(path, &key)?;
        Ok((Self(key), KeyExposure::Private))
    }

    /// The key of one chain, unrelated to that of any other.
    pub(crate) fn of_chain(&self, owner: &str) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("insula store 2026 audit chain key v1");
        hasher.update(&self.0);
        hasher.update(owner.as_bytes());
        *hasher.finalize().as_bytes()
    }

    /// The seed of the key by which parts of one chain are signed for those who have no key.
    pub(crate) fn of_signatures(&self, owner: &str) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("insula store 2026 audit signatures v1");
        hasher.update(&self.0);
        hasher.update(owner.as_bytes());
        *hasher.finalize().as_bytes()
    }

    /// The key of the names that an agent's numbers have outside its store.
    pub(crate) fn of_names(&self, agent: &str) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("insula store 2026 names of numbers v1");
        hasher.update(&self.0);
        hasher.update(agent.as_bytes());
        *hasher.finalize().as_bytes()
    }
}

impl fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditKey(…)")
    }
}
