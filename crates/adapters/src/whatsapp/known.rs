//! What is remembered of chats and of messages on their way. What is needed after a restart, when
//! somebody last wrote, is the account's cursor.

use super::failure::Failure;
use crate::bounded::Bounded;
use insula_channel::{MessageId, PostTarget, Tenant};
use std::collections::HashSet;

/// Chats of which we remember when they last wrote. All of it is written down with each message.
const CHATS_MAX: usize = 256;
/// Messages of ours of which we remember what became of them.
const OUTCOMES_MAX: usize = 4096;
/// Messages that were taken, and may yet be refused because their last word is too old.
const UNCONFIRMED_MAX: usize = 64;
/// How long free text is allowed after their last word, a little less than it is.
const WINDOW_S: i64 = 24 * 3600 - 300;
/// What the cursor begins with.
const CURSOR_MARK: &str = "1";

/// Whether free text is allowed in a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Window {
    Open,
    Over,
    /// Nothing was heard of them while we remember.
    Unknown,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Taken(Box<str>),
    Failed(Failure),
}

/// A message that may yet be refused.
#[derive(Debug, Clone)]
pub(super) struct Unconfirmed {
    pub(super) target: PostTarget,
    pub(super) text: String,
}

pub(super) struct Known {
    /// When each chat last wrote, in seconds, and what the message is called.
    heard: Bounded<Box<str>, (i64, Option<Box<str>>)>,
    /// By our own mark on them.
    outcomes: Bounded<Box<str>, Outcome>,
    unconfirmed: Bounded<Box<str>, Unconfirmed>,
    /// Whether the cursor was read.
    pub(super) is_loaded: bool,
    /// Whether the operator was told that events of another number come.
    pub(super) told_of_strangers: bool,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            heard: Bounded::new(CHATS_MAX),
            outcomes: Bounded::new(OUTCOMES_MAX),
            unconfirmed: Bounded::new(UNCONFIRMED_MAX),
            is_loaded: false,
            told_of_strangers: false,
        }
    }
}

impl Known {
    /// Goes on from what was written down.
    pub(super) fn load(&mut self, cursor: Option<&str>) {
        self.is_loaded = true;
        let mut words = cursor.unwrap_or_default().split(' ');
        if words.next() != Some(CURSOR_MARK) {
            return;
        }
        for word in words {
            if let Some((chat, at)) = word.rsplit_once('=')
                && let Ok(at) = at.parse()
                && self.heard.get(chat).is_none()
            {
                self.heard.insert(chat.into(), (at, None));
            }
        }
    }

    /// What is to be written down.
    pub(super) fn cursor(&self) -> String {
        let mut text = CURSOR_MARK.to_owned();
        for chat in self.heard.keys() {
            // An id with blanks would be two.
            let is_plain = !chat.contains(char::is_whitespace);
            if let Some((at, _)) = self.heard.get(&**chat).filter(|_| is_plain) {
                text.push_str(&format!(" {chat}={at}"));
            }
        }
        text
    }

    /// Somebody wrote. An older word than the last one changes nothing.
    pub(super) fn hear(&mut self, chat: &str, at: i64, message: &str) {
        if self.heard.get(chat).is_some_and(|(last, _)| *last > at) {
            return;
        }
        // Whoever wrote last is forgotten last.
        self.heard.remove(chat);
        self.heard.insert(chat.into(), (at, Some(message.into())));
    }

    pub(super) fn window(&self, chat: &str, now: i64) -> Window {
        match self.heard.get(chat) {
            Some((at, _)) if now - at < WINDOW_S => Window::Open,
            Some(_) => Window::Over,
            None => Window::Unknown,
        }
    }

    /// A chat's last word is too old, whatever we believed.
    pub(super) fn close(&mut self, chat: &str) {
        let last = self.heard.remove(chat).and_then(|(_, message)| message);
        self.heard.insert(chat.into(), (0, last));
    }

    /// The last message of a chat, for the sign of writing.
    pub(super) fn last_message(&self, chat: &str) -> Option<MessageId> {
        let (_, message) = self.heard.get(chat)?;
        message.clone().map(MessageId)
    }

    pub(super) fn settle(&mut self, mark: &str, outcome: Outcome) {
        self.outcomes.insert(mark.into(), outcome);
    }

    pub(super) fn outcome(&self, mark: &str) -> Option<&Outcome> {
        self.outcomes.get(mark)
    }

    /// A message that failed may be tried again.
    pub(super) fn forget_failure(&mut self, mark: &str) {
        if matches!(self.outcomes.get(mark), Some(Outcome::Failed(_))) {
            self.outcomes.remove(mark);
        }
    }

    pub(super) fn wait_for(&mut self, message: &str, what: Unconfirmed) {
        self.unconfirmed.insert(message.into(), what);
    }

    /// A message is confirmed or refused: what it said is kept no longer.
    pub(super) fn confirmed(&mut self, message: &str) -> Option<Unconfirmed> {
        self.unconfirmed.remove(message)
    }

    pub(super) fn keep_only(&mut self, tenants: &HashSet<Tenant>) {
        let gone: Vec<Box<str>> = self
            .unconfirmed
            .keys()
            .filter(|key| {
                let of = self.unconfirmed.get(&***key).map(|it| &it.target.tenant);
                of.is_some_and(|of| !tenants.contains(of))
            })
            .cloned()
            .collect();
        for key in gone {
            self.unconfirmed.remove(&*key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_known_after_a_restart() {
        let mut known = Known::default();
        known.hear("ann", 100_000, "m1");
        known.hear("bob", 200_000, "m2");
        known.hear("ann", 90_000, "older");
        let mut again = Known::default();
        again.load(Some(&known.cursor()));
        for known in [&known, &again] {
            assert_eq!(known.window("ann", 100_000 + 86_000), Window::Open);
            assert_eq!(known.window("ann", 100_000 + 86_400), Window::Over);
            assert_eq!(known.window("eve", 100_000), Window::Unknown);
        }
        assert_eq!(known.last_message("ann"), Some(MessageId("m1".into())));
        assert_eq!(again.last_message("ann"), None);
        known.close("bob");
        assert_eq!(known.window("bob", 200_001), Window::Over);
        for nonsense in ["", "2 a=1", "1 a", "1 a=x", "1  =", "\u{0}"] {
            let mut known = Known::default();
            known.load(Some(nonsense));
            assert_eq!(known.window("a", 2), Window::Unknown, "{nonsense:?}");
        }
    }

    #[test]
    fn the_cursor_stays_small() {
        let mut known = Known::default();
        for number in 0..5_000 {
            known.hear(&format!("4915100{number:06}"), number, "m");
        }
        assert!(known.cursor().len() < CHATS_MAX * 32);
        assert_eq!(known.window("4915100000000", 1), Window::Unknown);
        assert_eq!(known.window("4915100004999", 5_000), Window::Open);
    }
}
