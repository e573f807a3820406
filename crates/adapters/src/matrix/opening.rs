//! Encrypted rooms, as the rest of the adapter sees them: whether one is, what is in an event,
//! what waits for a key, and who is told.

use super::Matrix;
use super::api::Trouble;
use super::api::segment;
use super::crypto::{Crypto, Opened, Signed, Snag, fingerprint_of, grouped};
use super::known::Us;
use super::listen::Listener;
use super::reading::Reading;
use super::wire::{Event, Room};
use insula_channel::{ConnectFault, Envelope, Keep};
use insula_domain::ChatId;
use insula_wire::Method;
use matrix_sdk_crypto::store::types::RoomSettings;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a key may be on its way before a room is told that it is missing: keys and messages
/// come by different ways.
const KEY_LATE: Duration = Duration::from_secs(60);
/// What a room is told then, once.
const NOTICE: &str = "I could not read a message here: it is encrypted, and I was not given its \
                      key. If it was for me, please send it again.";

/// An event that waited: its room, its key and its id.
pub(super) type Waited = (Box<str>, Box<str>, Box<str>);

/// The keys of a connection, which are put away with it.
pub(super) struct KeysHeld<'a>(&'a Matrix);

impl Drop for KeysHeld<'_> {
    fn drop(&mut self) {
        if let Some(crypto) = self.0.crypto.swap(None) {
            crypto.close();
        }
        // What is not heard may change.
        let mut known = self.0.known();
        let plain: Vec<Box<str>> = known.plain.keys().cloned().collect();
        for room in &plain {
            known.plain.remove(room);
        }
    }
}

impl Matrix {
    /// Reads our device's keys, and tells the server of them. They are there until what is given
    /// back is dropped.
    pub(super) async fn bring_keys(
        &self,
        us: &Us,
        keep: Option<Arc<dyn Keep>>,
    ) -> Result<KeysHeld<'_>, ConnectFault> {
        let held = KeysHeld(self);
        let (Some(device), Some(keep)) = (&us.device, keep) else {
            let why = match us.device {
                None => "the token is for no device, so encrypted rooms can't be read",
                Some(_) => "there is no place for keys, so encrypted rooms can't be read",
            };
            self.known().no_encryption = Some(why.into());
            return Ok(held);
        };
        let crypto = Crypto::open(keep, &us.id, device).await.map_err(Snag::into_fault)?;
        if !self.has_our_keys(&crypto).await? {
            let why = format!(
                "the homeserver knows device {device} by other keys than those kept here, so \
                 encrypted rooms can't be read: log in anew and give the account that token"
            );
            tracing::error!(account = %self.account, "{why}");
            self.known().no_encryption = Some(why.into());
            return Ok(held);
        }
        self.known().no_encryption = None;
        crypto.settle_in_turn(&self.server).await.map_err(Snag::into_fault)?;
        match crypto.vouch(&self.server).await {
            Ok(signed) => self.known().is_signed = Some(signed == Signed::Yes),
            Err(Snag::Keys(why)) => return Err(Snag::Keys(why).into_fault()),
            Err(why) => {
                tracing::info!(account = %self.account, ?why, "the device stays without the account's signature");
            }
        }
        self.crypto.store(Some(Arc::new(crypto)));
        Ok(held)
    }

    /// Whether the server knows our device by the keys that are kept here, or not at all.
    async fn has_our_keys(&self, crypto: &Crypto) -> Result<bool, ConnectFault> {
        match crypto.is_ours(&self.server).await {
            // It has no such question: nothing will be encrypted there.
            Err(Snag::Server(trouble)) if trouble.is_no() => Ok(true),
            other => other.map_err(Snag::into_fault),
        }
    }

    /// What there is to know of our device, for the operator.
    pub(super) async fn tell_of_device(
        &self,
        us: &Us,
        missing: &mut Vec<String>,
    ) -> Result<Vec<String>, ConnectFault> {
        let unread: Vec<String> = self.known().encrypted.keys().map(ToString::to_string).collect();
        if !unread.is_empty() {
            let rooms = unread.join(", ");
            missing.push(format!("in these rooms something encrypted could not be read: {rooms}"));
        }
        let trouble = self.known().no_encryption.clone();
        if let Some(why) = trouble {
            missing.push(why.to_string());
            return Ok(vec![]);
        }
        let Some(device) = &us.device else { return Ok(vec![]) };
        if let Some(crypto) = self.crypto.load_full() {
            let signed = match self.known().is_signed {
                Some(true) => "signed with the account's own keys",
                _ => "not signed with the account's own keys, so clients warn of it",
            };
            let fingerprint = crypto.fingerprint();
            let about = format!(
                "encrypted rooms work: device {device}, {signed}, fingerprint {fingerprint}"
            );
            return Ok(vec![about]);
        }
        Ok(vec![match fingerprint_of(&self.server, &us.id, device).await {
            Ok(Some(key)) => {
                format!("device {device} for encrypted rooms, fingerprint {}", grouped(&key))
            }
            Ok(None) => {
                format!("device {device}, which gets keys for encrypted rooms when it connects")
            }
            Err(trouble) if trouble.is_no() => format!("device {device}"),
            Err(trouble) => return Err(trouble.into_fault()),
        }])
    }

    /// How a room is encrypted, if it is. Where that can't be told it is an error.
    pub(super) async fn encryption_of(&self, room: &str) -> Result<Option<RoomSettings>, Snag> {
        let crypto = self.crypto.load_full();
        if let Some(crypto) = &crypto
            && let Some(settings) = crypto.settings_of(room).await?
        {
            return Ok(Some(settings));
        }
        if self.known().plain.get(room).is_some() {
            return Ok(None);
        }
        let path = format!("/client/v3/rooms/{}/state/m.room.encryption/", segment(room));
        let content: Value = match self.server.get(&path, &CancellationToken::new()).await {
            Ok(reply) => serde_json::from_slice(&reply.body)
                .map_err(|error| Trouble::garbage(&error.to_string()))?,
            Err(Trouble::No { status: 404, .. }) => {
                // Only who listens hears when that changes.
                if crypto.is_some() {
                    self.known().plain.insert(room.into(), ());
                }
                return Ok(None);
            }
            Err(Trouble::No { why, .. }) => return Err(Snag::Never(why)),
            Err(trouble) => return Err(trouble.into()),
        };
        let Some(crypto) = crypto else {
            let trouble = self.known().no_encryption.clone();
            return Err(match trouble {
                Some(why) => Snag::Never(format!("the room is encrypted, and {why}")),
                None => {
                    Snag::Keys("the room is encrypted, and the account is not connected".into())
                }
            });
        };
        crypto.learn_settings(room, &content).await?;
        crypto.settings_of(room).await
    }

    /// What we say, encrypted where the room is.
    pub(super) async fn sealed_for(
        &self,
        room: &str,
        kind: &str,
        content: &Value,
    ) -> Result<Option<Value>, Snag> {
        let Some(settings) = self.encryption_of(room).await? else { return Ok(None) };
        let crypto = self.crypto.load_full();
        let crypto = crypto.ok_or_else(|| Snag::Keys("the account is not connected".into()))?;
        crypto.encrypt(&self.server, (room, &settings), (kind, content)).await.map(Some)
    }

    /// Takes note of what happened to a room that concerns keys: that it is encrypted, and that
    /// others are in it.
    pub(super) async fn learn_encryption(
        &self,
        id: &str,
        room: &Room<'_>,
    ) -> Result<(), ConnectFault> {
        let Some(crypto) = self.crypto.load_full() else { return Ok(()) };
        if room.timeline.limited {
            crypto.doubt_members(id);
        }
        let raw = room.state.events.iter().chain(&room.timeline.events);
        for event in raw.filter_map(|raw| Event::read(raw)) {
            match &*event.kind {
                "m.room.member" => crypto.doubt_members(id),
                "m.room.encryption" if event.state_key.as_deref() == Some("") => {
                    let learned = crypto.learn_settings(id, &event.content).await;
                    learned.map_err(Snag::into_fault)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Reading<'_> {
    /// What is in an encrypted event. One whose key is not there yet waits for it.
    pub(super) async fn opened(&self, event: Event) -> Result<Option<Event>, ConnectFault> {
        let is_ours = *event.sender == *self.us.id;
        if event.is_redacted {
            return Ok(None);
        }
        let Some(crypto) = self.matrix.crypto.load_full() else {
            self.tell_operator("there are no keys here");
            return Ok(None);
        };
        let room = self.room.as_str();
        match crypto.read(room, &event).await.map_err(Snag::into_fault)? {
            Opened::Event(event) => return Ok(Some(*event)),
            // What we said by another device, or before our keys were lost.
            Opened::Waits { .. } | Opened::No { .. } if is_ours => {}
            Opened::Waits { key } => {
                let now = self.matrix.world.clock.now();
                let kept = crypto.put_by((room, &key), &event, now).await;
                if kept.map_err(Snag::into_fault)? {
                    tracing::info!(account = %self.matrix.account, room, "a message waits for its key");
                }
            }
            Opened::No { why } => self.tell_operator(why),
        }
        Ok(None)
    }

    /// What is in an encrypted event that is looked up, where it can be read now.
    pub(super) async fn peeked(&self, event: Event) -> Result<Option<Event>, ConnectFault> {
        let Some(crypto) = self.matrix.crypto.load_full() else { return Ok(None) };
        match crypto.read(self.room.as_str(), &event).await.map_err(Snag::into_fault)? {
            Opened::Event(event) => Ok(Some(*event)),
            Opened::Waits { .. } | Opened::No { .. } => Ok(None),
        }
    }

    /// Said once for each room: whoever runs this has to know why somebody is not answered there.
    fn tell_operator(&self, why: &str) {
        let room = self.room.as_str();
        let mut known = self.matrix.known();
        if known.encrypted.get(room).is_none() {
            known.encrypted.insert(room.into(), ());
            let account = &self.matrix.account;
            tracing::warn!(%account, room, why, "something encrypted can't be read and is not answered");
        }
    }
}

impl Listener<'_> {
    /// The envelopes of what waited for a key that is there now. What waits no longer is added to
    /// `waited`.
    pub(super) async fn waited_for(
        &self,
        us: &Us,
        (room, key): (&str, &str),
        waited: &mut Vec<Waited>,
    ) -> Result<Vec<Envelope>, ConnectFault> {
        let Some(crypto) = self.matrix.crypto.load_full() else { return Ok(vec![]) };
        let Ok(chat) = ChatId::new(room) else { return Ok(vec![]) };
        let reading = Reading { matrix: self.matrix, us, room: &chat, cancel: self.stop };
        let mut envelopes = vec![];
        for event in crypto.waiting_for(room, key).await.map_err(Snag::into_fault)? {
            let id = event.id.clone().unwrap_or_default();
            match crypto.read(room, &event).await.map_err(Snag::into_fault)? {
                Opened::Waits { .. } => continue,
                Opened::Event(event) => envelopes.extend(reading.envelopes(*event).await?),
                Opened::No { .. } => {}
            }
            waited.push((room.into(), key.into(), id.into()));
        }
        Ok(envelopes)
    }

    /// The same for every key that is waited for: one may have come just before the end.
    pub(super) async fn read_what_waited(&self, us: &Us) -> Result<(), ConnectFault> {
        let Some(crypto) = self.matrix.crypto.load_full() else { return Ok(()) };
        let (mut waited, mut envelopes) = (vec![], vec![]);
        for (room, key) in crypto.keys_waited_for() {
            envelopes.extend(self.waited_for(us, (&room, &key), &mut waited).await?);
        }
        self.take(envelopes, None).await?;
        crypto.wait_no_longer(&waited).await.map_err(Snag::into_fault)
    }

    /// After an answer was taken: what waited for it does no longer, the server gets what it is
    /// owed, and rooms hear of keys that never came.
    pub(super) async fn went_on(
        &self,
        us: &Us,
        crypto: &Crypto,
        waited: &[Waited],
    ) -> Result<(), ConnectFault> {
        crypto.wait_no_longer(waited).await.map_err(Snag::into_fault)?;
        crypto.look_what_waits();
        crypto.settle_in_turn(&self.matrix.server).await.map_err(Snag::into_fault)?;
        let now = self.matrix.world.clock.now();
        for room in crypto.rooms_to_tell(now, KEY_LATE) {
            self.tell_room(us, crypto, &room).await?;
        }
        Ok(())
    }

    /// Tells a room that something there can't be read. Where that can't be said it is said later.
    async fn tell_room(&self, us: &Us, crypto: &Crypto, room: &str) -> Result<(), ConnectFault> {
        let content = json!({ "msgtype": "m.notice", "body": NOTICE, "m.mentions": {} });
        let sealed = match self.matrix.sealed_for(room, "m.room.message", &content).await {
            Ok(Some(sealed)) => sealed,
            Err(Snag::Keys(why)) => return Err(Snag::Keys(why).into_fault()),
            // In a room that is not encrypted nobody means to be read by those with keys alone.
            Ok(None) | Err(_) => return Ok(()),
        };
        // The same name each time: the server takes it once.
        let name = blake3::hash(format!("{}\n{room}", us.id).as_bytes()).to_hex();
        let path = format!(
            "/client/v3/rooms/{}/send/m.room.encrypted/no-key-{}",
            segment(room),
            &name[..16]
        );
        match self.matrix.server.send(Method::PUT, &path, &sealed).await {
            Ok(_) => {}
            Err(trouble) if trouble.is_no() => {}
            Err(trouble) => return Err(trouble.into_fault()),
        }
        crypto.told(room).await.map_err(Snag::into_fault)
    }
}
