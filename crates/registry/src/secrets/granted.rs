//! The secrets an agent was granted, as a handle of its context: bound to the agent when it is
//! made, and opening only what its boundary names.

use crate::error::RuntimeError;
use insula_config::rules::{Reference, references};
use insula_vault::{AgentSecrets, Secret, resolve};
use std::collections::BTreeSet;
use std::fmt;

/// What one generation of an agent may use of its namespace.
#[derive(Clone)]
pub struct GrantedSecrets {
    secrets: AgentSecrets,
    granted: BTreeSet<Box<str>>,
}

impl GrantedSecrets {
    pub(crate) fn new(secrets: AgentSecrets, granted: BTreeSet<Box<str>>) -> Self {
        Self { secrets, granted }
    }

    /// Of these secrets, those that are also in `granted`.
    pub(crate) fn less(&self, granted: &BTreeSet<Box<str>>) -> Self {
        let granted = self.granted.intersection(granted).cloned().collect();
        Self { secrets: self.secrets.clone(), granted }
    }

    /// The text with each `${secret:NAME}` filled in, from this agent's namespace alone. Refuses
    /// a secret that is not granted, and one that is not set; the error says what to do.
    pub async fn resolve(&self, text: &str) -> Result<Secret, RuntimeError> {
        for reference in references(text).map_err(RuntimeError::Invalid)? {
            match reference {
                Reference::Secret(name) if self.granted.contains(name) => {}
                Reference::Secret(name) => {
                    return Err(RuntimeError::Invalid(format!(
                        "{} was not granted secret `{name}`: add it under its `secrets`",
                        self.secrets.owner()
                    )));
                }
                Reference::Env(name) => {
                    return Err(RuntimeError::Invalid(format!(
                        "{} may not read `{name}` from the daemon's environment",
                        self.secrets.owner()
                    )));
                }
            }
        }
        let resolved = resolve(text, &self.secrets).await;
        Ok(resolved?)
    }
}

impl fmt::Debug for GrantedSecrets {
    /// Names, as the boundary has them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GrantedSecrets").field(&self.granted).finish()
    }
}
