//! One event of a room, made an envelope.

use super::Matrix;
use super::api::{Trouble, segment};
use super::crypto::SEALED;
use super::known::{Earlier, Invite, Room, Us};
use super::text::{
    Names, is_passed_on, mentions, own_lines, quoted_runs, without_fallback, without_mention,
};
use super::wire::{Event, Members, Relation, relation};
use insula_channel::{
    Attachment, AttachmentKind, ConnectFault, Envelope, EventId, Happening, Message, MessageId,
    Quoted, Reaction, ReactionChange, Sender,
};
use insula_domain::words::Piece;
use insula_domain::{ChatId, ChatType, TopicId, UserId, WordSource, Words};
use serde_json::Value;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The most of a quoted message that is given along, in characters. Who wants all of it can be
/// shown the message itself.
const QUOTE_CHARS_MAX: usize = 4000;
/// The longest list of members we read: many more than we remember, and few enough to hold.
const MEMBERS_LEN_MAX: usize = 4 * 1024 * 1024;

/// What it takes to read the events of one room.
pub(super) struct Reading<'a> {
    pub matrix: &'a Matrix,
    pub us: &'a Us,
    pub room: &'a ChatId,
    pub cancel: &'a CancellationToken,
}

/// Puts down what somebody typed, without their mention of us where there is one. Lines that are
/// marked as quoted are somebody else's.
fn typed(words: &mut Words, content: &Value, body: &str, mention: Option<&Names<'_>>) {
    for (is_quoted, run) in quoted_runs(body) {
        match (is_quoted, mention) {
            (true, _) => words.push_foreign(WordSource::Quote, None, &run),
            (false, Some(names)) => words.push_typed(&without_mention(content, &run, names)),
            (false, None) => words.push_typed(&run),
        }
    }
}

impl Reading<'_> {
    /// The envelopes of an event; none for what is none of the gateway's business.
    pub(super) async fn envelopes(&self, event: Event) -> Result<Vec<Envelope>, ConnectFault> {
        let Some(id) = event.id.clone() else { return Ok(vec![]) };
        let is_encrypted = event.kind == "m.room.encrypted" && event.state_key.is_none();
        let event = if is_encrypted {
            let Some(event) = self.opened(event).await? else { return Ok(vec![]) };
            event
        } else {
            event
        };
        if event.kind == "m.room.tombstone" {
            return self.replaced(&id, &event).await;
        }
        Ok(self.envelope(&id, event).await?.into_iter().collect())
    }

    async fn envelope(&self, id: &str, event: Event) -> Result<Option<Envelope>, ConnectFault> {
        match &*event.kind {
            "m.room.message" | "m.sticker" if event.state_key.is_none() => {
                self.message(id, &event).await
            }
            "m.reaction" if event.state_key.is_none() => self.reaction(id, &event).await,
            "m.room.redaction" => self.redaction(id, &event).await,
            "m.room.member" => self.member(id, &event).await,
            _ => Ok(None),
        }
    }

    async fn message(&self, id: &str, event: &Event) -> Result<Option<Envelope>, ConnectFault> {
        if event.is_redacted {
            return Ok(None);
        }
        if let Relation::Replace(original) = event.relation() {
            return self.edit(id, event, original).await;
        }
        let topic = match event.relation() {
            Relation::Thread { root, .. } => Some(root),
            Relation::None | Relation::Reply(_) | Relation::Annotation { .. } | Relation::Other => {
                None
            }
            Relation::Replace(_) | Relation::Senseless => return Ok(None),
        };
        let earlier =
            Earlier { sender: event.sender.as_str().into(), topic: topic.map(Into::into) };
        self.matrix.known().threads.insert(id.into(), earlier);
        if *event.sender == *self.us.id {
            return Ok(None);
        }
        self.learn_room().await?;
        let Some(message) = self.said(id, event, &event.content, topic).await? else {
            return Ok(None);
        };
        Ok(self.sealed(id, event, &event.sender, topic, Happening::Said(message)))
    }

    /// A message that is to read otherwise. The server does not check who changes what: only
    /// the author may.
    async fn edit(
        &self,
        id: &str,
        event: &Event,
        original: &str,
    ) -> Result<Option<Envelope>, ConnectFault> {
        let Some(content) = event.content.get("m.new_content") else { return Ok(None) };
        if *event.sender == *self.us.id {
            return Ok(None);
        }
        let Some(earlier) = self.earlier(original).await? else { return Ok(None) };
        if *earlier.sender != *event.sender {
            return Ok(None);
        }
        self.learn_room().await?;
        let topic = earlier.topic.as_deref();
        let Some(message) = self.said(original, event, content, topic).await? else {
            return Ok(None);
        };
        Ok(self.sealed(id, event, &event.sender, topic, Happening::Edited(message)))
    }

    /// A sign on a message. Where that stands, the message itself tells.
    async fn reaction(&self, id: &str, event: &Event) -> Result<Option<Envelope>, ConnectFault> {
        let Relation::Annotation { of, sign } = event.relation() else { return Ok(None) };
        if event.is_redacted || *event.sender == *self.us.id {
            return Ok(None);
        }
        let Some(earlier) = self.earlier(of).await? else { return Ok(None) };
        self.learn_room().await?;
        let reaction = Reaction {
            message: MessageId(of.into()),
            sign: sign.into(),
            change: ReactionChange::Put,
            is_ours: Some(*earlier.sender == *self.us.id),
        };
        let (topic, what) = (earlier.topic.as_deref(), Happening::Reacted(reaction));
        Ok(self.sealed(id, event, &event.sender, topic, what))
    }

    async fn redaction(&self, id: &str, event: &Event) -> Result<Option<Envelope>, ConnectFault> {
        let Some(redacted) = &event.redacts else { return Ok(None) };
        self.learn_room().await?;
        // What was taken back no longer tells which thread it stood in.
        let earlier = self.matrix.known().threads.get(&**redacted).cloned();
        let topic = earlier.and_then(|earlier| earlier.topic);
        let what = Happening::Deleted(MessageId(redacted.as_str().into()));
        Ok(self.sealed(id, event, &event.sender, topic.as_deref(), what))
    }

    async fn member(&self, id: &str, event: &Event) -> Result<Option<Envelope>, ConnectFault> {
        let Some(user) = &event.state_key else { return Ok(None) };
        if !event.is_departure(user) {
            self.matrix.known().learn_member(self.room.as_str(), event);
            return Ok(None);
        }
        if *user == *self.us.id {
            return Ok(self.sealed(id, event, &event.sender, None, Happening::Removed));
        }
        self.learn_room().await?;
        let sealed = self.sealed(id, event, user, None, Happening::Left);
        self.matrix.known().learn_member(self.room.as_str(), event);
        Ok(sealed)
    }

    /// A room was replaced by another. Whoever says so invites us there: its members may be
    /// others, so who may talk is judged anew. Nothing is said in the old one any more.
    async fn replaced(&self, id: &str, event: &Event) -> Result<Vec<Envelope>, ConnectFault> {
        let room = event.text("replacement_room").filter(|room| room.starts_with('!'));
        let Some(chat) = room.and_then(|room| ChatId::new(room).ok()) else { return Ok(vec![]) };
        let is_state = event.state_key.as_deref() == Some("");
        if !is_state || event.is_redacted || chat == *self.room || *event.sender == *self.us.id {
            return Ok(vec![]);
        }
        self.learn_room().await?;
        let Some(over) = self.sealed(id, event, &event.sender, None, Happening::Removed) else {
            return Ok(vec![]);
        };
        let is_direct = over.address.chat_type == ChatType::Dm;
        let replaces = Some(self.room.as_str().into());
        let invite = Invite { by: event.sender.as_str().into(), is_direct, replaces };
        self.matrix.known().invites.insert(chat.as_str().into(), invite);
        tracing::warn!(
            account = %self.matrix.account, room = self.room.as_str(), new = chat.as_str(),
            "a room goes on in another; bindings and `access.allow` that name it need the new id"
        );
        let mut added = over.clone();
        added.event = EventId(format!("{id}/replacement").into());
        added.address.chat = chat;
        added.what = Happening::Added;
        Ok(vec![added, over])
    }

    fn sealed(
        &self,
        id: &str,
        event: &Event,
        user: &str,
        topic: Option<&str>,
        what: Happening,
    ) -> Option<Envelope> {
        let known = self.matrix.known();
        let room = self.room.as_str();
        let topic = topic.map(TopicId::new).transpose().ok()?;
        let user_id = UserId::new(user).ok()?;
        Some(Envelope {
            event: EventId(id.into()),
            address: self.matrix.address(self.room.clone(), known.chat_type(room), topic, user_id),
            sender: Sender {
                name: known.name(room, user),
                also: vec![],
                // Programs that follow the custom say by this that nobody should answer them.
                is_bot: event.text("msgtype") == Some("m.notice"),
            },
            at: event.at.unwrap_or_else(|| self.matrix.world.clock.now()),
            what,
        })
    }

    /// What a message with this content says.
    async fn said(
        &self,
        id: &str,
        event: &Event,
        content: &Value,
        topic: Option<&str>,
    ) -> Result<Option<Message>, ConnectFault> {
        let text = |key: &str| content.get(key).and_then(Value::as_str);
        let is_sticker = event.kind == "m.sticker";
        let kind = if is_sticker { "m.image" } else { text("msgtype").unwrap_or_default() };
        let Some(body) = text("body") else { return Ok(None) };
        match kind {
            "m.server_notice" => {
                tracing::warn!(
                    account = %self.matrix.account, room = self.room.as_str(), sender = event.sender,
                    "there is a notice of the homeserver for the account: read it with a Matrix client"
                );
                return Ok(None);
            }
            // Part of encryption, and no message.
            "m.key.verification.request" => return Ok(None),
            _ => {}
        }
        let quoted = match relation(&event.content) {
            Relation::Reply(quoted) | Relation::Thread { reply: Some(quoted), .. } => {
                Some(self.quoted(quoted, topic).await?)
            }
            _ => None,
        };
        let is_reply = event.content.pointer("/m.relates_to/m.in_reply_to").is_some();
        let body = if is_reply { without_fallback(body) } else { body };
        let known = self.matrix.known();
        let here = known.name(self.room.as_str(), &self.us.id);
        let names = Names { user: &self.us.id, shown: vec![&self.us.name, &here] };
        let is_passed_on = is_passed_on(&event.content) || is_passed_on(content);
        let own = own_lines(body);
        let is_named = mentions(content, &own, &names);
        let attachment = attachment(kind, content);
        let is_caption = text("filename").is_some_and(|name| name != body);
        let mut words = Words::new();
        match kind {
            "m.text" | "m.notice" => typed(&mut words, content, body, is_named.then_some(&names)),
            "m.emote" => {
                let name = known.name(self.room.as_str(), &event.sender);
                words.push_foreign(WordSource::Name, None, &name);
                typed(&mut words, content, body, is_named.then_some(&names));
            }
            // A caption stands where the name stood, and the name beside it.
            "m.image" | "m.file" | "m.audio" | "m.video" if is_caption && !is_sticker => {
                typed(&mut words, content, body, is_named.then_some(&names));
            }
            // Its name stands with it.
            "m.image" | "m.file" | "m.audio" | "m.video" if attachment.is_some() => {}
            "m.location" => {
                let place = text("geo_uri").map(|place| format!(" ({place})")).unwrap_or_default();
                words.push_foreign(WordSource::Place, None, &format!("{body}{place}"));
            }
            _ if is_sticker => words.push_foreign(WordSource::Sticker, None, body),
            // What a client says instead of what we don't know.
            _ => words.push_foreign(WordSource::Other, None, body),
        }
        let is_typed = words.pieces().iter().any(|it| matches!(it, Piece::Typed(_)));
        // A mention by itself is all of a message whose words are taken out.
        let is_worded = matches!(kind, "m.text" | "m.notice" | "m.emote") || is_typed;
        let mut addressed = is_named && is_worded;
        if is_passed_on {
            words = words.made_foreign(WordSource::Forwarded, None);
            addressed = false;
        }
        Ok(Some(Message {
            id: MessageId(id.into()),
            words,
            mentions_us: addressed || quoted.as_ref().is_some_and(|quoted| quoted.is_ours),
            // By custom a notice is what programs say, and answered by none: or two of them would
            // never end.
            is_for_another: kind == "m.notice",
            attachments: attachment.into_iter().collect(),
            quoted,
            group: None,
        }))
    }

    /// What a message answers, as the server has it: the quote inside the message is written by
    /// whoever sent it.
    async fn quoted(&self, id: &str, topic: Option<&str>) -> Result<Quoted, ConnectFault> {
        let Some(event) = self.look_up(id).await? else {
            return Ok(Quoted {
                id: MessageId(id.into()),
                author: None,
                is_ours: false,
                is_from_here: false,
                text: String::new(),
            });
        };
        let root = match event.relation() {
            Relation::Thread { root, .. } => Some(root),
            _ => None,
        };
        // The first message of a thread stands in the room, and is read in the thread too.
        let is_from_here = root == topic || topic == Some(id);
        let is_reply = event.content.pointer("/m.relates_to/m.in_reply_to").is_some();
        let body = event.text("body").unwrap_or_default();
        let body = if is_reply { without_fallback(body) } else { body };
        Ok(Quoted {
            id: MessageId(id.into()),
            author: UserId::new(&*event.sender).ok(),
            is_ours: *event.sender == *self.us.id,
            is_from_here,
            text: body.chars().take(QUOTE_CHARS_MAX).collect(),
        })
    }

    /// Who wrote an earlier message, and in which thread.
    async fn earlier(&self, id: &str) -> Result<Option<Earlier>, ConnectFault> {
        if let Some(earlier) = self.matrix.known().threads.get(id) {
            return Ok(Some(earlier.clone()));
        }
        let Some(event) = self.look_up(id).await? else { return Ok(None) };
        if !matches!(&*event.kind, "m.room.message" | "m.sticker") || event.is_redacted {
            return Ok(None);
        }
        let topic = match event.relation() {
            Relation::Thread { root, .. } => Some(root.into()),
            _ => None,
        };
        Ok(Some(Earlier { sender: event.sender.into(), topic }))
    }

    async fn look_up(&self, id: &str) -> Result<Option<Event>, ConnectFault> {
        let path =
            format!("/client/v3/rooms/{}/event/{}", segment(self.room.as_str()), segment(id));
        let asked = self.matrix.server.get(&path, self.cancel);
        let reply = self.matrix.ask(&format!("event {id}"), asked).await?;
        let found = reply.and_then(|reply| serde_json::from_slice(&reply.body).ok());
        match found.and_then(Event::of) {
            Some(event) if event.kind == "m.room.encrypted" => self.peeked(event).await,
            found => Ok(found),
        }
    }

    /// Asks who is in the room, unless we know.
    async fn learn_room(&self) -> Result<(), ConnectFault> {
        let room = self.room.as_str();
        if self.matrix.known().has_room(room) {
            return Ok(());
        }
        let path = format!("/client/v3/rooms/{}/joined_members", segment(room));
        let limits = (Duration::from_secs(30), MEMBERS_LEN_MAX);
        let members = match self.matrix.server.get_within(&path, limits, self.cancel).await {
            // Too many to read is an answer too.
            Err(Trouble::Wire(insula_wire::WireFault::TooMuch { .. })) => None,
            asked => self.matrix.ask(&format!("members {room}"), async { asked }).await?,
        };
        let members = members.and_then(|reply| serde_json::from_slice::<Members>(&reply.body).ok());
        let Some(members) = members else {
            self.matrix.known().learn_room(room, Room::unknown());
            return Ok(());
        };
        let is_listed = self.matrix.known().is_listed(room);
        let asks = members.joined.len() <= 2 && !is_listed;
        let was_direct = asks && self.was_invited_directly().await?;
        let members = members.joined.into_iter().map(|(user, member)| (user, member.display_name));
        self.matrix.known().learn_room(room, Room::new(members, was_direct));
        Ok(())
    }

    /// Whether we were invited to talk with one person alone: our own membership tells, or what
    /// it was before we joined.
    async fn was_invited_directly(&self) -> Result<bool, ConnectFault> {
        if let Some(invite) = self.matrix.known().invites.get(self.room.as_str()) {
            return Ok(invite.is_direct);
        }
        self.matrix.was_invited_directly(self.room.as_str(), &self.us.id, self.cancel).await
    }
}

impl Matrix {
    /// The same, asked of the server.
    pub(super) async fn was_invited_directly(
        &self,
        room: &str,
        us: &str,
        cancel: &CancellationToken,
    ) -> Result<bool, ConnectFault> {
        let path = format!(
            "/client/v3/rooms/{}/state/m.room.member/{}?format=event",
            segment(room),
            segment(us)
        );
        let asked = self.server.get(&path, cancel);
        let Some(reply) = self.ask(&format!("membership {room}"), asked).await? else {
            return Ok(false);
        };
        let value: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let says = |at: &str| value.pointer(at) == Some(&Value::Bool(true));
        // A server that does not know the format gives the content alone.
        Ok(says("/content/is_direct")
            || says("/unsigned/prev_content/is_direct")
            || says("/is_direct"))
    }
}

/// What came with a message of this kind.
fn attachment(kind: &str, content: &Value) -> Option<Attachment> {
    let text = |key: &str| content.get(key).and_then(Value::as_str);
    let is_voice = ["org.matrix.msc3245.voice.v2", "org.matrix.msc3245.voice", "m.voice"]
        .iter()
        .any(|key| content.get(key).is_some());
    let kind = match kind {
        "m.image" => AttachmentKind::Image,
        "m.audio" if is_voice => AttachmentKind::Voice,
        "m.audio" => AttachmentKind::Audio,
        "m.video" => AttachmentKind::Video,
        "m.file" => AttachmentKind::File,
        _ => return None,
    };
    let is_file = |url: &&str| super::address::is_content(url) || url.starts_with(SEALED);
    let handle = text("url").filter(is_file)?;
    let info = content.get("info").unwrap_or(&Value::Null);
    let media_type = info.get("mimetype").and_then(Value::as_str);
    Some(Attachment {
        kind,
        name: text("filename").or(text("body")).unwrap_or_default().into(),
        media_type: media_type.unwrap_or("application/octet-stream").into(),
        size: info.get("size").and_then(Value::as_u64),
        handle: handle.into(),
    })
}
