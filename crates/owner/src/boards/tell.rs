//! Tells the chat that asked for a card what became of it, where everybody there may read it.

use super::Workers;
use crate::delivery::ChatRef;
use insula_domain::{Actor, Address, Audience, BoardName, BoardRight, ChatType, Label, Platform};
use insula_registry::boards::{BoardError, Desk};
use insula_registry::context::{AgentContext, kept_place};
use insula_registry::home_chats::HomeChat;
use insula_store::{About, AgentCommand, CardNotice, Enqueue, OutboxCommand, StoreError};
use serde_json::json;
use std::sync::Arc;

impl Workers {
    /// Passes on what chats are still to be told. What was passed on before a crash is known by its
    /// name, and is not told twice.
    pub(super) async fn tell(&self, desk: &Desk) -> Result<(), BoardError> {
        for notice in desk.notices().await? {
            let Some(agent) = self.serving(&notice.agent) else { continue };
            self.tell_one(desk, &agent, &notice).await?;
            desk.told(notice.id).await?;
        }
        Ok(())
    }

    async fn tell_one(
        &self,
        desk: &Desk,
        agent: &Arc<AgentContext>,
        notice: &CardNotice,
    ) -> Result<(), BoardError> {
        let name = format!("card:{}:{}:{}", desk.name(), notice.card, notice.id);
        let refused = self.refused(agent, notice).await?;
        let mut batch = Vec::new();
        if let (None, Some(place)) = (&refused, kept_place(&notice.place)) {
            let put = Enqueue {
                session: None,
                turn: None,
                to: ChatRef::of(&place).origin(None),
                text: self.engine.told(agent, notice.text.clone()),
                name: Some(name.into()),
                buttons: Vec::new(),
                at: self.world.clock.now(),
            };
            batch.push(AgentCommand::Outbox(OutboxCommand::Enqueue(Box::new(put))));
        }
        let content = json!({
            "board": desk.name().as_str(), "card": notice.card.0, "refused": refused,
        });
        let record = self.trail.record(agent, About::Agent, &Actor::Daemon, "card.told", content);
        batch.push(AgentCommand::Audit(record));
        agent.store.commit(batch).await?;
        Ok(())
    }

    /// Why a chat is not told: it is not the agent's any more, who asked may not talk to it, or not
    /// everybody there may read what the answer was made of.
    async fn refused(
        &self,
        agent: &Arc<AgentContext>,
        notice: &CardNotice,
    ) -> Result<Option<String>, StoreError> {
        let Some(place) = kept_place(&notice.place) else {
            return Ok(Some("the place can't be read".to_owned()));
        };
        let who = Actor::from(&place);
        if !self.access.may_talk(agent, &who, &place).await? {
            return Ok(Some("who asked may not talk to the agent any more".to_owned()));
        }
        let routed = self.registry.snapshot().route(&place);
        if !routed.is_ok_and(|found| found.context.id == agent.id) {
            return Ok(Some("the chat is not the agent's any more".to_owned()));
        }
        let label = notice.label.parse().unwrap_or_else(|_| Label::unknown());
        let label = self.without_seen_boards(&label, &place);
        let to = Audience::of(&place);
        let shows = agent.boundary.messages.shows(&label, &to);
        Ok((!shows).then(|| "not everyone there may read what it was made of".to_owned()))
    }

    /// The label without the boards that the only person of a chat may read themselves.
    fn without_seen_boards(&self, label: &Label, place: &Address) -> Label {
        let who = Actor::from(place);
        let boards = &self.registry.snapshot().daemon.boards;
        let is_seen = |from: &Audience| {
            let name = BoardName::new(from.account.as_str()).ok();
            let board = name.and_then(|name| boards.get(&name));
            from.platform == Platform::BOARD
                && place.chat_type == ChatType::Dm
                && board.is_some_and(|it| it.rights_of_person(&who).has(BoardRight::See))
        };
        if label.audiences().next().is_none() {
            return label.clone();
        }
        let kept = label.audiences().filter(|from| !is_seen(from)).cloned();
        kept.fold(Label::anyone(), |all, from| all.join(&Label::of(from)))
    }

    /// The home chat of an agent, while it leads to it.
    pub(super) fn home_of(&self, agent: &AgentContext) -> Option<Arc<HomeChat>> {
        let home = self.homes.of(&agent.id)?;
        home.leads_to(&self.registry.snapshot(), &agent.id).then_some(home)
    }
}
