//! What we remember of rooms while we listen: nothing here is needed to go on after a restart.

use super::wire::Event;
use crate::bounded::Bounded;
use insula_domain::ChatType;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Rooms whose members we remember. Others are asked for again.
const ROOMS_MAX: usize = 4096;
/// Members of one room whose names we remember. A room with more is a group in any case.
pub(super) const MEMBERS_MAX: usize = 500;
/// Messages of which we remember the thread: what a redaction no longer tells.
const MESSAGES_MAX: usize = 8192;
/// Invitations we remember until we join.
const INVITES_MAX: usize = 1024;
/// Encrypted rooms the operator was told of.
const ENCRYPTED_MAX: usize = 256;
/// Signs of ours that stand on messages.
const SIGNS_MAX: usize = 1024;
/// Rooms that see us typing.
const TYPING_MAX: usize = 1024;
/// Direct rooms we believe the server about.
const DIRECT_MAX: usize = 65_536;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Us {
    pub id: Box<str>,
    /// What people see.
    pub name: Box<str>,
    /// The device that our token is for.
    pub device: Option<Box<str>>,
}

pub(super) struct Room {
    /// Names by user; `None` when there are too many.
    members: Option<BTreeMap<Box<str>, Box<str>>>,
    /// Whether whoever invited us meant to talk with us alone.
    was_direct: bool,
}

/// An invitation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invite {
    pub by: Box<str>,
    /// Whether they mean to talk with us alone.
    pub is_direct: bool,
    /// The room that this one is said to take the place of.
    pub replaces: Option<Box<str>>,
}

/// What we know of an earlier message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Earlier {
    pub sender: Box<str>,
    pub topic: Option<Box<str>>,
}

/// What we remember.
pub(super) struct RoomCache {
    /// Who we are, once we asked.
    pub us: Option<Us>,
    /// Who wrote which message, in which thread.
    pub threads: Bounded<Box<str>, Earlier>,
    /// Invitations by room.
    pub invites: Bounded<Box<str>, Invite>,
    /// Encrypted rooms with something that can't be read, of which the operator was told.
    pub encrypted: Bounded<Box<str>, ()>,
    /// Rooms that are not encrypted, as long as we listen.
    pub plain: Bounded<Box<str>, ()>,
    /// Why there is no encryption here.
    pub no_encryption: Option<Box<str>>,
    /// Whether our account's keys vouch for our device, once that is known.
    pub is_signed: Option<bool>,
    /// Rooms that see us typing.
    pub typing: Bounded<Box<str>, ()>,
    /// Our sign on a message of a room, by what the server calls it.
    pub signs: Bounded<(Box<str>, Box<str>), Box<str>>,
    /// Questions that keep failing, and how often in a row.
    pub failures: Bounded<String, u8>,
    rooms: Bounded<Box<str>, Room>,
    direct: BTreeSet<Box<str>>,
}

impl Default for RoomCache {
    fn default() -> Self {
        Self {
            us: None,
            threads: Bounded::new(MESSAGES_MAX),
            invites: Bounded::new(INVITES_MAX),
            encrypted: Bounded::new(ENCRYPTED_MAX),
            plain: Bounded::new(ROOMS_MAX),
            no_encryption: None,
            is_signed: None,
            typing: Bounded::new(TYPING_MAX),
            signs: Bounded::new(SIGNS_MAX),
            failures: Bounded::new(64),
            rooms: Bounded::new(ROOMS_MAX),
            direct: BTreeSet::new(),
        }
    }
}

impl Room {
    /// A room with these members.
    pub(super) fn new(
        members: impl IntoIterator<Item = (String, Option<String>)>,
        was_direct: bool,
    ) -> Self {
        let mut room = Self { members: Some(BTreeMap::new()), was_direct };
        for (user, name) in members {
            room.come(&user, name.as_deref());
        }
        room
    }

    /// A room of which we don't know who is in it.
    pub(super) fn unknown() -> Self {
        Self { members: None, was_direct: false }
    }

    fn come(&mut self, user: &str, name: Option<&str>) {
        let Some(members) = &mut self.members else { return };
        let name = name.filter(|name| !name.trim().is_empty()).unwrap_or_default();
        members.insert(user.into(), name.into());
        if members.len() > MEMBERS_MAX {
            self.members = None;
        }
    }

    fn go(&mut self, user: &str) {
        if let Some(members) = &mut self.members {
            members.remove(user);
        }
    }

    fn is_for_two(&self) -> bool {
        self.members.as_ref().is_some_and(|members| members.len() <= 2)
    }
}

impl RoomCache {
    /// Whether we know who is in a room.
    pub(super) fn has_room(&self, room: &str) -> bool {
        self.rooms.get(room).is_some()
    }

    /// Remembers a room.
    pub(super) fn learn_room(&mut self, id: &str, room: Room) {
        self.rooms.insert(id.into(), room);
    }

    /// Forgets a room we are no longer in.
    pub(super) fn forget_room(&mut self, id: &str) {
        self.rooms.remove(id);
        self.typing.remove(id);
    }

    /// Somebody came, went, or is called otherwise.
    pub(super) fn learn_member(&mut self, id: &str, event: &Event) {
        let (Some(user), Some(room)) = (&event.state_key, self.rooms.get_mut(id)) else { return };
        match event.text("membership") {
            Some("join") => room.come(user, event.text("displayname")),
            Some("leave" | "ban") => room.go(user),
            _ => {}
        }
    }

    /// The account's own list of direct rooms.
    pub(super) fn learn_direct(&mut self, content: &Value) {
        self.direct = direct_rooms(content).take(DIRECT_MAX).map(Into::into).collect();
    }

    /// Whether the account's own list has the room.
    pub(super) fn is_listed(&self, room: &str) -> bool {
        self.direct.contains(room)
    }

    /// What kind of chat a room is: one with a single other person who means to talk with us
    /// alone, or a group.
    pub(super) fn chat_type(&self, id: &str) -> ChatType {
        let direct = self
            .rooms
            .get(id)
            .is_some_and(|room| room.is_for_two() && (room.was_direct || self.is_listed(id)));
        if direct { ChatType::Dm } else { ChatType::Group }
    }

    /// What somebody is called in a room; the first part of their id when we don't know.
    pub(super) fn name(&self, room: &str, user: &str) -> Box<str> {
        let members = self.rooms.get(room).and_then(|room| room.members.as_ref());
        let name = members.and_then(|members| members.get(user)).filter(|name| !name.is_empty());
        name.cloned().unwrap_or_else(|| local_part(user).into())
    }
}

/// The rooms in the content of `m.direct`.
pub(super) fn direct_rooms(content: &Value) -> impl Iterator<Item = &str> {
    let lists = content.as_object().into_iter().flat_map(|people| people.values());
    lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str)
}

/// `ann` of `@ann:example.org`.
pub(super) fn local_part(user: &str) -> &str {
    let bare = user.strip_prefix('@').unwrap_or(user);
    bare.split_once(':').map_or(bare, |(local, _)| local)
}

/// `example.org` of `@ann:example.org`.
pub(super) fn server_part(user: &str) -> Option<&str> {
    user.split_once(':').map(|(_, server)| server)
}
