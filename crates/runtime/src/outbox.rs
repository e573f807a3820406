//! What agents have to deliver: the bell that tells of it, what deliveries say, and what
//! operators may do about those that did not go out.
//!
//! Sending is the gateway's. It is told here that an agent has something, and by whom it was
//! put there does not matter: a turn's end, a tool, a job, an operator.

use crate::budget::Refusal;
use crate::context::AgentContext;
use crate::house::{Actor, House};
use crate::turn::Engine;
use crate::turn::current::was_taken_away;
use crate::turn::desk::text_of;
use insula_domain::AgentId;
use insula_store::{
    AgentCommand, Change, Content, Counted, Delivery, DeliveryId, Feed, MessageSeq, OutboxCommand,
    Part, StoreError, Subscription, TurnStatus,
};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// How many messages before a question are looked through for what was offered.
const LOOKED_BACK: usize = 8;

/// Something that became of a delivery, for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Became {
    /// The platform took all of it.
    Sent,
    /// It is to be tried again later.
    PutOff,
    /// A request may have arrived; it was sent again.
    Repeated,
    /// A request may have arrived; an operator decides.
    Held,
    /// It will not be sent.
    Failed,
    /// It had nothing to say.
    Silent,
}

impl Became {
    /// Everything that is counted.
    pub const ALL: [Self; 6] =
        [Self::Sent, Self::PutOff, Self::Repeated, Self::Held, Self::Failed, Self::Silent];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::PutOff => "put_off",
            Self::Repeated => "repeated",
            Self::Held => "held",
            Self::Failed => "failed",
            Self::Silent => "silent",
        }
    }
}

/// Which agents have something to deliver, as far as it is not taken up yet.
#[derive(Default)]
pub struct Outbox {
    rung: Mutex<BTreeSet<AgentId>>,
    bell: Notify,
    counts: [AtomicU64; Became::ALL.len()],
}

impl Outbox {
    /// Hears of what is put into outboxes.
    pub(crate) fn follow(self: &Arc<Self>, feed: &Feed) -> Subscription {
        let outbox = self.clone();
        feed.subscribe(move |change| {
            if let Change::Outbox(agent) = change {
                outbox.ring(agent);
            }
        })
    }

    fn ring(&self, agent: &AgentId) {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner).insert(agent.clone());
        self.bell.notify_one();
    }

    /// Waits until some agent has something to deliver.
    pub async fn rung(&self) -> BTreeSet<AgentId> {
        loop {
            let heard = self.bell.notified();
            let rung = std::mem::take(
                // Nothing runs foreign code under it, so a poisoned lock guards nothing broken.
                &mut *self.rung.lock().unwrap_or_else(PoisonError::into_inner),
            );
            if !rung.is_empty() {
                return rung;
            }
            heard.await;
        }
    }

    /// Counts what became of a delivery.
    pub fn count(&self, became: Became) {
        self.counts[became as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// What became of deliveries since the start.
    pub fn counts(&self) -> [(Became, u64); Became::ALL.len()] {
        Became::ALL.map(|became| (became, self.counts[became as usize].load(Ordering::Relaxed)))
    }
}

/// What a delivery says, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The text.
    pub text: String,
    /// The answers it offers, where it is a question of the agent's.
    pub choices: Vec<String>,
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
    ) -> Result<Option<Words>, StoreError> {
        let plain =
            |text: String| Some(Words { text: self.told(agent, text), choices: Vec::new() });
        match (&delivery.content, delivery.session, delivery.turn) {
            (Content::Text(text), ..) => Ok(plain(text.clone())),
            (Content::Message(seq), Some(session), _) => {
                let before = MessageSeq(seq.0.saturating_sub(1));
                let found = agent.store.messages_after(session, before, 1).await?;
                let Some(message) = found.first().filter(|message| message.seq == *seq) else {
                    return Ok(None);
                };
                let text = text_of(&message.parts);
                let choices = self.offered(agent, delivery, &text).await?;
                Ok(Some(Words { text: self.told(agent, text), choices }))
            }
            (Content::TurnEnd, _, Some(turn)) => {
                let Some(known) = agent.store.turn(turn).await? else { return Ok(None) };
                let over = known.error.as_deref().and_then(Refusal::in_error);
                // By its name: a number would tell how many turns other chats had.
                let turn = agent.store.seals().seal(Counted::Turn, turn.0);
                Ok(plain(match (known.status, over) {
                    (TurnStatus::Stopped, _) => "Stopped before I had an answer.".to_owned(),
                    (_, Some(over)) => over,
                    _ if known.error.as_deref().is_some_and(was_taken_away) => {
                        TAKEN_AWAY.to_owned()
                    }
                    // Why is for whoever runs the agent, not for a chat.
                    _ => format!(
                        "I could not finish this: something went wrong on my side. Please try again; if it goes on, tell the operator that turn {turn} failed."
                    ),
                }))
            }
            _ => Ok(None),
        }
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

impl House {
    /// Sends what was held, failed or waits, now. What may have arrived once says so.
    pub async fn resend_delivery(
        &self,
        agent: &AgentContext,
        id: DeliveryId,
        actor: &Actor,
    ) -> Result<(), StoreError> {
        let at = self.world.clock.now();
        let resend = OutboxCommand::Resend { id, at };
        self.decide(agent, id, resend, "delivery.resent", actor).await
    }

    /// Takes something out of the outbox for good.
    pub async fn drop_delivery(
        &self,
        agent: &AgentContext,
        id: DeliveryId,
        actor: &Actor,
    ) -> Result<(), StoreError> {
        self.decide(agent, id, OutboxCommand::Drop { id }, "delivery.dropped", actor).await
    }

    async fn decide(
        &self,
        agent: &AgentContext,
        id: DeliveryId,
        command: OutboxCommand,
        kind: &str,
        actor: &Actor,
    ) -> Result<(), StoreError> {
        let content = json!({ "delivery": id.0 });
        let entry = self.entry_of(&agent.id, actor, kind, agent.generation.0, content);
        let batch = vec![AgentCommand::Outbox(command), AgentCommand::Audit(entry)];
        agent.store.commit(batch).await.map(drop)
    }

    /// The record of what became of a delivery: where to and why, never what it says.
    pub fn delivery_record(
        &self,
        agent: &AgentContext,
        delivery: &Delivery,
        kind: &str,
        why: &str,
    ) -> AgentCommand {
        let lane = &delivery.to.lane;
        let content = json!({
            "delivery": delivery.id.0,
            "turn": delivery.turn.map(|turn| turn.0),
            "session": delivery.session.map(|session| session.0),
            "platform": &*lane.platform,
            "account": &*lane.account,
            "chat": &*lane.chat,
            "part": delivery.sent.len() + 1,
            "why": why,
        });
        let (daemon, generation) = (&Actor::Daemon, agent.generation.0);
        AgentCommand::Audit(self.entry_of(&agent.id, daemon, kind, generation, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn a_bell_is_heard_whenever_it_rang_and_once() {
        let outbox = Outbox::default();
        let (a, b) = (AgentId::new("a").unwrap(), AgentId::new("b").unwrap());
        outbox.ring(&a);
        outbox.ring(&b);
        outbox.ring(&a);
        assert_eq!(outbox.rung().await, BTreeSet::from([a.clone(), b]));
        let mut waiting = Box::pin(outbox.rung());
        assert!((&mut waiting).now_or_never().is_none());
        outbox.ring(&a);
        assert_eq!(waiting.await, BTreeSet::from([a]));
    }
}
