//! Where turns of other agents are begun. A turn knows its own agent and what it works with;
//! whoever runs turns gives it this way to others.

use crate::TurnHandle;
use crate::submit::{Around, Inbound, SubmitError};
use async_trait::async_trait;
use insula_domain::SessionKey;
use insula_registry::context::AgentContext;
use insula_registry::events::turn::TurnEnd;
use insula_store::{StoreError, TurnId};

/// Begins turns.
#[async_trait]
pub(crate) trait Host: Send + Sync {
    /// Begins a turn, or finds the one that the same request began before; nobody to listen to
    /// where that is over.
    async fn begin(
        &self,
        inbound: Inbound,
        around: Around,
    ) -> Result<(TurnId, Option<TurnHandle>), SubmitError>;

    /// Stops a turn, if it is under way.
    fn stop(&self, session: &SessionKey, turn: TurnId);

    /// How a turn ended, by the journal; `None` while it has not.
    async fn end_of(
        &self,
        agent: &AgentContext,
        turn: TurnId,
    ) -> Result<Option<TurnEnd>, StoreError>;
}
