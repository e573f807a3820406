//! What agents have to deliver: the bell that tells of it, and what operators may do about what did
//! not go out.
//!
//! Sending is the gateway's. It is told here that an agent has something, and by whom it was
//! put there does not matter: a turn's end, a tool, a job, an operator.

use crate::context::AgentContext;
use crate::trail::Trail;
use insula_domain::{Actor, AgentId};
use insula_store::{
    About, AgentCommand, Delivery, DeliveryId, Feed, FeedChange, OutboxCommand, StoreError,
    Subscription,
};
use insula_world::{Clock, World};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// What stands where something was shown of a reply that somebody dropped.
const BROKEN_OFF: &str = "(broken off: the rest of this answer was dropped)";

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
pub struct Outbox {
    clock: Arc<dyn Clock>,
    trail: Trail,
    rung: Mutex<BTreeSet<AgentId>>,
    wake: Notify,
    counts: [AtomicU64; Became::ALL.len()],
}

impl Outbox {
    pub(crate) fn new(world: &World, trail: &Trail) -> Self {
        Self {
            clock: world.clock.clone(),
            trail: trail.clone(),
            rung: Mutex::default(),
            wake: Notify::new(),
            counts: Default::default(),
        }
    }

    /// Hears of what is put into outboxes.
    pub(crate) fn follow(self: &Arc<Self>, feed: &Feed) -> Subscription {
        let outbox = self.clone();
        feed.subscribe(move |change| {
            if let FeedChange::Outbox(agent) = change {
                outbox.ring(agent);
            }
        })
    }

    fn ring(&self, agent: &AgentId) {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner).insert(agent.clone());
        self.wake.notify_one();
    }

    /// Waits until some agent has something to deliver.
    pub async fn rung(&self) -> BTreeSet<AgentId> {
        loop {
            let heard = self.wake.notified();
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

    /// Sends what was held, failed or waits, now. What may have arrived once says so.
    pub async fn resend(
        &self,
        agent: &AgentContext,
        id: DeliveryId,
        actor: &Actor,
    ) -> Result<(), StoreError> {
        let at = self.clock.now();
        let resend = OutboxCommand::Resend { id, at };
        self.decide(agent, id, resend, "delivery.resent", actor).await
    }

    /// Takes something out of the outbox for good. Where a part of it was shown already, that is
    /// made to say so.
    pub async fn drop_delivery(
        &self,
        agent: &AgentContext,
        id: DeliveryId,
        actor: &Actor,
    ) -> Result<(), StoreError> {
        let instead = Some(BROKEN_OFF.to_owned());
        let drop = OutboxCommand::Drop { id, instead, at: self.clock.now() };
        self.decide(agent, id, drop, "delivery.dropped", actor).await
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
        let delivery = agent.store.delivery(id).await?;
        let about = delivery.map_or(About::Agent, |delivery| about(&delivery));
        let entry = self.trail.record(agent, about, actor, kind, content);
        let batch = vec![AgentCommand::Outbox(command), AgentCommand::Audit(entry)];
        agent.store.commit(batch).await.map(drop)
    }

    /// The record of what became of a delivery: where to and why, never what it says.
    pub fn record(
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
        let about = about(delivery);
        AgentCommand::Audit(self.trail.record(agent, about, &Actor::Daemon, kind, content))
    }
}

/// Whose matter a delivery is: that of the conversation it comes from.
fn about(delivery: &Delivery) -> About {
    delivery.session.map_or(About::Agent, About::Session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Home;
    use crate::secrets::SecretBook;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn a_bell_is_heard_whenever_it_rang_and_once() {
        let (world, _) = insula_testkit::world(7);
        let secrets = Arc::new(SecretBook::new(&Home::new("unused"), &world));
        let outbox = Outbox::new(&world, &Trail::new(&world, &secrets));
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
