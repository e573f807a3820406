//! What people choose for a conversation: which model answers in it, that its older part becomes
//! notes now, and that one which was ended goes on. What may be chosen is decided above.

use crate::engine::Engine;
use crate::submit::Inbound;
use crate::turn::{Broken, Turn};
use insula_config::model::ModelRef;
use insula_domain::SessionKey;
use insula_domain::hook::HookEvent;
use insula_models::Chain;
use insula_registry::context::AgentContext;
use insula_store::{
    AgentCommand, Message, MessageSeq, NotesWish, Role, SessionId, SessionRef, StoreError, Window,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Messages that are looked through for who speaks in a conversation.
const LATELY: Window = Window { messages: 200, bytes: 256 * 1024 };
/// Fewest messages that notes can stand for: fewer are not worth a model call.
const MESSAGES_MIN: u64 = 4;

/// Whether something that was asked for will be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wished {
    Yes,
    /// There is too little to do it with.
    Nothing,
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
        let session = SessionRef::Id(session.id);
        let wish = AgentCommand::WishNotes { session, wish: NotesWish::Made };
        agent.store.commit(vec![wish]).await?;
        Ok(Wished::Yes)
    }

    /// Who spoke in a conversation lately.
    pub async fn speakers(
        &self,
        agent: &AgentContext,
        key: &SessionKey,
    ) -> Result<BTreeSet<String>, StoreError> {
        let current = SessionRef::Key(key.to_string().into());
        let Some(session) = agent.store.session(current).await? else {
            return Ok(BTreeSet::new());
        };
        let said = agent.store.messages_tail(session.id, LATELY).await?;
        let users = said.iter().filter(|message| message.role == Role::User);
        Ok(users.map(|message| message.principal.to_string()).collect())
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
    /// Looks up what was chosen for the conversation: which model answers, and whether its older
    /// part is to become notes.
    pub(super) async fn look_up_choices(&mut self) -> Result<(), Broken> {
        let agent = &self.cx.agent;
        if agent.is_child() {
            return Ok(());
        }
        let Some(session) = agent.store.session(SessionRef::Id(self.cx.session)).await? else {
            return Ok(());
        };
        self.notes = session.notes;
        if agent.models.has_choice() {
            let chosen = session.model;
            self.chosen = chosen.and_then(|chosen| agent.models.named(&chosen).cloned());
        }
        Ok(())
    }

    /// Has the older part of the conversation become notes where somebody asked for it; whether it
    /// did. They are asked for once, whatever comes of it.
    pub(super) async fn make_notes_asked(
        &mut self,
        chain: &Chain,
        history: &mut Vec<Message>,
    ) -> Result<bool, Broken> {
        if std::mem::replace(&mut self.notes, NotesWish::Settled) == NotesWish::Settled {
            return Ok(false);
        }
        let is_done = self.compress(chain, history, 0).await?;
        if !is_done {
            let session = SessionRef::Id(self.cx.session);
            let settle = AgentCommand::WishNotes { session, wish: NotesWish::Settled };
            self.commit(vec![settle]).await?;
        }
        Ok(is_done)
    }
}
