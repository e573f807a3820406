//! Progress of a turn, for clients that asked to hear of it.

use insula_turns::TurnEvent;
use serde_json::{Map, Value, json};

/// Notifications of one call: a turn that goes on for ever says no more.
const TOLD_MAX: u64 = 2_000;

/// What was told so far.
pub(super) struct Progress {
    token: Option<Value>,
    told: u64,
    is_writing: bool,
}

impl Progress {
    /// The progress a request asks for; nothing is told where it asks for none.
    pub(super) fn of(params: &Map<String, Value>) -> Self {
        let token = params.get("_meta").and_then(|meta| meta.get("progressToken"));
        let token = token.filter(|token| token.is_string() || token.is_number()).cloned();
        Self { token, told: 0, is_writing: false }
    }

    /// The notification about an event, where it is worth one.
    pub(super) fn about(&mut self, event: &TurnEvent) -> Option<Value> {
        let message = match event {
            TurnEvent::Accepted { .. } => "the message is taken".to_owned(),
            TurnEvent::ToolCall { name, .. } => format!("calls {name}"),
            TurnEvent::ToolDone { name, is_error: false } => format!("{name} is done"),
            TurnEvent::ToolDone { name, is_error: true } => format!("{name} failed"),
            TurnEvent::Approval { id, tool, .. } => {
                format!("{tool} waits for approval {id}")
            }
            TurnEvent::ApprovalDone { tool, outcome, .. } => {
                format!("{tool}: {}", outcome.as_str())
            }
            TurnEvent::Child { child, .. } => format!("child {child} works"),
            TurnEvent::Text(_) if !self.is_writing => "writes the reply".to_owned(),
            TurnEvent::Text(_) | TurnEvent::Reasoning(_) | TurnEvent::Ended(_) => return None,
            TurnEvent::Joined { .. }
            | TurnEvent::Editor(_)
            | TurnEvent::Void
            | TurnEvent::Compressed => return None,
        };
        self.is_writing = matches!(event, TurnEvent::Text(_));
        let token = self.token.as_ref().filter(|_| self.told < TOLD_MAX)?;
        self.told += 1;
        Some(json!({
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": { "progressToken": token, "progress": self.told, "message": message },
        }))
    }
}
