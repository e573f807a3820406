//! From an event of signal-cli to an envelope. What it does not understand it leaves out.

use super::known::Known;
use super::people::Person;
use super::types::{
    Contact, DataMessage, EditMessage, Envelope as Wire, GroupInfo, Quote, Received, RemoteFile,
    SentMessage,
};
use super::words;
use insula_channel::{
    Attachment, AttachmentKind, Envelope, EventId, Happening, Message, MessageId, Quoted,
    Reaction as Sign, ReactionChange, Sender,
};
use insula_domain::{AccountId, Address, ChatId, ChatType, Platform, UserId, WordSource, Words};
use insula_world::Timestamp;

/// How much of a name is kept.
const NAME_CHARS_MAX: usize = 128;
/// How much of what is quoted is kept.
const QUOTE_CHARS_MAX: usize = 4000;
/// How much of a sign is kept.
const SIGN_CHARS_MAX: usize = 32;
/// Files of one message, at most.
const FILES_MAX: usize = 32;
/// Milliseconds that are a date: a little less than the year 10000.
const MILLIS_MAX: i64 = 250_000_000_000_000;

/// What reading needs to know of the account.
pub(super) struct Reader<'a> {
    pub(super) platform: Platform,
    pub(super) account: &'a AccountId,
    /// Who we are by the settings: an account may be given another number.
    pub(super) ours: &'a str,
    /// What is known of people and messages; it learns more.
    pub(super) known: &'a mut Known,
}

/// What an event is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Event(Box<Envelope>),
    /// A group itself changed: what that means for us has to be asked.
    Group {
        group: Box<str>,
        revision: i64,
        by: Box<Envelope>,
    },
}

/// Where, and by whom.
struct Origin {
    chat: ChatId,
    chat_type: ChatType,
    author: Option<Person>,
    sender: Sender,
    event: EventId,
    at: Timestamp,
}

impl Reader<'_> {
    pub(super) fn read(mut self, received: Received) -> Option<Heard> {
        if !self.is_for_us(received.account.as_deref()) {
            return None;
        }
        let wire = received.envelope?;
        if received.exception.is_some() && wire.data_message.is_none() {
            return None;
        }
        let author = Person::new(wire.source_uuid.as_deref(), wire.source_number.as_deref());
        let name = short(wire.source_name.as_deref().unwrap_or_default());
        if let Some(author) = &author {
            self.known.learn_name(author, &name);
        }
        let sent = wire.sync_message.as_ref().and_then(|sync| sync.sent_message.clone());
        match sent {
            Some(sent) => self.of_our_own(&wire, author, &sent),
            None => self.of_others(&wire, author, name),
        }
    }

    /// A daemon of several accounts may tell us of all, and two bots never share what they hear.
    fn is_for_us(&mut self, account: Option<&str>) -> bool {
        let Some(person) = Person::new(None, account) else { return true };
        if self.known.us.number.is_none() || self.known.us.is(&person) {
            return true;
        }
        if !std::mem::replace(&mut self.known.told_of_strangers, true) {
            tracing::warn!(
                account = %self.account,
                "signal-cli tells of messages to another account; they are left out. Start it for \
                 this account, or without `-a` for all"
            );
        }
        false
    }

    fn of_others(&mut self, wire: &Wire, author: Option<Person>, name: String) -> Option<Heard> {
        if author.as_ref().is_some_and(|author| self.known.us.is(author)) {
            return None;
        }
        if let Some(edit) = &wire.edit_message {
            let origin = self.origin(wire, author, name, &edit.data_message, None)?;
            return self.edited(origin, edit);
        }
        let message = wire.data_message.as_ref()?;
        let origin = self.origin(wire, author, name, message, None)?;
        self.happened(origin, message)
    }

    /// What our account's owner did with another device: what they say in a group or to themselves
    /// is said to us, what they write to others is not.
    fn of_our_own(
        &mut self,
        wire: &Wire,
        author: Option<Person>,
        sent: &SentMessage,
    ) -> Option<Heard> {
        // Whoever it says it is: only our own devices make such events.
        let author = match author {
            Some(author) if self.known.us.is(&author) => author,
            _ => return None,
        };
        if self.known.us.uuid.is_none() && author.number.is_some() {
            self.known.us.uuid = Some(author.id.clone());
        }
        let to = Person::new(sent.destination_uuid.as_deref(), sent.destination_number.as_deref());
        let name = self.known.us.name.clone().into();
        let message = sent.edit_message.as_ref().map_or(&sent.message, |edit| &edit.data_message);
        let is_here = match &to {
            Some(to) => self.known.us.is(to),
            None => message.group_info.is_some(),
        };
        if !is_here {
            return None;
        }
        let origin = self.origin(wire, Some(author.clone()), name, message, to.map(|_| author))?;
        match &sent.edit_message {
            Some(edit) => self.edited(origin, edit),
            None => self.happened(origin, message),
        }
    }

    fn origin(
        &self,
        wire: &Wire,
        author: Option<Person>,
        name: String,
        message: &DataMessage,
        to_oneself: Option<Person>,
    ) -> Option<Origin> {
        let (chat, chat_type) = match (&message.group_info, &author) {
            (Some(group), _) => (ChatId::new(group.group_id.as_str()).ok()?, ChatType::Group),
            (None, Some(author)) => {
                let with = to_oneself.as_ref().unwrap_or(author);
                (ChatId::new(&*with.id).ok()?, ChatType::Dm)
            }
            (None, None) => return None,
        };
        let by = author.as_ref().map_or("?", |author| &author.id);
        let device = wire.source_device.unwrap_or_default();
        let event = format!("{}/{by}:{device}:{}", self.ours, wire.timestamp);
        let also = author.as_ref().map(Person::also).unwrap_or_default();
        Some(Origin {
            chat,
            chat_type,
            author,
            sender: Sender { name: name.into(), also, is_bot: false },
            event: EventId(event.into()),
            at: Timestamp::from_millis(wire.timestamp.clamp(0, MILLIS_MAX)),
        })
    }

    fn edited(&mut self, origin: Origin, edit: &EditMessage) -> Option<Heard> {
        let EditMessage { target_sent_timestamp: target, data_message: message } = edit;
        let by = self.key_of(origin.author.as_ref());
        let chat = origin.chat.as_str();
        let first = self.known.learn_change(chat, &by, *target, message.timestamp);
        let said = self.said(&origin, message, first)?;
        self.event(origin, Happening::Edited(said))
    }

    fn happened(&mut self, origin: Origin, message: &DataMessage) -> Option<Heard> {
        if let Some(gone) = &message.remote_delete {
            let id = self.message_id(&origin.chat, origin.author.as_ref(), gone.timestamp);
            return self.event(origin, Happening::Deleted(id));
        }
        if let Some(gone) = &message.admin_delete {
            let whose = (gone.target_author_uuid.as_deref(), gone.target_author_number.as_deref());
            let whose = Person::new(whose.0, whose.1);
            let id = self.message_id(&origin.chat, whose.as_ref(), gone.target_sent_timestamp);
            return self.event(origin, Happening::Deleted(id));
        }
        if let Some(reaction) = &message.reaction {
            let whose =
                (reaction.target_author_uuid.as_deref(), reaction.target_author_number.as_deref());
            let whose = Person::new(whose.0, whose.1);
            let at = reaction.target_sent_timestamp;
            let change =
                if reaction.is_remove { ReactionChange::Taken } else { ReactionChange::Put };
            let what = Happening::Reacted(Sign {
                message: self.message_id(&origin.chat, whose.as_ref(), at),
                sign: reaction.emoji.chars().take(SIGN_CHARS_MAX).collect::<String>().into(),
                change,
                is_ours: whose.as_ref().map(|whose| self.known.us.is(whose)),
            });
            return self.event(origin, what);
        }
        if let Some(said) = self.said(&origin, message, message.timestamp) {
            return self.event(origin, Happening::Said(said));
        }
        match &message.group_info {
            Some(GroupInfo { group_id, revision, kind }) if kind.as_deref() == Some("UPDATE") => {
                let (group, revision) = (group_id.as_str().into(), *revision);
                let by = Box::new(self.envelope(origin, Happening::Added));
                Some(Heard::Group { group, revision, by })
            }
            _ => None,
        }
    }

    fn said(&self, origin: &Origin, message: &DataMessage, sent: i64) -> Option<Message> {
        let known = &*self.known;
        let name_of = |person: &Person| known.name(person).map(str::to_owned);
        let text = message.message.as_deref().unwrap_or_default();
        let mut read = words::read(text, &message.mentions, &known.us, name_of);
        if read.words.is_empty()
            && let Some((source, text)) = in_words(message)
        {
            read.words = Words::foreign(source, &text);
        }
        let attachments = attachments(message, origin);
        if read.words.is_empty() && attachments.is_empty() && !read.mentions_us {
            return None;
        }
        let quoted = message.quote.as_ref().map(|quote| self.quoted(origin, quote));
        Some(Message {
            id: self.message_id(&origin.chat, origin.author.as_ref(), sent),
            mentions_us: read.mentions_us || quoted.as_ref().is_some_and(|it| it.is_ours),
            words: read.words,
            is_for_another: read.is_for_another,
            attachments,
            quoted,
            group: None,
        })
    }

    fn quoted(&self, origin: &Origin, quote: &Quote) -> Quoted {
        let author = Person::new(quote.author_uuid.as_deref(), quote.author_number.as_deref());
        let known = &*self.known;
        let name_of = |person: &Person| known.name(person).map(str::to_owned);
        let text = quote.text.as_deref().unwrap_or_default();
        let read = words::read(text, &quote.mentions, &known.us, name_of);
        Quoted {
            id: self.message_id(&origin.chat, author.as_ref(), quote.id),
            is_ours: author.as_ref().is_some_and(|author| known.us.is(author)),
            author: author.as_ref().and_then(Person::user),
            // Clients quote only what stands in the chat.
            is_from_here: true,
            text: read.words.all().chars().take(QUOTE_CHARS_MAX).collect(),
        }
    }

    /// The name of a message: when it was first sent, and by whom, for two people may say
    /// something in one moment. What we said has the time alone.
    fn message_id(&self, chat: &ChatId, author: Option<&Person>, sent: i64) -> MessageId {
        let by = self.key_of(author);
        let first = self.known.first(chat.as_str(), &by, sent);
        match &*by {
            "" => MessageId(first.to_string().into()),
            by => MessageId(format!("{first}/{by}").into()),
        }
    }

    fn key_of(&self, author: Option<&Person>) -> Box<str> {
        match author {
            Some(author) if self.known.us.is(author) => "".into(),
            Some(author) => author.id.clone(),
            None => "?".into(),
        }
    }

    fn event(&self, origin: Origin, what: Happening) -> Option<Heard> {
        Some(Heard::Event(Box::new(self.envelope(origin, what))))
    }

    fn envelope(&self, origin: Origin, what: Happening) -> Envelope {
        let Origin { chat, chat_type, author, sender, event, at } = origin;
        let user: Option<UserId> = author.as_ref().and_then(Person::user);
        let address = Address {
            platform: self.platform,
            account: self.account.clone(),
            chat,
            chat_type,
            topic: None,
            parent: None,
            community: None,
            user,
            roles: vec![],
        };
        Envelope { event, address, sender, at, what }
    }
}

/// A name on one line, of some length at most.
fn short(name: &str) -> String {
    let line: Vec<&str> = name.split_whitespace().collect();
    line.join(" ").chars().take(NAME_CHARS_MAX).collect()
}

/// What is neither words nor a file, in words. Nobody typed them.
fn in_words(message: &DataMessage) -> Option<(WordSource, String)> {
    if let Some(sticker) = &message.sticker {
        let shown = format!("sticker {} of {}", sticker.sticker_id, sticker.pack_id);
        return Some((WordSource::Sticker, shown));
    }
    if let Some(poll) = &message.poll_create {
        let text = format!("{} ({})", poll.question, poll.options.join(" / "));
        return Some((WordSource::Poll, text));
    }
    let contact = message.contacts.first()?;
    Some((WordSource::Contact, contact_in_words(contact)))
}

fn contact_in_words(contact: &Contact) -> String {
    let name = contact.name.as_ref();
    let given = name.and_then(|name| name.given.as_deref());
    let family = name.and_then(|name| name.family.as_deref());
    let phone = contact.phone.iter().filter_map(|phone| phone.value.as_deref());
    let parts: Vec<&str> = given.into_iter().chain(family).chain(phone).collect();
    parts.join(", ")
}

fn attachments(message: &DataMessage, origin: &Origin) -> Vec<Attachment> {
    let files = message.attachments.iter().take(FILES_MAX);
    files.filter_map(|file| attachment(file, origin)).collect()
}

fn attachment(file: &RemoteFile, origin: &Origin) -> Option<Attachment> {
    let media_type = file.content_type.as_deref().unwrap_or("application/octet-stream");
    let name = file.filename.as_deref().unwrap_or_default();
    let kind = match media_type.split('/').next() {
        Some("image") => AttachmentKind::Image,
        Some("video") => AttachmentKind::Video,
        // Where an older signal-cli does not say so: what is recorded in a chat has a type and no
        // name; a file of sound has one.
        Some("audio") if file.is_voice_note.unwrap_or_else(|| is_recorded(name)) => {
            AttachmentKind::Voice
        }
        Some("audio") => AttachmentKind::Audio,
        _ => AttachmentKind::File,
    };
    let id = file.id.as_deref().filter(|id| super::api::is_file_id(id))?;
    let place = match origin.chat_type {
        ChatType::Dm => 'u',
        _ => 'g',
    };
    Some(Attachment {
        kind,
        name: name.into(),
        media_type: media_type.into(),
        size: file.size,
        handle: format!("{place}:{}:{id}", origin.chat).into(),
    })
}

/// Whether a sound is called as clients call what they record: not at all.
fn is_recorded(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    name.is_empty() || name.starts_with("voice message") || name.starts_with("signal-voice")
}
