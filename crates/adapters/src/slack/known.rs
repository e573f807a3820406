//! What we remember of a workspace while we listen: nothing here is needed to go on after a restart.

use super::types::Person;
use crate::bounded::Bounded;
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

/// People whose names we remember. Others are asked for again.
const PEOPLE_MAX: usize = 4096;
/// Messages of which we remember who said them and in which thread.
const NOTES_MAX: usize = 8192;
/// Presses whose answers may still come.
const PRESSES_MAX: usize = 256;

/// Messages that are being written at once.
const STREAMS_MAX: usize = 256;

/// How much was shown of a message that is being written. Its words are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    len: usize,
    hash: blake3::Hash,
}

impl Written {
    pub(super) fn of(text: &str) -> Self {
        Self { len: text.len(), hash: blake3::hash(text.as_bytes()) }
    }

    /// What a text says beyond what was shown, if it begins with that.
    pub(super) fn rest_of(self, text: &str) -> Option<&str> {
        let (shown, rest) = text.split_at_checked(self.len)?;
        (blake3::hash(shown.as_bytes()) == self.hash).then_some(rest)
    }
}

/// Who we are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Us {
    /// Our user's id.
    pub user: Box<str>,
    /// The same as an app.
    pub bot: Box<str>,
    pub team: Box<str>,
    /// Whether we are in all workspaces of an organisation.
    pub is_everywhere: bool,
}

/// What we know of an earlier message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub user: Box<str>,
    /// The first message of its thread; nothing outside of threads.
    pub thread: Option<Box<str>>,
}

pub(super) struct Known {
    pub us: Option<Us>,
    pub people: Bounded<Box<str>, Person>,
    /// By channel and name of the message.
    pub notes: Bounded<(Box<str>, Box<str>), Note>,
    /// Where whoever pressed a button is told something, by the name of the press.
    pub presses: Bounded<Box<str>, String>,
    /// Messages that are being written, by channel and name, as far as they were shown.
    pub streams: Bounded<(Box<str>, Box<str>), Written>,
    /// Whether the workspace lets no messages be shown while they are written.
    pub lacks_streams: bool,
    /// The commands that are offered, without their slashes.
    pub commands: HashSet<Box<str>>,
    /// An address of a socket that was asked for and not used yet, and when.
    pub ticket: Option<(Duration, String)>,
    /// What our token may, if Slack told.
    pub scopes: Option<String>,
    /// Scopes without which something that was said is not read.
    pub unread_for: BTreeSet<String>,
    /// Whether it was said that events of other workspaces are left out.
    pub told_of_strangers: bool,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            us: None,
            people: Bounded::new(PEOPLE_MAX),
            notes: Bounded::new(NOTES_MAX),
            presses: Bounded::new(PRESSES_MAX),
            streams: Bounded::new(STREAMS_MAX),
            lacks_streams: false,
            commands: HashSet::new(),
            ticket: None,
            scopes: None,
            unread_for: BTreeSet::new(),
            told_of_strangers: false,
        }
    }
}
