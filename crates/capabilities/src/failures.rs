//! Turns that failed, as they were noted beside them.

use insula_domain::FailureCause;
use insula_registry::context::AgentContext;
use insula_store::{StoreError, Turn, TurnId, TurnStatus};

/// How many of an agent's latest turns are looked through for one that failed.
const TURNS_MAX: usize = 20;

/// Why a turn failed, where a note on it says so.
pub fn cause_in(note: &str) -> Option<FailureCause> {
    let note: serde_json::Value = serde_json::from_str(note).ok()?;
    if note["kind"] != "failed" {
        return None;
    }
    note["cause"].as_str().and_then(FailureCause::named)
}

/// Why a turn failed.
pub async fn cause(agent: &AgentContext, turn: TurnId) -> Result<Option<FailureCause>, StoreError> {
    let notes = agent.store.turn_notes(turn).await?;
    Ok(notes.iter().rev().find_map(|it| cause_in(&it.note)))
}

/// Those of an agent's latest turns that failed, the newest first, and how many there were at all.
pub async fn latest(agent: &AgentContext) -> Result<(Vec<Turn>, usize), StoreError> {
    let turns = agent.store.turns(None, TURNS_MAX).await?;
    let count = turns.len();
    Ok((turns.into_iter().filter(|turn| turn.status == TurnStatus::Failed).collect(), count))
}
