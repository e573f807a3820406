//! Where messages are: the session they are said in, and the id that says both.

use super::scopes::Scope;
use crate::id::{MessageSeq, SessionId};
use crate::message::MESSAGES_PER_SESSION_MAX;

/// A session to write to, and its scope.
pub(crate) struct WritableSession {
    pub(crate) session: SessionId,
    pub(crate) scope: Scope,
    /// Whether it is a child's: work for a conversation, and none itself.
    pub(crate) is_child: bool,
}

/// The id of a message: where its session begins, and its place there.
pub(crate) fn id_of(session: SessionId, seq: MessageSeq) -> i64 {
    (session.0 << 32) | seq.0.min(MESSAGES_PER_SESSION_MAX).cast_signed()
}

/// Before all messages of a session.
pub(crate) fn first_id(session: SessionId) -> i64 {
    id_of(session, MessageSeq::START)
}

/// Not before any message of a session.
pub(crate) fn last_id(session: SessionId) -> i64 {
    id_of(session, MessageSeq::END)
}

/// What an id says.
pub(crate) fn split(id: i64) -> (SessionId, MessageSeq) {
    (SessionId(id >> 32), MessageSeq((id & 0xffff_ffff).cast_unsigned()))
}
