//! What a backend must provide of what stands before the conversations.

use crate::error::Result;
use crate::ingress::{EventName, InboxRow, JoinedChat, Pairing, PairingRequest, Tries};
use async_trait::async_trait;

/// The part of a backend that keeps these; see [`AgentStore`](crate::AgentStore) for what each method means.
#[async_trait]
pub trait IngressBackend: Send + Sync {
    /// Who asks to be let in.
    async fn pairing_requests(&self) -> Result<Vec<PairingRequest>>;

    /// Who was let in.
    async fn pairings(&self) -> Result<Vec<Pairing>>;

    /// How many codes were wrong.
    async fn pairing_tries(&self, platform: &str) -> Result<Option<Tries>>;

    /// Where we were added to.
    async fn joined_chats(&self) -> Result<Vec<JoinedChat>>;

    /// Messages that wait for a turn.
    async fn inbox_waiting(&self) -> Result<Vec<InboxRow>>;

    /// The newest messages of a conversation that are context.
    async fn inbox_context(&self, session: &str, limit: usize) -> Result<Vec<InboxRow>>;

    /// Whether an event was dealt with.
    async fn has_event(&self, event: EventName) -> Result<bool>;
}
