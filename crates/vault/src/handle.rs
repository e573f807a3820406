//! Handles on secrets, bound at birth: no method here says whose secrets are meant.

use crate::error::Result;
use crate::name::{SecretEntry, SecretName};
use crate::namespace::Namespace;
use crate::owner::SecretOwner;
use crate::secret::Secret;
use std::fmt;
use std::marker::PhantomData;

/// Marks handles on the secrets of one agent.
pub enum OfAgent {}

/// Marks handles on the secrets of the daemon.
pub enum OfDaemon {}

/// The secrets of one agent. Got from [`Vault::agent`](crate::Vault::agent).
pub type AgentSecrets = Secrets<OfAgent>;

/// The secrets of the daemon itself: its channels and shared providers. Got from
/// [`Vault::daemon`](crate::Vault::daemon). Another type than [`AgentSecrets`], so that what
/// works for an agent can't be handed the daemon's.
pub type DaemonSecrets = Secrets<OfDaemon>;

/// The secrets of one namespace. Cheap to clone; holds no value and no open file.
pub struct Secrets<K> {
    namespace: Namespace,
    kind: PhantomData<fn() -> K>,
}

impl<K> Secrets<K> {
    pub(crate) fn new(namespace: Namespace) -> Self {
        Self { namespace, kind: PhantomData }
    }

    /// Whose these are.
    pub fn owner(&self) -> &SecretOwner {
        &self.namespace.owner
    }

    /// Keeps a value under this name, in place of the one there was. When this returns, the
    /// new value survives a loss of power; if it fails, the old one is still there.
    pub async fn set(&self, name: &SecretName, secret: Secret) -> Result<()> {
        let name = name.clone();
        self.run(move |namespace| namespace.set(&name, &secret)).await
    }

    /// The value under this name, if there is one.
    pub async fn get(&self, name: &SecretName) -> Result<Option<Secret>> {
        let name = name.clone();
        self.run(move |namespace| namespace.get(&name)).await
    }

    /// Removes the value under this name; whether there was one. The disk is not overwritten,
    /// which would achieve nothing on today's; what may remain there is sealed.
    pub async fn remove(&self, name: &SecretName) -> Result<bool> {
        let name = name.clone();
        self.run(move |namespace| namespace.remove(&name)).await
    }

    /// What there is, ordered by name. Opens no file: it works without the key, and with
    /// secrets that are damaged.
    pub async fn names(&self) -> Result<Vec<SecretEntry>> {
        self.run(Namespace::names).await
    }

    /// Runs blocking work on the namespace where the world runs storage.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Namespace) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let namespace = self.namespace.clone();
        self.namespace.shared.storage.run(move || work(&namespace)).await?
    }
}

impl<K> Clone for Secrets<K> {
    fn clone(&self) -> Self {
        Self::new(self.namespace.clone())
    }
}

impl<K> fmt::Debug for Secrets<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.namespace.owner)
    }
}
