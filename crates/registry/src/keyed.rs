//! A lock for each key, there only while somebody holds it or waits for it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OwnedMutexGuard;

type Locks<K> = HashMap<K, Arc<tokio::sync::Mutex<()>>>;

/// The locks. Cheap to clone.
pub struct KeyedLocks<K>(Arc<Mutex<Locks<K>>>);

impl<K> Clone for KeyedLocks<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for KeyedLocks<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Hash + Eq + Clone> KeyedLocks<K> {
    fn locks(&self) -> MutexGuard<'_, Locks<K>> {
        // Nothing below runs foreign code, so a poisoned lock guards nothing broken.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the lock of a key. Whoever comes first goes first.
    pub async fn lock(&self, key: &K) -> KeyedGuard<K> {
        let lock = self.locks().entry(key.clone()).or_default().clone();
        // Made before the wait, so that whoever gives up waiting leaves no entry either.
        let mut guard = KeyedGuard { locks: self.clone(), key: key.clone(), held: None };
        guard.held = Some(lock.lock_owned().await);
        guard
    }

    /// Whether nobody holds or waits for any.
    pub fn is_empty(&self) -> bool {
        self.locks().is_empty()
    }
}

/// The lock of a key, held until it is dropped.
pub struct KeyedGuard<K: Hash + Eq + Clone> {
    locks: KeyedLocks<K>,
    key: K,
    held: Option<OwnedMutexGuard<()>>,
}

impl<K: Hash + Eq + Clone> Drop for KeyedGuard<K> {
    fn drop(&mut self) {
        self.held = None;
        let mut locks = self.locks.locks();
        // Only the map still knows it: nobody waits.
        if locks.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn a_key_goes_in_order_and_another_beside_it_and_nothing_is_kept() {
        let locks = KeyedLocks::default();
        let first = locks.lock(&"a").await;
        let mut second = Box::pin(locks.lock(&"a"));
        let mut third = Box::pin(locks.lock(&"a"));
        assert!((&mut second).now_or_never().is_none());
        assert!((&mut third).now_or_never().is_none());
        drop(locks.lock(&"b").await);
        drop(first);
        assert!((&mut third).now_or_never().is_none(), "the second came before it");
        drop(second.await);
        drop(third.await);
        assert!(locks.is_empty());
    }

    #[tokio::test]
    async fn who_gives_up_waiting_leaves_nothing_behind() {
        let locks = KeyedLocks::default();
        let first = locks.lock(&"a").await;
        let mut second = Box::pin(locks.lock(&"a"));
        assert!((&mut second).now_or_never().is_none());
        drop(first);
        drop(second);
        assert!(locks.is_empty());
    }
}
