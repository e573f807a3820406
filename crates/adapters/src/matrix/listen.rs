//! Listening: `/sync` from where we were, and what was said in between fetched back.

use super::Matrix;
use super::api::{Trouble, segment};
use super::crypto::Snag;
use super::known::{Invite, Us};
use super::reading::Reading;
use super::wire::{Event, Invited, Page, Room, Sync};
use insula_channel::{ConnectFault, Cursor, Envelope, EventId, Happening, Inbox, Sender};
use insula_domain::{ChatId, ChatType, UserId};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long the server holds a request when there is no news.
const POLL: Duration = Duration::from_secs(30);
/// How long an answer may take beyond that: a server that was away has much to gather.
const POLL_GRACE: Duration = Duration::from_secs(60);
/// The longest answer we take. With more rooms or longer messages we ask for less of each.
const ANSWER_LEN_MAX: usize = 32 * 1024 * 1024;
/// How much of each room we ask for; the rest is fetched page by page.
const TIMELINE_LEN: usize = 50;
/// The same after an answer that was too long.
const TIMELINE_LEN_SHORT: usize = 1;
/// Events on a page of what was missed. An event has at most 64 KiB.
const PAGE_LEN: usize = 50;
/// Pages of one gap. Only their tokens are kept, so this bounds time and not memory: a million
/// messages while we were away is no conversation any more.
const PAGES_MAX: usize = 20_000;
/// Listens until `stop` or a failure.
pub(super) async fn listen(
    matrix: &Matrix,
    inbox: &dyn Inbox,
    stop: &CancellationToken,
) -> Result<(), ConnectFault> {
    let listener = Listener { matrix, inbox, stop };
    let heard = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(()),
        heard = listener.run() => heard,
    };
    // A request that `stop` ended is no failure.
    if stop.is_cancelled() { Ok(()) } else { heard }
}

pub(super) struct Listener<'a> {
    pub(super) matrix: &'a Matrix,
    pub(super) inbox: &'a dyn Inbox,
    pub(super) stop: &'a CancellationToken,
}

impl Listener<'_> {
    async fn run(&self) -> Result<(), ConnectFault> {
        let us = self.matrix.learn_who_we_are(self.stop).await?;
        self.learn_direct(&us).await?;
        let _keys = self.matrix.bring_keys(&us, self.inbox.keep()).await?;
        let cursor = self.inbox.cursor().await.map_err(not_taken)?;
        let (since, is_new) = match cursor {
            Some(Cursor(since)) => (since, false),
            None => (self.begin(&us).await?, true),
        };
        self.inbox.alive();
        self.read_what_waited(&us).await?;
        // Side by side: whatever the backup takes its time for, messages don't wait for it.
        tokio::select! {
            biased;
            fault = self.hear(&us, since, is_new) => fault,
            fault = self.mind_backup(&us) => fault,
        }
    }

    /// Asks for what happened, again and again, until that fails.
    async fn hear(
        &self,
        us: &Us,
        mut since: Box<str>,
        mut is_new: bool,
    ) -> Result<(), ConnectFault> {
        let mut timeline_len = TIMELINE_LEN;
        loop {
            match self.sync(us, &since, timeline_len).await {
                Ok(next) => {
                    since = next;
                    timeline_len = TIMELINE_LEN;
                }
                Err(Heard::TooMuch) if timeline_len > TIMELINE_LEN_SHORT => {
                    timeline_len = TIMELINE_LEN_SHORT;
                }
                Err(Heard::TooMuch) => {
                    let why = "the homeserver's answer is longer than we take".into();
                    return Err(ConnectFault::Broken { why, wait: None });
                }
                Err(Heard::Lost(why)) if is_new => {
                    return Err(ConnectFault::Broken { why: why.into(), wait: None });
                }
                Err(Heard::Lost(why)) => {
                    tracing::error!(
                        account = %self.matrix.account,
                        why,
                        "the homeserver no longer knows how far we had listened; \
                         what was said in between is not fetched"
                    );
                    since = self.begin(us).await?;
                    is_new = true;
                }
                Err(Heard::Fault(fault)) => return Err(fault),
            }
        }
    }

    /// Begins at this moment: what was said before our account first listened is history. Only
    /// invitations that wait for an answer count.
    async fn begin(&self, us: &Us) -> Result<Box<str>, ConnectFault> {
        let filter = json!({
            "presence": { "types": [] },
            "account_data": { "types": [] },
            "room": {
                "state": { "types": [] },
                "timeline": { "types": [], "limit": 1 },
                "ephemeral": { "types": [] },
                "account_data": { "types": [] },
            },
        });
        let path = format!("/client/v3/sync?timeout=0&filter={}", segment(&filter.to_string()));
        let server = &self.matrix.server;
        let reply = server.get_within(&path, (POLL + POLL_GRACE, ANSWER_LEN_MAX), self.stop).await;
        let reply = reply.map_err(Trouble::into_fault)?;
        let answer: Sync<'_> = read(&reply.body)?;
        let crypto = self.matrix.crypto.load_full();
        if let Some(crypto) = &crypto {
            crypto.doubt_devices().await.map_err(Snag::into_fault)?;
            crypto.receive(&answer).await.map_err(Snag::into_fault)?;
        }
        let invites = self.invites(us, "", &answer.rooms.invite);
        let next: Box<str> = answer.next_batch.into();
        self.take(invites, Some(next.clone())).await?;
        if let Some(crypto) = &crypto {
            crypto.taken();
        }
        Ok(next)
    }

    /// Asks once for what happened since, and hands it over. Gives where to go on.
    async fn sync(&self, us: &Us, since: &str, timeline_len: usize) -> Result<Box<str>, Heard> {
        let path = format!(
            "/client/v3/sync?timeout={}&since={}&filter={}",
            POLL.as_millis(),
            segment(since),
            segment(&filter(timeline_len).to_string())
        );
        let server = &self.matrix.server;
        let reply = server.get_within(&path, (POLL + POLL_GRACE, ANSWER_LEN_MAX), self.stop).await;
        let reply = reply.map_err(|trouble| match trouble {
            Trouble::Wire(insula_wire::WireFault::TooMuch { .. }) => Heard::TooMuch,
            Trouble::No { status: 400, why, .. } => Heard::Lost(why),
            trouble => Heard::Fault(trouble.into_fault()),
        })?;
        self.inbox.alive();
        let answer: Sync<'_> = read(&reply.body)?;
        for event in answer.account_data.events.iter().filter_map(|raw| account_data(raw)) {
            self.matrix.known().learn_direct(&event);
        }
        let mut envelopes = self.invites(us, since, &answer.rooms.invite);
        let crypto = self.matrix.crypto.load_full();
        let mut waited = vec![];
        if let Some(crypto) = &crypto {
            for key in crypto.receive(&answer).await.map_err(Snag::into_fault)? {
                let (room, key) = (key.room_id.as_str(), &*key.session_id);
                envelopes.extend(self.waited_for(us, (room, key), &mut waited).await?);
            }
        }
        for (id, room) in &answer.rooms.join {
            envelopes.extend(self.room(us, id, room, since).await?);
        }
        for (id, room) in &answer.rooms.leave {
            envelopes.extend(self.room(us, id, room, since).await?);
            self.matrix.known().forget_room(id);
        }
        let next: Box<str> = answer.next_batch.into();
        self.take(envelopes, Some(next.clone())).await?;
        if let Some(crypto) = &crypto {
            crypto.taken();
            self.went_on(us, crypto, &waited).await?;
        }
        Ok(next)
    }

    /// What happened in one room: what was left out first, then what the answer holds.
    async fn room(
        &self,
        us: &Us,
        id: &str,
        room: &Room<'_>,
        since: &str,
    ) -> Result<Vec<Envelope>, ConnectFault> {
        let Ok(chat) = ChatId::new(id) else { return Ok(vec![]) };
        let events = events(&room.timeline.events);
        let reading = Reading { matrix: self.matrix, us, room: &chat, cancel: self.stop };
        let mut presence = Presence::before(&events, us).unwrap_or(Presence::There);
        self.matrix.learn_encryption(id, room).await?;
        match &room.timeline.prev_batch {
            Some(before) if room.timeline.limited => {
                presence = self.fill(&reading, (before, since), presence).await?;
            }
            None if room.timeline.limited => tracing::error!(
                account = %self.matrix.account, room = id,
                "the homeserver leaves messages out and does not say how to get them"
            ),
            _ => {}
        }
        // Names of those who speak in a room with many members.
        for event in room.state.events.iter().filter_map(|raw| Event::read(raw)) {
            if event.kind == "m.room.member" {
                self.matrix.known().learn_member(id, &event);
            }
        }
        self.read(&reading, events, &mut presence).await
    }

    /// Fetches what lies between the answer and where we were, and hands it over, the oldest
    /// first. Pages come newest first: their tokens are gathered, then the pages are read
    /// from the end, so that no gap is too long for our memory. Takes and gives whether we were
    /// in the room when the answer begins.
    async fn fill(
        &self,
        reading: &Reading<'_>,
        (before, since): (&str, &str),
        mut presence: Presence,
    ) -> Result<Presence, ConnectFault> {
        let room = reading.room.as_str();
        let mut tokens: Vec<String> = vec![];
        let mut from = before.to_owned();
        let mut oldest = loop {
            let Some((page, end)) = self.page(room, &from, since).await? else {
                tracing::error!(
                    account = %self.matrix.account, room,
                    "the homeserver does not give what was said while we were away"
                );
                return Ok(presence);
            };
            presence = Presence::before(&page, reading.us).unwrap_or(presence);
            match end {
                Some(end) if !page.is_empty() && end != from && tokens.len() < PAGES_MAX => {
                    tokens.push(std::mem::replace(&mut from, end));
                }
                _ => {
                    if tokens.len() >= PAGES_MAX {
                        tracing::error!(
                            account = %self.matrix.account, room,
                            "more was said while we were away than is fetched; its beginning is lost"
                        );
                    }
                    break page;
                }
            }
        };
        loop {
            let envelopes = self.read(reading, oldest, &mut presence).await?;
            self.take(envelopes, None).await?;
            let Some(from) = tokens.pop() else { return Ok(presence) };
            oldest = self.page(room, &from, since).await?.unwrap_or_default().0;
        }
    }

    /// One page of what lies before `from`, in the order it was said, and the token of the next.
    /// Nothing when the server does not let us have it.
    async fn page(
        &self,
        room: &str,
        from: &str,
        to: &str,
    ) -> Result<Option<(Vec<Event>, Option<String>)>, ConnectFault> {
        let path = format!(
            "/client/v3/rooms/{}/messages?dir=b&limit={PAGE_LEN}&from={}&to={}&filter={}",
            segment(room),
            segment(from),
            segment(to),
            segment(&timeline_filter(PAGE_LEN).to_string()),
        );
        let asked = self.matrix.server.get(&path, self.stop);
        let Some(reply) = self.matrix.ask(&format!("page {room} {from}"), asked).await? else {
            return Ok(None);
        };
        let page: Page<'_> = read(&reply.body)?;
        let mut events = events(&page.chunk);
        events.reverse();
        self.inbox.alive();
        Ok(Some((events, page.end)))
    }

    async fn read(
        &self,
        reading: &Reading<'_>,
        events: Vec<Event>,
        presence: &mut Presence,
    ) -> Result<Vec<Envelope>, ConnectFault> {
        let mut envelopes = vec![];
        for event in events {
            if let Some(now) = Presence::after(&event, reading.us) {
                *presence = now;
            } else if *presence == Presence::Away {
                continue;
            }
            envelopes.extend(reading.envelopes(event).await?);
        }
        Ok(envelopes)
    }

    /// Invitations. They have no id of their own; the same one is in the same answer again
    /// until that is acknowledged, so where the answer began makes one.
    fn invites(
        &self,
        us: &Us,
        since: &str,
        invited: &std::collections::BTreeMap<String, Invited<'_>>,
    ) -> Vec<Envelope> {
        let mut envelopes = vec![];
        for (room, invited) in invited {
            let events = events(&invited.invite_state.events);
            let ours = |event: &&Event| {
                event.is_member(&us.id) && event.text("membership") == Some("invite")
            };
            let Some(invite) = events.iter().find(ours) else { continue };
            let (Ok(chat), Ok(user)) = (ChatId::new(&**room), UserId::new(&*invite.sender)) else {
                continue;
            };
            let is_direct = invite.content.get("is_direct") == Some(&Value::Bool(true));
            let by: Box<str> = invite.sender.clone().into();
            let name = events.iter().find(|event| event.is_member(&by));
            let name = name.and_then(|event| event.text("displayname"));
            let name = name.unwrap_or(super::known::local_part(&by)).into();
            self.matrix
                .known()
                .invites
                .insert((&**room).into(), Invite { by, is_direct, replaces: None });
            let digest = blake3::hash(format!("{since}\n{room}").as_bytes()).to_hex();
            let chat_type = if is_direct { ChatType::Dm } else { ChatType::Group };
            envelopes.push(Envelope {
                event: EventId(format!("invite:{}", &digest[..32]).into()),
                address: self.matrix.address(chat, chat_type, None, user),
                sender: Sender { name, ..Sender::default() },
                at: invite.at.unwrap_or_else(|| self.matrix.world.clock.now()),
                what: Happening::Added,
            });
        }
        envelopes
    }

    async fn learn_direct(&self, us: &Us) -> Result<(), ConnectFault> {
        let path = format!("/client/v3/user/{}/account_data/m.direct", segment(&us.id));
        let asked = self.matrix.server.get(&path, self.stop);
        if let Some(reply) = self.matrix.ask("m.direct", asked).await? {
            self.matrix.known().learn_direct(&read(&reply.body)?);
        }
        Ok(())
    }

    pub(super) async fn take(
        &self,
        envelopes: Vec<Envelope>,
        next: Option<Box<str>>,
    ) -> Result<(), ConnectFault> {
        if envelopes.is_empty() && next.is_none() {
            return Ok(());
        }
        self.inbox.take(envelopes, next.map(Cursor)).await.map_err(not_taken)
    }
}

/// Why an answer was not handed over.
enum Heard {
    /// It was too long.
    TooMuch,
    /// The server does not know where we were.
    Lost(String),
    /// Anything else.
    Fault(ConnectFault),
}

impl From<ConnectFault> for Heard {
    fn from(fault: ConnectFault) -> Self {
        Self::Fault(fault)
    }
}

/// What we want to hear of.
fn filter(timeline_len: usize) -> Value {
    json!({
        "presence": { "types": [] },
        "account_data": { "types": ["m.direct"] },
        "room": {
            "state": {
                "types": ["m.room.member", "m.room.encryption"],
                "lazy_load_members": true,
                "include_redundant_members": true,
            },
            "timeline": timeline_filter(timeline_len),
            "ephemeral": { "types": [] },
            "account_data": { "types": [] },
        },
    })
}

fn timeline_filter(len: usize) -> Value {
    json!({
        "limit": len,
        "lazy_load_members": true,
        "types": [
            "m.room.message",
            "m.sticker",
            "m.room.encrypted",
            "m.reaction",
            "m.room.redaction",
            "m.room.member",
            "m.room.tombstone",
            "m.room.encryption",
        ],
    })
}

pub(super) fn read<'a, T: serde::Deserialize<'a>>(body: &'a [u8]) -> Result<T, ConnectFault> {
    serde_json::from_slice(body).map_err(|error| Trouble::garbage(&error.to_string()).into_fault())
}

fn events(raw: &[&RawValue]) -> Vec<Event> {
    raw.iter().filter_map(|raw| Event::read(raw)).collect()
}

/// The content of `m.direct`.
fn account_data(raw: &RawValue) -> Option<Value> {
    let mut value: Value = serde_json::from_str(raw.get()).ok()?;
    (value.get("type")?.as_str()? == "m.direct").then(|| value["content"].take())
}

/// Whether we were in a room. What was said while we were not is not said to us, even where
/// the server shows it to those who come later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    There,
    Away,
}

impl Presence {
    /// What an event makes of it; nothing when it is not about that.
    fn after(event: &Event, us: &Us) -> Option<Self> {
        if event.is_arrival(&us.id) {
            Some(Self::There)
        } else {
            event.is_departure(&us.id).then_some(Self::Away)
        }
    }

    /// What it was before these events, where they tell.
    fn before(events: &[Event], us: &Us) -> Option<Self> {
        events.iter().find_map(|event| Self::after(event, us)).map(|after| match after {
            Self::There => Self::Away,
            Self::Away => Self::There,
        })
    }
}

fn not_taken(error: insula_channel::NotTaken) -> ConnectFault {
    ConnectFault::Broken { why: error.0, wait: None }
}
