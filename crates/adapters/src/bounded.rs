//! A map that forgets its oldest entries.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// At most so many entries; the one put in first goes first.
pub(crate) struct Bounded<K, V> {
    entries: HashMap<K, V>,
    order: VecDeque<K>,
    len_max: usize,
}

impl<K: Hash + Eq + Clone, V> Bounded<K, V> {
    /// An empty map for at most `len_max` entries.
    pub(crate) fn new(len_max: usize) -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new(), len_max }
    }

    /// Puts an entry in, in the place of what was there.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.entries.insert(key.clone(), value).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > self.len_max
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }

    /// An entry.
    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key)
    }

    /// An entry, to be changed.
    pub(crate) fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.entries.get_mut(key)
    }

    /// Takes an entry out.
    pub(crate) fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let taken = self.entries.remove(key)?;
        self.order.retain(|known| known.borrow() != key);
        Some(taken)
    }

    /// All entries, in any order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values()
    }

    /// All keys, the oldest first.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.order.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_when_it_is_full() {
        let mut map = Bounded::new(2);
        for (key, value) in [("a", 1), ("b", 2), ("a", 3), ("c", 4)] {
            map.insert(key, value);
        }
        assert_eq!((map.get("a"), map.get("b"), map.get("c")), (None, Some(&2), Some(&4)));
        assert_eq!(map.remove("b"), Some(2));
        map.insert("d", 5);
        assert_eq!(map.keys().copied().collect::<Vec<_>>(), ["c", "d"]);
    }
}
