//! Conversations: what names them, where they stand, and how much of them is still in words.
//!
//! A session is one incarnation of a conversation. Its key is opaque here; the newest row of a
//! key that has not ended is the current one, and ending it makes the next message begin a new
//! row with an empty history.

use crate::id::{MessageSeq, SessionId};
use insula_domain::ScopeName;
use insula_world::Timestamp;
use std::sync::Arc;

/// Longest session key, scope, label or principal, in bytes: names, not content.
pub const NAME_BYTES_MAX: usize = 1_024;

/// Longest title of a session, in bytes.
pub const TITLE_BYTES_MAX: usize = 1_024;

/// Most sessions one read returns.
pub const SESSION_PAGE_MAX: usize = 1_000;

/// Most sessions an agent can have over its life: half of what a message's place has room for.
pub const SESSIONS_MAX: i64 = 1 << 30;

/// Which session a command means.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SessionRef {
    /// This one, whether it has ended or not.
    Id(SessionId),
    /// The current one of this key.
    Key(Box<str>),
}

/// How to find a session, or begin it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSession {
    pub key: Box<str>,
    /// The scope its words belong to. A current session of another scope is ended and a new
    /// one begins: words of one scope never become the history of another.
    pub scope: ScopeName,
    /// The audience label it begins with.
    pub label: Arc<str>,
    /// When, should it begin now.
    pub at: Timestamp,
}

/// Which messages of a session are represented by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// All messages up to this one are.
    pub upto: MessageSeq,
    /// The message that stands for them.
    pub message: MessageSeq,
}

/// Whether the older part of a session is to become notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotesWish {
    /// Somebody asked for it.
    Made,
    /// Nobody did, or it was seen to.
    Settled,
}

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// It goes on.
    Current,
    /// It was ended: its key means another one, or none yet.
    Ended,
    /// It was ended and nothing that was said in it is left.
    Forgotten,
}

/// A session as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its number.
    pub id: SessionId,
    pub key: Box<str>,
    /// The scope its words belong to.
    pub scope: ScopeName,
    /// The audience label it began with.
    pub label: Arc<str>,
    /// What people call it.
    pub title: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub active_at: Timestamp,
    /// Where it stands.
    pub state: SessionState,
    /// The part of it that is represented by a summary.
    pub summary: Option<Summary>,
    /// The place of its newest message; 0 while there is none.
    pub last: MessageSeq,
    /// The model that is asked first in it, where somebody chose one.
    pub model: Option<Box<str>>,
    /// Whether somebody asked that its older part becomes notes, and nothing came of it yet.
    pub notes: NotesWish,
}
