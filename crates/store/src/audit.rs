//! What an audit trail holds and what its verification says. How links are made: `chain`.

use crate::id::SessionId;
use insula_domain::{Actor, AuditScope, ScopeName};
use insula_world::Timestamp;
use std::fmt;
use std::str::FromStr;

/// Most records one read returns; read on from the last one for more.
pub const AUDIT_PAGE_MAX: usize = 1_000;

/// Longest content of a record, in bytes: a record is evidence, not storage.
pub const AUDIT_CONTENT_BYTES_MAX: usize = 256 * 1024;

/// Longest actor or kind of a record, in bytes.
pub const AUDIT_NAME_BYTES_MAX: usize = 1_024;

/// The position of a record in its chain, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first record.
    pub const START: Self = Self(0);
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a record is about: whose matter it is, and in which conversation. Said by whoever writes
/// it, never guessed from its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// The daemon as a whole.
    Daemon,
    /// The agent as a whole.
    Agent,
    /// One scope, outside any conversation.
    Scope(ScopeName),
    /// A conversation, by its key, whose scope is known.
    Conversation { scope: ScopeName, key: Box<str> },
    /// A session, which has a key and a scope. Of agents' trails alone.
    Session(SessionId),
    /// A conversation whose scope is that of the session it has now; while it has none, the matter
    /// is the agent's. Of agents' trails alone.
    Key(Box<str>),
}

/// Something that happened, to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: Timestamp,
    /// Who did it, such as `cli:local`.
    pub actor: Actor,
    /// Whose matter it is.
    pub about: About,
    /// What it was, such as `agent.paused`. Stays after erasure: never put content here.
    pub kind: Box<str>,
    /// The agent's generation at that time; 0 where there is none.
    pub generation: u64,
    /// Everything else, as JSON text. Can be erased without breaking the chain.
    pub content: String,
}

/// A recorded entry and its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Its position.
    pub seq: Seq,
    pub at: Timestamp,
    /// Who did it.
    pub actor: Actor,
    /// Whose matter it is.
    pub scope: AuditScope,
    /// The key of the conversation, if it was in one.
    pub session: Option<Box<str>>,
    /// Its position among those of the same scope, from 1; `None` for those that were written
    /// before scopes were noted.
    pub scope_seq: Option<u64>,
    pub kind: Box<str>,
    /// The agent's generation at that time.
    pub generation: u64,
    /// Everything else; `None` once erased.
    pub content: Option<String>,
    /// What the chain holds instead of the content: a salted hash of it.
    pub commitment: [u8; 32],
    /// The link of the record before; zeros for the first.
    pub prev: [u8; 32],
    /// The link of this record: a keyed hash over all of the above but the content.
    pub mac: [u8; 32],
}

/// Which records are meant. Each part narrows; what says `Any` narrows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    pub scope: ScopeFilter,
    pub kind: KindFilter,
    /// Who did it, as records name them.
    pub actor: Option<Box<str>>,
    /// In which conversation, by its key.
    pub session: Option<Box<str>>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
}

impl AuditFilter {
    /// Whether a record is meant.
    pub fn admits(&self, record: &AuditRecord) -> bool {
        let Self { scope, kind, actor, session, since, until } = self;
        scope.admits(&record.scope)
            && kind.admits(&record.kind)
            && actor.as_deref().is_none_or(|actor| record.actor.as_str() == actor)
            && session.as_ref().is_none_or(|key| record.session.as_ref() == Some(key))
            && since.is_none_or(|since| record.at >= since)
            && until.is_none_or(|until| record.at < until)
    }
}

/// Of which scope.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ScopeFilter {
    /// Of all of them, those that are about none too.
    #[default]
    Any,
    /// Of this one.
    Only(AuditScope),
}

impl ScopeFilter {
    fn admits(&self, scope: &AuditScope) -> bool {
        match self {
            Self::Any => true,
            Self::Only(only) => only == scope,
        }
    }
}

/// Of which kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum KindFilter {
    #[default]
    Any,
    /// This one.
    Exactly(Box<str>),
    /// Those that begin with this, which ends with a dot.
    Below(Box<str>),
}

impl KindFilter {
    fn admits(&self, kind: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(wanted) => **wanted == *kind,
            Self::Below(start) => kind.starts_with(&**start),
        }
    }
}

/// A text is no kind of record, nor a pattern of such.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no kind of record: write one such as `tool.call`, or `tool.*` for all that begin so"
)]
pub struct KindError(Box<str>);

impl FromStr for KindFilter {
    type Err = KindError;

    fn from_str(text: &str) -> Result<Self, KindError> {
        let is_kind = |text: &str| {
            let letter = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_';
            text.len() <= AUDIT_NAME_BYTES_MAX
                && text.split('.').all(|part| !part.is_empty() && part.bytes().all(letter))
        };
        match text.strip_suffix(".*") {
            Some(start) if is_kind(start) => Ok(Self::Below(format!("{start}.").into())),
            None if is_kind(text) => Ok(Self::Exactly(text.into())),
            _ => Err(KindError(text.chars().take(100).collect::<String>().into())),
        }
    }
}

/// Which part of the records that are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditPart {
    /// The newest.
    Newest,
    /// Those after this one.
    After(Seq),
    /// The last of those before this one.
    Before(Seq),
    /// Those after this place among those of the scope that is asked for.
    AfterInScope(u64),
    /// The last of those before this place among those of the scope that is asked for.
    BeforeInScope(u64),
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditReport {
    /// Whether every record is as it was written and none is missing.
    pub ok: bool,
    /// How many records are good, from the first on.
    pub records: u64,
    /// How many of those had their content erased.
    pub erased: u64,
    /// The position of the first record that is changed, missing or too many.
    pub broken_at: Option<u64>,
    /// What is wrong there, or what there is to know although all is well.
    pub reason: Option<String>,
    /// How many records were lost with the power before they were on the disk. The chain says so
    /// where it goes on, and is intact.
    pub lost: u64,
    /// How many records were dropped from the beginning because they were older than records are
    /// kept. The first that is left follows them.
    pub dropped: u64,
}

/// Most records that are dropped at once: others wait meanwhile.
pub const AUDIT_DROPPED_MAX: u64 = 10_000;

/// What a record is called by which a chain says that its beginning was dropped.
pub const DROPPED: &str = "audit.dropped";

/// What a record is called by which a chain says that its tail was lost with the power.
pub const TAIL_LOST: &str = "audit.tail_lost";

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_named_whole_or_by_how_it_begins() {
        let read = |text: &str| text.parse::<KindFilter>();
        assert_eq!(read("hook"), Ok(KindFilter::Exactly("hook".into())));
        assert_eq!(read("tool.call"), Ok(KindFilter::Exactly("tool.call".into())));
        assert_eq!(read("approval.*"), Ok(KindFilter::Below("approval.".into())));
        for text in ["", "*", ".*", "tool*", "*.call", "tool..call", "Tool.call", "a b", "tool.**"]
        {
            assert!(read(text).is_err(), "{text:?}");
        }
        let below = read("tool.*").unwrap();
        assert!(below.admits("tool.call") && !below.admits("tools.x") && !below.admits("tool"));
    }
}
