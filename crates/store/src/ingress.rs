//! What stands before the conversations of an agent: who was let in, where it was added to, and
//! what people said that is in no turn yet. Names are opaque here, and so is what was said.

use insula_domain::Actor;
use insula_world::Timestamp;

/// Longest content of a message that waits, in bytes: twice what a message may have.
pub const INBOX_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Longest name in one of these rows, in bytes.
pub const INGRESS_NAME_BYTES_MAX: usize = 2_048;
/// Most messages of one conversation that are kept as context; the oldest make room.
pub const CONTEXT_ROWS_MAX: u32 = 100;
/// Most rows that one read returns.
pub const INGRESS_ROWS_MAX: u32 = 10_000;

/// A user of a platform, as one account of ours knows them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlatformUser {
    pub platform: Box<str>,
    pub account: Box<str>,
    pub user: Box<str>,
}

/// Somebody who asks to be let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingRequest {
    pub who: PlatformUser,
    /// What they call themselves.
    pub name: String,
    /// Where they asked, in whatever form the layer above uses.
    pub place: String,
    /// What the code was hashed with.
    pub salt: [u8; 16],
    /// The hash of the code they were given.
    pub code: [u8; 32],
    pub asked_at: Timestamp,
    /// Until when the code is good.
    pub expires_at: Timestamp,
}

/// Somebody who was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pairing {
    pub who: PlatformUser,
    /// What they called themselves then.
    pub name: String,
    /// Who let them in.
    pub by: Actor,
    pub at: Timestamp,
}

/// How many codes were wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    /// How many in a row.
    pub wrong: u32,
    /// Until when no more are looked at.
    pub until: Timestamp,
}

/// A chat that somebody allowed added us to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedChat {
    pub platform: Box<str>,
    pub account: Box<str>,
    pub chat: Box<str>,
    /// Who added us.
    pub by: Actor,
    pub at: Timestamp,
}

/// What makes an event the same event when it comes again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EventName {
    /// The account it came by.
    pub who: Box<str>,
    pub key: Box<str>,
}

/// A message that is durable and in no turn yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInbox {
    /// The event it came by. One that was taken writes nothing.
    pub event: EventName,
    /// The key of the conversation it belongs to.
    pub session: Box<str>,
    /// The chat it was said in.
    pub chat: Box<str>,
    /// The platform's name for it in that chat.
    pub message: Box<str>,
    /// Who said it, as records name them.
    pub sender: Actor,
    /// Whether a turn is to answer it; otherwise it is context for one.
    pub waits: bool,
    pub at: Timestamp,
    /// What was said, in whatever form the layer above uses.
    pub content: String,
}

/// Such a message, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxRow {
    /// Its number: later ones have higher numbers.
    pub id: i64,
    /// The key of the conversation it belongs to.
    pub session: Box<str>,
    /// Who said it.
    pub sender: Actor,
    /// Whether a turn is to answer it.
    pub waits: bool,
    pub at: Timestamp,
    /// What was said.
    pub content: String,
}

/// What became of a request to be let in. Decided where it is written down: of two who ask at
/// once, only one finds the last place free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairingAsked {
    /// It is noted.
    Noted,
    /// They asked a moment ago.
    TooSoon,
    /// Too many others wait.
    Full,
}

/// A change to what stands before the conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IngressCommand {
    /// Notes that somebody asks to be let in, in place of what they asked before, unless it is
    /// too soon or too many wait. Answers [`Outcome::Asked`](crate::CommandOutcome::Asked).
    AskPairing {
        /// What they ask.
        request: PairingRequest,
        /// Who asked after this time does not ask anew.
        last_before: Timestamp,
        /// How many may wait at the same account, with codes that are good.
        waiting_max: u32,
    },
    /// Lets somebody in. What they asked is good no longer, and still says when that was.
    Pair(Pairing),
    /// Lets a user of a platform in no longer, by any account; what they asked is good no longer.
    Unpair { platform: Box<str>, user: Box<str> },
    /// Forgets requests whose codes were good until before a time.
    PrunePairings {
        /// The time.
        before: Timestamp,
    },
    /// Says how many codes were wrong.
    PutTries {
        platform: Box<str>,
        /// How many.
        tries: Tries,
    },
    /// Notes that we were added to a chat.
    Join(JoinedChat),
    /// Notes that we are no longer there.
    Leave { platform: Box<str>, account: Box<str>, chat: Box<str> },
    /// Keeps a message until its turn. Answers [`Outcome::Kept`](crate::CommandOutcome::Kept).
    Keep(NewInbox),
    /// Drops messages that a turn took in. Those that are gone are no error.
    Drop(Vec<i64>),
    /// Changes what a message says while it is in no turn; only its sender can.
    Edit {
        chat: Box<str>,
        message: Box<str>,
        /// Who says so.
        sender: Actor,
        /// What it says from now on.
        content: String,
    },
    /// Changes what is kept of a message while it is in no turn, if it still reads as it did.
    Amend {
        /// The message.
        row: i64,
        /// How it read.
        was: String,
        /// How it reads from now on.
        content: String,
    },
    /// Drops a message that was taken back while it is in no turn.
    Withdraw { chat: Box<str>, message: Box<str> },
    /// Notes that an event was dealt with.
    Note { event: EventName, at: Timestamp },
    /// Forgets events that were dealt with before a time.
    PruneEvents {
        /// The time.
        before: Timestamp,
    },
}

impl IngressCommand {
    /// What is too long in it, if anything is: what it is, its length and the most it may be.
    pub(crate) fn excess(&self) -> Option<(&'static str, usize, usize)> {
        let platform_user =
            |it: &PlatformUser| it.platform.len().max(it.account.len()).max(it.user.len());
        let (name, content) = match self {
            Self::AskPairing { request: new, .. } => {
                (platform_user(&new.who).max(new.name.len()).max(new.place.len()), 0)
            }
            Self::Pair(new) => {
                (platform_user(&new.who).max(new.name.len()).max(new.by.as_str().len()), 0)
            }
            Self::Unpair { platform, user } => (platform.len().max(user.len()), 0),
            Self::PutTries { platform, .. } => (platform.len(), 0),
            Self::Join(new) => {
                (new.account.len().max(new.chat.len()).max(new.by.as_str().len()), 0)
            }
            Self::Leave { account, chat, .. } => (account.len().max(chat.len()), 0),
            Self::Keep(new) => {
                let names = [&new.event.who, &new.event.key, &new.session, &new.chat];
                let names = names.into_iter().chain([&new.message]).map(|name| name.len());
                let names = names.chain([new.sender.as_str().len()]);
                (names.max().unwrap_or(0), new.content.len())
            }
            Self::Edit { chat, message, content, .. } => {
                (chat.len().max(message.len()), content.len())
            }
            Self::Amend { was, content, .. } => (0, content.len().max(was.len())),
            Self::Withdraw { chat, message } => (chat.len().max(message.len()), 0),
            Self::Note { event, .. } => (event.who.len().max(event.key.len()), 0),
            Self::Drop(_) | Self::PrunePairings { .. } | Self::PruneEvents { .. } => (0, 0),
        };
        if name > INGRESS_NAME_BYTES_MAX {
            return Some(("a name", name, INGRESS_NAME_BYTES_MAX));
        }
        (content > INBOX_BYTES_MAX).then_some(("a message that waits", content, INBOX_BYTES_MAX))
    }
}
