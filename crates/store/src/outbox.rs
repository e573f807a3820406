//! The outbox: what is to be sent to a platform, and how far that got.
//!
//! A delivery is a row. The reply of a turn that has somewhere to go becomes one in the commit
//! that concludes the turn; anything else is put in by [`OutboxCommand::Enqueue`]. That a
//! request is about to be made is journalled before it, and what became of it after: so a
//! crash between the two is seen as [`DeliveryState::Sending`].

use crate::id::{MessageSeq, SessionId, TurnId};
use insula_world::Timestamp;
use std::fmt;

/// Longest text of a delivery that is no message of a session, in bytes.
pub const DELIVERY_TEXT_BYTES_MAX: usize = 1024 * 1024;
/// Longest reason why something was not delivered, in bytes.
pub const DELIVERY_WHY_BYTES_MAX: usize = 4 * 1024;
/// Longest name by which a delivery is made once, in bytes.
pub const DELIVERY_NAME_BYTES_MAX: usize = 256;
/// Longest words of a button or of what it means, in bytes.
pub const BUTTON_BYTES_MAX: usize = 1024;
/// Most buttons of one delivery.
pub const BUTTONS_MAX: usize = 32;
/// Most deliveries one read returns.
pub const DELIVERIES_MAX: usize = 1_000;

/// A delivery, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeliveryId(pub i64);

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A chat of one account's; what goes there keeps its order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane {
    pub platform: Box<str>,
    pub account: Box<str>,
    pub chat: Box<str>,
}

/// Where a delivery goes, and what it answers there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeliveryDestination {
    /// The chat.
    pub lane: Lane,
    /// What kind of chat.
    pub chat_type: Box<str>,
    pub topic: Option<Box<str>>,
    /// The platform's name for the message it answers.
    pub reply_to: Option<Box<str>>,
}

/// What a delivery says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// What a message of its session says.
    Message(MessageSeq),
    /// Its own words.
    Text(String),
    /// That its turn ended without a reply.
    TurnEnd,
}

/// How a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeliveryState {
    /// It, or its next part, is to be sent.
    Waiting,
    /// A request was about to be made and nothing is known of it since.
    Sending,
    /// A request may have arrived; it is to be sent again all the same.
    Uncertain,
    /// The platform took all of it.
    Sent,
    /// A request may have arrived; an operator decides.
    Held,
    /// It will not be sent.
    Failed,
}

impl DeliveryState {
    /// Every state, at the index of its code.
    pub const ALL: [Self; 6] =
        [Self::Waiting, Self::Sending, Self::Uncertain, Self::Sent, Self::Held, Self::Failed];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Sending => "sending",
            Self::Uncertain => "uncertain",
            Self::Sent => "sent",
            Self::Held => "held",
            Self::Failed => "failed",
        }
    }

    pub(crate) const fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_code(code: i64) -> Option<Self> {
        usize::try_from(code).ok().and_then(|code| Self::ALL.get(code).copied())
    }
}

/// What was shown of a reply before it was complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provisional {
    /// Nothing.
    None,
    /// A message may have been sent, whose name is not known.
    Begun,
    /// A message of this name.
    Shown(Box<str>),
}

/// A part of a delivery that the platform took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentPart {
    /// The platform's name for the message.
    pub message: Box<str>,
    /// How far the delivery was sent with it: in bytes of its words, and beyond them what goes along.
    pub upto: u64,
}

/// A delivery as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its number.
    pub id: DeliveryId,
    /// The session it belongs to and is forgotten with.
    pub session: Option<SessionId>,
    pub turn: Option<TurnId>,
    /// Where it goes.
    pub to: DeliveryDestination,
    /// What it says.
    pub content: Content,
    /// What no other delivery of any agent has: idempotency keys are made of it.
    pub key: [u8; 16],
    /// What was shown of it before.
    pub provisional: Provisional,
    /// By which it was made once.
    pub name: Option<Box<str>>,
    /// How it stands.
    pub state: DeliveryState,
    /// How often it was tried in vain.
    pub attempts: u32,
    /// How often a request for the part that is next may have arrived unknown to us.
    pub doubts: u32,
    /// When a request for the part that is next was first made, while the platform may have it.
    pub tried_at: Option<Timestamp>,
    /// Not before this time.
    pub next_at: Timestamp,
    /// Why it stands as it does.
    pub why: Option<String>,
    /// The parts that the platform took, in order.
    pub sent: Vec<SentPart>,
    /// Since when it is in the outbox.
    pub queued_at: Timestamp,
    /// When it last changed.
    pub changed_at: Timestamp,
}

/// Puts something into the outbox that is no turn's reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueue {
    /// The session it belongs to and is forgotten with.
    pub session: Option<SessionId>,
    pub turn: Option<TurnId>,
    /// Where it goes.
    pub to: DeliveryDestination,
    /// What it says.
    pub text: String,
    /// A second one of this name is not put in.
    pub name: Option<Box<str>>,
    /// What stands under it.
    pub buttons: Vec<NewButton>,
    pub at: Timestamp,
}

/// A button under a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewButton {
    /// What comes back when it is pressed; nobody guesses it.
    pub data: Box<str>,
    /// What it says.
    pub label: Box<str>,
    /// What pressing it means; opaque here.
    pub meaning: Box<str>,
}

/// A button as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// The delivery it stands under.
    pub delivery: DeliveryId,
    /// The session of that delivery.
    pub session: Option<SessionId>,
    /// The turn of that delivery.
    pub turn: Option<TurnId>,
    pub button: NewButton,
}

/// A turn under way whose reply goes somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnOrigin {
    pub turn: TurnId,
    pub session: SessionId,
    pub key: Box<str>,
    /// Where the reply goes.
    pub to: DeliveryDestination,
    /// What the delivery of the reply will have as its key.
    pub delivery_key: [u8; 16],
    /// What was shown of the reply so far.
    pub provisional: Provisional,
    /// When it was first begun to show something, while it is not known under which name.
    pub tried_at: Option<Timestamp>,
}

/// One change to the outbox. What names a delivery that is no more (its session was
/// forgotten) changes nothing, except where it says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutboxCommand {
    /// Puts something in. Answers [`Outcome::Enqueued`](crate::CommandOutcome::Enqueued).
    Enqueue(Box<Enqueue>),
    /// A request is about to be made. Refuses with
    /// [`NoDelivery`](crate::StoreError::NoDelivery) where there is nothing to send any more.
    Begun { id: DeliveryId, at: Timestamp },
    /// The platform took a part, or all there was to send.
    Sent {
        id: DeliveryId,
        /// The part; `None` where nothing had to be sent.
        part: Option<SentPart>,
        /// What is left after it.
        rest: Rest,
        at: Timestamp,
    },
    /// It waits, for a reason that has nothing to do with it. Nothing was tried, so whatever is
    /// known of a request that was stays known.
    Waits { id: DeliveryId, why: String, at: Timestamp },
    /// It was tried, and is to be tried again later.
    PutOff {
        id: DeliveryId,
        /// Not before.
        until: Timestamp,
        why: String,
        /// Whether the platform may have what was tried.
        tried: Tried,
        at: Timestamp,
    },
    /// A request may have arrived.
    InDoubt {
        id: DeliveryId,
        /// What is to be done about it.
        then: Doubt,
        why: String,
        at: Timestamp,
    },
    /// It will not be sent.
    Failed { id: DeliveryId, why: String, at: Timestamp },
    /// An operator wants it sent now: held, failed, or waiting. Refuses with
    /// [`NoDelivery`](crate::StoreError::NoDelivery) what is not there or was sent.
    Resend { id: DeliveryId, at: Timestamp },
    /// Takes it out, words and all. A reply of which something was shown is left in the place of
    /// its words with those of `instead`, so that what was shown can be made to say them. Refuses
    /// with [`NoDelivery`](crate::StoreError::NoDelivery) what is not there or was sent.
    Drop { id: DeliveryId, instead: Option<String>, at: Timestamp },
    /// Something is about to be shown of a turn's reply. Refuses with
    /// [`NoDelivery`](crate::StoreError::NoDelivery) once the turn is over.
    ProvisionalBegun { turn: TurnId, at: Timestamp },
    /// What was shown has this name, or (`None`) was certainly not shown.
    ProvisionalShown {
        turn: TurnId,
        /// The platform's name for the message.
        message: Option<Box<str>>,
    },
    /// The message in which something was shown can't be changed any more: the reply will be a
    /// new one.
    ProvisionalLost { id: DeliveryId },
    /// Puts buttons under a delivery that has none.
    Buttons {
        id: DeliveryId,
        /// The buttons, in order.
        buttons: Vec<NewButton>,
    },
    /// Forgets what was sent or failed before a time.
    Prune {
        /// The time.
        before: Timestamp,
    },
}

/// What is left of a delivery after a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Something.
    More,
    /// Nothing: it was sent.
    Nothing,
}

/// Since when a platform may have something that is to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    /// The last request may have arrived: since the first that was begun.
    Now,
    /// The last request did not: since then, if an earlier one may have.
    AsBefore(Option<Timestamp>),
}

/// What is to be done about a request that may have arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It is sent again.
    Resend,
    /// An operator decides.
    Hold,
}
