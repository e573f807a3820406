//! One secret as the bytes of its file, and back. No files, no folders: bytes in, bytes out.
//!
//! ```text
//! magic 8 | format 1 | key id 8 | nonce 24 | ciphertext | tag 16
//! ```
//!
//! XChaCha20-Poly1305: with 24 bytes a nonce can be drawn at random for ever. The format, the
//! kind of namespace, the agent and the name are associated data: a file that was moved to
//! another agent or another name does not open. How long a value is shows in the file's size.

use crate::error::{Result, VaultError};
use crate::key::{KEY_ID_BYTES, VaultKey};
use crate::name::SecretName;
use crate::owner::SecretOwner;
use crate::secret::{SECRET_BYTES_MAX, Secret};
use chacha20poly1305::aead::{AeadInOut as _, KeyInit as _};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use insula_world::Random;
use std::path::Path;
use zeroize::{Zeroize as _, Zeroizing};

const MAGIC: &[u8; 8] = b"insula\0v";

/// The format written here, and the newest one read.
pub(crate) const FORMAT: u8 = 1;

const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
const HEAD_BYTES: usize = MAGIC.len() + 1 + KEY_ID_BYTES + NONCE_BYTES;

/// What sealing adds to a value.
pub(crate) const OVERHEAD_BYTES: usize = HEAD_BYTES + TAG_BYTES;

/// Where a secret stands, and the key of the vault it stands in.
pub(crate) struct SealContext<'p> {
    pub(crate) key: &'p VaultKey,
    pub(crate) owner: &'p SecretOwner,
    pub(crate) name: &'p SecretName,
}

impl SealContext<'_> {
    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&Key::from(*self.key.reveal()))
    }

    /// A nonce for one sealing. The world's stream depends on its seed and purpose alone, so
    /// the purpose has a count, and a keyed hash of what is sealed: even two worlds with one
    /// seed, as tests make them, use no nonce for two values.
    fn nonce(&self, value: &str, random: &Random, count: u64) -> [u8; NONCE_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(self.key.reveal());
        hasher.update(&self.owner.binding(FORMAT, self.name));
        hasher.update(value.as_bytes());
        let (hash, count) = (hasher.finalize().to_hex(), count.to_string());
        random.stream(&["vault", "nonce", &count, hash.as_str()]).bytes()
    }

    /// The bytes of the file that keeps `secret` here.
    pub(crate) fn seal(&self, secret: &Secret, random: &Random, count: u64) -> Result<Vec<u8>> {
        let value = secret.reveal();
        let nonce = self.nonce(value, random, count);
        let mut body = Zeroizing::new(Vec::with_capacity(value.len() + TAG_BYTES));
        body.extend_from_slice(value.as_bytes());
        let binding = self.owner.binding(FORMAT, self.name);
        // The cipher refuses only what is hundreds of gigabytes long.
        self.cipher().encrypt_in_place(&XNonce::from(nonce), &binding, &mut *body).map_err(
            |_| VaultError::TooLong {
                what: format!("the value for secret `{}`", self.name),
                len: value.len(),
                max: SECRET_BYTES_MAX,
            },
        )?;
        let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.push(FORMAT);
        bytes.extend_from_slice(&self.key.id());
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }

    /// The secret in the bytes of `file`, if they were sealed for this place.
    pub(crate) fn unseal(&self, file: &Path, mut bytes: Zeroizing<Vec<u8>>) -> Result<Secret> {
        let damaged = |what| VaultError::Damaged { file: file.to_owned(), what };
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(damaged("it does not begin as a secret does"));
        };
        match rest.first() {
            Some(&FORMAT) => {}
            None => return Err(damaged("it is cut short")),
            Some(0) => return Err(damaged("its format is none")),
            Some(&found) => {
                return Err(VaultError::Newer { file: file.to_owned(), found, known: FORMAT });
            }
        }
        if bytes.len() < OVERHEAD_BYTES {
            return Err(damaged("it is cut short"));
        }
        let key_at = MAGIC.len() + 1;
        if bytes[key_at..key_at + KEY_ID_BYTES] != self.key.id() {
            return Err(VaultError::WrongKey { file: file.to_owned() });
        }
        let mut nonce = [0; NONCE_BYTES];
        nonce.copy_from_slice(&bytes[key_at + KEY_ID_BYTES..HEAD_BYTES]);
        bytes.drain(..HEAD_BYTES);
        let binding = self.owner.binding(FORMAT, self.name);
        self.cipher()
            .decrypt_in_place(&XNonce::from(nonce), &binding, &mut *bytes)
            .map_err(|_| damaged("it was changed, or written for another agent or another name"))?;
        match String::from_utf8(std::mem::take(&mut *bytes)) {
            Ok(text) => Ok(Secret::new(text)),
            Err(error) => {
                error.into_bytes().zeroize();
                Err(damaged("its value is not text"))
            }
        }
    }
}
