//! One namespace, worked on directly: every function here blocks and runs where the world
//! runs storage.

use crate::error::{Result, VaultError};
use crate::files;
use crate::name::{SecretEntry, SecretName};
use crate::owner::SecretOwner;
use crate::seal::{OVERHEAD_BYTES, SealContext};
use crate::secret::{SECRET_BYTES_MAX, Secret};
use crate::vault::{Shared, Vault};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

/// Most secrets of one namespace. Each is looked for in every text that leaves the daemon.
pub const SECRETS_MAX: usize = 1_024;

/// A namespace, and the life of its owner that this was made in.
#[derive(Clone)]
pub(crate) struct Namespace {
    pub(crate) shared: Arc<Shared>,
    pub(crate) owner: SecretOwner,
    life: u64,
}

impl Namespace {
    /// The namespace of an owner, in the life that it has now.
    pub(crate) fn of(vault: &Vault, owner: SecretOwner) -> Self {
        let shared = vault.shared.clone();
        let life = shared.lives.read().unwrap_or_else(PoisonError::into_inner).of(&owner);
        Self { shared, owner, life }
    }

    /// Does something unless the owner was forgotten since this was made, and keeps it from
    /// being forgotten meanwhile.
    fn alive<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let lives = self.shared.lives.read().unwrap_or_else(PoisonError::into_inner);
        if lives.of(&self.owner) != self.life {
            return Err(VaultError::Forgotten { owner: self.owner.clone() });
        }
        work()
    }

    fn folder(&self) -> PathBuf {
        self.owner.folder(&self.shared.folder)
    }

    pub(crate) fn set(&self, name: &SecretName, secret: &Secret) -> Result<()> {
        let len = secret.reveal().len();
        if len == 0 {
            return Err(VaultError::Empty { name: name.clone() });
        }
        if len > SECRET_BYTES_MAX {
            let what = format!("the value for secret `{name}`");
            return Err(VaultError::TooLong { what, len, max: SECRET_BYTES_MAX });
        }
        self.alive(|| {
            let folder = self.folder();
            let path = folder.join(name.as_str());
            if !files::exists(&path)? && self.entries()?.len() >= SECRETS_MAX {
                let owner = self.owner.clone();
                return Err(VaultError::TooMany { owner, max: SECRETS_MAX });
            }
            let key = self.shared.key_to_write()?;
            let place = SealContext { key: &key, owner: &self.owner, name };
            let count = self.shared.next_count(&self.owner);
            let bytes = place.seal(secret, &self.shared.random, count)?;
            let scratch = &self.shared.scratch;
            let parent = folder.parent().unwrap_or(&folder);
            files::create_folders([&*self.shared.folder, scratch.folder(), parent, &folder])?;
            files::replace(&path, &bytes, || scratch.fresh())
        })
    }

    pub(crate) fn get(&self, name: &SecretName) -> Result<Option<Secret>> {
        self.alive(|| {
            let path = self.folder().join(name.as_str());
            let len_max = SECRET_BYTES_MAX + OVERHEAD_BYTES;
            let Some(content) = files::read(&path, len_max + 1)? else { return Ok(None) };
            if content.bytes.len() > len_max {
                return Err(VaultError::Damaged { file: path, what: "it is too large" });
            }
            let key = self.shared.key_to_read()?;
            SealContext { key: &key, owner: &self.owner, name }
                .unseal(&path, content.bytes)
                .map(Some)
        })
    }

    pub(crate) fn remove(&self, name: &SecretName) -> Result<bool> {
        self.alive(|| files::remove(&self.folder().join(name.as_str())))
    }

    pub(crate) fn names(&self) -> Result<Vec<SecretEntry>> {
        self.alive(|| self.entries())
    }

    /// What there is, by name. Files whose name is no secret's are not ours.
    fn entries(&self) -> Result<Vec<SecretEntry>> {
        let files = files::list_files(&self.folder())?;
        let mut entries: Vec<SecretEntry> = files
            .into_iter()
            .filter_map(|(name, modified)| {
                Some(SecretEntry { name: SecretName::new(&name).ok()?, modified })
            })
            .collect();
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }
}
