//! The credentials of accounts: filled in from the daemon's namespace, and kept out of sight
//! where they stand in the file or come from the environment.

use super::SecretBook;
use crate::environment::Environment;
use crate::providers::filled_in;
use insula_config::account::CREDENTIALS;
use insula_config::rules::{Reference, references};
use insula_config::{AccountValue, DaemonConfig};
use insula_vault::Secret;
use insula_vault::redact::ANYWHERE_BYTES_MIN;
use std::collections::BTreeMap;

/// The credentials of accounts that do not come from the vault.
pub(super) fn handed(daemon: &DaemonConfig, env: &BTreeMap<String, String>) -> Vec<Secret> {
    let mut found = Vec::new();
    for account in &daemon.accounts {
        for key in CREDENTIALS {
            let Some(AccountValue::Text(text)) = account.values.get(key) else { continue };
            let named = references(text).unwrap_or_default();
            if named.is_empty() {
                found.push(text.to_string());
            }
            let from_env = named.into_iter().filter_map(|reference| match reference {
                Reference::Env(name) => env.get(name).cloned(),
                Reference::Secret(_) => None,
            });
            found.extend(from_env);
        }
    }
    found.retain(|value| value.trim().len() >= ANYWHERE_BYTES_MIN);
    found.into_iter().map(Secret::new).collect()
}

impl SecretBook {
    /// A text of the shared part with its references filled in, from the daemon's namespace and
    /// the environment at start. An error says what is missing and what to do.
    pub fn filled_in(&self, text: &str, env: &Environment) -> Result<Secret, String> {
        let known = self.known();
        filled_in(text, |reference| match reference {
            Reference::Secret(name) => known.daemon().get(name).cloned(),
            Reference::Env(name) => env.secret(name),
        })
    }
}
