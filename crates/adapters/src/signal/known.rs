//! What is remembered while we listen: nothing here is needed to go on after a restart.

use super::people::{Person, Us};
use crate::bounded::Bounded;

/// People whose names we remember, for texts that mention them.
const NAMES_MAX: usize = 4096;
/// Messages of which we remember what they were before they were changed.
const REVISIONS_MAX: usize = 4096;
/// Groups of which we remember whether we are in them.
const GROUPS_MAX: usize = 4096;

/// What we are to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Membership {
    Member,
    /// We were invited.
    Pending,
    Outside,
}

pub(super) struct Known {
    pub(super) us: Us,
    names: Bounded<Box<str>, Box<str>>,
    /// Of a changed message, by chat, author and time of the change, when it was first sent.
    first_sent: Bounded<Revision, i64>,
    /// Of a message of ours, by chat and time, when its last change was sent.
    last_sent: Bounded<(Box<str>, i64), i64>,
    groups: Bounded<Box<str>, Membership>,
    /// Whether the operator was told that events of another account come.
    pub(super) told_of_strangers: bool,
}

type Revision = (Box<str>, Box<str>, i64);

impl Known {
    pub(super) fn new(us: Us) -> Self {
        Self {
            us,
            names: Bounded::new(NAMES_MAX),
            first_sent: Bounded::new(REVISIONS_MAX),
            last_sent: Bounded::new(REVISIONS_MAX),
            groups: Bounded::new(GROUPS_MAX),
            told_of_strangers: false,
        }
    }

    pub(super) fn learn_name(&mut self, person: &Person, name: &str) {
        if !name.is_empty() {
            self.names.insert(person.id.clone(), name.into());
        }
    }

    pub(super) fn name(&self, person: &Person) -> Option<&str> {
        self.names.get(&person.id).map(|name| &**name)
    }

    /// A message was changed: `at` is another name for it now. Gives its first.
    pub(super) fn learn_change(&mut self, chat: &str, author: &str, target: i64, at: i64) -> i64 {
        let first = self.first(chat, author, target);
        self.first_sent.insert((chat.into(), author.into(), at), first);
        first
    }

    /// When a message was first sent, by any of the times it was sent.
    pub(super) fn first(&self, chat: &str, author: &str, at: i64) -> i64 {
        let key = (chat.into(), author.into(), at);
        self.first_sent.get(&key).copied().unwrap_or(at)
    }

    /// A message of ours was changed.
    pub(super) fn learn_own_change(&mut self, chat: &str, first: i64, at: i64) {
        self.last_sent.insert((chat.into(), first), at);
        self.first_sent.insert((chat.into(), "".into(), at), first);
    }

    /// When a message of ours was last sent: clients change the last revision.
    pub(super) fn last(&self, chat: &str, first: i64) -> i64 {
        self.last_sent.get(&(chat.into(), first)).copied().unwrap_or(first)
    }

    pub(super) fn membership(&self, group: &str) -> Membership {
        self.groups.get(group).copied().unwrap_or(Membership::Outside)
    }

    pub(super) fn learn_membership(&mut self, group: &str, membership: Membership) {
        self.groups.insert(group.into(), membership);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_its_first_name_however_often_it_changes() {
        let mut known = Known::new(Us::default());
        assert_eq!(known.learn_change("c", "ann", 10, 20), 10);
        assert_eq!(known.learn_change("c", "ann", 20, 30), 10);
        assert_eq!(known.first("c", "ann", 30), 10);
        // The same moment of somebody else, and elsewhere.
        assert_eq!((known.first("c", "bob", 30), known.first("d", "ann", 30)), (30, 30));
        known.learn_own_change("c", 5, 6);
        known.learn_own_change("c", 5, 7);
        assert_eq!((known.last("c", 5), known.last("d", 5), known.first("c", "", 7)), (7, 5, 5));
    }
}
