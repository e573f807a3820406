//! What a backend provides of boards.

use crate::board::{
    BoardCommand, CardEvent, CardFilter, CardGlance, CardNotice, CardRow, CardWhole,
};
use crate::error::Result;
use crate::lease::Lease;
use async_trait::async_trait;
use insula_domain::{CardId, CardStatus};

/// One board's part; see [`BoardStore`](crate::BoardStore) for what each method means.
#[async_trait]
pub trait BoardBackend: Send + Sync {
    /// Applies a batch whole or not at all; the numbers of the cards that it added.
    async fn commit(&self, batch: Vec<BoardCommand>, lease: &Lease) -> Result<Vec<CardId>>;

    async fn cards(&self, filter: CardFilter, limit: u32) -> Result<Vec<CardRow>>;

    /// How many cards have each status.
    async fn counts(&self) -> Result<Vec<(CardStatus, u64)>>;

    /// The number of the newest event.
    async fn last_event(&self) -> Result<i64>;

    /// What these cards look like from afar.
    async fn glances(&self, cards: Vec<CardId>) -> Result<Vec<CardGlance>>;

    async fn card(&self, card: CardId) -> Result<Option<CardWhole>>;

    /// Cards that may be somewhere else than what they wait for says.
    async fn waiting(&self) -> Result<Vec<CardRow>>;

    /// Cards that somebody has.
    async fn claimed(&self) -> Result<Vec<CardRow>>;

    async fn requested(&self, request: &str) -> Result<Option<CardId>>;

    async fn events(&self, after: i64, card: Option<CardId>, limit: u32) -> Result<Vec<CardEvent>>;

    async fn notices(&self) -> Result<Vec<CardNotice>>;

    /// What is in a file of a card.
    async fn file(&self, card: CardId, hash: &str) -> Result<Option<Vec<u8>>>;
}
