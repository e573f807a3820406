//! The hand by which a turn says something in another conversation. Where that may be, and
//! whether what the turn has seen may be told there, is decided by whoever made the hand.

use crate::output::ToolError;
use async_trait::async_trait;

/// Messages on their way out.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// The places that a message may go to, as far as they were named one by one, and whether
    /// there are more.
    fn targets(&self) -> Vec<String>;

    /// Puts a message into the outbox, durably, or refuses. The same call does it once.
    async fn send(&self, target: &str, message: &str) -> Result<(), ToolError>;
}
