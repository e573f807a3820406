//! The hand by which a tool reaches the boards of its agent.

use crate::{Output, ToolError};
use async_trait::async_trait;

/// The boards of the agent, as far as the turn reaches: in a turn about a card, that card.
#[async_trait]
pub trait Boards: Send + Sync {
    /// Does what is wished; what came of it. `board` is the card's or the only one where it is not
    /// said.
    async fn act(&self, board: Option<&str>, wish: CardWish) -> Result<Output, ToolError>;
}

/// What a tool wants of a board. A card is its number; none is the one the turn is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardWish {
    List {
        status: Option<String>,
        assignee: Option<String>,
    },
    Show {
        card: Option<String>,
        /// A file of it to read, by the beginning of its hash.
        file: Option<String>,
    },
    Create(Box<CardDraft>),
    Comment {
        card: Option<String>,
        text: String,
    },
    /// Has one wait for another.
    Link {
        card: String,
        needs: String,
    },
    Complete {
        card: Option<String>,
        result: String,
    },
    Block {
        card: Option<String>,
        kind: String,
        why: String,
    },
    Unblock {
        card: String,
    },
    Heartbeat {
        note: Option<String>,
    },
    Attach {
        card: Option<String>,
        name: String,
        bytes: Vec<u8>,
    },
}

/// A card that a tool wants to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CardDraft {
    pub title: String,
    pub body: String,
    pub assignee: Option<String>,
    pub reviewer: Option<String>,
    pub priority: i32,
    pub labels: Vec<String>,
    pub parents: Vec<String>,
    /// Not before this moment, and done by that one, as `2026-12-01T08:30:00Z`.
    pub start: Option<String>,
    pub due: Option<String>,
}
