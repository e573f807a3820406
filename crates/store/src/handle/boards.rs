//! The handle on one board: what there is to read. Writing takes a lease.

use crate::backend::BoardBackend;
use crate::board::{
    BOARD_ROWS_MAX, BoardCommand, CardEvent, CardFilter, CardGlance, CardNotice, CardRow, CardWhole,
};
use crate::error::Result;
use crate::lease::Lease;
use crate::limits;
use insula_domain::{CardId, CardStatus};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The handle on one board. Cheap to clone.
#[derive(Clone)]
pub struct BoardStore {
    backend: Arc<dyn BoardBackend>,
}

impl BoardStore {
    pub(crate) fn new(backend: Arc<dyn BoardBackend>) -> Self {
        Self { backend }
    }

    /// Cards by their numbers, at most `limit`.
    pub async fn cards(&self, filter: CardFilter, limit: u32) -> Result<Vec<CardRow>> {
        self.backend.cards(filter, limit.min(BOARD_ROWS_MAX)).await
    }

    /// How many cards have each status; those that none has are left out.
    pub async fn counts(&self) -> Result<Vec<(CardStatus, u64)>> {
        self.backend.counts().await
    }

    /// The number of the newest event; 0 where nothing has happened.
    pub async fn last_event(&self) -> Result<i64> {
        self.backend.last_event().await
    }

    /// What these cards look like from afar, in their order; those that are not there look empty.
    pub async fn glances(&self, cards: Vec<CardId>) -> Result<Vec<CardGlance>> {
        self.backend.glances(cards).await
    }

    /// A card with all that belongs to it.
    pub async fn card(&self, card: CardId) -> Result<Option<CardWhole>> {
        self.backend.card(card).await
    }

    /// Cards that wait and whose waiting may be over, or that do not wait and should.
    pub async fn waiting(&self) -> Result<Vec<CardRow>> {
        self.backend.waiting().await
    }

    /// Cards that somebody has, by their numbers.
    pub async fn claimed(&self) -> Result<Vec<CardRow>> {
        self.backend.claimed().await
    }

    /// The card that was added by a wish with this key.
    pub async fn requested(&self, request: &str) -> Result<Option<CardId>> {
        self.backend.requested(request).await
    }

    /// What happened after a place, the oldest first.
    pub async fn events(
        &self,
        after: i64,
        card: Option<CardId>,
        limit: u32,
    ) -> Result<Vec<CardEvent>> {
        self.backend.events(after, card, limit.min(BOARD_ROWS_MAX)).await
    }

    /// What is still to be passed on, the oldest first.
    pub async fn notices(&self) -> Result<Vec<CardNotice>> {
        self.backend.notices().await
    }

    /// What is in a file of a card.
    pub async fn file(&self, card: CardId, hash: &str) -> Result<Option<Vec<u8>>> {
        self.backend.file(card, hash).await
    }
}

impl fmt::Debug for BoardStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BoardStore")
    }
}

/// A board in the hands of its owner: all that a reader has, and writing.
#[derive(Clone, Debug)]
pub struct BoardLease {
    store: BoardStore,
    lease: Lease,
}

impl BoardLease {
    pub(crate) fn new(store: BoardStore, lease: Lease) -> Self {
        Self { store, lease }
    }

    /// Applies all of `batch`, in order, or none of it. When this returns, it is durable. The
    /// numbers of the cards that it added.
    pub async fn commit(&self, batch: Vec<BoardCommand>) -> Result<Vec<CardId>> {
        limits::check_board(&batch)?;
        self.store.backend.commit(batch, &self.lease).await
    }
}

impl Deref for BoardLease {
    type Target = BoardStore;

    fn deref(&self) -> &BoardStore {
        &self.store
    }
}
