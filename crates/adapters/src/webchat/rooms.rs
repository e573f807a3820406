//! The rooms of one web chat: who is in which, and the last frames of each, so that a page that
//! comes back hears what it missed.
//!
//! A room belongs to the agent that the chat leads to. The same chat under another agent, or under
//! a new one of the same name, is another room with nothing in it. Where its owner handed the
//! conversation over, another one answers in the room: whose those words are is kept with them,
//! so that they go when that one forgets.

use super::frames::{RoomRef, joined};
use insula_channel::Tenant;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use tokio::sync::mpsc;

/// Frames of a room that are kept.
const KEPT_FRAMES_MAX: usize = 128;

/// Bytes of a room that are kept.
const KEPT_BYTES_MAX: usize = 128 * 1024;

/// Bytes of all rooms that are kept; rooms that nobody is in and that were used longest ago go
/// first.
const ALL_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Rooms that something is kept of.
const ROOMS_MAX: usize = 4_096;

/// Frames a page may be behind. One that is further behind is cut, and comes back with its
/// cursor.
pub const BEHIND_MAX: usize = 256;

/// A room of one web chat: whose it is, the chat as the gateway knows it, and the topic in it.
/// There is no room that is nobody's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RoomKey {
    tenant: Tenant,
    chat: Box<str>,
    topic: Option<Box<str>>,
}

impl RoomKey {
    /// The room of a tenant at a chat and topic.
    pub fn new(tenant: Tenant, chat: &str, topic: Option<&str>) -> Self {
        Self { tenant, chat: chat.into(), topic: topic.map(Into::into) }
    }

    /// Whose it is.
    pub fn tenant(&self) -> &Tenant {
        &self.tenant
    }
}

/// Something to tell a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFrame {
    /// The room it was said in, whose rights decide whether it may be heard; `None` for what is
    /// said to this page alone.
    pub room: Option<RoomKey>,
    /// Whose words they are, where they are not those of the room's owner.
    pub by: Option<Tenant>,
    pub frame: Arc<str>,
}

/// One page that is connected.
pub type MemberId = u64;

/// The rooms and who is in them.
#[derive(Default)]
pub struct Rooms {
    rooms: HashMap<RoomKey, Room>,
    members: BTreeMap<MemberId, Member>,
    next_member: MemberId,
    bytes: usize,
    /// Moves with every use of a room.
    used: u64,
}

struct Member {
    user: Box<str>,
    send: mpsc::Sender<PageFrame>,
}

impl Member {
    /// Tells the page something; whether it keeps up.
    fn tell(&self, told: PageFrame) -> bool {
        self.send.try_send(told).is_ok()
    }
}

#[derive(Default)]
struct Room {
    seq: u64,
    kept: VecDeque<BufferedFrame>,
    bytes: usize,
    members: BTreeSet<MemberId>,
    used: u64,
    /// Whether what was said before this run was asked for.
    has_past: bool,
    /// Who else than its owner has words in it.
    guests: BTreeSet<Tenant>,
}

impl Room {
    /// Keeps words of these guests alone.
    fn keep_guests(&mut self, stays: impl Fn(&Tenant) -> bool) {
        self.guests.retain(&stays);
        self.kept.retain(|kept| kept.by.as_ref().is_none_or(&stays));
        self.bytes = self.kept.iter().map(|kept| kept.frame.len()).sum();
    }
}

struct BufferedFrame {
    seq: u64,
    /// Whose words they are, where they are not those of the room's owner.
    by: Option<Tenant>,
    frame: Arc<str>,
    message: Box<str>,
    kind: Kind,
}

/// Something that was said before this run.
pub struct PastFrame {
    /// The message's id.
    pub message: Box<str>,
    /// Whose words they are, where they are not those of the room's owner.
    pub by: Option<Tenant>,
    pub frame: Value,
}

/// From when on a page hears what is said in a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// From what is kept on.
    Kept,
    /// From now on.
    Now,
}

/// What a kept frame does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Brings a message.
    Message,
    /// Changes one. Only the last change of a message is worth keeping.
    Edit,
}

impl Rooms {
    /// A page of this user comes.
    pub fn add(&mut self, user: &str) -> (MemberId, mpsc::Receiver<PageFrame>) {
        let (send, receive) = mpsc::channel(BEHIND_MAX);
        self.next_member += 1;
        self.members.insert(self.next_member, Member { user: user.into(), send });
        (self.next_member, receive)
    }

    /// A page goes, or is cut.
    pub fn remove(&mut self, member: MemberId) {
        self.members.remove(&member);
        for room in self.rooms.values_mut() {
            room.members.remove(&member);
        }
    }

    /// Every page is cut.
    pub fn clear_members(&mut self) {
        self.members.clear();
        self.rooms.values_mut().for_each(|room| room.members.clear());
    }

    /// How many pages there are.
    pub fn member_count(&self) -> usize {
        self.members.len()
    }

    /// How many pages of one user there are.
    pub fn count_of(&self, user: &str) -> usize {
        self.members.values().filter(|member| &*member.user == user).count()
    }

    /// Lets go of the rooms and words of anybody else than these. Pages in such rooms hear nothing
    /// more there.
    pub fn keep_only(&mut self, tenants: &HashSet<Tenant>) {
        self.rooms.retain(|key, _| tenants.contains(&key.tenant));
        self.rooms.values_mut().for_each(|room| room.keep_guests(|by| tenants.contains(by)));
        self.bytes = self.rooms.values().map(|room| room.bytes).sum();
    }

    /// Whether a tenant has forgotten since what its words were said under; if not, what it forgot
    /// before is let go.
    fn is_outdated(&mut self, tenant: &Tenant) -> bool {
        let known = || {
            let rooms = self.rooms.iter();
            rooms.flat_map(|(key, room)| std::iter::once(&key.tenant).chain(&room.guests))
        };
        if known().any(|it| it.outdates(tenant)) {
            return true;
        }
        if known().any(|it| tenant.outdates(it)) {
            self.rooms.retain(|key, _| !tenant.outdates(&key.tenant));
            self.rooms.values_mut().for_each(|room| room.keep_guests(|by| !tenant.outdates(by)));
            self.bytes = self.rooms.values().map(|room| room.bytes).sum();
        }
        false
    }

    /// Where a message stands in a room, among those that were said there in this run.
    pub fn position(&self, key: &RoomKey, message: &str) -> Option<u64> {
        let mut kept = self.rooms.get(key)?.kept.iter().filter(|it| it.seq > 0);
        kept.find(|it| it.kind == Kind::Message && &*it.message == message).map(|it| it.seq)
    }

    /// A page enters a room, and is told what came after its cursor, unless it may hear only what
    /// comes from now on. `epoch` is this run's: cursors of another mean nothing here.
    pub fn join(
        &mut self,
        member: MemberId,
        key: &RoomKey,
        place: &RoomRef,
        epoch: &str,
        (after, since): (Option<&str>, Since),
    ) {
        if self.is_outdated(&key.tenant) {
            return;
        }
        self.used += 1;
        let used = self.used;
        let room = self.rooms.entry(key.clone()).or_default();
        room.used = used;
        room.members.insert(member);
        let first = room.kept.front().map_or(room.seq + 1, |kept| kept.seq);
        let seen = after.map(|cursor| {
            let (run, seq) = cursor.rsplit_once('-').unwrap_or_default();
            if run == epoch { seq.parse().ok().filter(|seq| *seq <= room.seq) } else { None }
        });
        let (from, gap) = match seen {
            // It never was here: all that is kept is what it missed.
            None => (None, false),
            Some(Some(seq)) => (Some(seq), seq + 1 < first),
            Some(None) => (None, true),
        };
        let cursor = format!("{epoch}-{}", room.seq);
        let missed: Vec<(Option<Tenant>, Arc<str>)> = room
            .kept
            .iter()
            .filter(|kept| since == Since::Kept && from.is_none_or(|from| kept.seq > from))
            .map(|kept| (kept.by.clone(), kept.frame.clone()))
            .collect();
        let opening: Arc<str> = joined(place, &cursor, gap).to_string().into();
        let mut told = std::iter::once((None, opening)).chain(missed);
        let frame = |(by, frame)| PageFrame { room: Some(key.clone()), by, frame };
        let kept_up = match self.members.get(&member) {
            Some(page) => told.all(|told| page.tell(frame(told))),
            None => true,
        };
        if !kept_up {
            self.remove(member);
        }
    }

    /// Whether what was said in a room before this run was not asked for yet.
    pub fn wants_past(&self, key: &RoomKey) -> bool {
        self.rooms.get(key).is_none_or(|room| !room.has_past)
    }

    /// Puts what was said before this run before all that is kept of a room: the last of it, as
    /// far as there is room, and nothing that is there already.
    pub fn restore(&mut self, key: &RoomKey, epoch: &str, past: Vec<PastFrame>) {
        if self.is_outdated(&key.tenant) {
            return;
        }
        let room = self.rooms.entry(key.clone()).or_default();
        if std::mem::replace(&mut room.has_past, true) {
            return;
        }
        // Only the agent's messages are changed, and a change does not say whose it is.
        let by = |frame: &Value| frame["by"].as_str().unwrap_or("agent").to_owned();
        let words = |frame: &Value| (by(frame), frame["text"].clone());
        let there: Vec<(String, Value)> = room
            .kept
            .iter()
            .filter_map(|kept| serde_json::from_str::<Value>(&kept.frame).ok())
            .map(|frame| words(&frame))
            .collect();
        for PastFrame { message, by, mut frame } in past.into_iter().rev() {
            if there.contains(&words(&frame)) {
                continue;
            }
            frame["cursor"] = format!("{epoch}-0").into();
            let frame: Arc<str> = frame.to_string().into();
            let is_full = room.kept.len() >= KEPT_FRAMES_MAX;
            if is_full || room.bytes + frame.len() > KEPT_BYTES_MAX {
                break;
            }
            room.bytes += frame.len();
            self.bytes += frame.len();
            let by = by.filter(|by| *by != key.tenant);
            room.guests.extend(by.clone());
            let kind = Kind::Message;
            room.kept.push_front(BufferedFrame { seq: 0, by, frame, message, kind });
        }
        self.make_room();
    }

    /// A page leaves a room.
    pub fn leave(&mut self, member: MemberId, key: &RoomKey) {
        if let Some(room) = self.rooms.get_mut(key) {
            room.members.remove(&member);
        }
    }

    /// Tells one page something.
    pub fn whisper(&mut self, member: MemberId, frame: &Value) {
        let told = PageFrame { room: None, by: None, frame: frame.to_string().into() };
        let kept_up = self.members.get(&member).is_none_or(|page| page.tell(told));
        if !kept_up {
            self.remove(member);
        }
    }

    /// Tells everybody in a room something that is not worth keeping.
    pub fn murmur(&mut self, key: &RoomKey, frame: &Value) {
        let text: Arc<str> = frame.to_string().into();
        self.spread((key, None), &text);
    }

    /// Whether a message is among what is kept.
    pub fn has(&self, key: &RoomKey, message: &str) -> bool {
        let kept = self.rooms.get(key).map(|room| &room.kept);
        kept.is_some_and(|kept| {
            kept.iter().any(|it| it.kind == Kind::Message && &*it.message == message)
        })
    }

    /// Tells everybody in a room something, and keeps it for those who come back. `by` is whose
    /// words they are, where they are not those of the room's owner.
    pub fn tell(
        &mut self,
        (key, by): (&RoomKey, Option<&Tenant>),
        epoch: &str,
        kind: Kind,
        message: &str,
        mut frame: Value,
    ) {
        // What was on its way when it was forgotten is not said any more.
        let by = by.filter(|by| **by != key.tenant);
        if self.is_outdated(&key.tenant) || by.is_some_and(|by| self.is_outdated(by)) {
            return;
        }
        self.used += 1;
        let used = self.used;
        let room = self.rooms.entry(key.clone()).or_default();
        room.used = used;
        room.guests.extend(by.cloned());
        room.seq += 1;
        frame["cursor"] = format!("{epoch}-{}", room.seq).into();
        let text: Arc<str> = frame.to_string().into();
        let mut freed = 0;
        if kind == Kind::Edit {
            room.kept.retain(|kept| {
                let outdated = kept.kind == Kind::Edit && &*kept.message == message;
                freed += if outdated { kept.frame.len() } else { 0 };
                !outdated
            });
        }
        room.bytes += text.len();
        room.kept.push_back(BufferedFrame {
            seq: room.seq,
            by: by.cloned(),
            frame: text.clone(),
            message: message.into(),
            kind,
        });
        while room.kept.len() > KEPT_FRAMES_MAX || room.bytes - freed > KEPT_BYTES_MAX {
            let Some(oldest) = room.kept.pop_front() else { break };
            freed += oldest.frame.len();
        }
        room.bytes -= freed;
        self.bytes = self.bytes + text.len() - freed;
        self.spread((key, by), &text);
        self.make_room();
    }

    fn spread(&mut self, (key, by): (&RoomKey, Option<&Tenant>), text: &Arc<str>) {
        let Some(room) = self.rooms.get(key) else { return };
        let told = || PageFrame { room: Some(key.clone()), by: by.cloned(), frame: text.clone() };
        let behind: Vec<MemberId> = room
            .members
            .iter()
            .filter(|member| self.members.get(member).is_none_or(|page| !page.tell(told())))
            .copied()
            .collect();
        for member in behind {
            self.remove(member);
        }
    }

    /// Forgets the rooms that were used longest ago, while there is too much.
    fn make_room(&mut self) {
        while self.bytes > ALL_BYTES_MAX || self.rooms.len() > ROOMS_MAX {
            let empty = self.rooms.iter().filter(|(_, room)| room.members.is_empty());
            let oldest = empty.min_by_key(|(_, room)| room.used).map(|(key, _)| key.clone());
            let Some(room) = oldest.and_then(|key| self.rooms.remove(&key)) else { return };
            self.bytes -= room.bytes;
        }
    }
}

#[cfg(test)]
#[path = "rooms_tests.rs"]
mod rooms_tests;
