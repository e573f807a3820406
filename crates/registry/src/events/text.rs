//! The text form of events: a name and its data. Streams of the API and recorded runs show
//! events like this, so it changes only together with the API.

use super::turn::{ChildAct, EditorEvent, TurnEnd, TurnEvent};
use super::{AgentEvent, WorkEvent};
use insula_store::{Cut, TurnId, Usage};
use serde_json::{Value, json};
use std::fmt;

impl TurnEvent {
    /// Its name and its data.
    pub fn described(&self) -> (&'static str, Value) {
        match self {
            Self::Accepted { principal } => {
                ("turn.accepted", json!({ "principal": principal.as_str() }))
            }
            Self::Joined { principal } => {
                ("turn.joined", json!({ "principal": principal.as_str() }))
            }
            Self::Text(text) => ("text.delta", json!({ "text": text })),
            Self::Reasoning(text) => ("reasoning.delta", json!({ "text": text })),
            Self::ToolCall { name, about } => {
                ("tool.call", json!({ "name": name, "about": about }))
            }
            Self::ToolDone { name, is_error } => {
                ("tool.done", json!({ "name": name, "is_error": is_error }))
            }
            Self::Approval { id, tool, what, rule, wait_s } => {
                let data =
                    json!({ "id": id, "tool": tool, "what": what, "rule": rule, "wait_s": wait_s });
                ("approval.asked", data)
            }
            Self::ApprovalDone { id, tool, outcome, .. } => {
                let data = json!({ "id": id, "tool": tool, "outcome": outcome.as_str() });
                ("approval.done", data)
            }
            Self::Child { child, act } => of_child(child, act),
            Self::Editor(event) => of_editor(event),
            Self::Void => ("text.reset", json!({})),
            Self::Compressed => ("session.compressed", json!({})),
            Self::Ended(end) => ("turn.ended", ended(end)),
        }
    }
}

impl fmt::Display for TurnEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, data) = self.described();
        write!(f, "{kind} {data}")
    }
}

impl WorkEvent {
    /// Its name and its data, but for its turn.
    pub fn described(&self) -> (&'static str, Value) {
        match self {
            Self::JobBegun { job, scheduled_at, .. } => {
                let at = scheduled_at.to_string();
                ("job.begun", json!({ "job": job, "scheduled_at": at }))
            }
            Self::JobEnded { job, scheduled_at, outcome, why, .. } => {
                let at = scheduled_at.to_string();
                let data =
                    json!({ "job": job, "scheduled_at": at, "outcome": outcome, "why": why });
                ("job.ended", data)
            }
            Self::CardClaimed { board, card } => {
                ("card.claimed", json!({ "board": board.as_str(), "card": card.0 }))
            }
            Self::CardEnded { board, card, status, why } => {
                let (board, status) = (board.as_str(), status.as_str());
                let data = json!({ "board": board, "card": card.0, "status": status, "why": why });
                ("card.ended", data)
            }
            Self::LinkUsed { to, kind, .. } => {
                ("link.used", json!({ "to": to.as_str(), "as": kind.as_str() }))
            }
            Self::LinkTaken { from, kind, .. } => {
                ("link.taken", json!({ "from": from.as_str(), "as": kind.as_str() }))
            }
        }
    }

    /// The turn of it, if it had one.
    pub fn turn(&self) -> Option<TurnId> {
        match self {
            Self::JobEnded { turn, .. } | Self::LinkTaken { turn, .. } => *turn,
            Self::JobBegun { turn, .. } | Self::LinkUsed { turn, .. } => Some(*turn),
            Self::CardClaimed { .. } | Self::CardEnded { .. } => None,
        }
    }
}

impl fmt::Display for AgentEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turn { session, turn, event } => write!(f, "{session} {turn} {event}"),
            Self::Work(event) => {
                let (kind, data) = event.described();
                write!(f, "{kind} {data}")
            }
            Self::Health { state, generation, reason } => {
                let data = json!({ "state": state, "generation": generation, "reason": reason });
                write!(f, "health {data}")
            }
        }
    }
}

fn of_child(child: &str, act: &ChildAct) -> (&'static str, Value) {
    match act {
        ChildAct::Started { role, goal } => {
            ("child.started", json!({ "child": child, "role": role.as_str(), "goal": goal }))
        }
        ChildAct::ToolCall { name, about } => {
            ("child.tool.call", json!({ "child": child, "name": name, "about": about }))
        }
        ChildAct::ToolDone { name, is_error } => {
            ("child.tool.done", json!({ "child": child, "name": name, "is_error": is_error }))
        }
        ChildAct::Ended { outcome } => {
            ("child.ended", json!({ "child": child, "outcome": outcome.as_str() }))
        }
    }
}

fn of_editor(event: &EditorEvent) -> (&'static str, Value) {
    match event {
        EditorEvent::Call { id, name, arguments, paths } => {
            let data = json!({ "call": id, "name": name, "arguments": arguments, "paths": paths });
            ("editor.call", data)
        }
        EditorEvent::Done { id, name, is_error, refused, text, changes } => {
            let changes =
                changes.iter().map(|it| json!({ "path": it.path, "old": it.old, "new": it.new }));
            let changes: Vec<Value> = changes.collect();
            let data = json!({
                "call": id, "name": name, "is_error": is_error, "refused": refused, "text": text,
                "changes": changes,
            });
            ("editor.done", data)
        }
        EditorEvent::Read { request, path } => {
            ("editor.read", json!({ "request": request, "path": path }))
        }
        EditorEvent::Write { request, path, text } => {
            ("editor.write", json!({ "request": request, "path": path, "text": text }))
        }
    }
}

fn ended(end: &TurnEnd) -> Value {
    match end {
        TurnEnd::Replied { text, usage, cut, calls } => {
            let cut = cut.map(Cut::as_str);
            let mut said =
                json!({ "status": "replied", "text": text, "usage": spent(usage), "cut": cut });
            if !calls.is_empty() {
                let names = calls.iter().map(|call| call.name.as_ref());
                said["client_calls"] = names.collect();
            }
            said
        }
        TurnEnd::Failed { error } => json!({ "status": "failed", "error": error }),
        TurnEnd::OverBudget(refusal) => {
            json!({ "status": "failed", "error": refusal.to_string(), "code": "budget_exceeded" })
        }
        TurnEnd::Stopped => json!({ "status": "stopped" }),
    }
}

fn spent(usage: &Usage) -> Value {
    json!({
        "input": usage.input,
        "output": usage.output,
        "cached": usage.cached,
        "reasoning": usage.reasoning,
        "cost_micros": usage.cost_micros,
    })
}
