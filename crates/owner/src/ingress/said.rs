//! What somebody said who may: a command, an answer to a question, context, or a turn.

use super::commands::{self, Typed};
use super::kept::Kept;
use super::queue::Chat;
use super::{Ingress, Visitor, bounded};
use insula_channel::Message;
use insula_domain::{Address, Audience, ChatType, Heed};
use insula_registry::access::Visit;

use insula_store::{AgentCommand, Approval, DoorCommand, NewInbox, SessionRef, StoreError};
use insula_turns::approvals::{Answer, Settled};
use std::sync::Arc;

impl Ingress {
    pub(super) async fn said(
        &self,
        chat: &Arc<Chat>,
        visitor: &Visitor<'_>,
        message: &Message,
        heed: Heed,
    ) -> Result<(), StoreError> {
        if message.is_for_another {
            self.house.visits.count(Visit::Passed);
            return Ok(());
        }
        if self.answers(visitor, message, heed).await? {
            self.go_ahead(visitor);
            return self.note(visitor).await;
        }
        match heed {
            Heed::Pass => {
                self.house.visits.count(Visit::Passed);
                Ok(())
            }
            Heed::Observe => self.observe(visitor, message).await,
            Heed::Answer => match commands::read(message.words.instruction()) {
                Typed::Command(command, argument) => {
                    self.house.visits.count(Visit::Command);
                    self.go_ahead(visitor);
                    let told = self.act(visitor, command, argument).await;
                    self.reply(visitor, told).await
                }
                Typed::Unknown(word) if visitor.envelope.address.chat_type == ChatType::Dm => {
                    let told = format!("there is no /{word}; /help lists what there is");
                    self.reply(visitor, told).await
                }
                // Among several bots it may be another's, and addressed to us it is said to us.
                Typed::Unknown(_) | Typed::Words => self.to_turn(chat, visitor, message).await,
            },
        }
    }

    /// What somebody does besides talking is no part of what they say: what was said before it
    /// waits for nothing more.
    pub(super) fn go_ahead(&self, visitor: &Visitor<'_>) {
        self.engine.go_ahead(&visitor.session);
    }

    /// Notes that an event was dealt with and became no message.
    pub(super) async fn note(&self, visitor: &Visitor<'_>) -> Result<(), StoreError> {
        let note = DoorCommand::Note { event: visitor.event.clone(), at: self.now() };
        let batch = vec![AgentCommand::Door(Box::new(note))];
        visitor.agent.store.commit(batch).await?;
        Ok(())
    }

    /// Notes that a command was dealt with, and what is said to it: in one step, so that a
    /// repetition carries nothing out again and a crash loses no answer.
    async fn reply(&self, visitor: &Visitor<'_>, told: String) -> Result<(), StoreError> {
        // An agent that was just paused sends nothing.
        if self.serving(&visitor.agent.id).is_none() {
            self.note(visitor).await?;
            self.whisper(visitor.agent.clone(), visitor.place(), told).await;
            return Ok(());
        }
        let note = DoorCommand::Note { event: visitor.event.clone(), at: self.now() };
        let line = self.own_line(visitor.agent, &visitor.place(), &told);
        self.put(visitor.agent, vec![AgentCommand::Door(Box::new(note)), line]).await?;
        Ok(())
    }

    /// Keeps a message as context for the next turn of its conversation.
    async fn observe(&self, visitor: &Visitor<'_>, message: &Message) -> Result<(), StoreError> {
        let Some(kept) = self.keep(visitor, message, None).await? else {
            self.house.visits.count(Visit::Repeated);
            return Ok(());
        };
        tracing::debug!(agent = %visitor.agent.id, kept, "reading along");
        self.house.visits.count(Visit::Observed);
        Ok(())
    }

    /// Puts a message into the agent's inbox; its row, or none where it is there already.
    /// `waits` is for one that a turn is to answer, and says whether it looks cut off.
    pub(super) async fn keep(
        &self,
        visitor: &Visitor<'_>,
        message: &Message,
        waits: Option<bool>,
    ) -> Result<Option<i64>, StoreError> {
        let Visitor { agent, guest, envelope, session, event } = visitor;
        let kept = Kept::of(envelope, message, &guest.principal.user);
        let mut kept = kept.led_by(&self.house.snapshot());
        kept.is_long = waits == Some(true);
        let row = NewInbox {
            event: event.clone(),
            session: session.to_string().into(),
            chat: chat_name(&envelope.address),
            message: bounded(&message.id.0),
            sender: guest.actor(),
            waits: waits.is_some(),
            at: self.now(),
            content: kept.write(),
        };
        let batch = vec![AgentCommand::Door(Box::new(DoorCommand::Keep(row)))];
        let done = agent.store.commit(batch).await?;
        Ok(done.kept())
    }

    /// What waits for an answer in this conversation.
    pub(super) async fn waiting_here(
        &self,
        visitor: &Visitor<'_>,
    ) -> Result<Vec<Approval>, StoreError> {
        let mut waiting = self.engine.approvals().list(visitor.agent).await?;
        if waiting.is_empty() {
            return Ok(waiting);
        }
        let key = visitor.session.to_string();
        let session = visitor.agent.store.session(SessionRef::Key(key.into())).await?;
        let current = session.map(|session| session.id);
        waiting.retain(|it| Some(it.session) == current);
        Ok(waiting)
    }

    /// Answers what waits, and says what came of it.
    pub(super) async fn answer(&self, visitor: &Visitor<'_>, id: &str, answer: Answer) -> String {
        let asked = match &answer {
            Answer::Approve(reach) => Some(*reach),
            Answer::Deny(_) => None,
        };
        let actor = visitor.guest.actor();
        match self.engine.approvals().answer(visitor.agent, id, answer, &actor).await {
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
