//! The engine: accepts messages, durably, and sees that each gets its turn.

use crate::TurnHandle;
use crate::admitted::Admitted;
use crate::approvals::Approvals;
use crate::budget::{Budgets, Payer};
use crate::client::{self, ClientResult};
use crate::course::FailureCounts;
use crate::debounce::Debounce;
use crate::gate::Tools;
use crate::history::arrange;
use crate::lanes::{Busy, Lanes, Work};
use crate::live::{Live, LiveTurn, Voice};
use crate::made::CallsMade;
use crate::messages::text_of;
use crate::one_off::OneOffs;
use crate::probe::{self, ProviderTried};
use crate::redaction::Redaction;
use crate::seen::{Seen, text_of as text_of_label};
use crate::serve;
use crate::shop::Shop;
use crate::subagents::Kin;
use crate::submit::{Acknowledge, Around, Inbound, SubmitError};
use crate::turn::TurnContext;
use insula_capabilities::{Capabilities, Opened};
use insula_domain::Actor;
use insula_domain::ScopeName;
use insula_domain::SessionKey;
use insula_models::Transport;
use insula_registry::context::AgentContext;
use insula_registry::context::Whereabouts;
use insula_registry::events::turn::{TurnEnd, TurnEvent};
use insula_registry::whole::Whole;
use insula_store::turn::MESSAGES_AT_ONCE_MAX;
use insula_store::{
    Accept, Accepted, AgentCommand, Arrival, Flush, IdempotencyKey, Join, MessageSeq, NewMessage,
    OpenSession, Part, Role, SessionId, SessionRef, StoreError, TurnId, TurnStatus, Window,
};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc;

/// What is looked at for calls that wait: the end of a conversation.
const LAST_TURN: Window = Window { messages: 64, bytes: 1024 * 1024 };

/// Takes messages and runs their turns.
#[derive(Clone)]
pub struct Engine {
    pub(crate) shop: Arc<Whole<Shop>>,
    pub(super) lanes: Lanes,
    pub(super) live: Arc<Live>,
    pub(super) one_offs: OneOffs,
}

impl Engine {
    /// An engine over a daemon; its providers are made by `transport`.
    pub fn new(opened: &Opened, transport: Transport) -> Self {
        Self::with_tools(opened, transport, insula_tools::BUILT_IN)
    }

    /// The same with other tools than the built-in ones.
    pub fn with_tools(opened: &Opened, transport: Transport, tools: Tools) -> Self {
        Self::hosting(opened, transport, tools)
    }

    pub fn budgets(&self) -> &Budgets {
        &self.shop.budgets
    }

    /// What waits for somebody's approval.
    pub fn approvals(&self) -> &Approvals {
        &self.shop.approvals
    }

    /// What the hands of tools are made of.
    pub fn capabilities(&self) -> &Capabilities {
        &self.shop.caps
    }

    /// How many children run now, in the whole daemon.
    pub fn children_running(&self) -> usize {
        self.shop.subagents.count()
    }

    /// Tries every provider that an agent asks, by what costs nothing: each, whose it is, and what
    /// came of it.
    pub async fn try_providers(&self) -> Vec<ProviderTried> {
        probe::all(&self.shop).await
    }

    /// How many turns failed since the start, by cause.
    pub fn failures(&self) -> &FailureCounts {
        &self.shop.failures
    }

    /// Takes a message: when this returns it is durable, and its turn will be run.
    pub async fn submit(&self, inbound: Inbound) -> Result<TurnHandle, SubmitError> {
        self.submit_with(inbound, Around::default()).await
    }

    /// Whether a conversation in which nothing runs is to start afresh with the next message.
    pub(super) async fn is_over(
        &self,
        agent: &AgentContext,
        key: &SessionKey,
    ) -> Result<bool, StoreError> {
        let reset = agent.access.reset;
        if !reset.is_ever() || self.live.first(key).is_some() {
            return Ok(false);
        }
        let current = SessionRef::Key(key.to_string().into());
        let now = self.shop.world.clock.now().as_millis();
        let session = agent.store.session(current).await?;
        let zone = &agent.conversations.zones.own;
        Ok(session.is_some_and(|it| reset.is_due(it.active_at.as_millis(), now, zone)))
    }

    /// The session that a message would be in: the current one, or one that begins now.
    pub async fn open_session(&self, inbound: &Inbound) -> Result<SessionId, StoreError> {
        let Inbound { agent, session, scope, label, .. } = inbound;
        let open = OpenSession {
            key: session.to_string().into(),
            scope: self.scope(agent, scope, session).await,
            label: label.audiences_alone().to_string().into(),
            at: self.shop.world.clock.now(),
        };
        let batch = vec![AgentCommand::OpenSession(open)];
        let done = agent.store.commit(batch).await?;
        done.session().ok_or(StoreError::Closed)
    }

    /// Journals a message, after `first`, and lines its turn up. The caller holds the lock of
    /// the session.
    pub(super) async fn accept(
        &self,
        inbound: Inbound,
        around: Around,
    ) -> Result<TurnHandle, SubmitError> {
        let now = self.shop.world.clock.elapsed();
        let debounce = Debounce::new(around.quiet, &inbound, now);
        let label = inbound.whole_label(&around.results).join(&around.seen);
        let Inbound {
            agent,
            session: key,
            scope: from,
            label: _,
            principal,
            mut history,
            parts,
            idempotency,
            origin,
            acknowledge,
        } = inbound;
        let are_awaited = match history.is_empty() {
            true => self.expect_waiting(&agent, &key, &around.results).await,
            false => Ok(()),
        };
        let results = client::enclose(&self.shop.world, &agent, &mut history, around.results);
        let at = self.shop.world.clock.now();
        let scope = self.scope(&agent, &from, &key).await;
        let begins = label.audiences_alone().to_string().into();
        let label = text_of_label(&label);
        let redaction = self.shop.redaction(&agent);
        let message = |role, parts| NewMessage {
            role,
            parts: redaction.parts(parts),
            principal: principal.clone(),
            scope: scope.clone(),
            label: label.clone(),
            generation: agent.generation.0,
            at,
        };
        let open =
            OpenSession { key: key.to_string().into(), scope: scope.clone(), label: begins, at };
        let budget = agent.boundary.budget;
        let ways = from.ways(&self.shop.access, &agent.id);
        let payer =
            Payer { agent: &agent, principal: &principal, scope: &scope, budget, ways: &ways };
        let admission = self.shop.budgets.admit(payer)?;
        let mut batch = around.first;
        if !history.is_empty() {
            batch.push(AgentCommand::OpenSession(open.clone()));
            let messages: Vec<NewMessage> =
                history.into_iter().map(|(role, parts)| message(role, parts)).collect();
            batch.extend(messages.chunks(MESSAGES_AT_ONCE_MAX).map(|some| AgentCommand::Append {
                session: SessionRef::Key(open.key.clone()),
                messages: some.to_vec(),
            }));
        }
        let wishes = around.wishes.kept(&redaction);
        let (said, more) = match results.is_empty() {
            true => (message(Role::User, parts), None),
            false => {
                let more = (!parts.is_empty()).then(|| message(Role::User, parts));
                (message(Role::Tool, results), more)
            }
        };
        let is_alone = more.is_none() && around.context.is_empty();
        if let Err(refused) = are_awaited {
            return Err(taken_before(&agent, said, idempotency).await?.unwrap_or(refused));
        }
        let flush = match acknowledge {
            Acknowledge::AtOnce => Flush::Now,
            Acknowledge::WithReply => Flush::Later,
        };
        let arrival = Arrival {
            said_at: from.to_keep(&key, &principal).map(Into::into),
            ways: ways.iter().map(|way| way.name.clone()).collect(),
        };
        let message = said.clone();
        let accept = Accept { session: open, message, idempotency, origin, arrival, flush };
        batch.push(AgentCommand::Accept(Box::new(accept)));
        batch.extend(more.map(|more| AgentCommand::Beside(vec![more])));
        if !around.context.is_empty() {
            batch.push(AgentCommand::Beside(beside(&redaction, around.context, &said)));
        }
        let done = agent.store.commit(batch).await?;
        let (turn, session, seq) = match done.accepted() {
            Some(Accepted::New { turn, session, seq }) => (turn, session, seq),
            Some(Accepted::Known { turn, status, .. }) => {
                return Err(SubmitError::Known { turn, status });
            }
            None => return Err(SubmitError::Store(StoreError::Closed)),
        };
        admission.keep();
        let live = self.live_turn(&key, turn, principal.clone(), debounce, around.names);
        let handle = live.listen();
        live.voice.say(TurnEvent::Accepted { principal: principal.clone() });
        let admitted = Admitted::by(&self.shop.access, &agent, &principal, &from.address);
        let context = TurnContext {
            files: from.files(&agent, (&key, session), &self.shop.world),
            agent: agent.clone(),
            session,
            turn,
            seen: Seen::new(&label, &principal),
            principal,
            scope,
            made: CallsMade::default(),
            // What came with it is read from the journal.
            message: is_alone.then_some((seq, said)),
            asked: seq,
            key: key.clone(),
            from,
            interrupted: BTreeMap::new(),
            live,
            kin: Kin::root(turn),
            admitted,
            wishes,
        };
        self.line_up(&key, context).map_err(|_| SubmitError::Busy { agent: agent.id.clone() })?;
        Ok(handle)
    }

    /// The scope that what is said is journalled under. Where none can be had that is the
    /// conversation's own, and memory is closed.
    pub(super) async fn scope(
        &self,
        agent: &AgentContext,
        from: &Whereabouts,
        key: &SessionKey,
    ) -> ScopeName {
        self.shop.caps.written_scope(agent, from, key).await
    }

    pub(super) fn live_turn(
        &self,
        key: &SessionKey,
        turn: TurnId,
        principal: Actor,
        debounce: Option<Debounce>,
        names: Vec<Box<str>>,
    ) -> Arc<LiveTurn> {
        let shop = &self.shop;
        let voice = Voice::new(shop.registry.hub.clone(), shop.secrets.clone(), key, turn);
        Arc::new(LiveTurn::new(turn, principal, voice, debounce, names))
    }

    /// Puts a turn at the end of its session's lane.
    pub(super) fn line_up(&self, key: &SessionKey, context: TurnContext) -> Result<(), Busy> {
        let leave = self.live.enter(key, context.live.clone());
        let (who, stop) = (context.principal.clone(), context.live.cancel.clone());
        let place = context.live.place.clone();
        let debounce = context.live.debounce.is_some().then(|| {
            let (live, clock) = (context.live.clone(), self.shop.world.clock.clone());
            Box::pin(async move {
                if let Some(debounce) = &live.debounce {
                    debounce.wait(&*clock).await;
                }
            }) as Pin<Box<dyn Future<Output = ()> + Send>>
        });
        let shop = self.shop.clone();
        let work = async move {
            let _leave = leave;
            // Boxed when it runs: a turn weighs some twenty kilobytes, and many may wait.
            Box::pin(serve::serve(&shop, context)).await;
        };
        self.lanes.enter(key, Work { who, debounce, run: Box::pin(work), stop, place })
    }
}

/// What became of a request of this key, where it came before.
async fn taken_before(
    agent: &AgentContext,
    message: NewMessage,
    idempotency: Option<IdempotencyKey>,
) -> Result<Option<SubmitError>, StoreError> {
    if idempotency.is_none() {
        return Ok(None);
    }
    // Into no turn at all: nothing is written, and what is known is told first.
    let join = Join { turn: TurnId(0), message, idempotency };
    match agent.store.commit(vec![AgentCommand::Join(Box::new(join))]).await {
        Ok(done) => Ok(done.accepted().and_then(|accepted| match accepted {
            Accepted::Known { turn, status, .. } => Some(SubmitError::Known { turn, status }),
            Accepted::New { .. } => None,
        })),
        Err(StoreError::NoTurn { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What stands beside a message in its turn, under nobody's name.
pub(super) fn beside(
    redaction: &Redaction,
    context: Vec<String>,
    said: &NewMessage,
) -> Vec<NewMessage> {
    let beside = context.into_iter().map(|text| NewMessage {
        role: Role::System,
        parts: redaction.parts(vec![Part::Text(text)]),
        principal: Actor::Beside,
        ..said.clone()
    });
    beside.collect()
}

impl Engine {
    /// Whether an agent has a tool of this name, shown or held back, or could get one: those of
    /// servers come and go.
    pub fn has_tool(&self, agent: &AgentContext, name: &str) -> bool {
        name.starts_with("mcp__")
            || agent.toolbox.find(name).is_some()
            || self.shop.tools(agent).iter().any(|tool| *tool.name == *name)
    }

    /// Refuses results of calls that do not wait for any. The caller holds the lock of the
    /// session, so that a result that comes twice is taken once.
    async fn expect_waiting(
        &self,
        agent: &AgentContext,
        key: &SessionKey,
        results: &[ClientResult],
    ) -> Result<(), SubmitError> {
        if results.is_empty() {
            return Ok(());
        }
        let session = SessionRef::Key(key.to_string().into());
        let mut waiting = Vec::new();
        if let Some(session) = agent.store.session(session).await? {
            let mut messages = agent.store.messages_tail(session.id, LAST_TURN).await?;
            arrange(&mut messages);
            waiting = client::waiting(&messages);
        }
        let is_missing = |result: &&ClientResult| waiting.iter().all(|call| call.id != result.call);
        match results.iter().find(is_missing) {
            Some(result) => Err(SubmitError::NotWaiting { call: result.call.clone() }),
            None => Ok(()),
        }
    }

    /// How a turn of an agent ended, as a handle whose only event is that; `None` while it
    /// has not.
    pub async fn ended(
        &self,
        agent: &AgentContext,
        turn: TurnId,
    ) -> Result<Option<TurnHandle>, StoreError> {
        let Some(known) = agent.store.turn(turn).await? else { return Ok(None) };
        let end = match (known.status, known.reply) {
            (TurnStatus::Accepted, _) => return Ok(None),
            (TurnStatus::Replied, Some(reply)) => {
                let before = MessageSeq(reply.0.saturating_sub(1));
                let messages = agent.store.messages_after(known.session, before, 1).await?;
                let parts = messages.first().map(|it| &*it.parts).unwrap_or_default();
                let (text, calls) = (text_of(parts), client::calls_of(parts));
                let (usage, cut) = (known.usage, known.cut);
                self.shop.redaction(agent).end(TurnEnd::Replied { text, usage, cut, calls })
            }
            (TurnStatus::Failed, _) => {
                let error = known.error.unwrap_or_default();
                TurnEnd::Failed { error: self.shop.redaction(agent).told(error) }
            }
            (TurnStatus::Replied | TurnStatus::Stopped, _) => TurnEnd::Stopped,
        };
        let (tell, events) = mpsc::channel(1);
        // There is room for one, and it is the first.
        let _ = tell.try_send(TurnEvent::Ended(end));
        Ok(Some(TurnHandle::of_end(turn, events)))
    }
}
