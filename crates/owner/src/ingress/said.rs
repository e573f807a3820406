//! What somebody said who may: a command, an answer to a question, context, or a turn.

use super::commands::{self, Typed};
use super::queue::Chat;
use super::stored::StoredMessage;
use super::{Ingress, IngressContext, bounded};
use insula_channel::Message;
use insula_domain::{Address, Audience, ChatType, Handling};
use insula_registry::access::InboundOutcome;

use insula_store::{AgentCommand, Approval, IngressCommand, NewInbox, SessionRef, StoreError};
use insula_turns::approvals::{ApprovalAnswer, Settled};
use std::sync::Arc;

impl Ingress {
    pub(super) async fn said(
        &self,
        chat: &Arc<Chat>,
        cx: &IngressContext<'_>,
        message: &Message,
        handling: Handling,
    ) -> Result<(), StoreError> {
        if message.is_for_another {
            self.inbound.count(InboundOutcome::Passed);
            return Ok(());
        }
        if self.answers(cx, message, handling).await? {
            self.go_ahead(cx);
            return self.note(cx).await;
        }
        match handling {
            Handling::Pass => {
                self.inbound.count(InboundOutcome::Passed);
                Ok(())
            }
            Handling::Observe => self.observe(cx, message).await,
            Handling::Answer => match commands::read(message.words.instruction()) {
                Typed::Command(command, argument) => {
                    self.inbound.count(InboundOutcome::Command);
                    self.go_ahead(cx);
                    let told = self.act(cx, command, argument).await;
                    self.reply(cx, told).await
                }
                Typed::Unknown(word) if cx.envelope.address.chat_type == ChatType::Dm => {
                    let told = format!("there is no /{word}; /help lists what there is");
                    self.reply(cx, told).await
                }
                // Among several bots it may be another's, and addressed to us it is said to us.
                Typed::Unknown(_) | Typed::Words => self.to_turn(chat, cx, message).await,
            },
        }
    }

    /// What somebody does besides talking is no part of what they say: what was said before it
    /// waits for nothing more.
    pub(super) fn go_ahead(&self, cx: &IngressContext<'_>) {
        self.engine.go_ahead(&cx.session);
    }

    /// Notes that an event was dealt with and became no message.
    pub(super) async fn note(&self, cx: &IngressContext<'_>) -> Result<(), StoreError> {
        let note = IngressCommand::Note { event: cx.event.clone(), at: self.now() };
        let batch = vec![AgentCommand::Ingress(Box::new(note))];
        cx.agent.store.commit(batch).await?;
        Ok(())
    }

    /// Notes that a command was dealt with, and what is said to it: in one step, so that a
    /// repetition carries nothing out again and a crash loses no answer.
    async fn reply(&self, cx: &IngressContext<'_>, told: String) -> Result<(), StoreError> {
        if told.is_empty() {
            return self.note(cx).await;
        }
        // An agent that was just paused sends nothing.
        if self.serving(&cx.agent.id).is_none() {
            self.note(cx).await?;
            self.whisper(cx.agent.clone(), cx.place(), told).await;
            return Ok(());
        }
        let note = IngressCommand::Note { event: cx.event.clone(), at: self.now() };
        let line = self.own_line(cx.agent, &cx.place(), &told);
        self.put(cx.agent, vec![AgentCommand::Ingress(Box::new(note)), line]).await?;
        Ok(())
    }

    /// Keeps a message as context for the next turn of its conversation.
    async fn observe(&self, cx: &IngressContext<'_>, message: &Message) -> Result<(), StoreError> {
        let Some(kept) = self.keep(cx, message, None).await? else {
            self.inbound.count(InboundOutcome::Repeated);
            return Ok(());
        };
        tracing::debug!(agent = %cx.agent.id, kept, "reading along");
        let stored = StoredMessage::of(cx.envelope, message, &cx.caller.principal.user);
        let stored = stored.led_by(&self.registry.snapshot());
        self.hear_aside(cx.agent, &cx.session, (kept, stored));
        self.inbound.count(InboundOutcome::Observed);
        Ok(())
    }

    /// Puts a message into the agent's inbox; its row, or none where it is there already.
    /// `waits` is for one that a turn is to answer, and says whether it looks cut off.
    pub(super) async fn keep(
        &self,
        cx: &IngressContext<'_>,
        message: &Message,
        waits: Option<bool>,
    ) -> Result<Option<i64>, StoreError> {
        let IngressContext { agent, caller, envelope, session, event } = cx;
        let kept = StoredMessage::of(envelope, message, &caller.principal.user);
        let mut kept = kept.led_by(&self.registry.snapshot());
        kept.is_long = waits == Some(true);
        let row = NewInbox {
            event: event.clone(),
            session: session.to_string().into(),
            chat: chat_name(&envelope.address),
            message: bounded(&message.id.0),
            sender: caller.actor(),
            waits: waits.is_some(),
            at: self.now(),
            content: kept.write(),
        };
        let batch = vec![AgentCommand::Ingress(Box::new(IngressCommand::Keep(row)))];
        let done = agent.store.commit(batch).await?;
        Ok(done.kept())
    }

    /// What waits for an answer in this conversation.
    pub(super) async fn waiting_here(
        &self,
        cx: &IngressContext<'_>,
    ) -> Result<Vec<Approval>, StoreError> {
        let mut waiting = self.engine.approvals().list(cx.agent).await?;
        if waiting.is_empty() {
            return Ok(waiting);
        }
        let key = cx.session.to_string();
        let session = cx.agent.store.session(SessionRef::Key(key.into())).await?;
        let current = session.map(|session| session.id);
        waiting.retain(|it| Some(it.session) == current);
        Ok(waiting)
    }

    /// Answers what waits, and says what came of it.
    pub(super) async fn answer(
        &self,
        cx: &IngressContext<'_>,
        id: &str,
        answer: ApprovalAnswer,
    ) -> String {
        let asked = match &answer {
            ApprovalAnswer::Approve(reach) => Some(*reach),
            ApprovalAnswer::Deny(_) => None,
        };
        let actor = cx.caller.actor();
        match self.engine.approvals().answer(cx.agent, id, answer, &actor).await {
            Ok(Settled { approval, reach: None }) => format!("refused: {}", approval.tool),
            Ok(Settled { approval, reach: Some(reach) }) => {
                let less = match asked {
                    Some(asked) if asked > reach => {
                        "; what is written to a process is asked each time"
                    }
                    _ => "",
                };
                format!("allowed, {}: {}{less}", reach.as_str(), approval.tool)
            }
            Err(error) => error.to_string(),
        }
    }
}

/// What an agent calls a chat that messages are in, whatever conversation they belong to.
pub(super) fn chat_name(address: &Address) -> Box<str> {
    let audience = Audience { topic: None, ..Audience::of(address) };
    audience.to_string().into()
}
