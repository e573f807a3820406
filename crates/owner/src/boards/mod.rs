//! Gives cards of boards to agents, and sees to those that are under way.
//!
//! Who has a card stands on the board before anything is done for it, and the turn that is done is
//! known by the claim: whatever a crash cut off is taken up by looking at the board again. [`run`]
//! makes turns of a claim, [`tell`] tells chats what became of what they asked for.

mod hooked;
mod run;
mod tell;

use crate::delivery::Relay;
use insula_capabilities::{Capabilities, Opened};
use insula_config::board::Board;
use insula_domain::{AgentId, BoardName, CardId, ToolVerdict};
use insula_registry::access::Access;
use insula_registry::boards::{BoardError, Boards, Desk, Seat};
use insula_registry::context::AgentContext;
use insula_registry::home_chats::HomeChats;
use insula_registry::trail::Trail;
use insula_registry::{AgentState, Registry};
use insula_turns::Engine;
use insula_world::{Timestamp, World};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long nobody looks at most: somebody may set the machine's clock.
const SLEEP_MAX: Duration = Duration::from_secs(30);

/// A card of a board.
type Named = (BoardName, CardId);

/// Since when an agent has a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Now,
    /// It had it when somebody looked: before a restart, perhaps.
    Before,
}

/// Has agents work on cards.
pub struct Workers {
    world: World,
    registry: Arc<Registry>,
    access: Arc<Access>,
    boards: Arc<Boards>,
    homes: Arc<HomeChats>,
    trail: Trail,
    caps: Capabilities,
    engine: Engine,
    out: Arc<Relay>,
    /// The cards that somebody sees to in this process.
    attended: Mutex<HashSet<Named>>,
    /// Whoever saw to a card is done with it.
    freed: tokio::sync::Notify,
}

/// The tool by which a card ends well.
const ENDS: &str = "kanban_complete";

/// Why an agent can't end a card, if it can't.
fn lacks(agent: &AgentContext) -> Option<String> {
    match agent.tools().verdict(ENDS) {
        ToolVerdict::In(_) => None,
        ToolVerdict::Out(rule) => Some(format!(
            "agent `{}` does not have `{ENDS}`, by which a card ends: {rule}; give it the tools of boards, `tools: {{also_allow: [\"group:boards\"]}}`, and move the card to `ready`",
            agent.id
        )),
    }
}

impl Workers {
    pub(crate) fn new(opened: &Opened, engine: Engine, out: Arc<Relay>) -> Arc<Self> {
        let parts = &opened.parts;
        Arc::new(Self {
            world: parts.world.clone(),
            registry: parts.registry.clone(),
            access: parts.access.clone(),
            boards: parts.boards.clone(),
            homes: parts.homes.clone(),
            trail: parts.trail.clone(),
            caps: opened.capabilities.clone(),
            engine,
            out,
            attended: Mutex::default(),
            freed: tokio::sync::Notify::new(),
        })
    }

    /// Has agents work, from what an earlier run left under way on, until `stop`.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let (mut agents, mut written) = (self.registry.changes(), self.boards.changes());
        loop {
            agents.mark_unchanged();
            written.mark_unchanged();
            let next = self.look_at_all().await;
            let now = self.world.clock.now().as_millis();
            let left = next.map_or(i64::MAX, |at| at.as_millis().saturating_sub(now));
            let left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = agents.changed() => {}
                () = written.changed() => {}
                () = self.freed.notified() => {}
                () = self.world.clock.sleep(left.clamp(Duration::from_millis(10), SLEEP_MAX)) => {}
            }
        }
    }

    fn attended(&self) -> MutexGuard<'_, HashSet<Named>> {
        // Nothing runs foreign code under it, so a poisoned lock guards nothing broken.
        self.attended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serving(&self, id: &AgentId) -> Option<Arc<AgentContext>> {
        match &self.registry.snapshot().agents.get(id)?.state {
            AgentState::Ready(agent) => Some(agent.clone()),
            _ => None,
        }
    }

    /// How many cards agents work on now.
    pub fn running(&self) -> usize {
        self.attended().len()
    }

    /// Looks at every board; when there is something to do again.
    async fn look_at_all(self: &Arc<Self>) -> Option<Timestamp> {
        let boards: Vec<Arc<Board>> =
            self.registry.snapshot().daemon.boards.values().cloned().collect();
        let mut next: Option<Timestamp> = None;
        for board in boards {
            match self.look(&board).await {
                Ok(at) => next = next.into_iter().chain(at).min(),
                Err(error) => {
                    tracing::error!(board = %board.name, %error, "a board can't be looked at; it is tried again");
                }
            }
        }
        next
    }

    async fn look(self: &Arc<Self>, board: &Board) -> Result<Option<Timestamp>, BoardError> {
        let desk = Arc::new(self.boards.desk(board.name.as_str(), Seat::Daemon)?);
        self.tell(&desk).await?;
        let lapses = desk.lapse().await?;
        let starts = desk.settle().await?;
        let mut busy: BTreeMap<AgentId, u32> = BTreeMap::new();
        let running = desk.running().await?;
        for (agent, card) in &running {
            *busy.entry(agent.clone()).or_default() += 1;
            self.attend(&desk, agent, (card.id, card.run), Taken::Before);
        }
        let mut left =
            board.max_running.saturating_sub(u32::try_from(running.len()).unwrap_or(u32::MAX));
        if left > 0 {
            for open in desk.open().await? {
                if left == 0 {
                    break;
                }
                // Who had it may still be saying so.
                if self.attended().contains(&(board.name.clone(), open.card.id)) {
                    continue;
                }
                if let Some(why) = self.unable(&open.workers) {
                    match desk.unable(open.card.id, &why).await {
                        Ok(_) | Err(BoardError::Step(_) | BoardError::Wrong(_)) => continue,
                        Err(error) => return Err(error),
                    }
                }
                let count = |agent: &AgentId| busy.get(agent).copied().unwrap_or_default();
                let able = open.workers.into_iter().filter(|agent| {
                    count(agent) < board.max_running_per_agent
                        && self.serving(agent).is_some_and(|it| lacks(&it).is_none())
                });
                let Some(agent) = able.min_by_key(count) else { continue };
                match desk.claim_for(open.card.id, &agent, open.kind).await {
                    Ok(card) => {
                        *busy.entry(agent.clone()).or_default() += 1;
                        left -= 1;
                        self.attend(&desk, &agent, (card.id, card.run), Taken::Now);
                    }
                    // Somebody was faster, or took the right away.
                    Err(BoardError::Step(_) | BoardError::Wrong(_) | BoardError::NotAllowed(_)) => {
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(lapses.into_iter().chain(starts).min())
    }

    /// Why none of those a card is for can end it, where none can: it would be begun for nothing,
    /// and paid for. Who does not serve now may be able to.
    fn unable(&self, workers: &[AgentId]) -> Option<String> {
        let mut why = None;
        for agent in workers {
            let lacks = lacks(&*self.serving(agent)?)?;
            why.get_or_insert(lacks);
        }
        why
    }

    /// Sees to a card that an agent has, unless somebody does.
    fn attend(
        self: &Arc<Self>,
        desk: &Arc<Desk>,
        agent: &AgentId,
        (card, run): (CardId, i64),
        taken: Taken,
    ) {
        let name = (desk.name().clone(), card);
        if !self.attended().insert(name.clone()) {
            return;
        }
        let (this, desk, agent) = (self.clone(), desk.clone(), agent.clone());
        tokio::spawn(async move {
            if taken == Taken::Now {
                this.claimed(&desk, &agent, (card, run)).await;
            }
            let seen_to = this.see_to(&desk, &agent, card, run).await;
            this.over(&desk, &agent, (card, run)).await;
            if let Err(error) = seen_to {
                tracing::error!(board = %name.0, %card, %error, "a card could not be seen to; it is tried again");
                this.world.clock.sleep(Duration::from_secs(5)).await;
            }
            this.attended().remove(&name);
            this.freed.notify_one();
        });
    }
}
