//! The conversations of which somebody asked that their older part becomes notes. Kept in memory:
//! where the daemon ends before their next turn, somebody asks again.

use insula_domain::AgentId;
use insula_store::SessionId;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// Conversations that may wait to be put into notes. One more and the wish is not taken.
const WISHES_MAX: usize = 4_096;

/// A session of one life of an agent.
pub(crate) type Which = (AgentId, u64, SessionId);

/// The conversations of which somebody asked that their older part becomes notes.
#[derive(Default)]
pub(crate) struct NotesWishes {
    wished: Mutex<HashSet<Which>>,
}

impl NotesWishes {
    /// Notes a wish; whether there was room for it.
    pub(crate) fn wish(&self, which: Which) -> bool {
        let mut wished = self.wished.lock().unwrap_or_else(PoisonError::into_inner);
        if wished.len() >= WISHES_MAX && !wished.contains(&which) {
            return false;
        }
        wished.insert(which);
        true
    }

    /// Takes a wish out; whether there was one.
    pub(crate) fn take(&self, which: &Which) -> bool {
        self.wished.lock().unwrap_or_else(PoisonError::into_inner).remove(which)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_taken_once_and_there_are_not_more_than_fit() {
        let wishes = NotesWishes::default();
        let of = |at: i64| (AgentId::new("a").unwrap(), 1, SessionId(at));
        assert!(!wishes.take(&of(1)));
        assert!(wishes.wish(of(1)) && wishes.wish(of(1)));
        assert!(wishes.take(&of(1)) && !wishes.take(&of(1)));
        let taken = (0..2 * WISHES_MAX as i64).filter(|at| wishes.wish(of(*at))).count();
        assert_eq!(taken, WISHES_MAX);
        assert!(wishes.wish(of(0)), "it waits already");
    }
}
