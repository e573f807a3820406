//! What an account is made from.

use crate::adapter::{Adapter, ConnectFault};
use insula_domain::{AccountId, Platform};
use insula_vault::Secret;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Makes adapters. Knows the platforms, so that the gateway need not.
pub trait AdapterFactory: Send + Sync {
    /// Makes the adapter of an account. Connects to nothing yet.
    fn make(&self, account: &AccountSettings) -> Result<Arc<dyn Adapter>, ConnectFault>;
}

/// What an account is made from. Two that are equal make the same adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSettings {
    pub platform: Platform,
    /// The account's name in the configuration.
    pub name: AccountId,
    /// Every setting by its key. Kept as secrets whatever they are: which of them are is the
    /// adapter's knowledge.
    values: BTreeMap<Box<str>, Vec<Secret>>,
}

impl AccountSettings {
    /// Settings of these texts.
    pub fn new(
        platform: Platform,
        name: AccountId,
        values: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Self {
        let values = values.into_iter().map(|(key, text)| (key.into(), vec![Secret::new(text)]));
        Self { platform, name, values: values.collect() }
    }

    /// Settings of these values, references filled in.
    pub fn filled(
        platform: Platform,
        name: AccountId,
        values: BTreeMap<Box<str>, Vec<Secret>>,
    ) -> Self {
        Self { platform, name, values }
    }

    /// A setting, trimmed: a secret that was pasted often ends with a line break.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.first().map(|value| value.reveal().trim())
    }

    /// A setting that may have several values.
    pub fn list(&self, key: &str) -> impl Iterator<Item = &str> {
        self.values.get(key).into_iter().flatten().map(|value| value.reveal().trim())
    }
}
