//! What stands before an agent's conversations, through its slot in the pool.

use super::SqliteAgent;
use crate::backend::IngressBackend;
use crate::error::Result;
use crate::ingress::{EventName, InboxRow, JoinedChat, Pairing, PairingRequest, Tries};
use crate::sqlite::ingress;
use async_trait::async_trait;

#[async_trait]
impl IngressBackend for SqliteAgent {
    async fn pairing_requests(&self) -> Result<Vec<PairingRequest>> {
        self.read(ingress::requests).await
    }

    async fn pairings(&self) -> Result<Vec<Pairing>> {
        self.read(ingress::pairings).await
    }

    async fn pairing_tries(&self, platform: &str) -> Result<Option<Tries>> {
        let platform = platform.to_owned();
        self.read(move |sql| ingress::tries(sql, &platform)).await
    }

    async fn joined_chats(&self) -> Result<Vec<JoinedChat>> {
        self.read(ingress::joined).await
    }

    async fn inbox_waiting(&self) -> Result<Vec<InboxRow>> {
        self.read(ingress::waiting).await
    }

    async fn inbox_context(&self, session: &str, limit: usize) -> Result<Vec<InboxRow>> {
        let session = session.to_owned();
        self.read(move |sql| ingress::context(sql, &session, limit)).await
    }

    async fn has_event(&self, event: EventName) -> Result<bool> {
        self.read(move |sql| ingress::has_event(sql, &event)).await
    }
}
