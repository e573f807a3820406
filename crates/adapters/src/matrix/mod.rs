//! Matrix: one account on one homeserver, over the Client-Server API (v1.11 and later; older
//! servers as far as they go).
//!
//! # What is spoken
//!
//! JSON over HTTPS, each request with `Authorization: Bearer TOKEN`, paths below
//! `<homeserver>/_matrix`. A refusal is `{"errcode": "M_…", "error": "…"}`; too many requests are
//! `M_LIMIT_EXCEEDED` with `retry_after_ms`; a token that is no good is `M_UNKNOWN_TOKEN`.
//!
//! | what | request |
//! | --- | --- |
//! | who we are | `GET client/v3/account/whoami`, `…/profile/{user}/displayname`, `…/capabilities` |
//! | listening | `GET client/v3/sync?since=&timeout=&filter=` |
//! | a gap | `GET client/v3/rooms/{room}/messages?dir=b&from=prev_batch&to=since` |
//! | one event | `GET client/v3/rooms/{room}/event/{event}` |
//! | members | `GET client/v3/rooms/{room}/joined_members`, `…/state/m.room.member/{us}` |
//! | direct rooms | `GET`, `PUT client/v3/user/{us}/account_data/m.direct` |
//! | saying | `PUT client/v3/rooms/{room}/send/m.room.message/{transaction}` |
//! | a reaction | `PUT client/v3/rooms/{room}/send/m.reaction/{transaction}`, `…/redact/{event}/{transaction}` |
//! | typing | `PUT client/v3/rooms/{room}/typing/{us}` |
//! | read up to here | `POST client/v3/rooms/{room}/read_markers` |
//! | an invitation | `POST client/v3/join/{room}?via=` |
//! | keys | `POST client/v3/keys/upload`, `…/query`, `…/claim`, `…/signatures/upload`, `…/device_signing/upload`; `PUT client/v3/sendToDevice/{kind}/{transaction}` |
//! | the backup of keys | `GET`, `POST client/v3/room_keys/version`, `PUT client/v3/room_keys/keys?version=`, `GET client/v3/room_keys/keys/{room}/{session}?version=`; `m.secret_storage.*` and `m.megolm_backup.v1` of `client/v3/user/{us}/account_data/` |
//! | is a room encrypted | `GET client/v3/rooms/{room}/state/m.room.encryption/` |
//! | files | `GET client/v1/media/download/{server}/{id}`, `POST media/v3/upload` |
//!
//! **Listening.** `/sync` answers with `next_batch`; asking with it as `since` acknowledges all
//! before. It is our cursor, stored by [`Inbox::take`] together with the events, so an event is
//! acknowledged only when it is durable. Without a cursor one sync without events finds the
//! present: what was said before the account first listened is history, and so is what was said
//! in a room before we came. A `timeline` that is `limited` has a gap before `prev_batch`, which
//! `/messages` fills up to `since`.
//!
//! **Rooms.** A chat is a room id. It is a direct chat when at most two are in it and it was
//! meant so: by the invitation's `is_direct`, or by our account's `m.direct`. A topic is a
//! thread: the id of its first event (`m.relates_to`, `rel_type: m.thread`).
//!
//! **Messages.** `m.room.message` by `msgtype`, and `m.sticker`. A change is an event with
//! `rel_type: m.replace` and `m.new_content`; it counts only when its sender wrote the original,
//! which the server does not check. `m.room.redaction` takes back. `m.mentions` says who is
//! addressed. Files are `mxc://server/id`. A reaction is an `m.reaction` with
//! `rel_type: m.annotation`; taking it back is a redaction, which does not tell what it was. Presence
//! and receipts are not asked for.
//!
//! **Saying** is idempotent: the homeserver answers the same transaction of the same device with
//! the event it made of it the first time.
//!
//! **Encryption** (`crypto`): our device's keys are made when the account first listens. What is
//! said in an encrypted room goes out as `m.room.encrypted` or not at all; a reaction would stand
//! there for everybody to read, so none is put. With a recovery key, keys go to the homeserver's
//! backup, and what we lack is asked for there (`backup`).

mod address;
mod api;
mod asking;
mod backup;
mod crypto;
#[cfg(fuzzing)]
pub mod fuzzing;
mod html;
mod known;
mod listen;
mod media;
mod opening;
mod reading;
mod send;
mod text;
mod wire;

use crate::declared::{Declared, REQUEST_LEN_MAX, Support};
use api::{Homeserver, Trouble, segment};
use arc_swap::ArcSwapOption;
use async_trait::async_trait;
use bytes::Bytes;
use crypto::{Crypto, Snag};
use insula_channel::{
    Adapter, Attachment, Body, BotIdentity, ConnectFault, Features, FetchError, Idempotency, Inbox,
    MessageId, Outbound, OwnSign, Post, PostError, PostTarget, Posted, TextLimit,
};
use insula_domain::{AccountId, IdError, Platform};
use insula_wire::{Method, Transport};
use insula_world::{RandomStream, World};
use known::{RoomCache, direct_rooms, server_part};
use secrecy::SecretString;
use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use wire::Sent;

/// How long our sign of writing stays.
const TYPING: Duration = Duration::from_secs(30);
/// How often a message may be changed. Homeservers allow a message each five seconds when
/// nobody configured otherwise, and keep every change for good.
const EDIT_EVERY: Duration = Duration::from_secs(5);
/// How long a healthy server may be silent: it answers every thirty seconds, news or not.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// How long a message may be, in UTF-16 units: with its formatting it has to fit into an event
/// of 64 KiB, and plain it does in any script.
const TEXT_UNITS: usize = 16_000;

const FEATURES: Features = Features {
    text: TextLimit::Utf16(TEXT_UNITS),
    can_edit: Some(EDIT_EVERY),
    idempotency: Idempotency::Always,
    has_buttons: false,
    can_react: true,
    typing: Some(TYPING),
    silence_max: SILENCE_MAX,
};

/// What Matrix can do here.
pub static DECLARED: Declared = Declared {
    platform: "matrix",
    name: "Matrix",
    hears_by: "asking (`/sync`)",
    features: FEATURES,
    topics: Some("a thread"),
    hears_edits: Support::Yes,
    hears_deletions: Support::Yes,
    hears_reactions: Support::If("when put"),
    files: Support::Yes,
    observes: Support::Yes,
    roles: None,
    commands: Support::No,
    request_len_max: REQUEST_LEN_MAX,
};

/// An account's settings.
pub struct Settings {
    pub account: AccountId,
    /// Where its homeserver answers clients, as in `https://matrix.example.org`.
    pub homeserver: String,
    /// Who the account has to be; anybody when nothing is said.
    pub user: Option<String>,
    /// Its access token.
    pub token: SecretString,
    /// What opens the homeserver's backup of the account's keys; without it there is none.
    pub recovery_key: Option<SecretString>,
}

/// One account on a homeserver.
pub struct Matrix {
    platform: Platform,
    account: AccountId,
    user: Option<Box<str>>,
    server: Homeserver,
    recovery_key: Option<SecretString>,
    world: World,
    known: Mutex<RoomCache>,
    /// Names of transactions that need no repeating.
    transactions: Mutex<RandomStream>,
    /// The keys of our device, while we listen.
    crypto: ArcSwapOption<Crypto>,
}

impl Matrix {
    /// The adapter of one account.
    pub fn new(
        settings: Settings,
        transport: Transport,
        world: &World,
    ) -> Result<Self, ConnectFault> {
        let Settings { account, homeserver, user, token, recovery_key } = settings;
        let platform = Platform::new("matrix")
            .map_err(|error: IdError| ConnectFault::Refused(error.to_string().into()))?;
        let transactions = world.random.stream(&["matrix", account.as_str()]);
        Ok(Self {
            platform,
            account,
            user: user.map(Into::into),
            server: Homeserver::new(&homeserver, token, transport)?,
            recovery_key,
            world: world.clone(),
            known: Mutex::default(),
            transactions: Mutex::new(transactions),
            crypto: ArcSwapOption::empty(),
        })
    }

    fn known(&self) -> MutexGuard<'_, RoomCache> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Our id: remembered, or asked for.
    async fn our_id(&self) -> Result<Box<str>, ConnectFault> {
        if let Some(us) = &self.known().us {
            return Ok(us.id.clone());
        }
        Ok(self.learn_who_we_are(&CancellationToken::new()).await?.id)
    }

    fn transaction(&self) -> String {
        let mut stream = self.transactions.lock().unwrap_or_else(PoisonError::into_inner);
        // Two runs with the same seed must not take the same names on a real server.
        format!("{}-{}", self.world.clock.now().as_millis(), stream.id())
    }

    async fn send_event(
        &self,
        target: &PostTarget,
        transaction: &str,
        content: &Value,
    ) -> Result<MessageId, PostError> {
        self.send_kind(("m.room.message", target), transaction, content).await
    }

    async fn send_kind(
        &self,
        (kind, target): (&str, &PostTarget),
        transaction: &str,
        content: &Value,
    ) -> Result<MessageId, PostError> {
        let sealed = self.sealed_for(target.chat.as_str(), kind, content).await;
        let sealed = sealed.map_err(Snag::into_post_error)?;
        let (kind, content) = match &sealed {
            Some(sealed) => ("m.room.encrypted", sealed),
            None => (kind, content),
        };
        let path = format!(
            "/client/v3/rooms/{}/send/{kind}/{}",
            segment(target.chat.as_str()),
            segment(transaction)
        );
        let reply = self.server.send(Method::PUT, &path, content).await;
        let reply = reply.map_err(Trouble::into_post_error)?;
        let sent: Sent = serde_json::from_slice(&reply.body)
            .map_err(|error| Trouble::garbage(&error.to_string()).into_post_error())?;
        Ok(MessageId(sent.event_id.into()))
    }

    /// Takes our sign of writing back, where it shows.
    async fn stop_typing(&self, target: &PostTarget) {
        let room = target.chat.as_str();
        let (shows, us) = {
            let mut known = self.known();
            (known.typing.remove(room).is_some(), known.us.as_ref().map(|us| us.id.clone()))
        };
        if let (true, Some(us)) = (shows, us) {
            self.send_typing(room, &us, &json!({ "typing": false })).await;
        }
    }

    /// Failing is not worth telling: the sign is a courtesy.
    async fn send_typing(&self, room: &str, us: &str, content: &Value) {
        let path = format!("/client/v3/rooms/{}/typing/{}", segment(room), segment(us));
        let _ = self.server.send(Method::PUT, &path, content).await;
    }

    /// Leaves a room again that somebody said takes the place of another, unless it says so
    /// itself: anybody may point at any room.
    async fn see_that_it_replaces(&self, room: &str, old: &str) -> Result<(), PostError> {
        let path = format!("/client/v3/rooms/{}/state/m.room.create/", segment(room));
        let created = self.server.get(&path, &CancellationToken::new()).await;
        let created = created.map_err(Trouble::into_post_error)?;
        let created: Value = serde_json::from_slice(&created.body).unwrap_or_default();
        let before = created.pointer("/predecessor/room_id").and_then(Value::as_str);
        if before == Some(old) {
            return Ok(());
        }
        let path = format!("/client/v3/rooms/{}/leave", segment(room));
        let left = self.server.send(Method::POST, &path, &json!({})).await;
        left.map_err(Trouble::into_post_error)?;
        Err(PostError::Never { why: "the room does not say that it replaces the other".into() })
    }

    /// Notes in the account's own list that a room is for the two of us, as clients do.
    async fn list_as_direct(&self, room: &str, by: &str) -> Result<(), ConnectFault> {
        let us = self.our_id().await?;
        let path = format!("/client/v3/user/{}/account_data/m.direct", segment(&us));
        let asked = self.server.get(&path, &CancellationToken::new()).await;
        let mut list: Value = match asked {
            Ok(reply) => serde_json::from_slice(&reply.body).unwrap_or_default(),
            Err(trouble) if trouble.is_no() => Value::Null,
            Err(trouble) => return Err(trouble.into_fault()),
        };
        if !list.is_object() {
            list = json!({});
        }
        if direct_rooms(&list).any(|known| known == room) {
            return Ok(());
        }
        match list.get_mut(by).and_then(Value::as_array_mut) {
            Some(rooms) => rooms.push(room.into()),
            None => list[by] = json!([room]),
        }
        self.server.send(Method::PUT, &path, &list).await.map_err(Trouble::into_fault)?;
        self.known().learn_direct(&list);
        Ok(())
    }
}

#[async_trait]
impl Adapter for Matrix {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        let cancel = CancellationToken::new();
        let us = self.learn_who_we_are(&cancel).await?;
        let mut missing = vec![];
        let reply = self.server.get("/client/v3/capabilities", &cancel).await;
        match reply {
            Ok(_) => {}
            Err(trouble) if trouble.is_no() => {
                missing.push("the homeserver does not tell what the account may do".to_owned());
            }
            Err(trouble) => return Err(trouble.into_fault()),
        }
        let mut about = self.tell_of_device(&us, &mut missing).await?;
        self.tell_of_backup(&us, &mut about, &mut missing).await;
        Ok(BotIdentity { id: us.id, name: us.name, missing, about })
    }

    async fn listen(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        listen::listen(self, inbox, stop).await
    }
}

#[async_trait]
impl Outbound for Matrix {
    fn features(&self) -> Features {
        FEATURES
    }

    async fn post(&self, post: &Post) -> Result<Posted, PostError> {
        let Post { target, reply_to, idempotency, body } = post;
        let mut first = None;
        if !body.markdown.trim().is_empty() {
            let mut content = send::content(&body.markdown);
            send::relate(&mut content, target, reply_to.as_ref());
            first = Some(self.send_event(target, idempotency, &content).await?);
        }
        for (number, file) in body.files.iter().enumerate() {
            let mut content = self.upload(target.chat.as_str(), file).await?;
            let reply_to = if first.is_none() { reply_to.as_ref() } else { None };
            send::relate(&mut content, target, reply_to);
            let transaction = format!("{idempotency}-file-{number}");
            let message = self.send_event(target, &transaction, &content).await?;
            first.get_or_insert(message);
        }
        self.stop_typing(target).await;
        match first {
            Some(message) => Ok(Posted { message }),
            None => Err(PostError::Never { why: "there is nothing in the message".into() }),
        }
    }

    async fn edit(
        &self,
        target: &PostTarget,
        message: &MessageId,
        body: &Body,
    ) -> Result<(), PostError> {
        let content = send::change(message, &body.markdown);
        self.send_event(target, &self.transaction(), &content).await?;
        Ok(())
    }

    async fn typing(&self, target: &PostTarget) {
        let Ok(us) = self.our_id().await else { return };
        let room = target.chat.as_str();
        self.known().typing.insert(room.into(), ());
        let timeout_ms = u64::try_from(TYPING.as_millis()).unwrap_or(u64::MAX);
        self.send_typing(room, &us, &json!({ "typing": true, "timeout": timeout_ms })).await;
    }

    async fn react(&self, target: &PostTarget, message: &MessageId, sign: OwnSign, on: bool) {
        let name = (target.chat.as_str().into(), message.0.clone());
        // Everybody could read it there, and what it stands on.
        if on && !matches!(self.encryption_of(target.chat.as_str()).await, Ok(None)) {
            return;
        }
        if on {
            let about = json!({
                "rel_type": "m.annotation", "event_id": &*message.0, "key": sign.emoji(),
            });
            let content = json!({ "m.relates_to": about });
            let sent = self.send_kind(("m.reaction", target), &self.transaction(), &content).await;
            if let Ok(put) = sent {
                self.known().signs.insert(name, put.0);
            }
            return;
        }
        // After a restart it is not known which event it was, and it stays.
        let Some(put) = self.known().signs.remove(&name) else { return };
        let (room, event) = (segment(target.chat.as_str()), segment(&put));
        let transaction = self.transaction();
        let path = format!("/client/v3/rooms/{room}/redact/{event}/{}", segment(&transaction));
        let _ = self.server.send(Method::PUT, &path, &json!({})).await;
    }

    async fn read(&self, target: &PostTarget, message: &MessageId) {
        let path = format!("/client/v3/rooms/{}/read_markers", segment(target.chat.as_str()));
        let upto = json!({ "m.fully_read": &*message.0, "m.read": &*message.0 });
        // Failing is not worth telling, as with typing.
        let _ = self.server.send(Method::POST, &path, &upto).await;
    }

    fn is_after(&self, _: &PostTarget, later: &MessageId, earlier: &MessageId) -> Option<bool> {
        // In the order in which the server told of them, ours included.
        let known = self.known();
        let position = |id: &MessageId| known.threads.keys().position(|it| **it == *id.0);
        Some(position(later)? > position(earlier)?)
    }

    async fn fetch(&self, attachment: &Attachment, limit: u64) -> Result<Bytes, FetchError> {
        self.download(&attachment.handle, limit).await
    }

    async fn join(&self, target: &PostTarget) -> Result<(), PostError> {
        let room = target.chat.as_str();
        let invite = self.known().invites.get(room).cloned();
        let mut path = format!("/client/v3/join/{}", segment(room));
        if let Some(server) = invite.as_ref().and_then(|invite| server_part(&invite.by)) {
            let server = segment(server);
            // The second is what servers before v1.12 call it.
            path.push_str(&format!("?via={server}&server_name={server}"));
        }
        let joined = self.server.send(Method::POST, &path, &json!({})).await;
        joined.map_err(Trouble::into_post_error)?;
        if let Some(old) = invite.as_ref().and_then(|invite| invite.replaces.as_deref()) {
            self.see_that_it_replaces(room, old).await?;
        }
        if let Some(invite) = invite.filter(|invite| invite.is_direct)
            && let Err(why) = self.list_as_direct(room, &invite.by).await
        {
            // The server remembers the invitation's own word as well.
            tracing::debug!(account = %self.account, room, %why, "the list of direct rooms stays as it is");
        }
        Ok(())
    }
}
