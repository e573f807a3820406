//! Finding messages by their words, inside one scope.
//!
//! A query names its scope and sees nothing else: which messages match, how they rank and
//! with what score depends only on the messages of that scope. What stands beside a message in
//! the same conversation counts for it, as far as it is of that scope, and is read when somebody
//! asks: the index has the words of each message and no others. How text becomes terms: `terms`.
//! What a query asks for: `query`.

use crate::id::{MessageSeq, SessionId};
use crate::message::Role;
use insula_domain::Actor;
use insula_world::Timestamp;
use std::ops::Range;

/// Most different terms of a message that are indexed; the first ones win.
pub const TERMS_PER_MESSAGE_MAX: usize = 1_024;

/// Most terms of a query that are looked up; the rest is left out. A whole question fits, also
/// one in a script where every two neighbours are a term.
pub const TERMS_PER_QUERY_MAX: usize = 32;

/// Most terms of the index that are looked at for the forms of one of a query.
pub const FORMS_PER_TERM_MAX: usize = 64;

/// Longest term, in bytes; a longer word is cut, in messages and queries alike.
pub const TERM_BYTES_MAX: usize = 48;

/// Longest query text, in bytes.
pub const QUERY_BYTES_MAX: usize = 4_096;

/// Most hits of a query.
pub const HITS_MAX: usize = 100;

/// Most matches of one term and its forms that are ranked: the newest. A term that common says
/// little.
pub const MATCHES_PER_TERM_MAX: usize = 20_000;

/// Longest snippet, in bytes.
pub const SNIPPET_BYTES_MAX: usize = 240;

/// A message that matches, or stands beside what matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    pub session: SessionId,
    /// Its place there.
    pub seq: MessageSeq,
    /// Whose voice it is in.
    pub role: Role,
    /// Who said it, or whom it was said to.
    pub principal: Actor,
    /// When it was said.
    pub at: Timestamp,
    /// Its audience label.
    pub label: Box<str>,
    /// How well it matches, compared to others of the same answer (BM25).
    pub score: f64,
    /// The words around the best of its matches; where it has none, how it begins.
    pub snippet: String,
    /// Where in the snippet terms of the query are. None where it was found by what stands
    /// beside it.
    pub marks: Vec<Range<usize>>,
}
