//! From an update to an envelope. Pure: what it does not understand it leaves out.

use super::types::{
    CallbackQuery, Chat, Earlier, Media, MemberChange, Message, Origin, ReactionUpdate, Update,
    User,
};
use super::words::{self, Myself, Read};
use insula_channel::{
    Attachment, AttachmentKind, Envelope, EventId, Happening, Message as Said, MessageId, Press,
    Quoted, Reaction, ReactionChange, Sender,
};
use insula_domain::{
    AccountId, Address, ChatId, ChatType, Platform, TopicId, UserId, WordSource, Words,
};
use insula_world::Timestamp;

/// The topic that every forum has. The wire leaves it out; clients and links call it 1.
pub(super) const GENERAL_TOPIC: &str = "1";
/// How much of a name is kept.
const NAME_CHARS_MAX: usize = 128;
/// Seconds that are a date: a little less than the year 10000.
const SECONDS_MAX: i64 = 250_000_000_000;

/// What reading needs to know of the account.
pub(super) struct Reader<'a> {
    pub(super) platform: Platform,
    pub(super) account: &'a AccountId,
    pub(super) myself: &'a Myself,
    /// For what has no time of its own.
    pub(super) now: Timestamp,
}

/// Where something happened.
struct ChatThread<'a> {
    chat: &'a Chat,
    topic: Option<i64>,
}

impl<'a> ChatThread<'a> {
    fn of(chat: &'a Chat, thread: Option<i64>, is_topic: bool) -> Self {
        // Outside a topic, a thread is only a chain of replies.
        Self { chat, topic: thread.filter(|_| is_topic) }
    }

    fn topic(&self) -> Option<TopicId> {
        match self.topic {
            Some(topic) => TopicId::new(topic.to_string()).ok(),
            None if self.chat.is_forum => TopicId::new(GENERAL_TOPIC).ok(),
            None => None,
        }
    }
}

impl Reader<'_> {
    /// The envelope of an update, if it is one that concerns anybody.
    pub(super) fn read(&self, update: Update) -> Option<Envelope> {
        // A bot keeps its ids, and an account may be given another bot.
        let event = EventId(format!("{}/{}", self.myself.id, update.update_id).into());
        if let Some(message) = update.message.or(update.channel_post) {
            return self.message(event, message, Happening::Said);
        }
        if let Some(message) = update.edited_message.or(update.edited_channel_post) {
            return self.message(event, message, Happening::Edited);
        }
        if let Some(query) = update.callback_query {
            return self.press(event, query);
        }
        if let Some(change) = update.message_reaction {
            return self.reaction(event, &change);
        }
        if let Some(change) = update.my_chat_member {
            return self.own_membership(event, &change);
        }
        self.membership(event, &update.chat_member?)
    }

    fn message(
        &self,
        event: EventId,
        message: Message,
        happening: fn(Said) -> Happening,
    ) -> Option<Envelope> {
        let place =
            ChatThread::of(&message.chat, message.message_thread_id, message.is_topic_message);
        let at = seconds(message.edit_date.unwrap_or(message.date));
        if let Some(moved) = message.migrate_to_chat_id {
            let (user, sender) = self.signed(&message);
            let what = Happening::Moved(ChatId::new(moved.to_string()).ok()?);
            return self.envelope(event, &place, user, sender, at, what);
        }
        if let Some(gone) = &message.left_chat_member {
            return self.left(event, &place, gone, at);
        }
        let (user, sender) = self.signed(&message);
        if user.as_ref().is_some_and(|user| user.as_str() == self.myself.id.to_string()) {
            return None;
        }
        let said = self.said(&message, &place)?;
        self.envelope(event, &place, user, sender, at, happening(said))
    }

    fn said(&self, message: &Message, place: &ChatThread<'_>) -> Option<Said> {
        let (text, entities) = match (&message.text, &message.caption) {
            (Some(text), _) => (text.as_str(), message.entities.as_slice()),
            (None, Some(caption)) => (caption.as_str(), message.caption_entities.as_slice()),
            (None, None) => ("", [].as_slice()),
        };
        let mut read = words::read(text, entities, self.myself);
        if read.words.is_empty()
            && let Some((source, text)) = in_words(message)
        {
            read.words = Words::foreign(source, &text);
        }
        let mut attachments = attachments(message);
        if read.words.is_empty() && attachments.is_empty() && !read.mentions_us {
            return None;
        }
        read.words = without_payload(read.words);
        if let Some((source, by)) = another(message) {
            // Somebody else's words: neither a command nor an answer of the sender's, and it is
            // not them who is spoken to.
            let words = read.words.made_foreign(source, Some(&by));
            read = Read { words, mentions_us: false, is_for_another: false };
            for attachment in &mut attachments {
                if attachment.kind == AttachmentKind::Voice {
                    attachment.kind = AttachmentKind::Audio;
                }
            }
        }
        let quoted = self.quoted(message, place);
        Some(Said {
            id: id(message.message_id),
            mentions_us: read.mentions_us || quoted.as_ref().is_some_and(|quoted| quoted.is_ours),
            words: read.words,
            is_for_another: read.is_for_another,
            attachments,
            quoted,
            group: message.media_group_id.as_deref().map(Into::into),
        })
    }

    fn quoted(&self, message: &Message, place: &ChatThread<'_>) -> Option<Quoted> {
        let quote = message.quote.as_ref().map(|quote| quote.text.clone());
        if let Some(earlier) = &message.reply_to_message {
            if earlier.forum_topic_created.is_some() {
                return None;
            }
            let there =
                ChatThread::of(&earlier.chat, earlier.message_thread_id, earlier.is_topic_message);
            let author = earlier.from.as_ref().filter(|_| earlier.sender_chat.is_none());
            let text = earlier.text.as_ref().or(earlier.caption.as_ref()).cloned();
            return Some(Quoted {
                id: id(earlier.message_id),
                author: author.and_then(|user| user_id(user.id)),
                is_ours: author.is_some_and(|user| user.id == self.myself.id),
                is_from_here: there.chat.id == place.chat.id && there.topic == place.topic,
                text: quote.or(text).unwrap_or_default(),
            });
        }
        let external = message.external_reply.as_ref()?;
        let author = external.origin.as_ref().and_then(|origin| origin.sender_user.as_ref());
        Some(Quoted {
            id: id(external.message_id.unwrap_or(0)),
            author: author.and_then(|user| user_id(user.id)),
            is_ours: author.is_some_and(|user| user.id == self.myself.id),
            is_from_here: false,
            text: quote.unwrap_or_default(),
        })
    }

    fn press(&self, event: EventId, query: CallbackQuery) -> Option<Envelope> {
        let CallbackQuery { id: handle, from, message, data } = query;
        let Earlier { message_id, chat, message_thread_id, is_topic_message, .. } = *message?;
        let place = ChatThread::of(&chat, message_thread_id, is_topic_message);
        let press = Press { handle: handle.into(), message: id(message_id), data: data?.into() };
        let (user, sender) = named(&from);
        self.envelope(event, &place, user, sender, self.now, Happening::Pressed(press))
    }

    /// What changed in somebody's reactions to a message: what they put there, or else what they
    /// took away. Who reacts as a chat is nobody, and decides nothing.
    fn reaction(&self, event: EventId, change: &ReactionUpdate) -> Option<Envelope> {
        let ReactionUpdate { old_reaction: old, new_reaction: new, .. } = change;
        let put = new.iter().find(|sign| !old.contains(sign));
        let taken = || old.iter().find(|sign| !new.contains(sign));
        let (sign, what) = match put {
            Some(sign) => (sign, ReactionChange::Put),
            None => (taken()?, ReactionChange::Taken),
        };
        let sign = match (&sign.emoji, &sign.custom_emoji_id) {
            (Some(emoji), _) => short(emoji),
            (None, Some(own)) => format!(":{}:", short(own)),
            (None, None) => return None,
        };
        let user = change.user.as_ref()?;
        if user.id == self.myself.id {
            return None;
        }
        let (user, sender) = named(user);
        let place = ChatThread { chat: &change.chat, topic: None };
        let reaction = Reaction {
            message: id(change.message_id),
            sign: sign.into(),
            change: what,
            is_ours: None,
        };
        let what = Happening::Reacted(reaction);
        let envelope = self.envelope(event, &place, user, sender, seconds(change.date), what)?;
        Some(of_the_whole_chat(envelope))
    }

    fn own_membership(&self, event: EventId, change: &MemberChange) -> Option<Envelope> {
        let place = ChatThread { chat: &change.chat, topic: None };
        let what = match (change.old_chat_member.is_there(), change.new_chat_member.is_there()) {
            (false, true) => Happening::Added,
            (true, false) => Happening::Removed,
            _ => return None,
        };
        // Whoever blocks or unblocks us adds us to nothing.
        if change.chat.kind == "private" {
            return None;
        }
        let (user, sender) = named(&change.from);
        let envelope = self.envelope(event, &place, user, sender, seconds(change.date), what)?;
        Some(of_the_whole_chat(envelope))
    }

    fn membership(&self, event: EventId, change: &MemberChange) -> Option<Envelope> {
        let place = ChatThread { chat: &change.chat, topic: None };
        let left = change.old_chat_member.is_there() && !change.new_chat_member.is_there();
        if !left {
            return None;
        }
        self.left(event, &place, &change.new_chat_member.user, seconds(change.date))
    }

    fn left(
        &self,
        event: EventId,
        place: &ChatThread<'_>,
        gone: &User,
        at: Timestamp,
    ) -> Option<Envelope> {
        // That we were removed is told apart, in `my_chat_member`.
        if gone.id == self.myself.id {
            return None;
        }
        let (user, sender) = named(gone);
        let envelope = self.envelope(event, place, user, sender, at, Happening::Left)?;
        Some(of_the_whole_chat(envelope))
    }

    /// Who said it. What was said in the name of a chat was said by nobody we could name: the
    /// user the wire puts there (`GroupAnonymousBot`, `Channel_Bot`) is the same everywhere.
    fn signed(&self, message: &Message) -> (Option<UserId>, Sender) {
        match (&message.sender_chat, &message.from) {
            (None, Some(from)) => named(from),
            (Some(chat), _) => (None, nameless(&message.author_signature, &chat.title)),
            (None, None) => (None, nameless(&message.author_signature, &message.chat.title)),
        }
    }

    fn envelope(
        &self,
        event: EventId,
        place: &ChatThread<'_>,
        user: Option<UserId>,
        sender: Sender,
        at: Timestamp,
        what: Happening,
    ) -> Option<Envelope> {
        let chat_type = match place.chat.kind.as_str() {
            "private" => ChatType::Dm,
            "group" | "supergroup" => ChatType::Group,
            "channel" => ChatType::Channel,
            _ => return None,
        };
        let address = Address {
            platform: self.platform,
            account: self.account.clone(),
            chat: ChatId::new(place.chat.id.to_string()).ok()?,
            chat_type,
            topic: place.topic(),
            parent: None,
            community: None,
            user,
            roles: vec![],
        };
        Some(Envelope { event, address, sender, at, what })
    }
}

/// What concerns a chat as a whole happened in no topic of it.
fn of_the_whole_chat(mut envelope: Envelope) -> Envelope {
    envelope.address.topic = None;
    envelope
}

fn id(number: i64) -> MessageId {
    MessageId(number.to_string().into())
}

fn user_id(number: i64) -> Option<UserId> {
    UserId::new(number.to_string()).ok()
}

fn seconds(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds.clamp(0, SECONDS_MAX) * 1000)
}

fn named(user: &User) -> (Option<UserId>, Sender) {
    let whole = format!("{} {}", user.first_name, user.last_name);
    let name = if whole.trim().is_empty() { &user.username } else { &whole };
    let sender = Sender { name: short(name).into(), also: vec![], is_bot: user.is_bot };
    (user_id(user.id), sender)
}

fn nameless(signature: &str, title: &str) -> Sender {
    let name = if signature.trim().is_empty() { title } else { signature };
    Sender { name: short(name).into(), also: vec![], is_bot: false }
}

fn author_name(origin: &Origin) -> String {
    let chat = origin.sender_chat.as_ref().or(origin.chat.as_ref());
    if let Some(user) = &origin.sender_user {
        return named(user).1.name.into();
    }
    short(chat.map_or(&origin.sender_user_name, |chat| &chat.title))
}

/// A name on one line and of some length at most.
/// A name on one line. What nobody sees in it stays until it is counted where all that comes in
/// is made clean.
fn short(name: &str) -> String {
    let line: Vec<&str> = name.split_whitespace().collect();
    line.join(" ").chars().take(NAME_CHARS_MAX).collect()
}

/// Who wrote a message, where that is not whoever sent it.
fn another(message: &Message) -> Option<(WordSource, String)> {
    if let Some(origin) = &message.forward_origin {
        return Some((WordSource::Forwarded, author_name(origin)));
    }
    let chat = message.forward_from_chat.as_ref().map(|chat| short(&chat.title));
    let user = message.forward_from.as_ref().map(|user| String::from(named(user).1.name));
    let name = message.forward_sender_name.as_deref().map(short);
    if let Some(by) = chat.or(user).or(name) {
        return Some((WordSource::Forwarded, by));
    }
    if message.forward_date.is_some() || message.is_automatic_forward {
        return Some((WordSource::Forwarded, String::new()));
    }
    let bot = message.via_bot.as_ref().or(message.sender_business_bot.as_ref())?;
    Some((WordSource::InlineBot, short(&bot.username)))
}

/// What a link to the bot carried stands behind `/start` as if it had been typed there.
fn without_payload(words: Words) -> Words {
    const START: &str = "/start";
    let typed = words.instruction();
    let is_start = typed.get(..START.len()).is_some_and(|it| it.eq_ignore_ascii_case(START));
    let Some(payload) = typed.get(START.len()..).filter(|_| is_start) else { return words };
    if !payload.starts_with(char::is_whitespace) {
        return words;
    }
    let mut start = Words::typed(START);
    start.push_foreign(WordSource::Payload, None, payload.trim());
    start
}

/// What is neither words nor a file, in words. Nobody typed them.
fn in_words(message: &Message) -> Option<(WordSource, String)> {
    if let Some(venue) = &message.venue {
        return Some((WordSource::Place, format!("{}, {}", venue.title, venue.address)));
    }
    if let Some(place) = &message.location {
        return Some((WordSource::Place, format!("{}, {}", place.latitude, place.longitude)));
    }
    if let Some(contact) = &message.contact {
        let text = format!("{}, {}", contact.first_name, contact.phone_number);
        return Some((WordSource::Contact, text));
    }
    if let Some(poll) = &message.poll {
        let options: Vec<&str> = poll.options.iter().map(|option| option.text.as_str()).collect();
        return Some((WordSource::Poll, format!("{} ({})", poll.question, options.join(" / "))));
    }
    let sticker = message.sticker.as_ref().filter(|sticker| !sticker.emoji.is_empty())?;
    Some((WordSource::Sticker, sticker.emoji.clone()))
}

fn attachments(message: &Message) -> Vec<Attachment> {
    use AttachmentKind::{Audio, File, Image, Video, Voice};
    let mut found = vec![];
    // The same picture in several sizes.
    let largest = message.photo.iter().max_by_key(|size| size.width.saturating_mul(size.height));
    if let Some(photo) = largest {
        found.push(attachment(Image, photo, "photo.jpg", "image/jpeg"));
    }
    if let Some(voice) = &message.voice {
        found.push(attachment(Voice, voice, "voice.ogg", "audio/ogg"));
    }
    if let Some(audio) = &message.audio {
        found.push(attachment(Audio, audio, "audio", "audio/mpeg"));
    }
    if let Some(video) = &message.video {
        found.push(attachment(Video, video, "video.mp4", "video/mp4"));
    }
    if let Some(note) = &message.video_note {
        found.push(attachment(Video, note, "video.mp4", "video/mp4"));
    }
    if let Some(animation) = &message.animation {
        found.push(attachment(Video, animation, "animation.mp4", "video/mp4"));
    } else if let Some(document) = &message.document {
        let kind = match document.mime_type.split('/').next() {
            Some("image") => Image,
            Some("audio") => Audio,
            Some("video") => Video,
            _ => File,
        };
        found.push(attachment(kind, document, "file", "application/octet-stream"));
    }
    if let Some(sticker) = &message.sticker {
        let (kind, name, media_type) = match (sticker.is_animated, sticker.is_video) {
            (true, _) => (File, "sticker.tgs", "application/x-tgsticker"),
            (_, true) => (Video, "sticker.webm", "video/webm"),
            _ => (Image, "sticker.webp", "image/webp"),
        };
        found.push(Attachment {
            kind,
            name: name.into(),
            media_type: media_type.into(),
            size: sticker.file_size,
            handle: sticker.file_id.as_str().into(),
        });
    }
    found
}

fn attachment(kind: AttachmentKind, media: &Media, name: &str, media_type: &str) -> Attachment {
    let or = |given: &str, otherwise: &str| -> Box<str> {
        let given = short(given);
        if given.is_empty() { otherwise.into() } else { given.into() }
    };
    Attachment {
        kind,
        name: or(&media.file_name, name),
        media_type: or(&media.mime_type, media_type),
        size: media.file_size,
        handle: media.file_id.as_str().into(),
    }
}
