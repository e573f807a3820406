//! Everything in a vault: its secrets, their names, and a redactor that knows what to look for.

use crate::error::{Result, VaultError};
use crate::name::{SecretEntry, SecretName};
use crate::namespace::Namespace;
use crate::owner::SecretOwner;
use crate::redact::Redactor;
use crate::secret::Secret;
use crate::vault::Vault;
use std::sync::Arc;

/// A redactor, and what it could not be told.
#[derive(Debug)]
pub struct Redaction {
    /// Knows every value that could be read.
    pub redactor: Arc<Redactor>,
    /// One for each secret that does not open, naming its file: a matter for the health of its
    /// owner. What the daemon can't read it can't let out either.
    pub unreadable: Vec<VaultError>,
}

/// One secret as it was found.
#[derive(Debug)]
pub struct StoredSecret {
    pub owner: SecretOwner,
    pub name: SecretName,
    /// Its value, or why it does not open.
    pub value: Result<Secret>,
}

/// Everything in a vault at one moment.
#[derive(Debug)]
pub struct Contents {
    /// Every secret, the daemon's first, then by agent and name.
    pub held: Vec<StoredSecret>,
    /// Namespaces that can't be listed.
    pub unlisted: Vec<VaultError>,
}

impl Vault {
    /// A redactor that knows every value of every namespace as they are now. Make a new one
    /// whenever a secret was set, removed or forgotten.
    pub async fn redactor(&self) -> Result<Redaction> {
        let vault = self.clone();
        self.shared.storage.run(move || vault.build_redactor()).await?
    }

    fn build_redactor(&self) -> Result<Redaction> {
        let Contents { held, unlisted: mut unreadable } = self.read_contents()?;
        let mut values: Vec<Secret> = vec![];
        for secret in held {
            match secret.value {
                Ok(value) => values.push(value),
                Err(error) => unreadable.push(error),
            }
        }
        Ok(Redaction { redactor: Arc::new(Redactor::new(&values)), unreadable })
    }

    /// Everything there is, for whoever keeps redactors of several kinds up to date.
    pub async fn contents(&self) -> Result<Contents> {
        let vault = self.clone();
        self.shared.storage.run(move || vault.read_contents()).await?
    }

    fn read_contents(&self) -> Result<Contents> {
        let mut contents = Contents { held: vec![], unlisted: vec![] };
        for owner in self.shared.owners()? {
            let namespace = Namespace::of(self, owner.clone());
            let entries = namespace.names().unwrap_or_else(|error| {
                contents.unlisted.push(error);
                vec![]
            });
            for name in entries.into_iter().map(|entry| entry.name) {
                // One that was removed since it was listed is not there.
                if let Some(value) = namespace.get(&name).transpose() {
                    contents.held.push(StoredSecret { owner: owner.clone(), name, value });
                }
            }
        }
        Ok(contents)
    }

    /// What every namespace has, by name; opens no secret.
    pub async fn names(&self) -> Result<Vec<(SecretOwner, SecretEntry)>> {
        let vault = self.clone();
        let list = move || {
            let mut all = vec![];
            for owner in vault.shared.owners()? {
                let entries = Namespace::of(&vault, owner.clone()).names()?;
                all.extend(entries.into_iter().map(|entry| (owner.clone(), entry)));
            }
            Ok(all)
        };
        self.shared.storage.run(list).await?
    }
}
