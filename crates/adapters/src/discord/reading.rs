//! From what Discord tells to an envelope. Pure: what it does not understand it leaves out.

use super::known::{Place, Us};
use super::types::{
    Entry, Interaction, Member, RemoteFile, RemoteReaction, User, is_id, made_at, number,
};
use super::words::{self, Addressed};
use insula_channel::{
    Attachment, AttachmentKind, Envelope, EventId, Happening, Message, MessageId, Press, Quoted,
    Reaction, ReactionChange, Sender,
};
use insula_domain::{
    AccountId, Address, ChatId, Community, GuildId, Platform, RoleId, UserId, WordSource, Words,
};
use insula_world::Timestamp;

/// How much of a name is kept, in characters.
const NAME_CHARS_MAX: usize = 128;
/// Roles of one person: Discord has 250 on a server.
const ROLES_MAX: usize = 250;
/// Cards of one message that are read.
const CARDS_MAX: usize = 10;
/// How much of a card is read, in characters.
const CARD_CHARS_MAX: usize = 4096;
/// Milliseconds that are a date: a little less than the year 10000.
const MILLIS_MAX: i64 = 250_000_000_000_000;
/// What says that a message is a recording of a voice.
const IS_VOICE: u64 = 1 << 13;

/// What reading needs to know of the account.
pub(super) struct Reader<'a> {
    pub platform: Platform,
    pub account: &'a AccountId,
    pub us: &'a Us,
}

/// Where something happened, and who did it.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub place: &'a Place,
    /// Nobody where Discord does not say who it was.
    pub user: Option<&'a User>,
    pub member: Option<&'a Member>,
}

impl<'a> Scene<'a> {
    /// Something that nobody did whom Discord names.
    pub(super) fn of(place: &'a Place) -> Self {
        Self { place, user: None, member: None }
    }
}

/// What is told of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Said,
    Edited,
}

impl Reader<'_> {
    /// Something said, or what it says now. `roles` are ours where it was said.
    pub(super) fn entry(
        &self,
        scene: Scene<'_>,
        entry: &Entry,
        telling: Telling,
        roles: &[String],
    ) -> Option<Envelope> {
        // 0 is said, 19 is a reply: all others are Discord's own words about people, the first
        // message of a thread again among them.
        let is_said = matches!(entry.kind, 0 | 19) && !entry.author.system;
        if !is_said || (*entry.author.id == *self.us.id && !entry.is_of_webhook()) {
            return None;
        }
        let message = self.message(entry, roles)?;
        let said_at = made_at(number(&entry.id)?);
        let (event, at, what) = match telling {
            Telling::Said => (entry.id.clone(), said_at, Happening::Said(message)),
            Telling::Edited => {
                let at = entry.edited_timestamp.parse().map_or(said_at, Timestamp::as_millis);
                let event = format!("{}/{}", entry.id, entry.edited_timestamp);
                (event, at, Happening::Edited(message))
            }
        };
        let user = scene.user.filter(|_| !entry.is_of_webhook());
        let mut envelope = self.envelope(event, Scene { user, ..scene }, at, what)?;
        if entry.is_of_webhook() {
            envelope.sender =
                Sender { name: short(&entry.author.username), also: vec![], is_bot: true };
        }
        Some(envelope)
    }

    fn message(&self, entry: &Entry, roles: &[String]) -> Option<Message> {
        let addressed = Addressed { us: &self.us.id, roles };
        let (mut words, mut mentions_us) = words::read(&entry.content, &addressed);
        if entry.is_of_webhook() {
            words = words.made_foreign(WordSource::Other, None);
            mentions_us = false;
        }
        let mut files = files(entry, &entry.attachments);
        let passed = entry.message_reference.as_ref().is_some_and(|it| it.kind == 1);
        for snapshot in entry.message_snapshots.iter().take(CARDS_MAX) {
            words.push_foreign(WordSource::Forwarded, None, &snapshot.message.content);
            files.extend(self::files(entry, &snapshot.message.attachments));
        }
        for sticker in entry.sticker_items.iter().take(CARDS_MAX) {
            words.push_foreign(WordSource::Sticker, None, &short(&sticker.name));
        }
        if let Some(poll) = &entry.poll {
            let mut lines = vec![poll.question.text.as_str()];
            lines.extend(poll.answers.iter().take(CARDS_MAX).map(|it| it.poll_media.text.as_str()));
            words.push_foreign(WordSource::Poll, None, &lines.join("\n"));
        }
        // Others are what Discord found behind a link.
        for card in entry.embeds.iter().filter(|it| it.kind == "rich").take(CARDS_MAX) {
            let said = [card.title.trim(), card.description.trim()].join("\n");
            let said: String = said.trim().chars().take(CARD_CHARS_MAX).collect();
            words.push_foreign(WordSource::Other, None, &said);
        }
        let quoted = (!passed).then(|| self.quoted(entry)).flatten();
        let mentions_us =
            mentions_us || quoted.as_ref().is_some_and(|it| it.is_ours && !entry.is_of_webhook());
        if words.is_empty() && files.is_empty() && !mentions_us {
            return None;
        }
        Some(Message {
            id: MessageId(entry.id.as_str().into()),
            words,
            mentions_us,
            is_for_another: false,
            attachments: files,
            quoted,
            group: None,
        })
    }

    fn quoted(&self, entry: &Entry) -> Option<Quoted> {
        let reference = entry.message_reference.as_ref().filter(|_| entry.kind == 19)?;
        let earlier = entry.referenced_message.as_ref();
        let author = earlier.filter(|it| it.webhook_id.is_empty()).map(|it| &it.author);
        is_id(&reference.message_id).then(|| Quoted {
            id: MessageId(reference.message_id.as_str().into()),
            author: author.and_then(|it| UserId::new(it.id.as_str()).ok()),
            is_ours: author.is_some_and(|it| *it.id == *self.us.id),
            is_from_here: reference.channel_id == entry.channel_id,
            text: earlier.map(|it| it.content.clone()).unwrap_or_default(),
        })
    }

    /// Something said was taken back.
    pub(super) fn deleted(&self, place: &Place, message: &str, now: i64) -> Option<Envelope> {
        is_id(message).then_some(())?;
        let what = Happening::Deleted(MessageId(message.into()));
        self.envelope(format!("{message}/deleted"), Scene::of(place), now, what)
    }

    /// A sign was put on a message, or taken away.
    pub(super) fn reaction(
        &self,
        scene: Scene<'_>,
        reaction: &RemoteReaction,
        event: String,
        (change, is_ours, now): (ReactionChange, Option<bool>, i64),
    ) -> Option<Envelope> {
        let RemoteReaction { user_id, message_id, emoji, .. } = reaction;
        if **user_id == *self.us.id || !is_id(message_id) {
            return None;
        }
        let sign: String = emoji.name.chars().take(NAME_CHARS_MAX).collect();
        let sign = if emoji.id.is_empty() { sign } else { format!(":{sign}:") };
        let what = Happening::Reacted(Reaction {
            message: MessageId(message_id.as_str().into()),
            sign: sign.into(),
            change,
            is_ours,
        });
        self.envelope(event, scene, now, what)
    }

    /// A button of ours was pressed.
    pub(super) fn press(
        &self,
        scene: Scene<'_>,
        interaction: &Interaction,
        data: &str,
    ) -> Option<Envelope> {
        let id = interaction.id.as_str();
        let message = interaction.message.as_ref().filter(|it| is_id(&it.id))?;
        let press = Press {
            handle: id.into(),
            message: MessageId(message.id.as_str().into()),
            data: data.into(),
        };
        let at = made_at(number(id)?);
        self.envelope(format!("press/{id}"), scene, at, Happening::Pressed(press))
    }

    /// Somebody used a command of the menu: as though they had typed it to us.
    pub(super) fn command(&self, scene: Scene<'_>, interaction: &Interaction) -> Option<Envelope> {
        let id = interaction.id.as_str();
        let message = Message {
            id: MessageId(id.into()),
            words: Words::typed(&typed(interaction)),
            mentions_us: true,
            is_for_another: false,
            attachments: vec![],
            quoted: None,
            group: None,
        };
        self.envelope(
            format!("command/{id}"),
            scene,
            made_at(number(id)?),
            Happening::Said(message),
        )
    }

    /// A channel is gone.
    pub(super) fn gone(&self, place: &Place, now: i64) -> Option<Envelope> {
        self.removed(place, format!("{}/gone", place.id), now)
    }

    /// We are no longer in a place.
    pub(super) fn removed(&self, place: &Place, event: String, now: i64) -> Option<Envelope> {
        self.envelope(event, Scene::of(place), now, Happening::Removed)
    }

    fn envelope(
        &self,
        event: String,
        scene: Scene<'_>,
        at: i64,
        what: Happening,
    ) -> Option<Envelope> {
        let Scene { place, user, member } = scene;
        let guild = place.guild.as_deref().map(GuildId::new).transpose().ok()?;
        let roles = member.filter(|_| guild.is_some() && user.is_some());
        let roles = roles.map(|it| it.roles.as_slice()).unwrap_or_default();
        let address = Address {
            platform: self.platform,
            account: self.account.clone(),
            chat: ChatId::new(&*place.id).ok()?,
            chat_type: place.chat_type,
            topic: None,
            parent: place.parent.as_deref().map(ChatId::new).transpose().ok()?,
            community: guild.map(Community::Guild),
            user: user.map(|user| UserId::new(user.id.as_str())).transpose().ok()?,
            roles: roles
                .iter()
                .take(ROLES_MAX)
                .filter(|role| is_id(role))
                .filter_map(|role| RoleId::new(role.as_str()).ok())
                .collect(),
        };
        let nick = member.map(|it| it.nick.as_str()).unwrap_or_default();
        let sender = Sender {
            name: user.map(|it| name(it, nick)).unwrap_or_default(),
            also: vec![],
            is_bot: user.is_some_and(|user| user.bot),
        };
        let at = Timestamp::from_millis(at.clamp(0, MILLIS_MAX));
        Some(Envelope { event: EventId(event.into()), address, sender, at, what })
    }
}

/// What a command of the menu would be if it had been typed.
pub(super) fn typed(interaction: &Interaction) -> String {
    let data = &interaction.data;
    let given = data.options.first().and_then(|option| option.value.as_str()).unwrap_or_default();
    format!("/{} {given}", data.name).trim().to_owned()
}

/// What people call somebody there.
fn name(user: &User, nick: &str) -> Box<str> {
    let names = [nick, user.global_name.as_str(), user.username.as_str()];
    short(names.into_iter().find(|name| !name.trim().is_empty()).unwrap_or_default())
}

/// A name on one line and of some length at most.
fn short(name: &str) -> Box<str> {
    let line: Vec<&str> = name.split_whitespace().collect();
    line.join(" ").chars().take(NAME_CHARS_MAX).collect::<String>().into()
}

fn files(entry: &Entry, files: &[RemoteFile]) -> Vec<Attachment> {
    let sound = files.iter().filter(|file| is_id(&file.id));
    let read = sound.map(|file| {
        let media_type = file.content_type.split(';').next().unwrap_or_default().trim();
        let kind = match media_type.split('/').next() {
            Some("image") => AttachmentKind::Image,
            Some("audio") if entry.flags & IS_VOICE != 0 => AttachmentKind::Voice,
            Some("audio") => AttachmentKind::Audio,
            Some("video") => AttachmentKind::Video,
            _ => AttachmentKind::File,
        };
        let or = |given: &str, other: &str| -> Box<str> {
            let given = short(given);
            if given.is_empty() { other.into() } else { given }
        };
        Attachment {
            kind,
            name: or(&file.filename, "file"),
            media_type: or(media_type, "application/octet-stream"),
            size: file.size,
            // Its address is good for a day; these always lead to one.
            handle: format!("{}/{}/{}", entry.channel_id, entry.id, file.id).into(),
        }
    });
    read.collect()
}
