//! The engine: accepts messages, durably, and sees that each gets its turn.

use crate::context::AgentContext;
use crate::house::House;
use crate::turn::event::{TurnEvent, TurnHandle};
use crate::turn::lanes::{Busy, Lanes};
use crate::turn::{prompt, run};
use insula_domain::{Label, Scope, SessionKey};
use insula_models::{Chain, Link, Providers, RetryPolicy, ToolSchema};
use insula_store::{
    Accept, Accepted, AgentCommand, IdempotencyKey, NewMessage, OpenSession, Part, Role,
    StoreError, TurnStatus,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Events a listener may be behind before deltas are left out.
const EVENTS_WAITING_MAX: usize = 256;

/// A message that found its agent.
pub struct Inbound {
    /// The agent, at the generation that will serve the turn.
    pub agent: Arc<AgentContext>,
    /// The conversation.
    pub session: SessionKey,
    /// The scope.
    pub scope: Scope,
    /// Who will hear the reply.
    pub label: Label,
    /// Who said it, as records name them.
    pub principal: Box<str>,
    /// What was said.
    pub parts: Vec<Part>,
    /// What a repetition of it would carry.
    pub idempotency: Option<IdempotencyKey>,
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
    /// the store could not take it
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Everything a turn needs besides its agent.
pub(crate) struct Shop {
    pub(crate) house: Arc<House>,
    pub(crate) providers: Providers,
    pub(crate) schemas: BTreeMap<&'static str, ToolSchema>,
    pub(crate) house_text: Arc<str>,
}

/// Takes messages and runs their turns.
#[derive(Clone)]
pub struct Engine {
    shop: Arc<Shop>,
    lanes: Lanes,
}

impl Engine {
    /// An engine over a house and its model providers.
    pub fn new(house: Arc<House>, providers: Providers) -> Self {
        let schemas = insula_tools::BUILT_IN.iter().filter_map(|tool| {
            // The tools' own tests parse every schema.
            let schema =
                ToolSchema::new(tool.name(), tool.description(), tool.parameters()).ok()?;
            Some((tool.name(), schema))
        });
        let shop =
            Shop { house, providers, schemas: schemas.collect(), house_text: prompt::house_text() };
        Self { shop: Arc::new(shop), lanes: Lanes::new() }
    }

    /// Takes a message: when this returns it is durable, and its turn will be run.
    pub async fn submit(&self, inbound: Inbound) -> Result<TurnHandle, SubmitError> {
        let Inbound { agent, session, scope, label, principal, parts, idempotency } = inbound;
        let at = self.shop.house.world.clock.now();
        let (scope, label): (Box<str>, Box<str>) =
            (scope.to_string().into(), label.to_string().into());
        let message = NewMessage {
            role: Role::User,
            parts,
            principal: principal.clone(),
            scope: scope.clone(),
            label: label.clone(),
            generation: agent.generation.0,
            at,
        };
        let open = OpenSession {
            key: session.to_string().into(),
            scope: scope.clone(),
            label: label.clone(),
            at,
        };
        let accept = Accept { session: open, message, idempotency };
        let batch = vec![AgentCommand::Accept(Box::new(accept))];
        let done = agent.store.commit(batch, &self.shop.house.fence).await?;
        let (turn, id) = match done.accepted() {
            Some(Accepted::New { turn, session, .. }) => (turn, session),
            Some(Accepted::Known { turn, status, .. }) => {
                return Err(SubmitError::Known { turn, status });
            }
            None => return Err(SubmitError::Store(StoreError::Closed)),
        };
        let (events, listening) = mpsc::channel::<TurnEvent>(EVENTS_WAITING_MAX);
        let context = run::TurnContext {
            agent: agent.clone(),
            session: id,
            turn,
            principal,
            scope,
            label,
            cancel: CancellationToken::new(),
        };
        let work = Box::pin(run::run(self.shop.clone(), context, events));
        match self.lanes.enter(&session, work) {
            Ok(()) => Ok(TurnHandle { turn, events: listening }),
            Err(Busy) => Err(SubmitError::Busy { agent: agent.id.clone() }),
        }
    }
}

impl Shop {
    /// The models of an agent, in order; an error says which one leads nowhere.
    pub(crate) fn chain(&self, agent: &AgentContext) -> Result<Chain, String> {
        let links: Result<Vec<Link>, String> = agent
            .models
            .models
            .iter()
            .map(|model| {
                let provider = self.providers.get(&model.provider).cloned();
                let provider = provider.ok_or_else(|| {
                    format!("provider `{}` of agent `{}` is not usable", model.provider, agent.id)
                })?;
                Ok(Link { provider, model: (*model.name).into() })
            })
            .collect();
        let mut links = links?.into_iter();
        let first = links.next().ok_or_else(|| format!("agent `{}` has no model", agent.id))?;
        Ok(Chain::new(first, links.collect(), RetryPolicy::default()))
    }

    /// The tools the model is shown: those the table exposes and this version runs.
    pub(crate) fn tools(&self, agent: &AgentContext) -> Arc<[ToolSchema]> {
        agent.tools().exposed().filter_map(|name| self.schemas.get(name).cloned()).collect()
    }
}
