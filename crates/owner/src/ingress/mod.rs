//! From an event that reached an agent to a turn, a command or nothing.
//!
//! An event is judged before anything of it is written, recognised by its id, and goes past the
//! hooks. What may come in is durable when [`Ingress::take`] returns: in a turn, or in the
//! agent's inbox until it has one.

mod act;
mod admission;
mod amend;
mod answering;
mod asleep;
mod attachments;
mod board;
mod burst;
mod choosing;
mod commands;
mod cron;
mod dispatch;
mod happenings;
mod hearing;
mod lately;
mod looking;
mod queue;
mod reactions;
mod said;
mod stored;
mod stranger;
mod turn;
mod typed;
mod words;

pub use commands::COMMANDS;
pub use typed::{Clerk, Typing};
pub use words::without_notes;

use crate::delivery::{ChatRef, Relay};
use crate::tenant;
use admission::{Admitted, Concern};
use amend::LastSaid;
use asleep::Asleep;
use dispatch::Dispatched;
use hearing::HearingAside;
use insula_capabilities::Opened;
use insula_channel::{
    Accounts, Arrival, Body, Envelope, EventKey, Happening, Ledger, NotTaken, Path, Taken, Tenant,
};
use insula_domain::clean::Removed;
use insula_domain::{AgentId, Handling, SessionKey};
use insula_registry::access::{AdmittedSender, InboundCounts, InboundOutcome};
use insula_registry::boards::Boards;
use insula_registry::forgotten::Forgotten;
use insula_registry::handoffs::Handoffs;
use insula_registry::jobs::Jobs;
use insula_registry::secrets::SecretBook;
use insula_registry::trail::Trail;
use insula_registry::{Access, AgentContext, AgentState, Daemon, Home, Registry};
use insula_store::session::NAME_BYTES_MAX;
use insula_store::{AgentCommand, Enqueue, EventName, OutboxCommand, Store, StoreError};
use insula_turns::{Engine, cleaned};
use insula_world::{Timestamp, World};
use lately::Lately;
use queue::{Chat, ChatTopicKey, Chats};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tracing::Instrument as _;

/// How often somebody hears that they are refused, as by a budget.
const REFUSED_EVERY: Duration = Duration::from_secs(60);
/// How often somebody hears that there is nothing left for the day.
const USED_UP_EVERY: Duration = Duration::from_secs(60 * 60);
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
    world: World,
    /// Where logs of agents are.
    home: Home,
    store: Store,
    registry: Arc<Registry>,
    access: Arc<Access>,
    jobs: Arc<Jobs>,
    boards: Arc<Boards>,
    handoffs: Arc<Handoffs>,
    secrets: Arc<SecretBook>,
    trail: Trail,
    inbound: Arc<InboundCounts>,
    forgotten: Arc<Forgotten>,
    /// What `/reload` asks.
    daemon: Arc<Daemon>,
    engine: Engine,
    out: Arc<Relay>,
    accounts: Arc<dyn Accounts>,
    chats: Chats,
    asleep: Asleep,
    /// Who was told lately that they are refused.
    lately: Lately,
    /// Who was told lately that there is nothing left for the day.
    used_up: Lately,
    /// Which strangers were told lately that too many wait.
    crowded: Lately,
    /// What was said by voice to others and is being heard.
    hearing: HearingAside,
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

/// Why an event was not taken.
enum Trouble {
    /// The agent's store failed.
    Store(StoreError),
    /// The front can't say whose it is.
    Ledger(NotTaken),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<NotTaken> for Trouble {
    fn from(error: NotTaken) -> Self {
        Self::Ledger(error)
    }
}

impl From<Trouble> for NotTaken {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Store(error) => not_taken(&error),
            Trouble::Ledger(error) => error,
        }
    }
}

fn not_taken(error: &StoreError) -> NotTaken {
    NotTaken(error.to_string().into())
}

/// Somebody who may talk to an agent, and where.
struct IngressContext<'v> {
    agent: &'v Arc<AgentContext>,
    caller: AdmittedSender,
    envelope: &'v Envelope,
    /// The conversation it belongs to.
    session: SessionKey,
    /// What its repetition will carry.
    event: EventName,
}

impl IngressContext<'_> {
    fn place(&self) -> ChatRef {
        ChatRef::of(&self.envelope.address)
    }

    /// Who typed something, for whoever carries it out.
    fn typing(&self) -> Typing<'_> {
        Typing {
            agent: self.agent,
            who: self.caller.actor(),
            is_admin: self.caller.is_admin(),
            address: &self.envelope.address,
            is_chat: true,
            event: Some(format!("{}:{}", self.event.who, self.event.key).into()),
        }
    }
}

impl Ingress {
    /// What takes events for the agents of a daemon.
    pub fn new(
        opened: &Opened,
        engine: Engine,
        (out, accounts): (Arc<Relay>, Arc<dyn Accounts>),
    ) -> Self {
        let Opened { daemon, parts, .. } = opened;
        let inner = Inner {
            world: parts.world.clone(),
            home: parts.home.clone(),
            store: parts.store.clone(),
            registry: parts.registry.clone(),
            access: parts.access.clone(),
            jobs: parts.jobs.clone(),
            boards: parts.boards.clone(),
            handoffs: parts.handoffs.clone(),
            secrets: parts.secrets.clone(),
            trail: parts.trail.clone(),
            inbound: parts.inbound.clone(),
            forgotten: parts.forgotten.clone(),
            daemon: daemon.clone(),
            engine,
            out,
            accounts,
            chats: Chats::default(),
            asleep: Asleep::default(),
            lately: Lately::new(REFUSED_EVERY),
            used_up: Lately::new(USED_UP_EVERY),
            crowded: Lately::new(FULL_EVERY),
            hearing: HearingAside::default(),
            last_said: LastSaid::default(),
            lines_out: Mutex::default(),
            tidied: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Takes an event for an agent. When it returns, what is to be kept of it is durable.
    pub async fn take(
        &self,
        id: &AgentId,
        mut arrival: Arrival,
        ledger: &dyn Ledger,
    ) -> Result<Taken, NotTaken> {
        // Before anything of it is looked at, kept or told.
        let removed = arrival.envelope.clean();
        self.wake().await;
        let entered = self.chats.enter(id, ChatTopicKey::of(&arrival.envelope.address)).await;
        let Some(agent) = self.serving(id) else {
            return Ok(Taken::NotServing(Box::new(arrival.envelope)));
        };
        let span = tracing::debug_span!("ingress", agent = %id);
        let handled = self.handle(&entered.chat, agent, (arrival, removed), ledger);
        let taken = handled.instrument(span).await;
        drop(entered);
        Ok(taken?)
    }

    /// Whether an agent has dealt with an event.
    pub async fn has_taken(&self, id: &AgentId, event: &EventKey) -> Result<bool, NotTaken> {
        let snapshot = self.registry.snapshot();
        match snapshot.agents.get(id).and_then(|entry| entry.state.context()) {
            Some(agent) => {
                let found = agent.store.has_event(event_name(event)).await;
                found.map_err(|error| not_taken(&error))
            }
            None => Ok(false),
        }
    }

    async fn handle(
        &self,
        chat: &Arc<Chat>,
        agent: Arc<AgentContext>,
        (Arrival { envelope, path }, removed): (Arrival, Removed),
        ledger: &dyn Ledger,
    ) -> Result<Taken, Trouble> {
        let session = agent.session_key(&envelope.address);
        if session.to_string().len() > NAME_BYTES_MAX {
            self.inbound.count(InboundOutcome::Unrouted);
            tracing::warn!(agent = %agent.id, platform = %envelope.address.platform, "a message was refused: the ids of its chat are too long for a conversation");
            return Ok(Taken::Done);
        }
        let mut admitted = None;
        // What nobody will keep costs no flush: most of what is said in a group is not for us,
        // and strangers can say as much as they like. It may be what an earlier route had
        // reserved, though.
        if path == Path::Routed && !dispatch::is_asked(&agent) {
            admitted = self.admit(&agent, &envelope).await?;
            let concern = admission::concern(&agent, admitted.as_ref(), &envelope);
            if concern != Concern::Ours && ledger.owner_of(&envelope.event).await?.is_none() {
                self.leave(concern, &agent, &envelope).await?;
                return Ok(Taken::Done);
            }
        }
        let is_repeat = match path {
            Path::Again => true,
            Path::Sent(_) => false,
            Path::Routed => match ledger.reserve(&envelope.event, &agent.id).await? {
                None => false,
                Some(owner) if owner == agent.id => true,
                Some(owner) => return Ok(Taken::Belongs(owner, Box::new(envelope))),
            },
        };
        let event = event_name(&EventKey::of(&envelope));
        if is_repeat && agent.store.has_event(event.clone()).await? {
            self.inbound.count(InboundOutcome::Repeated);
            return Ok(Taken::Done);
        }
        let envelope = match self.dispatch(&agent, envelope, path, ledger).await? {
            Dispatched::Go(envelope) => *envelope,
            Dispatched::Send(to, arrival) => return Ok(Taken::Send(to, arrival)),
            Dispatched::Stop => {
                self.inbound.count(InboundOutcome::Stopped);
                return Ok(Taken::Done);
            }
        };
        if admitted.is_none() {
            admitted = self.admit(&agent, &envelope).await?;
        }
        let Some(Admitted { caller, handling }) = admitted else {
            self.leave(Concern::Stranger, &agent, &envelope).await?;
            return Ok(Taken::Done);
        };
        if !removed.is_empty() {
            let record = cleaned(&self.trail, &agent, &session, &caller.actor(), &removed);
            agent.store.commit(vec![record]).await?;
        }
        let cx = IngressContext { agent: &agent, caller, envelope: &envelope, session, event };
        match &envelope.what {
            Happening::Said(message) => self.said(chat, &cx, message, handling).await?,
            other => self.happened(chat, &cx, other).await?,
        }
        Ok(Taken::Done)
    }

    /// Takes an event for an agent that does not serve; whether it was an admin's word that it
    /// may go on. Who may talk to one that is paused is told so.
    pub async fn take_unserved(&self, id: &AgentId, envelope: &Envelope) -> Result<bool, NotTaken> {
        let done = self.while_not_serving(id, envelope).await;
        done.map_err(|error| not_taken(&error))
    }

    async fn while_not_serving(
        &self,
        id: &AgentId,
        envelope: &Envelope,
    ) -> Result<bool, StoreError> {
        let snapshot = self.registry.snapshot();
        let Some(AgentState::Paused(agent)) = snapshot.agents.get(id).map(|entry| &entry.state)
        else {
            return Ok(false);
        };
        if let Happening::Pressed(press) = &envelope.what {
            self.acknowledge(envelope, press, "I am paused at the moment").await;
        }
        let Happening::Said(message) = &envelope.what else { return Ok(false) };
        let handling = self.handling(agent, &envelope.address, message).await?;
        let is_ours = handling == Handling::Answer;
        if !is_ours || message.is_for_another {
            return Ok(false);
        }
        let Some(Admitted { caller, .. }) = self.admit(agent, envelope).await? else {
            return Ok(false);
        };
        let session = agent.session_key(&envelope.address);
        let event = event_name(&EventKey::of(envelope));
        let cx = IngressContext { agent, caller, envelope, session, event };
        Ok(self.while_paused(&cx, message.words.instruction()).await)
    }

    /// What carries out commands that are the same everywhere.
    fn clerk(&self) -> Clerk<'_> {
        Clerk { registry: &self.registry, jobs: &self.jobs, boards: &self.boards }
    }

    /// The agent, while it serves.
    fn serving(&self, id: &AgentId) -> Option<Arc<AgentContext>> {
        match &self.registry.snapshot().agents.get(id)?.state {
            AgentState::Ready(agent) => Some(agent.clone()),
            _ => None,
        }
    }

    /// Says something of the gateway's own.
    async fn say(&self, cx: &IngressContext<'_>, text: impl Into<String>) {
        self.tell(cx.agent.clone(), cx.place(), text.into()).await;
    }

    /// Says something of the gateway's own, behind what the agent said in the chat before.
    async fn tell(&self, agent: Arc<AgentContext>, place: ChatRef, markdown: String) {
        let put = self.own_line(&agent, &place, &markdown);
        if let Err(error) = self.put(&agent, vec![put]).await {
            tracing::warn!(agent = %agent.id, %error, "a line of the gateway's can't be kept; it is said at once");
            self.whisper(agent, place, markdown).await;
        }
    }

    /// A line of the gateway's own for the outbox, from which it leaves in its order and after
    /// a crash too.
    fn own_line(&self, agent: &AgentContext, place: &ChatRef, text: &str) -> AgentCommand {
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

    /// Says something at once and keeps nothing of it. Nobody waits for a platform that is slow
    /// to take it, unless too many lines are on their way already.
    async fn whisper(&self, agent: Arc<AgentContext>, place: ChatRef, markdown: String) {
        let tenant = self.tenant(&agent);
        self.whisper_to(tenant, agent, place, markdown).await;
    }

    /// Whose conversations an agent's are, as of now.
    fn tenant(&self, agent: &AgentContext) -> Tenant {
        tenant::of(&self.forgotten, agent)
    }

    async fn whisper_to(
        &self,
        tenant: Tenant,
        agent: Arc<AgentContext>,
        place: ChatRef,
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
            out.say(&agent, tenant, &place, Body { markdown, ..Body::default() }).await;
        });
    }

    fn now(&self) -> Timestamp {
        self.world.clock.now()
    }

    /// Goes on with what waited for a turn when the daemon ended. Before anything new is taken,
    /// and after the engine went on with its turns.
    pub async fn resume(&self) -> Result<(), NotTaken> {
        self.take_up_waiting().await.map_err(|error| not_taken(&error))?;
        self.wake().await;
        Ok(())
    }

    async fn take_up_waiting(&self) -> Result<(), StoreError> {
        for id in self.store.daemon().busy().await? {
            let Some(agent) = self.serving(&id) else {
                self.asleep.add(id);
                continue;
            };
            for row in agent.store.inbox_waiting().await? {
                self.take_up(&agent, &row).await;
            }
        }
        Ok(())
    }
}

/// What an agent knows an event by.
fn event_name(EventKey { platform, account, event }: &EventKey) -> EventName {
    EventName { who: format!("{platform}:{account}").into(), key: bounded(&event.0) }
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
