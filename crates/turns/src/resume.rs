//! Turns that a crash cut off: each goes on from its last completed step.

use crate::admitted::Admitted;
use crate::client::Wishes;
use crate::engine::Engine;
use crate::made::CallsMade;
use crate::seen::Seen;
use crate::subagents::Kin;
use crate::turn::TurnContext;
use insula_domain::SessionKey;
use insula_registry::context::AgentContext;
use insula_registry::context::Whereabouts;
use insula_registry::registry::AgentState;
use insula_store::{SessionRef, StoreError};
use std::sync::Arc;

impl Engine {
    /// Goes on with the turns that a crash cut off, each from its last completed step. Before
    /// anything new is taken, so that every conversation keeps its order.
    pub async fn resume(&self) -> Result<(), StoreError> {
        let snapshot = self.shop.registry.snapshot();
        for id in self.shop.store.daemon().busy().await? {
            let Some(AgentState::Ready(agent)) = snapshot.agents.get(&id).map(|entry| &entry.state)
            else {
                tracing::warn!(agent = %id, "unfinished turns wait until the agent serves again");
                continue;
            };
            if let Err(error) = self.resume_agent(agent).await {
                tracing::error!(agent = %id, %error, "unfinished turns can't be read");
            }
        }
        Ok(())
    }

    /// The same of one agent, when it serves again.
    pub async fn resume_agent(&self, agent: &Arc<AgentContext>) -> Result<(), StoreError> {
        for unfinished in agent.store.unfinished().await? {
            let session = SessionRef::Id(unfinished.turn.session);
            let session = agent.store.session(session).await?;
            let (Some(session), Ok(key)) = (session, unfinished.key.parse::<SessionKey>()) else {
                continue;
            };
            // Begun meanwhile, and under way.
            if self.live.find(&key, unfinished.turn.id).is_some() {
                continue;
            }
            let who = &unfinished.turn.principal;
            let said_at = unfinished.said_at.as_deref();
            let Some(from) = Whereabouts::of_session(agent, (&key, who), said_at) else {
                tracing::error!(agent = %agent.id, turn = %unfinished.turn.id, "where a turn was asked for can't be read, so it does not go on");
                continue;
            };
            tracing::info!(agent = %agent.id, turn = %unfinished.turn.id, "going on with a turn");
            let open = insula_store::turn::open_calls(&unfinished.steps);
            let interrupted = open.iter().map(|(id, _, step)| ((*id).into(), *step)).collect();
            let principal = unfinished.turn.principal.clone();
            let live = self.live_turn(&key, unfinished.turn.id, principal, None, Vec::new());
            let context = TurnContext {
                files: from.files(agent, (&key, session.id), &self.shop.world),
                agent: agent.clone(),
                session: session.id,
                turn: unfinished.turn.id,
                principal: unfinished.turn.principal.clone(),
                scope: session.scope,
                seen: Seen::new(&session.label, &unfinished.turn.principal),
                made: CallsMade::default(),
                message: None,
                asked: unfinished.turn.message,
                from,
                key: key.clone(),
                interrupted,
                live,
                kin: Kin::root(unfinished.turn.id),
                admitted: Admitted::default(),
                wishes: Wishes::default(),
            };
            if self.line_up(&key, context).is_err() {
                tracing::warn!(agent = %agent.id, turn = %unfinished.turn.id, "too many unfinished turns in one conversation; the rest waits for the next start");
            }
        }
        Ok(())
    }
}
