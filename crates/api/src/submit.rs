//! Hands a message to the engine.

use insula_domain::AgentId;
use insula_store::StoreError;
use insula_turns::{Around, Engine, Inbound, SubmitError, TurnHandle};

/// What becomes of the conversation after the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// It goes on.
    Kept,
    /// It was for this turn.
    Once,
}

/// What is asked, as a hash: of whom, by which route, and every word of it.
pub fn fingerprint(agent: &AgentId, endpoint: &str, words: &[&str]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key("insula request 2");
    for text in [agent.as_str(), endpoint].iter().chain(words) {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    *hasher.finalize().as_bytes()
}

/// Hands a message to the engine.
pub async fn submit(
    engine: Engine,
    inbound: Inbound,
    around: Around,
    stay: Stay,
) -> Result<TurnHandle, SubmitError> {
    apart(async move {
        match stay {
            Stay::Kept => engine.submit_with(inbound, around).await,
            Stay::Once => engine.submit_once_with(inbound, around).await,
        }
    })
    .await
}

/// Runs in a task of its own: a client that goes away ends its handler wherever that waits,
/// and a message that is journalled must find its turn.
pub async fn apart<T: Send + 'static>(
    work: impl Future<Output = Result<T, SubmitError>> + Send + 'static,
) -> Result<T, SubmitError> {
    tokio::spawn(work).await.unwrap_or(Err(SubmitError::Store(StoreError::Closed)))
}
