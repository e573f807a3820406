//! Sealing what an account of ours keeps elsewhere: names and bytes in, bytes out. Keeps nothing
//! itself, and knows nothing of what is sealed.
//!
//! ```text
//! format 1 | key id 8 | nonce 24 | ciphertext | tag 16
//! ```
//!
//! XChaCha20-Poly1305 under a key of the account's own, derived from the vault's. The name is
//! associated data: what was written under one name does not open under another.

use crate::error::{Result, VaultError};
use crate::key::KEY_ID_BYTES;
use crate::vault::{Shared, Vault};
use chacha20poly1305::aead::{AeadInOut as _, KeyInit as _};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The format written here, and the only one read.
const FORMAT: u8 = 1;

const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
const HEAD_BYTES: usize = 1 + KEY_ID_BYTES + NONCE_BYTES;

/// Something by its name, before it is sealed or after it was unsealed.
pub type Plain = (Box<str>, Zeroizing<Vec<u8>>);

/// What seals for one account of ours. Got from [`Vault::account`]. Cheap to clone.
#[derive(Clone)]
pub struct AccountSeal {
    shared: Arc<Shared>,
    /// The account, as it is called in messages: its platform and its name.
    account: Box<str>,
}

impl Vault {
    /// What seals for an account of ours. Neither of its names has a dot.
    pub fn account(&self, platform: &str, account: &str) -> AccountSeal {
        let account = format!("{platform}.{account}").into();
        AccountSeal { shared: self.shared.clone(), account }
    }
}

/// A cipher of one account's, and which key of a vault it is from.
struct Cipher {
    id: [u8; KEY_ID_BYTES],
    key: Zeroizing<[u8; 32]>,
}

impl AccountSeal {
    /// Seals each thing under its name. The vault gets its key if it has none.
    pub async fn seal(&self, things: Vec<Plain>) -> Result<Vec<(Box<str>, Vec<u8>)>> {
        let this = self.clone();
        let seal = move || {
            let cipher = this.cipher(&*this.shared.key_to_write()?);
            let sealed = things.into_iter().map(|(name, bytes)| {
                let sealed = this.seal_one(&cipher, &name, &bytes)?;
                Ok((name, sealed))
            });
            sealed.collect()
        };
        self.shared.storage.run(seal).await?
    }

    /// Opens what was sealed, each thing under the name it was sealed under.
    pub async fn unseal(&self, sealed: Vec<(Box<str>, Vec<u8>)>) -> Result<Vec<Plain>> {
        if sealed.is_empty() {
            return Ok(vec![]);
        }
        let this = self.clone();
        let unseal = move || {
            let cipher = this.cipher(&*this.shared.key_to_read()?);
            let plain = sealed.into_iter().map(|(name, bytes)| {
                let plain = this.unseal_one(&cipher, &name, bytes)?;
                Ok((name, plain))
            });
            plain.collect()
        };
        self.shared.storage.run(unseal).await?
    }

    fn cipher(&self, key: &crate::key::VaultKey) -> Cipher {
        let mut hasher = blake3::Hasher::new_derive_key("insula vault 2026 key of an account v1");
        hasher.update(key.reveal());
        hasher.update(self.account.as_bytes());
        Cipher { id: key.id(), key: Zeroizing::new(*hasher.finalize().as_bytes()) }
    }

    fn seal_one(&self, cipher: &Cipher, name: &str, bytes: &[u8]) -> Result<Vec<u8>> {
        // As with secrets: the world's stream depends on its seed and purpose alone, so the
        // purpose has a keyed hash of what is sealed. Only the same under the same name can get
        // the same nonce twice, and then it is the same sealed.
        let mut hasher = blake3::Hasher::new_keyed(&cipher.key);
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(bytes);
        let hash = hasher.finalize().to_hex();
        let nonce: [u8; NONCE_BYTES] =
            self.shared.random.stream(&["vault", "account nonce", hash.as_str()]).bytes();
        let mut body = Zeroizing::new(Vec::with_capacity(bytes.len() + TAG_BYTES));
        body.extend_from_slice(bytes);
        XChaCha20Poly1305::new(&Key::from(*cipher.key))
            .encrypt_in_place(&XNonce::from(nonce), &binding(name), &mut *body)
            .map_err(|_| self.damaged("it is too long"))?;
        let mut sealed = Vec::with_capacity(HEAD_BYTES + body.len());
        sealed.push(FORMAT);
        sealed.extend_from_slice(&cipher.id);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&body);
        Ok(sealed)
    }

    fn unseal_one(
        &self,
        cipher: &Cipher,
        name: &str,
        sealed: Vec<u8>,
    ) -> Result<Zeroizing<Vec<u8>>> {
        let mut bytes = Zeroizing::new(sealed);
        if bytes.len() < HEAD_BYTES + TAG_BYTES || bytes[0] != FORMAT {
            return Err(self.damaged("it is cut short, or of a newer version"));
        }
        if bytes[1..=KEY_ID_BYTES] != cipher.id {
            return Err(self.damaged("it was sealed with another key than this vault's"));
        }
        let mut nonce = [0; NONCE_BYTES];
        nonce.copy_from_slice(&bytes[1 + KEY_ID_BYTES..HEAD_BYTES]);
        bytes.drain(..HEAD_BYTES);
        XChaCha20Poly1305::new(&Key::from(*cipher.key))
            .decrypt_in_place(&XNonce::from(nonce), &binding(name), &mut *bytes)
            .map_err(|_| self.damaged("it was changed, or written for another account or name"))?;
        Ok(bytes)
    }

    fn damaged(&self, what: &'static str) -> VaultError {
        VaultError::KeptDamaged { account: self.account.clone(), what }
    }
}

/// What a sealed thing is bound to beside its account, whose key it is sealed with.
fn binding(name: &str) -> Vec<u8> {
    let mut bytes = b"insula account\0".to_vec();
    bytes.push(FORMAT);
    bytes.extend(name.as_bytes());
    bytes
}

impl fmt::Debug for AccountSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccountSeal({})", self.account)
    }
}
