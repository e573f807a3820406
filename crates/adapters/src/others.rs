//! What adapters are made with: settings they can't do without, and the way to each other.

use insula_channel::{AccountSettings, Accounts, ConnectFault, Outbound};
use insula_domain::{AccountId, Platform};
use std::sync::{Arc, OnceLock, Weak};

/// A setting that the account can't do without.
pub fn needed<'a>(account: &'a AccountSettings, key: &str) -> Result<&'a str, ConnectFault> {
    account.get(key).ok_or_else(|| wrong(&format!("it needs `{key}`")))
}

/// The fault of settings that make no adapter. Trying again does not help; changing them does.
pub fn wrong(why: &str) -> ConnectFault {
    ConnectFault::Refused(why.into())
}

/// How an adapter finds the others; empty where no gateway runs.
#[derive(Clone, Default)]
pub struct OtherAccounts(Arc<OnceLock<Weak<dyn Accounts>>>);

impl OtherAccounts {
    /// Says where they are. Said once, when the daemon starts.
    pub fn connect(&self, accounts: &Arc<dyn Accounts>) {
        let _ = self.0.set(Arc::downgrade(accounts));
    }

    /// An account, while it is connected.
    pub fn outbound(&self, platform: Platform, account: &AccountId) -> Option<Arc<dyn Outbound>> {
        self.0.get()?.upgrade()?.outbound(platform, account)
    }
}
