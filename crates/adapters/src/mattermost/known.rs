//! What we remember of a server while we listen: nothing here is needed to go on after a restart.

use super::types::{Channel, Entry, Person};
use crate::bounded::Bounded;

/// People whose names we remember. Others are asked for again.
const PEOPLE_MAX: usize = 4096;
/// Channels of which we remember what they are.
const CHANNELS_MAX: usize = 4096;
/// Messages of which we remember whose they are and in which thread.
const NOTES_MAX: usize = 8192;
/// Answers to buttons that wait until the request is answered.
const ANSWERS_MAX: usize = 256;

/// Who we are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Us {
    pub id: Box<str>,
    /// What people write behind an `@`.
    pub username: Box<str>,
}

/// What we know of an earlier message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub user: Box<str>,
    pub channel: Box<str>,
    /// The first message of its thread; nothing outside of threads.
    pub root: Option<Box<str>>,
}

impl Note {
    pub(super) fn of(entry: &Entry) -> Self {
        let root = (!entry.root_id.is_empty()).then(|| entry.root_id.as_str().into());
        let (user, channel) = (entry.user_id.as_str().into(), entry.channel_id.as_str().into());
        Self { user, channel, root }
    }
}

pub(super) struct Known {
    pub us: Option<Us>,
    pub people: Bounded<Box<str>, Person>,
    pub channels: Bounded<Box<str>, Channel>,
    pub notes: Bounded<Box<str>, Note>,
    /// What whoever pressed a button is told, by the name of the press.
    pub answers: Bounded<Box<str>, String>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            us: None,
            people: Bounded::new(PEOPLE_MAX),
            channels: Bounded::new(CHANNELS_MAX),
            notes: Bounded::new(NOTES_MAX),
            answers: Bounded::new(ANSWERS_MAX),
        }
    }
}
