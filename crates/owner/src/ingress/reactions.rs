//! Signs that people put on messages: an admin's thumb on a question answers it, and an agent that
//! wants to is told of the others as context.

use super::{Ingress, IngressContext};
use insula_channel::{Message, MessageId, Reaction, ReactionChange, Vote};
use insula_domain::{WordSource, Words};
use insula_registry::access::InboundOutcome;
use insula_store::StoreError;
use insula_turns::approvals::{ApprovalAnswer, ApprovalDuration};

/// How much of a sign is told, in characters. Some platforms take any text for one.
const SIGN_CHARS_MAX: usize = 32;

impl Ingress {
    /// Takes a sign. What it answers counts as the same answer in words would; where it answers
    /// nothing, nobody is told anything about it.
    pub(super) async fn reacted(
        &self,
        cx: &IngressContext<'_>,
        reaction: &Reaction,
    ) -> Result<(), StoreError> {
        if let Some(id) = self.question_answered_by(cx, reaction).await? {
            let answer = match reaction.vote() {
                Some(Vote::Yes) => ApprovalAnswer::Approve(ApprovalDuration::Once),
                Some(Vote::No) => ApprovalAnswer::Deny(None),
                None => return self.note(cx).await,
            };
            self.go_ahead(cx);
            let told = self.answer(cx, &id, answer).await;
            self.note(cx).await?;
            self.say(cx, told).await;
            return Ok(());
        }
        if !self.is_told(cx, reaction) {
            self.inbound.count(InboundOutcome::Passed);
            return self.note(cx).await;
        }
        let sign: String = reaction.sign.chars().take(SIGN_CHARS_MAX).collect();
        let said = match reaction.change {
            ReactionChange::Put => sign,
            ReactionChange::Taken => format!("{sign} (taken away again)"),
        };
        let message = Message {
            id: MessageId(cx.envelope.event.0.clone()),
            words: Words::foreign(WordSource::Reaction, &said),
            mentions_us: false,
            is_for_another: false,
            attachments: vec![],
            quoted: None,
            group: None,
        };
        let outcome = match self.keep(cx, &message, None).await? {
            Some(_) => InboundOutcome::Observed,
            None => InboundOutcome::Repeated,
        };
        self.inbound.count(outcome);
        Ok(())
    }

    /// Whether an agent is told of a sign: of those on its own messages, where it wants to be.
    fn is_told(&self, cx: &IngressContext<'_>, reaction: &Reaction) -> bool {
        cx.agent.access.reactions && reaction.is_ours != Some(false)
    }

    /// The question that a sign answers: one that stands whole in the message with the sign,
    /// put there by somebody who may answer.
    async fn question_answered_by(
        &self,
        cx: &IngressContext<'_>,
        reaction: &Reaction,
    ) -> Result<Option<Box<str>>, StoreError> {
        let may = self.access.may_answer(cx.agent, &cx.caller.actor());
        if reaction.vote().is_none() || !may {
            return Ok(None);
        }
        self.out.question_in(cx.agent, &cx.place(), &reaction.message).await
    }
}
