//! The vault of a home: its key, and whose secrets there are. Handles on them: `bind`;
//! all of them at once: `contents`.

use crate::error::{Result, VaultError};
use crate::files;
use crate::key::{KeyExposure, KeyFile, KeySource, Scratch, VaultKey};
use crate::name::SecretName;
use crate::owner::SecretOwner;
use insula_domain::id::AgentId;
use insula_world::{Random, StorageExecutor, World};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// The secrets of a home. Cheap to clone.
#[derive(Clone)]
pub struct Vault {
    pub(crate) shared: Arc<Shared>,
}

/// What all handles of a vault share.
pub(crate) struct Shared {
    /// `<home>/vault`.
    pub(crate) folder: PathBuf,
    pub(crate) random: Random,
    pub(crate) storage: Arc<dyn StorageExecutor>,
    pub(crate) scratch: Scratch,
    pub(crate) lives: RwLock<Lives>,
    keys: Arc<dyn KeySource>,
    key: Mutex<Option<(Arc<VaultKey>, KeyExposure)>>,
    sealed: Mutex<BTreeMap<SecretOwner, u64>>,
}

/// How often each agent was forgotten: a handle made before is refused, so that what still
/// runs for a deleted agent neither brings its secrets back nor reads its namesake's.
#[derive(Default)]
pub(crate) struct Lives(BTreeMap<AgentId, u64>);

impl Lives {
    pub(crate) fn of(&self, owner: &SecretOwner) -> u64 {
        match owner {
            SecretOwner::Agent(agent) => self.0.get(agent).copied().unwrap_or(0),
            SecretOwner::Daemon => 0,
        }
    }
}

impl Shared {
    /// A number that this owner was not given before in this run. Each has its own: what one
    /// agent's secrets are sealed with tells nothing about how often another's were.
    pub(crate) fn next_count(&self, owner: &SecretOwner) -> u64 {
        let mut sealed = self.sealed.lock().unwrap_or_else(PoisonError::into_inner);
        let count = sealed.entry(owner.clone()).or_default();
        *count += 1;
        *count
    }

    /// The key, for a file that exists.
    pub(crate) fn key_to_read(&self) -> Result<Arc<VaultKey>> {
        self.load_key(&mut self.locked_key())?
            .ok_or_else(|| VaultError::KeyMissing { file: self.keys.place() })
    }

    /// The key; makes one if there is none and nothing that an earlier one closed.
    pub(crate) fn key_to_write(&self) -> Result<Arc<VaultKey>> {
        let mut cached = self.locked_key();
        if let Some(key) = self.load_key(&mut cached)? {
            return Ok(key);
        }
        self.refuse_orphans()?;
        let fresh = VaultKey::from_bytes(self.random.stream(&["vault", "key"]).bytes());
        let key = Arc::new(self.keys.keep(fresh)?);
        *cached = Some((key.clone(), KeyExposure::Private));
        Ok(key)
    }

    fn locked_key(&self) -> MutexGuard<'_, Option<(Arc<VaultKey>, KeyExposure)>> {
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load_key(
        &self,
        cached: &mut Option<(Arc<VaultKey>, KeyExposure)>,
    ) -> Result<Option<Arc<VaultKey>>> {
        if cached.is_none() {
            *cached = self.keys.load()?.map(|(key, exposure)| (Arc::new(key), exposure));
        }
        Ok(cached.as_ref().map(|(key, _)| key.clone()))
    }

    /// Secrets without the key that closed them must not get a new one, which would hide that
    /// the old one is lost.
    fn refuse_orphans(&self) -> Result<()> {
        for owner in self.owners()? {
            let files = files::list_files(&owner.folder(&self.folder))?;
            if files.iter().any(|(name, _)| SecretName::new(name).is_ok()) {
                return Err(VaultError::KeyMissing { file: self.keys.place() });
            }
        }
        Ok(())
    }

    /// Everyone who has a namespace.
    pub(crate) fn owners(&self) -> Result<Vec<SecretOwner>> {
        let mut names = files::list_folders(&self.folder.join("agents"))?;
        names.sort();
        let agents =
            names.iter().filter_map(|name| AgentId::new(name).ok()).map(SecretOwner::Agent);
        Ok(std::iter::once(SecretOwner::Daemon).chain(agents).collect())
    }
}

impl Vault {
    /// Opens the vault of a home, with its key in a file there. Creates nothing: the key is
    /// made when the first secret is set. Sweeps what a killed writer left.
    ///
    /// Fails when the key is not one, or is missing while there are secrets.
    pub async fn open(home: &Path, world: &World) -> Result<Self> {
        Self::at(home, world).checked().await
    }

    /// Opens the vault of a home whose key is kept elsewhere.
    pub async fn open_with(home: &Path, world: &World, keys: Arc<dyn KeySource>) -> Result<Self> {
        Self::with(home, world, keys).checked().await
    }

    /// The vault of a home, without looking at it: for whoever goes on when it is damaged,
    /// since each call then says for itself what is wrong, and for whoever must not write.
    pub fn at(home: &Path, world: &World) -> Self {
        let folder = home.join("vault");
        let scratch = Scratch::new(&folder, &world.random, "key");
        Self::with(home, world, Arc::new(KeyFile::new(&folder, scratch)))
    }

    fn with(home: &Path, world: &World, keys: Arc<dyn KeySource>) -> Self {
        let folder = home.join("vault");
        let shared = Arc::new(Shared {
            scratch: Scratch::new(&folder, &world.random, "secret"),
            folder,
            random: world.random.clone(),
            storage: world.storage.clone(),
            lives: RwLock::default(),
            keys,
            key: Mutex::default(),
            sealed: Mutex::default(),
        });
        Self { shared }
    }

    async fn checked(self) -> Result<Self> {
        self.sweep().await?;
        self.check().await?;
        Ok(self)
    }

    /// Removes what a killed writer left.
    pub async fn sweep(&self) -> Result<()> {
        let shared = self.shared.clone();
        self.shared.storage.run(move || files::sweep(shared.scratch.folder())).await?;
        Ok(())
    }

    /// Whether the key is there and is one, as far as there is anything to open with it.
    pub async fn check(&self) -> Result<()> {
        let shared = self.shared.clone();
        let check = move || match shared.load_key(&mut shared.locked_key())? {
            Some(_) => Ok(()),
            None => shared.refuse_orphans(),
        };
        self.shared.storage.run(check).await?
    }

    /// Whether others on this machine could have read the key when it was loaded.
    pub fn exposure(&self) -> KeyExposure {
        self.shared.locked_key().as_ref().map_or(KeyExposure::Private, |(_, exposure)| *exposure)
    }

    /// Removes every secret of an agent that is deleted, and ends the handles there are. May
    /// be called again when it failed or when there is nothing.
    pub async fn forget(&self, agent: &AgentId) -> Result<()> {
        let (shared, agent) = (self.shared.clone(), agent.clone());
        let forget = move || {
            let mut lives = shared.lives.write().unwrap_or_else(PoisonError::into_inner);
            *lives.0.entry(agent.clone()).or_default() += 1;
            files::remove_folder(&SecretOwner::Agent(agent).folder(&shared.folder))
        };
        self.shared.storage.run(forget).await?
    }
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vault({})", self.shared.folder.display())
    }
}
