//! From what Slack tells to an envelope. Pure: what it does not understand it leaves out.

use super::known::{Note, Us};
use super::text::{blocks_mention, of_blocks, quoted_runs, read};
use super::types::{Commanded, Entry, Person, RemoteFile, is_id, is_ts, micros};
use insula_channel::{
    Attachment, AttachmentKind, Envelope, EventId, Happening, Message, MessageId, Press, Reaction,
    ReactionChange, Sender, sign_called,
};
use insula_domain::{
    AccountId, Address, ChatId, ChatType, Community, GuildId, Platform, TopicId, UserId,
    WordSource, Words,
};
use insula_world::Timestamp;
use serde::Deserialize as _;
use serde_json::Value;

/// How much of a name is kept, in characters.
const NAME_CHARS_MAX: usize = 128;
/// Cards of one message that are read.
const CARDS_MAX: usize = 10;
/// How much of a card is read, in characters.
const CARD_CHARS_MAX: usize = 4000;
/// Files of one message that are read.
const FILES_MAX: usize = 20;
/// Milliseconds that are a date: a little less than the year 10000.
const MILLIS_MAX: i64 = 250_000_000_000_000;
/// Slack's own, which it does not call a bot.
const SLACKBOT: &str = "USLACKBOT";

/// What reading needs to know of the account.
pub(super) struct Reader<'a> {
    pub platform: Platform,
    pub account: &'a AccountId,
    pub us: &'a Us,
    /// What somebody is called.
    pub name: &'a dyn Fn(&str) -> Option<String>,
}

/// Where something happened, and who did it.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub team: &'a str,
    pub channel: &'a str,
    /// The first message of the thread.
    pub thread: Option<&'a str>,
    /// Nobody where Slack does not say who it was.
    pub user: Option<&'a str>,
    pub person: Option<&'a Person>,
}

/// What is told of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Telling<'a> {
    Said,
    /// At this moment.
    Edited(&'a str),
}

/// Whether a message is one of a person or a program, and none that Slack writes itself.
pub(super) fn is_said(entry: &Entry) -> bool {
    let said = ["", "file_share", "thread_broadcast", "me_message", "bot_message"];
    said.contains(&entry.subtype.as_str()) && !entry.is_ephemeral && is_ts(&entry.ts)
}

/// Whether a message is ours.
pub(super) fn is_ours(us: &Us, entry: &Entry) -> bool {
    *entry.user == *us.user || (!us.bot.is_empty() && *entry.bot_id == *us.bot)
}

/// Whether a program said it, whatever user it names.
pub(super) fn is_by_program(entry: &Entry) -> bool {
    !entry.bot_id.is_empty() || entry.subtype == "bot_message"
}

impl Reader<'_> {
    /// Something said, or what it says now.
    pub(super) fn entry(
        &self,
        scene: Scene<'_>,
        entry: &Entry,
        telling: Telling<'_>,
    ) -> Option<Envelope> {
        if !is_said(entry) || is_ours(self.us, entry) {
            return None;
        }
        // A program that speaks with somebody's id is not them.
        let is_own_user = scene.person.is_some_and(|person| person.is_bot);
        let in_anothers_name = is_by_program(entry) && !is_own_user;
        let message = self.message(entry, scene.person, in_anothers_name)?;
        let name = format!("{}:{}:{}", scene.team, scene.channel, entry.ts);
        let (event, at, what) = match telling {
            Telling::Said => (name, &*entry.ts, Happening::Said(message)),
            Telling::Edited(at) => (format!("{name}/{at}"), at, Happening::Edited(message)),
        };
        let user = scene.user.filter(|_| !in_anothers_name);
        let scene = Scene { user, person: scene.person.filter(|_| !in_anothers_name), ..scene };
        let mut envelope = self.envelope(event, scene, at, what)?;
        envelope.sender.is_bot |= is_by_program(entry);
        if in_anothers_name {
            envelope.sender.name = short(&entry.username);
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
        let mut mentions_us = blocks_mention(&entry.blocks, &self.us.user);
        if entry.subtype == "me_message" {
            words.push_foreign(WordSource::Name, None, person.map_or("", Person::shown));
        }
        let of_blocks =
            if entry.text.is_empty() { of_blocks(&entry.blocks) } else { String::new() };
        let text = if entry.text.is_empty() { &of_blocks } else { &entry.text };
        let mut links = vec![];
        for (is_quoted, run) in quoted_runs(text) {
            let run = read(&run, &self.us.user, self.name);
            links.extend(run.links);
            if is_quoted {
                words.push_foreign(WordSource::Quote, None, &run.text);
            } else {
                mentions_us |= run.mentions_us;
                words.push_typed(&run.text);
            }
        }
        for link in &links {
            words.push_foreign(WordSource::Link, None, link);
        }
        for (source, by, card) in self.cards(&entry.attachments) {
            words.push_foreign(source, by.as_deref(), &card);
        }
        if in_anothers_name {
            words = words.made_foreign(WordSource::Other, None);
            mentions_us = false;
        }
        let attachments = attachments(&entry.files);
        if words.is_empty() && attachments.is_empty() && !mentions_us {
            return None;
        }
        Some(Message {
            id: MessageId(entry.ts.as_str().into()),
            words,
            mentions_us,
            is_for_another: false,
            attachments,
            quoted: None,
            group: None,
        })
    }

    /// What stands below a message: messages that were passed on, and what programs put there.
    fn cards(&self, cards: &Value) -> Vec<(WordSource, Option<String>, String)> {
        let cards = cards.as_array().into_iter().flatten().take(CARDS_MAX);
        let card = |card: &Value| {
            let part = |key: &str| card[key].as_str().map(str::trim).unwrap_or_default();
            let parts: Vec<&str> = ["pretext", "title", "text"]
                .into_iter()
                .map(part)
                .filter(|it| !it.is_empty())
                .collect();
            let said =
                if parts.is_empty() { part("fallback").to_owned() } else { parts.join("\n") };
            let said = read(&said, "", self.name).text;
            let said: String = said.chars().take(CARD_CHARS_MAX).collect();
            let is_shared = ["is_share", "is_msg_unfurl"].iter().any(|key| card[key] == true);
            let by = Some(short(part("author_name")).into_string()).filter(|it| !it.is_empty());
            let source = if is_shared { WordSource::Forwarded } else { WordSource::Other };
            (!said.is_empty()).then_some((source, by.filter(|_| is_shared), said))
        };
        cards.filter_map(card).collect()
    }

    /// Something said was taken back.
    pub(super) fn deleted(&self, scene: Scene<'_>, ts: &str, at: &str) -> Option<Envelope> {
        let event = format!("{}:{}:{ts}/deleted", scene.team, scene.channel);
        let at = if is_ts(at) { at } else { ts };
        self.envelope(event, scene, at, Happening::Deleted(MessageId(ts.into())))
    }

    /// A sign was put on a message, or taken away.
    pub(super) fn reaction(
        &self,
        scene: Scene<'_>,
        (message, sign, of): (&str, &str, Option<&Note>),
        (change, at): (ReactionChange, &str),
    ) -> Option<Envelope> {
        let word = match change {
            ReactionChange::Put => "put",
            ReactionChange::Taken => "taken",
        };
        let user = scene.user?;
        let event = format!("{}:{}:{message}/{user}/{sign}/{at}/{word}", scene.team, scene.channel);
        let what = Happening::Reacted(Reaction {
            message: MessageId(message.into()),
            sign: sign_called(sign),
            change,
            is_ours: of.map(|note| note.user == self.us.user),
        });
        self.envelope(event, scene, at, what)
    }

    /// A button was pressed.
    pub(super) fn press(&self, scene: Scene<'_>, press: Press, at: &str) -> Option<Envelope> {
        self.envelope(format!("press/{}", press.handle), scene, at, Happening::Pressed(press))
    }

    /// A command was typed. `is_offered` tells whether a word is one of ours.
    pub(super) fn command(
        &self,
        scene: Scene<'_>,
        said: &Commanded,
        is_offered: &dyn Fn(&str) -> bool,
        now: Timestamp,
    ) -> Option<Envelope> {
        if said.trigger_id.is_empty() {
            return None;
        }
        let name = blake3::hash(said.trigger_id.as_bytes()).to_hex();
        let text = read(&said.text, &self.us.user, self.name).text;
        let text = text.trim();
        let first = text.split_whitespace().next().unwrap_or_default();
        let mut words = Words::new();
        match () {
            // Alone it asks what there is.
            () if text.is_empty() => words.push_typed("/help"),
            () if is_offered(first) => words.push_typed(&format!("/{text}")),
            () => words.push_typed(text),
        }
        let message = Message {
            id: MessageId(format!("command/{name}").into()),
            words,
            mentions_us: true,
            is_for_another: false,
            attachments: vec![],
            quoted: None,
            group: None,
        };
        let mut envelope =
            self.envelope(format!("command/{name}"), scene, "", Happening::Said(message))?;
        envelope.at = now;
        Some(envelope)
    }

    /// Something happened in a channel as a whole.
    pub(super) fn change(
        &self,
        scene: Scene<'_>,
        word: &str,
        at: &str,
        what: Happening,
    ) -> Option<Envelope> {
        let user = scene.user.unwrap_or_default();
        let event = format!("{}:{}/{word}/{user}/{at}", scene.team, scene.channel);
        self.envelope(event, Scene { thread: None, ..scene }, at, what)
    }

    fn envelope(
        &self,
        event: String,
        scene: Scene<'_>,
        at: &str,
        what: Happening,
    ) -> Option<Envelope> {
        let Scene { team, channel, thread, user, person } = scene;
        if !is_id(channel) || user.is_some_and(|user| !is_id(user)) {
            return None;
        }
        // Direct channels alone are named so; a group of several is called as private channels are.
        let chat_type = if channel.starts_with('D') { ChatType::Dm } else { ChatType::Group };
        let team = Some(team).filter(|team| is_id(team));
        let address = Address {
            platform: self.platform,
            account: self.account.clone(),
            chat: ChatId::new(channel).ok()?,
            chat_type,
            topic: thread.map(TopicId::new).transpose().ok()?,
            parent: None,
            community: team.map(GuildId::new).transpose().ok()?.map(Community::Team),
            user: user.map(UserId::new).transpose().ok()?,
            roles: vec![],
        };
        let sender = Sender {
            name: person.map(|it| short(it.shown())).unwrap_or_default(),
            also: vec![],
            is_bot: person.is_some_and(|person| person.is_bot) || user == Some(SLACKBOT),
        };
        let millis = micros(at).map_or(0, |at| at / 1000).clamp(0, MILLIS_MAX);
        let at = Timestamp::from_millis(millis);
        Some(Envelope { event: EventId(event.into()), address, sender, at, what })
    }
}

/// A name on one line and of some length at most.
pub(super) fn short(name: &str) -> Box<str> {
    let line: Vec<&str> = name.split_whitespace().collect();
    line.join(" ").chars().take(NAME_CHARS_MAX).collect::<String>().into()
}

fn attachments(files: &[Value]) -> Vec<Attachment> {
    let attachment = |file: &Value| {
        let file: RemoteFile = RemoteFile::deserialize(file).ok()?;
        let is_there = !matches!(file.mode.as_str(), "tombstone" | "hidden_by_limit");
        if !is_id(&file.id) || !is_there {
            return None;
        }
        let media_type = file.mimetype.split(';').next().unwrap_or_default().trim();
        let kind = match (file.subtype.as_str(), media_type.split('/').next()) {
            ("slack_audio", _) => AttachmentKind::Voice,
            (_, Some("image")) => AttachmentKind::Image,
            (_, Some("audio")) => AttachmentKind::Audio,
            (_, Some("video")) => AttachmentKind::Video,
            _ => AttachmentKind::File,
        };
        let or = |given: &str, other: &str| -> Box<str> {
            let given = short(given);
            if given.is_empty() { other.into() } else { given }
        };
        Some(Attachment {
            kind,
            name: or(if file.name.is_empty() { &file.title } else { &file.name }, "file"),
            media_type: or(media_type, "application/octet-stream"),
            size: file.size,
            handle: file.id.as_str().into(),
        })
    };
    files.iter().take(FILES_MAX).filter_map(attachment).collect()
}
