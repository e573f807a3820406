//! How events come: a socket that is resumed where it was, and what was said in between.
//!
//! The server numbers the events of a connection and keeps the last 128 for whoever comes back with
//! its name. Where it says hello under another name, something may be missing, and the channels are
//! read from the moment up to which all was taken. Our note is all three: name, number, moment.

use super::Mattermost;
use super::reading::{Scene, Telling, added, is_in_anothers_name};
use super::types::{Channel, Entries, Entry, Frame, RemoteReaction, is_id};
use crate::trouble::Trouble;
use insula_channel::{ConnectFault, Cursor, Envelope, Happening, Inbox, ReactionChange};
use insula_wire::{Heard, Refusal, Socket, SocketFault};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often the server is asked whether it is there. Proxies cut off what is silent for some
/// hundred seconds, and some of them answer pings of the protocol themselves.
const PING_EVERY: Duration = Duration::from_secs(30);
/// How long it may take to say so.
const PONG_WITHIN: Duration = Duration::from_secs(15);
/// How long a healthy connection may say nothing at all.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(90);
/// How long the server may take to say hello.
const HELLO_WITHIN: Duration = Duration::from_secs(20);
/// How much earlier than what was last taken reading begins again: messages of two channels may
/// be stored in another order than their times. What comes again is recognised.
const OVERLAP_MS: i64 = 5_000;
/// How far the server's clock may be ahead of ours.
const AHEAD_MS_MAX: i64 = 24 * 3_600 * 1000;
/// The most messages that one answer about a channel has.
const SINCE_MAX: usize = 1000;
/// Messages of one page of a channel.
const PAGE_LEN: usize = 200;
/// Pages that are read at most: ten thousand messages of a channel.
const PAGES_MAX: usize = 50;

/// Where we are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// The connection's name; nothing before the server gave one.
    #[serde(rename = "c")]
    connection: String,
    /// The number that the next event has to have.
    #[serde(rename = "n")]
    next: u64,
    /// Up to when all was taken, in the server's milliseconds.
    #[serde(rename = "t")]
    taken: i64,
}

impl Place {
    fn read(cursor: &Cursor) -> Option<Self> {
        let place: Self = serde_json::from_str(&cursor.0).ok()?;
        (place.connection.is_empty() || is_id(&place.connection)).then_some(place)
    }

    fn cursor(&self) -> Cursor {
        // Texts and numbers always have a JSON text.
        Cursor(serde_json::to_string(self).unwrap_or_default().into())
    }

    /// All up to `at` was taken. A moment that is far ahead is none: with it, all that is said
    /// until then would be left out of the next gap.
    fn took(&mut self, at: i64, now: i64) {
        if at <= now.saturating_add(AHEAD_MS_MAX) {
            self.taken = self.taken.max(at.saturating_sub(OVERLAP_MS));
        }
    }
}

/// One session of listening.
struct Session<'a> {
    us: &'a Mattermost,
    inbox: &'a dyn Inbox,
    stop: &'a CancellationToken,
    place: Place,
    /// The number of the last thing we said by the socket.
    said: u64,
}

impl Mattermost {
    pub(super) async fn hear(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        let ended = self.hear_on(inbox, stop).await;
        // Whatever was under way when we were told to stop failed for that alone.
        if stop.is_cancelled() { Ok(()) } else { ended }
    }

    /// Hears from where it was until something fails.
    async fn hear_on(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        // A socket is opened for anybody: whether our token is good, a request tells.
        self.learn_us(stop).await.map_err(Trouble::into_fault)?;
        let kept = inbox.cursor().await.map_err(|error| broken(&error.to_string()))?;
        let place = match kept.as_ref().and_then(Place::read) {
            Some(place) => place,
            None => {
                let place = self.present(stop).await?;
                // Kept before anybody is told that we listen: what is said from then on is no
                // history, whatever becomes of us.
                let kept = inbox.take(vec![], Some(place.cursor())).await;
                kept.map_err(|error| broken(&error.to_string()))?;
                place
            }
        };
        Session { us: self, inbox, stop, place, said: 0 }.run().await
    }

    /// Where an account begins that never listened: what was said before is history.
    async fn present(&self, stop: &CancellationToken) -> Result<Place, ConnectFault> {
        let channels = self.channels(stop).await?;
        let taken = channels.iter().map(|channel| channel.last_post_at).max().unwrap_or(0);
        Ok(Place { connection: String::new(), next: 0, taken })
    }
}

impl Session<'_> {
    async fn run(&mut self) -> Result<(), ConnectFault> {
        let mut socket = self.open().await?;
        let ended = self.attend(&mut socket).await;
        // What failed is dropped: a goodbye would wait for an answer that may never come.
        if ended.is_ok() {
            socket.close(1000, "").await;
        }
        ended
    }

    async fn open(&mut self) -> Result<Socket, ConnectFault> {
        let Place { connection, next, .. } = &self.place;
        let call = self.us.server.socket(connection, *next).map_err(Trouble::into_fault)?;
        let opened = self.us.server.transport.socket(call, self.stop).await;
        let mut socket = opened.map_err(|refusal| match refusal {
            Refusal::Answered { status: 401, .. } => {
                ConnectFault::Refused("the server does not take the token".into())
            }
            Refusal::Answered { wait, .. } => {
                ConnectFault::Broken { why: refusal.to_string().into(), wait }
            }
            Refusal::Wire(fault) => broken(&fault.to_string()),
        })?;
        let token = self.us.server.token();
        self.say(&mut socket, "authentication_challenge", &json!({ "token": token })).await?;
        Ok(socket)
    }

    /// Says something by the socket.
    async fn say(
        &mut self,
        socket: &mut Socket,
        action: &str,
        data: &serde_json::Value,
    ) -> Result<(), ConnectFault> {
        self.said += 1;
        let text = json!({ "seq": self.said, "action": action, "data": data }).to_string();
        socket.text(text).await.map_err(|fault| gone(&fault))
    }

    /// Hears until something fails.
    async fn attend(&mut self, socket: &mut Socket) -> Result<(), ConnectFault> {
        let clock = self.us.clock.clone();
        let mut ping_at = clock.elapsed() + PING_EVERY;
        // The answer to our token, or hello: whichever comes first.
        let mut due = Some(clock.elapsed() + HELLO_WITHIN);
        loop {
            let now = clock.elapsed();
            let until = due.map_or(ping_at, |due| due.min(ping_at));
            let heard = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Ok(()),
                heard = socket.next() => heard.map_err(|fault| gone(&fault))?,
                () = clock.sleep(until.saturating_sub(now)) => {
                    let now = clock.elapsed();
                    if due.is_some_and(|due| due <= now) {
                        return Err(broken("the server says nothing, though the connection is open"));
                    }
                    self.say(socket, "ping", &json!({})).await?;
                    due.get_or_insert(now + PONG_WITHIN);
                    ping_at = now + PING_EVERY;
                    continue;
                }
            };
            let Heard::Text(text) = heard else { continue };
            // What makes no sense would make none the next time.
            let Ok(frame) = serde_json::from_str::<Frame>(&text) else {
                tracing::debug!(account = %self.us.account, "a frame makes no sense and is left out");
                continue;
            };
            due = None;
            self.inbox.alive();
            if frame.seq_reply.is_some() {
                if frame.status == "FAIL" && frame.seq_reply == Some(1) {
                    let why = "the server does not take the token";
                    return Err(ConnectFault::Refused(why.into()));
                }
                continue;
            }
            self.take_in(&frame).await?;
        }
    }

    /// Takes an event in its order.
    async fn take_in(&mut self, frame: &Frame) -> Result<(), ConnectFault> {
        if frame.event == "hello" {
            return self.greeted(frame).await;
        }
        // Whatever has no number is no event of the server's.
        let Some(number) = frame.seq else { return Ok(()) };
        if number < self.place.next {
            // It was heard before.
            return Ok(());
        }
        if number > self.place.next {
            // The server sends what is missing to whoever comes back, or says that it can't.
            return Err(broken("events are missing; the connection begins anew"));
        }
        let (envelopes, at) = self.envelopes(frame, number).await?;
        self.place.next = number + 1;
        if !envelopes.is_empty() {
            self.place.took(at, self.us.clock.now().as_millis());
            self.hand_over(envelopes).await?;
        }
        Ok(())
    }

    /// A connection that is not the one we knew begins: what was said meanwhile is read.
    async fn greeted(&mut self, frame: &Frame) -> Result<(), ConnectFault> {
        let connection = frame.text("connection_id").filter(|id| is_id(id)).unwrap_or_default();
        let is_known = !connection.is_empty() && connection == self.place.connection;
        self.place.next = frame.seq.map_or(0, |number| number + 1);
        connection.clone_into(&mut self.place.connection);
        if !is_known {
            self.catch_up().await?;
        }
        self.hand_over(vec![]).await
    }

    async fn hand_over(&self, envelopes: Vec<Envelope>) -> Result<(), ConnectFault> {
        let cursor = self.place.cursor();
        let taken = self.inbox.take(envelopes, Some(cursor)).await;
        taken.map_err(|error| broken(&error.to_string()))
    }

    /// Reads what was said since the moment up to which all was taken, oldest first.
    async fn catch_up(&mut self) -> Result<(), ConnectFault> {
        let since = self.place.taken;
        let channels = self.us.channels(self.stop).await?;
        let mut all = Vec::new();
        for channel in channels.iter().filter(|channel| channel.last_post_at > since) {
            all.extend(self.said_since(channel, since).await?);
            // Reading may take long where there is much of it.
            self.inbox.alive();
        }
        all.sort_by(|one, other| (one.create_at, &one.id).cmp(&(other.create_at, &other.id)));
        let mut envelopes = Vec::new();
        let mut newest = since.saturating_add(OVERLAP_MS);
        for entry in all {
            newest = newest.max(entry.create_at);
            if entry.create_at > since {
                envelopes.extend(self.entry(&entry, Telling::Said).await?);
            }
            // It may have been said and taken before, and be known as it was then.
            if entry.edit_at > since {
                envelopes.extend(self.entry(&entry, Telling::Edited).await?);
            }
        }
        self.place.took(newest, self.us.clock.now().as_millis());
        self.hand_over(envelopes).await
    }

    /// What was said or edited in a channel since a moment.
    async fn said_since(&self, channel: &Channel, since: i64) -> Result<Vec<Entry>, ConnectFault> {
        let path = format!("/channels/{}/posts?since={since}", channel.id);
        let mut found: BTreeMap<String, Entry> = self.page(&path).await?;
        if found.len() >= SINCE_MAX {
            // There may be more than one answer holds.
            for number in 0..PAGES_MAX {
                let path =
                    format!("/channels/{}/posts?page={number}&per_page={PAGE_LEN}", channel.id);
                let page = self.page(&path).await?;
                let is_over = page.len() < PAGE_LEN;
                let reaches = page.values().any(|entry| entry.create_at <= since);
                found.extend(page);
                self.inbox.alive();
                if is_over || reaches {
                    break;
                }
            }
        }
        let is_new = |entry: &Entry| entry.create_at > since || entry.edit_at > since;
        let fits = |entry: &Entry| entry.original_id.is_empty() && entry.delete_at == 0;
        Ok(found.into_values().filter(|entry| is_new(entry) && fits(entry)).collect())
    }

    async fn page(&self, path: &str) -> Result<BTreeMap<String, Entry>, ConnectFault> {
        let entries: Entries =
            self.us.server.get(path, self.stop).await.map_err(Trouble::into_fault)?;
        // One that makes no sense does not take the others with it.
        let read = entries.posts.into_values().filter_map(|it| serde_json::from_value(it).ok());
        Ok(read.filter(Entry::is_sound).map(|entry: Entry| (entry.id.clone(), entry)).collect())
    }

    /// The envelopes of an event, and the server's time of it.
    async fn envelopes(
        &self,
        frame: &Frame,
        number: u64,
    ) -> Result<(Vec<Envelope>, i64), ConnectFault> {
        let found = match frame.event.as_str() {
            "posted" => match frame.enclosed::<Entry>("post").filter(Entry::is_sound) {
                Some(entry) => (self.entry(&entry, Telling::Said).await?, entry.create_at),
                None => (None, 0),
            },
            "post_edited" => match frame.enclosed::<Entry>("post").filter(Entry::is_sound) {
                Some(entry) => (self.entry(&entry, Telling::Edited).await?, entry.edit_at),
                None => (None, 0),
            },
            "post_deleted" => match frame.enclosed::<Entry>("post").filter(Entry::is_sound) {
                Some(entry) => (self.deleted(&entry).await?, 0),
                None => (None, 0),
            },
            "reaction_added" => (self.reaction(frame, ReactionChange::Put).await?, 0),
            "reaction_removed" => (self.reaction(frame, ReactionChange::Taken).await?, 0),
            "user_removed" => (self.removed(frame, number).await?, 0),
            "channel_updated" | "channel_converted" => {
                if let Some(id) = frame.channel() {
                    self.us.known().channels.remove(id);
                }
                (None, 0)
            }
            "user_updated" => {
                let id = frame.data.pointer("/user/id").and_then(serde_json::Value::as_str);
                if let Some(id) = id {
                    self.us.known().people.remove(id);
                }
                (None, 0)
            }
            _ => (None, 0),
        };
        Ok((found.0.into_iter().collect(), found.1))
    }

    async fn entry(
        &self,
        entry: &Entry,
        telling: Telling,
    ) -> Result<Option<Envelope>, ConnectFault> {
        let us = self.us.us()?;
        let note = self.us.keep_note(entry);
        let is_ours = *entry.user_id == *us.id && added(entry).is_none();
        if is_ours || (entry.kind.starts_with("system_") && added(entry) != Some(&*us.id)) {
            return Ok(None);
        }
        let Some(channel) = self.us.channel(&entry.channel_id, self.stop).await? else {
            return Ok(None);
        };
        let person = match is_in_anothers_name(entry) {
            true => None,
            false => self.us.person(&entry.user_id, self.stop).await?,
        };
        let scene =
            Scene { channel: &channel, root: note.root.as_deref(), person: person.as_ref() };
        let reader = self.us.reader(&us);
        if added(entry) == Some(&*us.id) {
            // By ourselves is by nobody who would be asked.
            let scene = Scene { person: scene.person.filter(|it| *it.id != *us.id), ..scene };
            let event = entry.id.clone();
            return Ok(reader.change(scene, event, entry.create_at, Happening::Added));
        }
        // Somebody there was before they were nobody's: without a name nothing is let in.
        Ok(reader.entry(scene, entry, telling))
    }

    async fn deleted(&self, entry: &Entry) -> Result<Option<Envelope>, ConnectFault> {
        let us = self.us.us()?;
        let Some(channel) = self.us.channel(&entry.channel_id, self.stop).await? else {
            return Ok(None);
        };
        let person = self.us.person(&entry.user_id, self.stop).await?;
        let root = (!entry.root_id.is_empty()).then_some(entry.root_id.as_str());
        let scene = Scene { channel: &channel, root, person: person.as_ref() };
        Ok(self.us.reader(&us).deleted(scene, entry))
    }

    async fn reaction(
        &self,
        frame: &Frame,
        change: ReactionChange,
    ) -> Result<Option<Envelope>, ConnectFault> {
        let us = self.us.us()?;
        let Some(reaction) = frame.enclosed::<RemoteReaction>("reaction") else { return Ok(None) };
        if *reaction.user_id == *us.id {
            return Ok(None);
        }
        let Some(note) = self.us.note(&reaction.post_id, self.stop).await? else { return Ok(None) };
        let Some(channel) = self.us.channel(&note.channel, self.stop).await? else {
            return Ok(None);
        };
        let Some(person) = self.us.person(&reaction.user_id, self.stop).await? else {
            return Ok(None);
        };
        let scene = Scene { channel: &channel, root: note.root.as_deref(), person: Some(&person) };
        let now = self.us.clock.now().as_millis();
        Ok(self.us.reader(&us).reaction(scene, (&reaction, &note), (change, now)))
    }

    /// Somebody is no longer in a channel.
    async fn removed(&self, frame: &Frame, number: u64) -> Result<Option<Envelope>, ConnectFault> {
        let us = self.us.us()?;
        // The one it is about is told it as theirs, and everybody else by name.
        let gone = frame.text("user_id").unwrap_or(&frame.broadcast.user_id);
        let Some(id) = frame.channel().filter(|_| is_id(gone)) else { return Ok(None) };
        let is_us = *gone == *us.id;
        let channel = match self.us.channel(id, self.stop).await? {
            Some(channel) => channel,
            // Where we are thrown out we see nothing any more.
            None if is_us => Channel {
                id: id.to_owned(),
                team_id: String::new(),
                kind: "P".to_owned(),
                last_post_at: 0,
            },
            None => return Ok(None),
        };
        let by = if is_us { frame.text("remover_id").unwrap_or_default() } else { gone };
        let person = self.us.person(by, self.stop).await?;
        let what = if is_us { Happening::Removed } else { Happening::Left };
        let scene = Scene { channel: &channel, root: None, person: person.as_ref() };
        let event = format!("{}/{number}/removed", self.place.connection);
        let now = self.us.clock.now().as_millis();
        Ok(self.us.reader(&us).change(scene, event, now, what))
    }
}

/// What the end of a socket means.
fn gone(fault: &SocketFault) -> ConnectFault {
    broken(&fault.to_string())
}

pub(super) fn broken(why: &str) -> ConnectFault {
    ConnectFault::Broken { why: why.into(), wait: None }
}
