//! The rooms of one web chat: who is in which, and the last frames of each, so that a page that
//! comes back hears what it missed.
//!
//! A room belongs to whoever answers in it. The same chat under another agent, or under a new
//! one of the same name, is another room with nothing in it.

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
}

struct BufferedFrame {
    seq: u64,
    frame: Arc<str>,
    message: Box<str>,
    kind: Kind,
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

    /// Lets go of the rooms of anybody else than these. Pages in them hear nothing more there.
    pub fn keep_only(&mut self, tenants: &HashSet<Tenant>) {
        self.rooms.retain(|key, _| tenants.contains(&key.tenant));
        self.bytes = self.rooms.values().map(|room| room.bytes).sum();
    }

    /// Whether a room's tenant has forgotten since what its words were said under; if not, what
    /// it forgot before is let go.
    fn is_outdated(&mut self, tenant: &Tenant) -> bool {
        if self.rooms.keys().any(|key| key.tenant.outdates(tenant)) {
            return true;
        }
        if self.rooms.keys().any(|key| tenant.outdates(&key.tenant)) {
            self.rooms.retain(|key, _| !tenant.outdates(&key.tenant));
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
        let missed: Vec<Arc<str>> = room
            .kept
            .iter()
            .filter(|kept| since == Since::Kept && from.is_none_or(|from| kept.seq > from))
            .map(|kept| kept.frame.clone())
            .collect();
        let opening: Arc<str> = joined(place, &cursor, gap).to_string().into();
        let mut told = std::iter::once(opening).chain(missed);
        let kept_up = match self.members.get(&member) {
            Some(page) => told.all(|frame| page.tell(PageFrame { room: Some(key.clone()), frame })),
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
    pub fn restore(&mut self, key: &RoomKey, epoch: &str, past: Vec<(Box<str>, Value)>) {
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
        for (message, mut frame) in past.into_iter().rev() {
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
            room.kept.push_front(BufferedFrame { seq: 0, frame, message, kind: Kind::Message });
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
        let told = PageFrame { room: None, frame: frame.to_string().into() };
        let kept_up = self.members.get(&member).is_none_or(|page| page.tell(told));
        if !kept_up {
            self.remove(member);
        }
    }

    /// Tells everybody in a room something that is not worth keeping.
    pub fn murmur(&mut self, key: &RoomKey, frame: &Value) {
        let text: Arc<str> = frame.to_string().into();
        self.spread(key, &text);
    }

    /// Whether a message is among what is kept.
    pub fn has(&self, key: &RoomKey, message: &str) -> bool {
        let kept = self.rooms.get(key).map(|room| &room.kept);
        kept.is_some_and(|kept| {
            kept.iter().any(|it| it.kind == Kind::Message && &*it.message == message)
        })
    }

    /// Tells everybody in a room something, and keeps it for those who come back.
    pub fn tell(
        &mut self,
        key: &RoomKey,
        epoch: &str,
        kind: Kind,
        message: &str,
        mut frame: Value,
    ) {
        // What was on its way when it was forgotten is not said any more.
        if self.is_outdated(&key.tenant) {
            return;
        }
        self.used += 1;
        let used = self.used;
        let room = self.rooms.entry(key.clone()).or_default();
        room.used = used;
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
        let kept =
            BufferedFrame { seq: room.seq, frame: text.clone(), message: message.into(), kind };
        room.kept.push_back(kept);
        while room.kept.len() > KEPT_FRAMES_MAX || room.bytes - freed > KEPT_BYTES_MAX {
            let Some(oldest) = room.kept.pop_front() else { break };
            freed += oldest.frame.len();
        }
        room.bytes -= freed;
        self.bytes = self.bytes + text.len() - freed;
        self.spread(key, &text);
        self.make_room();
    }

    fn spread(&mut self, key: &RoomKey, text: &Arc<str>) {
        let Some(room) = self.rooms.get(key) else { return };
        let told = || PageFrame { room: Some(key.clone()), frame: text.clone() };
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
mod tests {
    use super::*;
    use serde_json::json;

    fn tenant(name: &str, life: u64, forgotten: u64) -> Tenant {
        Tenant::of_life(&insula_domain::AgentId::new(name).unwrap(), life, forgotten)
    }

    fn key(chat: &str) -> RoomKey {
        RoomKey::new(tenant("one", 1, 0), chat, None)
    }

    const PLACE: RoomRef = RoomRef { room: None, topic: None };

    fn read(frames: &mut mpsc::Receiver<PageFrame>) -> Vec<Value> {
        std::iter::from_fn(|| frames.try_recv().ok())
            .map(|told| serde_json::from_str(&told.frame).unwrap())
            .collect()
    }

    fn say(rooms: &mut Rooms, text: &str) {
        rooms.tell(&key("a"), "e", Kind::Message, text, json!({ "text": text }));
    }

    #[test]
    fn a_page_that_comes_back_hears_what_it_missed_and_nothing_twice() {
        let mut rooms = Rooms::default();
        let (first, mut heard) = rooms.add("ann");
        rooms.join(first, &key("a"), &PLACE, "e", (None, Since::Kept));
        say(&mut rooms, "one");
        rooms.tell(&key("b"), "e", Kind::Message, "x", json!({ "text": "elsewhere" }));
        let seen = read(&mut heard);
        assert_eq!(seen.len(), 2, "{seen:?}");
        let cursor = seen[1]["cursor"].as_str().unwrap().to_owned();
        rooms.remove(first);
        say(&mut rooms, "two");
        rooms.tell(&key("a"), "e", Kind::Edit, "two", json!({ "text": "two!" }));
        rooms.tell(&key("a"), "e", Kind::Edit, "two", json!({ "text": "two!!" }));
        let (again, mut heard) = rooms.add("ann");
        rooms.join(again, &key("a"), &PLACE, "e", (Some(&cursor), Since::Kept));
        let texts: Vec<Value> = read(&mut heard).iter().map(|it| it["text"].clone()).collect();
        assert_eq!(texts, [Value::Null, "two".into(), "two!!".into()]);
    }

    #[test]
    fn rule_2_the_same_chat_of_another_owner_is_another_room() {
        let (chat, mut rooms) = ("family", Rooms::default());
        let at = |tenant: Tenant| RoomKey::new(tenant, chat, None);
        let tenants = [tenant("one", 1, 0), tenant("two", 1, 0), tenant("one", 2, 0)];
        let (member, mut heard) = rooms.add("ann");
        rooms.join(member, &at(tenants[0].clone()), &PLACE, "e", (None, Since::Kept));
        for (number, tenant) in tenants.iter().enumerate() {
            let (key, text) = (at(tenant.clone()), number.to_string());
            rooms.tell(&key, "e", Kind::Message, &text, json!({ "text": text }));
            rooms.tell(&key, "e", Kind::Edit, &text, json!({ "text": text }));
            rooms.murmur(&key, &json!({ "type": "typing", "text": text }));
        }
        let texts: BTreeSet<String> =
            read(&mut heard).iter().filter_map(|it| Some(it["text"].as_str()?.into())).collect();
        assert_eq!(texts, BTreeSet::from(["0".to_owned()]));
        for (number, tenant) in tenants.iter().enumerate() {
            let (member, mut heard) = rooms.add("bob");
            rooms.join(member, &at(tenant.clone()), &PLACE, "e", (None, Since::Kept));
            let seen = read(&mut heard);
            let said = number.to_string();
            assert!(seen[1..].iter().all(|it| it["text"] == *said), "{seen:?}");
            assert_eq!(seen.len(), 3);
        }
    }

    #[test]
    fn what_was_forgotten_is_let_go_and_not_said_again() {
        let mut rooms = Rooms::default();
        let (old, new) = (tenant("one", 1, 0), tenant("one", 1, 1));
        let [before, other] = ["a", "b"].map(|chat| RoomKey::new(old.clone(), chat, None));
        rooms.tell(&before, "e", Kind::Message, "m", json!({ "text": "secret" }));
        rooms.tell(&other, "e", Kind::Message, "m", json!({ "text": "secret" }));
        let now = RoomKey::new(new.clone(), "a", None);
        rooms.tell(&now, "e", Kind::Message, "n", json!({ "text": "news" }));
        assert_eq!(rooms.rooms.keys().collect::<Vec<_>>(), [&now]);
        // What was under way under the old mark comes to nothing.
        rooms.tell(&before, "e", Kind::Message, "m", json!({ "text": "secret" }));
        let (member, mut heard) = rooms.add("ann");
        rooms.join(member, &before, &PLACE, "e", (None, Since::Kept));
        assert_eq!(read(&mut heard), [Value::Null; 0]);
        assert_eq!(rooms.rooms.len(), 1);
        rooms.keep_only(&HashSet::new());
        assert!(rooms.rooms.is_empty() && rooms.bytes == 0);
    }

    #[test]
    fn who_may_hear_only_what_comes_is_told_nothing_that_was() {
        let mut rooms = Rooms::default();
        say(&mut rooms, "before");
        let (member, mut heard) = rooms.add("ann");
        rooms.join(member, &key("a"), &PLACE, "e", (None, Since::Now));
        say(&mut rooms, "after");
        let texts: Vec<Value> = read(&mut heard).iter().map(|it| it["text"].clone()).collect();
        assert_eq!(texts, [Value::Null, "after".into()]);
    }

    #[test]
    fn a_cursor_of_another_run_or_of_what_is_no_longer_kept_is_a_gap() {
        let mut rooms = Rooms::default();
        for number in 0..KEPT_FRAMES_MAX + 10 {
            say(&mut rooms, &number.to_string());
        }
        for (after, gap) in [
            (None, false),
            (Some("e-3"), true),
            (Some("e-20"), false),
            (Some("other-20"), true),
            (Some("e-999"), true),
            (Some("nonsense"), true),
        ] {
            let (member, mut heard) = rooms.add("ann");
            rooms.join(member, &key("a"), &PLACE, "e", (after, Since::Kept));
            assert_eq!(read(&mut heard)[0]["gap"], gap, "{after:?}");
        }
    }

    #[test]
    fn who_does_not_keep_up_is_cut_and_nobody_waits_for_them() {
        let mut rooms = Rooms::default();
        let (slow, mut unread) = rooms.add("ann");
        rooms.join(slow, &key("a"), &PLACE, "e", (None, Since::Kept));
        for number in 0..BEHIND_MAX + 10 {
            say(&mut rooms, &number.to_string());
        }
        assert_eq!(rooms.member_count(), 0);
        assert_eq!(read(&mut unread).len(), BEHIND_MAX);
        assert!(unread.try_recv().is_err_and(|it| it == mpsc::error::TryRecvError::Disconnected));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut rooms = Rooms::default();
        let long = "x".repeat(60_000);
        for number in 0..400 {
            let key = key(&number.to_string());
            rooms.tell(&key, "e", Kind::Message, "m", json!({ "text": long }));
        }
        assert!(rooms.bytes <= ALL_BYTES_MAX);
        let counted: usize = rooms.rooms.values().map(|room| room.bytes).sum();
        assert_eq!(rooms.bytes, counted);
        for _ in 0..100 {
            say(&mut rooms, &long);
        }
        assert!(rooms.rooms[&key("a")].bytes <= KEPT_BYTES_MAX);
    }
}
