//! Reading what stands before the conversations of an agent.

use crate::error::Result;
use crate::handle::agent::AgentStore;
use crate::ingress::{EventName, InboxRow, JoinedChat, Pairing, PairingRequest, Tries};

impl AgentStore {
    /// Who asks to be let in, the oldest first.
    pub async fn pairing_requests(&self) -> Result<Vec<PairingRequest>> {
        self.backend().pairing_requests().await
    }

    /// Who was let in, by name.
    pub async fn pairings(&self) -> Result<Vec<Pairing>> {
        self.backend().pairings().await
    }

    /// How many codes for a platform were wrong, if any were.
    pub async fn pairing_tries(&self, platform: &str) -> Result<Option<Tries>> {
        self.backend().pairing_tries(platform).await
    }

    /// The chats that somebody allowed added us to.
    pub async fn joined_chats(&self) -> Result<Vec<JoinedChat>> {
        self.backend().joined_chats().await
    }

    /// The messages that wait for a turn, of all conversations, in the order they came.
    pub async fn inbox_waiting(&self) -> Result<Vec<InboxRow>> {
        self.backend().inbox_waiting().await
    }

    /// The newest messages of a conversation that are context for its next turn, in the order
    /// they came, at most `limit`.
    pub async fn inbox_context(&self, session: &str, limit: usize) -> Result<Vec<InboxRow>> {
        self.backend().inbox_context(session, limit).await
    }

    /// Whether an event was dealt with: as a message of a turn, as one that waits for a turn, or
    /// otherwise.
    pub async fn has_event(&self, event: EventName) -> Result<bool> {
        self.backend().has_event(event).await
    }
}
