//! Our note of how far we have listened: a session that can be taken up again, and, where it can't,
//! the last message that was taken.

use super::types::{is_id, made_at, number};
use insula_channel::Cursor;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::time::Duration;

/// How long servers may take to be there until we go on without them.
const GAP_WITHIN: Duration = Duration::from_secs(60);
/// How much earlier than the last message reading begins again, in milliseconds: ids of two
/// channels may come in another order than they were made. What comes again is recognised.
const OVERLAP_MS: u64 = 5_000;
/// How far Discord's clock may be ahead of ours.
const AHEAD_MS_MAX: i64 = 24 * 3_600 * 1000;
/// Direct chats that we remember: Discord does not list them for bots.
const DIRECT_MAX: usize = 64;

/// Where we are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// The session that can be taken up.
    #[serde(rename = "s", default)]
    pub session: Option<Resumable>,
    /// The newest message that was taken or was there when we first listened, as its number.
    #[serde(rename = "t", default)]
    pub taken: u64,
    /// Direct chats that somebody wrote in, the newest last.
    #[serde(rename = "d", default)]
    pub direct: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Resumable {
    #[serde(rename = "i")]
    pub id: String,
    /// Where it is taken up.
    #[serde(rename = "u")]
    pub url: String,
    /// The number of the last event.
    #[serde(rename = "n")]
    pub number: u64,
}

impl Position {
    /// A note; nothing where it makes no sense, as though we had never listened.
    pub(super) fn read(cursor: &Cursor) -> Option<Self> {
        let mut position: Self = serde_json::from_str(&cursor.0).ok()?;
        position.direct.retain(|id| is_id(id));
        position.direct.truncate(DIRECT_MAX);
        Some(position)
    }

    pub(super) fn cursor(&self) -> Cursor {
        // Texts and numbers always have a JSON text.
        Cursor(serde_json::to_string(self).unwrap_or_default().into())
    }

    /// A message was taken. One that is from far ahead is no measure: with it, all that is said
    /// until then would be left out of the next gap.
    pub(super) fn took(&mut self, message: &str, now_ms: i64) {
        if let Some(number) = number(message)
            && made_at(number) <= now_ms.saturating_add(AHEAD_MS_MAX)
        {
            self.taken = self.taken.max(number);
        }
    }

    /// Somebody wrote in a direct chat.
    pub(super) fn talked(&mut self, direct: &str) {
        if self.direct.last().is_some_and(|last| last == direct) {
            return;
        }
        self.direct.retain(|known| known != direct);
        self.direct.push(direct.to_owned());
        if self.direct.len() > DIRECT_MAX {
            self.direct.remove(0);
        }
    }

    /// Behind which message reading begins, where a session is gone; nothing where we never
    /// listened: what was said before is history.
    pub(super) fn gap(&self) -> Option<u64> {
        (self.taken > 0).then(|| self.taken.saturating_sub(OVERLAP_MS << 22))
    }
}

/// A gap that is being read.
#[derive(Debug, Default)]
pub(super) struct Gap {
    /// Behind which message it begins; nothing where we never listened.
    pub since: Option<u64>,
    /// Servers whose channels were not read yet.
    pub awaited: HashSet<String>,
    until: Duration,
}

impl Gap {
    /// A session begins, on these servers.
    pub(super) fn begin(since: Option<u64>, guilds: HashSet<String>, now: Duration) -> Self {
        Self { since, awaited: guilds, until: now + GAP_WITHIN }
    }

    /// Whether what was said before may not all have been read.
    pub(super) fn is_open(&self, now: Duration) -> bool {
        !self.awaited.is_empty() && now < self.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written_and_nonsense_is_none() {
        let mut position = Position::default();
        assert_eq!(position.gap(), None);
        let session = Resumable { id: "s".into(), url: "wss://x".into(), number: 7 };
        position.session = Some(session);
        position.took("175928847299117063", 1_462_015_105_796);
        position.took("9999999999999999999", 1_462_015_105_796);
        position.took("175928847299117000", 1_462_015_105_796);
        position.took("x", 0);
        assert_eq!(position.taken, 175_928_847_299_117_063);
        for id in ["1", "2", "1", "3"] {
            position.talked(id);
        }
        assert_eq!(position.direct, ["2", "1", "3"]);
        assert_eq!(Position::read(&position.cursor()), Some(position.clone()));
        for id in 0..200 {
            position.talked(&id.to_string());
        }
        assert_eq!((position.direct.len(), position.direct.last().unwrap().as_str()), (64, "199"));
        assert!(made_at(position.gap().unwrap()) == 1_462_015_105_796 - 5_000);
        for bad in ["", "null", r#"{"s":5}"#, r#"{"t":-1}"#] {
            assert_eq!(Position::read(&Cursor(bad.into())), None, "{bad}");
        }
        assert_eq!(Position::read(&Cursor(r#"{"d":["../x"]}"#.into())), Some(Position::default()));
    }
}
