//! What we remember of a workspace while we listen: nothing here is needed to go on after a restart.

use super::types::Person;
use crate::bounded::Bounded;
use std::collections::HashSet;
use std::time::Duration;

/// People whose names we remember. Others are asked for again.
const PEOPLE_MAX: usize = 4096;
/// Messages of which we remember who said them and in which thread.
const NOTES_MAX: usize = 8192;
/// Presses whose answers may still come.
const PRESSES_MAX: usize = 256;

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
    /// The commands that are offered, without their slashes.
    pub commands: HashSet<Box<str>>,
    /// An address of a socket that was asked for and not used yet, and when.
    pub ticket: Option<(Duration, String)>,
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
            commands: HashSet::new(),
            ticket: None,
            told_of_strangers: false,
        }
    }
}
