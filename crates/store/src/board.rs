//! A board: its cards and what happened to them. What may be done with a card, and by whom, is
//! decided above; here a change says which version of a card it was made of, and is refused where
//! that is not the newest.

use crate::id::TurnId;
use insula_domain::{Actor, AgentId, BlockKind, CardId, CardStatus};
use insula_world::Timestamp;

/// Longest texts, in bytes.
pub const CARD_TITLE_BYTES_MAX: usize = 1_000;
pub const CARD_TEXT_BYTES_MAX: usize = 64 * 1024;
pub const CARD_WHY_BYTES_MAX: usize = 4_096;
pub const CARD_NAME_BYTES_MAX: usize = 1_024;
/// Largest file of a card.
pub const CARD_FILE_BYTES_MAX: usize = 1024 * 1024;
/// Most commands in one batch.
pub const BOARD_BATCH_MAX: usize = 256;
/// Most rows that one read returns.
pub const BOARD_ROWS_MAX: u32 = 1_000;
/// Most cards that a board has.
pub const CARDS_MAX: u64 = 100_000;
/// Most comments, files and needs that a card has.
pub const CARD_PARTS_MAX: u64 = 500;

/// Stands for the card that the same batch added last.
pub const LAST_ADDED: CardId = CardId(0);

/// A card, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardRow {
    /// [`LAST_ADDED`] in one that is to be added.
    pub id: CardId,
    /// How often it was changed.
    pub version: i64,
    pub title: String,
    pub body: String,
    /// Who could hear what title and body were made of, and whose words that was.
    pub label: Box<str>,
    /// Who made it, and by which agent.
    pub author: Actor,
    pub author_agent: Option<AgentId>,
    /// The chat it was asked for in, in whatever form the layer above uses.
    pub place: Option<String>,
    pub status: CardStatus,
    pub block: Option<BlockKind>,
    /// Why it is blocked, or came back.
    pub why: Option<String>,
    /// Who is to do it: an agent, or a kind of work.
    pub assignee: Option<Box<str>>,
    /// Who looks at it before it is done: an agent, or `person`.
    pub reviewer: Option<Box<str>>,
    pub priority: i32,
    pub due_at: Option<Timestamp>,
    /// Not before this moment.
    pub start_at: Option<Timestamp>,
    pub tags: Vec<Box<str>>,
    /// The card it is a part of, and how far down that is.
    pub split_from: Option<CardId>,
    pub depth: u32,
    /// Who has it now.
    pub worker: Option<Box<str>>,
    /// How often somebody took it: who writes as its worker says by which of these.
    pub run: i64,
    /// Until when they have it.
    pub lease_until: Option<Timestamp>,
    /// How often in a row it failed, and how often it was sent back.
    pub failures: u32,
    pub reworks: u32,
    pub result: Option<String>,
    pub result_label: Option<Box<str>>,
    /// The agent or person whose words the result is.
    pub result_by: Option<Box<str>>,
    /// What it took so far.
    pub tokens: u64,
    pub usd_micros: u64,
    pub made_at: Timestamp,
    pub changed_at: Timestamp,
    /// When it was done, also if it was put away since.
    pub done_at: Option<Timestamp>,
    /// What a repetition of the same wish would carry.
    pub request: Option<Box<str>>,
}

/// Words on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardComment {
    pub card: CardId,
    pub author: Actor,
    pub agent: Option<AgentId>,
    pub at: Timestamp,
    pub label: Box<str>,
    pub text: String,
}

/// A file of a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardFile {
    pub card: CardId,
    /// What is in it, as hex.
    pub hash: Box<str>,
    pub name: Box<str>,
    pub author: Actor,
    pub agent: Option<AgentId>,
    pub at: Timestamp,
    pub label: Box<str>,
    /// How many bytes it has.
    pub len: u64,
}

/// Somebody's work on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardRun {
    pub card: CardId,
    pub run: i64,
    /// `work` or `review`.
    pub kind: Box<str>,
    pub worker: Box<str>,
    pub began_at: Timestamp,
    /// The last sign of life.
    pub beat_at: Timestamp,
    /// How far it has come, in the worker's words.
    pub note: Option<String>,
    pub ended_at: Option<Timestamp>,
    pub outcome: Option<Box<str>>,
    pub why: Option<String>,
    pub turn: Option<TurnId>,
}

/// Something that happened to a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardEvent {
    /// Its place among all events of the board; nothing before it is written.
    pub seq: i64,
    pub card: CardId,
    pub at: Timestamp,
    pub actor: Box<str>,
    pub kind: Box<str>,
    /// More about it, as JSON.
    pub detail: String,
}

/// What the chat that asked for a card is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardNotice {
    /// Given when it is written.
    pub id: i64,
    pub card: CardId,
    pub run: i64,
    /// The agent that tells it.
    pub agent: AgentId,
    pub place: String,
    /// Who asked.
    pub asker: Actor,
    pub label: Box<str>,
    pub text: String,
}

/// One change of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardCommand {
    /// Adds a card. One with a `request` that is known adds nothing and is refused.
    Add(Box<CardRow>),
    /// Changes a card, if its version still is that of the row; it is one higher then.
    Put(Box<CardRow>),
    Need {
        card: CardId,
        needs: CardId,
    },
    Comment(CardComment),
    Attach(CardFile, Vec<u8>),
    /// Adds a run, or replaces what is known of it.
    Run(CardRun),
    Event(CardEvent),
    Notice(CardNotice),
    /// A notice was passed on.
    Told {
        notice: i64,
    },
}

/// Which cards to read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CardFilter {
    /// Only those that are one of these; none means all but archived ones.
    pub status: Vec<CardStatus>,
    pub assignee: Option<Box<str>>,
    /// Those after this one, by their number.
    pub after: Option<CardId>,
    /// Those before this one, the newest first; takes the place of `after`.
    pub before: Option<CardId>,
}

/// What a card looks like from afar.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CardGlance {
    /// What it waits for that is not done.
    pub needs: Vec<CardId>,
    pub comments: u32,
    pub files: u32,
    /// The last sign of life of whoever has it, and what they said then.
    pub beat_at: Option<Timestamp>,
    pub note: Option<String>,
}

/// What belongs to a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardWhole {
    pub row: CardRow,
    /// What it waits for, and whether each is done.
    pub needs: Vec<(CardId, CardStatus)>,
    /// Those that wait for it.
    pub needed_by: Vec<CardId>,
    /// Its parts.
    pub parts: Vec<CardId>,
    pub comments: Vec<CardComment>,
    pub files: Vec<CardFile>,
    pub runs: Vec<CardRun>,
}

impl CardWhole {
    /// How many cards it waits for that are not done.
    pub fn needs_open(&self) -> u32 {
        let open = self.needs.iter().filter(|(_, status)| *status != CardStatus::Done).count();
        u32::try_from(open).unwrap_or(u32::MAX)
    }
}
