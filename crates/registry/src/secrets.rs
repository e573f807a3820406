//! Secrets in use: set, list and remove them while the daemon runs, and keep their values out
//! of everything that is said, logged or recorded.
//!
//! The vault keeps secrets; this room knows which are set, hands the daemon's to its
//! providers, and keeps redactors ready, built when a secret changes and never for a turn.
//!
//! There are two redactors, because hiding a text tells whoever sees the hole that it was
//! there:
//!
//! - **own**: the secrets of one agent, and those of the daemon's that nobody could guess
//!   ([`insula_vault::strength`]). Prompts, journal, deltas, replies, errors, what is sent, and
//!   the agent's own trail are redacted with this one alone. With another agent's secrets in
//!   it, what that agent keeps would change bytes of this one's (rule 10), and whoever makes
//!   this one speak could try out a list of words on it.
//! - **records**: every secret of every namespace. For what only operators read: the log, the
//!   daemon's own trail, and what is wrong with accounts.
//!
//! A key that `providers` takes from the environment, or that stands in the file and looks
//! like one, counts as a secret of the daemon here, although no vault keeps it; so does the token
//! of its own command line.

mod accounts;
mod granted;
mod known;

pub use granted::GrantedSecrets;
pub use known::DaemonKeys;
pub use known::KnownSecrets;

use crate::daemon::{Actor, Daemon};
use crate::error::RuntimeError;
use crate::home::Home;
use crate::registry::AgentState;
use arc_swap::{ArcSwap, ArcSwapOption};
use insula_config::model::Provider;
use insula_config::rules::{Reference, references};
use insula_config::{DaemonConfig, FindingOwner as ConfigOwner, LoadReport, looks_like_credential};
use insula_domain::AgentId;
use insula_store::DaemonCommand;
use insula_vault::redact::ANYWHERE_BYTES_MIN;
use insula_vault::{KeyExposure, Secret, SecretEntry, SecretName, SecretOwner, Vault};
use insula_world::World;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is wrong with a secret of the daemon's that could be guessed.
pub const GUESSABLE: &str =
    "this value could be guessed, so agents' texts are not cleared of it; use a long random one";

/// The vault of a daemon, and what is known of it now.
pub struct SecretBook {
    pub(crate) vault: Vault,
    known: ArcSwap<KnownSecrets>,
    /// What opens the daemon itself, which no vault and no configuration names.
    master: ArcSwapOption<Secret>,
}

impl SecretBook {
    /// The book of a home, with nothing read yet.
    pub(crate) fn new(home: &Home, world: &World) -> Self {
        Self {
            vault: Vault::at(home.root(), world),
            known: ArcSwap::default(),
            master: ArcSwapOption::empty(),
        }
    }

    /// What is known now. Never waits.
    pub fn known(&self) -> Arc<KnownSecrets> {
        self.known.load_full()
    }

    /// Reads the vault and makes redactors of what is there. `handed` are the daemon's secrets
    /// that come from elsewhere. What can't be read is kept as trouble: it stops nobody who
    /// does not need it, and what the daemon can't read it can't let out either.
    pub(crate) async fn read(&self, handed: Vec<Secret>, world: &World) {
        let mut trouble: Vec<String> = Vec::new();
        if let Err(error) = self.vault.check().await {
            trouble.push(error.to_string());
        }
        let contents = self.vault.contents().await;
        let before = self.known();
        let built =
            world.storage.run(move || KnownSecrets::build(contents, handed, &before, trouble));
        match built.await {
            Ok(known) => self.known.store(Arc::new(known)),
            Err(error) => tracing::error!(%error, "the redactors could not be made anew"),
        }
    }

    /// The report without findings about secrets that are set.
    pub(crate) fn settled(&self, report: Arc<LoadReport>) -> Arc<LoadReport> {
        if report.diagnostics.iter().all(|found| found.unless_set.is_none()) {
            return report;
        }
        let (known, mut report) = (self.known(), LoadReport::clone(&report));
        report.settle(|owner, name| known.has(owner, name));
        Arc::new(report)
    }
}

/// Takes findings about secrets that are set out of a report, for a home that nobody opened.
/// Where the vault can't be listed they stay.
pub async fn settle(home: &Home, world: &World, report: &mut LoadReport) {
    let Ok(names) = Vault::at(home.root(), world).names().await else { return };
    report.settle(|owner, name| {
        names.iter().any(|(of, entry)| is_same(of, owner) && entry.name.as_str() == name)
    });
}

/// Whether a namespace is that of whoever a finding belongs to.
fn is_same(namespace: &SecretOwner, owner: &ConfigOwner) -> bool {
    match (namespace, owner) {
        (SecretOwner::Agent(id), ConfigOwner::Agent(name)) => id.as_str() == &**name,
        (SecretOwner::Daemon, ConfigOwner::Shared | ConfigOwner::Account(_)) => true,
        _ => false,
    }
}

/// The keys and headers of providers that do not come from the vault: from the environment, or as
/// they stand in the file. Names such as `none` or `lm-studio`, which people give to local models,
/// are no secrets and occur in ordinary texts.
pub(crate) fn handed(daemon: &DaemonConfig, env: &BTreeMap<String, String>) -> Vec<Secret> {
    let mut values = Vec::new();
    for text in daemon.providers.configured.values().flat_map(Provider::sent) {
        let found = references(text).unwrap_or_default();
        if found.is_empty() && looks_like_credential(text) {
            values.push(Secret::new(text));
        }
        let named = found.into_iter().filter_map(|reference| match reference {
            Reference::Env(name) => env.get(name),
            Reference::Secret(_) => None,
        });
        let long = named.filter(|value| value.trim().len() >= ANYWHERE_BYTES_MIN);
        values.extend(long.map(|value| Secret::new(value.as_str())));
    }
    values.extend(accounts::handed(daemon, env));
    values
}

impl Daemon {
    /// Keeps a value, in place of the one there was. Whatever uses it does so at once.
    pub async fn set_secret(
        &self,
        owner: &SecretOwner,
        name: &SecretName,
        value: Secret,
        actor: &Actor,
    ) -> Result<(), RuntimeError> {
        let _changes = self.change().await;
        if let SecretOwner::Agent(id) = owner {
            self.serves_secrets(id)?;
        }
        match owner {
            SecretOwner::Agent(id) => self.secrets.vault.agent(id).set(name, value).await?,
            SecretOwner::Daemon => self.secrets.vault.daemon().set(name, value).await?,
        }
        self.read_secrets().await;
        self.close_servers(owner);
        if *owner == SecretOwner::Daemon && self.secrets.known().guessable().contains(&name) {
            tracing::warn!(secret = %name, "{GUESSABLE}");
        }
        self.record_secret(owner, name, "secret.set", actor).await
    }

    /// Removes a value.
    pub async fn remove_secret(
        &self,
        owner: &SecretOwner,
        name: &SecretName,
        actor: &Actor,
    ) -> Result<(), RuntimeError> {
        let _changes = self.change().await;
        let there = match owner {
            SecretOwner::Agent(id) => self.secrets.vault.agent(id).remove(name).await?,
            SecretOwner::Daemon => self.secrets.vault.daemon().remove(name).await?,
        };
        if !there {
            if let SecretOwner::Agent(id) = owner {
                self.serves_secrets(id)?;
            }
            return Err(RuntimeError::NoSuchSecret { name: name.clone(), owner: owner.clone() });
        }
        self.read_secrets().await;
        self.close_servers(owner);
        self.record_secret(owner, name, "secret.removed", actor).await
    }

    /// The names in one namespace and when each was set, never a value.
    pub async fn list_secrets(
        &self,
        owner: &SecretOwner,
    ) -> Result<Vec<SecretEntry>, RuntimeError> {
        let entries = match owner {
            SecretOwner::Agent(id) => self.secrets.vault.agent(id).names().await?,
            SecretOwner::Daemon => self.secrets.vault.daemon().names().await?,
        };
        if let (true, SecretOwner::Agent(id)) = (entries.is_empty(), owner) {
            self.serves_secrets(id)?;
        }
        Ok(entries)
    }

    /// The names in every namespace, the daemon's first.
    pub async fn list_all_secrets(&self) -> Result<Vec<(SecretOwner, SecretEntry)>, RuntimeError> {
        Ok(self.secrets.vault.names().await?)
    }

    /// Removes what a deleted agent has in the vault. The caller holds the changes.
    pub(crate) async fn forget_secrets(&self, id: &AgentId) -> Result<(), RuntimeError> {
        self.secrets.vault.forget(id).await?;
        self.read_secrets().await;
        Ok(())
    }

    /// Keeps what opens this daemon out of everything that is said and recorded, too.
    pub async fn conceal(&self, master: Secret) {
        let _changes = self.change().await;
        self.secrets.master.store(Some(Arc::new(master)));
        self.read_secrets().await;
    }

    /// The daemon's secrets that no vault keeps.
    fn handed(&self) -> Vec<Secret> {
        let mut handed = handed(&self.snapshot().daemon, &self.env);
        handed.extend(self.secrets.master.load().as_deref().cloned());
        handed
    }

    /// Reads the vault again. The caller holds the changes.
    pub(crate) async fn read_secrets(&self) {
        self.secrets.read(self.handed(), &self.world).await;
        self.registry.tell_of_change();
        self.acting.rights_changed(self).await;
    }

    /// Reads the vault again where the configuration brought or took other keys, or where
    /// something was wrong that may be right by now. The caller holds the changes.
    pub(crate) async fn follow_secrets(&self) {
        let known = self.secrets.known();
        let same = known.was_handed(&self.handed());
        if !same || !known.trouble().is_empty() {
            self.read_secrets().await;
        }
    }

    /// Logs what an operator should know of the secrets as they are.
    pub fn log_secrets(&self) {
        for trouble in self.secrets.known().trouble() {
            tracing::error!(error = trouble, "a secret can't be used");
        }
        if let Some(advice) = self.key_advice() {
            tracing::warn!("{advice}");
        }
        for found in self.report().warnings().filter(|found| found.unless_set.is_some()) {
            tracing::warn!(help = found.help.as_deref(), "{}", found.message);
        }
    }

    /// What to do about a key that others could read.
    pub fn key_advice(&self) -> Option<String> {
        match self.secrets.vault.exposure() {
            KeyExposure::Private => None,
            KeyExposure::Exposed { mode } => Some(format!(
                "others on this machine could read vault/key (mode {mode:03o}); run `chmod 600` on it and replace the secrets"
            )),
        }
    }

    /// A server that was given a secret goes on with the one it was given; it begins anew.
    fn close_servers(&self, owner: &SecretOwner) {
        if let SecretOwner::Agent(id) = owner {
            self.acting.secrets_changed(id);
        }
    }

    /// A secret is for an agent that is there, whatever its state.
    fn serves_secrets(&self, id: &AgentId) -> Result<(), RuntimeError> {
        match self.snapshot().agents.get(id).map(|entry| &entry.state) {
            None | Some(AgentState::Deleted | AgentState::Deleting(_)) => {
                Err(RuntimeError::NoSuchAgent(id.as_str().into()))
            }
            Some(_) => Ok(()),
        }
    }

    /// Records who changed which secret, by name, in the trail of whose it is.
    async fn record_secret(
        &self,
        owner: &SecretOwner,
        name: &SecretName,
        kind: &str,
        actor: &Actor,
    ) -> Result<(), RuntimeError> {
        let content = json!({ "name": name.as_str() });
        let command = match owner {
            SecretOwner::Daemon => DaemonCommand::Audit(self.entry(actor, kind, 0, content)),
            SecretOwner::Agent(id) => {
                let snapshot = self.snapshot();
                let generation = snapshot.agents.get(id).map_or(0, |entry| entry.generation.0);
                let entry = self.entry_of(id, actor, kind, generation, content);
                DaemonCommand::QueueAudit(id.clone(), entry)
            }
        };
        self.owner.daemon().commit(vec![command]).await?;
        tracing::info!(%owner, secret = %name, %actor, "{}", kind.replace('.', " "));
        Ok(())
    }
}
