//! What an account is made from, with its references to secrets filled in.

use insula_channel::AccountSettings;
use insula_config::schema::AccountKeys;
use insula_config::{Account, AccountValue};
use insula_registry::Front;
use insula_vault::Secret;
use std::collections::BTreeMap;

/// What stands for a secret where nobody may read it: it fits wherever any text does.
const STAND_IN: &str = "0:stand-in-for-a-secret-that-nobody-reads-here";

/// The settings of an account, without what its references stand for.
pub(super) fn sketch(account: &Account) -> AccountSettings {
    let fill = |text: &str| Secret::new(if refers(text) { STAND_IN } else { text }.to_owned());
    let values = account.values.iter().map(|(key, value)| {
        (key.clone(), texts(value).iter().map(|text| fill(text)).collect::<Vec<_>>())
    });
    let values = values.collect();
    AccountSettings::filled(account.platform, account.name.clone(), values)
}

/// Whether a setting says what is known only where the secrets are.
pub(super) fn is_reference(value: &AccountValue) -> bool {
    texts(value).iter().any(|text| refers(text))
}

fn refers(text: &str) -> bool {
    text.contains("${")
}

fn texts(value: &AccountValue) -> &[Box<str>] {
    match value {
        AccountValue::Text(text) => std::slice::from_ref(text),
        AccountValue::List(texts) => texts,
    }
}

/// What there is to do about one account of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AccountPlan {
    /// It is to be connected.
    On(AccountSettings),
    /// It is not; why, and what to do.
    Off(String),
}

impl AccountPlan {
    /// Whether two would connect as one bot, and answer everything twice. Secrets of
    /// different names may hold the same.
    pub(super) fn is_same_bot(&self, other: &Self) -> bool {
        let (Self::On(one), Self::On(other)) = (self, other) else { return false };
        let identity = AccountKeys::of(one.platform.as_str()).map_or(&[][..], |keys| keys.identity);
        // What neither says is the same for both.
        let same = |key: &&str| one.get(key).map(bare) == other.get(key).map(bare);
        let is_said = identity.iter().any(|key| one.get(key).is_some());
        one.platform == other.platform && is_said && identity.iter().all(same)
    }
}

/// An address is the same with a slash at its end; nothing else that tells accounts apart has one.
fn bare(value: &str) -> &str {
    value.trim_end_matches('/')
}

/// What there is to do about an account as it stands in the configuration now.
pub(super) fn wanted(front: &Front, account: &Account) -> AccountPlan {
    if let Some(problem) = &account.problem {
        return AccountPlan::Off(problem.to_string());
    }
    if !account.enabled {
        return AccountPlan::Off("turned off by `enabled: false`".to_owned());
    }
    if !account.is_built() {
        return AccountPlan::Off(format!("this version does not connect to {}", account.platform));
    }
    let mut values = BTreeMap::new();
    for (key, value) in &account.values {
        let filled: Result<Vec<Secret>, String> =
            texts(value).iter().map(|text| front.filled_in(text)).collect();
        match filled {
            Ok(filled) => drop(values.insert(key.clone(), filled)),
            // The names of secrets are no secrets; the account starts when this one is set.
            Err(why) => return AccountPlan::Off(format!("waits: {why}")),
        }
    }
    AccountPlan::On(AccountSettings::filled(account.platform, account.name.clone(), values))
}
