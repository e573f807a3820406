//! Hands a message to the engine.

use insula_runtime::turn::{Engine, Inbound, SubmitError, TurnHandle};
use insula_store::StoreError;

/// Hands a message to the engine, in a task of its own: a client that goes away ends its
/// handler wherever that waits, and a message that is journalled must find its turn.
pub async fn submit(engine: Engine, inbound: Inbound) -> Result<TurnHandle, SubmitError> {
    match tokio::spawn(async move { engine.submit(inbound).await }).await {
        Ok(taken) => taken,
        Err(_) => Err(SubmitError::Store(StoreError::Closed)),
    }
}
