//! What an account is made from, with its references to secrets filled in.

use insula_config::{Account, AccountValue};
use insula_domain::{AccountId, Platform};
use insula_runtime::House;
use insula_vault::Secret;
use std::collections::BTreeMap;

/// What an account is made from. Two that are equal make the same adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountSettings {
    /// The platform.
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

    /// A setting, trimmed: a secret that was pasted often ends with a line break.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.first().map(|value| value.reveal().trim())
    }

    /// A setting that may have several values.
    pub fn list(&self, key: &str) -> impl Iterator<Item = &str> {
        self.values.get(key).into_iter().flatten().map(|value| value.reveal().trim())
    }
}

/// What there is to do about one account of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// It is to be connected.
    On(AccountSettings),
    /// It is not; why, and what to do.
    Off(String),
}

/// What there is to do about an account as it stands in the configuration now.
pub(super) fn wanted(house: &House, account: &Account) -> Wanted {
    if let Some(problem) = &account.problem {
        return Wanted::Off(problem.to_string());
    }
    if !account.enabled {
        return Wanted::Off("turned off by `enabled: false`".to_owned());
    }
    if !account.is_built() {
        return Wanted::Off(format!("this version does not connect to {}", account.platform));
    }
    let mut values = BTreeMap::new();
    for (key, value) in &account.values {
        let texts = match value {
            AccountValue::Text(text) => std::slice::from_ref(text),
            AccountValue::List(texts) => texts,
        };
        let filled: Result<Vec<Secret>, String> =
            texts.iter().map(|text| house.filled_in(text)).collect();
        match filled {
            Ok(filled) => drop(values.insert(key.clone(), filled)),
            // The names of secrets are no secrets; the account starts when this one is set.
            Err(why) => return Wanted::Off(format!("waits: {why}")),
        }
    }
    Wanted::On(AccountSettings { platform: account.platform, name: account.name.clone(), values })
}
