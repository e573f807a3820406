//! Reading an agent's outbox.

use crate::error::Result;
use crate::handle::agent::AgentStore;
use crate::id::{SessionId, TurnId};
use crate::outbox::{Button, Delivery, DeliveryId, Lane, NewButton, TurnOrigin};
use insula_world::Timestamp;

impl AgentStore {
    /// A delivery, if it is there.
    pub async fn delivery(&self, id: DeliveryId) -> Result<Option<Delivery>> {
        self.backend().delivery(id).await
    }

    /// The delivery that was made once under a name.
    pub async fn delivery_named(&self, name: &str) -> Result<Option<Delivery>> {
        self.backend().delivery_named(name).await
    }

    /// The deliveries that were made under names that begin with `begin`, the oldest first, at
    /// most [`DELIVERIES_MAX`](crate::outbox::DELIVERIES_MAX).
    pub async fn deliveries_named(&self, begin: &str) -> Result<Vec<Delivery>> {
        self.backend().deliveries_named(begin).await
    }

    /// The oldest delivery of each chat that is not over, by chat, after a chat, at most
    /// `limit`. Costs what it returns, however many wait behind them.
    pub async fn delivery_heads(&self, after: Option<Lane>, limit: usize) -> Result<Vec<Delivery>> {
        self.backend().delivery_heads(after, limit).await
    }

    /// The oldest delivery of a chat that is not over.
    pub async fn delivery_head(&self, lane: Lane) -> Result<Option<Delivery>> {
        self.backend().delivery_head(lane).await
    }

    /// The deliveries of a turn, sent or not, oldest first, without the parts that were sent.
    pub async fn deliveries_of(&self, session: SessionId, turn: TurnId) -> Result<Vec<Delivery>> {
        self.backend().deliveries_of(session, turn).await
    }

    /// Deliveries that were not sent, whatever the reason, queued before this one, newest
    /// first, at most `limit`.
    pub async fn deliveries(
        &self,
        before: Option<DeliveryId>,
        limit: usize,
    ) -> Result<Vec<Delivery>> {
        self.backend().deliveries(before, limit).await
    }

    /// When the next delivery is due that is not over.
    pub async fn next_delivery(&self) -> Result<Option<Timestamp>> {
        self.backend().next_delivery().await
    }

    /// The turns under way after one whose replies go somewhere, at most `limit`.
    pub async fn origins(&self, after: TurnId, limit: usize) -> Result<Vec<TurnOrigin>> {
        self.backend().origins(after, limit).await
    }

    /// The button with these data, if a delivery of this agent has one.
    pub async fn button(&self, data: &str) -> Result<Option<Button>> {
        self.backend().button(data).await
    }

    /// The buttons of a delivery, in order.
    pub async fn buttons_of(&self, id: DeliveryId) -> Result<Vec<NewButton>> {
        self.backend().buttons_of(id).await
    }
}
