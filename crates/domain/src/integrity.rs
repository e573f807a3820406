//! Integrity: whose words steer a turn.
//!
//! A turn is its operator's and its sender's until it holds words that somebody else wrote. From
//! then on whoever wrote them may be steering it, and it says so by naming where they came from.
//! Like an audience label it only ever grows: what was made of two things was steered by whatever
//! steered either. Nothing here knows what the words say.

use crate::percent::{self, Encoded};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// The text of what nobody else had a word in.
const OWN: &str = "own";
/// The text of what came from more sources than are told apart, or from unknown ones.
const MANY: &str = "many";
/// Sources that are told apart; more are `many`.
pub const SOURCES_MAX: usize = 8;
/// Longest name of a source, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// What stands where a name was cut. Two that agree in what is left are one.
const CUT: char = '…';
/// What stands for a control character: two names that differ only in these still differ from one
/// that has none.
const UNSEEN: char = '\u{fffd}';

/// What kind of place foreign words came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SourceKind {
    /// A page or another answer of the network; by its host.
    Web,
    /// What a tool of an MCP server gave back; by server and tool.
    Mcp,
    /// A file that others wrote or that came from outside; by its path.
    File,
    /// A file that came with a message; by its name.
    Attachment,
    /// Words of somebody else that the sender passed on: a quotation, a forwarded message.
    Quoted,
    /// Words that were said beside the conversation and not to the agent.
    Observed,
    /// Another agent's words, or those of a child of which it is not known what it read.
    Agent,
    /// What was remembered in a turn that was tainted.
    Memory,
    /// A skill whose text is not pinned; by its name.
    Skill,
    /// How a tool of a server describes itself; by server and tool.
    Description,
    /// What a program printed that could have read anything; by its tool.
    Program,
    /// What a hook added.
    Hook,
    /// What a caller of the API brought back from a tool of its own; by that tool.
    Client,
}

impl SourceKind {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::Web,
        Self::Mcp,
        Self::File,
        Self::Attachment,
        Self::Quoted,
        Self::Observed,
        Self::Agent,
        Self::Memory,
        Self::Skill,
        Self::Description,
        Self::Program,
        Self::Hook,
        Self::Client,
    ];

    /// Its name, in records and where an operator trusts some.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Mcp => "mcp",
            Self::File => "file",
            Self::Attachment => "attachment",
            Self::Quoted => "quoted",
            Self::Observed => "observed",
            Self::Agent => "agent",
            Self::Memory => "memory",
            Self::Skill => "skill",
            Self::Description => "description",
            Self::Program => "program",
            Self::Hook => "hook",
            Self::Client => "client",
        }
    }

    /// Finds a kind by name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Where foreign words came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Source {
    pub kind: SourceKind,
    name: Box<str>,
}

impl Source {
    /// A source by its name: a host, a path, a server and its tool. Of a very long one that part
    /// is kept which says whose it is: the end of a host, the beginning of all else.
    pub fn new(kind: SourceKind, name: &str) -> Self {
        let shown = |it: char| if it.is_control() { UNSEEN } else { it };
        let plain: String = name.chars().map(shown).collect();
        if plain.len() <= NAME_BYTES_MAX {
            return Self { kind, name: plain.into() };
        }
        let room = NAME_BYTES_MAX - CUT.len_utf8();
        let name = match kind {
            SourceKind::Web => {
                format!("{CUT}{}", &plain[plain.ceil_char_boundary(plain.len() - room)..])
            }
            _ => format!("{}{CUT}", &plain[..plain.floor_char_boundary(room)]),
        };
        Self { kind, name: name.into() }
    }

    /// Somebody whose words a message replies to, by who they are on its platform; nobody where
    /// they are the sender's own.
    pub fn quoted(platform: &str, author: Option<&str>, sender: &str) -> Option<Self> {
        let name = author.map_or("somebody".into(), |id| format!("{platform}:{id}"));
        (author != Some(sender)).then(|| Self::new(SourceKind::Quoted, &name))
    }

    /// A file that comes with a message.
    pub fn attachment(name: &str) -> Self {
        Self::new(SourceKind::Attachment, name)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the name may be a part of another one, which nobody has named by it.
    pub(crate) fn is_cut(&self) -> bool {
        self.name.starts_with(CUT) || self.name.ends_with(CUT)
    }

    /// Whether the name has characters in it that could not be kept.
    pub(crate) fn is_garbled(&self) -> bool {
        self.name.contains(UNSEEN)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), Encoded(&self.name))
    }
}

/// Whose words something was made of.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Integrity(Sources);

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Sources {
    /// Foreign words came from these; from none, it is the operator's and the sender's.
    Known(BTreeSet<Source>),
    /// From more than are told apart, or it is not known.
    Many,
}

impl Default for Integrity {
    fn default() -> Self {
        Self::own()
    }
}

impl Integrity {
    /// Nobody else had a word in it.
    pub fn own() -> Self {
        Self(Sources::Known(BTreeSet::new()))
    }

    /// It is not known who had.
    pub fn many() -> Self {
        Self(Sources::Many)
    }

    /// Tainted by one source.
    pub fn of(source: Source) -> Self {
        Self(Sources::Known(BTreeSet::from([source])))
    }

    /// Whether nobody else had a word in it.
    pub fn is_own(&self) -> bool {
        matches!(&self.0, Sources::Known(sources) if sources.is_empty())
    }

    /// What was made of both.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let (Sources::Known(own), Sources::Known(others)) = (&self.0, &other.0) else {
            return Self::many();
        };
        let all: BTreeSet<Source> = own.union(others).cloned().collect();
        if all.len() > SOURCES_MAX { Self::many() } else { Self(Sources::Known(all)) }
    }

    /// The same without sources that are trusted. Of what is not known none is.
    #[must_use]
    pub fn without(&self, is_trusted: impl Fn(&Source) -> bool) -> Self {
        match &self.0 {
            Sources::Known(sources) => {
                Self(Sources::Known(sources.iter().filter(|it| !is_trusted(it)).cloned().collect()))
            }
            Sources::Many => Self::many(),
        }
    }

    /// Where foreign words came from, in order; nothing where that is not known.
    pub fn sources(&self) -> impl Iterator<Item = &Source> {
        match &self.0 {
            Sources::Known(sources) => Some(sources),
            Sources::Many => None,
        }
        .into_iter()
        .flatten()
    }

    /// The same, for operators and the agent's admins.
    pub fn in_words(&self) -> String {
        self.worded(|it| format!("{} {}", it.kind.as_str(), it.name()))
    }

    /// The same, for models, and so for whoever reads what a model was shown: people of other
    /// conversations are not named.
    pub fn for_models(&self) -> String {
        self.worded(|it| match it.kind {
            SourceKind::Observed | SourceKind::Quoted => format!("{} others", it.kind.as_str()),
            kind => format!("{} {}", kind.as_str(), it.name()),
        })
    }

    fn worded(&self, word: impl Fn(&Source) -> String) -> String {
        match self.0 {
            Sources::Many => "more sources than are told apart".to_owned(),
            Sources::Known(_) => {
                let mut words: Vec<String> = self.sources().map(word).collect();
                words.dedup();
                words.join(", ")
            }
        }
    }
}

impl fmt::Display for Integrity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sources::Known(sources) = &self.0 else { return f.write_str(MANY) };
        if sources.is_empty() {
            return f.write_str(OWN);
        }
        for (place, source) in sources.iter().enumerate() {
            let separator = if place == 0 { "" } else { "," };
            write!(f, "{separator}{source}")?;
        }
        Ok(())
    }
}

/// Why a text names no integrity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not whose words something was made of: expected `own`, `many` or <kind>:<name>,…"
)]
pub struct IntegrityError {
    text: Box<str>,
}

impl FromStr for Integrity {
    type Err = IntegrityError;

    fn from_str(text: &str) -> Result<Self, IntegrityError> {
        match text {
            OWN => return Ok(Self::own()),
            MANY => return Ok(Self::many()),
            _ => {}
        }
        let source = |part: &str| -> Option<Source> {
            let (kind, name) = part.split_once(':')?;
            let name = percent::decode(name)?;
            let source = Source::new(SourceKind::parse(kind)?, &name);
            // A text has one meaning and a meaning one text.
            (*source.name == *name).then_some(source)
        };
        let sources: Option<Vec<Source>> = text.split(',').map(source).collect();
        let sources = sources.filter(|it| it.len() <= SOURCES_MAX && it.is_sorted_by(|a, b| a < b));
        let sources = sources.ok_or_else(|| IntegrityError { text: text.into() })?;
        Ok(Self(Sources::Known(sources.into_iter().collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source() -> impl Strategy<Value = Source> {
        (prop::sample::select(SourceKind::ALL.to_vec()), ".{0,80}")
            .prop_map(|(kind, name)| Source::new(kind, &name))
    }

    fn integrity() -> impl Strategy<Value = Integrity> {
        let known = prop::collection::vec(source(), 0..12).prop_map(|sources| {
            sources.into_iter().fold(Integrity::own(), |all, it| all.join(&Integrity::of(it)))
        });
        prop_oneof![9 => known, 1 => Just(Integrity::many())]
    }

    proptest! {
        #[test]
        fn a_text_has_one_meaning_and_a_meaning_one_text(one in integrity(), text in ".{0,60}") {
            prop_assert_eq!(one.to_string().parse::<Integrity>(), Ok(one));
            if let Ok(parsed) = text.parse::<Integrity>() {
                prop_assert_eq!(parsed.to_string(), text);
            }
        }

        #[test]
        fn it_never_falls(one in integrity(), other in integrity(), third in integrity()) {
            let both = one.join(&other);
            prop_assert_eq!(&both, &other.join(&one));
            prop_assert_eq!(&both.join(&one), &both);
            prop_assert_eq!(both.join(&third), one.join(&other.join(&third)));
            prop_assert_eq!(both.is_own(), one.is_own() && other.is_own());
            let is_kept = |it: &Source| both == Integrity::many() || both.sources().any(|in_both| in_both == it);
            prop_assert!(one.sources().chain(other.sources()).all(is_kept));
        }
    }

    #[test]
    fn of_a_long_name_the_part_is_kept_that_says_whose_it_is() {
        let host = format!("{}.example.com.evil.net", "a".repeat(60));
        let web = Source::new(SourceKind::Web, &host);
        assert!(web.name().starts_with(CUT) && web.name().ends_with(".example.com.evil.net"));
        let path = format!("/srv/handbook/{}", "é".repeat(60));
        let file = Source::new(SourceKind::File, &path);
        assert!(file.name().starts_with("/srv/handbook/é") && file.name().ends_with(CUT));
        for source in [web, file] {
            assert!(source.name().len() <= NAME_BYTES_MAX && source.is_cut());
            assert_eq!(Source::new(source.kind, source.name()), source);
        }
        let whole = "b".repeat(NAME_BYTES_MAX);
        assert_eq!(Source::new(SourceKind::Web, &whole).name(), whole);
    }

    #[test]
    fn more_sources_than_are_told_apart_are_many() {
        let mut all = Integrity::own();
        for number in 0..=SOURCES_MAX {
            assert_ne!(all, Integrity::many());
            all = all.join(&Integrity::of(Source::new(SourceKind::Web, &number.to_string())));
        }
        assert_eq!(all, Integrity::many());
        assert!(!all.is_own());
    }
}
