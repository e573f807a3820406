//! People who save a list's file just while we write it. What they save next they may have read
//! before our write: what it lacks of what came since, they did not take out.

use crate::list::List;
use insula_store::FragmentId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How long after a collision a file may be saved by somebody who read it before.
const GRACE: Duration = Duration::from_secs(5);

struct Collision {
    /// What they have surely read.
    read: BTreeSet<FragmentId>,
    until: SystemTime,
}

/// The lists of one agent whose files were written by two at once a moment ago. Times are those
/// that the file system gives to files: no clock of ours has to agree with it.
#[derive(Default)]
pub(crate) struct Collisions(Mutex<BTreeMap<List, Collision>>);

impl Collisions {
    /// Notes one: what whoever saved the file had read, and when ours was written. While one
    /// goes on, what was read is what was read when it began.
    pub(crate) fn note(&self, list: &List, read: &[FragmentId], written: SystemTime) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, collision| written <= collision.until);
        let read = || read.iter().copied().collect();
        let collision =
            all.entry(list.clone()).or_insert_with(|| Collision { read: read(), until: written });
        collision.until = written + GRACE;
    }

    /// What of `base` was surely read by whoever saved the file then.
    pub(crate) fn read(
        &self,
        list: &List,
        base: &[FragmentId],
        saved: SystemTime,
    ) -> Vec<FragmentId> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(list) {
            Some(it) if saved <= it.until => {
                base.iter().copied().filter(|id| it.read.contains(id)).collect()
            }
            _ => base.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_domain::Scope;
    use insula_store::MemoryList;

    #[test]
    fn what_was_read_is_what_was_read_when_a_collision_began_and_it_ends() {
        let [list, other] =
            [MemoryList::Memory, MemoryList::User].map(|target| List::of(&Scope::Global, target));
        let ids = |ids: &[i64]| ids.iter().copied().map(FragmentId).collect::<Vec<_>>();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let all = Collisions::default();
        assert_eq!(all.read(&list, &ids(&[1, 2]), at(100)), ids(&[1, 2]));
        all.note(&list, &ids(&[1]), at(100));
        all.note(&list, &ids(&[1, 2]), at(104));
        assert_eq!(all.read(&list, &ids(&[1, 2]), at(109)), ids(&[1]));
        assert_eq!(all.read(&list, &ids(&[1, 2]), at(110)), ids(&[1, 2]));
        assert_eq!(all.read(&other, &ids(&[1, 2]), at(104)), ids(&[1, 2]));
        all.note(&list, &ids(&[1, 2]), at(200));
        assert_eq!(all.read(&list, &ids(&[1, 2, 3]), at(201)), ids(&[1, 2]));
    }
}
