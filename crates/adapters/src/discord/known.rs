//! What we remember of Discord while we listen: nothing here is needed to go on after a restart.

use super::types::{Channel, is_id};
use crate::bounded::Bounded;
use insula_domain::ChatType;

/// Channels and threads of which we remember what they are. Others are asked for again.
const CHANNELS_MAX: usize = 16_384;
/// Servers of which we remember our roles.
const GUILDS_MAX: usize = 4096;
/// Messages that we remember as ours.
const OURS_MAX: usize = 4096;
/// Files whose addresses we remember.
const FILES_MAX: usize = 4096;
/// Presses that somebody may still be told something about.
const PRESSES_MAX: usize = 1024;

/// Who we are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Us {
    pub id: Box<str>,
    pub username: Box<str>,
    /// What commands and answers to interactions go by.
    pub application: Box<str>,
    /// Whether Discord lets us hear what is said to others.
    pub hears_content: bool,
}

/// Where people talk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub id: Box<str>,
    pub chat_type: ChatType,
    pub guild: Option<Box<str>>,
    /// What a thread hangs below.
    pub parent: Option<Box<str>>,
}

impl Place {
    /// What a channel is to us; nothing where nobody talks.
    pub(super) fn of(channel: &Channel) -> Option<Self> {
        let chat_type = match channel.kind {
            1 => ChatType::Dm,
            3 => ChatType::Group,
            // Text, voice, announcements, stages.
            0 | 2 | 5 | 13 => ChatType::Channel,
            10..=12 => ChatType::Thread,
            _ => return None,
        };
        // What names a server that can't be one would take a channel's messages out of ours.
        let ids = [&channel.guild_id, &channel.parent_id];
        if !ids.iter().all(|id| id.is_empty() || is_id(id)) {
            return None;
        }
        let some = |id: &String| (!id.is_empty()).then(|| id.as_str().into());
        let parent = some(&channel.parent_id).filter(|_| chat_type == ChatType::Thread);
        let (id, guild) = (channel.id.as_str().into(), some(&channel.guild_id));
        Some(Self { id, chat_type, guild, parent })
    }
}

pub(super) struct Known {
    pub us: Option<Us>,
    pub places: Bounded<Box<str>, Place>,
    /// Our roles, by server.
    pub roles: Bounded<Box<str>, Vec<String>>,
    pub ours: Bounded<Box<str>, ()>,
    /// Addresses of files, by their ids.
    pub files: Bounded<Box<str>, Box<str>>,
    /// What answers to a press go by, by its name.
    pub presses: Bounded<Box<str>, Box<str>>,
}

impl Default for Known {
    fn default() -> Self {
        Self {
            us: None,
            places: Bounded::new(CHANNELS_MAX),
            roles: Bounded::new(GUILDS_MAX),
            ours: Bounded::new(OURS_MAX),
            files: Bounded::new(FILES_MAX),
            presses: Bounded::new(PRESSES_MAX),
        }
    }
}
