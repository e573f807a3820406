//! One page's visit: its frames in, one after the other, and whether it may be where it is.

use super::Hub;
use super::frames::{
    self, ClientFrame, Enclosed, FILES_BYTES_MAX, FILES_MAX, FRAME_BYTES_MAX, ID_BYTES_MAX,
    PageMessage, RoomRef, TEXT_BYTES_MAX,
};
use super::rooms::{MemberId, PageFrame, PastFrame, RoomKey, Since};
use super::{OURS, Shown, enclosed};
use futures_util::future::BoxFuture;
use insula_channel::{
    Attachment, AttachmentKind, Envelope, EventId, Happening, Hearing, Message, MessageId, Press,
    Quoted, Sender, Spoken, Tenant,
};
use insula_domain::{Address, ChatId, ChatType, TopicId, UserId, Words as Wording};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rooms that one page may be in.
const ROOMS_MAX: usize = 32;

/// Longest name of a room or a topic.
const NAME_BYTES_MAX: usize = 64;

/// Whom the bearer may hear at an address, if anybody: whoever answers there now. Asked every
/// time, and before every frame: what somebody may do can be taken away, and who answers may be
/// another.
pub type May = Arc<dyn Fn(Address) -> BoxFuture<'static, Option<Hearing>> + Send + Sync>;

/// What was said at an address in earlier runs, as far as the bearer may see it: the last of it, in
/// order.
pub type Past = Arc<dyn Fn(Address) -> BoxFuture<'static, Vec<Spoken>> + Send + Sync>;

/// What a room is to somebody who may not be in it, whether it exists or not.
const NOBODY: &str = "nobody answers here";

/// What somebody is told whose words could not be taken: it is the operator who can do something.
const NOT_TAKEN: &str = "this could not be taken, and nothing was done; say it again later, and tell whoever runs this if it stays so";

/// One page's visit. Ends when it is dropped.
pub struct PageSession {
    hub: Arc<Hub>,
    member: MemberId,
    user: UserId,
    may: May,
    past: Past,
    joined: BTreeMap<At, Joined>,
}

/// A place in the chat, whoever answers there.
type At = (Box<str>, Option<Box<str>>);

/// A room that a page is in.
struct Joined {
    place: RoomRef,
    address: Address,
    key: RoomKey,
    /// Who answered there when it was last looked up.
    answers: Tenant,
}

/// Somewhere in the chat, as pages and as the gateway name it.
struct RoomAddress {
    place: RoomRef,
    at: At,
    address: Address,
}

impl RoomAddress {
    /// The room of whoever answers there.
    fn room(&self, tenant: Tenant) -> RoomKey {
        RoomKey::new(tenant, &self.at.0, self.at.1.as_deref())
    }
}

/// A frame that makes no sense: the page is at fault, and the visit ends.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Nonsense(pub String);

impl PageSession {
    pub(super) fn new(
        hub: Arc<Hub>,
        member: MemberId,
        user: UserId,
        (may, past): (May, Past),
    ) -> Self {
        Self { hub, member, user, may, past, joined: BTreeMap::new() }
    }

    /// Takes one frame of the page. When it returns, what was said is durable or refused.
    pub async fn hear(&mut self, text: &str) -> Result<(), Nonsense> {
        if text.len() > FRAME_BYTES_MAX {
            return Err(Nonsense(format!("a frame is longer than {FRAME_BYTES_MAX} bytes")));
        }
        let said: ClientFrame = serde_json::from_str(text)
            .map_err(|error| Nonsense(format!("the frame is not understood: {error}")))?;
        match said {
            ClientFrame::Hello { .. } => Err(Nonsense("the token was already shown".to_owned())),
            ClientFrame::Join { room, topic, after } => {
                self.join(self.target(room, topic), after.as_deref()).await;
                Ok(())
            }
            ClientFrame::Leave { room, topic } => {
                if let Some(target) = self.target(room, topic)
                    && let Some(joined) = self.joined.remove(&target.at)
                {
                    self.hub.rooms().leave(self.member, &joined.key);
                    self.tell(&frames::left(&target.place, None));
                }
                Ok(())
            }
            ClientFrame::Say { id, room, topic, text, mention, reply_to, files } => {
                let what = PageMessage { text, mention, reply_to, files };
                let target = self.target(room, topic);
                // Who answers may have changed, and whoever asks wants to hear the answer.
                if let Some(target) = &target {
                    self.recheck_one(&target.at).await;
                }
                self.say(&id, target, what).await;
                Ok(())
            }
            ClientFrame::Press { id, room, topic, message, data } => {
                self.press(&id, self.target(room, topic), message, data).await;
                Ok(())
            }
        }
    }

    /// Looks again whom the bearer may hear in each room, leaves those where nobody, and goes over
    /// to whoever answers there now.
    pub async fn recheck(&mut self) {
        let all: Vec<At> = self.joined.keys().cloned().collect();
        for at in all {
            self.recheck_one(&at).await;
        }
    }

    async fn recheck_one(&mut self, at: &At) {
        let Some(joined) = self.joined.get_mut(at) else { return };
        let hearing = (self.may)(joined.address.clone()).await;
        // Whoever it was handed to answers in the same room, until that one forgets.
        if let Some(hearing) = &hearing
            && hearing.tenant == *joined.key.tenant()
            && !hearing.answers.outdates(&joined.answers)
        {
            joined.answers = hearing.answers.clone();
            return;
        }
        let Some(Joined { place, address, key, .. }) = self.joined.remove(at) else { return };
        self.hub.rooms().leave(self.member, &key);
        match hearing {
            None => self.tell(&frames::left(&place, Some(NOBODY))),
            Some(hearing) => {
                self.enter(RoomAddress { place, at: at.clone(), address }, hearing, Some("")).await;
            }
        }
    }

    /// Whether a page may still hear something that was said in a room, as things stand now. What
    /// was said to the page alone it may.
    pub async fn may_hear(&mut self, told: &PageFrame) -> bool {
        let Some(room) = &told.room else { return true };
        let joined = self.joined.iter().find(|(_, joined)| joined.key == *room);
        let Some((at, joined)) = joined else { return false };
        let hearing = (self.may)(joined.address.clone()).await;
        if let Some(hearing) = hearing
            && hearing.tenant == *room.tenant()
        {
            return !told.by.as_ref().is_some_and(|by| hearing.answers.outdates(by));
        }
        let at = at.clone();
        self.recheck_one(&at).await;
        false
    }

    fn tell(&self, frame: &Value) {
        self.hub.rooms().whisper(self.member, frame);
    }

    fn refuse(&self, id: Option<&str>, code: &str, why: &str) {
        self.tell(&frames::refused(id, code, why));
    }

    /// Says that a room is not to be had, in the same words for whatever reason: a room of
    /// another agent is no other than one that can't be.
    fn no_room(&self, id: Option<&str>) {
        self.refuse(id, "no_room", NOBODY);
    }

    async fn join(&mut self, target: Option<RoomAddress>, after: Option<&str>) {
        let Some((target, hearing)) = self.heard_at(target).await else {
            return self.no_room(None);
        };
        if self.joined.len() >= ROOMS_MAX && !self.joined.contains_key(&target.at) {
            return self.refuse(None, "too_many_rooms", "this page is in too many rooms");
        }
        if let Some(before) = self.joined.remove(&target.at) {
            self.hub.rooms().leave(self.member, &before.key);
        }
        self.enter(target, hearing, after).await;
    }

    /// Enters the room of whoever answers at a spot.
    async fn enter(&mut self, target: RoomAddress, hearing: Hearing, after: Option<&str>) {
        let (key, answers) = (target.room(hearing.tenant), hearing.answers);
        let since = if hearing.past { Since::Kept } else { Since::Now };
        if since == Since::Kept {
            self.restore(&target, &key).await;
        }
        let epoch = &self.hub.epoch;
        self.hub.rooms().join(self.member, &key, &target.place, epoch, (after, since));
        let RoomAddress { place, at, address } = target;
        self.joined.insert(at, Joined { place, address, key, answers });
    }

    /// Brings back what was said in a room before this run, once.
    async fn restore(&self, target: &RoomAddress, key: &RoomKey) {
        if !self.hub.rooms().wants_past(key) {
            return;
        }
        let past = (self.past)(target.address.clone()).await;
        let frames = past.into_iter().map(|spoken| {
            let ours = if spoken.user.is_none() { OURS } else { "" };
            let id: Box<str> = format!("{ours}past/{}", spoken.id).into();
            let frame =
                frames::remembered(&target.place, &id, spoken.user.as_deref(), &spoken.text);
            PastFrame { message: id, by: Some(spoken.tenant), frame }
        });
        let frames = frames.collect();
        self.hub.rooms().restore(key, &self.hub.epoch, frames);
    }

    async fn say(&self, id: &str, target: Option<RoomAddress>, words: PageMessage) {
        let Some((target, hearing)) = self.admitted(id, target).await else { return };
        let room = target.room(hearing.tenant);
        if words.text.len() > TEXT_BYTES_MAX {
            let why = format!("the text is longer than {TEXT_BYTES_MAX} bytes");
            return self.refuse(Some(id), "too_long", &why);
        }
        let attachments = match attachments(&words.files) {
            Ok(attachments) => attachments,
            Err(why) => return self.refuse(Some(id), "bad_file", &why),
        };
        let event = self.event(id);
        let is_own = target.place.room.is_none();
        let at_us = format!("@{}", self.hub.account);
        let named = words.text.contains(&at_us);
        let text = words.text.replace(&at_us, "").trim().to_owned();
        let quoted = words.reply_to.as_deref().filter(|id| id.len() <= 512).map(|id| Quoted {
            id: MessageId(id.into()),
            author: None,
            is_ours: self.hub.said_by_us(id),
            is_from_here: self.hub.rooms().has(&room, id),
            text: String::new(),
        });
        let answers_us = quoted.as_ref().is_some_and(|it| it.is_ours && it.is_from_here);
        let message = Message {
            id: MessageId(event.as_str().into()),
            // A page has one line to type on. Names of files stand with the files.
            words: Wording::typed(if named { &text } else { &words.text }),
            mentions_us: is_own || words.mention || named || answers_us,
            is_for_another: false,
            attachments,
            quoted,
            group: None,
        };
        let frame = frames::said(&target.place, &event, self.user.as_str(), &words);
        let shown = Shown { room, by: hearing.answers, message: event.clone(), frame };
        let envelope = self.envelope(event, target.address, Happening::Said(message));
        self.hand_over(id, envelope, Some(shown)).await;
    }

    async fn press(&self, id: &str, target: Option<RoomAddress>, message: String, data: String) {
        let Some((target, _)) = self.admitted(id, target).await else { return };
        if message.len() > 512 || data.len() > 64 {
            return self.refuse(Some(id), "too_long", "no button of ours has that much in it");
        }
        let press = Press {
            handle: self.member.to_string().into(),
            message: MessageId(message.into()),
            data: data.into(),
        };
        let envelope = self.envelope(self.event(id), target.address, Happening::Pressed(press));
        self.hand_over(id, envelope, None).await;
    }

    /// The spot, if something may be said there; otherwise the page was told why not.
    async fn admitted(
        &self,
        id: &str,
        target: Option<RoomAddress>,
    ) -> Option<(RoomAddress, Hearing)> {
        if id.is_empty() || id.len() > ID_BYTES_MAX {
            let why = format!("an id has 1 to {ID_BYTES_MAX} bytes");
            self.refuse(None, "no_id", &why);
            return None;
        }
        let heard = self.heard_at(target).await;
        if heard.is_none() {
            self.no_room(Some(id));
        }
        heard
    }

    /// The spot and whom the bearer may hear there, if there is one and they may.
    async fn heard_at(&self, target: Option<RoomAddress>) -> Option<(RoomAddress, Hearing)> {
        let target = target?;
        let hearing = (self.may)(target.address.clone()).await?;
        Some((target, hearing))
    }

    async fn hand_over(&self, id: &str, envelope: Envelope, shown: Option<Shown>) {
        match self.hub.hand_over(envelope, shown).await {
            Ok(()) => self.tell(&frames::taken(id)),
            Err(why) => {
                // Where something is kept and what is wrong with it is for whoever runs this.
                let (account, why) = (&self.hub.account, &why.0);
                tracing::warn!(%account, page = self.user.as_str(), id, %why, "what a page said could not be taken");
                self.refuse(Some(id), "not_taken", NOT_TAKEN);
            }
        }
    }

    /// Two bearers never name the same event, and one that says something again does.
    fn event(&self, id: &str) -> String {
        format!("{}/{id}", self.user)
    }

    fn envelope(&self, event: String, address: Address, what: Happening) -> Envelope {
        Envelope {
            event: EventId(event.into()),
            address,
            sender: Sender { name: self.user.as_str().into(), also: Vec::new(), is_bot: false },
            at: self.hub.clock.now(),
            what,
        }
    }

    /// The spot of these names; `None` where they are no names.
    fn target(&self, room: Option<String>, topic: Option<String>) -> Option<RoomAddress> {
        let body = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let is_name = |name: &String| {
            !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(body)
        };
        if !room.iter().chain(&topic).all(is_name) {
            return None;
        }
        // A colon is in no room's name, so nobody can name somebody's own room.
        let (chat, chat_type) = match &room {
            Some(room) => (room.clone(), ChatType::Group),
            None => (format!("own:{}", self.user), ChatType::Dm),
        };
        let place = RoomRef { room: room.map(Into::into), topic: topic.clone().map(Into::into) };
        let at = (chat.as_str().into(), place.topic.clone());
        let address = Address {
            platform: self.hub.platform,
            account: self.hub.account.clone(),
            chat: ChatId::new(chat).ok()?,
            chat_type,
            topic: topic.map(TopicId::new).transpose().ok()?,
            parent: None,
            community: None,
            user: Some(self.user.clone()),
            roles: Vec::new(),
        };
        Some(RoomAddress { place, at, address })
    }
}

impl Drop for PageSession {
    fn drop(&mut self) {
        self.hub.rooms().remove(self.member);
    }
}

/// What came along, each with its content in its handle: there is nowhere else to fetch it from.
fn attachments(files: &[Enclosed]) -> Result<Vec<Attachment>, String> {
    if files.len() > FILES_MAX {
        return Err(format!("a message has at most {FILES_MAX} files"));
    }
    let mut bytes = 0;
    let mut all = Vec::new();
    for file in files {
        let content = frames::content(&file.content)
            .ok_or_else(|| "the content of a file is no Base64".to_owned())?;
        bytes += content.len();
        if bytes > FILES_BYTES_MAX || file.name.len() > 512 || file.media_type.len() > 128 {
            return Err(format!("the files of a message have at most {FILES_BYTES_MAX} bytes"));
        }
        let kind = match file.media_type.split('/').next() {
            _ if file.voice => AttachmentKind::Voice,
            Some("image") => AttachmentKind::Image,
            Some("audio") => AttachmentKind::Audio,
            Some("video") => AttachmentKind::Video,
            _ => AttachmentKind::File,
        };
        all.push(Attachment {
            kind,
            name: file.name.as_str().into(),
            media_type: file.media_type.as_str().into(),
            size: u64::try_from(content.len()).ok(),
            handle: enclosed(&file.content),
        });
    }
    Ok(all)
}
