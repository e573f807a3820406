//! What sending has to know of each account: how much goes on at once, and whether it rests.
//!
//! One account's trouble stays its own: it has places of its own, and whoever finds none, or
//! finds it resting, goes away and is called again.

use insula_domain::{AccountId, AgentId, Platform};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Chats of one account that are sent to at the same time.
pub(super) const AT_ONCE_MAX: usize = 32;

/// An account.
pub(super) type AccountKey = (Platform, AccountId);

/// All accounts that something was sent by.
#[derive(Default)]
pub(super) struct Accounts(Mutex<HashMap<AccountKey, Account>>);

#[derive(Default)]
struct Account {
    busy: usize,
    /// The moment until which its platform asked it to wait, on the clock that never goes back.
    rests_until: Duration,
    /// The moment until which it is not tried again because it was refused.
    refused_until: Duration,
    /// The agents that found no place.
    line: VecDeque<AgentId>,
}

impl Account {
    fn rests(&self, now: Duration) -> Option<Duration> {
        Some(self.rests_until.max(self.refused_until)).filter(|until| *until > now)
    }
}

/// Whether an account has a place.
pub(super) enum Door {
    /// Yes, until this is dropped.
    Open(Seat),
    /// It rests until then.
    Rests(Duration),
    /// All places are taken; the agent is called when there are some.
    Full,
}

impl Accounts {
    fn lock(&self) -> MutexGuard<'_, HashMap<AccountKey, Account>> {
        // Nothing runs foreign code under it, so a poisoned lock guards nothing broken.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place at an account, for an agent.
    pub(super) fn enter(
        self: &Arc<Self>,
        key: &AccountKey,
        agent: &AgentId,
        now: Duration,
    ) -> Door {
        let mut accounts = self.lock();
        let account = accounts.entry(key.clone()).or_default();
        if let Some(until) = account.rests(now) {
            return Door::Rests(until);
        }
        if account.busy >= AT_ONCE_MAX {
            if !account.line.contains(agent) {
                account.line.push_back(agent.clone());
            }
            return Door::Full;
        }
        account.busy += 1;
        Door::Open(Seat { accounts: self.clone(), key: key.clone() })
    }

    /// Until when an account rests, if it does.
    pub(super) fn rests(&self, key: &AccountKey, now: Duration) -> Option<Duration> {
        let accounts = self.lock();
        accounts.get(key).and_then(|account| account.rests(now))
    }

    /// Lets an account rest.
    pub(super) fn rest(&self, key: &AccountKey, until: Duration) {
        let mut accounts = self.lock();
        let account = accounts.entry(key.clone()).or_default();
        account.rests_until = account.rests_until.max(until);
    }

    /// Leaves an account alone that was refused.
    pub(super) fn refuse(&self, key: &AccountKey, until: Duration) {
        self.lock().entry(key.clone()).or_default().refused_until = until;
    }

    /// An account may be another than the one that was refused; whether it was. What its
    /// platform asked for holds all the same.
    pub(super) fn renew(&self, key: &AccountKey) -> bool {
        let mut accounts = self.lock();
        let account = accounts.get_mut(key);
        account.is_some_and(|it| !std::mem::take(&mut it.refused_until).is_zero())
    }

    /// The agents that may come again: all that found no place, once many are free (looking
    /// through an outbox for each single one would cost more than it brings), or because
    /// somebody made room for them.
    pub(super) fn called(&self, key: &AccountKey, whom: Whom) -> Vec<AgentId> {
        match self.lock().get_mut(key) {
            Some(account) if whom == Whom::Everybody || account.busy <= AT_ONCE_MAX / 2 => {
                account.line.drain(..).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether somebody waits for a place at an account.
    pub(super) fn is_waited_for(&self, key: &AccountKey) -> bool {
        self.lock().get(key).is_some_and(|account| !account.line.is_empty())
    }
}

/// Who is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whom {
    /// All, if enough places are free.
    IfFree,
    /// All.
    Everybody,
}

/// A place at an account.
pub(super) struct Seat {
    accounts: Arc<Accounts>,
    key: AccountKey,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(account) = self.accounts.lock().get_mut(&self.key) {
            account.busy = account.busy.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> AccountKey {
        (Platform::new("telegram").unwrap(), AccountId::new(name).unwrap())
    }

    #[test]
    fn an_account_that_is_full_or_rests_leaves_others_alone() {
        let accounts = Arc::new(Accounts::default());
        let agent = AgentId::new("a").unwrap();
        let now = Duration::from_secs(10);
        let enter = |name: &str| accounts.enter(&key(name), &agent, now);
        let mut places: Vec<Door> = (0..AT_ONCE_MAX).map(|_| enter("one")).collect();
        assert!(places.iter().all(|door| matches!(door, Door::Open(_))));
        assert!(matches!(enter("one"), Door::Full));
        assert!(matches!(enter("two"), Door::Open(_)));
        assert_eq!(accounts.called(&key("one"), Whom::IfFree), []);
        places.truncate(AT_ONCE_MAX / 2);
        assert!(accounts.is_waited_for(&key("one")));
        assert_eq!(accounts.called(&key("one"), Whom::IfFree).len(), 1);
        assert_eq!(accounts.called(&key("one"), Whom::Everybody), []);
        accounts.rest(&key("one"), Duration::from_secs(12));
        accounts.rest(&key("one"), Duration::from_secs(11));
        assert!(matches!(enter("one"), Door::Rests(until) if until.as_secs() == 12));
        assert!(matches!(enter("two"), Door::Open(_)));
        accounts.refuse(&key("one"), Duration::from_secs(15));
        assert!(matches!(enter("one"), Door::Rests(until) if until.as_secs() == 15));
        assert!(accounts.renew(&key("one")) && !accounts.renew(&key("one")));
        // What the platform asked for is another matter.
        assert!(matches!(enter("one"), Door::Rests(until) if until.as_secs() == 12));
    }
}
