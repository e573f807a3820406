//! The hand by which a turn says something in another conversation: whether it may is decided
//! by `domain`, from all that the turn has seen, and written down either way.

use super::one_off;
use crate::shop::Shop;
use crate::turn::TurnContext;
use async_trait::async_trait;
use insula_domain::{Audience, ChatType, Label, Sending};
use insula_store::{AgentCommand, DeliveryDestination, Enqueue, Lane, OutboxCommand, StoreError};
use insula_tools::{HandError, Outbox, ToolError};
use serde_json::json;

/// The outbox as one call of a turn may use it.
pub(super) struct TurnOutbox<'c> {
    shop: &'c Shop,
    cx: &'c TurnContext,
    /// The step in which the call began, by which what it sent is found again.
    step: u32,
}

impl<'c> TurnOutbox<'c> {
    /// The hand for one call.
    pub(super) fn new(shop: &'c Shop, cx: &'c TurnContext, step: u32) -> Self {
        Self { shop, cx, step }
    }

    /// The record of a message that was sent or refused: from which audiences to which place,
    /// and what was decided. Never what it says.
    fn record(&self, to: &Audience, label: &Label, sending: Sending<'_>) -> AgentCommand {
        let cx = self.cx;
        let source = match sending {
            Sending::Wider { source } => Some(source.to_string()),
            _ => None,
        };
        let content = json!({
            "target": to.to_string(),
            "from": label.to_string(),
            "decision": if sending.is_allowed() { "sent" } else { "refused" },
            "why": sending.as_str(),
            "source": source,
            "turn": cx.turn.0,
            "session": cx.session.0,
        });
        let trail = &self.shop.trail;
        AgentCommand::Audit(trail.record(
            &cx.agent,
            cx.about(),
            &cx.principal,
            "message.send",
            content,
        ))
    }

    async fn commit(&self, batch: Vec<AgentCommand>) -> Result<(), ToolError> {
        let done = self.cx.agent.store.commit(batch).await;
        done.map(drop).map_err(|error: StoreError| ToolError::Hand(HandError(error.to_string())))
    }

    /// What is put into the outbox, under a name that a call made again after a crash has too.
    fn enqueue(&self, to: &Audience, message: &str) -> AgentCommand {
        let cx = self.cx;
        // A conversation of one request is forgotten with its reply; what it sent is not.
        let is_kept = !cx.key.chat.as_str().starts_with(one_off::PREFIX);
        AgentCommand::Outbox(OutboxCommand::Enqueue(Box::new(Enqueue {
            session: is_kept.then_some(cx.session),
            turn: Some(cx.turn),
            to: DeliveryDestination {
                lane: Lane {
                    platform: to.platform.as_str().into(),
                    account: to.account.as_str().into(),
                    chat: to.chat.as_str().into(),
                },
                // A place is named without its kind, and platforms go by its id.
                chat_type: ChatType::Group.as_str().into(),
                topic: to.topic.as_ref().map(|topic| topic.as_str().into()),
                reply_to: None,
            },
            text: self.shop.redaction(&cx.agent).told(message.to_owned()),
            name: Some(format!("send:{}:{}", cx.turn, self.step).into()),
            buttons: Vec::new(),
            at: self.shop.world.clock.now(),
        })))
    }
}

#[async_trait]
impl Outbox for TurnOutbox<'_> {
    fn targets(&self) -> Vec<String> {
        self.cx.agent.boundary.messages.to.iter().map(ToString::to_string).collect()
    }

    async fn send(&self, target: &str, message: &str) -> Result<(), ToolError> {
        let cx = self.cx;
        let to: Audience = target.parse().map_err(|_| {
            let what = "`target` is no place: write platform:account:chat or platform:account:chat:topic, as `list` shows them";
            ToolError::Arguments(what.to_owned())
        })?;
        let label = cx.seen.label();
        let sending = cx.agent.boundary.messages.decide(&label, &to);
        let record = self.record(&to, &label, sending);
        let refused = match sending {
            Sending::Allowed | Sending::Granted => {
                let accounts = &self.shop.registry.snapshot().daemon.accounts;
                let is_ours = |it: &&insula_config::Account| {
                    it.platform == to.platform && it.name == to.account
                };
                if accounts.iter().find(is_ours).is_none() {
                    let what = format!("there is no account `{}` of {}", to.account, to.platform);
                    return Err(ToolError::Hand(HandError(what)));
                }
                self.commit(vec![self.enqueue(&to, message), record]).await?;
                return Ok(());
            }
            Sending::NotThere => format!(
                "you may not send to `{to}`; `list` shows where you may, and nobody in this conversation can change that"
            ),
            // Of other places their names are not for the model to pass on.
            Sending::Wider { .. } | Sending::Unknown => format!(
                "not everyone in `{to}` may read what you have seen in this conversation; nobody here can change that, so say it here, or ask the operator to grant that flow"
            ),
        };
        self.commit(vec![record]).await?;
        Err(ToolError::Refused(refused))
    }
}
