//! How fast each account may send: how many chats at once, and whether its platform asked it to
//! wait.
//!
//! The front keeps it, since agents share accounts. One account's trouble stays its own: it has
//! slots of its own, and an agent that finds none, or finds the account resting, is told when to
//! come back. So does one chat's: when a platform asks to wait for a chat, the others of the
//! account go on. Only when it says so of several chats at about the same time is it taken to
//! mean the account.

use crate::post::WaitScope;
use insula_domain::{AccountId, AgentId, Platform};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Chats of one account that are sent to at the same time.
const AT_ONCE_MAX: usize = 32;

/// The longest wait that a platform can ask for.
const ASKED_WAIT_MAX: Duration = Duration::from_secs(3_600);
/// Chats of one account that are told to wait at about the same time before all of it does.
const CHATS_TOLD_MAX: usize = 3;
/// What "at about the same time" is. Some chats that are always busy are told again and again,
/// and that is no reason to keep the others waiting.
const TOLD_WITHIN: Duration = Duration::from_secs(10);

/// An account.
pub type AccountKey = (Platform, AccountId);

/// All accounts that something was sent by.
#[derive(Default)]
pub struct Pacing(Mutex<HashMap<AccountKey, Account>>);

#[derive(Default)]
struct Account {
    busy: usize,
    /// The moment until which its platform asked it to wait, on the clock that never goes back.
    rests_until: Duration,
    /// The moment until which it is not tried again because it was refused.
    refused_until: Duration,
    /// The chats that have to wait while the others go on; who is over it is taken out when the
    /// next is put in.
    held: HashMap<Box<str>, ChatBackoff>,
    /// The agents that found no slot.
    queue: VecDeque<AgentId>,
}

/// A chat that has to wait.
struct ChatBackoff {
    told_at: Duration,
    until: Duration,
}

impl Account {
    /// Until when nothing goes to a chat, if that is so.
    fn rests(&self, chat: &str, now: Duration) -> Option<Duration> {
        let held = self.held.get(chat).map_or(Duration::ZERO, |held| held.until);
        Some(self.rests_until.max(self.refused_until).max(held)).filter(|until| *until > now)
    }

    /// Lets a chat wait, and all of them when too many are told to.
    fn hold(&mut self, chat: &str, until: Duration, now: Duration) {
        self.held.retain(|_, held| held.until > now);
        let held = self.held.entry(chat.into()).or_insert(ChatBackoff { told_at: now, until });
        held.told_at = now;
        held.until = held.until.max(until);
        let is_recent = |held: &&ChatBackoff| now.saturating_sub(held.told_at) <= TOLD_WITHIN;
        if self.held.values().filter(is_recent).count() >= CHATS_TOLD_MAX {
            self.rests_until = self.rests_until.max(until);
        }
    }
}

/// Whether an account has a slot free.
pub enum Slot {
    /// Yes, until this is dropped.
    Free(SlotGuard),
    /// It, or the chat, rests until then.
    Rests(Duration),
    /// All slots are taken; the agent is called when there are some.
    Full,
}

impl Pacing {
    fn lock(&self) -> MutexGuard<'_, HashMap<AccountKey, Account>> {
        // Nothing runs foreign code under it, so a poisoned lock guards nothing broken.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a slot of an account, for an agent that has something to send to a chat.
    pub fn enter(
        self: &Arc<Self>,
        key: &AccountKey,
        chat: &str,
        agent: &AgentId,
        now: Duration,
    ) -> Slot {
        let mut accounts = self.lock();
        let account = accounts.entry(key.clone()).or_default();
        if let Some(until) = account.rests(chat, now) {
            return Slot::Rests(until);
        }
        if account.busy >= AT_ONCE_MAX {
            if !account.queue.contains(agent) {
                account.queue.push_back(agent.clone());
            }
            return Slot::Full;
        }
        account.busy += 1;
        Slot::Free(SlotGuard { pacing: self.clone(), key: key.clone() })
    }

    /// Until when nothing goes to a chat of an account, if that is so.
    pub fn rests(&self, key: &AccountKey, chat: &str, now: Duration) -> Option<Duration> {
        let accounts = self.lock();
        accounts.get(key).and_then(|account| account.rests(chat, now))
    }

    /// Waits as the platform asked, when something was sent to a chat; how long that is.
    pub fn hold(
        &self,
        key: &AccountKey,
        chat: &str,
        (reach, asked): (WaitScope, Duration),
        now: Duration,
    ) -> Duration {
        let wait = asked.min(ASKED_WAIT_MAX);
        let until = now + wait;
        let mut accounts = self.lock();
        let account = accounts.entry(key.clone()).or_default();
        match reach {
            WaitScope::Account => account.rests_until = account.rests_until.max(until),
            WaitScope::Chat => account.hold(chat, until, now),
        }
        wait
    }

    /// Leaves an account alone that was refused.
    pub fn refuse(&self, key: &AccountKey, until: Duration) {
        self.lock().entry(key.clone()).or_default().refused_until = until;
    }

    /// An account may be another than the one that was refused; whether it was. What its
    /// platform asked for holds all the same.
    pub fn renew(&self, key: &AccountKey) -> bool {
        let mut accounts = self.lock();
        let account = accounts.get_mut(key);
        account.is_some_and(|it| !std::mem::take(&mut it.refused_until).is_zero())
    }

    /// The agents that may come again: all that found no slot, once many are free (looking
    /// through an outbox for each single one would cost more than it brings), or because
    /// somebody made room for them.
    pub fn called(&self, key: &AccountKey, whom: WakeRule) -> Vec<AgentId> {
        match self.lock().get_mut(key) {
            Some(account) if whom == WakeRule::Everybody || account.busy <= AT_ONCE_MAX / 2 => {
                account.queue.drain(..).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether somebody waits for a slot of an account.
    pub fn is_waited_for(&self, key: &AccountKey) -> bool {
        self.lock().get(key).is_some_and(|account| !account.queue.is_empty())
    }
}

/// Who is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeRule {
    /// All, if enough slots are free.
    IfFree,
    /// All.
    Everybody,
}

/// A slot of an account, until it is dropped.
pub struct SlotGuard {
    pacing: Arc<Pacing>,
    key: AccountKey,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        if let Some(account) = self.pacing.lock().get_mut(&self.key) {
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
        let accounts = Arc::new(Pacing::default());
        let agent = AgentId::new("a").unwrap();
        let now = Duration::from_secs(10);
        let enter = |name: &str| accounts.enter(&key(name), "c", &agent, now);
        let mut slots: Vec<Slot> = (0..AT_ONCE_MAX).map(|_| enter("one")).collect();
        assert!(slots.iter().all(|slot| matches!(slot, Slot::Free(_))));
        assert!(matches!(enter("one"), Slot::Full));
        assert!(matches!(enter("two"), Slot::Free(_)));
        assert_eq!(accounts.called(&key("one"), WakeRule::IfFree), []);
        slots.truncate(AT_ONCE_MAX / 2);
        assert!(accounts.is_waited_for(&key("one")));
        assert_eq!(accounts.called(&key("one"), WakeRule::IfFree).len(), 1);
        assert_eq!(accounts.called(&key("one"), WakeRule::Everybody), []);
        for seconds in [2, 1] {
            let asked = (WaitScope::Account, Duration::from_secs(seconds));
            accounts.hold(&key("one"), "other", asked, now);
        }
        assert!(matches!(enter("one"), Slot::Rests(until) if until.as_secs() == 12));
        assert!(matches!(enter("two"), Slot::Free(_)));
        accounts.refuse(&key("one"), Duration::from_secs(15));
        assert!(matches!(enter("one"), Slot::Rests(until) if until.as_secs() == 15));
        assert!(accounts.renew(&key("one")) && !accounts.renew(&key("one")));
        // What the platform asked for is another matter.
        assert!(matches!(enter("one"), Slot::Rests(until) if until.as_secs() == 12));
    }

    /// Tells chats to wait at these seconds, each for 40, and gives which of them and of
    /// another one rest at the end.
    fn resting(told: &[(&'static str, u64)]) -> Vec<&'static str> {
        let accounts = Pacing::default();
        let at = Duration::from_secs;
        for (chat, second) in told {
            let wait = accounts.hold(&key("one"), chat, (WaitScope::Chat, at(40)), at(*second));
            assert_eq!(wait, at(40));
        }
        let now = told.last().map_or(Duration::ZERO, |(_, second)| at(*second));
        assert_eq!(accounts.rests(&key("two"), "a", now), None);
        let mut chats: Vec<_> = told.iter().map(|(chat, _)| *chat).chain(["other"]).collect();
        chats.sort_unstable();
        chats.dedup();
        chats.retain(|chat| accounts.rests(&key("one"), chat, now).is_some());
        chats
    }

    #[test]
    fn a_chat_that_is_told_to_wait_keeps_no_other_waiting_unless_many_are() {
        assert_eq!(resting(&[("a", 0)]), ["a"]);
        assert_eq!(resting(&[("a", 0), ("b", 0)]), ["a", "b"]);
        // One chat is one, however often it is told.
        assert_eq!(resting(&[("a", 0), ("a", 1), ("a", 2), ("a", 3)]), ["a"]);
        assert_eq!(resting(&[("a", 0), ("b", 4), ("c", 8)]), ["a", "b", "c", "other"]);
        // Now one and then another is no sign of anything.
        assert_eq!(resting(&[("a", 0), ("b", 9), ("c", 18), ("d", 27)]), ["a", "b", "c", "d"]);
        assert_eq!(resting(&[("a", 0), ("b", 0), ("c", 41)]), ["c"]);
    }

    #[test]
    fn no_platform_can_ask_for_a_wait_without_end_and_nothing_is_kept_of_those_who_waited() {
        let accounts = Pacing::default();
        let forever = (WaitScope::Chat, Duration::from_secs(u64::MAX / 2));
        for day in 0..100 {
            let now = Duration::from_secs(day * 86_400);
            let wait = accounts.hold(&key("one"), &format!("c{day}"), forever, now);
            assert_eq!(wait, ASKED_WAIT_MAX);
        }
        assert_eq!(accounts.lock()[&key("one")].held.len(), 1);
    }
}
