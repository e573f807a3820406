//! Web chat: pages that talk with agents over the daemon's own websocket.
//!
//! # Wire format
//!
//! `GET /chat/ws?account=<name>` with `Sec-WebSocket-Protocol: insula.chat.v1`; `account` may be
//! left out where there is only one. The token comes as a second subprotocol,
//! `insula.token.<token>`, or in the first frame, never in the address. The page's origin is the
//! daemon's own or stands in the account's `origins`. Frames are text, each one JSON object.
//!
//! What a page says:
//!
//! | frame | fields | meaning |
//! | --- | --- | --- |
//! | `hello` | `token` | the token, as the first frame, unless it came as a subprotocol |
//! | `join` | `room`, `topic`, `after` | hear what is said there; `after` is the last cursor read |
//! | `leave` | `room`, `topic` | hear it no longer |
//! | `say` | `id`, `room`, `topic`, `text`, `mention`, `reply_to`, `files` | say something; `id` is the page's own, the same when it is sent again |
//! | `press` | `id`, `room`, `topic`, `message`, `data` | press a button under a message |
//!
//! Rooms and topics have names of letters, digits, `_`, `.` and `-`, at most 64.
//! Without `room` it is the bearer's own room, where only they and the agent are. In a room with
//! others the agent answers as its `group` settings say; `mention: true`, `@<account>` in the
//! text, or a reply to one of its messages addresses it.
//!
//! What a page is told:
//!
//! | frame | fields | meaning |
//! | --- | --- | --- |
//! | `ready` | `account`, `user`, `protocol` | the token is good |
//! | `joined` | `room`, `topic`, `cursor`, `gap` | what follows is what was missed; with `gap`, some of it is not kept any more. It may come again by itself: then another agent answers there, or something was forgotten, and what was shown before is no part of it |
//! | `message` | `room`, `topic`, `cursor`, `id`, `by`, `user`, `text`, `reply_to`, `buttons`, `files` | somebody said something: `by` is `user` or `agent`. One whose `id` the page has takes the place of that |
//! | `edit` | `room`, `topic`, `cursor`, `id`, `text`, `buttons` | the agent's message reads otherwise now; so a reply streams |
//! | `typing` | `room`, `topic` | something is being written; fades after five seconds |
//! | `taken` | `id` | what was said is durable |
//! | `refused` | `id`, `code`, `why` | it was not taken; with `not_taken`, say it again. `no_room` is said of every room that the bearer can't use, in the same words, whether it is another agent's or can't be |
//! | `left` | `room`, `topic`, `why` | the room was left, or had to be |
//! | `notice` | `text` | a word to this page alone, as after a button |
//!
//! A frame that makes no sense ends the connection with code 1008, and so does a token that was
//! revoked. A page that reads too slowly is cut and comes back with its cursor.

mod frames;
#[cfg(fuzzing)]
pub mod fuzzing;
mod page_session;
mod rooms;
#[cfg(test)]
mod webchat_tests;

pub use frames::{ClientFrame, FRAME_BYTES_MAX};
pub use page_session::{May, Nonsense, PageSession, Past};
pub use rooms::PageFrame;

use crate::declared::{Declared, REQUEST_LEN_MAX, Support};
use arc_swap::ArcSwap;
use async_trait::async_trait;
use bytes::Bytes;
use frames::RoomRef;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use insula_channel::{
    AccountSettings, Adapter, Attachment, Body, BotIdentity, ConnectFault, Envelope, Features,
    FetchError, Idempotency, Inbox, MessageId, NotTaken, Outbound, Post, PostError, PostTarget,
    Posted, Tenant, TextLimit,
};
use insula_domain::{AccountId, ChatType, Platform, UserId};
use insula_world::{Clock, World};
use rooms::{Kind, RoomKey, Rooms};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Pages that one web chat serves at once.
pub const PAGES_MAX: usize = 1_024;

/// Pages that one bearer may have open: nobody takes the places of all.
const PAGES_OF_ONE_MAX: usize = 32;

/// Pages that have not shown a token yet. Who has none holds a place for some seconds.
const STRANGERS_MAX: usize = 64;

/// What pages said and is not durable yet.
const WAITING_MAX: usize = 256;

/// How often a message may be edited: as often as people see.
const EDIT_EVERY: Duration = Duration::from_millis(250);

/// How long the sign of writing stays.
const TYPING: Duration = Duration::from_secs(5);

/// How long a message of ours may be.
const TEXT_UNITS: usize = 32 * 1024;

/// What our messages' ids begin with. No user's does: theirs begin with a token's id.
const OURS: &str = "agent/";

/// What the handle of a file begins with that came in a frame; the rest is the file, so that it
/// is as durable as the message it came with.
const ENCLOSED: &str = "base64:";

/// The handle of a file that came in a frame.
fn enclosed(base64: &str) -> Box<str> {
    format!("{ENCLOSED}{base64}").into()
}

const FEATURES: Features = Features {
    text: TextLimit::Utf16(TEXT_UNITS),
    can_edit: Some(EDIT_EVERY),
    idempotency: Idempotency::Always,
    has_buttons: true,
    can_react: false,
    typing: Some(TYPING),
    silence_max: Duration::MAX,
};

/// What the web chat can do.
pub static DECLARED: Declared = Declared {
    platform: "web",
    name: "Web chat",
    hears_by: "sockets that pages open",
    features: FEATURES,
    topics: None,
    hears_edits: Support::No,
    hears_deletions: Support::No,
    hears_reactions: Support::No,
    files: Support::Yes,
    observes: Support::Yes,
    roles: None,
    commands: Support::No,
    request_len_max: REQUEST_LEN_MAX,
};

/// The web chats there are, by account.
pub struct WebChats {
    clock: Arc<dyn Clock>,
    epoch: Box<str>,
    hubs: Mutex<BTreeMap<AccountId, Arc<Hub>>>,
}

impl WebChats {
    /// None yet.
    pub fn new(world: &World) -> Self {
        let moment = world.clock.now().as_millis().to_string();
        let epoch = world.random.stream(&["webchat", &moment]).id()[..12].into();
        Self { clock: world.clock.clone(), epoch, hubs: Mutex::default() }
    }

    /// The adapter of an account. Its rooms outlive a change of its settings.
    pub fn make(&self, settings: &AccountSettings) -> Arc<dyn Adapter> {
        let mut hubs = self.hubs.lock().unwrap_or_else(PoisonError::into_inner);
        let hub = hubs.entry(settings.name.clone()).or_insert_with(|| {
            Arc::new(Hub {
                platform: settings.platform,
                account: settings.name.clone(),
                clock: self.clock.clone(),
                epoch: self.epoch.clone(),
                origins: ArcSwap::default(),
                inbound: Mutex::default(),
                rooms: Mutex::default(),
                strangers: Semaphore::new(STRANGERS_MAX),
            })
        });
        let origins = settings.list("origins").map(|origin| origin.to_ascii_lowercase().into());
        Arc::new(WebChat { hub: hub.clone(), origins: origins.collect() })
    }

    /// The open web chat of this account; without a name, the only one there is.
    pub fn find(&self, account: Option<&str>) -> Option<Arc<Hub>> {
        let hubs = self.hubs.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open = hubs.values().filter(|hub| hub.is_open());
        match account {
            Some(name) => open.find(|hub| hub.account.as_str() == name).cloned(),
            None => {
                let only = open.next()?;
                open.next().is_none().then(|| only.clone())
            }
        }
    }
}

/// One web chat: its rooms, and the way to the gateway while it listens.
pub struct Hub {
    platform: Platform,
    account: AccountId,
    clock: Arc<dyn Clock>,
    /// This run: cursors of another mean nothing.
    epoch: Box<str>,
    origins: ArcSwap<Vec<Box<str>>>,
    inbound: Mutex<Option<mpsc::Sender<Job>>>,
    rooms: Mutex<Rooms>,
    strangers: Semaphore,
}

struct Job {
    envelope: Envelope,
    /// What the room is shown of it.
    shown: Option<Shown>,
    done: oneshot::Sender<Result<(), NotTaken>>,
}

/// A message as the room it is said in is shown it.
struct Shown {
    room: RoomKey,
    /// Who answers it, in whose records it will be.
    by: Tenant,
    message: String,
    frame: Value,
}

impl Hub {
    pub fn account(&self) -> &str {
        self.account.as_str()
    }

    /// Whether a page of this origin may open it, beside the daemon's own.
    pub fn welcomes(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        self.origins.load().iter().any(|known| **known == *origin)
    }

    /// A place for a page that is about to show its token; `None` when too many are.
    pub fn wait_at_the_door(&self) -> Option<SemaphorePermit<'_>> {
        self.strangers.try_acquire().ok()
    }

    /// A page comes in as `user`; `None` when there are too many. The receiver has what to tell
    /// it, and ends when the page is to be cut.
    pub fn enter(
        self: &Arc<Self>,
        user: &str,
        rights: (May, Past),
    ) -> Option<(PageSession, mpsc::Receiver<PageFrame>)> {
        let user = UserId::new(user).ok()?;
        let (member, told) = {
            let mut rooms = self.rooms();
            let is_full = rooms.member_count() >= PAGES_MAX
                || rooms.count_of(user.as_str()) >= PAGES_OF_ONE_MAX;
            if is_full || !self.is_open() {
                return None;
            }
            let (member, told) = rooms.add(user.as_str());
            rooms.whisper(member, &frames::ready(self.account.as_str(), user.as_str()));
            (member, told)
        };
        Some((PageSession::new(self.clone(), member, user, rights), told))
    }

    fn is_open(&self) -> bool {
        self.inbound.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn rooms(&self) -> MutexGuard<'_, Rooms> {
        // Nothing below runs foreign code, so a poisoned lock guards nothing broken.
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn said_by_us(&self, message: &str) -> bool {
        message.starts_with(OURS)
    }

    /// Hands an envelope to the gateway and waits until it is durable. The room is shown it just
    /// before.
    async fn hand_over(&self, envelope: Envelope, shown: Option<Shown>) -> Result<(), NotTaken> {
        let closed = || NotTaken("the chat is closed; come back later".into());
        let inbound = self.inbound.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (done, result) = oneshot::channel();
        let inbound = inbound.ok_or_else(closed)?;
        inbound.send(Job { envelope, shown, done }).await.map_err(|_| closed())?;
        result.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Takes what a page said. The room is shown it before it is taken: an answer must not be heard
    /// before what it answers. What an earlier run took, it has been shown.
    async fn take(
        &self,
        inbox: &dyn Inbox,
        envelope: Envelope,
        shown: Option<Shown>,
    ) -> Result<(), NotTaken> {
        if let Some(Shown { room, by, message, frame }) = shown
            && !self.rooms().has(&room, &message)
            && !inbox.has_taken(&envelope).await?
        {
            let mut rooms = self.rooms();
            // Another page of the same bearer may have said it meanwhile.
            if !rooms.has(&room, &message) {
                rooms.tell((&room, Some(&by)), &self.epoch, Kind::Message, &message, frame);
            }
        }
        inbox.take(vec![envelope], None).await
    }

    fn key(target: &PostTarget) -> (RoomKey, RoomRef) {
        let topic: Option<Box<str>> = target.topic.as_ref().map(|topic| topic.as_str().into());
        let chat: Box<str> = target.chat.as_str().into();
        let room = (target.chat_type != ChatType::Dm && !chat.contains(':')).then(|| chat.clone());
        let key = RoomKey::new(target.owner().clone(), &chat, topic.as_deref());
        (key, RoomRef { room, topic })
    }
}

/// The adapter of a web chat.
struct WebChat {
    hub: Arc<Hub>,
    origins: Vec<Box<str>>,
}

/// Takes no more in once whoever listened has ended, however that was.
struct Closing<'h>(&'h Hub);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        *self.0.inbound.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.rooms().clear_members();
    }
}

#[async_trait]
impl Adapter for WebChat {
    async fn identify(&self) -> Result<BotIdentity, ConnectFault> {
        let name = self.hub.account.as_str();
        Ok(BotIdentity {
            id: name.into(),
            name: name.into(),
            missing: Vec::new(),
            about: Vec::new(),
        })
    }

    async fn listen(
        &self,
        inbox: &dyn Inbox,
        stop: &CancellationToken,
    ) -> Result<(), ConnectFault> {
        let (send, mut jobs) = mpsc::channel::<Job>(WAITING_MAX);
        self.hub.origins.store(Arc::new(self.origins.clone()));
        *self.hub.inbound.lock().unwrap_or_else(PoisonError::into_inner) = Some(send);
        let _closing = Closing(&self.hub);
        inbox.alive();
        let mut under_way = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                Some(()) = under_way.next(), if !under_way.is_empty() => {}
                Some(job) = jobs.recv(), if under_way.len() < WAITING_MAX => {
                    under_way.push(async move {
                        let taken = self.hub.take(inbox, job.envelope, job.shown).await;
                        // A page that left meanwhile says it again when it comes back.
                        let _ = job.done.send(taken);
                    });
                }
            }
        }
    }

    fn keep_only(&self, tenants: &HashSet<Tenant>) {
        self.hub.rooms().keep_only(tenants);
    }
}

#[async_trait]
impl Outbound for WebChat {
    fn features(&self) -> Features {
        FEATURES
    }

    async fn post(&self, post: &Post) -> Result<Posted, PostError> {
        let (key, place) = Hub::key(&post.target);
        let id = format!("{OURS}{}", post.idempotency);
        let reply_to = post.reply_to.as_ref().map(|message| &*message.0);
        let mut rooms = self.hub.rooms();
        if !rooms.has(&key, &id) {
            let frame = frames::answered(&place, &id, &post.body, reply_to);
            let by = Some(&post.target.tenant);
            rooms.tell((&key, by), &self.hub.epoch, Kind::Message, &id, frame);
        }
        Ok(Posted { message: MessageId(id.into()) })
    }

    async fn edit(
        &self,
        target: &PostTarget,
        message: &MessageId,
        body: &Body,
    ) -> Result<(), PostError> {
        let (key, place) = Hub::key(target);
        let mut rooms = self.hub.rooms();
        // To pages that began the room anew after a restart, what an earlier run showed is new.
        let (kind, frame) = match rooms.has(&key, &message.0) {
            true => (Kind::Edit, frames::edited(&place, &message.0, body)),
            false => (Kind::Message, frames::answered(&place, &message.0, body, None)),
        };
        let by = Some(&target.tenant);
        rooms.tell((&key, by), &self.hub.epoch, kind, &message.0, frame);
        Ok(())
    }

    async fn typing(&self, target: &PostTarget) {
        let (key, place) = Hub::key(target);
        self.hub.rooms().murmur(&key, &frames::typing(&place));
    }

    fn is_after(
        &self,
        target: &PostTarget,
        later: &MessageId,
        earlier: &MessageId,
    ) -> Option<bool> {
        let (key, _) = Hub::key(target);
        let rooms = self.hub.rooms();
        let [later, earlier] = [later, earlier].map(|it| rooms.position(&key, &it.0));
        Some(later? > earlier?)
    }

    async fn acknowledge(&self, press: &str, text: &str) {
        if let Ok(member) = press.parse() {
            self.hub.rooms().whisper(member, &frames::notice(text));
        }
    }

    async fn fetch(&self, attachment: &Attachment, limit: u64) -> Result<Bytes, FetchError> {
        let never = |why: &str| FetchError::from(PostError::Never { why: why.into() });
        let base64 = attachment.handle.strip_prefix(ENCLOSED);
        let content = base64.and_then(frames::content).ok_or_else(|| never("there is no file"))?;
        match content.len() as u64 <= limit {
            true => Ok(content.into()),
            false => Err(FetchError::TooLarge),
        }
    }
}
