//! What people choose for a conversation: which model answers in it, that its older part becomes
//! notes now, and that one which was ended goes on. What may be chosen is decided above.

use crate::engine::Engine;
use crate::notes_wishes::Which;
use crate::submit::Inbound;
use crate::turn::{Broken, Turn};
use insula_config::model::ModelRef;
use insula_domain::SessionKey;
use insula_domain::hook::HookEvent;
use insula_registry::context::AgentContext;
use insula_store::{AgentCommand, MessageSeq, SessionId, SessionRef, StoreError};
use std::sync::Arc;

/// Fewest messages that notes can stand for: fewer are not worth a model call.
const MESSAGES_MIN: u64 = 4;

fn which(agent: &AgentContext, session: SessionId) -> Which {
    (agent.id.clone(), agent.store.incarnation(), session)
}

/// Whether something that was asked for will be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wished {
    Yes,
    /// There is too little to do it with.
    Nothing,
    /// Too many wait for it already.
    Full,
}

impl Engine {
    /// The model that somebody chose for a conversation, as the agent knows it; `None` where
    /// nobody did, or it is none of the agent's any more.
    pub async fn chosen_model(
        &self,
        agent: &AgentContext,
        key: &SessionKey,
    ) -> Result<Option<ModelRef>, StoreError> {
        let current = SessionRef::Key(key.to_string().into());
        let chosen = agent.store.session(current).await?.and_then(|it| it.model);
        Ok(chosen.and_then(|chosen| agent.models.named(&chosen).cloned()))
    }

    /// Has a model answer in a conversation from the next message on, or those that the
    /// configuration names.
    pub async fn choose_model(
        &self,
        inbound: &Inbound,
        model: Option<&ModelRef>,
    ) -> Result<(), StoreError> {
        let session = SessionRef::Id(self.open_session(inbound).await?);
        let model = model.map(|it| it.to_string().into());
        let choose = AgentCommand::ChooseModel { session, model };
        inbound.agent.store.commit(vec![choose]).await.map(drop)
    }

    /// Has the older part of a conversation become notes before its next answer.
    pub async fn compress_next(
        &self,
        agent: &AgentContext,
        key: &SessionKey,
    ) -> Result<Wished, StoreError> {
        let current = SessionRef::Key(key.to_string().into());
        let Some(session) = agent.store.session(current).await? else {
            return Ok(Wished::Nothing);
        };
        let from = session.summary.map_or(MessageSeq::START, |it| it.message.max(it.upto));
        if session.last.0.saturating_sub(from.0) < MESSAGES_MIN {
            return Ok(Wished::Nothing);
        }
        Ok(match self.shop.notes_wishes.wish(which(agent, session.id)) {
            true => Wished::Yes,
            false => Wished::Full,
        })
    }

    /// Goes on with a conversation of a key that was ended, in place of the current one. What is
    /// under way is stopped.
    pub async fn go_on_in(
        &self,
        agent: &Arc<AgentContext>,
        key: &SessionKey,
        session: SessionId,
    ) -> Result<(), StoreError> {
        self.stop(key);
        let current = SessionRef::Key(key.to_string().into());
        if let Some(current) = agent.store.session(current).await?.filter(|it| it.id != session) {
            self.shop.caps.programs.end_session(&agent.id, current.id);
            self.tell(agent, &key.to_string(), HookEvent::OnSessionEnd).await;
        }
        let at = self.shop.world.clock.now();
        agent.store.commit(vec![AgentCommand::ResumeSession { session, at }]).await.map(drop)
    }
}

impl Turn<'_> {
    /// Looks up which model was chosen for the conversation, where there is a choice.
    pub(super) async fn look_up_choice(&mut self) -> Result<(), Broken> {
        let agent = &self.cx.agent;
        if agent.is_child() || !agent.models.has_choice() {
            return Ok(());
        }
        let session = agent.store.session(SessionRef::Id(self.cx.session)).await?;
        let chosen = session.and_then(|it| it.model);
        self.chosen = chosen.and_then(|chosen| agent.models.named(&chosen).cloned());
        Ok(())
    }

    /// Whether somebody asked that the older part of the conversation becomes notes.
    pub(super) fn is_to_be_notes(&self) -> bool {
        self.shop.notes_wishes.take(&which(&self.cx.agent, self.cx.session))
    }
}
