//! What one device keeps, as things with names: JSON below, sealed by whoever keeps it. Knows no
//! cryptography.

use crate::matrix::api::segment;
use insula_channel::{Keep, KeepChange, NotTaken};
use matrix_sdk_crypto::CryptoStoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use zeroize::Zeroizing;

type Result<T, E = CryptoStoreError> = std::result::Result<T, E>;

/// What is kept of one device.
pub(super) struct Kept {
    keep: Arc<dyn Keep>,
    /// What the names of everything here begin with: the user and the device.
    root: Box<str>,
    /// Whether nothing may be read or written any more: what is remembered of it elsewhere may
    /// not be what is kept, or another has taken over.
    closed: AtomicBool,
}

impl Kept {
    pub(super) fn new(keep: Arc<dyn Keep>, user: &str, device: &str) -> Self {
        let root = format!("{}/{}/", segment(user), segment(device)).into();
        Self { keep, root, closed: AtomicBool::new(false) }
    }

    /// Reads and writes nothing from now on.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn open(&self) -> Result<&dyn Keep> {
        if self.is_closed() {
            return Err(backend(NotTaken("the keys of this connection are put away".into())));
        }
        Ok(&*self.keep)
    }

    /// The name of something, part by part: no two ways to part it make the same name.
    fn name(&self, parts: &[&str]) -> String {
        format!("{}{}", self.root, joined(parts))
    }

    /// What has this name.
    pub(super) async fn get<T: DeserializeOwned>(&self, parts: &[&str]) -> Result<Option<T>> {
        let kept = self.open()?.get(&self.name(parts)).await.map_err(backend)?;
        kept.map(|bytes| serde_json::from_slice(&bytes).map_err(Into::into)).transpose()
    }

    /// What stands below this name under another that [`names`](Self::names) gave.
    pub(super) async fn below<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        name: &str,
    ) -> Result<Option<T>> {
        let name = format!("{}/{name}", self.name(parts));
        let kept = self.open()?.get(&name).await.map_err(backend)?;
        kept.map(|bytes| serde_json::from_slice(&bytes).map_err(Into::into)).transpose()
    }

    /// The names of what stands below this one, with what is kept there.
    pub(super) async fn names<T: DeserializeOwned>(
        &self,
        parts: &[&str],
    ) -> Result<Vec<(Box<str>, T)>> {
        let len = self.name(parts).len() + "/".len();
        let named = self.named(parts).await?.into_iter();
        Ok(named.map(|(name, it)| (name.get(len..).unwrap_or_default().into(), it)).collect())
    }

    /// Whether anything has this name.
    pub(super) async fn has(&self, parts: &[&str]) -> Result<bool> {
        Ok(self.open()?.get(&self.name(parts)).await.map_err(backend)?.is_some())
    }

    /// All that stands below this name.
    pub(super) async fn all<T: DeserializeOwned>(&self, parts: &[&str]) -> Result<Vec<T>> {
        let named = self.named(parts).await?;
        Ok(named.into_iter().map(|(_, it)| it).collect())
    }

    /// The same, each with its name as a batch takes it.
    pub(super) async fn named<T: DeserializeOwned>(
        &self,
        parts: &[&str],
    ) -> Result<Vec<(Box<str>, T)>> {
        let prefix = format!("{}/", self.name(parts));
        let kept = self.open()?.list(&prefix).await.map_err(backend)?;
        let read = |(name, bytes): (String, Zeroizing<Vec<u8>>)| {
            Ok((name.into(), serde_json::from_slice(&bytes)?))
        };
        kept.into_iter().map(read).collect()
    }

    /// Changes to be made together.
    pub(super) fn batch(&self) -> Batch<'_> {
        Batch { kept: self, changes: vec![] }
    }

    pub(super) async fn seal(&self, what: &[u8]) -> Result<String, NotTaken> {
        self.keep.seal(what).await
    }

    pub(super) async fn unseal(&self, sealed: &str) -> Result<Zeroizing<Vec<u8>>, NotTaken> {
        self.keep.unseal(sealed).await
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept({})", self.root)
    }
}

/// Changes that are made whole or not at all.
pub(super) struct Batch<'k> {
    kept: &'k Kept,
    changes: Vec<KeepChange>,
}

impl Batch<'_> {
    pub(super) fn put<T: Serialize + ?Sized>(&mut self, parts: &[&str], what: &T) -> Result<()> {
        let bytes = Zeroizing::new(serde_json::to_vec(what)?);
        self.changes.push(KeepChange::Put(self.kept.name(parts).into(), bytes));
        Ok(())
    }

    pub(super) fn drop(&mut self, parts: &[&str]) {
        self.drop_named(self.kept.name(parts).into());
    }

    pub(super) fn drop_named(&mut self, name: Box<str>) {
        self.changes.push(KeepChange::Drop(name));
    }

    /// Makes the changes. Where that fails nobody knows what is kept: it has to be read anew.
    pub(super) async fn write(self) -> Result<()> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let written = self.kept.open()?.write(self.changes).await;
        written.map_err(backend).inspect_err(|_| self.kept.close())
    }
}

/// A name in parts, as it stands below others.
pub(super) fn joined(parts: &[&str]) -> String {
    let parts: Vec<String> = parts.iter().map(|part| segment(part)).collect();
    parts.join("/")
}

fn backend(error: NotTaken) -> CryptoStoreError {
    CryptoStoreError::Io(io::Error::other(error))
}
