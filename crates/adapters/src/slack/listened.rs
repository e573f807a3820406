//! How far we have listened: our note of it, and what of a gap was read so far.
//!
//! Slack numbers nothing and keeps nothing for who comes back: our note is the newest message that
//! was taken. While a gap is open it stays where the gap begins, whatever is heard meanwhile, so that
//! a gap that was not read to its end is read again.

use super::types::{is_id, is_ts, micros};
use insula_channel::{Cursor, Envelope, Happening, Message};
use insula_domain::{ChatType, Community};
use insula_world::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::time::Duration;

/// How much earlier than the newest message reading begins, in microseconds: for so long Slack tells
/// again what was not acknowledged, and so it may be overtaken. What comes again is recognised.
const OVERLAP: i64 = 300 * 1_000_000;
/// How old a message may be that is read, in microseconds: nobody waits for an answer any more, and
/// events are recognised for thirty days.
const AGE_MAX: i64 = 14 * 24 * 3_600 * 1_000_000;
/// How far Slack's clock may be ahead of ours, in microseconds.
const AHEAD_MAX: i64 = 24 * 3_600 * 1_000_000;
/// Conversations that we remember: direct ones are listed only for who may see the list.
const CHATS_MAX: usize = 64;
/// Threads that we remember: what is said in one is no part of its channel's history.
const THREADS_MAX: usize = 64;
/// Conversations that are read where there may be no gap at all.
const LATELY_MAX: usize = 16;
/// A silence that Slack bridges by itself: it tells again at once, and after a minute.
const BRIEF: Duration = Duration::from_secs(60);

/// A conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Chat {
    #[serde(rename = "i")]
    pub id: String,
    /// The workspace that its messages are told of.
    #[serde(rename = "w")]
    pub team: String,
}

/// A thread that we spoke in, or were spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Thread {
    #[serde(rename = "i")]
    pub chat: String,
    /// Its first message.
    #[serde(rename = "r")]
    pub root: String,
}

/// Our note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    /// When we first listened: what was said before is history. In microseconds, as all moments here.
    #[serde(rename = "f")]
    first: i64,
    /// The newest message up to which nothing is missing.
    #[serde(rename = "t")]
    taken: i64,
    /// Where somebody spoke, the latest last.
    #[serde(rename = "c", default)]
    chats: Vec<Chat>,
    /// The latest last.
    #[serde(rename = "h", default)]
    threads: Vec<Thread>,
}

impl Position {
    /// A note; nothing where it makes no sense, as though we had never listened.
    fn read(cursor: &Cursor) -> Option<Self> {
        let mut position: Self = serde_json::from_str(&cursor.0).ok()?;
        position.chats.retain(|it| is_id(&it.id) && (it.team.is_empty() || is_id(&it.team)));
        position.threads.retain(|it| is_id(&it.chat) && is_ts(&it.root));
        position.chats.truncate(CHATS_MAX);
        position.threads.truncate(THREADS_MAX);
        (position.first > 0).then_some(position)
    }

    fn cursor(&self) -> Cursor {
        // Texts and numbers always have a JSON text.
        Cursor(serde_json::to_string(self).unwrap_or_default().into())
    }

    fn since(&self, now: i64) -> i64 {
        let oldest = now.saturating_sub(AGE_MAX).max(self.first);
        self.taken.saturating_sub(OVERLAP).max(oldest)
    }
}

/// What some envelopes mean for our note.
#[derive(Debug, Default)]
pub(super) struct Taken {
    newest: i64,
    chats: Vec<Chat>,
    threads: Vec<Thread>,
}

impl Taken {
    pub(super) fn of(envelopes: &[Envelope], now: Timestamp) -> Self {
        let latest = micros_of(now).saturating_add(AHEAD_MAX);
        let mut taken = Self::default();
        for envelope in envelopes {
            let Happening::Said(message) = &envelope.what else { continue };
            // One that is from far ahead is no measure: with it, all that is said until then would
            // be left out of the next gap.
            let at = micros(&message.id.0).filter(|at| *at <= latest);
            taken.newest = taken.newest.max(at.unwrap_or(0));
            taken.chats.push(chat_of(envelope));
            taken.threads.extend(thread_of(envelope, message));
        }
        taken
    }
}

/// Where an envelope is from.
pub(super) fn chat_of(envelope: &Envelope) -> Chat {
    let team = match &envelope.address.community {
        Some(Community::Team(team)) => team.as_str().to_owned(),
        _ => String::new(),
    };
    Chat { id: envelope.address.chat.as_str().to_owned(), team }
}

fn thread_of(envelope: &Envelope, message: &Message) -> Option<Thread> {
    let is_to_us = message.mentions_us || envelope.address.chat_type == ChatType::Dm;
    let root = envelope.address.topic.as_ref().filter(|_| is_to_us)?.as_str().to_owned();
    Some(Thread { chat: envelope.address.chat.as_str().to_owned(), root })
}

/// How much is read where nothing was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Every conversation.
    Whole,
    /// Those where somebody spoke last.
    Lately,
}

/// What is not read yet.
#[derive(Debug, Clone)]
enum Unread {
    AllBut(HashSet<String>),
    Only(HashSet<String>),
}

#[derive(Debug, Clone)]
struct Gap {
    since: i64,
    unread: Unread,
}

/// How far we have listened.
#[derive(Debug, Default)]
pub(super) struct Listened {
    /// Nothing before our note was looked up.
    position: Option<Position>,
    /// The newest message that was taken, whether or not something is missing before it.
    newest: i64,
    /// Whether our note says more than the one that is kept.
    is_unsaved: bool,
    /// Whether we never listened before, and that is not kept yet.
    is_first: bool,
    gap: Option<Gap>,
    /// When Slack last said anything.
    heard_at: Option<Duration>,
}

impl Listened {
    /// Goes on from our note, or begins here.
    pub(super) fn take_up(&mut self, kept: Option<&Cursor>, now: Timestamp) {
        let kept = kept.and_then(Position::read);
        self.is_first = kept.is_none();
        self.is_unsaved = self.is_first;
        let fresh =
            Position { first: micros_of(now), taken: 0, chats: Vec::new(), threads: Vec::new() };
        let position = kept.unwrap_or(fresh);
        self.newest = position.taken;
        self.position = Some(position);
    }

    /// Slack said something.
    pub(super) fn heard(&mut self, elapsed: Duration) {
        self.heard_at = Some(elapsed);
    }

    /// How much is to be read after a silence until now.
    pub(super) fn reach(&self, elapsed: Duration) -> Reach {
        let is_brief = self.heard_at.is_some_and(|at| elapsed.saturating_sub(at) < BRIEF);
        if is_brief && self.gap.is_none() { Reach::Lately } else { Reach::Whole }
    }

    /// Whether something is missing that was to be read.
    pub(super) fn is_behind(&self) -> bool {
        self.gap.is_some()
    }

    /// A gap ends here: from when it has to be read, and the conversations that we know, the latest
    /// first. Nothing where we never listened before.
    pub(super) fn begin_gap(&mut self, reach: Reach, now: Timestamp) -> Option<(i64, Vec<Chat>)> {
        let position = self.position.as_ref().filter(|_| !self.is_first)?;
        let since = position.since(micros_of(now));
        let most = if reach == Reach::Whole { CHATS_MAX } else { LATELY_MAX };
        let chats: Vec<Chat> = position.chats.iter().rev().take(most).cloned().collect();
        let unread = match reach {
            Reach::Whole => Unread::AllBut(HashSet::new()),
            Reach::Lately => Unread::Only(chats.iter().map(|chat| chat.id.clone()).collect()),
        };
        self.gap = Some(Gap { since, unread });
        Some((since, chats))
    }

    /// From when a conversation has to be read, if it is not read yet.
    pub(super) fn unread_since(&self, chat: &str) -> Option<i64> {
        let gap = self.gap.as_ref()?;
        let is_unread = match &gap.unread {
            Unread::AllBut(read) => !read.contains(chat),
            Unread::Only(unread) => unread.contains(chat),
        };
        is_unread.then_some(gap.since)
    }

    /// A conversation was read, and what was said there was taken.
    pub(super) fn read(&mut self, chat: &str) {
        match self.gap.as_mut().map(|gap| &mut gap.unread) {
            Some(Unread::AllBut(read)) => drop(read.insert(chat.to_owned())),
            Some(Unread::Only(unread)) => drop(unread.remove(chat)),
            None => {}
        }
    }

    /// All of the gap was read.
    pub(super) fn end_gap(&mut self) {
        self.gap = None;
        if let Some(position) = &mut self.position
            && position.taken < self.newest
        {
            position.taken = self.newest;
            self.is_unsaved = true;
        }
    }

    /// We spoke in a thread.
    pub(super) fn spoke_in(&mut self, thread: Thread) {
        let Some(position) = &mut self.position else { return };
        if !position.threads.contains(&thread) {
            self.is_unsaved = true;
        }
        remember(&mut position.threads, thread, THREADS_MAX);
    }

    /// The threads of a conversation that we are in.
    pub(super) fn threads_in(&self, chat: &str) -> Vec<String> {
        let all = self.position.iter().flat_map(|position| position.threads.iter().rev());
        all.filter(|thread| thread.chat == chat).map(|thread| thread.root.clone()).collect()
    }

    /// The note to keep once these are taken; nothing where none was looked up, or nothing changes.
    pub(super) fn note_after(&self, taken: &Taken) -> Option<Cursor> {
        let mut position = self.position.clone()?;
        if taken.chats.is_empty() && !self.is_unsaved {
            return None;
        }
        apply(&mut position, taken, self.newest, self.gap.is_some());
        Some(position.cursor())
    }

    /// These were taken, and the note with them was kept.
    pub(super) fn took(&mut self, taken: &Taken) {
        if let Some(position) = &mut self.position {
            apply(position, taken, self.newest, self.gap.is_some());
            self.newest = self.newest.max(taken.newest);
            (self.is_unsaved, self.is_first) = (false, false);
        }
    }
}

fn apply(position: &mut Position, taken: &Taken, newest: i64, has_gap: bool) {
    if !has_gap {
        position.taken = position.taken.max(newest).max(taken.newest);
    }
    for chat in &taken.chats {
        remember(&mut position.chats, chat.clone(), CHATS_MAX);
    }
    for thread in &taken.threads {
        remember(&mut position.threads, thread.clone(), THREADS_MAX);
    }
}

/// Puts something last that may have been there before.
fn remember<T: PartialEq>(all: &mut Vec<T>, one: T, most: usize) {
    if all.last() == Some(&one) {
        return;
    }
    all.retain(|known| *known != one);
    all.push(one);
    if all.len() > most {
        all.remove(0);
    }
}

fn micros_of(at: Timestamp) -> i64 {
    at.as_millis().saturating_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn taken(newest: i64, chats: &[&str]) -> Taken {
        let chat = |id: &&str| Chat { id: (*id).to_owned(), team: "T1".to_owned() };
        Taken { newest, chats: chats.iter().map(chat).collect(), threads: vec![] }
    }

    fn taken_up(note: &str) -> Listened {
        let mut listened = Listened::default();
        listened.take_up(Some(&Cursor(note.into())), at(NOW));
        listened
    }

    #[test]
    fn a_note_that_makes_no_sense_is_as_though_we_had_never_listened() {
        for bad in ["", "null", "{}", r#"{"f":0,"t":5}"#, r#"{"f":"x","t":1}"#] {
            let mut listened = taken_up(bad);
            assert_eq!(listened.begin_gap(Reach::Whole, at(NOW)), None, "{bad}");
            assert!(listened.note_after(&Taken::default()).is_some(), "where we begin is kept");
        }
        let mut listened = taken_up(
            r#"{"f":1,"t":0,"c":[{"i":"../x","w":"T1"},{"i":"C1","w":"T1"}],"h":[{"i":"C1","r":"x"}]}"#,
        );
        let (_, chats) = listened.begin_gap(Reach::Whole, at(NOW)).unwrap();
        assert_eq!(chats.iter().map(|it| &*it.id).collect::<Vec<_>>(), ["C1"]);
        assert!(listened.threads_in("C1").is_empty());
    }

    #[test]
    fn a_gap_begins_where_nothing_is_missing_before() {
        let second = 1_000_000;
        let now = NOW * 1000;
        for (first, taken, since) in [
            // What was said before we listened is history.
            (now - 60 * second, 0, now - 60 * second),
            (now - 60 * second, now - 30 * second, now - 60 * second),
            (1, now - 3600 * second, now - 3900 * second),
            (1, 5, now - AGE_MAX),
        ] {
            let mut listened = taken_up(&format!(r#"{{"f":{first},"t":{taken}}}"#));
            assert_eq!(listened.begin_gap(Reach::Whole, at(NOW)).unwrap().0, since);
        }
    }

    #[test]
    fn our_note_stays_while_a_gap_is_open() {
        let mut listened = taken_up(r#"{"f":1,"t":7}"#);
        listened.begin_gap(Reach::Whole, at(NOW));
        let live = taken(9, &["C1"]);
        let mark = |note: Option<Cursor>| Position::read(&note.unwrap()).unwrap().taken;
        assert_eq!(mark(listened.note_after(&live)), 7);
        listened.took(&live);
        assert!(listened.unread_since("C1").is_some() && listened.is_behind());
        listened.read("C1");
        assert!(listened.unread_since("C1").is_none());
        listened.end_gap();
        assert_eq!(mark(listened.note_after(&Taken::default())), 9);
        listened.took(&Taken::default());
        assert_eq!(listened.note_after(&Taken::default()), None, "nothing is new");
        assert_eq!(mark(listened.note_after(&taken(8, &["C1"]))), 9);
    }

    #[test]
    fn only_so_much_is_remembered_and_where_somebody_spoke_last_is_read_first() {
        let mut listened = taken_up(r#"{"f":1,"t":7}"#);
        for number in 0..200 {
            listened.took(&taken(0, &[&format!("C{number}"), "C0"]));
            let root = format!("1700000000.{number:06}");
            listened.spoke_in(Thread { chat: "C1".to_owned(), root });
        }
        let (_, whole) = listened.begin_gap(Reach::Whole, at(NOW)).unwrap();
        assert_eq!((whole.len(), &*whole[0].id, &*whole[1].id), (CHATS_MAX, "C0", "C199"));
        assert_eq!(listened.threads_in("C1").len(), THREADS_MAX);
        assert_eq!(listened.threads_in("C1")[0], "1700000000.000199");
        let note = listened.note_after(&Taken::default()).unwrap();
        assert!(note.0.len() < 8 * 1024, "{}", note.0.len());
        let (_, lately) = listened.begin_gap(Reach::Lately, at(NOW)).unwrap();
        assert_eq!(lately, whole[..LATELY_MAX]);
        assert!(listened.unread_since("C0").is_some() && listened.unread_since("C1").is_none());
    }

    #[test]
    fn a_short_silence_is_bridged_by_slack_itself() {
        let mut listened = taken_up(r#"{"f":1,"t":7}"#);
        let second = Duration::from_secs;
        assert_eq!(listened.reach(second(5)), Reach::Whole, "as after a restart");
        listened.heard(second(100));
        assert_eq!(listened.reach(second(159)), Reach::Lately);
        assert_eq!(listened.reach(second(160)), Reach::Whole);
        listened.begin_gap(Reach::Lately, at(NOW));
        assert_eq!(listened.reach(second(159)), Reach::Whole, "the last one was not read");
    }
}
