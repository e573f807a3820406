//! An agent's outbox, through its slot in the pool.

use super::SqliteAgent;
use crate::backend::OutboxBackend;
use crate::error::Result;
use crate::id::{SessionId, TurnId};
use crate::outbox::{Button, Delivery, DeliveryId, Lane, NewButton, TurnOrigin};
use crate::sqlite::outbox::read;
use async_trait::async_trait;
use insula_world::Timestamp;

#[async_trait]
impl OutboxBackend for SqliteAgent {
    async fn delivery(&self, id: DeliveryId) -> Result<Option<Delivery>> {
        self.read(move |sql| read::one(sql, id)).await
    }

    async fn delivery_named(&self, name: &str) -> Result<Option<Delivery>> {
        let name = name.to_owned();
        self.read(move |sql| read::named(sql, &name)).await
    }

    async fn deliveries_named(&self, begin: &str) -> Result<Vec<Delivery>> {
        let begin = begin.to_owned();
        self.read(move |sql| read::named_like(sql, &begin)).await
    }

    async fn delivery_heads(&self, after: Option<Lane>, limit: usize) -> Result<Vec<Delivery>> {
        self.read(move |sql| read::heads(sql, after, limit)).await
    }

    async fn delivery_head(&self, lane: Lane) -> Result<Option<Delivery>> {
        self.read(move |sql| read::head(sql, &lane)).await
    }

    async fn deliveries(&self, before: Option<DeliveryId>, limit: usize) -> Result<Vec<Delivery>> {
        self.read(move |sql| read::unsent(sql, before, limit)).await
    }

    async fn deliveries_of(&self, session: SessionId, turn: TurnId) -> Result<Vec<Delivery>> {
        self.read(move |sql| read::of_turn(sql, session, turn)).await
    }

    async fn next_delivery(&self) -> Result<Option<Timestamp>> {
        self.read(read::next).await
    }

    async fn origins(&self, after: TurnId, limit: usize) -> Result<Vec<TurnOrigin>> {
        self.read(move |sql| read::origins(sql, after, limit)).await
    }

    async fn button(&self, data: &str) -> Result<Option<Button>> {
        let data = data.to_owned();
        self.read(move |sql| read::button(sql, &data)).await
    }

    async fn buttons_of(&self, id: DeliveryId) -> Result<Vec<NewButton>> {
        self.read(move |sql| read::buttons_of(sql, id)).await
    }
}
