//! From what a server tells to an envelope. Pure: what it does not understand it leaves out.

use super::known::{Note, Us};
use super::types::{Channel, Entry, Person, RemoteReaction};
use insula_channel::{
    Attachment, AttachmentKind, Envelope, EventId, Happening, Message, MessageId, Press, Reaction,
    ReactionChange, Sender, sign_called,
};
use insula_domain::{
    AccountId, Address, ChatId, ChatType, Community, GuildId, Platform, TopicId, UserId,
    WordSource, Words,
};
use insula_world::Timestamp;
use serde_json::Value;

/// How much of a name is kept, in characters.
const NAME_CHARS_MAX: usize = 128;
/// Cards of one message that are read: the server takes more from programs.
const CARDS_MAX: usize = 10;
/// How much of a card is read, in characters.
const CARD_CHARS_MAX: usize = 4000;
/// Milliseconds that are a date: a little less than the year 10000.
const MILLIS_MAX: i64 = 250_000_000_000_000;

/// What reading needs to know of the account.
pub(super) struct Reader<'a> {
    pub platform: Platform,
    pub account: &'a AccountId,
    pub us: &'a Us,
}

/// Where something happened, and who did it.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub channel: &'a Channel,
    /// The first message of the thread.
    pub root: Option<&'a str>,
    /// Nobody where the server does not say who it was.
    pub person: Option<&'a Person>,
}

/// What is told of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling {
    Said,
    Edited,
}

/// Whether a message is one of a person or a program, and none that the server writes itself.
pub(super) fn is_said(entry: &Entry) -> bool {
    matches!(entry.kind.as_str(), "" | "me" | "slack_attachment" | "custom_voice")
        && entry.original_id.is_empty()
        && entry.delete_at == 0
}

/// Who was brought into a channel by a message of the server's about that.
pub(super) fn added(entry: &Entry) -> Option<&str> {
    let tells = matches!(entry.kind.as_str(), "system_add_to_channel" | "system_add_to_team");
    entry.property("addedUserId").filter(|_| tells)
}

/// Whether what was said was said by a program in somebody's name: it is not them.
pub(super) fn is_in_anothers_name(entry: &Entry) -> bool {
    entry.has("from_webhook") || entry.has("from_plugin") || entry.has("from_oauth_app")
}

impl Reader<'_> {
    /// Something said, or what it says now.
    pub(super) fn entry(
        &self,
        scene: Scene<'_>,
        entry: &Entry,
        telling: Telling,
    ) -> Option<Envelope> {
        if !is_said(entry) || *entry.user_id == *self.us.id {
            return None;
        }
        let in_anothers_name = is_in_anothers_name(entry);
        let message = self.message(entry, scene.person, in_anothers_name)?;
        let (event, at, what) = match telling {
            Telling::Said => (entry.id.clone(), entry.create_at, Happening::Said(message)),
            Telling::Edited => {
                let event = format!("{}/{}", entry.id, entry.edit_at);
                (event, entry.edit_at, Happening::Edited(message))
            }
        };
        let scene = Scene { person: scene.person.filter(|_| !in_anothers_name), ..scene };
        let mut envelope = self.envelope(event, scene, at, what)?;
        envelope.sender.is_bot |= in_anothers_name || entry.has("from_bot");
        if in_anothers_name {
            envelope.sender.name = short(entry.property("override_username").unwrap_or_default());
        }
        Some(envelope)
    }

    fn message(
        &self,
        entry: &Entry,
        person: Option<&Person>,
        in_anothers_name: bool,
    ) -> Option<Message> {
        let mut words = Words::new();
        let mut mentions_us = false;
        if entry.kind == "me" {
            let name = person.map(name).unwrap_or_default();
            words.push_foreign(WordSource::Name, None, &name);
        }
        for (is_quoted, run) in quoted_runs(&entry.message) {
            if is_quoted {
                words.push_foreign(WordSource::Quote, None, &run);
                continue;
            }
            match without_mention(&run, &self.us.username) {
                Some(rest) => {
                    mentions_us = true;
                    words.push_typed(&rest);
                }
                None => words.push_typed(&run),
            }
        }
        for card in cards(&entry.props) {
            words.push_foreign(WordSource::Other, None, &card);
        }
        if in_anothers_name {
            words = words.made_foreign(WordSource::Other, None);
            mentions_us = false;
        }
        let attachments = attachments(entry);
        if words.is_empty() && attachments.is_empty() && !mentions_us {
            return None;
        }
        Some(Message {
            id: MessageId(entry.id.as_str().into()),
            words,
            mentions_us,
            is_for_another: false,
            attachments,
            quoted: None,
            group: None,
        })
    }

    /// Something said was taken back.
    pub(super) fn deleted(&self, scene: Scene<'_>, entry: &Entry) -> Option<Envelope> {
        if *entry.user_id == *self.us.id {
            return None;
        }
        let at = entry.delete_at.max(entry.create_at);
        let what = Happening::Deleted(MessageId(entry.id.as_str().into()));
        self.envelope(format!("{}/deleted", entry.id), scene, at, what)
    }

    /// A sign was put on a message, or taken away.
    pub(super) fn reaction(
        &self,
        scene: Scene<'_>,
        (reaction, of): (&RemoteReaction, &Note),
        (change, now): (ReactionChange, i64),
    ) -> Option<Envelope> {
        let RemoteReaction { user_id, post_id, emoji_name, create_at } = reaction;
        if **user_id == *self.us.id {
            return None;
        }
        let (word, at) = match change {
            ReactionChange::Put => ("put", *create_at),
            ReactionChange::Taken => ("taken", now),
        };
        let event = format!("{post_id}/{user_id}/{emoji_name}/{create_at}/{word}");
        let what = Happening::Reacted(Reaction {
            message: MessageId(post_id.as_str().into()),
            sign: sign_called(emoji_name),
            change,
            is_ours: Some(*of.user == *self.us.id),
        });
        self.envelope(event, scene, at, what)
    }

    /// A button was pressed.
    pub(super) fn press(&self, scene: Scene<'_>, press: Press, now: i64) -> Option<Envelope> {
        self.envelope(format!("press/{}", press.handle), scene, now, Happening::Pressed(press))
    }

    /// Something happened in a channel as a whole.
    pub(super) fn change(
        &self,
        scene: Scene<'_>,
        event: String,
        at: i64,
        what: Happening,
    ) -> Option<Envelope> {
        self.envelope(event, Scene { root: None, ..scene }, at, what)
    }

    fn envelope(
        &self,
        event: String,
        scene: Scene<'_>,
        at: i64,
        what: Happening,
    ) -> Option<Envelope> {
        let Scene { channel, root, person } = scene;
        let chat_type = match channel.kind.as_str() {
            "D" => ChatType::Dm,
            "G" | "O" | "P" => ChatType::Group,
            _ => return None,
        };
        let team = Some(channel.team_id.as_str()).filter(|team| !team.is_empty());
        let address = Address {
            platform: self.platform,
            account: self.account.clone(),
            chat: ChatId::new(channel.id.as_str()).ok()?,
            chat_type,
            topic: root.map(TopicId::new).transpose().ok()?,
            parent: None,
            community: team.map(GuildId::new).transpose().ok()?.map(Community::Team),
            user: person.map(|person| UserId::new(person.id.as_str())).transpose().ok()?,
            roles: vec![],
        };
        let sender = Sender {
            name: person.map(|it| short(&name(it))).unwrap_or_default(),
            also: vec![],
            is_bot: person.is_some_and(|person| person.is_bot),
        };
        let at = Timestamp::from_millis(at.clamp(0, MILLIS_MAX));
        Some(Envelope { event: EventId(event.into()), address, sender, at, what })
    }
}

/// What people call somebody.
fn name(person: &Person) -> String {
    let whole = format!("{} {}", person.first_name, person.last_name);
    let names = [person.nickname.as_str(), whole.trim(), person.username.as_str()];
    names.into_iter().find(|name| !name.trim().is_empty()).unwrap_or_default().to_owned()
}

/// A name on one line and of some length at most.
fn short(name: &str) -> Box<str> {
    let line: Vec<&str> = name.split_whitespace().collect();
    line.join(" ").chars().take(NAME_CHARS_MAX).collect::<String>().into()
}

/// A text by what is quoted in it and what is not, in order.
fn quoted_runs(text: &str) -> Vec<(bool, String)> {
    let mut runs: Vec<(bool, String)> = Vec::new();
    for line in text.lines() {
        let inner = line.trim_start_matches(' ');
        let is_quoted = line.len() - inner.len() <= 3 && inner.starts_with('>');
        let line = if is_quoted { inner.trim_start_matches('>').trim_start() } else { line };
        match runs.last_mut() {
            Some((before, run)) if *before == is_quoted => {
                run.push('\n');
                run.push_str(line);
            }
            _ => runs.push((is_quoted, line.to_owned())),
        }
    }
    runs
}

/// A text without the mentions of a user; `None` where there are none. What stands as code
/// mentions nobody, as on the server.
fn without_mention(text: &str, username: &str) -> Option<String> {
    let mut found = false;
    let mut rest = String::with_capacity(text.len());
    // Every second piece between marks of code is code.
    for (number, piece) in text.split('`').enumerate() {
        if number > 0 {
            rest.push('`');
        }
        if number % 2 == 1 {
            rest.push_str(piece);
            continue;
        }
        let mut at = 0;
        while let Some((start, end)) = mention(piece, at, username) {
            found = true;
            rest.push_str(&piece[at..start]);
            at = end;
        }
        rest.push_str(&piece[at..]);
    }
    found.then(|| tidied(&rest))
}

/// Where the next mention of a user stands in a text.
fn mention(text: &str, from: usize, username: &str) -> Option<(usize, usize)> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut at = from;
    while let Some(found) = text[at..].find('@') {
        let start = at + found;
        let after = start + 1;
        at = after;
        let Some(name) = text.get(after..after + username.len()) else { continue };
        let end = after + username.len();
        let before = text[..start].chars().next_back();
        let follows = &text[end..];
        // A full stop ends a sentence, and may stand in a name.
        let ends = match follows.strip_prefix('.') {
            Some(more) => !more.starts_with(is_name),
            None => !follows.starts_with(is_name),
        };
        if name.eq_ignore_ascii_case(username)
            && !username.is_empty()
            && ends
            && before.is_none_or(|c| !is_name(c) && c != '@')
        {
            return Some((start, end));
        }
    }
    None
}

/// Without the room that a mention leaves, so that a command behind it begins the text.
fn tidied(text: &str) -> String {
    text.trim_start_matches([' ', ',', ':']).trim_end().to_owned()
}

/// What programs put below a message.
fn cards(props: &Value) -> Vec<String> {
    let cards = props.get("attachments").and_then(Value::as_array).into_iter().flatten();
    cards
        .take(CARDS_MAX)
        .filter_map(|card| {
            let part = |key: &str| card.get(key).and_then(Value::as_str).map(str::trim);
            let parts = ["pretext", "title", "text"].into_iter().filter_map(part);
            let said: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
            let said = if said.is_empty() { part("fallback")?.to_owned() } else { said.join("\n") };
            let said: String = said.chars().take(CARD_CHARS_MAX).collect();
            (!said.is_empty()).then_some(said)
        })
        .collect()
}

fn attachments(entry: &Entry) -> Vec<Attachment> {
    let known = entry.metadata.files.iter().map(|file| {
        let media_type = file.mime_type.split(';').next().unwrap_or_default().trim();
        let kind = match media_type.split('/').next() {
            Some("image") => AttachmentKind::Image,
            Some("audio") if entry.kind == "custom_voice" => AttachmentKind::Voice,
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
            name: or(&file.name, "file"),
            media_type: or(media_type, "application/octet-stream"),
            size: file.size,
            handle: file.id.as_str().into(),
        }
    });
    let is_told = |id: &&String| entry.metadata.files.iter().all(|file| file.id != **id);
    let others = entry.file_ids.iter().filter(is_told).map(|id| Attachment {
        kind: AttachmentKind::File,
        name: "file".into(),
        media_type: "application/octet-stream".into(),
        size: None,
        handle: id.as_str().into(),
    });
    let sound = |it: &Attachment| super::types::is_id(&it.handle);
    known.chain(others).filter(sound).collect()
}
