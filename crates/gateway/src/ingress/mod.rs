//! The way in: from a platform's event to a turn, a command or nothing.
//!
//! An event is recognised by its id before anything is written, goes past the hooks to the
//! agent that its place leads to, and is judged at that agent's door. What may come in is
//! durable when [`Ingress::take`] returns: in a turn, or in the agent's inbox until it has one.

mod act;
mod amend;
mod answering;
mod asleep;
mod attachments;
mod burst;
mod commands;
mod dispatch;
mod happenings;
mod kept;
mod lately;
mod queue;
mod said;
mod turn;
mod words;

pub use commands::COMMANDS;
pub use words::without_notes;

use crate::adapter::NotTaken;
use crate::delivery::{Place, Relay};
use crate::door::{self, Told};
use crate::envelope::{Envelope, Happening};
use crate::lines::Lines;
use crate::owner::Owner;
use crate::post::Body;
use amend::LastSaid;
use asleep::Asleep;
use dispatch::Dispatched;
use insula_domain::{AgentId, Asker, Heed};
use insula_registry::access::{Guest, Visit};
use insula_registry::routing::{Answering, Refusal};
use insula_registry::{AgentContext, Daemon, Snapshot, State};
use insula_store::session::NAME_BYTES_MAX;
use insula_store::{
    AccountLease, AgentCommand, DaemonCommand, Enqueue, EventName, OutboxCommand, Reserved,
    StoreError,
};
use insula_turns::Engine;
use insula_world::Timestamp;
use lately::Lately;
use queue::{Chat, Chats, Spot};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// How long events are remembered. No platform delivers one again after that.
const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How often somebody hears that they are refused, as by a budget.
const REFUSED_EVERY: Duration = Duration::from_secs(60);
/// How often a stranger hears that too many wait before them.
const FULL_EVERY: Duration = Duration::from_secs(60 * 60);

/// Lines of the gateway's own that may be on their way at once in an agent's name.
const LINES_OUT_MAX: usize = 64;

/// Takes what adapters hear. Cheap to clone.
#[derive(Clone)]
pub struct Ingress {
    inner: Arc<Inner>,
}

/// What it works with.
pub struct Inner {
    house: Arc<Daemon>,
    engine: Engine,
    out: Arc<Relay>,
    lines: Arc<dyn Lines>,
    chats: Chats,
    asleep: Asleep,
    /// Who was told lately that they are refused.
    lately: Lately,
    /// Which strangers were told lately that too many wait.
    crowded: Lately,
    /// What messages said that may wait for their turn.
    last_said: LastSaid,
    /// Room for lines of the gateway's own that are on their way, by agent.
    lines_out: Mutex<HashMap<insula_domain::AgentId, Arc<Semaphore>>>,
    /// On which day events were last forgotten, by agent.
    tidied: Mutex<HashMap<insula_domain::AgentId, i64>>,
}

impl Deref for Ingress {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

impl From<StoreError> for NotTaken {
    fn from(error: StoreError) -> Self {
        Self(error.to_string().into())
    }
}

/// Somebody who may talk to an agent, and where.
struct Visitor<'v> {
    agent: &'v Arc<AgentContext>,
    guest: Guest,
    envelope: &'v Envelope,
    /// What its repetition will carry.
    event: EventName,
}

impl Visitor<'_> {
    fn place(&self) -> Place {
        Place::of(&self.envelope.address)
    }
}

impl Ingress {
    /// The way into a house.
    pub fn new(house: Arc<Daemon>, engine: Engine, out: Arc<Relay>, lines: Arc<dyn Lines>) -> Self {
        let inner = Inner {
            house,
            engine,
            out,
            lines,
            chats: Chats::default(),
            asleep: Asleep::default(),
            lately: Lately::new(REFUSED_EVERY),
            crowded: Lately::new(FULL_EVERY),
            last_said: LastSaid::default(),
            lines_out: Mutex::default(),
            tidied: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Takes an event. When it returns, what is to be kept of it is durable.
    pub async fn take(&self, envelope: Envelope) -> Result<(), NotTaken> {
        self.wake().await;
        let entered = self.chats.enter(Spot::of(&envelope.address)).await;
        let taken = self.handle(&entered.chat, envelope).await;
        drop(entered);
        taken
    }

    /// Whether an event was taken before. One that was only reserved when a crash came was not.
    pub async fn has_taken(&self, envelope: &Envelope) -> Result<bool, NotTaken> {
        let Some(owner) = self.owner(envelope).await? else { return Ok(false) };
        let snapshot = self.house.snapshot();
        let owner = snapshot.agents.get(&owner).and_then(|entry| entry.state.context());
        match owner {
            Some(agent) => Ok(agent.store.has_event(event_name(envelope)).await?),
            None => Ok(false),
        }
    }

    async fn handle(&self, chat: &Arc<Chat>, envelope: Envelope) -> Result<(), NotTaken> {
        let snapshot = self.house.snapshot();
        let found = snapshot.route(&envelope.address);
        // What nobody will keep costs no flush: most of what is said in a group is not for us,
        // and strangers can say as much as they like. It may be what an earlier route had
        // reserved, though.
        if let Ok(Answering { context, .. }) = &found
            && !dispatch::is_asked(context)
        {
            let concern = self.concern(context, &envelope).await?;
            if concern != Concern::Ours && self.owner(&envelope).await?.is_none() {
                return self.leave(concern, context, &envelope).await;
            }
        }
        let Some((agent, is_repeat)) = self.reserve(&snapshot, found, &envelope).await? else {
            return Ok(());
        };
        if agent.session_key(&envelope.address).to_string().len() > NAME_BYTES_MAX {
            self.house.visits.count(Visit::Unrouted);
            tracing::warn!(agent = %agent.id, platform = %envelope.address.platform, "a message was refused: the ids of its chat are too long for a conversation");
            return Ok(());
        }
        let event = event_name(&envelope);
        if is_repeat && agent.store.has_event(event.clone()).await? {
            self.house.visits.count(Visit::Repeated);
            return Ok(());
        }
        let (agent, envelope) = match self.dispatch(&snapshot, agent, envelope, is_repeat).await? {
            Dispatched::Go(agent, envelope) => (agent, envelope),
            Dispatched::Stop => {
                self.house.visits.count(Visit::Stopped);
                return Ok(());
            }
        };
        let Some(guest) = self.admit(&agent, &envelope).await? else {
            return self.leave(Concern::Stranger, &agent, &envelope).await;
        };
        let visitor = Visitor { agent: &agent, guest, envelope: &envelope, event };
        match &envelope.what {
            Happening::Said(message) => self.said(chat, &visitor, message).await,
            other => self.happened(chat, &visitor, other).await,
        }
    }

    /// Who somebody is at an agent's door; `None` where they may not come in.
    async fn admit(
        &self,
        agent: &AgentContext,
        envelope: &Envelope,
    ) -> Result<Option<Guest>, StoreError> {
        // What happens to our account, or to a chat as a whole, is the platform's word.
        let Envelope { address, sender, what, .. } = envelope;
        if matches!(what, Happening::Removed | Happening::Moved(_) | Happening::Deleted(_)) {
            return Ok(happenings::platform(agent, address));
        }
        let asker = Asker { address, also: &sender.also, is_bot: sender.is_bot };
        self.house.admit(agent, asker).await
    }

    /// Whether something concerns an agent at all.
    async fn concern(
        &self,
        agent: &AgentContext,
        envelope: &Envelope,
    ) -> Result<Concern, StoreError> {
        let Some(guest) = self.admit(agent, envelope).await? else { return Ok(Concern::Stranger) };
        let Happening::Said(message) = &envelope.what else { return Ok(Concern::Ours) };
        Ok(match said::heed(agent, &envelope.address, message) {
            _ if message.is_for_another => Concern::Others,
            // An admin's yes that names what it answers needs to be addressed to nobody.
            Heed::Pass if guest.is_admin() && answering::names_one(message) => Concern::Ours,
            Heed::Pass => Concern::Others,
            Heed::Answer | Heed::Observe => Concern::Ours,
        })
    }

    /// Leaves something alone that does not concern an agent.
    async fn leave(
        &self,
        concern: Concern,
        agent: &Arc<AgentContext>,
        envelope: &Envelope,
    ) -> Result<(), NotTaken> {
        match concern {
            Concern::Stranger => {
                if let Some(told) = door::turn_away(&self.house, agent, envelope).await? {
                    let Some(told) = self.told(agent, told, envelope) else { return Ok(()) };
                    if matches!(envelope.what, Happening::Added)
                        && !self.enter(agent, envelope).await
                    {
                        return Ok(());
                    }
                    // Nothing of a stranger's is kept, and a code is kept as a hash.
                    let place = Place::of(&envelope.address);
                    let owner = Owner::at_the_door(&self.house, agent);
                    self.whisper_to(owner, agent.clone(), place, told).await;
                }
                Ok(())
            }
            Concern::Others | Concern::Ours => {
                self.house.visits.count(Visit::Passed);
                Ok(())
            }
        }
    }

    /// What is really said to somebody who is turned away.
    fn told(&self, agent: &AgentContext, told: Told, envelope: &Envelope) -> Option<String> {
        let (spot, now) = (Spot::of(&envelope.address), self.house.world.clock.elapsed());
        let who = envelope.address.user.as_ref()?.as_str();
        match told {
            Told::Code(text) => Some(text),
            Told::Full(text) => {
                self.crowded.may_tell(&agent.id, spot, who, now).then(|| text.to_owned())
            }
        }
    }

    /// Joins a chat to say something there; whether that can be.
    async fn enter(&self, agent: &AgentContext, envelope: &Envelope) -> bool {
        let address = &envelope.address;
        let adapter = self.lines.adapter(address.platform, &address.account);
        let Some(adapter) = adapter else { return false };
        match adapter.join(&Place::of(address).target(self.owner_of(agent))).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(agent = %agent.id, platform = %address.platform, %error, "a chat could not be joined");
                false
            }
        }
    }

    /// The account that an event came by.
    fn account(&self, envelope: &Envelope) -> AccountLease {
        self.house.owner.account(envelope.address.platform, &envelope.address.account)
    }

    async fn owner(&self, envelope: &Envelope) -> Result<Option<AgentId>, StoreError> {
        self.account(envelope).owner_of(&envelope.event.0).await
    }

    /// The agent that an event is, from its first delivery on, and whether this is a later one;
    /// `None` where nobody takes it.
    async fn reserve(
        &self,
        snapshot: &Snapshot,
        found: Result<Answering, Refusal>,
        envelope: &Envelope,
    ) -> Result<Option<(Arc<AgentContext>, bool)>, NotTaken> {
        let owner = match found {
            Ok(Answering { context, .. }) => {
                match self.account(envelope).reserve(&envelope.event.0, &context.id).await? {
                    Reserved::New => return Ok(Some((context, false))),
                    Reserved::Seen(owner) => owner,
                }
            }
            Err(refusal) => match self.owner(envelope).await? {
                Some(owner) => owner,
                None => {
                    self.refuse(snapshot, &refusal, envelope).await?;
                    return Ok(None);
                }
            },
        };
        match snapshot.agents.get(&owner).map(|entry| &entry.state) {
            Some(State::Ready(context)) => Ok(Some((context.clone(), true))),
            _ => {
                let reason = "the agent it was for does not serve".into();
                let refusal = Refusal::NotServing { agent: owner, reason };
                self.refuse(snapshot, &refusal, envelope).await?;
                Ok(None)
            }
        }
    }

    /// Refuses what nobody serves: counted and reported, and never another agent's. Who may talk
    /// to an agent that is paused is told so, and its admins can let it go on.
    async fn refuse(
        &self,
        snapshot: &Snapshot,
        refusal: &Refusal,
        envelope: &Envelope,
    ) -> Result<(), NotTaken> {
        let address = &envelope.address;
        // Rare, and deep: the way of every other event does not carry it.
        if Box::pin(self.is_let_go_on(snapshot, refusal, envelope)).await? {
            self.house.visits.count(Visit::Command);
            tracing::info!(platform = %address.platform, account = %address.account, "an agent was let go on by a message");
            return Ok(());
        }
        self.house.visits.count(Visit::Unrouted);
        tracing::info!(platform = %address.platform, account = %address.account, %refusal, "a message was refused");
        Ok(())
    }

    /// Tells who may talk to an agent that is paused that it is; whether this was an admin's word
    /// that it may go on.
    async fn is_let_go_on(
        &self,
        snapshot: &Snapshot,
        refusal: &Refusal,
        envelope: &Envelope,
    ) -> Result<bool, NotTaken> {
        let Refusal::NotServing { agent, .. } = refusal else { return Ok(false) };
        let Some(State::Paused(agent)) = snapshot.agents.get(agent).map(|entry| &entry.state)
        else {
            return Ok(false);
        };
        let Happening::Said(message) = &envelope.what else { return Ok(false) };
        if said::heed(agent, &envelope.address, message) != Heed::Answer || message.is_for_another {
            return Ok(false);
        }
        let Some(guest) = self.admit(agent, envelope).await? else { return Ok(false) };
        let visitor = Visitor { agent, guest, envelope, event: event_name(envelope) };
        Ok(self.while_paused(&visitor, message.words.instruction()).await)
    }

    /// Says something of the gateway's own.
    async fn say(&self, visitor: &Visitor<'_>, text: impl Into<String>) {
        self.tell(visitor.agent.clone(), visitor.place(), text.into()).await;
    }

    /// Says something of the gateway's own, behind what the agent said in the chat before.
    async fn tell(&self, agent: Arc<AgentContext>, place: Place, markdown: String) {
        let put = self.own_line(&agent, &place, &markdown);
        if let Err(error) = self.put(&agent, vec![put]).await {
            tracing::warn!(agent = %agent.id, %error, "a line of the gateway's can't be kept; it is said at once");
            self.whisper(agent, place, markdown).await;
        }
    }

    /// A line of the gateway's own for the outbox, from which it leaves in its order and after
    /// a crash too.
    fn own_line(&self, agent: &AgentContext, place: &Place, text: &str) -> AgentCommand {
        let line = Enqueue {
            session: None,
            turn: None,
            to: place.origin(None),
            text: self.engine.told(agent, text.to_owned()),
            name: None,
            buttons: Vec::new(),
            at: self.now(),
        };
        AgentCommand::Outbox(OutboxCommand::Enqueue(Box::new(line)))
    }

    async fn put(&self, agent: &AgentContext, batch: Vec<AgentCommand>) -> Result<(), StoreError> {
        agent.store.commit(batch).await.map(drop)
    }

    /// Whether what is in an agent's outbox leaves it now.
    fn is_serving(&self, agent: &AgentContext) -> bool {
        let snapshot = self.house.snapshot();
        let state = snapshot.agents.get(&agent.id).map(|entry| &entry.state);
        matches!(state, Some(State::Ready(_)))
    }

    /// Says something at once and keeps nothing of it. Nobody waits for a platform that is slow
    /// to take it, unless too many lines are on their way already.
    async fn whisper(&self, agent: Arc<AgentContext>, place: Place, markdown: String) {
        let owner = self.owner_of(&agent);
        self.whisper_to(owner, agent, place, markdown).await;
    }

    /// Whose conversations an agent's are, as of now.
    fn owner_of(&self, agent: &AgentContext) -> Owner {
        Owner::of(&self.house, agent)
    }

    async fn whisper_to(
        &self,
        owner: Owner,
        agent: Arc<AgentContext>,
        place: Place,
        markdown: String,
    ) {
        let room = {
            let mut agents = self.lines_out.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Arc::new(Semaphore::new(LINES_OUT_MAX));
            agents.entry(agent.id.clone()).or_insert_with(new).clone()
        };
        // Never closed.
        let Ok(permit) = room.acquire_owned().await else { return };
        let out = self.out.clone();
        tokio::spawn(async move {
            let _permit = permit;
            out.say(&agent, owner, &place, Body { markdown, ..Body::default() }).await;
        });
    }

    fn now(&self) -> Timestamp {
        self.house.world.clock.now()
    }

    /// Goes on with what waited for a turn when the daemon ended. Before anything new is taken,
    /// and after the engine went on with its turns.
    pub async fn resume(&self) -> Result<(), NotTaken> {
        let daemon = self.house.owner.daemon();
        let before = ago(self.now(), REMEMBERED);
        let prune = vec![DaemonCommand::PruneEvents { before }];
        daemon.commit(prune).await?;
        let snapshot = self.house.snapshot();
        for id in daemon.busy().await? {
            let Some(State::Ready(agent)) = snapshot.agents.get(&id).map(|entry| &entry.state)
            else {
                self.asleep.add(id);
                continue;
            };
            for row in agent.store.inbox_waiting().await? {
                self.take_up(agent, &row).await;
            }
        }
        Ok(())
    }
}

/// Whether something concerns an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Concern {
    /// It does.
    Ours,
    /// It was said to others.
    Others,
    /// Whoever said it may not talk to it.
    Stranger,
}

/// What an agent knows an event by.
fn event_name(envelope: &Envelope) -> EventName {
    let address = &envelope.address;
    EventName {
        who: format!("{}:{}", address.platform, address.account).into(),
        key: bounded(&envelope.event.0),
    }
}

/// A name that is short enough to be kept: one that is too long is known by its hash.
fn bounded(name: &str) -> Box<str> {
    const BYTES_MAX: usize = 200;
    if name.len() <= BYTES_MAX {
        return name.into();
    }
    format!("hash:{}", blake3::hash(name.as_bytes()).to_hex()).into()
}

fn ago(now: Timestamp, time: Duration) -> Timestamp {
    let time = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(time))
}
