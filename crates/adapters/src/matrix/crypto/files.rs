//! Files in encrypted rooms: the homeserver has them encrypted, and the event has their key.
//!
//! The key of a file that came goes into its handle, sealed: handles are written down elsewhere.

use super::{Crypto, Snag};
use bytes::Bytes;
use insula_channel::{FetchError, PostError};
use matrix_sdk_crypto::{AttachmentDecryptor, AttachmentEncryptor, MediaEncryptionInfo};
use serde_json::{Value, json};
use std::io::Read as _;

/// What the handle of an encrypted file begins with.
pub(in crate::matrix) const SEALED: &str = "sealed:";
/// The longest description of a file's key that is taken, in bytes of JSON.
const FILE_LEN_MAX: usize = 4096;

impl Crypto {
    /// Puts a handle in the place of a file and its key.
    pub(super) async fn seal_file(&self, content: &mut Value) -> Result<(), Snag> {
        let Some(content) = content.as_object_mut() else { return Ok(()) };
        // Nobody but this makes handles.
        content.remove("url");
        let Some(file) = content.remove("file") else { return Ok(()) };
        let text = file.to_string();
        let url = file.get("url").and_then(Value::as_str).unwrap_or_default();
        if text.len() > FILE_LEN_MAX || !crate::matrix::address::is_content(url) {
            return Ok(());
        }
        let sealed = self.kept.seal(text.as_bytes()).await;
        let sealed = sealed.map_err(|error| Snag::Keys(error.to_string()))?;
        content.insert("url".into(), format!("{SEALED}{sealed}").into());
        Ok(())
    }

    /// Where the file of a handle is, and what opens it.
    pub(in crate::matrix) async fn unseal_file(
        &self,
        handle: &str,
    ) -> Result<(String, MediaEncryptionInfo), FetchError> {
        let never = |why: &str| PostError::Never { why: why.into() };
        let sealed = handle.strip_prefix(SEALED).ok_or_else(|| never("no handle of a file"))?;
        let text = self.kept.unseal(sealed).await;
        let text = text.map_err(|_| never("the key of the file can't be read"))?;
        let read = |text: &[u8]| {
            let file: Value = serde_json::from_slice(text).ok()?;
            let url = file.get("url")?.as_str()?.to_owned();
            Some((url, serde_json::from_value(file).ok()?))
        };
        Ok(read(&text).ok_or_else(|| never("the file is encrypted in an unknown way"))?)
    }
}

/// The content of a file, checked by its hash.
pub(in crate::matrix) fn decrypt(
    content: &[u8],
    key: MediaEncryptionInfo,
) -> Result<Bytes, PostError> {
    let never = || PostError::Never { why: "the file is not what was sent".into() };
    let mut content = content;
    let mut plain = Vec::with_capacity(content.len());
    let mut decryptor = AttachmentDecryptor::new(&mut content, key).map_err(|_| never())?;
    decryptor.read_to_end(&mut plain).map_err(|_| never())?;
    Ok(plain.into())
}

/// A file as the homeserver gets it, and what opens it.
pub(in crate::matrix) fn encrypt(content: &[u8]) -> Result<(Bytes, Value), PostError> {
    let mut content = content;
    let mut sealed = Vec::with_capacity(content.len());
    let mut encryptor = AttachmentEncryptor::new(&mut content);
    let read = encryptor.read_to_end(&mut sealed);
    read.map_err(|_| PostError::Never { why: "the file can't be encrypted".into() })?;
    Ok((sealed.into(), json!(encryptor.finish())))
}
