//! Tells the hooks of an agent, and whoever follows it, what became of a card that it works on.

use super::Workers;
use insula_capabilities::hooks::{self, Occasion};
use insula_domain::hook::HookEvent;
use insula_domain::{Actor, AgentId, CardId, CardStatus};
use insula_registry::boards::Desk;
use insula_registry::events::{AgentEvent, WorkEvent};
use serde_json::json;

impl Workers {
    /// An agent has a card from now on.
    pub(super) async fn claimed(&self, desk: &Desk, agent: &AgentId, (card, run): (CardId, i64)) {
        let board = desk.name().clone();
        self.registry.hub.tell(agent, || AgentEvent::Work(WorkEvent::CardClaimed { board, card }));
        self.tell_hooks(HookEvent::KanbanTaskClaimed, desk, agent, (card, run)).await;
    }

    /// An agent's work on a card is over, whoever ended it. What goes on elsewhere is told there.
    pub(super) async fn over(&self, desk: &Desk, agent: &AgentId, (card, run): (CardId, i64)) {
        let Ok(whole) = desk.show(card).await else { return };
        if whole.row.run != run {
            return;
        }
        let (board, status) = (desk.name().clone(), whole.row.status);
        self.registry.hub.tell(agent, || {
            let why = whole.row.why.clone();
            AgentEvent::Work(WorkEvent::CardEnded { board, card, status, why })
        });
        let event = match status {
            CardStatus::Done | CardStatus::Review => HookEvent::KanbanTaskCompleted,
            CardStatus::Blocked => HookEvent::KanbanTaskBlocked,
            _ => return,
        };
        self.tell_hooks(event, desk, agent, (card, run)).await;
    }

    async fn tell_hooks(
        &self,
        event: HookEvent,
        desk: &Desk,
        agent: &AgentId,
        (card, run): (CardId, i64),
    ) {
        let Some(context) = self.serving(agent).filter(|context| context.hooks.has(event)) else {
            return;
        };
        let Ok(whole) = desk.show(card).await else { return };
        let row = &whole.row;
        let occasion = Occasion {
            agent: &context,
            session: None,
            scope: None,
            principal: &Actor::Daemon,
            at: None,
            files: None,
        };
        let fields = || {
            json!({
                "text": row.title,
                "extra": {
                    "board": desk.name().as_str(),
                    "card": card.0,
                    "run": run,
                    "status": row.status.as_str(),
                    "block": row.block.map(|kind| kind.as_str()),
                    "why": row.why,
                },
            })
        };
        hooks::tell(&self.caps, event, &occasion, fields).await;
    }
}
