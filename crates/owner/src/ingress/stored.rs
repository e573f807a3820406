//! A message as it is kept until its turn: all that is needed to answer it later, also by
//! another process.

use insula_channel::{Attachment, AttachmentKind, Envelope, Message, MessageId, Quoted};
use insula_domain::words::{Piece, WordSource, Words};
use insula_domain::{
    AccountId, Address, AgentId, ChatId, ChatType, Community, GuildId, Platform, RoleId, TopicId,
    UserId,
};
use insula_registry::Snapshot;
use insula_registry::routing::Led;
use serde::{Deserialize, Serialize};

/// Attachments of one message that are kept; a client sends no more at once.
const ATTACHMENTS_MAX: usize = 16;
/// Longest quotation that is kept, in bytes: it is context, not what was said.
const QUOTED_BYTES_MAX: usize = 4_000;

/// A message that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredMessage {
    /// The event it came by.
    pub(super) event: String,
    /// Its name.
    pub(super) message: String,
    place: StoredAddress,
    /// Where its chat led when it came.
    #[serde(default)]
    led: Led,
    /// The id by which its sender is known to the agent.
    pub(super) known: String,
    /// What its sender is called.
    pub(super) name: String,
    /// What was said.
    #[serde(default, with = "pieces")]
    pub(super) words: Words,
    /// What was said, as versions wrote it that did not tell pieces apart.
    #[serde(default, skip_serializing)]
    text: String,
    /// What it replies to, as far as the asker may see it.
    pub(super) quoted: Option<StoredQuote>,
    /// What came with it.
    pub(super) attachments: Vec<StoredAttachment>,
    /// What it is a part of.
    pub(super) album: Option<String>,
    /// Whether it looks cut off.
    #[serde(default)]
    pub(super) is_long: bool,
}

/// How words are stored: each piece, and what it is where its sender did not type it.
mod pieces {
    use super::{Piece, WordSource, Words};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct StoredPiece {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        text: String,
    }

    pub(super) fn serialize<S: Serializer>(words: &Words, to: S) -> Result<S::Ok, S::Error> {
        let kept = words.pieces().iter().map(|piece| match piece {
            Piece::Typed(text) => StoredPiece { source: None, by: None, text: text.clone() },
            Piece::Foreign(it) => StoredPiece {
                source: Some(it.source.as_str().to_owned()),
                by: it.by.clone(),
                text: it.text.clone(),
            },
        });
        to.collect_seq(kept)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Words, D::Error> {
        let mut words = Words::new();
        for StoredPiece { source, by, text } in Vec::<StoredPiece>::deserialize(from)? {
            match source {
                None => words.push_typed(&text),
                Some(source) => {
                    words.push_foreign(WordSource::parse(&source), by.as_deref(), &text)
                }
            }
        }
        Ok(words)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredAddress {
    platform: String,
    account: String,
    chat: String,
    chat_type: String,
    topic: Option<String>,
    parent: Option<String>,
    guild: Option<String>,
    team: Option<String>,
    user: Option<String>,
    roles: Vec<String>,
}

/// What a message replies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredQuote {
    /// Who said it; the agent itself where nobody is named.
    pub(super) author: Option<String>,
    /// Whether the agent's own account said it.
    pub(super) is_ours: bool,
    /// What it says.
    pub(super) text: String,
}

/// Something that came with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredAttachment {
    kind: String,
    name: String,
    media_type: String,
    size: Option<u64>,
    handle: String,
    /// What became of it where it was said by voice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) heard: Option<StoredHeard>,
}

/// What became of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct StoredHeard {
    /// How long it is, as it says.
    pub(super) seconds: Option<u64>,
    /// What it says.
    pub(super) text: Option<String>,
    /// Why that is not known.
    pub(super) why: Option<String>,
    /// Where it is kept.
    pub(super) path: Option<String>,
    pub(super) media_type: String,
    pub(super) bytes: u64,
}

const KINDS: [(AttachmentKind, &str); 5] = [
    (AttachmentKind::Image, "image"),
    (AttachmentKind::Voice, "voice"),
    (AttachmentKind::Audio, "audio"),
    (AttachmentKind::Video, "video"),
    (AttachmentKind::File, "file"),
];

impl StoredAttachment {
    /// What it is called.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn kind(&self) -> AttachmentKind {
        let kind = KINDS.iter().find(|(_, name)| *name == self.kind);
        kind.map_or(AttachmentKind::File, |(kind, _)| *kind)
    }

    /// As an adapter takes it.
    pub(super) fn attachment(&self) -> Attachment {
        Attachment {
            kind: self.kind(),
            name: self.name.as_str().into(),
            media_type: self.media_type.as_str().into(),
            size: self.size,
            handle: self.handle.as_str().into(),
        }
    }
}

impl From<&Attachment> for StoredAttachment {
    fn from(attachment: &Attachment) -> Self {
        let kind = KINDS.iter().find(|(kind, _)| *kind == attachment.kind);
        Self {
            kind: kind.map_or("file", |(_, name)| name).to_owned(),
            name: attachment.name.to_string(),
            media_type: attachment.media_type.to_string(),
            size: attachment.size,
            handle: attachment.handle.to_string(),
            heard: None,
        }
    }
}

impl StoredMessage {
    /// A message of an envelope; `known` is the id of its sender that the agent knows.
    pub(super) fn of(envelope: &Envelope, message: &Message, known: &UserId) -> Self {
        let attachments = message.attachments.iter().take(ATTACHMENTS_MAX);
        Self {
            event: envelope.event.0.to_string(),
            message: message.id.0.to_string(),
            place: StoredAddress::of(&envelope.address),
            led: Led::default(),
            known: known.to_string(),
            name: envelope.sender.name.to_string(),
            words: message.words.clone(),
            text: String::new(),
            quoted: message.quoted.as_ref().and_then(quote),
            attachments: attachments.map(StoredAttachment::from).collect(),
            album: message.group.as_deref().map(str::to_owned),
            is_long: false,
        }
    }

    /// The same, with where its chat leads now.
    pub(super) fn led_by(self, snapshot: &Snapshot) -> Self {
        let led = self.address().map(|address| snapshot.led(&address)).unwrap_or_default();
        Self { led, ..self }
    }

    /// Whether its chat still leads to this agent, or to the one whose hook sent it here.
    pub(super) fn still_leads_to(&self, agent: &AgentId, snapshot: &Snapshot) -> bool {
        let now = self.address().map(|address| snapshot.led(&address));
        now.is_some_and(|now| now.is_somewhere() && self.led.still_leads(&now, agent))
    }

    /// As it is stored.
    pub(super) fn write(&self) -> String {
        // Texts and numbers always have a JSON text.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// As it was stored; `None` for what no version of this wrote.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut kept: Self = serde_json::from_str(text).ok()?;
        if kept.words.is_empty() {
            // Who typed what of it is not known any more.
            kept.words = Words::foreign(WordSource::Other, &std::mem::take(&mut kept.text));
        }
        Some(kept)
    }

    /// Where it was said, by the id that the platform gave its sender.
    pub(super) fn address(&self) -> Option<Address> {
        self.place.address()
    }

    /// Whether its platform wrote down what was said by voice.
    pub(super) fn has_transcript(&self) -> bool {
        let is_one = |piece: &Piece| matches!(piece, Piece::Foreign(it) if it.source == WordSource::Transcript);
        self.words.pieces().iter().any(is_one)
    }

    /// Whether it is a sign that somebody put on a message, and nothing they said.
    pub(super) fn is_reaction(&self) -> bool {
        let mut pieces = self.words.pieces().iter();
        matches!(pieces.next(), Some(Piece::Foreign(it)) if it.source == WordSource::Reaction)
    }

    pub(super) fn id(&self) -> MessageId {
        MessageId(self.message.as_str().into())
    }
}

/// What of a quotation the asker sees anyway: what was said where they speak. What lies
/// elsewhere may have had other readers, and a platform hands it along all the same.
fn quote(quoted: &Quoted) -> Option<StoredQuote> {
    if !quoted.is_from_here || quoted.text.trim().is_empty() {
        return None;
    }
    let end = quoted.text.floor_char_boundary(QUOTED_BYTES_MAX);
    let rest = if end < quoted.text.len() { "…" } else { "" };
    Some(StoredQuote {
        author: quoted.author.as_ref().map(ToString::to_string),
        is_ours: quoted.is_ours,
        text: format!("{}{rest}", &quoted.text[..end]),
    })
}

impl StoredAddress {
    fn of(address: &Address) -> Self {
        let (guild, team) = match &address.community {
            Some(Community::Guild(id)) => (Some(id.to_string()), None),
            Some(Community::Team(id)) => (None, Some(id.to_string())),
            None => (None, None),
        };
        Self {
            platform: address.platform.to_string(),
            account: address.account.to_string(),
            chat: address.chat.to_string(),
            chat_type: address.chat_type.to_string(),
            topic: address.topic.as_ref().map(ToString::to_string),
            parent: address.parent.as_ref().map(ToString::to_string),
            guild,
            team,
            user: address.user.as_ref().map(ToString::to_string),
            roles: address.roles.iter().map(ToString::to_string).collect(),
        }
    }

    fn address(&self) -> Option<Address> {
        let chat = |text: &String| ChatId::new(text.as_str()).ok();
        let guild = |text: &String| GuildId::new(text.as_str()).ok();
        let community = match (&self.guild, &self.team) {
            (Some(id), _) => Some(Community::Guild(guild(id)?)),
            (None, Some(id)) => Some(Community::Team(guild(id)?)),
            (None, None) => None,
        };
        Some(Address {
            platform: Platform::new(&self.platform).ok()?,
            account: AccountId::new(self.account.as_str()).ok()?,
            chat: chat(&self.chat)?,
            chat_type: ChatType::parse(&self.chat_type)?,
            topic: self.topic.as_ref().and_then(|it| TopicId::new(it.as_str()).ok()),
            parent: self.parent.as_ref().and_then(chat),
            community,
            user: self.user.as_ref().and_then(|it| UserId::new(it.as_str()).ok()),
            roles: self.roles.iter().filter_map(|it| RoleId::new(it.as_str()).ok()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insula_channel::{EventId, Happening, Sender};
    use insula_world::Timestamp;

    fn address(user: Option<&str>) -> Address {
        Address {
            platform: Platform::new("telegram").unwrap(),
            account: AccountId::new("ma:in%").unwrap(),
            chat: ChatId::new("-100").unwrap(),
            chat_type: ChatType::Thread,
            topic: Some(TopicId::new("7").unwrap()),
            parent: Some(ChatId::new("-99").unwrap()),
            community: Some(Community::Team(GuildId::new("t").unwrap())),
            user: user.map(|it| UserId::new(it).unwrap()),
            roles: vec![RoleId::new("staff").unwrap()],
        }
    }

    fn message(quoted: Option<Quoted>) -> Message {
        Message {
            id: MessageId("5".into()),
            words: {
                let mut words = Words::typed("hello ⟦\u{202e}");
                words.push_foreign(WordSource::Forwarded, Some("Eve"), "passed on");
                words.push_typed(" and so on");
                words
            },
            mentions_us: true,
            is_for_another: false,
            attachments: vec![Attachment {
                kind: AttachmentKind::Voice,
                name: "../../etc/passwd".into(),
                media_type: "audio/ogg".into(),
                size: Some(9),
                handle: "h".into(),
            }],
            quoted,
            group: Some("g".into()),
        }
    }

    fn quoted(is_from_here: bool) -> Quoted {
        Quoted {
            id: MessageId("4".into()),
            author: Some(UserId::new("9").unwrap()),
            is_ours: false,
            is_from_here,
            text: "x".repeat(10_000),
        }
    }

    #[test]
    fn c4_what_is_kept_is_read_back_as_it_was() {
        for user in [None, Some("1:%/")] {
            let said = message(Some(quoted(true)));
            let envelope = Envelope {
                event: EventId("e".into()),
                address: address(user),
                sender: Sender::default(),
                at: Timestamp::from_millis(1),
                what: Happening::Said(said.clone()),
            };
            let kept = StoredMessage::of(&envelope, &said, &UserId::new("known").unwrap());
            let read = StoredMessage::read(&kept.write()).unwrap();
            assert_eq!(read, kept);
            assert_eq!(read.address(), Some(envelope.address));
            assert_eq!(read.attachments[0].attachment(), said.attachments[0]);
        }
        assert_eq!(StoredMessage::read("{}"), None);
    }

    #[test]
    fn what_an_older_version_kept_was_typed_by_nobody() {
        let old = r#"{"event":"e","message":"1","place":{"platform":"telegram","account":"a","chat":"c","chat_type":"group","topic":null,"parent":null,"guild":null,"team":null,"user":null,"roles":[]},"known":"","name":"","text":"/approve x","quoted":null,"attachments":[],"album":null}"#;
        let kept = StoredMessage::read(old).unwrap();
        assert_eq!(kept.words, Words::foreign(WordSource::Other, "/approve x"));
    }

    #[test]
    fn a_quotation_from_elsewhere_is_not_kept() {
        assert_eq!(quote(&quoted(false)), None);
        let kept = quote(&quoted(true)).unwrap();
        assert!(kept.text.len() <= QUOTED_BYTES_MAX + "…".len());
    }
}
