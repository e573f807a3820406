//! The hand of the tools that remember: what is remembered here, changed and found.

use crate::output::HandError;
use async_trait::async_trait;
use insula_memory::{Changed, EntryChange, MemoryHit, MemoryList};

/// Where something is to be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryReach {
    /// In the scope of this conversation.
    Here,
    /// Where every conversation of the agent can read it.
    Everywhere,
}

/// What is remembered, as far as this turn's scope reaches.
#[async_trait]
pub trait Memory: Send + Sync {
    /// Changes it, all or nothing.
    async fn change(
        &self,
        place: MemoryReach,
        changes: &[EntryChange],
    ) -> Result<Vec<Changed>, HandError>;

    /// Today's note; `None` where there are none.
    fn today(&self) -> Option<MemoryList>;

    /// Looks for words.
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<MemoryHit>, HandError>;
}
