//! From a change of the webhook to envelopes. Pure: what it does not understand it leaves out.

use super::types::{
    Card, Changed, Contact, Content, Context, Edit, Location, Media, Message as Wire, Reaction,
};
use insula_channel::{
    Attachment, AttachmentKind, Envelope, EventId, Happening, Message, MessageId, Press, Quoted,
    Reaction as Sign, ReactionChange, Sender,
};
use insula_domain::{AccountId, Address, ChatId, ChatType, Platform, UserId, WordSource, Words};
use insula_world::Timestamp;

/// How much of a name is kept.
const NAME_CHARS_MAX: usize = 128;
/// The longest id that is one.
const ID_LEN_MAX: usize = 256;
/// Seconds that are a date: a little less than the year 10000.
const SECONDS_MAX: i64 = 250_000_000_000;

/// What reading needs to know of the account.
pub(super) struct Reader<'a> {
    pub(super) platform: Platform,
    pub(super) account: &'a AccountId,
    /// The id of our number.
    pub(super) phone: &'a str,
}

impl Reader<'_> {
    /// The events of a change, the oldest first: they come in any order.
    pub(super) fn read(&self, changed: &Changed) -> Vec<Envelope> {
        let ours = digits(&changed.metadata.display_phone_number);
        let read = |message: &Wire| self.one(message, &changed.contacts, &ours);
        let mut envelopes: Vec<Envelope> = changed.messages.iter().filter_map(read).collect();
        envelopes.sort_by_key(|envelope| envelope.at);
        envelopes
    }

    fn one(&self, message: &Wire, contacts: &[Contact], ours: &str) -> Option<Envelope> {
        if !is_id(&message.id) {
            return None;
        }
        let from = message.from.as_deref().filter(|from| is_id(from));
        let contact = contacts.iter().find(|it| from.is_some() && it.wa_id.as_deref() == from);
        // Who hides their number has no other name than the one for this business.
        let hidden = contact.or(contacts.first()).and_then(|it| it.user_id.as_deref());
        let hidden = hidden.filter(|id| is_id(id));
        let user = from.or(hidden)?;
        let (chat, chat_type) = match message.group_id.as_deref().filter(|id| is_id(id)) {
            Some(group) => (group, ChatType::Group),
            None => (user, ChatType::Dm),
        };
        let what = self.what(message, ours)?;
        let profile = contact.or(contacts.first()).and_then(|it| it.profile.as_ref());
        let also = hidden.filter(|id| *id != user).and_then(|id| UserId::new(id).ok());
        let seconds = message.timestamp.parse::<i64>().unwrap_or(0).clamp(0, SECONDS_MAX);
        Some(Envelope {
            event: EventId(format!("{}/{}", self.phone, message.id).into()),
            address: Address {
                platform: self.platform,
                account: self.account.clone(),
                chat: ChatId::new(chat).ok()?,
                chat_type,
                topic: None,
                parent: None,
                community: None,
                user: Some(UserId::new(user).ok()?),
                roles: vec![],
            },
            sender: Sender {
                name: short(profile.map_or("", |profile| &profile.name)).into(),
                also: also.into_iter().collect(),
                is_bot: false,
            },
            at: Timestamp::from_millis(seconds * 1000),
            what,
        })
    }

    fn what(&self, message: &Wire, ours: &str) -> Option<Happening> {
        let named = |id: &str| is_id(id).then(|| MessageId(id.into()));
        if let Some(revoke) = &message.revoke {
            return Some(Happening::Deleted(named(&revoke.original_message_id)?));
        }
        if let Some(Edit { original_message_id, message: edited }) = &message.edit {
            let context = edited.context.as_ref().or(message.context.as_ref());
            let said = said(named(original_message_id)?, &edited.content, context, ours)?;
            return Some(Happening::Edited(said));
        }
        if let Some(Reaction { message_id, emoji }) = &message.content.reaction {
            let sign = emoji.as_deref().unwrap_or_default();
            let is_put = !sign.is_empty();
            return Some(Happening::Reacted(Sign {
                message: named(message_id)?,
                sign: sign.chars().take(NAME_CHARS_MAX).collect::<String>().into(),
                change: if is_put { ReactionChange::Put } else { ReactionChange::Taken },
                is_ours: None,
            }));
        }
        if let Some(interactive) = &message.content.interactive {
            let choice = interactive.button_reply.as_ref().or(interactive.list_reply.as_ref())?;
            let below = message.context.as_ref().and_then(|context| context.id.as_deref());
            return Some(Happening::Pressed(Press {
                handle: message.id.as_str().into(),
                message: named(below?)?,
                data: choice.id.as_str().into(),
            }));
        }
        let id = named(&message.id)?;
        said(id, &message.content, message.context.as_ref(), ours).map(Happening::Said)
    }
}

fn said(
    id: MessageId,
    content: &Content,
    context: Option<&Context>,
    ours: &str,
) -> Option<Message> {
    let mut attachments = vec![];
    let mut words = Words::new();
    let kinds = [
        (&content.image, AttachmentKind::Image),
        (&content.video, AttachmentKind::Video),
        (&content.document, AttachmentKind::File),
        (&content.sticker, AttachmentKind::Image),
        (&content.audio, AttachmentKind::Audio),
    ];
    if let Some(text) = &content.text {
        words.push_typed(text.body.trim());
    }
    for (media, kind) in kinds {
        let Some(media) = media else { continue };
        words.push_typed(media.caption.as_deref().unwrap_or_default().trim());
        attachments.extend(attachment(media, kind));
    }
    if let Some(button) = &content.button {
        // A button of a template: an answer that we offered.
        words.push_foreign(WordSource::Choice, None, &button.text);
    }
    if let Some(place) = &content.location {
        words.push_foreign(WordSource::Place, None, &place_in_words(place));
    }
    for card in content.contacts.iter().take(10) {
        words.push_foreign(WordSource::Contact, None, &card_in_words(card));
    }
    if words.is_empty() && attachments.is_empty() {
        return None;
    }
    let is_forwarded = context.is_some_and(|it| it.forwarded || it.frequently_forwarded);
    let quoted = context.filter(|_| !is_forwarded).and_then(|context| quoted(context, ours));
    if is_forwarded {
        words = words.made_foreign(WordSource::Forwarded, None);
        for attachment in &mut attachments {
            if attachment.kind == AttachmentKind::Voice {
                attachment.kind = AttachmentKind::Audio;
            }
        }
    }
    Some(Message {
        id,
        words,
        mentions_us: quoted.as_ref().is_some_and(|quoted| quoted.is_ours),
        is_for_another: false,
        attachments,
        quoted,
        group: None,
    })
}

/// What a message answers; the platform tells which and whose, not what it says.
fn quoted(context: &Context, ours: &str) -> Option<Quoted> {
    let id = context.id.as_deref().filter(|id| is_id(id))?;
    let author = context.from.as_deref().filter(|from| is_id(from));
    Some(Quoted {
        id: MessageId(id.into()),
        author: author.and_then(|from| UserId::new(from).ok()),
        is_ours: author.is_some_and(|from| !ours.is_empty() && digits(from) == ours),
        is_from_here: true,
        text: String::new(),
    })
}

fn attachment(media: &Media, kind: AttachmentKind) -> Option<Attachment> {
    let Media { id, mime_type, filename, voice, .. } = media;
    if !super::api::is_file_id(id) {
        return None;
    }
    Some(Attachment {
        kind: if *voice && kind == AttachmentKind::Audio { AttachmentKind::Voice } else { kind },
        name: filename.as_deref().unwrap_or_default().into(),
        media_type: mime_type.as_deref().unwrap_or("application/octet-stream").into(),
        size: None,
        handle: id.as_str().into(),
    })
}

fn place_in_words(place: &Location) -> String {
    let at = format!("{}, {}", place.latitude, place.longitude);
    let named = [place.name.as_deref(), place.address.as_deref()];
    let parts: Vec<&str> = named.into_iter().flatten().chain([at.as_str()]).collect();
    parts.join(", ")
}

fn card_in_words(card: &Card) -> String {
    let phones = card.phones.iter().filter_map(|it| it.phone.as_deref());
    let parts: Vec<&str> = std::iter::once(&*card.name.formatted_name).chain(phones).collect();
    parts.join(", ")
}

fn is_id(id: &str) -> bool {
    !id.trim().is_empty() && id.len() <= ID_LEN_MAX
}

/// A number as it is compared: people write it with blanks and a plus.
fn digits(number: &str) -> String {
    number.chars().filter(char::is_ascii_digit).collect()
}

/// A name on one line, of some length at most.
fn short(name: &str) -> String {
    let line: Vec<&str> = name.split_whitespace().collect();
    line.join(" ").chars().take(NAME_CHARS_MAX).collect()
}
