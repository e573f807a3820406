//! The engine: accepts messages, durably, and sees that each gets its turn.

use crate::TurnHandle;
use crate::approvals::Approvals;
use crate::budget::{BudgetRefusal, Budgets, Payer};
use crate::control::BusyMode;
use crate::current::Admitted;
use crate::debounce::Debounce;
use crate::gate::Tools;
use crate::history::{WindowCache, text_tokens};
use crate::lanes::{Busy, Lanes, Work};
use crate::live::{Live, LiveTurn, Voice};
use crate::made::CallsMade;
use crate::one_off::OneOffs;
use crate::redaction::Redaction;
use crate::seen::Seen;
use crate::subagents::{Gauge, Kin};
use crate::transcript::{outputs_of, text_of};
use crate::{compress, prompt, run, serve};
use arc_swap::ArcSwap;
use insula_capabilities::Capabilities;
use insula_config::DaemonConfig;
use insula_config::model::ModelRef;
use insula_domain::Actor;
use insula_domain::ScopeName;
use insula_domain::{Label, SessionKey};
use insula_models::{Chain, Link, RetryPolicy, ToolSchema, Transport};
use insula_registry::context::AgentContext;
use insula_registry::context::Whereabouts;
use insula_registry::daemon::Daemon;
use insula_registry::events::turn::{TurnEnd, TurnEvent};
use insula_registry::providers;
use insula_registry::secrets::DaemonKeys;
use insula_registry::whole::Whole;
use insula_store::turn::MESSAGES_AT_ONCE_MAX;
use insula_store::{
    Accept, Accepted, AgentCommand, DeliveryDestination, Flush, IdempotencyKey, MessageSeq,
    NewMessage, OpenSession, Part, Role, SessionId, SessionRef, StoreError, TurnId, TurnStatus,
};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// A message that found its agent.
pub struct Inbound {
    /// The agent, at the generation that will serve the turn.
    pub agent: Arc<AgentContext>,
    /// The conversation.
    pub session: SessionKey,
    /// What its scope depends on; the engine decides it.
    pub scope: Whereabouts,
    /// Who will hear the reply.
    pub label: Label,
    /// Who said it, as records name them.
    pub principal: Actor,
    /// What was said before, where the caller brings its own history.
    pub history: Vec<(Role, Vec<Part>)>,
    /// What was said.
    pub parts: Vec<Part>,
    /// What a repetition of it would carry.
    pub idempotency: Option<IdempotencyKey>,
    /// Where the reply goes, if it leaves by the outbox.
    pub origin: Option<DeliveryDestination>,
    /// When whoever sent it is told that it was taken.
    pub acknowledge: Acknowledge,
}

/// When the sender of a message is told that it was taken; by then it is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledge {
    /// As soon as it is journalled.
    AtOnce,
    /// With the reply, which is journalled after it: one flush serves both.
    WithReply,
}

/// What is committed together with a message, and how it is taken.
#[derive(Default)]
pub struct Around {
    /// Changes that belong to it.
    pub first: Vec<AgentCommand>,
    /// What the model should know besides, and its sender did not say: shown before the message,
    /// and counted among nobody's words.
    pub context: Vec<String>,
    /// For how long its turn waits for more from the same person. What they say in one breath
    /// is answered as one.
    pub quiet: Duration,
    /// What it does to a turn of the same person that is under way.
    pub mode: BusyMode,
    /// What it is called where it was said, and whatever else it is one with: while it waits it
    /// can be changed by that name.
    pub names: Vec<Box<str>>,
}

/// Why a message was not taken.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// the session has as many turns waiting as it may have
    #[error("agent `{agent}` has too much to do in this conversation; try again later")]
    Busy {
        /// The agent.
        agent: insula_domain::AgentId,
    },
    /// the message came before
    #[error("this request was taken before")]
    Known {
        /// The turn it became.
        turn: insula_store::TurnId,
        /// How that stands.
        status: TurnStatus,
    },
    /// the conversation has a turn under way
    #[error("a turn is under way in this conversation; stop it or wait for its end")]
    UnderWay {
        /// The turn.
        turn: insula_store::TurnId,
    },
    /// a budget has no room for it
    #[error(transparent)]
    Budget(#[from] BudgetRefusal),
    /// the store could not take it
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Everything a turn needs besides its agent.
pub(crate) struct Shop {
    pub(crate) daemon: Arc<Daemon>,
    /// What the hands of tools are made of.
    pub(crate) caps: Capabilities,
    transport: Transport,
    /// The providers, and the configuration and secrets they were built from.
    providers: ArcSwap<Built>,
    /// The tools that this engine runs.
    pub(crate) built: Tools,
    pub(crate) schemas: BTreeMap<Box<str>, ToolSchema>,
    pub(crate) preamble_text: Arc<str>,
    pub(crate) windows: WindowCache,
    pub(crate) budgets: Budgets,
    pub(crate) approvals: Approvals,
    pub(crate) subagents: Gauge,
}

struct Built {
    from: Arc<DaemonConfig>,
    keys: Arc<DaemonKeys>,
    built: providers::Built,
}

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
    pub fn new(caps: Capabilities, transport: Transport) -> Self {
        Self::with_tools(caps, transport, insula_tools::BUILT_IN)
    }

    /// The same with other tools than the built-in ones.
    pub fn with_tools(caps: Capabilities, transport: Transport, tools: Tools) -> Self {
        let daemon = caps.daemon.clone();
        let schemas = tools.iter().filter_map(|tool| {
            // The tools' own tests parse every schema.
            let schema =
                ToolSchema::new(tool.name(), tool.description(), tool.parameters()).ok()?;
            Some((tool.name().into(), schema))
        });
        let from = daemon.snapshot().daemon.clone();
        let keys = daemon.secrets.known().daemon().clone();
        let built = daemon.providers(&from, &keys, &transport);
        let one_offs = OneOffs::new(caps.clone());
        let shop = Shop {
            providers: ArcSwap::from_pointee(Built { from, keys, built }),
            budgets: Budgets::new(daemon.clone()),
            approvals: Approvals::new(daemon.clone()),
            subagents: Gauge::default(),
            daemon,
            caps,
            transport,
            built: tools,
            schemas: schemas.collect(),
            preamble_text: prompt::preamble_text(),
            windows: WindowCache::default(),
        };
        Self {
            shop: Arc::new(Whole::new(shop)),
            lanes: Lanes::new(),
            live: Arc::default(),
            one_offs,
        }
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
        let now = self.shop.daemon.world.clock.now().as_millis();
        let session = agent.store.session(current).await?;
        Ok(session.is_some_and(|it| reset.is_due(it.active_at.as_millis(), now)))
    }

    /// The session that a message would be in: the current one, or one that begins now.
    pub async fn open_session(&self, inbound: &Inbound) -> Result<SessionId, StoreError> {
        let Inbound { agent, session, scope, label, .. } = inbound;
        let open = OpenSession {
            key: session.to_string().into(),
            scope: self.scope(agent, scope, session).await,
            label: label.to_string().into(),
            at: self.shop.daemon.world.clock.now(),
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
        let now = self.shop.daemon.world.clock.elapsed();
        let debounce = Debounce::new(around.quiet, &inbound, now);
        let Inbound {
            agent,
            session: key,
            scope: from,
            label,
            principal,
            history,
            parts,
            idempotency,
            origin,
            acknowledge,
        } = inbound;
        let at = self.shop.daemon.world.clock.now();
        let scope = self.scope(&agent, &from, &key).await;
        let label: Arc<str> = label.to_string().into();
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
        let open = OpenSession {
            key: key.to_string().into(),
            scope: scope.clone(),
            label: label.clone(),
            at,
        };
        let budget = agent.boundary.budget;
        let payer = Payer { agent: &agent, principal: &principal, scope: &scope, budget };
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
        let said = message(Role::User, parts);
        let flush = match acknowledge {
            Acknowledge::AtOnce => Flush::Now,
            Acknowledge::WithReply => Flush::Later,
        };
        let accept = Accept { session: open, message: said.clone(), idempotency, origin, flush };
        batch.push(AgentCommand::Accept(Box::new(accept)));
        let has_context = !around.context.is_empty();
        if has_context {
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
        let admitted = Admitted::by(&self.shop.daemon, &agent, &principal, &from.address);
        let context = run::TurnContext {
            files: agent.workspace.files(
                &key,
                session,
                &agent.store.seals(),
                &self.shop.daemon.world,
            ),
            agent: agent.clone(),
            session,
            turn,
            principal,
            scope,
            seen: Seen::new(&label),
            made: CallsMade::default(),
            // What came with it is read from the journal.
            message: (!has_context).then_some((seq, said)),
            asked: seq,
            key: key.clone(),
            from,
            interrupted: BTreeMap::new(),
            live,
            kin: Kin::root(turn),
            admitted,
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
        let daemon = &self.shop.daemon;
        let voice = Voice::new(daemon.registry.hub.clone(), daemon.secrets.clone(), key, turn);
        Arc::new(LiveTurn::new(turn, principal, voice, debounce, names))
    }

    /// Puts a turn at the end of its session's lane.
    pub(super) fn line_up(&self, key: &SessionKey, context: run::TurnContext) -> Result<(), Busy> {
        let leave = self.live.enter(key, context.live.clone());
        let (who, stop) = (context.principal.clone(), context.live.cancel.clone());
        let debounce = context.live.debounce.is_some().then(|| {
            let (live, clock) = (context.live.clone(), self.shop.daemon.world.clock.clone());
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
        self.lanes.enter(key, Work { who, debounce, run: Box::pin(work), stop })
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
                let text = messages.first().map(|it| text_of(&it.parts)).unwrap_or_default();
                let text = self.shop.redaction(agent).told(text);
                TurnEnd::Replied { text, usage: known.usage, cut: known.cut }
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
        Ok(Some(TurnHandle { turn, events }))
    }
}

impl Shop {
    /// What keeps secrets out of a turn of `agent`, as they are now.
    pub(crate) fn redaction(&self, agent: &AgentContext) -> Redaction {
        Redaction::of(&agent.id, &self.daemon.secrets.known())
    }

    /// The providers of the configuration and the secrets that hold now, built anew when
    /// either changed.
    fn providers(&self) -> Arc<Built> {
        let from = self.daemon.snapshot().daemon.clone();
        let built = self.providers.load_full();
        let keys = self.daemon.secrets.known().daemon().clone();
        if Arc::ptr_eq(&built.from, &from) && Arc::ptr_eq(&built.keys, &keys) {
            return built;
        }
        let providers = self.daemon.providers(&from, &keys, &self.transport);
        let built = Arc::new(Built { from, keys, built: providers });
        self.providers.store(built.clone());
        built
    }

    /// The models of an agent, in order, of which the generation that holds now leaves it those
    /// it has too, where that is another; an error says which one leads nowhere.
    pub(crate) fn chain_under(
        &self,
        agent: &AgentContext,
        now: Option<&AgentContext>,
    ) -> Result<Chain, String> {
        let built = self.providers();
        let providers::Built { providers, unusable } = &built.built;
        let is_left = |model: &&ModelRef| now.is_none_or(|now| now.leaves(agent, model));
        let links: Result<Vec<Link>, String> = agent
            .models
            .models
            .iter()
            .filter(is_left)
            .map(|model| {
                if let Some(why) = unusable.get(&*model.provider) {
                    return Err(format!("provider `{}` can't be used: {why}", model.provider));
                }
                let provider = providers.get(&model.provider).cloned();
                let provider = provider.ok_or_else(|| {
                    let name = &model.provider;
                    format!("provider `{name}` can't be used; give it a key under `providers.{name}` in config.yaml")
                })?;
                Ok(Link { provider, model: (*model.name).into() })
            })
            .collect();
        let mut links = links?.into_iter();
        let first = links.next().ok_or_else(|| {
            format!("agent `{}` may not use the model any more that this turn began with", agent.id)
        })?;
        Ok(Chain::new(first, links.collect(), RetryPolicy::default()))
    }

    /// How large the history of an agent's conversations may get, in tokens: what its smallest
    /// model can be shown beside the fixed part.
    pub(crate) fn history_tokens(
        &self,
        agent: &AgentContext,
        chain: &Chain,
        tools: &[ToolSchema],
    ) -> usize {
        let windows = chain.links().map(|link| insula_models::context_window(&link.model));
        let schemas: usize = tools.iter().map(ToolSchema::size).sum();
        let told = agent.identity.instructions.as_ref().map_or(0, |it| text_tokens(&it.text));
        let fixed =
            text_tokens(&agent.identity.soul.text) + told + text_tokens(&self.preamble_text);
        compress::limit(windows.min().unwrap_or_default(), fixed + schemas / 4)
    }

    /// The tools the model is shown: those the table exposes and this version runs.
    pub(crate) fn tools(&self, agent: &AgentContext) -> Arc<[ToolSchema]> {
        agent.toolbox.shown(agent.tools(), &self.schemas)
    }

    /// The same with what was found in this conversation, where tools are held back.
    pub(crate) fn tools_in(
        &self,
        agent: &AgentContext,
        history: &[insula_store::Message],
    ) -> Arc<[ToolSchema]> {
        let shown = self.tools(agent);
        if !agent.toolbox.holds_back() {
            return shown;
        }
        let results = outputs_of(history, "tool_search");
        agent.toolbox.shown_with(shown, results.into_iter().flat_map(insula_tools::found))
    }
}
