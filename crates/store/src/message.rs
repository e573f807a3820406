//! Messages: append-only rows of content parts, each with who said it, where and to whom.
//!
//! What a part means is for the layers above; here only [`Part::Text`] is looked into, and
//! only for search. How parts become bytes: `parts`.

use crate::id::{MessageSeq, SessionId, TurnId};
use insula_domain::{Actor, ScopeName};
use insula_world::Timestamp;
use std::sync::Arc;

/// Most parts of a message: an answer with a hundred tool calls has reasons to be refused.
pub const PARTS_MAX: usize = 256;

/// Longest message, all parts together, in bytes. Larger things are attachments.
pub const MESSAGE_BYTES_MAX: usize = 1024 * 1024;

/// Most messages of one session; what fits beside the session in one 64-bit place.
pub const MESSAGES_PER_SESSION_MAX: u64 = u32::MAX as u64;

/// Most messages one read returns.
pub const MESSAGE_PAGE_MAX: usize = 1_000;

/// Most bytes of parts one read returns; the message that passes it is still returned if it
/// is the first.
pub const MESSAGE_PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Whose voice a message is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Someone who talks to the agent.
    User,
    /// The agent.
    Assistant,
    /// A tool that was called.
    Tool,
    /// The runtime: summaries and notices.
    System,
}

impl Role {
    /// Every role, at the index of its code.
    pub const ALL: [Self; 4] = [Self::User, Self::Assistant, Self::Tool, Self::System];

    /// How it is stored. Never changed.
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    /// The role stored as this.
    pub(crate) fn from_code(code: i64) -> Option<Self> {
        usize::try_from(code).ok().and_then(|code| Self::ALL.get(code).copied())
    }

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::System => "system",
        }
    }
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Words of whoever the message is by. Search finds them and what stands beside them.
    Text(String),
    /// Words that stand beside those, and are not their own: a note of ours, something passed on.
    Beside(String),
    /// A file kept elsewhere, by the hash of its content.
    Attachment {
        hash: [u8; 32],
        /// What it is called.
        name: Box<str>,
        media_type: Box<str>,
        /// Its length in bytes.
        bytes: u64,
    },
    /// A picture kept elsewhere.
    Image {
        /// Where, in whatever form the layer above uses.
        source: Box<str>,
        media_type: Box<str>,
    },
    /// A call the model asks for.
    ToolCall {
        /// The call's id, as the model gave it.
        id: Box<str>,
        /// The tool.
        name: Box<str>,
        /// The arguments, as the model wrote them or as they were mended.
        arguments: String,
    },
    /// What a call brought.
    ToolResult {
        /// The call's id.
        call: Box<str>,
        /// What it brought.
        text: String,
        /// Whether that is a failure.
        is_error: bool,
        /// Whether some of it is text from outside that may say anything.
        untrusted: bool,
    },
    /// What the model thought, to be handed back to it.
    Reasoning {
        /// The words; may be empty where the provider hides them.
        text: String,
        /// The provider's seal, without which it does not take them back.
        signature: Option<String>,
    },
}

/// A message to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// Whose voice it is in.
    pub role: Role,
    /// Its content.
    pub parts: Vec<Part>,
    /// Who said it, or on whose behalf it was made.
    pub principal: Actor,
    /// The scope it belongs to: where search finds it.
    pub scope: ScopeName,
    /// Who may hear it.
    pub label: Arc<str>,
    /// The agent's generation that took or made it.
    pub generation: u64,
    pub at: Timestamp,
}

/// A message and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub session: SessionId,
    /// Its place there.
    pub seq: MessageSeq,
    /// The turn it came in; `None` for one appended outside any.
    pub turn: Option<TurnId>,
    /// Whose voice it is in.
    pub role: Role,
    /// Its content.
    pub parts: Vec<Part>,
    /// Who said it, or on whose behalf it was made.
    pub principal: Actor,
    /// The scope it belongs to.
    pub scope: ScopeName,
    /// Who may hear it.
    pub label: Arc<str>,
    /// The agent's generation that took or made it.
    pub generation: u64,
    pub at: Timestamp,
}

/// How much of the end of a session to read: whichever limit is reached first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Most messages.
    pub messages: usize,
    /// Most bytes of stored parts. The newest message is returned whatever its size.
    pub bytes: usize,
}
