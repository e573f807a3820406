//! Sets and removes secrets, and reads the vault again when that, or the configuration, calls for
//! it.

use super::{Actor, Daemon};
use crate::error::RuntimeError;
use crate::registry::AgentState;
use crate::secrets::{GUESSABLE, handed};
use insula_domain::AgentId;
use insula_store::DaemonCommand;
use insula_vault::{KeyExposure, Secret, SecretEntry, SecretName, SecretOwner};
use serde_json::json;
use std::sync::Arc;

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
            SecretOwner::Agent(id) => self.parts.secrets.vault.agent(id).set(name, value).await?,
            SecretOwner::Daemon => self.parts.secrets.vault.daemon().set(name, value).await?,
        }
        self.read_secrets().await;
        self.close_servers(owner);
        if *owner == SecretOwner::Daemon && self.parts.secrets.known().guessable().contains(&name) {
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
            SecretOwner::Agent(id) => self.parts.secrets.vault.agent(id).remove(name).await?,
            SecretOwner::Daemon => self.parts.secrets.vault.daemon().remove(name).await?,
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
            SecretOwner::Agent(id) => self.parts.secrets.vault.agent(id).names().await?,
            SecretOwner::Daemon => self.parts.secrets.vault.daemon().names().await?,
        };
        if let (true, SecretOwner::Agent(id)) = (entries.is_empty(), owner) {
            self.serves_secrets(id)?;
        }
        Ok(entries)
    }

    /// The names in every namespace, the daemon's first.
    pub async fn list_all_secrets(&self) -> Result<Vec<(SecretOwner, SecretEntry)>, RuntimeError> {
        Ok(self.parts.secrets.vault.names().await?)
    }

    /// Removes what a deleted agent has in the vault. The caller holds the changes.
    pub(crate) async fn forget_secrets(&self, id: &AgentId) -> Result<(), RuntimeError> {
        self.parts.secrets.vault.forget(id).await?;
        self.read_secrets().await;
        Ok(())
    }

    /// Keeps what opens this daemon out of everything that is said and recorded, too.
    pub async fn conceal(&self, master: Secret) {
        let _changes = self.change().await;
        self.parts.secrets.master.store(Some(Arc::new(master)));
        self.read_secrets().await;
    }

    /// The daemon's secrets that no vault keeps.
    fn handed(&self) -> Vec<Secret> {
        let mut handed = handed(&self.snapshot().daemon, &self.parts.env);
        handed.extend(self.parts.secrets.master.load().as_deref().cloned());
        handed
    }

    /// Reads the vault again. The caller holds the changes.
    pub(crate) async fn read_secrets(&self) {
        self.parts.secrets.read(self.handed(), &self.parts.world).await;
        self.parts.registry.tell_of_change();
        self.parts.access.tell_of_change().await;
    }

    /// Reads the vault again where the configuration brought or took other keys, or where
    /// something was wrong that may be right by now. The caller holds the changes.
    pub(crate) async fn follow_secrets(&self) {
        let known = self.parts.secrets.known();
        let same = known.was_handed(&self.handed());
        if !same || !known.trouble().is_empty() {
            self.read_secrets().await;
        }
    }

    /// Logs what an operator should know of the secrets as they are.
    pub(crate) fn log_secrets(&self) {
        self.log_trouble();
        for found in self.report().warnings().filter(|found| found.unless_set.is_some()) {
            tracing::warn!(help = found.help.as_deref(), "{}", found.message);
        }
    }

    /// Logs what is wrong with secrets that are set. Those that are missing are findings of the
    /// configuration.
    pub fn log_trouble(&self) {
        for trouble in self.parts.secrets.known().trouble() {
            tracing::error!(error = trouble, "a secret can't be used");
        }
        if let Some(advice) = self.key_advice() {
            tracing::warn!("{advice}");
        }
    }

    /// What to do about a key that others could read.
    pub fn key_advice(&self) -> Option<String> {
        match self.parts.secrets.vault.exposure() {
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
            SecretOwner::Daemon => {
                DaemonCommand::Audit(self.parts.trail.entry(actor, kind, 0, content))
            }
            SecretOwner::Agent(id) => {
                let snapshot = self.snapshot();
                let generation = snapshot.agents.get(id).map_or(0, |entry| entry.generation.0);
                let entry = self.parts.trail.entry_of(id, actor, kind, generation, content);
                DaemonCommand::QueueAudit(id.clone(), entry)
            }
        };
        self.parts.owner.daemon().commit(vec![command]).await?;
        tracing::info!(%owner, secret = %name, %actor, "{}", kind.replace('.', " "));
        Ok(())
    }
}
