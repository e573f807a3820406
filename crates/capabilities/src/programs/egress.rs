//! What an agent's programs and tools ask of the network, on its audit trail.

use async_trait::async_trait;
use insula_domain::Actor;
use insula_registry::context::AuditLog;
use insula_sandbox::egress::{EgressDecision, EgressVerdict, Ending, Ledger, Traffic, Unrecorded};
use insula_store::SessionId;
use serde_json::{Value, json};

/// Writes every decision down before it takes effect.
pub(crate) struct Audited {
    pub(crate) audit: AuditLog,
    pub(crate) principal: Actor,
    /// The conversation, where it is of one.
    pub(crate) session: Option<SessionId>,
}

impl Audited {
    fn about(&self, decision: &EgressDecision) -> Value {
        let place = decision.destination.as_ref();
        json!({
            "host": place.map(|place| place.host.to_string()),
            "port": place.map(|place| place.port),
            "address": decision.address.map(|address| address.ip().to_string()),
            "session": self.session.map(|session| session.0),
        })
    }
}

#[async_trait]
impl Ledger for Audited {
    async fn decided(&self, decision: &EgressDecision) -> Result<(), Unrecorded> {
        let mut content = self.about(decision);
        match &decision.verdict {
            EgressVerdict::Allowed { rule } => {
                content["verdict"] = json!("allowed");
                content["rule"] = json!(rule);
            }
            EgressVerdict::Refused(refusal) => {
                content["verdict"] = json!("refused");
                content["reason"] = json!(refusal.to_string());
            }
        }
        let written = self.audit.append(&self.principal, "egress", content).await;
        written.map(drop).map_err(|error| {
            tracing::error!(%error, "a decision about the network could not be recorded");
            Unrecorded
        })
    }

    async fn ended(&self, decision: &EgressDecision, traffic: Traffic, ending: Ending) {
        let mut content = self.about(decision);
        content["bytes_up"] = json!(traffic.up);
        content["bytes_down"] = json!(traffic.down);
        content["ending"] = json!(match ending {
            Ending::Finished => "finished",
            Ending::Failed => "failed",
            Ending::TimedOut => "timed_out",
            Ending::LimitReached => "limit_reached",
            Ending::Refused => "refused",
            Ending::Stopped => "stopped",
        });
        if let Err(error) = self.audit.append(&self.principal, "egress.ended", content).await {
            tracing::error!(%error, "the end of a connection could not be recorded");
        }
    }
}
