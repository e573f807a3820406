//! What is written down about a child: on the audit trail, when it begins and ends, with the
//! turn that began it; and in its session, which files it changed.

use super::ChildOrigin;
use super::derive::Plan;
use crate::shop::Shop;
use crate::turn::Turn;
use crate::turn::TurnContext;
use insula_domain::Actor;
use insula_store::{AgentCommand, Message, NewMessage, Part, Role, TurnOutcome};
use serde_json::{Value, json};

/// The record of a child that begins.
pub(super) fn started(
    shop: &Shop,
    cx: &TurnContext,
    origin: &ChildOrigin,
    plan: &Plan,
) -> AgentCommand {
    let boundary = &plan.agent.boundary;
    let models: Vec<String> = plan.agent.models.models.iter().map(ToString::to_string).collect();
    let content = json!({
        "parent": origin.parent.0,
        "child": &*origin.child,
        "depth": origin.depth,
        "role": origin.role.as_str(),
        "session": cx.session.0,
        "tools": boundary.tools.exposed().collect::<Vec<_>>(),
        "models": models,
        "leaf_because": plan.leaf_because,
    });
    entry(shop, cx, "child.started", content)
}

fn entry(shop: &Shop, cx: &TurnContext, kind: &str, content: Value) -> AgentCommand {
    AgentCommand::Audit(shop.trail.record(&cx.agent, cx.about(), &cx.principal, kind, content))
}

/// The files that a child changed, as it left them in its session.
pub(super) fn changed_in(messages: &[Message]) -> Vec<String> {
    let list = messages.iter().find(|message| message.principal == Actor::Changed);
    let text = list.map(|message| crate::messages::text_of(&message.parts)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

impl Turn<'_> {
    /// What a child leaves behind when it ends, beside its last words. Nothing for a turn of a
    /// conversation.
    pub(crate) fn farewell(
        &self,
        outcome: &TurnOutcome,
    ) -> (Option<NewMessage>, Vec<AgentCommand>) {
        let Some(origin) = &self.cx.kin.origin else { return (None, Vec::new()) };
        let outcome = match outcome {
            TurnOutcome::Replied { .. } => "finished",
            TurnOutcome::Failed { .. } => "failed",
            TurnOutcome::Stopped => "stopped",
        };
        let changed = self.cx.files.changed();
        let content = json!({
            "parent": origin.parent.0,
            "child": &*origin.child,
            "depth": origin.depth,
            "turn": self.cx.turn.0,
            "session": self.cx.session.0,
            "outcome": outcome,
            "files_changed": changed.len(),
        });
        let list = (!changed.is_empty()).then(|| {
            let mut list = self.message(Role::System, vec![Part::Text(changed.join("\n"))]);
            list.principal = Actor::Changed;
            list
        });
        (list, vec![entry(self.shop, self.cx, "child.ended", content)])
    }

    /// Says in a record of this turn's that it is a child's, and whose.
    pub(crate) fn with_lineage(&self, content: &mut Value) {
        if let Some(origin) = &self.cx.kin.origin {
            content["parent"] = json!(origin.parent.0);
            content["child"] = json!(&*origin.child);
            content["depth"] = json!(origin.depth);
        }
    }
}
