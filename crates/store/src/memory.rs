//! Fragments of memory: what is remembered in which scope, and the chain that says where each
//! came from.
//!
//! A fragment never changes. The entries of one scope's target are set as a whole, under the
//! condition that they are what the caller read; whatever is left out is removed. Each new
//! fragment and each removal is a record of a chain that is never edited: of the words it holds
//! a salted hash, and the salt goes with the words.

use crate::id::{MessageSeq, SessionId};
use insula_domain::{Actor, Day, ScopeName};
use insula_world::Timestamp;
use std::fmt;

/// Longest text of a fragment, in bytes.
pub const FRAGMENT_BYTES_MAX: usize = 64 * 1024;
/// Most fragments of one scope's target.
pub const FRAGMENTS_MAX: usize = 4_096;
/// Most fragments or records that one read returns.
pub const MEMORY_PAGE_MAX: usize = 1_000;
/// Longest block that a session is shown, in bytes.
pub const MEMORY_BLOCK_BYTES_MAX: usize = 1024 * 1024;

/// A fragment, by the record that brought it; counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FragmentId(pub i64);

impl FragmentId {
    /// Before the first one.
    pub const START: Self = Self(0);
}

impl fmt::Display for FragmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which of a scope's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemoryList {
    /// What was learned.
    Memory,
    /// Who the user is.
    User,
    /// What was noted on a day.
    Day(Day),
}

impl MemoryList {
    /// From here on the code of a list is that of a day.
    pub(crate) const FIRST_DAY: i64 = 1_000;

    /// The two that every scope has.
    pub const ALL: [Self; 2] = [Self::Memory, Self::User];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::User => "user",
            Self::Day(_) => "daily",
        }
    }

    /// Finds one by name.
    pub fn parse(text: &str) -> Option<Self> {
        let day = || Day::parse(text).map(Self::Day);
        Self::ALL.into_iter().find(|target| target.as_str() == text).or_else(day)
    }

    /// Its name; of a day's that day.
    pub fn name(self) -> String {
        match self {
            Self::Day(day) => day.to_string(),
            standing => standing.as_str().to_owned(),
        }
    }

    pub(crate) fn code(self) -> i64 {
        match self {
            Self::Memory => 0,
            Self::User => 1,
            Self::Day(day) => Self::FIRST_DAY + day.number(),
        }
    }

    pub(crate) fn from_code(code: i64) -> Option<Self> {
        let day = || Day::from_number(code.checked_sub(Self::FIRST_DAY)?).map(Self::Day);
        Self::ALL.into_iter().find(|target| target.code() == code).or_else(day)
    }
}

/// How words came into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemorySource {
    /// Somebody asked for it themselves.
    Said,
    /// A model wrote it by a tool.
    Tool,
    /// It came with an agent from elsewhere.
    Import,
    /// Somebody edited the mirror.
    ExternalEdit,
    /// An admin shared it from another scope.
    Shared,
}

impl MemorySource {
    const ALL: [Self; 5] = [Self::Said, Self::Tool, Self::Import, Self::ExternalEdit, Self::Shared];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Said => "said",
            Self::Tool => "tool",
            Self::Import => "import",
            Self::ExternalEdit => "external edit",
            Self::Shared => "shared",
        }
    }

    pub(crate) fn code(self) -> i64 {
        match self {
            Self::Said => 0,
            Self::Tool => 1,
            Self::Import => 2,
            Self::ExternalEdit => 3,
            Self::Shared => 4,
        }
    }

    pub(crate) fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.code() == code)
    }
}

/// Where a change comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryOrigin {
    pub source: MemorySource,
    /// Whose doing it is.
    pub principal: Actor,
    /// Where they spoke.
    pub platform: Box<str>,
    /// The conversation, where there was one.
    pub session: Option<SessionId>,
    pub message: Option<MessageSeq>,
    /// The tool call.
    pub call: Option<Box<str>>,
    /// The agent's generation.
    pub generation: u64,
    pub at: Timestamp,
    /// Who confirmed it, where somebody had to.
    pub approved_by: Option<Actor>,
    /// The audiences that the words came from, where a turn wrote them.
    pub label: Option<Box<str>>,
}

/// Something remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    pub id: FragmentId,
    pub scope: ScopeName,
    pub target: MemoryList,
    /// The words.
    pub text: String,
    /// Why no model gets to see it.
    pub blocked: Option<Box<str>>,
    /// The audiences that the words came from, where a turn wrote them.
    pub label: Option<Box<str>>,
    /// Whether somebody with the right confirmed that it is remembered where it is.
    pub is_approved: bool,
}

/// What a session is shown of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frozen {
    /// The words.
    pub text: String,
    /// The audiences they came from, where that is known.
    pub label: Option<Box<str>>,
}

/// What a record of the chain is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// A fragment came.
    Learned,
    /// This fragment was removed or replaced.
    Removed(FragmentId),
    /// This fragment was forgotten, for good.
    Forgotten(FragmentId),
}

/// A record of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// Its place; of one that brought a fragment, that fragment's id.
    pub seq: FragmentId,
    /// What it is about.
    pub kind: RecordKind,
    pub scope: ScopeName,
    pub target: MemoryList,
    /// Where the change comes from.
    pub origin: MemoryOrigin,
    /// The fragments whose words went into it.
    pub parents: Vec<FragmentId>,
    /// The salted hash of the words.
    pub commitment: [u8; 32],
    /// The link of the record before.
    pub prev: [u8; 32],
    /// Its own link.
    pub mac: [u8; 32],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFragment {
    /// The words.
    pub text: String,
    /// Why no model gets to see it.
    pub blocked: Option<Box<str>>,
    /// The fragments whose words went into it.
    pub parents: Vec<FragmentId>,
}

/// One entry of a list that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryEntry {
    /// One that is there.
    Keep(FragmentId),
    /// A new one.
    New(NewFragment),
}

/// Sets the entries of one scope's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remember {
    pub scope: ScopeName,
    pub target: MemoryList,
    /// The entries as the caller read them, in order; refused if they are others by now.
    pub expects: Vec<FragmentId>,
    /// The entries from now on, in order.
    pub entries: Vec<MemoryEntry>,
    /// Where the change comes from.
    pub origin: MemoryOrigin,
    /// The hash of the mirror's bytes that go with it.
    pub digest: [u8; 32],
}

/// What the mirror of a list was last made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// The hash of its bytes, and the fragments in it.
    pub now: ([u8; 32], Vec<FragmentId>),
    /// The same before the last change.
    pub before: ([u8; 32], Vec<FragmentId>),
}

/// One scope's list, and its mirror's marks if it ever had one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryPage {
    /// The entries, in order.
    pub fragments: Vec<Fragment>,
    /// The mirror's marks.
    pub mirror: Option<Mirror>,
    /// Whether something that was forgotten may still be in its files.
    pub erasure_due: bool,
}

/// A list: its scope and which of the two.
pub type ListName = (ScopeName, MemoryList);

/// What forgetting takes away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Affected {
    pub fragments: Vec<Fragment>,
    /// Those and the ones that are gone already: what was meant, and what they were made of.
    pub ids: Vec<FragmentId>,
    /// The lists that all of them are or were in.
    pub lists: Vec<ListName>,
}

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forget {
    /// A fragment, and what was shared or made from it.
    Fragment(FragmentId),
    /// What was learned in a session, and made from it.
    Session(SessionId),
    /// What was learned from somebody, and made from it.
    Principal(Box<str>),
    /// All of a scope, and what was shared from it.
    Scope(ScopeName),
}

/// A fragment that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FragmentHit {
    pub fragment: Fragment,
    /// How well it matches, compared to others of the same scope (BM25).
    pub score: f64,
}

/// What a check of the chain found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryReport {
    /// Whether all is as it should be.
    pub ok: bool,
    /// Records that were checked.
    pub records: u64,
    /// Fragments that were checked against theirs.
    pub fragments: u64,
    /// The first record that is wrong.
    pub broken_at: Option<u64>,
    /// What is wrong with it.
    pub reason: Option<String>,
}

impl MemoryReport {
    /// What is found where there is nothing.
    pub(crate) const EMPTY: Self =
        Self { ok: true, records: 0, fragments: 0, broken_at: None, reason: None };
}
