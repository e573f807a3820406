//! Which agent an event is for: by the routes, by the ledger of events, or because a hook sent it
//! on where a route leads. What is judged and kept of it is its owner's.

use async_trait::async_trait;
use insula_channel::{
    Arrival, Envelope, EventId, EventKey, Ledger, NotTaken, Owner, Path, REMEMBERED, Taken,
};
use insula_domain::{Address, AgentId};
use insula_registry::Front;
use insula_registry::access::InboundOutcome;
use insula_registry::routing::RouteRefusal;
use insula_store::{AccountLease, Reserved, StoreError};
use insula_world::Timestamp;
use std::sync::Arc;

/// Brings what adapters hear to the owners of agents. Cheap to clone.
#[derive(Clone)]
pub struct Intake {
    front: Front,
    owner: Arc<dyn Owner>,
}

impl Intake {
    /// What brings events to an owner.
    pub fn new(front: Front, owner: Arc<dyn Owner>) -> Self {
        Self { front, owner }
    }

    /// Takes an event. When it returns, what is to be kept of it is durable.
    pub async fn take(&self, envelope: Envelope) -> Result<(), NotTaken> {
        let address = &envelope.address;
        let ledger = Events(self.front.account(address.platform, &address.account));
        let (mut agent, mut arrival) = match self.front.route(address) {
            Ok(agent) => (agent, Arrival { envelope, path: Path::Routed }),
            Err(refusal) => match ledger.owner_of(&envelope.event).await? {
                Some(owner) => (owner, Arrival { envelope, path: Path::Again }),
                None => return self.refuse(&refusal, envelope).await,
            },
        };
        loop {
            match self.owner.take(&agent, arrival, &ledger).await? {
                Taken::Done => return Ok(()),
                Taken::Belongs(owner, envelope) => {
                    agent = owner;
                    arrival = Arrival { envelope: *envelope, path: Path::Again };
                }
                Taken::NotServing(envelope) => {
                    let reason = "the agent it was for does not serve".into();
                    return self
                        .refuse(&RouteRefusal::NotServing { agent, reason }, *envelope)
                        .await;
                }
                Taken::Send(to, sent) => {
                    let Some(other) = self.front.leads(&sent.envelope.address, &to) else {
                        tracing::warn!(%agent, "a hook sends a message where no rule leads; it is refused");
                        self.front.count(InboundOutcome::Stopped);
                        return Ok(());
                    };
                    (agent, arrival) = (other, *sent);
                }
            }
        }
    }

    /// Whether an event was taken before.
    pub async fn has_taken(&self, envelope: &Envelope) -> Result<bool, NotTaken> {
        let address = &envelope.address;
        let ledger = Events(self.front.account(address.platform, &address.account));
        match ledger.owner_of(&envelope.event).await? {
            Some(agent) => self.owner.has_taken(&agent, &EventKey::of(envelope)).await,
            None => Ok(false),
        }
    }

    /// Goes on with what waited when the daemon ended, before anything new is taken.
    pub async fn resume(&self) -> Result<(), NotTaken> {
        let now = self.front.world().clock.now().as_millis();
        let remembered = i64::try_from(REMEMBERED.as_millis()).unwrap_or(i64::MAX);
        let before = Timestamp::from_millis(now.saturating_sub(remembered));
        self.front.forget_events(before).await.map_err(not_taken)?;
        self.owner.resume().await
    }

    /// Refuses what nobody serves: counted and reported, and never another agent's. Who may talk
    /// to an agent that is paused is told so, and its admins can let it go on.
    async fn refuse(&self, refusal: &RouteRefusal, envelope: Envelope) -> Result<(), NotTaken> {
        let Address { platform, account, chat, topic, .. } = envelope.address.clone();
        if let RouteRefusal::NotServing { agent, .. } = refusal
            && self.owner.take_unserved(agent, envelope).await?
        {
            self.front.count(InboundOutcome::Command);
            tracing::info!(%platform, %account, "an agent was let go on by a message");
            return Ok(());
        }
        self.front.count(InboundOutcome::Unrouted);
        // With the place: by its numbers somebody writes the rule that is missing.
        let topic = topic.as_ref().map(tracing::field::display);
        tracing::info!(%platform, %account, %chat, topic, %refusal, "a message was refused");
        Ok(())
    }
}

/// The ledger of one account's events.
struct Events(AccountLease);

#[async_trait]
impl Ledger for Events {
    async fn owner_of(&self, event: &EventId) -> Result<Option<AgentId>, NotTaken> {
        self.0.owner_of(&event.0).await.map_err(not_taken)
    }

    async fn reserve(&self, event: &EventId, agent: &AgentId) -> Result<Option<AgentId>, NotTaken> {
        match self.0.reserve(&event.0, agent).await.map_err(not_taken)? {
            Reserved::New => Ok(None),
            Reserved::Seen(owner) => Ok(Some(owner)),
        }
    }

    async fn give(&self, event: &EventId, agent: &AgentId) -> Result<(), NotTaken> {
        self.0.give(&event.0, agent).await.map_err(not_taken)
    }
}

pub(crate) fn not_taken(error: StoreError) -> NotTaken {
    NotTaken(error.to_string().into())
}
