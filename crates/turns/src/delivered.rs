//! What deliveries say, without secrets.

use crate::Engine;
use crate::current::was_taken_away;
use crate::messages::text_of;
use crate::restarted;
use insula_capabilities::failures::cause;
use insula_domain::sound::SoundKind;
use insula_domain::{FailureCause, SessionKey};
use insula_registry::context::AgentContext;
use insula_registry::events::BudgetRefusal;
use insula_store::{
    Content, Counted, Delivery, MessageSeq, Part, Role, SessionId, SessionRef, StoreError,
    TurnStatus,
};
use insula_tools::pictures::PictureKind;
use serde::Deserialize;

/// How many messages before a question are looked through for what was offered.
const LOOKED_BACK: usize = 8;

/// How many messages of a turn are looked through for what goes along with its reply.
const TURN_LOOKED_BACK: usize = 400;
/// Files that go along with one reply: what platforms show together.
const FILES_MAX: usize = 10;

/// What a delivery says, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryText {
    pub text: String,
    /// The answers it offers, where it is a question of the agent's.
    pub choices: Vec<String>,
    /// What goes along with it.
    pub files: Vec<DeliveryFile>,
}

/// A file that goes along with a reply. Its content is looked up when it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryFile {
    pub name: Box<str>,
    pub media_type: Box<str>,
    pub hash: [u8; 32],
}

#[derive(Deserialize)]
struct Asked {
    #[serde(default)]
    choices: Vec<String>,
}

/// What a chat hears of a turn whose ground was taken away. By whom and how is the operator's.
const TAKEN_AWAY: &str =
    "I did not finish this: what I may do here was changed meanwhile by whoever runs me.";

impl Engine {
    /// What leaves an agent, without secrets.
    pub fn told(&self, agent: &AgentContext, text: String) -> String {
        self.shop.redaction(agent).told(text)
    }

    /// What a delivery says; `None` where its words are gone.
    pub async fn words_of(
        &self,
        agent: &AgentContext,
        delivery: &Delivery,
    ) -> Result<Option<DeliveryText>, StoreError> {
        let plain = |text: String| {
            let (choices, files) = (Vec::new(), Vec::new());
            Some(DeliveryText { text: self.told(agent, text), choices, files })
        };
        match (&delivery.content, delivery.session, delivery.turn) {
            (Content::Text(text), ..) => Ok(plain(text.clone())),
            (Content::Message(seq), Some(session), _) => {
                let before = MessageSeq(seq.0.saturating_sub(1));
                let found = agent.store.messages_after(session, before, 1).await?;
                let Some(message) = found.first().filter(|message| message.seq == *seq) else {
                    return Ok(None);
                };
                let text = text_of(&message.parts);
                let said = message.parts.iter().filter_map(file);
                let choices = self.offered(agent, delivery, &text).await?;
                let mut files = self.made(agent, delivery, (session, *seq)).await?;
                files.extend(said);
                Ok(Some(DeliveryText { text: self.told(agent, text), choices, files }))
            }
            (Content::TurnEnd, _, Some(turn)) => {
                let Some(known) = agent.store.turn(turn).await? else { return Ok(None) };
                let over = known.error.as_deref().and_then(BudgetRefusal::in_error);
                // By its name: a number would tell how many turns other chats had.
                let turn = agent.store.seals().seal(Counted::Turn, turn.0);
                Ok(plain(match (known.status, over) {
                    (TurnStatus::Stopped, _) => "Stopped before I had an answer.".to_owned(),
                    (_, Some(over)) => over,
                    _ if known.error.as_deref().is_some_and(was_taken_away) => {
                        TAKEN_AWAY.to_owned()
                    }
                    _ if known.error.as_deref().is_some_and(restarted::was_restarted) => {
                        restarted::TOLD.to_owned()
                    }
                    // Why is for whoever runs the agent, not for a chat; what can be done about it
                    // there is.
                    _ => match cause(agent, known.id).await?.and_then(FailureCause::advice) {
                        Some(advice) => format!(
                            "I could not finish this: {advice}. If it goes on, tell the operator that turn {turn} failed."
                        ),
                        None => format!(
                            "I could not finish this: something is wrong on my side, and whoever runs me has to look at it. Tell them that turn {turn} failed."
                        ),
                    },
                }))
            }
            _ => Ok(None),
        }
    }

    /// The pictures that the turn of a reply had made, in order.
    async fn made(
        &self,
        agent: &AgentContext,
        delivery: &Delivery,
        (session, reply): (SessionId, MessageSeq),
    ) -> Result<Vec<DeliveryFile>, StoreError> {
        if agent.images.is_none() || delivery.turn.is_none() {
            return Ok(Vec::new());
        }
        let before = agent.store.messages_before(session, reply, TURN_LOOKED_BACK).await?;
        let own = before.iter().filter(|it| it.turn == delivery.turn && it.role == Role::Tool);
        let made: Vec<_> = own.flat_map(|it| it.parts.iter().filter_map(file)).collect();
        Ok(made.into_iter().take(FILES_MAX).collect())
    }

    /// The content of what goes along with a delivery; an error says why it can't be had.
    pub async fn content_of(
        &self,
        agent: &AgentContext,
        delivery: &Delivery,
        file: &DeliveryFile,
    ) -> Result<Vec<u8>, String> {
        let gone = || "its conversation is gone".to_owned();
        let session = delivery.session.ok_or_else(gone)?;
        let known = agent.store.session(SessionRef::Id(session)).await;
        let known = known.map_err(|error| error.to_string())?.ok_or_else(gone)?;
        let key: SessionKey = known.key.parse().map_err(|_| gone())?;
        let kind = PictureKind::from_media_type(&file.media_type).map(PictureKind::ending);
        let sound = || SoundKind::from_media_type(&file.media_type).map(SoundKind::ending);
        let ending = kind
            .or_else(sound)
            .ok_or_else(|| "this version does not know what it is".to_owned())?;
        let seals = agent.store.seals();
        let files = agent.workspace.files(&key, session, &seals, &self.shop.world);
        let content = files.kept_attachment(file.hash, ending).await;
        content.map_err(|error| error.to_string())
    }

    /// The answers that a question offers, by the call that asked it.
    async fn offered(
        &self,
        agent: &AgentContext,
        delivery: &Delivery,
        text: &str,
    ) -> Result<Vec<String>, StoreError> {
        // A question with answers numbers them, and nothing else is looked for in the journal.
        let (Some(session), Content::Message(seq)) = (delivery.session, &delivery.content) else {
            return Ok(Vec::new());
        };
        if !text.contains("\n1. ") {
            return Ok(Vec::new());
        }
        let before = agent.store.messages_before(session, *seq, LOOKED_BACK).await?;
        let own = before.iter().rev().filter(|message| message.turn == delivery.turn);
        let mut calls =
            own.flat_map(|message| message.parts.iter().rev()).filter_map(|part| match part {
                Part::ToolCall { name, arguments, .. } => Some((name, arguments)),
                _ => None,
            });
        let Some((_, arguments)) = calls.next().filter(|(name, _)| &***name == "clarify") else {
            return Ok(Vec::new());
        };
        let Ok(Asked { choices }) = serde_json::from_str(arguments) else {
            return Ok(Vec::new());
        };
        let numbered = |(index, choice): (usize, &String)| {
            text.contains(&format!("\n{}. {choice}", index + 1))
        };
        if !choices.iter().enumerate().all(numbered) {
            return Ok(Vec::new());
        }
        Ok(choices.into_iter().map(|choice| self.told(agent, choice)).collect())
    }
}

/// A part of a message that goes along with it.
fn file(part: &Part) -> Option<DeliveryFile> {
    match part {
        Part::Attachment { hash, name, media_type, .. } => {
            let (name, media_type) = (name.clone(), media_type.clone());
            Some(DeliveryFile { name, media_type, hash: *hash })
        }
        _ => None,
    }
}
