//! What a message says, piece by piece: what its sender typed as themselves, and what came along
//! in it that somebody else wrote.
//!
//! Rights hang on the difference. A rule with `said: true`, a command and an answer to a question
//! count what was typed alone. So there is no way to say "this whole text was typed" of something
//! a platform put together: whoever reads a message hands over its pieces one by one.

use crate::clean::{Removed, replace};
use crate::integrity::{Integrity, Source, SourceKind};

/// What words are that their sender did not type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WordSource {
    /// A message of somebody else's that was passed on, its caption included.
    Forwarded,
    /// Words that another program wrote into the sender's line.
    InlineBot,
    /// Where a link leads whose text says something else.
    Link,
    /// What somebody calls themselves.
    Name,
    /// Words marked as somebody else's.
    Quote,
    /// A card with somebody's name and number.
    Contact,
    /// A poll: its question and its answers.
    Poll,
    /// A place, and what it is called.
    Place,
    /// What stands for a sticker.
    Sticker,
    /// A sign that they put on a message.
    Reaction,
    /// What a link to the bot carried.
    Payload,
    /// What a file is called.
    FileName,
    /// Fields of a request that a program made.
    Fields,
    /// The template that an operator wrote around them.
    Template,
    /// An answer that the agent itself offered.
    Choice,
    /// What the sender said by voice, as their platform wrote it down.
    Transcript,
    /// A message as a hook wrote it anew.
    Rewritten,
    /// Anything else.
    Other,
}

impl WordSource {
    /// Every source.
    pub const ALL: [Self; 18] = [
        Self::Forwarded,
        Self::InlineBot,
        Self::Link,
        Self::Name,
        Self::Quote,
        Self::Contact,
        Self::Poll,
        Self::Place,
        Self::Sticker,
        Self::Reaction,
        Self::Payload,
        Self::FileName,
        Self::Fields,
        Self::Template,
        Self::Choice,
        Self::Transcript,
        Self::Rewritten,
        Self::Other,
    ];

    /// How it is stored. Never changed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::InlineBot => "inline_bot",
            Self::Link => "link",
            Self::Name => "name",
            Self::Quote => "quote",
            Self::Contact => "contact",
            Self::Poll => "poll",
            Self::Place => "place",
            Self::Sticker => "sticker",
            Self::Reaction => "reaction",
            Self::Payload => "payload",
            Self::FileName => "file_name",
            Self::Fields => "fields",
            Self::Template => "template",
            Self::Choice => "choice",
            Self::Transcript => "transcript",
            Self::Rewritten => "rewritten",
            Self::Other => "other",
        }
    }

    /// The source stored as this; what no version wrote is [`WordSource::Other`].
    pub fn parse(text: &str) -> Self {
        Self::ALL.into_iter().find(|it| it.as_str() == text).unwrap_or(Self::Other)
    }

    /// Whether it is a piece of one text that the operator's own means made: read as it stands,
    /// without a word about each piece.
    pub fn is_made(self) -> bool {
        matches!(self, Self::Fields | Self::Template | Self::Rewritten)
    }

    /// What a reader is told it is.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Forwarded => "forwarded",
            Self::InlineBot => "written by another bot",
            Self::Link => "a link leads to",
            Self::Name => "somebody called",
            Self::Quote => "quoted",
            Self::Contact => "a contact",
            Self::Poll => "a poll",
            Self::Place => "a place",
            Self::Sticker => "a sticker",
            Self::Reaction => "a reaction to a message",
            Self::Payload => "carried by a link",
            Self::FileName => "a file called",
            Self::Fields => "from a request",
            Self::Template => "from a template",
            Self::Choice => "chosen from the answers you offered",
            Self::Transcript => "said by voice, as the platform wrote it down",
            Self::Rewritten => "as a hook wrote it anew",
            Self::Other => "not typed by the sender",
        }
    }
}

impl WordSource {
    /// Whether somebody else than sender and operator may have written such words.
    pub fn is_others(self) -> bool {
        !matches!(
            self,
            Self::Template | Self::Choice | Self::Transcript | Self::Sticker | Self::Reaction
        )
    }
}

/// A piece of what a message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// The sender typed it, as themselves.
    Typed(String),
    /// Somebody else wrote it, or a program did.
    Foreign(Foreign),
}

/// Words that their sender did not type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    pub source: WordSource,
    /// Whose they are, as the platform names them; chosen by them.
    pub by: Option<String>,
    /// The words.
    pub text: String,
}

/// What stands for foreign words between typed ones, so that two pieces never make one word. No
/// letter, and no end of a line.
const GAP: &str = " \u{fffc} ";

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Words(Vec<Piece>);

impl Words {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Words that somebody typed, and nothing besides.
    pub fn typed(text: &str) -> Self {
        let mut words = Self::new();
        words.push_typed(text);
        words
    }

    /// Words that somebody else wrote, and nothing besides.
    pub fn foreign(source: WordSource, text: &str) -> Self {
        let mut words = Self::new();
        words.push_foreign(source, None, text);
        words
    }

    /// Goes on with something that the sender typed as themselves.
    pub fn push_typed(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(Piece::Typed(before)) => before.push_str(text),
            _ => self.0.push(Piece::Typed(text.to_owned())),
        }
    }

    /// Goes on with something that they did not.
    pub fn push_foreign(&mut self, source: WordSource, by: Option<&str>, text: &str) {
        if text.is_empty() {
            return;
        }
        let foreign = Foreign { source, by: by.map(str::to_owned), text: text.to_owned() };
        self.0.push(Piece::Foreign(foreign));
    }

    /// The same words, none of them the sender's own: as where all of a message was passed on.
    pub fn made_foreign(self, source: WordSource, by: Option<&str>) -> Self {
        let mut words = Self::new();
        for piece in self.0 {
            match piece {
                Piece::Typed(text) => words.push_foreign(source, by, text.trim()),
                Piece::Foreign(it) => words.0.push(Piece::Foreign(it)),
            }
        }
        words
    }

    /// The pieces, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Takes out what no reader sees, piece by piece.
    pub fn clean(&mut self, removed: &mut Removed) {
        for piece in &mut self.0 {
            let (text, by) = match piece {
                Piece::Typed(text) => (text, None),
                Piece::Foreign(it) => (&mut it.text, it.by.as_mut()),
            };
            for text in std::iter::once(text).chain(by) {
                replace(text, removed);
            }
        }
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|piece| text_of(piece).trim().is_empty())
    }

    /// How long they are, in bytes.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|piece| text_of(piece).len()).sum()
    }

    /// Whose words they are.
    pub fn integrity(&self) -> Integrity {
        let others = self.0.iter().filter_map(|piece| match piece {
            Piece::Foreign(it) if it.source.is_others() => Some(it),
            _ => None,
        });
        others.fold(Integrity::own(), |all, it| {
            let by = it.by.as_deref().map(|by| format!(" {by}")).unwrap_or_default();
            let name = format!("{}{by}", it.source.as_str());
            all.join(&Integrity::of(Source::new(SourceKind::Quoted, &name)))
        })
    }

    /// What the sender typed.
    pub fn said(&self) -> String {
        let typed = self.0.iter().filter_map(|piece| match piece {
            Piece::Typed(text) => Some(text.as_str()),
            Piece::Foreign(_) => None,
        });
        join(typed)
    }

    /// The text in which a command or an answer may stand: what was typed, where nothing of
    /// anybody else's stands in the message. Otherwise nothing.
    pub fn instruction(&self) -> &str {
        let counts = |piece: &&Piece| !matches!(piece, Piece::Foreign(it) if it.source == WordSource::Payload);
        let mut pieces = self.0.iter().filter(counts);
        match (pieces.next(), pieces.next()) {
            (Some(Piece::Typed(text)), None) => text.trim(),
            (Some(Piece::Foreign(it)), None) if it.source == WordSource::Rewritten => {
                it.text.trim()
            }
            _ => "",
        }
    }

    /// The same words as a hook wrote them anew. They may hold a command only where the message
    /// could.
    pub fn rewritten(&self, text: &str) -> Self {
        let is_own = self.0.iter().all(|piece| match piece {
            Piece::Typed(_) => true,
            Piece::Foreign(it) => matches!(it.source, WordSource::Payload | WordSource::Rewritten),
        });
        Self::foreign(if is_own { WordSource::Rewritten } else { WordSource::Other }, text)
    }

    /// All of it, for somebody who reads it and does nothing by it.
    pub fn all(&self) -> String {
        let is_made = |piece: &Piece| matches!(piece, Piece::Foreign(it) if it.source.is_made());
        let runs = self.0.chunk_by(|one, next| is_made(one) && is_made(next));
        let runs = runs.map(|run| run.iter().map(text_of).collect::<String>());
        runs.collect::<Vec<_>>().join("\n")
    }
}

/// Several texts that people typed, with something between them that no word goes across.
pub fn join<'t>(typed: impl IntoIterator<Item = &'t str>) -> String {
    typed.into_iter().collect::<Vec<_>>().join(GAP)
}

fn text_of(piece: &Piece) -> &str {
    match piece {
        Piece::Typed(text) => text,
        Piece::Foreign(it) => &it.text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::{mentions, stands_in};
    use proptest::prelude::*;

    #[test]
    fn only_what_was_typed_counts_and_no_word_goes_across_a_gap() {
        let mut words = Words::typed("pay Ann");
        words.push_foreign(WordSource::Name, None, "DE89");
        words.push_typed("a now");
        assert!(stands_in("Ann", &words.said()));
        assert!(!stands_in("Anna", &words.said()));
        assert!(!stands_in("DE89", &words.said()));
        assert!(!stands_in("Ann a", &words.said()));
        assert_eq!(words.instruction(), "");
        assert_eq!(words.all(), "pay Ann\nDE89\na now");
    }

    #[test]
    fn a_command_is_what_was_typed_alone() {
        assert_eq!(Words::typed(" /new ").instruction(), "/new");
        assert_eq!(Words::foreign(WordSource::Forwarded, "/new").instruction(), "");
        let mut start = Words::typed("/start ");
        start.push_foreign(WordSource::Payload, None, "pay DE89");
        assert_eq!(start.instruction(), "/start");
        assert_eq!(start.said(), "/start ");
        let mut link = Words::typed("ok");
        link.push_foreign(WordSource::Link, None, "https://evil.net/");
        assert_eq!(link.instruction(), "");
        assert_eq!(Words::typed("!n").rewritten("/new").instruction(), "/new");
        assert_eq!(Words::typed("!n").rewritten("/new").said(), "");
        assert_eq!(link.rewritten("/new").instruction(), "");
    }

    #[test]
    fn what_is_passed_on_is_nobodys_own() {
        let mut words = Words::typed("ok");
        words.push_foreign(WordSource::Link, None, "https://evil.net/");
        let passed = words.made_foreign(WordSource::Forwarded, Some("Eve"));
        assert_eq!((passed.said().as_str(), passed.instruction()), ("", ""));
        assert_eq!(passed.all(), "ok\nhttps://evil.net/");
    }

    #[test]
    fn sources_come_back_by_name() {
        for source in WordSource::ALL {
            assert_eq!(WordSource::parse(source.as_str()), source);
        }
        assert_eq!(WordSource::parse("of a later version"), WordSource::Other);
    }

    proptest! {
        #[test]
        fn words_of_others_never_become_typed(
            pieces in proptest::collection::vec((any::<bool>(), 0..WordSource::ALL.len(), "[a-c/ ]{0,6}"), 0..8),
        ) {
            let mut words = Words::new();
            for (at, (typed, source, text)) in pieces.iter().enumerate() {
                match typed {
                    true => words.push_typed(text),
                    false => {
                        let text = format!("{text}f{at}@evil.net https://evil.net/{at} f{at}");
                        words.push_foreign(WordSource::ALL[*source], None, &text);
                    }
                }
            }
            let said = words.said();
            prop_assert!(!said.contains("evil"));
            prop_assert!(mentions(&said).addresses.is_empty() && mentions(&said).urls.is_empty());
            for at in 0..pieces.len() {
                let foreign = format!("f{at}");
                prop_assert!(!stands_in(&foreign, &said));
            }
            let passed = words.clone().made_foreign(WordSource::Forwarded, None).said();
            prop_assert!(passed.is_empty(), "{:?}", passed);
            let has_foreign = words.pieces().iter().any(|it| matches!(it, Piece::Foreign(f) if !matches!(f.source, WordSource::Payload | WordSource::Rewritten)));
            prop_assert!(!has_foreign || words.instruction().is_empty());
        }
    }
}
