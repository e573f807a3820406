//! Where a turn asks and tells its agent's hooks about its children.

use super::ChildOrigin;
use super::derive::Plan;
use super::hand::TurnDelegate;
use crate::turn::TurnContext;
use insula_capabilities::hooks::{self, HookDecision};
use insula_domain::hook::HookEvent;
use insula_registry::events::turn::ChildOutcome;
use insula_tools::delegate::DelegateOutcome;
use serde_json::{Value, json};

impl TurnDelegate<'_> {
    /// Before a child begins: why it does not, where a hook says so.
    pub(super) async fn objection(&self, plan: &Plan, origin: &ChildOrigin) -> Option<String> {
        let fields = || {
            let boundary = &plan.agent.boundary;
            let models: Vec<String> =
                plan.agent.models.models.iter().map(ToString::to_string).collect();
            let mut extra = about(origin);
            extra["tools"] = json!(boundary.tools.exposed().collect::<Vec<_>>());
            extra["models"] = json!(models);
            // The words are a model's: what they hold of secrets is not for hooks.
            let goal = self.shop.redaction(&self.cx.agent).kept(plan.goal.clone());
            json!({ "text": goal, "extra": extra })
        };
        let occasion = self.cx.occasion();
        let asked = hooks::ask(&self.shop.caps, HookEvent::SubagentStart, &occasion, fields);
        let decision = tokio::select! {
            biased;
            decision = asked => decision,
            () = self.cx.live.cancel.cancelled() => return Some("the turn was stopped".to_owned()),
        };
        match decision {
            HookDecision::Go(_) => None,
            HookDecision::Block { reason, .. } => Some(reason),
        }
    }

    /// After a child ended.
    pub(super) async fn stopped(
        &self,
        child: &TurnContext,
        outcome: ChildOutcome,
        end: &DelegateOutcome,
    ) {
        let fields = || {
            let mut extra = child.kin.origin.as_ref().map_or_else(|| json!({}), about);
            extra["outcome"] = json!(outcome.as_str());
            let (DelegateOutcome::Finished(text)
            | DelegateOutcome::Failed(text)
            | DelegateOutcome::Stopped(text)) = end;
            json!({ "text": text, "extra": extra })
        };
        let occasion = self.cx.occasion();
        hooks::tell(&self.shop.caps, HookEvent::SubagentStop, &occasion, fields).await;
    }
}

fn about(origin: &ChildOrigin) -> Value {
    json!({ "child": &*origin.child, "role": origin.role.as_str(), "depth": origin.depth })
}
