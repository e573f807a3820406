//! What a backend must provide of the outbox.

use crate::error::Result;
use crate::id::{SessionId, TurnId};
use crate::outbox::{Button, Delivery, DeliveryId, Lane, NewButton, TurnOrigin};
use async_trait::async_trait;
use insula_world::Timestamp;

/// The part of a backend that keeps the outbox; see [`AgentStore`](crate::AgentStore) for what each method means.
#[async_trait]
pub trait OutboxBackend: Send + Sync {
    async fn delivery(&self, id: DeliveryId) -> Result<Option<Delivery>>;

    async fn delivery_named(&self, name: &str) -> Result<Option<Delivery>>;

    /// Deliveries whose names begin like this.
    async fn deliveries_named(&self, begin: &str) -> Result<Vec<Delivery>>;

    /// The next of each chat.
    async fn delivery_heads(&self, after: Option<Lane>, limit: usize) -> Result<Vec<Delivery>>;

    /// The next of one chat.
    async fn delivery_head(&self, lane: Lane) -> Result<Option<Delivery>>;

    /// Those that were not sent, newest first.
    async fn deliveries(&self, before: Option<DeliveryId>, limit: usize) -> Result<Vec<Delivery>>;

    /// Those of a turn, sent or not, without their parts.
    async fn deliveries_of(&self, session: SessionId, turn: TurnId) -> Result<Vec<Delivery>>;

    /// When the next is due.
    async fn next_delivery(&self) -> Result<Option<Timestamp>>;

    /// Turns under way whose replies go somewhere.
    async fn origins(&self, after: TurnId, limit: usize) -> Result<Vec<TurnOrigin>>;

    async fn button(&self, data: &str) -> Result<Option<Button>>;

    /// The buttons of a delivery.
    async fn buttons_of(&self, id: DeliveryId) -> Result<Vec<NewButton>>;
}
